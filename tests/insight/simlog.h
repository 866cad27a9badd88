/* simlog.h - the records of a simulated job as NCCL Inspector's logs. */
#ifndef JP_TESTS_SIMLOG_H
#define JP_TESTS_SIMLOG_H

#include <stddef.h>

#include "tests/insight/simjob.h"

#define SIMLOG_EPOCH_US UINT64_C(1795251740000000) /* when jobs begin */

/* Host name of a node, "node007". */
void simlog_host(uint32_t node, char buf[16]);
/* Process of a rank of the job. */
int64_t simlog_pid(uint32_t rank);
/* A communicator's id as the logs have it. */
void simlog_id(uint64_t id, char buf[20]);

/* The clock of every other node is behind by this much. */
extern uint64_t simlog_apart_us;

/* One node's clock, and whether logs are verbose: collectives then have the
 * times of begin and end. All zeros: one clock for all, and not verbose. */
struct simlog_clock {
    bool verbose;
    uint32_t node;
    double ahead_ns, drift; /* when the job begins; ns a ns */
};
extern struct simlog_clock simlog_clock;
/* Returns what a node's clock shows, minus the time when the job began. */
int64_t simlog_shown_ns(uint32_t node, int64_t ns);

/* Runs the job and writes <dir>/<host>-pid<pid>.log for each rank (dir
 * exists). 0, or -1 with errno. */
int simlog_write(const struct simjob_shape *shape, enum simjob_fault fault,
                 double effect, uint64_t seed, const char *dir,
                 struct simjob_truth *truth);

/* The times of a line: when it was written, since the job began; the same by
 * its node's clock; and the bus bandwidth in 1e-6 GB/s. */
uint64_t simlog_written_us(const struct simjob_record *record);
uint64_t simlog_dump_us(const struct simjob_record *record, uint32_t node);
uint64_t simlog_busbw_micro(const struct simjob_record *record);
/* Returns true if what a rank wrote at that time was lost with its process. */
bool simlog_is_lost(const struct simjob_truth *truth, uint32_t rank,
                    uint64_t written_us);
/* A rank's log. */
void simlog_path(const struct simjob_shape *shape, const char *dir,
                 uint32_t rank, char *buf, size_t size);

/* Removes these files. */
void simlog_remove(const struct simjob_shape *shape, const char *dir);

#endif
