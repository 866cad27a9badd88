/* slurmask.c - ask Slurm's controller about a job, a step, its configuration.
 *
 * Each query runs in a child (slurmask): an answer_*() function calls libslurm
 * there and fills a plain struct, which comes back through a pipe. Requests
 * that need no answer run in a child that nobody waits for (request).
 */
#include "config.h"

#include "orchestrator/collect/slurmask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/child.h"
#include "common/knob.h"
#include "common/num.h"

#ifdef HAVE_SLURM
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include <slurm/slurm.h>
#endif

/* --- names of generic resources --- */

/* Appends one name of n bytes to the comma list in buf, unless it is there or
 * does not fit. */
static void add_name(const char *name, size_t n, char *buf, size_t len)
{
    size_t used = strlen(buf);
    char one[64];

    if (!n || n >= sizeof(one) || used + n + 2 > len)
        return;
    memcpy(one, name, n);
    one[n] = '\0';
    if (!knob_list_has(buf, one))
        snprintf(buf + used, len - used, "%s%s", used ? "," : "", one);
}

/* Handles two notations of Slurm: "gres:gpu:a100:4" and "gres/gpu=2". */
void slurmgres_add(const char *text, bool all_tres, char *buf, size_t len)
{
    while (text && *text) {
        const char *name = text;
        bool gres = !strncmp(text, "gres:", 5) || !strncmp(text, "gres/", 5);

        if (gres)
            name += 5;
        if (gres || !all_tres)
            add_name(name, strcspn(name, ":/=(,"), buf, len);
        /* "gpu:a100:2(IDX:0,3),nvme:1": a comma in brackets separates
         * nothing */
        for (int depth = 0; *text && (depth > 0 || *text != ','); text++)
            depth += *text == '(' ? 1 : *text == ')' ? -1 : 0;
        text += *text == ',';
    }
}

#ifdef HAVE_SLURM
/* --- the question, asked in a child --- */

/* Runs in the child and fills *out, which starts as zeros. Returns false if
 * there is no answer. Nothing is freed: the child ends. */
typedef bool answer_fn(const void *arg, void *out);

struct question {
    answer_fn *answer;
    const void *arg;
    char *buf;
    size_t len;
};

/* Runs in the child: gets the answer and writes it to fd. Returns the exit
 * status. */
static int ask_in_child(void *arg, int fd)
{
    const struct question *q = arg;
    int null = open("/dev/null", O_RDWR);

    if (null >= 0)
        dup2(null, STDERR_FILENO); /* libslurm writes its errors there */
    slurm_init(NULL);
    if (!q->answer(q->arg, q->buf))
        return 1;
    for (size_t at = 0; at < q->len;) {
        ssize_t n = write(fd, q->buf + at, q->len - at);

        if (n <= 0)
            return 1;
        at += (size_t) n;
    }
    return 0;
}

/* Calls answer in a child, which fills len bytes at out within wait_ms. Returns
 * false, with out unchanged, if it fails. Must not be called after threads were
 * started, because libslurm in a forked child could wait for their locks. */
static bool slurmask(answer_fn *answer, const void *arg, unsigned wait_ms,
                     void *out, size_t len)
{
    struct question q = {answer, arg, calloc(1, len), len};
    const struct child child = {.work = ask_in_child,
                                .arg = &q,
                                .limit_ms = wait_ms,
                                .dies_with_us = true,
                                .out = q.buf,
                                .room = len};
    struct child_result r;
    bool whole = q.buf && child_succeeded(child_run(&child, &r), &r) &&
                 r.len == len;

    if (whole)
        memcpy(out, q.buf, len);
    free(q.buf);
    return whole;
}

/* Copies a text. One that is NULL or does not fit stays unknown (""). */
static void copy_text(const char *text, char *buf, size_t len)
{
    if (text && strlen(text) < len)
        memcpy(buf, text, strlen(text) + 1);
}

/* --- about a job --- */

/* slurm_load_job, whose arguments differ between releases. */
static int load_job(job_info_msg_t **jobs, uint32_t job_id)
{
#ifdef HAVE_SLURM_LOAD_JOB_STEP_ID
    slurm_step_id_t id = {
        .job_id = job_id, .step_id = NO_VAL, .step_het_comp = NO_VAL};

    return slurm_load_job(jobs, id, SHOW_ALL);
#else
    return slurm_load_job(jobs, job_id, SHOW_ALL);
#endif
}

