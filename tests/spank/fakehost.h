/* fakehost.h - a program that plays srun, sbatch or slurmstepd to the module.
 *
 * It exports the spank_* and slurm_* symbols that Slurm's programs export, with
 * items, environment and context from one struct, loads the built module anew
 * for every test and counts what the module may not do (fork, open, socket).
 */
#ifndef JP_TESTS_SPANK_FAKEHOST_H
#define JP_TESTS_SPANK_FAKEHOST_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>

enum { HOST_ENV = 256, HOST_OPTIONS = 5, HOST_SLOWER = 20 };

struct host {
    /* result of spank_context(); REMOTE also makes spank_remote() true */
    spank_context_t context;
    /* items; absent: spank_get_item() fails for all of them */
    bool absent;
    uid_t uid;
    gid_t gid, gids[8];
    int ngids;
    uint32_t job, step, nodes, nodeid, tasks;
    char **argv;
    int argc;
    char *env[HOST_ENV]; /* the job's environment, for REMOTE; owned */
    /* the task of task_exit */
    int task_local, task_status;
    uint32_t task_global;
    pid_t task_pid;
    bool task_exited;
    /* The limits of the module's helpers are real time. Otherwise they are
     * HOST_SLOWER times as long, so that no helper is late because other
     * programs have the processors. */
    bool keeps_time;
    int exit_ms; /* how long a process that the module forked takes to end */
    /* what the module has done */
    struct spank_option options[HOST_OPTIONS];
    int noptions;
    char prepended[2048]; /* words put before the task's, one on each line */
    char log[16384];      /* "error: ...\n", "spank: ...\n", "info: ...\n" */
    int forks, opens, sockets;
};
extern struct host host;

/* Setup and teardown for cmocka: fresh host, fresh module, and a fresh folder
 * host_dir() with the two fake helpers. */
int host_setup(void **state);
int host_teardown(void **state);

/* The folder of this test; all users may create files in it, but not remove
 * others'. */
const char *host_dir(void);
/* a path in it; the last four stay valid */
const char *host_path(const char *name);
char *host_read(const char *name); /* whole file or "", caller frees */
void host_setenv(const char *name, const char *value); /* job environment */
const char *host_getenv(const char *name);

/* Calls slurm_spank_<callback> with the given words of the plugstack line;
 * asserts that it returns 0. */
void host_call(const char *callback);
void host_plugstack(const char *first, ...) __attribute__((sentinel));
/* Calls the option's callback as Slurm does. */
int host_option(const char *name, const char *value, int remote);

/* Sets what the fake helper does: shell code that gets its verb as $1, by the
 * environment of srun and of the job, or by a file. */
void host_helper_does(const char *code);

/* How long hanging programs of these tests sleep: any earlier end was forced.
 */
#define HELPER_HANGS_MS 60000
long long host_now_ms(void);
/* Returns how many processes run from host_dir(); waits up to 1 s for that
 * many. */
int host_helpers(int want);

/* Assertions about a text; about whole lines that a helper wrote to
 * NAME.VERB.run; about our own environment (NULL: not set). */
void assert_has(const char *text, const char *part);
void assert_has_not(const char *text, const char *part);
void assert_ran(const char *run, const char *lines);
void assert_ran_without(const char *run, const char *part);
void assert_env(const char *name, const char *want);
/* The same about the job's environment; and that no SLURM_JOBPROF_* is left in
 * it. */
void assert_job(const char *name, const char *want);
void assert_carried_gone(void);

/* slurmstepd until before or after user_init, for step 0 on 3 nodes with
 * --nccl-profile=recorder and the directory /x/step-0. */
void host_remote_init(void);
void host_user_init(const char *does);
void host_task_ends(int local, uint32_t global, pid_t pid, int status);

#endif
