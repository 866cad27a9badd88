/* tasklines.h - the tasks of a node as its stepd saw them end.
 *
 * In: "GLOBAL LOCAL PID STATUS\n" in decimal, STATUS as of wait(2), -1 unknown.
 * Out: {"gtid":0,"ltid":0,"pid":1234,"status":0} a line. Lines that are not so
 * are dropped and counted; more than JP_TASKLINES_MAX are not read.
 */
#ifndef JP_COLLECT_TASKLINES_H
#define JP_COLLECT_TASKLINES_H

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

#define JP_TASKLINES_MAX 65536

/* Writes path by temp + rename. bad (may be NULL) is set to the number of
 * dropped lines. */
int tasklines_convert(FILE *in, const char *path, uint32_t *bad,
                      struct jp_error *err);

#endif