/* Slurm's time limit in minutes as microseconds; 0: unknown, UINT64_MAX:
 * none. */
static uint64_t limit_us(uint32_t minutes)
{
    /* Slurm's special values. */
    if (minutes == INFINITE)
        return UINT64_MAX;
    return minutes == NO_VAL ? 0 : minutes * 60000000ULL;
}

/* Slurm's base state as ours. A suspended job counts as running. */
static enum slurmjob_state state_of(uint32_t state)
{
    static const enum slurmjob_state of[JOB_END] = {
        [JOB_RUNNING] = SLURMJOB_RUNNING,
        [JOB_SUSPENDED] = SLURMJOB_RUNNING,
        [JOB_COMPLETE] = SLURMJOB_COMPLETED,
        [JOB_CANCELLED] = SLURMJOB_CANCELLED,
        [JOB_FAILED] = SLURMJOB_FAILED,
        [JOB_TIMEOUT] = SLURMJOB_TIMEOUT,
        [JOB_NODE_FAIL] = SLURMJOB_NODE_FAIL,
        [JOB_PREEMPTED] = SLURMJOB_PREEMPTED,
        [JOB_DEADLINE] = SLURMJOB_TIMEOUT,
        [JOB_OOM] = SLURMJOB_OUT_OF_MEMORY,
    };

    state &= JOB_STATE_BASE;
    return state < JOB_END ? of[state] : SLURMJOB_UNKNOWN;
}

/* Copies what we need of a job. */
static void copy_job(const slurm_job_info_t *job, struct slurmjob *out)
{
    const char *const tres[] = {job->tres_per_job, job->tres_per_node,
                                job->tres_per_socket, job->tres_per_task,
                                job->tres_alloc_str};

    copy_text(job->work_dir, out->work_dir, sizeof(out->work_dir));
    copy_text(job->partition, out->facts.partition,
              sizeof(out->facts.partition));
    copy_text(job->account, out->facts.account, sizeof(out->facts.account));
    out->facts.time_limit_us = limit_us(job->time_limit);
    /* A job that completes still runs epilogs or ends processes on some
     * node. */
    out->ended = (job->job_state & JOB_STATE_BASE) > JOB_SUSPENDED &&
                 !(job->job_state & JOB_COMPLETING);
    out->state = state_of(job->job_state);
    out->uid = job->user_id;
    out->restart = job->restart_cnt;
    copy_text(job->name, out->name, sizeof(out->name));
    if (out->state >= SLURMJOB_RUNNING && job->start_time > 0)
        out->start_us = (uint64_t) job->start_time * 1000000;
    if (out->state > SLURMJOB_RUNNING && job->end_time > 0)
        out->end_us = (uint64_t) job->end_time * 1000000;
    /* Resources may be requested per job, node, socket or task. */
    for (size_t i = 0; i < sizeof(tres) / sizeof(*tres); i++)
        slurmgres_add(tres[i], true, out->facts.gres, sizeof(out->facts.gres));
    slurmgres_add(job->gres_total, false, out->facts.gres,
                  sizeof(out->facts.gres));
}

static bool answer_job(const void *arg, void *out)
{
    const uint32_t *job_id = arg;
    job_info_msg_t *jobs = NULL;

    if (load_job(&jobs, *job_id) != 0 || jobs->record_count == 0)
        return false;
    copy_job(&jobs->job_array[0], out);
    return true;
}

bool slurmjob_get(uint32_t job_id, unsigned wait_ms, struct slurmjob *out)
{
    return slurmask(answer_job, &job_id, wait_ms, out, sizeof(*out));
}

/* --- about a step --- */

static bool answer_step(const void *arg, void *to)
{
    slurm_step_id_t id = *(const slurm_step_id_t *) arg;
    slurm_step_layout_t *layout = slurm_job_step_layout_get(&id);
    struct slurmstep *out = to;
    slurm_conf_t *conf = NULL;

    /* A list that does not fit would name too few nodes. */
    if (!layout || !layout->node_list ||
        strlen(layout->node_list) >= sizeof(out->nodes))
        return false;
    memcpy(out->nodes, layout->node_list, strlen(layout->node_list) + 1);
    out->n_nodes = layout->node_cnt;
    if (slurm_load_ctl_conf(0, &conf) == 0)
        out->kill_wait_s = conf->kill_wait;
    return true;
}

