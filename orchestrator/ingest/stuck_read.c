/* stuck_read.c - what is in flight in each of the recorder's files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/ingest/pending.h"
#include "orchestrator/ingest/stuck_parts.h"

/* In flight over all files, about 350 B each. */
#define MAX_OPS 65536

struct reading {
    struct jp_recwalk *walk;
    struct jp_stuck *stuck;
    struct progress progress;
    struct jp_pending pending;
};

static struct stuck_process *add_process(struct jp_stuck *stuck)
{
    size_t n = stuck->n_processes;
    struct stuck_process *more;

    if (!(n & (n - 1))) {
        more = reallocarray(stuck->processes, n ? 2 * n : 1, sizeof(*more));
        if (!more)
            return NULL;
        stuck->processes = more;
    }
    stuck->processes[n] = (struct stuck_process){.pid = -1, .task = -1};
    stuck->n_processes++;
    return &stuck->processes[n];
}

static struct stuck_op *add_op(struct jp_stuck *stuck)
{
    size_t n = stuck->n_ops;
    struct stuck_op *more;

    if (!(n & (n - 1))) {
        more = reallocarray(stuck->ops, n ? 2 * n : 1, sizeof(*more));
        if (!more)
            return NULL;
        stuck->ops = more;
    }
    stuck->n_ops++;
    return memset(&stuck->ops[n], 0, sizeof(stuck->ops[n]));
}

static int take_pending(struct reading *r, const struct pending_op *pending,
                        bool cut_short)
{
    const struct jpr_op *op = &pending->op;
    const struct jp_recfile *file = &r->walk->file;
    const struct jpr_comm *comm = jpr_comm(file->reader, op->comm);
    const struct recfile_comm *told = recfile_comm(file, op->comm);
    struct stuck_op *to;

    if (!comm || !told || r->stuck->n_ops == MAX_OPS) {
        r->stuck->left_out++;
        return 0;
    }
    to = add_op(r->stuck);
    if (!to)
        return -1;
    to->process = (uint32_t) r->stuck->n_processes - 1;
    to->hash = comm->id;
    memcpy(to->id, told->id, sizeof(to->id));
    memcpy(to->name, told->name, sizeof(to->name));
    snprintf(to->func, sizeof(to->func), "%.*s", (int) sizeof(to->func) - 1,
             op->func);
    to->kind = op->kind;
    to->rank = comm->rank;
    to->n_ranks = comm->n_ranks;
    to->peer = op->peer;
    to->seq = op->seq;
    to->bytes = op->bytes;
    to->start_ns = (int64_t) recfile_wall_ns(
        file, op->enqueue_start_mono_ns ? op->enqueue_start_mono_ns
                                        : op->kernel_first_mono_ns);
    to->until_ns = (int64_t) recfile_wall_ns(file, pending->until_mono_ns);
    to->cut_short = cut_short;
    to->captured = op->graph_captured && !op->channels_started;
    to->channels = op->n_channels;
    to->started = op->channels_started;
    to->stopped = op->channels_stopped;
    return progress_op(&r->progress, comm, op, false, to->process);
}

static int take_record(struct reading *r, const struct jpr_record *record)
{
    uint32_t process = (uint32_t) r->stuck->n_processes - 1;
    const struct jpr_comm *comm;

    if (record->type == JPR_COMM)
        return progress_comm(&r->progress, record->comm, process);
    if (record->type == JPR_OP) {
        comm = jpr_comm(r->walk->file.reader, record->op->comm);
        if (comm &&
            progress_op(&r->progress, comm, record->op,
                        !record->op->incomplete || record->op->overtaken,
                        process) < 0)
            return -1;
    }
    return pending_add(&r->pending, record);
}

/* The counters know of what was lost or left out, too. They are by function,
 * those by the copy engines among them. */
static int take_counts(struct reading *r)
{
    const struct jp_recfile *file = &r->walk->file;
    uint32_t process = (uint32_t) r->stuck->n_processes - 1;

    for (uint32_t i = 0; !file->tail.by_ce && i < file->n_comms; i++) {
        const struct recfile_comm *told = recfile_comm(file, i);
        const struct jpr_comm *comm = jpr_comm(file->reader, i);

        for (size_t k = 0; told && comm && k < told->n_counts; k++)
            if (progress_count(&r->progress, comm, told->counts[k].func,
                               told->counts[k].counts.produced, process) < 0)
                return -1;
    }
    return 0;
}

static void fill_process(struct stuck_process *process,
                         const struct jp_recfile *file)
{
    const struct recfile_tail *tail = &file->tail;

    memcpy(process->host, file->host, sizeof(process->host));
    if (file->has_header) {
        process->pid = file->pid;
        process->task = file->procid;
    }
    process->final = tail->final && !jpr_end(file->reader)->cut;
    process->cut = !process->final;
    process->damaged = jpr_end(file->reader)->damaged > 0;
    process->last_ns = (int64_t) tail->last_ns;
    if (tail->counted)
        process->counted_ns =
            (int64_t) recfile_wall_ns(file, tail->clocks.mono_ns);
}

static int read_file(struct reading *r)
{
    const struct jp_recfile *file = &r->walk->file;
    struct stuck_process *process = add_process(r->stuck);
    struct jpr_record record;

    if (!process)
        return -1;
    progress_begin(&r->progress);
    pending_clear(&r->pending);
    while (recwalk_record(r->walk, &record))
        if (take_record(r, &record) < 0)
            return -1;
    fill_process(process, file);
    pending_settle(&r->pending);
    process->busy = r->pending.n > 0 || r->pending.n_cut_short > 0;
    r->stuck->left_out += r->pending.left_out;
    for (size_t i = 0; i < r->pending.n; i++)
        if (take_pending(r, &r->pending.ops[i], false) < 0)
            return -1;
    for (size_t i = 0; i < r->pending.n_cut_short; i++)
        if (take_pending(r, &r->pending.cut_short[i], true) < 0)
            return -1;
    return take_counts(r);
}

int stuck_read(struct jp_recwalk *walk, struct jp_stuck *stuck,
               struct jp_error *err)
{
    struct reading r = {.walk = walk, .stuck = stuck};
    int rc = 0;

    *stuck = (struct jp_stuck){0};
    while (rc == 0 && recwalk_open(walk))
        rc = read_file(&r);
    if (rc == 0) {
        progress_sort(&r.progress);
        rc = stuck_group_ops(stuck, &r.progress);
    }
    progress_fini(&r.progress);
    pending_fini(&r.pending);
    if (rc < 0) {
        stuck_fini(stuck);
        error_set(err, "out of memory");
    }
    return rc;
}

void stuck_fini(struct jp_stuck *stuck)
{
    for (size_t i = 0; i < stuck->n_groups; i++) {
        free(stuck->groups[i].states);
        free(stuck->groups[i].processes);
    }
    free(stuck->groups);
    free(stuck->ops);
    free(stuck->processes);
    *stuck = (struct jp_stuck){0};
}
