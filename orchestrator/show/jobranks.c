/* jobranks.c - derive job ranks from what files say about their processes.
 *
 * A claim of a file becomes a member of a communicator, and a task if it names
 * one. jobranks_decide converts both to the structs of a report (struct
 * jp_result, struct jp_process_tasks) and lets identity/processes.h decide, so
 * that `show` and a report name the same ranks. */
#include "orchestrator/show/jobranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/hash.h"
#include "common/keymap.h"
#include "common/num.h"
#include "common/vector.h"
#include "orchestrator/identity/processes.h"
#include "orchestrator/show/csvtable.h"

/* A claim about a communicator; or, if n_ranks is 0, about a process. */
struct member {
    char *host;
    int64_t pid;
    uint64_t instance, device;
    char id[RECORD_MAX_ID + 1];
    uint32_t n_ranks, rank;
};

/* One input. */
struct step {
    const char *input; /* borrowed */
    struct member *members;
    size_t n;
    struct jp_process_task *tasks; /* owns the hosts */
    size_t n_tasks;
    struct keymap seen; /* hash table of members and tasks */
    /* set when the ranks are decided */
    struct jp_result result;
    struct jp_processes processes;
};

struct jp_jobranks {
    const char *const *inputs; /* borrowed */
    struct step *steps;        /* one of each */
    size_t n;
};

struct jp_jobranks *jobranks_create(const char *const *inputs, size_t n)
{
    struct jp_jobranks *ranks = calloc(1, sizeof(*ranks));

    if (!ranks)
        return NULL;
    ranks->steps = calloc(n + 1, sizeof(*ranks->steps));
    if (!ranks->steps) {
        free(ranks);
        return NULL;
    }
    ranks->n = n;
    ranks->inputs = inputs;
    for (size_t i = 0; i < n; i++)
        ranks->steps[i].input = inputs[i];
    return ranks;
}

/* Frees what a step owns. */
static void step_fini(struct step *step)
{
    for (size_t i = 0; i < step->n; i++)
        free(step->members[i].host);
    for (size_t i = 0; i < step->n_tasks; i++)
        free((char *) step->tasks[i].host);
    free(step->members);
    free(step->tasks);
    keymap_fini(&step->seen);
    processes_fini(&step->processes);
    for (size_t i = 0; i < step->result.n_recorded; i++)
        free(step->result.recorded[i].host);
    free(step->result.recorded);
    free(step->result.comms);
    free(step->result.ranks);
}

void jobranks_destroy(struct jp_jobranks *ranks)
{
    if (!ranks)
        return;
    for (size_t i = 0; i < ranks->n; i++)
        step_fini(&ranks->steps[i]);
    free(ranks->steps);
    free(ranks);
}

/* Returns the input that contains a file; NULL if there is none. */
static struct step *step_of(const struct jp_jobranks *ranks, const char *path)
{
    size_t at = logwalk_input_of(ranks->inputs, ranks->n, path);

    return at < ranks->n ? &ranks->steps[at] : NULL;
}

/* ----------------------------------------------------------------- collect */

/* Adds a pair of hashes. Returns 1 if it is new, 0 if it was there, -1 without
 * memory. Two processes with equal hashes would be taken for one; with 128 bits
 * this does not happen by chance. */
static int is_new(struct step *step, uint64_t process, uint64_t what)
{
    if (keymap_find(&step->seen, process, what) != KEYMAP_NONE)
        return 0;
    return keymap_add(&step->seen, process, what, 0) < 0 ? -1 : 1;
}

static uint64_t instance_of(const struct jobranks_claim *claim)
{
    return claim->process ? process_instance(claim->process->pid_namespace,
                                             claim->process->start)
                          : 0;
}

/* Keeps who wrote a recording. Returns -1 without memory. */
static int add_recorded(struct step *step, const struct recfile_process *p)
{
    struct jp_result *r = &step->result;
    struct jp_recorded *row;

    if (VECTOR_DOUBLE(r->recorded, r->n_recorded) < 0)
        return -1;
    row = &r->recorded[r->n_recorded];
    *row = (struct jp_recorded){
        .host = strdup(p->host),
        .pid = p->pid,
        .instance = process_instance(p->pid_namespace, p->start),
        .procid = p->procid,
        .launched = p->launched};
    if (!row->host)
        return -1;
    r->n_recorded++;
    return 0;
}

