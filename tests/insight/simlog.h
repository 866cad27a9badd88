/* simlog.h - the records of a simulated job as NCCL Inspector's logs. */
#ifndef JP_TESTS_SIMLOG_H
#define JP_TESTS_SIMLOG_H

#include "tests/insight/simjob.h"

#define SIMLOG_EPOCH_US UINT64_C(1795251740000000) /* when jobs begin */

/* Host name of a node, "node007". */
void simlog_host(uint32_t node, char buf[16]);
/* Process of a rank of the job. */
int64_t simlog_pid(uint32_t rank);
/* A communicator's id as the logs have it. */
void simlog_id(uint64_t id, char buf[20]);

/* Every other node's clock is back by that. */
extern uint64_t simlog_apart_us;

/* One node's clock, and whether logs are verbose: collectives tell when they
 * began and ended. All zeros: one clock, and they do not. */
struct simlog_clock {
    bool verbose;
    uint32_t node;
    double ahead_ns, drift; /* when the job begins; ns a ns */
};
extern struct simlog_clock simlog_clock;
/* What a node's clock shows, less the time when the job began. */
int64_t simlog_shown_ns(uint32_t node, int64_t ns);

/* Runs the job and writes <dir>/<host>-pid<pid>.log for each rank (dir
 * exists). 0, or -1 with errno. */
int simlog_write(const struct simjob_shape *shape, enum simjob_fault fault,
                 double effect, uint64_t seed, const char *dir,
                 struct simjob_truth *truth);

/* Removes them. */
void simlog_remove(const struct simjob_shape *shape, const char *dir);

#endif
