/* sim_faults.h - faults that a run can be told to have, so that reports can be
 * verified.
 *
 * A fault is one row of the table in sim_faults.c. A new kind is a new row and,
 * if needed, a new hook here, which the program (sim_model.c, sim_plain.c)
 * calls at the right place.
 *
 * Operations of a communicator are counted from 0, collectives only: "after N
 * operations" is before number N. Every process reads the same faults, so all
 * processes agree which rank stops where. */
#ifndef JP_SIM_FAULTS_H
#define JP_SIM_FAULTS_H

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "contrib/ncclsim/sim_cause.h"
#include "contrib/ncclsim/sim_groups.h"
#include "contrib/ncclsim/sim_world.h"

enum { SIM_MAX_FAULTS = 16, SIM_MAX_FAULT_ARGS = 4, SIM_COMM_NAME = 24 };

struct jp_sim_fault {
    const struct jp_sim_fault_kind *kind;
    char comm[SIM_COMM_NAME];         /* if the syntax has a COMM */
    int64_t args[SIM_MAX_FAULT_ARGS]; /* the other arguments, in order */
    const struct jp_sim_cause *cause; /* NULL: by the virtual clock only */
    int64_t from_us, to_us;   /* time in the program; to_us 0: until its end */
    char func[SIM_COMM_NAME]; /* only at this function; "": at all */
};

struct jp_sim_faults {
    int n;
    struct jp_sim_fault list[SIM_MAX_FAULTS];
};

/* The place in the program for which a fault is looked up. */
struct jp_sim_fault_site {
    int rank; /* in the world */
    int node; /* its node */
    const char *comm;
    uint64_t op; /* its number in the communicator */
    int comm_ranks;
    int is_p2p;
    const char *func; /* of the collective; NULL: unknown */
    int is_alltoall;  /* `op` counts the communicator's AlltoAll */
};

/* What a rank does instead of an operation. */
enum jp_sim_stop { SIM_GOES_ON, SIM_HANGS, SIM_CRASHES };

/* What happens to a communicator after an operation. */
enum jp_sim_fate { SIM_STAYS, SIM_DESTROYED, SIM_RECREATED };

/* Adds "KIND=ARGUMENTS[,by=CAUSE][,from=TIME][,to=TIME]", or [,in=FUNC] without
 * a cause. The options are only
 * for kinds that make ranks late. Returns 0, or -1 without a change. */
int sim_faults_add(struct jp_sim_faults *faults, const char *text,
                   struct jp_error *err);

/* Returns 0; or -1 if a fault can never happen, because no communicator of these
 * kinds is COMM, rank R is not in it, or there is no AlltoAll to stop at. */
int sim_faults_check(const struct jp_sim_faults *faults,
                     const struct jp_sim_groups *groups, int n_kinds,
                     int has_alltoall, struct jp_error *err);

/* Whether a fault has a cause, so that its ranks measure their delay. */
int sim_faults_have_causes(const struct jp_sim_faults *faults);

/* Whether the fault makes this rank late. */
int sim_faults_is_late(const struct jp_sim_fault *fault,
                       const struct jp_sim_world *world, int rank);

/* Returns by how many ns the rank arrives late at an operation, by faults
 * without a cause. */
int64_t sim_faults_arrival_ns(const struct jp_sim_faults *faults,
                              const struct jp_sim_fault_site *site);

/* Returns whether the rank stops before the operation; *signal is set for a
 * crash. */
enum jp_sim_stop sim_faults_stop(const struct jp_sim_faults *faults,
                                 const struct jp_sim_fault_site *site,
                                 int *signal);

/* Returns how many of an operation's channels report nothing; `n` counts all
 * operations of the thread. */
int sim_faults_missing(const struct jp_sim_faults *faults, uint64_t n);

/* Returns what happens to the communicator after the site's operation. */
enum jp_sim_fate sim_faults_fate(const struct jp_sim_faults *faults,
                                 const struct jp_sim_fault_site *site);

/* Returns when the rank dies in any case, in us from its start, and by which
 * signal; -1: never. */
int64_t sim_faults_death_us(const struct jp_sim_faults *faults, int rank,
                            uint64_t seed, int *signal);

/* Prints a line for each kind. */
void sim_faults_help(FILE *out);

#endif
