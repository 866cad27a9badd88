/* hangs_file.c - what is in flight in one of the files. */
#include "orchestrator/ingest/hangs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill_op(struct hangs_op *to, const struct jp_recfile *file,
                    const struct pending_op *pending)
{
    const struct jpr_op *op = &pending->op;
    const struct jpr_comm *comm = jpr_comm(file->reader, op->comm);
    const struct recfile_comm *told = recfile_comm(file, op->comm);

    *to = (struct hangs_op){
        .hash = comm->id,
        .kind = op->kind,
        .rank = comm->rank,
        .n_ranks = comm->n_ranks,
        .peer = op->peer,
        .seq = recfile_seq(op),
        .bytes = op->bytes,
        .captured = (op->graph_captured || recfile_seq(op) != op->seq) &&
                    !op->channels_started,
        .unsure = op->unsure,
        .channels = op->n_channels,
        .started = op->channels_started,
        .stopped = op->channels_stopped};
    memcpy(to->id, told->id, sizeof(to->id));
    memcpy(to->name, told->name, sizeof(to->name));
    if (op->kind == JPR_CE) /* the kind is told beside it */
        snprintf(to->func, sizeof(to->func), "%.*s", (int) sizeof(to->func) - 1,
                 op->func);
    else
        recfile_func_name(op, to->func, sizeof(to->func));
    to->start_ns = (int64_t) recfile_wall_ns(
        file, op->enqueue_start_mono_ns ? op->enqueue_start_mono_ns
                                        : op->kernel_first_mono_ns);
    to->until_ns = (int64_t) recfile_wall_ns(file, pending->until_mono_ns);
}

static int take_pending(struct hangs_file *r, const struct jp_recfile *file,
                        const struct pending_op *pending, bool cut_short,
                        struct hangs_evidence *evidence)
{
    const struct jpr_comm *comm = jpr_comm(file->reader, pending->op.comm);

    if (!comm || !recfile_comm(file, pending->op.comm)) {
        evidence->left_out++;
        return 0;
    }
    fill_op(&evidence->ops[evidence->n_ops], file, pending);
    evidence->process.busy |= !pending->op.unsure;
    evidence->ops[evidence->n_ops++].cut_short = cut_short;
    return progress_op(&r->progress, comm, &pending->op, false);
}

int hangs_file_add(struct hangs_file *r, const struct jp_recfile *file,
                   const struct jpr_record *record)
{
    const struct jpr_comm *comm;

    if (record->type == JPR_COMM)
        return progress_comm(&r->progress, record->comm);
    if (record->type == JPR_OP) {
        comm = jpr_comm(file->reader, record->op->comm);
        if (comm &&
            progress_op(&r->progress, comm, record->op,
                        !record->op->incomplete || record->op->overtaken) < 0)
            return -1;
    }
    return pending_add(&r->pending, record);
}

/* The counters know of what was lost or left out, too. They are by function,
 * those by the copy engines and replays among them. */
static int take_counts(struct hangs_file *r, const struct jp_recfile *file)
{
    bool apart = !file->tail.by_ce && !file->tail.has_replays;

    for (uint32_t i = 0; apart && i < file->n_comms; i++) {
        const struct recfile_comm *told = recfile_comm(file, i);
        const struct jpr_comm *comm = jpr_comm(file->reader, i);

        for (size_t k = 0; told && comm && k < told->n_counts; k++)
            if (progress_count(&r->progress, comm, told->counts[k].func,
                               told->counts[k].counts.produced) < 0)
                return -1;
    }
    return 0;
}

static void fill_process(struct hangs_process *process,
                         const struct jp_recfile *file)
{
    const struct recfile_tail *tail = &file->tail;

    *process = (struct hangs_process){.pid = -1, .task = -1};
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

static int take_end(struct hangs_file *r, const struct jp_recfile *file,
                    struct hangs_evidence *e)
{
    const struct jp_pending *p = &r->pending;
    int rc = 0;

    if (p->n + p->n_cut_short) {
        e->ops = calloc(p->n + p->n_cut_short, sizeof(*e->ops));
        if (!e->ops)
            return -1;
    }
    e->left_out = p->left_out;
    for (size_t i = 0; rc == 0 && i < p->n; i++)
        rc = take_pending(r, file, &p->ops[i], false, e);
    for (size_t i = 0; rc == 0 && i < p->n_cut_short; i++)
        rc = take_pending(r, file, &p->cut_short[i], true, e);
    return rc < 0 ? -1 : take_counts(r, file);
}

/* All but the progress. */
static int take_all(struct hangs_file *r, const struct jp_recfile *file,
                    struct hangs_evidence *evidence)
{
    *evidence = (struct hangs_evidence){0};
    fill_process(&evidence->process, file);
    pending_settle(&r->pending);
    return take_end(r, file, evidence);
}

int hangs_file_end(struct hangs_file *r, const struct jp_recfile *file,
                   struct hangs_evidence *evidence)
{
    int rc = take_all(r, file, evidence);

    pending_clear(&r->pending);
    progress_freeze(&r->progress);
    evidence->progress = r->progress;
    r->progress = (struct progress){0};
    if (rc < 0)
        hangs_evidence_fini(evidence);
    return rc;
}

int hangs_file_look(struct hangs_file *r, const struct jp_recfile *file,
                    struct hangs_evidence *evidence)
{
    int rc = take_all(r, file, evidence);

    if (rc == 0)
        rc = progress_copy(&evidence->progress, &r->progress);
    if (rc < 0)
        hangs_evidence_fini(evidence);
    return rc;
}

void hangs_file_fini(struct hangs_file *r)
{
    progress_fini(&r->progress);
    pending_fini(&r->pending);
}

void hangs_evidence_fini(struct hangs_evidence *evidence)
{
    progress_fini(&evidence->progress);
    free(evidence->ops);
    *evidence = (struct hangs_evidence){0};
}