/* Appends a member. Returns -1 without memory. */
static int add_member(struct step *step, const struct jobranks_claim *claim)
{
    struct member *member;
    size_t n;

    if (VECTOR_DOUBLE(step->members, step->n) < 0)
        return -1;
    member = &step->members[step->n];
    *member = (struct member){.host = strdup(claim->host),
                              .pid = claim->pid,
                              .instance = instance_of(claim),
                              .device = claim->device};
    if (!member->host)
        return -1;
    step->n++;
    /* the file names no communicator */
    if (!claim->id)
        return 0;
    n = strnlen(claim->id, sizeof(member->id) - 1);
    memcpy(member->id, claim->id, n);
    member->n_ranks = claim->n_ranks;
    member->rank = claim->rank;
    return 0;
}

/* Appends a task. Returns -1 without memory. */
static int add_task(struct step *step, const char *host, int64_t pid,
                    int64_t task)
{
    struct jp_process_task *to;

    if (VECTOR_DOUBLE(step->tasks, step->n_tasks) < 0)
        return -1;
    to = &step->tasks[step->n_tasks];
    *to = (struct jp_process_task){strdup(host), pid, task};
    if (!to->host)
        return -1;
    step->n_tasks++;
    return 0;
}

int jobranks_add(struct jp_jobranks *ranks, const char *path,
                 const struct jobranks_claim *claim)
{
    struct step *step = step_of(ranks, path);
    uint64_t process = hash_word(
        hash_word(hash_text(hash_start(), claim->host), (uint64_t) claim->pid),
        instance_of(claim));
    uint64_t comm = 0;
    int rc;

    if (!step)
        return 0;
    if (claim->id)
        comm = hash_word(
            hash_word(hash_text(hash_start(), claim->id), claim->n_ranks),
            claim->rank);
    /* a file may repeat its claim for every operation */
    rc = is_new(step, process, comm);
    if (rc > 0)
        rc = add_member(step, claim);
    if (rc == 0 && claim->process && claim->process->known &&
        (rc = is_new(step, process, 4)) > 0)
        rc = add_recorded(step, claim->process);
    if (rc < 0 || claim->task < 0)
        return rc < 0 ? -1 : 0;
    rc = is_new(step, process, hash_word(hash_start(), (uint64_t) claim->task));
    return rc > 0 ? add_task(step, claim->host, claim->pid, claim->task) : rc;
}

/* ------------------------------------------------------------------ decide */

/* Orders by communicator and rank. If two processes wrote as the same rank, the
 * smaller one comes first, as in a report. */
static int by_comm(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order;

    if (x->n_ranks != y->n_ranks)
        return x->n_ranks < y->n_ranks ? -1 : 1;
    order = strcmp(x->id, y->id);
    if (!order && x->rank != y->rank)
        order = x->rank < y->rank ? -1 : 1;
    if (!order)
        order = strcmp(x->host, y->host);
    if (order || x->pid != y->pid)
        return order ? order : x->pid < y->pid ? -1 : 1;
    return (x->instance > y->instance) - (x->instance < y->instance);
}

/* Whether both are of one communicator. Equal ids of different sizes are
 * different communicators. */
static bool same_comm(const struct member *x, const struct member *y)
{
    return x->n_ranks == y->n_ranks && !strcmp(x->id, y->id);
}

