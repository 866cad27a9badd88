/* table_expect.h - what a network should do, for jobs of the table. */
#ifndef JP_TESTS_INSIGHT_TABLE_EXPECT_H
#define JP_TESTS_INSIGHT_TABLE_EXPECT_H

#include "orchestrator/insight/insight.h"
#include "tests/insight/simjob.h"

/* Writes a job as files into a folder. */
struct table_way {
    int (*write)(const struct simjob_shape *shape, enum simjob_fault fault,
                 double effect, uint64_t seed, const char *dir,
                 struct simjob_truth *truth);
    void (*remove)(const struct simjob_shape *shape, const char *dir);
};

struct table_expect {
    struct jp_expectation is;
    struct jp_peaks peaks;
    struct jp_baseline baseline;
};

/* Makes an expectation. PEAKS: the simulator's rates and a cautious share of
 * them; BASELINE: of clean runs of that shape, through their reports; NOTHING.
 * Aborts on trouble. */
void table_expect_make(enum jp_against against,
                       const struct simjob_shape *shape, uint64_t seed,
                       const char *dir, const struct table_way *way,
                       struct table_expect *x);
void table_expect_fini(struct table_expect *x);

/* Returns true if something is expected of a communicator between nodes. */
bool table_expect_applies(const struct jp_insight *insight,
                          enum jp_against against);

#endif
