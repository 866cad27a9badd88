/* fuzz_result.h - for fuzz targets: from bytes to a join, and from there to a
 * result, by the steps of aggregate.c that need no second reading.
 *
 * Aborts where a step fails, or where the result is not what holds for any:
 * operations' order of times, their ranks' sum, busy slices that fit. */
#ifndef JP_TESTS_FUZZ_RESULT_H
#define JP_TESTS_FUZZ_RESULT_H

#include "orchestrator/aggregate/result_build.h"

/* Reads bytes into join as file `index` by that backend; evidence: as in
 * struct join_reading. */
void fuzz_read(const char *backend, const char *path, bool evidence,
               struct join *join, const void *data, size_t size, uint32_t index,
               struct source_facts *facts);

/* check: what else holds for this kind of file; NULL: nothing. The result is
 * gone afterwards; join and files stay the caller's. */
void fuzz_result(struct join *join, const struct jp_logwalk *walk,
                 struct source_facts *files,
                 void (*check)(const struct jp_result *r));

#endif
