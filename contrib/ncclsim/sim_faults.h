/* Faults that a run can be told to have, so that reports can be verified.
 *
 * A fault is one row of the table in sim_faults.c: how it is written, what it
 * does. A new kind is a new row and, where it needs one, a new hook here, which
 * the program (sim_model.c, sim_plain.c) calls at the right place.
 *
 * Operations of a communicator are counted from 0, collectives only: "after N
 * operations" is before number N. Every process reads the same faults, so all
 * know who stops where.
 */
#ifndef JP_SIM_FAULTS_H
#define JP_SIM_FAULTS_H

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "contrib/ncclsim/sim_cause.h"
#include "contrib/ncclsim/sim_world.h"

enum { SIM_MAX_FAULTS = 16, SIM_MAX_FAULT_ARGS = 4, SIM_COMM_NAME = 24 };

struct jp_sim_fault {
    const struct jp_sim_fault_kind *kind;
    char comm[SIM_COMM_NAME];         /* where the syntax has a COMM */
    int64_t args[SIM_MAX_FAULT_ARGS]; /* the others, as the syntax has them */
    const struct jp_sim_cause *cause; /* NULL: by the virtual clock only */
    int64_t from_us, to_us;           /* of the program; to_us 0: to its end */
};

struct jp_sim_faults {
    int n;
    struct jp_sim_fault list[SIM_MAX_FAULTS];
};

/* Where the program stands when it asks. */
struct jp_sim_fault_site {
    int rank; /* in the world */
    int node; /* its node */
    const char *comm;
    uint64_t op; /* its number in the communicator */
    int comm_ranks;
    int is_p2p;
    int is_alltoall; /* `op` counts the communicator's AlltoAll */
};

/* What a rank does instead of an operation. */
enum jp_sim_stop { SIM_GOES_ON, SIM_HANGS, SIM_CRASHES };

/* What happens to a communicator after an operation. */
enum jp_sim_fate { SIM_STAYS, SIM_DESTROYED, SIM_RECREATED };

/* Adds "KIND=ARGUMENTS[,by=CAUSE][,from=TIME][,to=TIME]"; what follows the
 * arguments is for the kinds that make ranks late. 0 or -1, then nothing
 * changed. */
int sim_faults_add(struct jp_sim_faults *faults, const char *text,
                   struct jp_error *err);

/* Whether some fault has a cause: its ranks measure how late they are. */
int sim_faults_have_causes(const struct jp_sim_faults *faults);

/* Whether the fault makes this rank late. */
int sim_faults_is_late(const struct jp_sim_fault *fault,
                       const struct jp_sim_world *world, int rank);

/* How much later than it would the rank arrives at an operation, in ns, by
 * faults without a cause. */
int64_t sim_faults_arrival_ns(const struct jp_sim_faults *faults,
                              const struct jp_sim_fault_site *site);

/* Whether the rank stops before the operation; `*signal` is set for a crash. */
enum jp_sim_stop sim_faults_stop(const struct jp_sim_faults *faults,
                                 const struct jp_sim_fault_site *site,
                                 int *signal);

/* How many of the channels that an operation announces report nothing; `n`
 * counts all operations of the thread. */
int sim_faults_missing(const struct jp_sim_faults *faults, uint64_t n);

/* What is done with the communicator when the site's operation was issued. */
enum jp_sim_fate sim_faults_fate(const struct jp_sim_faults *faults,
                                 const struct jp_sim_fault_site *site);

/* When the rank dies whatever it does, in us from its start, and by which
 * signal; -1 where it does not. */
int64_t sim_faults_death_us(const struct jp_sim_faults *faults, int rank,
                            uint64_t seed, int *signal);

/* Prints a line for each kind. */
void sim_faults_help(FILE *out);

#endif