/* Converts the members to communicators and ranks of a result. */
static int make_result(struct step *step)
{
    struct jp_result *r = &step->result;

    r->comms = calloc(step->n + 1, sizeof(*r->comms));
    r->ranks = calloc(step->n + 1, sizeof(*r->ranks));
    if (!r->comms || !r->ranks)
        return -1;
    if (step->n)
        qsort(step->members, step->n, sizeof(*step->members), by_comm);
    for (size_t i = 0; i < step->n; i++) {
        const struct member *m = &step->members[i];
        bool is_same = i && same_comm(m, m - 1);

        /* two processes claim the same rank: the first one counts */
        if (is_same && m->n_ranks && m->rank == m[-1].rank)
            continue;
        if (!is_same)
            r->comms[r->n_comms++].n_ranks = m->n_ranks;
        r->ranks[r->n_ranks++] = (struct jp_rank){.comm = r->n_comms - 1,
                                                  .rank = m->rank,
                                                  .host = m->host,
                                                  .pid = m->pid,
                                                  .instance = m->instance,
                                                  .device = m->device};
    }
    return 0;
}

/* Returns the step's directory: the input itself, or its parent if the input is
 * raw/. Caller frees. NULL: no memory. */
static char *dir_of(const char *input)
{
    size_t n = strlen(input);

    if (n > 4 && !strcmp(input + n - 4, "/raw"))
        n -= 4;
    return strndup(input, n);
}

/* Reads the step's list of nodes and tasks. NULL: none. */
static struct jp_nodes *read_nodes(const char *input)
{
    char *dir = dir_of(input);
    struct jp_nodes *nodes = dir ? nodes_read(dir, NULL) : NULL;

    free(dir);
    return nodes;
}

/* The attempt of a process by the step's report. */
struct told {
    char *host;
    int64_t pid, restarts;
};

static int by_pid(const char *host_x, int64_t pid_x, const char *host_y,
                  int64_t pid_y)
{
    int order = strcmp(host_x, host_y);

    return order ? order : (pid_x > pid_y) - (pid_x < pid_y);
}

static int by_told(const void *a, const void *b)
{
    const struct told *x = a, *y = b;
    int order = by_pid(x->host, x->pid, y->host, y->pid);

    return order ? order
                 : (x->restarts > y->restarts) - (x->restarts < y->restarts);
}

static int by_recorded(const void *a, const void *b)
{
    const struct jp_recorded *x = a, *y = b;

    return by_pid(x->host, x->pid, y->host, y->pid);
}

/* Whether the recordings themselves tell attempts apart. */
static bool is_told(const struct jp_result *r)
{
    for (size_t i = 1; i < r->n_recorded; i++)
        if (r->recorded[i].launched.restarts !=
            r->recorded[0].launched.restarts)
            return true;
    return false;
}

/* Sets the attempt of a process. One of which only the report is left is added.
 * The recordings are sorted. Returns -1 without memory. */
static int take_told(struct step *step, const struct told *told,
                     size_t n_recordings)
{
    const struct jp_recorded key = {.host = told->host, .pid = told->pid};
    struct recfile_process process = {.pid = told->pid, .procid = -1};
    struct jp_recorded *all = step->result.recorded;
    struct jp_recorded *found =
        n_recordings
            ? bsearch(&key, all, n_recordings, sizeof(*all), by_recorded)
            : NULL;

    if (!found) {
        launched_init(&process.launched);
        process.launched.restarts = told->restarts;
        snprintf(process.host, sizeof(process.host), "%s", told->host);
        return add_recorded(step, &process);
    }
    while (found > all && !by_recorded(&found[-1], &key))
        found--;
    for (; found < all + n_recordings && !by_recorded(found, &key); found++)
        found->launched.restarts = told->restarts;
    return 0;
}

/* Reads the rows of a report's csv/ranks.csv that tell an attempt. Returns -1
 * without memory. */
static int read_told(const char *path, struct told **list, size_t *n)
{
    static const char *const asked[] = {"host", "pid", "restarts"};
    struct jp_csvtable table;
    const char *v[3];
    int rc = 0;

    /* no report yet, or one of an earlier version: nothing is told */
    if (csvtable_open(&table, path, asked, 3, NULL) < 0)
        return 0;
    while (rc == 0 && csvtable_next(&table, v, NULL) > 0) {
        struct told row = {.host = NULL};

        if (!*v[2] || num_parse_i64(v[1], 0, INT64_MAX, &row.pid, NULL) < 0 ||
            num_parse_i64(v[2], 0, INT64_MAX, &row.restarts, NULL) < 0)
            continue;
        row.host = strdup(v[0]);
        if (!row.host || VECTOR_DOUBLE(*list, *n) < 0) {
            free(row.host);
            rc = -1;
            break;
        }
        (*list)[(*n)++] = row;
    }
    csvtable_close(&table);
    return rc;
}

