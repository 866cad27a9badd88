/* targets.c - who is missing on this node, and who waits. */
#include "orchestrator/evidence/targets.h"

#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/knob.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/evidence/proclook.h"
#include "orchestrator/ingest/logwalk.h"

enum { COMMS = 4096, READ_MS = 8000 };

/* The recordings of a step, file by file. */
struct reading {
    const struct targets_step *step;
    struct targets *out;
    struct jp_recwalk walk;
    struct hangs_sum sum;
    struct hangs_file file;
    bool *here; /* by process: of this node */
    size_t n_files;
    uint64_t comms[COMMS]; /* of this node, each once */
    size_t n_comms;
    uint64_t made_ns; /* CLOCK_MONOTONIC: the last of them */
    uint64_t end_ms;
};

/* Other nodes' recordings may be large. A rank whose file was not read is not
 * blamed. */
static int is_over(void *arg)
{
    const struct reading *r = arg;

    return clock_mono_ms() >= r->end_ms;
}

static void note_comm(struct reading *r, const struct jpr_comm *comm)
{
    if (comm->init_mono_ns > r->made_ns)
        r->made_ns = comm->init_mono_ns;
    for (size_t i = 0; i < r->n_comms; i++)
        if (r->comms[i] == comm->id)
            return;
    if (r->n_comms < COMMS)
        r->comms[r->n_comms++] = comm->id;
    r->out->entries += comm->n_ranks > 0 ? (uint64_t) comm->n_ranks : 1;
}

/* NCCL's number as knobs have it: 23007 is 2.30.7. */
static uint32_t release_of(uint64_t number)
{
    return number && number < 1000000
               ? JP_NCCL_RELEASE((uint32_t) number / 10000,
                                 (uint32_t) number / 100 % 100,
                                 (uint32_t) number % 100)
               : 0;
}

static void note(struct reading *r, const struct jpr_record *record)
{
    uint32_t release;

    if (record->type == JPR_COMM) {
        note_comm(r, record->comm);
    } else if (record->type == JPR_HEADER) {
        release = release_of(record->header->nccl_release);
        if (release &&
            (!r->out->nccl_release || release < r->out->nccl_release))
            r->out->nccl_release = release;
    }
}

/* Is it below raw/<node>/? */
static bool is_here(const struct reading *r)
{
    size_t len = strlen(r->step->node);
    const char *below = r->walk.below;

    below += *below == '/';
    if (r->step->own)
        return true;
    return strncmp(below, r->step->node, len) == 0 && below[len] == '/';
}

static int read_file(struct reading *r)
{
    bool here = is_here(r);
    struct hangs_evidence evidence;
    struct jpr_record record;
    bool *more;
    int rc;

    while (recwalk_record(&r->walk, &record)) {
        if (here)
            note(r, &record);
        if (hangs_file_add(&r->file, &r->walk.file, &record) < 0)
            return -1;
    }
    if (hangs_file_end(&r->file, &r->walk.file, &evidence) < 0)
        return -1;
    rc = hangs_sum_add(&r->sum, &evidence);
    hangs_evidence_fini(&evidence);
    more = realloc(r->here, (r->n_files + 1) * sizeof(*more));
    if (rc < 0 || !more)
        return -1;
    r->here = more;
    r->here[r->n_files++] = here;
    return 0;
}

static int read_all(struct reading *r, struct jp_error *err)
{
    char *raw = r->step->own
                    ? fileio_path("%s/raw/%s", r->step->dir, r->step->node)
                    : fileio_path("%s/raw", r->step->dir);
    const char *inputs[] = {raw};
    int rc = raw ? 0 : error_set(err, "out of memory");
    bool there = raw && stepdir_is_folder(raw);

    if (there)
        rc = recwalk_init(&r->walk, inputs, 1, err);
    if (there && rc == 0) {
        r->walk.look = is_over;
        r->walk.look_arg = r;
        while (rc == 0 && recwalk_open(&r->walk))
            rc = read_file(r);
        if (rc == 0)
            rc = hangs_sum_finish(&r->sum);
        if (rc < 0)
            error_set(err, "out of memory");
        r->out->recordings = r->walk.files;
        r->out->unread = r->walk.stopped;
        hangs_sum_fini(&r->sum);
        hangs_file_fini(&r->file);
        recwalk_fini(&r->walk);
    }
    free(raw);
    return rc;
}

