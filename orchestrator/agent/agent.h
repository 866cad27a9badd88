/* agent.h - what the commands of jobprof-node call: a node begins, is watched
 * by the agent, runs a runner, finishes; srun starts a second step.
 */
#ifndef JP_AGENT_AGENT_H
#define JP_AGENT_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "orchestrator/agent/launch.h"
#include "orchestrator/collect/slurmask.h"
#include "orchestrator/collect/stepdir.h"
#include "plugins/backend.h"
#include "plugins/module.h"

/* --- a node joins a profiled step, and its tasks start ------------------- */

/* begin_locate finds the step's directory where srun has named none. begin_join
 * is the only part that the tasks wait for; it handles a few small files.
 * begin_background does the slow work while the tasks run. It stops on SIGTERM
 * or when its work is done. */

/* The settings that resolve would use on this node. NULL: not given. */
struct begin_settings {
    const char *config, *default_mode;
    const char *given[OPTIONS]; /* the options */
    uint32_t nodeid;            /* index of the node within its component */
    uint32_t nodes;             /* number of nodes in the step */
};

/* Computes the step directory from the same settings as srun, and joins it if
 * job.conf is there. Without srun (srun --async), node 0 resolves the settings
 * and the other nodes wait for it, up to a time limit. *dir is malloc'ed. NULL
 * with return value 0: the step is not profiled. */
int begin_locate(const struct begin_settings *settings, char **dir,
                 struct jp_error *err);

/* The settings in job.conf that the node agent needs. */
struct begin_told {
    struct jp_policy policy; /* clamped to the site's ceilings */
    struct module_told modules;
};

/* Creates the folders, token and node.json of this node. *pairs is the answer
 * for the SPANK module, final dot included (caller frees). A node that can
 * write to the directory but cannot profile is marked as done at once, so that
 * no other node waits for it. Also fails if the directory belongs to another
 * user, if job.conf does not match SLURM_JOBPROF_HASH, or if the step is over.
 * Nothing reads job.conf after this call, because the tasks may change it. */
int begin_join(const struct jp_seat *seat, const char *node, char **pairs,
               struct begin_told *told, struct jp_error *err);

/* Writes the settings that options show as a block to the step's log, for the
 * process that has created the step's directory. dir may be NULL. */
void begin_log_sides(const char *dir, const struct jp_jobconf *conf);

/* Records the node's topology and hardware, once per job. Errors go to log.txt.
 * config: path of the site file; NULL: the installed one. */
void begin_background(const char *dir, const char *node, const char *config);

/* A task's line in nodes/<node>/starts.jsonl.
 *
 * A child of the process that becomes the task writes the line; it inherits the
 * task's cgroups, namespaces and affinity. It checks whether a device may be
 * opened without opening it, because opening initialises the GPU, which takes
 * seconds. Format: docs/dev/hardware-format.md.
 *
 * Appends the line of the task. task: its process id. dev: the folder of device
 * files, "/dev".
 */
int begin_task(const struct jp_seat *seat, const char *node, pid_t task,
               const char *dev, struct jp_error *err);

/* --- one process per node and step, beside the tasks --------------------- */

/* Runs its modules (plugins/module.h) from begin on until the tasks of the step
 * have ended, SIGTERM arrives, or the step's report exists. Then it writes its
 * remaining data within 150 ms. It never delays the end of a step. It records
 * its own cost in nodes/<node>/agent.json (docs/dev/contracts.md). */

struct nodeagent {
    struct module_place place;
    const struct node_module *const *modules; /* terminated by NULL */
    /* Over which a module's cost is compared with its budget; 0: 10 s. */
    uint32_t budget_ms;
};

/* A module that exceeds its budget samples less often; this is its longest
 * period. */
#define NODEAGENT_PERIOD_MAX_MS 60000

/* Runs until the end of the step. Returns -1 if it could not start. */
int nodeagent_run(const struct nodeagent *agent, struct jp_error *err);

/* The modules of this jobprof, terminated by NULL. */
extern const struct node_module *const nodeagent_modules[];
extern const struct node_module env_module;

/* --- a node leaves a profiled step --------------------------------------- */