bool slurmstep_get(uint32_t job_id, uint32_t step_id, unsigned wait_ms,
                   struct slurmstep *out)
{
    slurm_step_id_t id = {
        .job_id = job_id, .step_id = step_id, .step_het_comp = NO_VAL};

    return slurmask(answer_step, &id, wait_ms, out, sizeof(*out));
}

/* --- about the configuration --- */

static bool answer_conf(const void *arg, void *to)
{
    struct slurmconf *out = to;
    slurm_conf_t *conf = NULL;

    (void) arg;
    if (slurm_load_ctl_conf(0, &conf) != 0)
        return false;
    copy_text(conf->version, out->version, sizeof(out->version));
    copy_text(conf->slurm_conf, out->path, sizeof(out->path));
    copy_text(conf->plugstack, out->plugstack, sizeof(out->plugstack));
    copy_text(conf->plugindir, out->plugin_dirs, sizeof(out->plugin_dirs));
    copy_text(conf->task_prolog, out->task_prolog, sizeof(out->task_prolog));
    return true;
}

bool slurmconf_get(unsigned wait_ms, struct slurmconf *out)
{
    memset(out, 0, sizeof(*out));
    return slurmask(answer_conf, NULL, wait_ms, out, sizeof(*out));
}

/* --- requests --- */

/* Limits of a child that nobody waits for: seconds until SIGALRM, and CPU
 * time. */
#define REQUEST_LIFE_S 20
#define REQUEST_CPU_S 5

struct request {
    uint32_t job, step;
    const char *text; /* NULL: cancel the step */
};

/* slurm_notify_job, whose arguments differ between releases. */
static int notify(const struct request *r)
{
#ifdef HAVE_SLURM_NOTIFY_JOB_STEP_ID
    slurm_step_id_t id = {
        .job_id = r->job, .step_id = NO_VAL, .step_het_comp = NO_VAL};

    return slurm_notify_job(id, (char *) r->text);
#else
    return slurm_notify_job(r->job, (char *) r->text);
#endif
}

/* slurm_kill_job_step, whose arguments differ between releases. */
static int cancel(const struct request *r)
{
#if HAVE_SLURM_KILL_JOB_STEP == 3
    return slurm_kill_job_step(r->job, r->step, SIGKILL);
#elif HAVE_SLURM_KILL_JOB_STEP == 4
    return slurm_kill_job_step(r->job, r->step, SIGKILL, 0);
#else
    return -1;
#endif
}

/* Runs in the child. Its streams are /dev/null, because it may outlive us. */
static int request_in_child(void *arg, int out)
{
    const struct rlimit cpu = {REQUEST_CPU_S, REQUEST_CPU_S};
    const struct request *r = arg;
    int null = open("/dev/null", O_RDWR);

    (void) out;
    if (null >= 0)
        for (int i = 0; i < 3; i++)
            dup2(null, i);
    setrlimit(RLIMIT_CPU, &cpu);
    alarm(REQUEST_LIFE_S);
    slurm_init(NULL);
    return (r->text ? notify(r) : cancel(r)) == 0 ? 0 : 1;
}

/* Starts a request and returns at once. The previous child is reaped here if it
 * has ended, so at most one zombie exists. */
static void request(const struct request *r)
{
    const struct child child = {.work = request_in_child, .arg = (void *) r};
    int status;

    /* the child of the previous request */
    static pid_t last;

    /* with a limit of 0, child_await only checks */
    if (last > 0)
        child_await(last, 0, &status);
    last = child_start(&child);
}

void slurmjob_notify(uint32_t job_id, const char *text)
{
    request(&(struct request){.job = job_id, .text = text});
}

void slurmstep_cancel(uint32_t job_id, uint32_t step_id)
{
    request(&(struct request){.job = job_id, .step = step_id});
}
#else /* a build without Slurm: no answers */
void slurmjob_notify(uint32_t job_id, const char *text)
{
    (void) job_id;
    (void) text;
}

void slurmstep_cancel(uint32_t job_id, uint32_t step_id)
{
    (void) job_id;
    (void) step_id;
}

bool slurmjob_get(uint32_t job_id, unsigned wait_ms, struct slurmjob *out)
{
    (void) job_id;
    (void) wait_ms;
    (void) out;
    return false;
}

