/* jpr_text.h - a recorder file as JSON lines, to compare in tests and to read.
 *
 * One object for each record: {"type":"header"|"comm"|"op"|"inflight"|
 * "counters"|"row"|"end",...}. A row is one communicator and function of
 * counters.
 */
#ifndef JP_JPR_TEXT_H
#define JP_JPR_TEXT_H

#include <stdio.h>

/* Writes all of a file. 0, or -1 when it is damaged or none; the reason goes
 * to stderr, and what can be read is written all the same. */
int jpr_text(const char *path, FILE *out);

#endif