/* A child writes the records; it is killed after policy.finish_limit_ms. In the
 * time that remains, a second child writes ranks.jsonl, and a third one, at low
 * priority, writes the node's partial. Each file is either complete or absent.
 * Afterwards the node is marked as done, whatever happened to the children, and
 * the last node starts the watcher. */

/* The inputs of a partial. */
struct finish_node {
    const struct jp_seat *seat;
    const char *node;
    uint64_t deadline_ms; /* in terms of clock_mono_ms() */
    uint32_t processes;   /* of the whole step; 0: unknown */
};

/* Writes nodes/<node>/partial.jpp by temp + rename before the deadline, or not
 * at all. Returns 0 if the file is there or there is nothing to write; -1 and
 * err otherwise. Runs in a child, which is killed shortly after the
 * deadline. */
typedef int finish_partial(const struct finish_node *of, struct jp_error *err);

struct finish {
    const struct jp_seat *seat;
    const char *node;
    FILE *tasks;             /* slurmstepd's task lines (noderec.h) */
    finish_partial *partial; /* may be NULL */
    /* Values fixed by begin. hash: checksum of job.conf. site: the
     * module's config= path. NULL or "": unknown. */
    const char *hash, *site;
};

/* Returns -1 if this node could not be marked as done. If job.conf is refused,
 * the log gets one line and the defaults apply. */
int finish_leave(const struct finish *finish, struct jp_error *err);

/* --- one runner on one node: start, wait, stop, collect, within limits --- */

/* The runner stops when the tasks of the whole step have ended, when the step
 * is reported or its directory is gone, or when its parent is gone. It also
 * stops on SIGTERM, a few seconds later, because tasks may still be ending.
 * From that signal on it has KillWait, less a reserve, to end its own
 * processes. */

/* Where the runner runs. A job.conf whose checksum differs from hash is refused
 * (NULL or "": not checked). */
struct run_place {
    const char *dir, *node, *hash;
    enum jp_option option; /* whose runner it is */
};

/* Runs runner in place until it has ended. Returns 0 on success; otherwise -1,
 * and both err and the step's log say why. */
int supervise(const struct backend_runner *runner,
              const struct run_place *place, struct jp_error *err);

/* Runs work(arg) in a child under a guard. The guard is the process that Slurm
 * has started. It outlives the supervisor and ends what a killed supervisor
 * leaves behind. If Slurm tracks processes by cgroup, all of them are killed
 * together. Otherwise the child may be killed alone, and the guard, as the
 * parent of what it had started, can still end that properly.
 *
 * Passes signals on to the child, sends it SIGTERM when our parent has gone,
 * and waits for it. Returns the child's exit status, or -1 if it was killed. In
 * that case the runner's remaining processes have been ended, within KillWait;
 * err and the step's log say so.
 */
int supervise_guard(const struct backend_runner *runner,
                    const struct run_place *place, int (*work)(void *arg),
                    void *arg, struct jp_error *err);

/* --- srun's part of a runner beside the tasks: a second Slurm step ------- */

/* A keeper, which is not a child of srun, starts `jobprof-node run` on the
 * step's nodes by a second, overlapping srun. It ends the second srun when the
 * first one has ended and the second step does not end by itself. */

/* If an option has a runner for this step, asks Slurm for the step's nodes and
 * for KillWait. Call it before launch_step: facts get KillWait, which becomes a
 * part of the launch. Returns NULL if nothing is to run, or if Slurm gave no
 * answer; the caller frees the result. */
struct slurmstep *sidestep_ask(struct launch_facts *facts,
                               const struct jp_plan *plan);

/* Starts the runner of a launch on all nodes, and waits until it is ready, up
 * to a time limit. Passes each of its errors to say, a line a call; without it
 * the step runs all the same. slurm: of sidestep_ask; NULL: Slurm gave no
 * answer. */
void sidestep_start(const struct slurmstep *slurm, const struct launch *launch,
                    void (*say)(const char *line));

/* --- pairs.c ------------------------------------------------------------ */

/* The variables of a node's tasks, as `begin` passes them to
 * slurmstepd.
 *
 * Lines "NAME=VALUE" (set), "?NAME=VALUE" (set unless the user has set it) and
 * "+NAME=VALUE" (append the value after a comma). A single dot ends the list;
 * the module ignores a list without it. Grammar and limits:
 * docs/dev/contracts.md, section 1.
 */