bool slurmstep_get(uint32_t job_id, uint32_t step_id, unsigned wait_ms,
                   struct slurmstep *out)
{
    (void) job_id;
    (void) step_id;
    (void) wait_ms;
    (void) out;
    return false;
}

bool slurmconf_get(unsigned wait_ms, struct slurmconf *out)
{
    (void) wait_ms;
    memset(out, 0, sizeof(*out));
    return false;
}
#endif

/* --- the accounting --- */

/* The columns that sacct is asked for. The name may contain the separator, so
 * it is the last one. */
enum {
    ACCT_UID,
    ACCT_START,
    ACCT_RESTARTS,
    ACCT_ACCOUNT,
    ACCT_PARTITION,
    ACCT_NAME,
    ACCT_COLUMNS
};
#define ACCT_FORMAT "UID,Start,Restarts,Account,Partition,JobName"

/* Fills *out from a line of sacct -P. False: it is not one. */
static bool parse_accounted(char *line, struct slurmjob *out)
{
    const char *column[ACCT_COLUMNS];
    uint64_t uid, start = 0, restart = 0;
    char *rest = line;

    for (size_t i = 0; i < ACCT_COLUMNS; i++) {
        column[i] = i == ACCT_NAME ? rest : strsep(&rest, "|");
        if (!column[i] || (i < ACCT_NAME && !rest))
            return false;
    }
    if (num_parse_u64(column[ACCT_UID], 0, UINT32_MAX - 1, &uid, NULL) < 0)
        return false;
    *out = (struct slurmjob){.uid = (uint32_t) uid};
    /* "Unknown" and "None" of a job that has not started stay 0 */
    num_parse_u64(column[ACCT_START], 1, UINT32_MAX, &start, NULL);
    num_parse_u64(column[ACCT_RESTARTS], 0, UINT32_MAX, &restart, NULL);
    out->start_us = start * 1000000;
    out->restart = (uint32_t) restart;
    snprintf(out->facts.account, sizeof(out->facts.account), "%s",
             column[ACCT_ACCOUNT]);
    snprintf(out->facts.partition, sizeof(out->facts.partition), "%s",
             column[ACCT_PARTITION]);
    snprintf(out->name, sizeof(out->name), "%s", column[ACCT_NAME]);
    return true;
}

bool slurmjob_accounted(uint32_t job_id, unsigned wait_ms, struct slurmjob *out)
{
    char id[16], line[2048];
    /* times as seconds since 1970 */
    const char *const argv[] = {"env",   "SLURM_TIME_FORMAT=%s",
                                "sacct", "-X",
                                "-n",    "-P",
                                "-j",    id,
                                "-o",    ACCT_FORMAT,
                                NULL};
    const struct child child = {.argv = (char *const *) argv,
                                .limit_ms = wait_ms,
                                .dies_with_us = true,
                                .out = line,
                                .room = sizeof(line) - 1};
    struct child_result r;

    snprintf(id, sizeof(id), "%u", (unsigned) job_id);
    if (!child_succeeded(child_run(&child, &r), &r))
        return false;
    line[r.len] = '\0';
    /* without -D only the last run of a job that was requeued */
    line[strcspn(line, "\n")] = '\0';
    return parse_accounted(line, out);
}

/* --- what is done with answers --- */

/* Asks for the job of SLURM_JOB_ID. Values that are known already are kept,
 * except for resources: the environment knows only of GPUs. */
static void ask_facts(struct jp_jobfacts *facts)
{
    struct slurmjob job;
    uint64_t id;

    if (num_parse_u64(getenv("SLURM_JOB_ID"), 1, UINT32_MAX, &id, NULL) < 0 ||
        !slurmjob_get((uint32_t) id, JP_SLURMJOB_LAUNCH_MS, &job))
        return;
    if (*facts->partition)
        memcpy(job.facts.partition, facts->partition, sizeof(facts->partition));
    if (*facts->account)
        memcpy(job.facts.account, facts->account, sizeof(facts->account));
    if (facts->time_limit_us)
        job.facts.time_limit_us = facts->time_limit_us;
    *facts = job.facts;
}

void slurmjob_ask(void *arg, struct jp_jobfacts *facts)
{
    struct slurmjob_memo *memo = arg;

    if (!memo->done) {
        memo->facts = *facts;
        ask_facts(&memo->facts);
        memo->done = true;
    }
    *facts = memo->facts;
}
