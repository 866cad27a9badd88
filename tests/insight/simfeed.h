/* simfeed.h - the records of a simulated job, handed to the aggregation without
 * a text between them.
 *
 * Most of the time of a job that is written as logs and read again goes into
 * that text. Here each log is a line that says whose it is, and a reader of our
 * own, first in the registry of the program that is linked with simfeed.c,
 * gives what Inspector's reader makes of the log that simlog.c writes
 * (table.test compares the two). One job at a time in a process.
 */
#ifndef JP_TESTS_SIMFEED_H
#define JP_TESTS_SIMFEED_H

#include "tests/insight/simjob.h"

/* As simlog_write; the records stay until the next one. */
int simfeed_write(const struct simjob_shape *shape, enum simjob_fault fault,
                  double effect, uint64_t seed, const char *dir,
                  struct simjob_truth *truth);

/* As simlog_remove. */
void simfeed_remove(const struct simjob_shape *shape, const char *dir);

#endif