#define JP_PAIRS_MAX 256
#define JP_PAIRS_MAX_BYTES (64 * 1024)

/* Formats conf's variables, with %N replaced by node and the final dot, as one
 * string (caller frees). Returns NULL if a name or value cannot be
 * represented. */
char *pairs_format(const struct jp_jobconf *conf, const char *node,
                   struct jp_error *err);

/* Checks that the profiler library named in conf is a readable file on this
 * node. A name without an absolute path passes; the dynamic linker searches for
 * it. */
int pairs_check_plugin(const struct jp_jobconf *conf, struct jp_error *err);

/* Applies the site's container settings (jobprof.conf(5)). container_paths maps
 * paths of the host to paths inside the container. container_binds names
 * variables that receive the list of mounts: "SOURCE:TARGET[:ro],...", in the
 * format of Apptainer and of jobprof's hook for enroot. The list has the
 * profiler's library and the node's folder in raw/.
 *
 * Changes conf's variables to the values that the tasks of node must see, and
 * adds those of container_binds. A value that the user has set is kept, except
 * for Apptainer's lists, which are extended. A path with ',', ':' or a blank
 * cannot be listed; the variables are not set then.
 */
int pairs_contain(struct jp_jobconf *conf, const char *dir, const char *node,
                  struct jp_error *err);

/* --- ownfolder.c -------------------------------------------------------- */

/* Raw files that the user's own settings place in another folder.
 *
 * A profiler variable that the user has set is kept, including the one that
 * names the profiler's folder (folder in struct jp_profiler). begin records
 * that folder; a relative path starts at the tasks' working directory. finish
 * hard-links the step's files from it into raw/<node>/. On another file system
 * it copies them instead, up to OWNFOLDER_COPY_MAX_BYTES. The folder itself is
 * never changed. As root, nothing is taken if another user could replace the
 * folder.
 *
 * The step's files are the user's regular files named <this host>-pid<PID>.log
 * and written since begin. If some of them belong to the node's tasks, only
 * those count; otherwise a launcher started the processes, and all of them
 * count.
 *
 * nodes/<node>/folder.json: {path, since_us, taken, missed}. finish adds the
 * two counts. collect/nodes.h reads the file.
 */

#define OWNFOLDER_COPY_MAX_BYTES (1UL << 30)

/* Called by begin. cwd: the tasks' working directory; NULL or not absolute:
 * unknown, and a relative folder cannot be found. Returns 0 if there is nothing
 * to record. */
int ownfolder_note(const char *dir, const char *node,
                   const struct jp_jobconf *conf, const char *cwd,
                   struct jp_error *err);

/* Called by finish, after tasks.jsonl is written. Starts no copy after
 * deadline_ms of clock_mono_ms(). Does nothing if the user has set no
 * folder. */
int ownfolder_take(const char *dir, const char *node, uint64_t deadline_ms,
                   struct jp_error *err);

/* --- runmarks.c --------------------------------------------------------- */

/* Marks that synchronise a runner beside the tasks with the step.
 *
 * Files <step>/run/<node>.<mark>, each written once, with a text as
 * explanation. run/ exists only if a runner runs beside the tasks. It is
 * removed with the report, and then every runner ends. A node's marks are read
 * on that node and by srun.
 */

enum runmark {
    RUNMARK_READY,  /* it answers and the tasks may start; text: where */
    RUNMARK_FAILED, /* the node's tasks run without it; text: why */
    RUNMARK_ENDED,  /* tasks of the node have ended (jobprof-node finish) */
    RUNMARK_DONE,   /* after ready: it has ended and its files are complete */
    RUNMARKS
};

/* Creates run/. */
int runmarks_make(const char *dir, struct jp_error *err);
bool runmarks_there(const char *dir);

int runmark_set(const char *dir, const char *node, enum runmark mark,
                const char *text, struct jp_error *err);
bool runmark_is_set(const char *dir, const char *node, enum runmark mark);

/* Sets the step's own mark, run/step.ended: no task of the step runs on any
 * node. Runners serve each other until then. The last node to leave sets the
 * mark, or the process that makes the report at the step's end. */
int runmark_end_step(const char *dir, struct jp_error *err);
bool runmark_step_has_ended(const char *dir);

