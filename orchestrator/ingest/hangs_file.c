/* hangs_file.c - find what is in flight in one file of the recorder.
 *
 * Two things are collected while a file is read. "pending": the operations in
 * its last snapshot that have not ended since, and those that finalize or exit
 * has cut short. "progress": for each series the largest sequence numbers that
 * have begun and ended. hangs_file_end makes them one process' evidence. */
#include "orchestrator/ingest/hangs.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/vector.h"
#include "plugins/nccl_recorder/recfile.h"
#include "plugins/nccl_recorder/jpr_read.h"

/* Copies a string for the lifetime of pending; "?" if there is no room. */
static const char *lasting(struct jp_pending *pending, const char *text)
{
    size_t n = pending->n_texts;

    for (size_t i = 0; i < n; i++)
        if (!strcmp(pending->texts[i], text))
            return pending->texts[i];
    if (n == PENDING_TEXTS || !(pending->texts[n] = strdup(text)))
        return "?";
    return pending->texts[pending->n_texts++];
}

/* Appends to a list of *n operations. */
static int keep_operation(struct jp_pending *pending, struct pending_op **ops,
                          size_t *n, const struct jpr_op *op)
{
    struct jpr_op *copy;

    if (*n == PENDING_MAX) {
        pending->left_out++;
        return 0;
    }
    if (VECTOR_DOUBLE(*ops, *n) < 0)
        return -1;
    (*ops)[*n] = (struct pending_op){.op = *op};
    /* the reader's strings are gone with its next record */
    copy = &(*ops)[*n].op;
    copy->func = lasting(pending, op->func);
    copy->datatype = lasting(pending, op->datatype);
    copy->algo = lasting(pending, op->algo);
    copy->proto = lasting(pending, op->proto);
    copy->api_func = lasting(pending, op->api_func);
    copy->api_datatype = lasting(pending, op->api_datatype);
    ++*n;
    return 0;
}

/* --------------------------------------------------------------- snapshot --
 */

static uint64_t op_hash(const struct jpr_op *op)
{
    uint64_t hash =
        hash_word(hash_start(), (uint64_t) op->comm << 32 ^ op->kind);

    return hash_text(hash_word(hash, op->seq), op->func);
}

/* The first operation of the snapshot in flight that looks like op. HASH_NONE:
 * none. */
static uint32_t find_like(const struct jp_pending *pending, uint64_t hash,
                          const struct jpr_op *op)
{
    uint32_t at;

    for (size_t i = 0;
         (at = hash_next(&pending->in_flight, hash, &i)) != HASH_NONE;) {
        const struct jpr_op *one = &pending->ops[at].op;

        if (one->seq == op->seq && one->comm == op->comm &&
            one->kind == op->kind && !strcmp(one->func, op->func))
            break;
    }
    return at;
}

/* Lists an operation of the snapshot as in flight. 0, or -1: no memory. */
static int put_pending(struct jp_pending *pending, size_t i)
{
    struct pending_op *op = &pending->ops[i];
    uint64_t hash = op_hash(&op->op);
    uint32_t first = find_like(pending, hash, &op->op);

    op->next = 0;
    if (first == HASH_NONE)
        return hash_add(&pending->in_flight, hash, (uint32_t) i);
    op->next = pending->ops[first].next;
    pending->ops[first].next = (uint32_t) i + 1;
    return 0;
}

/* Adds an operation of the snapshot. 0, or -1: no memory. */
static int keep_inflight(struct jp_pending *pending, const struct jpr_op *op)
{
    size_t before = pending->n;

    if (keep_operation(pending, &pending->ops, &pending->n, op) < 0)
        return -1;
    return pending->n > before ? put_pending(pending, before) : 0;
}

/* Marks an operation that has ended since the snapshot. */
static void mark_ended(struct jp_pending *pending, const struct jpr_op *op)
{
    uint64_t hash = pending->in_flight.n ? op_hash(op) : 0;
    uint32_t first = find_like(pending, hash, op), second;

    if (first == HASH_NONE)
        return;
    /* it is no longer listed, so that a second end finds another one */
    second = pending->ops[first].next;
    if (second) {
        pending->ops[second - 1].ended = true;
        pending->ops[first].next = pending->ops[second - 1].next;
    } else {
        pending->ops[first].ended = true;
        hash_remove(&pending->in_flight, hash, first);
    }
}