/* Takes the attempts of a step that the report has found and no launcher has
 * told: a report compares the times of all operations for it. Of processes with
 * one host and pid but two attempts, none is known. Returns -1 without memory.
 */
static int take_attempts(struct step *step)
{
    struct jp_result *r = &step->result;
    char *dir = dir_of(step->input);
    char *path = dir ? text_format("%s/csv/ranks.csv", dir) : NULL;
    size_t n_recordings = r->n_recorded, n = 0, next;
    struct told *list = NULL;
    int rc = path ? 0 : -1;

    if (rc == 0 && !is_told(r))
        rc = read_told(path, &list, &n);
    if (n)
        qsort(list, n, sizeof(*list), by_told);
    if (n && n_recordings)
        qsort(r->recorded, n_recordings, sizeof(*r->recorded), by_recorded);
    for (size_t i = 0; rc == 0 && i < n; i = next) {
        bool same = true;

        for (next = i + 1; next < n && !by_pid(list[i].host, list[i].pid,
                                               list[next].host, list[next].pid);
             next++)
            same = same && list[next].restarts == list[i].restarts;
        if (same)
            rc = take_told(step, &list[i], n_recordings);
    }
    for (size_t i = 0; i < n; i++)
        free(list[i].host);
    free(list);
    free(path);
    free(dir);
    return rc;
}

/* Decides the ranks of one step. Returns -1 without memory. */
static int decide_step(struct step *step)
{
    struct jp_nodes *nodes = read_nodes(step->input);
    struct jp_process_tasks tasks;
    int rc = 0;

    /* the nodes' lists have the tasks even if their files do not */
    for (size_t i = 0; rc == 0 && nodes && i < nodes->n_nodes; i++)
        for (size_t k = 0; rc == 0 && k < nodes->nodes[i].n_tasks; k++)
            rc = add_task(step, nodes->nodes[i].hostname,
                          nodes->nodes[i].tasks[k].pid,
                          nodes->nodes[i].tasks[k].gtid);
    tasks = (struct jp_process_tasks){.list = step->tasks,
                                      .n = step->n_tasks,
                                      .of_step = nodes ? nodes->step_tasks : 0};
    if (rc == 0)
        rc = take_attempts(step);
    if (rc == 0)
        rc = make_result(step);
    if (rc == 0)
        rc = processes_init(&step->processes, &step->result, &tasks);
    nodes_destroy(nodes);
    return rc;
}

int jobranks_decide(struct jp_jobranks *ranks)
{
    for (size_t i = 0; i < ranks->n; i++)
        if (decide_step(&ranks->steps[i]) < 0)
            return -1;
    return 0;
}

int64_t jobranks_find(const struct jp_jobranks *ranks, const char *path,
                      const char *host, int64_t pid, uint64_t instance)
{
    const struct step *step = step_of(ranks, path);
    const struct jp_process *process =
        step ? processes_find(&step->processes, host, pid, instance) : NULL;

    return process ? process->world_rank : -1;
}

int64_t jobranks_find_device(const struct jp_jobranks *ranks, const char *path,
                             const struct jp_recfile *file, uint64_t device)
{
    const struct step *step = step_of(ranks, path);
    const struct jp_process *process =
        step ? processes_find_device(
                   &step->processes, &step->result, file->host, file->pid,
                   process_instance(file->pid_namespace, file->start), device)
             : NULL;

    return process ? process->world_rank : -1;
}

/* -------------------------------------------------------- the recorder's files
 */

