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

enum { HOST_ENV = 256, HOST_OPTIONS = 5 };

struct host {
    /* what spank_context() says; REMOTE also for spank_remote() */
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
    /* the task that task_exit is about */
    int task_local, task_status;
    uint32_t task_global;
    pid_t task_pid;
    bool task_exited;
    int exit_ms; /* a process that the module forked takes so long to end */
    /* what the module did */
    struct spank_option options[HOST_OPTIONS];
    int noptions;
    char prepended[2048]; /* words before the task's, a line each */
    char log[16384];      /* "error: ...\n", "spank: ...\n", "info: ...\n" */
    int forks, opens, sockets;
};
extern struct host host;

/* Fresh host, fresh module, fresh folder host_dir() with the two fake helpers.
 * cmocka setup and teardown. */
int host_setup(void **state);
int host_teardown(void **state);

/* The folder of this test; everybody may write there, but not remove. */
const char *host_dir(void);
const char *host_path(const char *name); /* in it; four at a time */
char *host_read(const char *name);       /* whole file or "", caller frees */
void host_setenv(const char *name, const char *value); /* job environment */
const char *host_getenv(const char *name);

/* Calls slurm_spank_<callback> with the plugstack words given; asserts that it
 * returns 0. */
void host_call(const char *callback);
void host_plugstack(const char *first, ...) __attribute__((sentinel));
/* The option's callback as Slurm calls it. */
int host_option(const char *name, const char *value, int remote);

/* What the fake helper is to do: shell code that sees its verb as $1; set in
 * the environment of srun and of the job. */
void host_helper_does(const char *code);

/* What hangs in these tests sleeps for so long: any end before is a bound. */
#define HELPER_HANGS_MS 60000
long long host_now_ms(void);
/* How many processes that run from host_dir() are there, waits for that many
 * up to 1 s. */
int host_helpers(int want);

/* Assertions about a text; about what a helper noted in NAME.VERB.run, whole
 * lines; about our own environment (NULL: not there). */
void assert_has(const char *text, const char *part);
void assert_has_not(const char *text, const char *part);
void assert_ran(const char *run, const char *lines);
void assert_ran_without(const char *run, const char *part);
void assert_env(const char *name, const char *want);
/* The same about the job's; that all of SLURM_JOBPROF_* has gone from it. */
void assert_job(const char *name, const char *want);
void assert_carried_gone(void);

/* slurmstepd, up to before or after user_init, of step 0 on 3 nodes with
 * --nccl-profile=recorder whose directory is /x/step-0. */
void host_remote_init(void);
void host_user_init(const char *does);
void host_task_ends(int local, uint32_t global, pid_t pid, int status);

#endif
