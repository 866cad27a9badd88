/* simkinds.h - the kinds of input that a simulated job is written as, and the
 * families of shapes that it is drawn from. Programs choose by name. */
#ifndef TESTS_INSIGHT_SIMKINDS_H
#define TESTS_INSIGHT_SIMKINDS_H

#include <stddef.h>
#include <string.h>

#include "tests/insight/simfeed.h"
#include "tests/insight/simlog.h"
#include "tests/insight/simrec.h"

struct sim_input {
    const char *name;
    int (*write)(const struct simjob_shape *, enum simjob_fault, double,
                 uint64_t, const char *, struct simjob_truth *);
    void (*remove)(const struct simjob_shape *, const char *);
    bool verbose;
};
enum { SIM_INPUTS = 3 };
/* Seeds depend on the places, so a new row comes last. */
static const struct sim_input sim_inputs[SIM_INPUTS] = {
    {"plain", simfeed_write, simfeed_remove, false},
    {"verbose", simlog_write, simlog_remove, true},
    {"recording", simrec_write, simrec_remove, false},
};

struct sim_family {
    const char *name;
    struct simjob_shape (*shape)(uint64_t seed);
};
/* Calibrate takes the first SIM_CALIBRATED. */
enum { SIM_CALIBRATED = 5, SIM_FAMILIES = 9 };
static const struct sim_family sim_families[SIM_FAMILIES] = {
    {"first", simjob_random_shape},    {"other", simjob_other_shape},
    {"third", simjob_third_shape},     {"fourth", simjob_fourth_shape},
    {"stages", simjob_stages_shape},   {"real", simjob_real_shape},
    {"experts", simjob_experts_shape}, {"few", simjob_few_shape},
    {"buckets", simjob_buckets_shape},
};

/* Returns the family of that name; NULL: none. */
static inline const struct sim_family *sim_family_find(const char *name)
{
    for (size_t i = 0; i < SIM_FAMILIES; i++)
        if (!strcmp(sim_families[i].name, name))
            return &sim_families[i];
    return NULL;
}

#endif