/* The mark's text, one line. Caller frees. NULL: the mark is not set or its
 * file is malformed. */
char *runmark_text(const char *dir, const char *node, enum runmark mark);

/* Counts the nodes with each mark. */
void runmarks_count(const char *dir, uint32_t n[RUNMARKS]);
/* Calls tell(arg, node, text) for each node with that mark, ordered by name. */
void runmarks_each(const char *dir, enum runmark mark,
                   void (*tell)(void *arg, const char *node, const char *text),
                   void *arg);

/* --- confine.c ---------------------------------------------------------- */

/* Limits that the kernel enforces on processes that may outlive a job.
 *
 * finish and the watcher run outside the job's cgroups; begin and a
 * runner's keeper run beside the tasks or srun. Each of them must end, whatever
 * job.conf says and whatever signals other processes of the user send. CPU time
 * and address space are limited by rlimits. A kernel timer sends SIGKILL, which
 * also ends a stopped process.
 */

/* --- ceilings of a job.conf ---
 *
 * job.conf is in the user's directory, and the job may change it. Its limits
 * and times apply to processes that outlive the step, so they count only up to
 * the ceilings of common/policy.h. If the site file, which belongs to root,
 * sets a higher value, that is the ceiling.
 */

/* The ceiling of KillWait in job.conf. At sites with a longer KillWait, the
 * watcher reports no steps with a runner. */
#define CEILING_KILL_WAIT_S 300

/* Reads the policy of the site file; the defaults if there is none or it cannot
 * be read. config: its path, or NULL for the installed one. */
void ceiling_site(const char *config, struct jp_policy *site);

/* Moves each value into the range of its row, or up to the site's value if that
 * is higher. site may be NULL. Returns the number of values that were moved. */
unsigned ceiling_apply(struct jp_policy *policy, const struct jp_policy *site);

/* --- limits of a process --- */

enum confine_role {
    CONFINE_BEGIN,
    CONFINE_AGENT,
    CONFINE_FINISH,
    CONFINE_KEEPER,
    CONFINE_REPORT, /* run by srun */
    CONFINE_WATCHER
};

struct confine_row {
    const char *name;
    uint64_t as_bytes; /* RLIMIT_AS; not set under a sanitizer */
    uint32_t cpu_s;    /* RLIMIT_CPU, plus that of a report */
    uint32_t life_s;   /* seconds until SIGKILL, plus those of a report; 0: no
                        * timer */
    const char *reason;
};

/* One row per role. */
extern const struct confine_row confine_rows[];
extern const size_t n_confine_rows;

/* The longest time in seconds that a watcher with this policy may run.
 * has_runner: true adds KillWait, in which a runner's daemons may write their
 * files. */
uint32_t confine_life_s(const struct jp_policy *policy, bool has_runner);

/* Limits this process by the row of its role. policy: for roles that make
 * reports, already clamped to the ceilings; otherwise NULL. Returns -1 if a
 * limit could not be set; the other limits are in effect. */
int confine_self(enum confine_role role, const struct jp_policy *policy,
                 struct jp_error *err);

/* Sends SIGKILL to this process after ms milliseconds. Children do not inherit
 * the timer, and exec removes it. */
int confine_timer(uint64_t ms, struct jp_error *err);

/* --- outside.c ---------------------------------------------------------- */

/* Processes that leave the job's cgroups (finish, its workers, the watcher and
 * its keeper), and reports that a site's epilog makes. They run as the user,
 * but the end of his job does not end them. So they run no program of his and
 * obey no variable of his job.
 */

/* The whole environment of such a process (common/outside.h). */
struct outside_variable {
    const char *name;
    const char *value; /* NULL: kept as it is, or absent */
    const char *who;   /* who may set it */
    const char *why;
};
extern const struct outside_variable outside_variables[];
extern const size_t n_outside_variables;

/* Call it first of all, before any thread: replaces the environment by the
 * table, and keeps debuggers out. Returns -1 without memory. */
int outside_begin(struct jp_error *err);

/* From here on, neither this process nor its children can execute a program:
 * execve and execveat fail with EPERM (a seccomp filter, which cannot be
 * removed). Call it before any thread. Returns -1 if the kernel refuses. */
int outside_forbid_programs(struct jp_error *err);

#endif
