/* table_expect.h - what a simulated network should do, as a site would say. */
#ifndef JP_TESTS_TABLE_EXPECT_H
#define JP_TESTS_TABLE_EXPECT_H

#include "orchestrator/insight/expectation.h"
#include "orchestrator/insight/insight.h"
#include "tests/insight/simlog.h"

struct table_expect {
    struct jp_expectation is;
    struct jp_peaks peaks;
    struct jp_baseline baseline;
};

/* PEAKS: the simulator's rates and a cautious share of them; BASELINE: of clean
 * runs of that shape, through their reports; NOTHING. Aborts on trouble. */
void table_expect_make(enum jp_against against,
                       const struct simjob_shape *shape, uint64_t seed,
                       const char *dir, struct table_expect *expect);
void table_expect_fini(struct table_expect *expect);

/* Is something expected of a communicator between nodes? */
bool table_expect_applies(const struct jp_insight *insight,
                          enum jp_against against);

#endif