static void clear_snapshot(struct jp_pending *pending)
{
    hash_clear(&pending->in_flight);
    pending->n = 0;
    pending->left_out = 0;
    pending->at_mono_ns = 0;
    pending->left = 0;
}

void pending_clear(struct jp_pending *pending)
{
    clear_snapshot(pending);
    pending->n_cut_short = pending->n_dated = 0;
    pending->told_mono_ns = 0;
}

/* Takes an operation that has ended, or was cut short. 0, or -1: no memory. */
static int take_op(struct jp_pending *pending, const struct jpr_op *op)
{
    mark_ended(pending, op);
    return op->incomplete && !op->overtaken
               ? keep_operation(pending, &pending->cut_short,
                                &pending->n_cut_short, op)
               : 0;
}

/* Dates the operations that were cut short: finalize and exit write counters
 * directly after them. */
static void take_counters(struct jp_pending *pending,
                          const struct jpr_counters *counters)
{
    pending->told_mono_ns = counters->clocks.mono_ns;
    while (pending->n_dated < pending->n_cut_short)
        pending->cut_short[pending->n_dated++].until_mono_ns =
            pending->told_mono_ns;
}

static int take_inflight(struct jp_pending *pending,
                         const struct jpr_inflight *in)
{
    /* the first operation of a new snapshot */
    if (!pending->left || in->at_mono_ns != pending->at_mono_ns) {
        clear_snapshot(pending);
        pending->left_out = in->omitted;
    }
    pending->at_mono_ns = in->at_mono_ns;
    pending->left = in->left;
    return in->none ? 0 : keep_inflight(pending, &in->op);
}

int pending_add(struct jp_pending *pending, const struct jpr_record *record)
{
    switch (record->type) {
    case JPR_OP:
        return take_op(pending, record->op);
    case JPR_INFLIGHT:
        return take_inflight(pending, record->inflight);
    case JPR_COUNTERS:
        take_counters(pending, record->counters);
        return 0;
    default:
        return 0;
    }
}

void pending_settle(struct jp_pending *pending)
{
    /* no end was recorded until the last time that the file has */
    uint64_t last = pending->at_mono_ns > pending->told_mono_ns
                        ? pending->at_mono_ns
                        : pending->told_mono_ns;
    size_t kept = 0;

    hash_clear(&pending->in_flight); /* the operations move */
    for (size_t i = 0; i < pending->n; i++)
        if (!pending->ops[i].ended) {
            pending->ops[kept] = pending->ops[i];
            pending->ops[kept++].until_mono_ns = last;
        }
    pending->n = kept;
    /* hangs_file_look may continue with the same snapshot */
    for (size_t i = 0; i < kept; i++)
        put_pending(pending, i); /* there is room: it had as many before */
    while (pending->n_dated < pending->n_cut_short)
        pending->cut_short[pending->n_dated++].until_mono_ns = last;
}

void pending_fini(struct jp_pending *pending)
{
    for (size_t i = 0; i < pending->n_texts; i++)
        free(pending->texts[i]);
    free(pending->ops);
    hash_fini(&pending->in_flight);
    free(pending->cut_short);
    *pending = (struct jp_pending){0};
}

/* Limit of series per file: four functions of every communicator. Further ones
 * are left out. */
#define MAX_SERIES (4u * JPR_MAX_COMMS)

int progress_add(struct progress *progress, const struct progress_row *row)
{
    if (VECTOR_DOUBLE(progress->rows, progress->n) < 0)
        return -1;
    progress->rows[progress->n++] = *row;
    return 0;
}

/* Copies the rows of from, which stays in use, to an empty table. Returns 0, or
 * -1 without memory. */
static int progress_copy(struct progress *to, const struct progress *from)
{
    if (!from->n)
        return 0;
    to->rows = reallocarray(NULL, from->n, sizeof(*to->rows));
    if (!to->rows)
        return -1;
    memcpy(to->rows, from->rows, from->n * sizeof(*to->rows));
    to->n = from->n;
    return 0;
}

/* Adds a row for a communicator, which shows that the rank belongs to it.
 * .process is 0. Returns 0, or -1 without memory. */
static int progress_comm(struct progress *progress, const struct jpr_comm *comm)
{
    struct progress_row row = {.hash = comm->id,
                               .n_ranks = comm->n_ranks,
                               .rank = comm->rank,
                               .device = recfile_device(comm),
                               .kind = JPR_N_OP_KINDS};

    return progress_add(progress, &row);
}

