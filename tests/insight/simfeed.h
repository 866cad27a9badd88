/* simfeed.h - hand the records of a simulated job to the aggregation without
 * text.
 *
 * Most of the time of a job that is written as logs and read again goes into
 * the text. Here each log is one line with the number of its rank. A reader of
 * our own, the first one in the registry of the program that is linked with
 * simfeed.c, then gives the records that Inspector's reader would make of the
 * log that simlog.c writes (table.test compares the two). One job at a time in
 * a process.
 */
#ifndef JP_TESTS_SIMFEED_H
#define JP_TESTS_SIMFEED_H

#include "tests/insight/simjob.h"

/* As simlog_write. The records stay until the next call. */
int simfeed_write(const struct simjob_shape *shape, enum simjob_fault fault,
                  double effect, uint64_t seed, const char *dir,
                  struct simjob_truth *truth);

/* As simlog_remove. */
void simfeed_remove(const struct simjob_shape *shape, const char *dir);

#endif
