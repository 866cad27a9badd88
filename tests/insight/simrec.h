/* simrec.h - the operations of a simulated job as the recorder's files. */
#ifndef JP_TESTS_SIMREC_H
#define JP_TESTS_SIMREC_H

#include "tests/insight/simjob.h"

/* A job was ended this long after its last operation. */
#define SIMREC_AFTER_NS INT64_C(60000000000)

/* Who has started the ranks, and what they know of it. */
enum simrec_form {
    SIMREC_TASKS,   /* Slurm: each rank is a task */
    SIMREC_WORKERS, /* one task a node, a launcher, which told them their ranks
                     */
    SIMREC_UNTOLD,  /* ... which told them nothing */
    SIMREC_MISLED,  /* ... all have the numbers of one of them */
    SIMREC_FORMS
};
extern enum simrec_form simrec_form;
/* How often the recording is off and on again: the run is cut into twice as many
 * parts and one more, every second of which is not recorded. The writer of each
 * rank notices it within 100 ms, as rec_pause.c does. 0: all is recorded. */
extern unsigned simrec_pauses;
/* Process of the launcher of a node. */
int64_t simrec_launcher(uint32_t node);

/* Runs the job and writes <dir>/<host>-pid<pid>.jpr for each rank (dir exists),
 * with the operations that it was in at the end. 0, or -1 with errno. */
int simrec_write(const struct simjob_shape *shape, enum simjob_fault fault,
                 double effect, uint64_t seed, const char *dir,
                 struct simjob_truth *truth);

/* Removes these files. */
void simrec_remove(const struct simjob_shape *shape, const char *dir);

#endif