/* Hashes the key of a series. */
static uint64_t hash_of(const struct jpr_comm *comm, unsigned kind,
                        const char *func)
{
    uint64_t hash = hash_word(hash_start(), kind);

    hash = hash_word(hash, comm->id);
    hash = hash_word(hash, (uint64_t) comm->rank);
    hash = hash_word(hash, (uint64_t) comm->n_ranks);
    return hash_bytes(hash, func, strnlen(func, RECORD_MAX_FUNC));
}

/* Whether a row is of this rank, communicator, kind and function. */
static bool is_series(const struct progress_row *r, const struct jpr_comm *comm,
                      unsigned kind, const char *func)
{
    return r->kind == kind && r->hash == comm->id && r->rank == comm->rank &&
           r->n_ranks == comm->n_ranks &&
           !strncmp(r->func, func, sizeof(r->func) - 1);
}

/* The file's row of a series. Beyond the limit it is a dummy row that is never
 * read. NULL: no memory. */
static struct progress_row *row_of(struct progress *progress,
                                   const struct jpr_comm *comm, unsigned kind,
                                   const char *func)
{
    struct progress_row row = {.hash = comm->id,
                               .n_ranks = comm->n_ranks,
                               .rank = comm->rank,
                               .kind = kind};
    static _Thread_local struct progress_row rest;
    uint64_t hash = hash_of(comm, kind, func);
    uint32_t at;

    for (size_t i = 0;
         (at = hash_next(&progress->series, hash, &i)) != HASH_NONE;)
        if (is_series(&progress->rows[at], comm, kind, func))
            return &progress->rows[at];
    row.device = recfile_device(comm);
    /* writing to a dummy saves a check in each caller */
    if (progress->series.n == MAX_SERIES) {
        rest = row;
        return &rest;
    }
    snprintf(row.func, sizeof(row.func), "%s", func);
    if (progress_add(progress, &row) < 0 ||
        hash_add(&progress->series, hash, (uint32_t) progress->n - 1) < 0)
        return NULL;
    return &progress->rows[progress->n - 1];
}

/* Frees the hash table of a file that has been read. The rows stay. */
static void progress_freeze(struct progress *progress)
{
    hash_fini(&progress->series);
}

int progress_op(struct progress *progress, const struct jpr_comm *comm,
                const struct jpr_op *op, bool ended)
{
    /* 0 means none, so numbers are kept with 1 added */
    uint64_t over = op->seq < UINT64_MAX ? op->seq + 1 : op->seq;
    struct progress_row *row;

    if (recfile_seq(op) != op->seq)
        return 0; /* a replay is not reported to every rank */
    row =
        row_of(progress, comm, op->kind, op->kind == JPR_COLL ? op->func : "");
    if (!row)
        return -1;
    if (ended && over > row->ended)
        row->ended = over;
    if (over > row->begun)
        row->begun = over;
    return 0;
}

/* Adds the counters of a function's collectives, including unrecorded ones.
 * NCCL numbers them from 0: the last of n has number n - 1. */