/* Adds what the first records of the open file say about its process. */
static int add_header(struct jp_jobranks *ranks, const struct jp_recwalk *walk)
{
    const struct jp_recfile *file = &walk->file;
    struct recfile_process process;

    recfile_process_of(file, &process);
    return jobranks_add(ranks, walk->path,
                        &(const struct jobranks_claim){.host = file->host,
                                                       .pid = file->pid,
                                                       .task = -1,
                                                       .process = &process});
}

/* Adds the communicators of the file's operations. */
static int add_comms(struct jp_jobranks *ranks, struct jp_recwalk *walk)
{
    const struct jp_recfile *file = &walk->file;
    struct recfile_process process;
    struct jpr_record record;
    int rc = 0;

    while (rc == 0 && recwalk_record(walk, &record)) {
        const struct recfile_comm *comm =
            record.type == JPR_OP ? recfile_comm(file, record.op->comm) : NULL;

        if (record.type == JPR_HEADER || record.type == JPR_PROCESS)
            recfile_process_of(file, &process);

        /* why: the communicator's data is not usable */
        if (comm && !comm->why)
            rc = jobranks_add(
                ranks, walk->path,
                &(const struct jobranks_claim){.host = file->host,
                                               .pid = file->pid,
                                               .task = -1,
                                               .process = &process,
                                               .device = comm->base.device,
                                               .id = comm->id,
                                               .n_ranks = comm->base.n_ranks,
                                               .rank = comm->base.rank});
    }
    return rc;
}

/* A process makes its communicators at the start: its first operations show
 * whether it has several GPUs. */
enum { FIRST_RECORDS = 4096 };

/* Whether the first operations of the open file are of several GPUs. */
static bool has_gpus(struct jp_recwalk *walk)
{
    struct jpr_record record;
    uint64_t device = 0;

    for (int i = 0; i < FIRST_RECORDS && recwalk_record(walk, &record); i++) {
        const struct recfile_comm *comm =
            record.type == JPR_OP ? recfile_comm(&walk->file, record.op->comm)
                                  : NULL;

        if (!comm || comm->why || !comm->base.device)
            continue;
        if (device && comm->base.device != device)
            return true;
        device = comm->base.device;
    }
    return false;
}

/* Whether each process is a task; a launcher's numbers have to agree with the
 * communicators. */
static bool is_settled(const struct jp_jobranks *ranks)
{
    for (size_t i = 0; i < ranks->n; i++)
        for (size_t k = 0; k < ranks->steps[i].processes.n; k++)
            if (ranks->steps[i].processes.list[k].evidence != JP_RANK_OF_TASK)
                return false;
    return true;
}

/* Reads all files of the walk: their headers only, or everything (whole). *gpus
 * is set if a process has several. Rewinds the walk. Returns NULL without
 * memory. */
static struct jp_jobranks *read_all(struct jp_recwalk *walk, bool whole,
                                    bool *gpus)
{
    struct jp_jobranks *ranks = jobranks_create(walk->inputs, walk->n_inputs);
    struct jpr_record record;
    int rc = ranks ? 0 : -1;

    while (rc == 0 && recwalk_open(walk)) {
        if (whole)
            rc = add_comms(ranks, walk);
        else if (recwalk_record(walk, &record)) {
            /* the second record of newer files tells who the process is */
            recwalk_record(walk, &record);
            rc = add_header(ranks, walk);
            *gpus = *gpus || has_gpus(walk);
        }
    }
    recwalk_rewind(walk);
    if (rc == 0)
        rc = jobranks_decide(ranks);
    if (rc == 0)
        return ranks;
    jobranks_destroy(ranks);
    return NULL;
}

struct jp_jobranks *jobranks_read(struct jp_recwalk *walk)
{
    void (*say)(void *, const char *) = walk->say;
    struct jp_jobranks *ranks;
    bool gpus = false;

    walk->say = NULL; /* the caller's own pass reports damage */
    ranks = read_all(walk, false, &gpus);
    /* some process has no task in its header, or a rank for each of its GPUs:
     * use communicators as well */
    if (ranks && (gpus || !is_settled(ranks))) {
        jobranks_destroy(ranks);
        ranks = read_all(walk, true, &gpus);
    }
    walk->say = say;
    return ranks;
}