static void add(struct targets *out, int64_t pid, int64_t task,
                enum evidence_role role)
{
    for (size_t i = 0; i < out->n; i++)
        if (out->list[i].pid == pid)
            return;
    if (pid <= 0)
        return;
    if (out->n < EVIDENCE_TARGETS)
        out->list[out->n++] = (struct evidence_target){pid, task, role};
    else
        out->left_out++;
}

static void add_process(const struct reading *r, uint32_t process,
                        enum evidence_role role)
{
    const struct hangs_process *p;

    if (process >= r->n_files || !r->here[process])
        return;
    p = &r->out->hangs.processes[process];
    add(r->out, p->pid, p->task, role);
}

static bool is_missing(enum hangs_state state)
{
    return state == HANGS_MISSING || state == HANGS_HELD ||
           state == HANGS_UNSURE;
}

/* Who did not enter the group's operation, as far as it is known. */
static void add_missing(const struct reading *r,
                        const struct hangs_group *group)
{
    for (uint32_t i = 0; group->states && i < group->n_ranks; i++)
        if (is_missing((enum hangs_state) group->states[i]))
            add_process(r, group->processes[i], EVIDENCE_MISSING);
}

static size_t count_waiting(const struct targets *out)
{
    size_t n = 0;

    for (size_t i = 0; i < out->n; i++)
        n += out->list[i].role == EVIDENCE_WAITING;
    return n;
}

static void add_waiting(const struct reading *r,
                        const struct hangs_group *group)
{
    const struct jp_hangs *hangs = &r->out->hangs;

    for (size_t i = 0;
         i < group->n_ops && count_waiting(r->out) < TARGETS_VICTIMS; i++)
        add_process(r, hangs->ops[group->first + i].process, EVIDENCE_WAITING);
}

static void choose(const struct reading *r)
{
    const struct jp_hangs *hangs = &r->out->hangs;
    size_t n_missing;

    for (size_t i = 0; i < hangs->n_groups; i++)
        add_missing(r, &hangs->groups[i]);
    n_missing = r->out->n;
    /* room is kept for those that wait */
    if (n_missing > EVIDENCE_TARGETS - TARGETS_VICTIMS) {
        r->out->left_out += n_missing - (EVIDENCE_TARGETS - TARGETS_VICTIMS);
        r->out->n = EVIDENCE_TARGETS - TARGETS_VICTIMS;
    }
    for (size_t i = 0; i < hangs->n_groups; i++)
        add_waiting(r, &hangs->groups[i]);
}

/* All tasks of the node: nothing tells who is missing. */
static void choose_all(const struct targets_step *step, struct targets *out)
{
    struct proclook_task tasks[EVIDENCE_TARGETS];
    const struct proclook_step of = {step->job, step->step, step->node};
    size_t n = proclook_tasks(step->root, &of, tasks, EVIDENCE_TARGETS);

    for (size_t i = 0; i < n; i++)
        add(out, tasks[i].pid, tasks[i].task, EVIDENCE_TASK);
}

int targets_find(const struct targets_step *step, struct targets *out,
                 struct jp_error *err)
{
    struct reading *r = calloc(1, sizeof(*r));
    uint64_t now_ms = clock_mono_ms();
    int rc = -1;

    *out = (struct targets){.quiet_ms = UINT64_MAX};
    if (!r)
        return error_set(err, "out of memory");
    r->step = step;
    r->out = out;
    r->sum.hangs = &out->hangs;
    r->end_ms = now_ms + READ_MS;
    if (read_all(r, err) == 0) {
        if (r->made_ns)
            out->quiet_ms = now_ms > r->made_ns / 1000000
                                ? now_ms - r->made_ns / 1000000
                                : 0;
        if (out->hangs.n_groups && !step->own)
            hangs_answer(&out->hangs, out->answer, sizeof(out->answer));
        if (!step->own)
            choose(r);
        if (!out->n && !out->hangs.n_groups && !step->own)
            choose_all(step, out);
        rc = 0;
    }
    if (rc < 0)
        targets_fini(out);
    free(r->here);
    free(r);
    return rc;
}

void targets_fini(struct targets *targets)
{
    hangs_fini(&targets->hangs);
    targets->hangs = (struct jp_hangs){0};
}

/* --- the order -------------------------------------------------------------
 */

void targets_set(const struct targets *found, uint32_t nccl,
                 struct evidence_order *order)
{
    const char *why = NULL;

    order->hangs = &found->hangs;
    if (!order->what)
        order->what = found->answer;
    if (!order->no_ras &&
        !ras_may_ask(nccl ? nccl : found->nccl_release, false, found->quiet_ms,
                     found->entries, &order->ras.json, &why))
        order->no_ras = why;
}