static int progress_count(struct progress *progress,
                          const struct jpr_comm *comm, const char *func,
                          uint64_t produced)
{
    struct progress_row *row = row_of(progress, comm, JPR_COLL, func);

    if (row && produced > row->begun)
        row->begun = produced;
    return row ? 0 : -1;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Rows that are equal here are one series of all ranks. */
static int by_series(const struct progress_row *x, const struct progress_row *y)
{
    int order = compare_numbers(x->hash, y->hash);

    if (!order)
        order = compare_numbers((uint64_t) x->n_ranks, (uint64_t) y->n_ranks);
    if (!order)
        order = compare_numbers(x->kind, y->kind);
    return order ? order : strcmp(x->func, y->func);
}

static int by_rank(const void *a, const void *b)
{
    const struct progress_row *x = a, *y = b;
    int order = by_series(x, y);

    if (!order)
        order = compare_numbers((uint64_t) x->rank, (uint64_t) y->rank);
    return order ? order : compare_numbers(x->process, y->process);
}

void progress_sort(struct progress *progress)
{
    if (progress->n)
        qsort(progress->rows, progress->n, sizeof(*progress->rows), by_rank);
}

const struct progress_row *progress_find(const struct progress *progress,
                                         uint64_t hash, int64_t n_ranks,
                                         unsigned kind, const char *func,
                                         size_t *n)
{
    struct progress_row key = {.hash = hash, .n_ranks = n_ranks, .kind = kind};
    size_t lo = 0, hi = progress->n, end;

    /* other kinds are numbered across functions */
    if (kind == JPR_COLL)
        snprintf(key.func, sizeof(key.func), "%s", func);
    /* the first row of the series, by bisection */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (by_series(&progress->rows[mid], &key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (end = lo;
         end < progress->n && by_series(&progress->rows[end], &key) == 0;)
        end++;
    *n = end - lo;
    return *n ? &progress->rows[lo] : NULL;
}

static void progress_fini(struct progress *progress)
{
    free(progress->rows);
    progress_freeze(progress);
    *progress = (struct progress){0};
}

/* Describes a pending operation, with times of the wall clock. */
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
        .device = recfile_device(comm),
        .captured = (op->graph_captured || recfile_seq(op) != op->seq) &&
                    !op->channels_started,
        .unsure = op->unsure,
        .channels = op->n_channels,
        .started = op->channels_started,
        .stopped = op->channels_stopped};
    memcpy(to->id, told->id, sizeof(to->id));
    memcpy(to->name, told->name, sizeof(to->name));
    if (op->kind == JPR_CE) /* counted separately by kind */
        snprintf(to->func, sizeof(to->func), "%.*s", (int) sizeof(to->func) - 1,
                 op->func);
    else
        recfile_func_name(op, to->func, sizeof(to->func));
    /* a captured operation has no time of its enqueueing */
    to->start_ns = (int64_t) recfile_wall_ns(
        file, op->enqueue_start_mono_ns ? op->enqueue_start_mono_ns
                                        : op->kernel_first_mono_ns);
    to->until_ns = (int64_t) recfile_wall_ns(file, pending->until_mono_ns);
}

/* Adds a pending operation to the evidence. Without its communicator it is only
 * counted. 0, or -1: no memory. */
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
        /* NULL: the block with the communicator is damaged */
        comm = jpr_comm(file->reader, record->op->comm);
        /* one that was cut short by a later launch counts as ended */
        if (comm &&
            progress_op(&r->progress, comm, record->op,
                        !record->op->incomplete || record->op->overtaken) < 0)
            return -1;
    }
    return pending_add(&r->pending, record);
}

/* Adds the counters, which include operations lost or left out. They count by
 * function, including operations of the copy engines and replays. */
static int take_counts(struct hangs_file *r, const struct jp_recfile *file)
{
    /* otherwise the counts are no sequence numbers */
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

/* Describes the process of a file: its host and pid, and until when its file
 * goes. */
static void fill_process(struct hangs_process *process,
                         const struct jp_recfile *file)
{
    const struct recfile_tail *tail = &file->tail;

    *process = (struct hangs_process){
        .pid = -1, .task = -1, .launched = file->launched, .rank = -1};
    memcpy(process->host, file->host, sizeof(process->host));
    if (file->has_header) {
        process->pid = file->pid;
        process->pid_namespace = file->pid_namespace;
        process->start = file->start;
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

/* Makes the evidence of what is pending. 0, or -1: no memory. */
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
    /* in flight, then cut short, as struct hangs_evidence has them */
    for (size_t i = 0; rc == 0 && i < p->n; i++)
        rc = take_pending(r, file, &p->ops[i], false, e);
    for (size_t i = 0; rc == 0 && i < p->n_cut_short; i++)
        rc = take_pending(r, file, &p->cut_short[i], true, e);
    return rc < 0 ? -1 : take_counts(r, file);
}

/* Takes over everything except the progress. */
static int take_all(struct hangs_file *r, const struct jp_recfile *file,
                    struct hangs_evidence *evidence)
{
    *evidence = (struct hangs_evidence){0};
    fill_process(&evidence->process, file);
    /* drops what has ended since the snapshot */
    pending_settle(&r->pending);
    return take_end(r, file, evidence);
}

int hangs_file_end(struct hangs_file *r, const struct jp_recfile *file,
                   struct hangs_evidence *evidence)
{
    int rc = take_all(r, file, evidence);

    pending_clear(&r->pending);
    progress_freeze(&r->progress);
    /* handed over; the next file begins with empty tables */
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
