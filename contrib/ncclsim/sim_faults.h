/* Faults that a run can be told to have, so that reports can be verified.
 *
 * A fault is one row of the table in sim_faults.c: how it is written, what it
 * does. A new kind is a new row and, where it needs one, a new hook here, which
 * sim_model.c calls at the right place.
 */
#ifndef JP_SIM_FAULTS_H
#define JP_SIM_FAULTS_H

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

enum { SIM_MAX_FAULTS = 16, SIM_MAX_FAULT_ARGS = 4 };

struct jp_sim_fault {
    const struct jp_sim_fault_kind *kind;
    int64_t args[SIM_MAX_FAULT_ARGS]; /* as the kind's syntax orders them */
};

struct jp_sim_faults {
    int n;
    struct jp_sim_fault list[SIM_MAX_FAULTS];
};

/* Where the model stands when it asks. */
struct jp_sim_fault_site {
    int rank; /* in the world */
    int iteration;
    int comm_ranks;
    int is_p2p;
};

/* Adds "KIND=ARGUMENTS". 0 or -1, then nothing changed. */
int sim_faults_add(struct jp_sim_faults *faults, const char *text,
                   struct jp_error *err);

/* How much later than it would the rank arrives at an operation, in ns. */
int64_t sim_faults_arrival_ns(const struct jp_sim_faults *faults,
                              const struct jp_sim_fault_site *site);

/* Prints a line for each kind. */
void sim_faults_help(FILE *out);

#endif
