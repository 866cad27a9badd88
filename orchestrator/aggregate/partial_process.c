/* partial_process.c - what a partial keeps of each process: the evidence of
 * hangs, the timeline, the strip and the longest intervals.
 *
 * Each kind of block has functions that put and get it. partial_put_processes
 * writes them all in the order that partial.c expects: all evidence, then for
 * each file its sequence, its timeline, their strips and its intervals. */
#include "orchestrator/aggregate/partial_parts.h"

#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/intervals.h"
#include "orchestrator/aggregate/timeline.h"

/* --- operations that had not ended, by a recording --- */

/* Flags of a process, then of an operation in flight. */
enum { IS_FINAL = 1, IS_WORKING = 2, IS_DAMAGED = 4 };
enum { WAS_CUT_SHORT = 1, IS_CAPTURED = 2, IS_UNSURE = 4 };

/* The least bytes that a row and an operation take. They bound how many a block
 * can hold, before anything is allocated. */
enum { ROW_BYTES = 7, OP_BYTES = 15 };

/* Series of a file; 100 B each when they are read. */
enum { MAX_ROWS = 1 << 18 };

/* The process that wrote a recording, and until when its counters go. */
static void put_process(struct jpr_out *out, const struct hangs_process *p)
{
    jpr_put_text(out, p->host);
    jpr_put_i64(out, p->pid);
    jpr_put_i64(out, p->task);
    jpr_put_u64(out, (p->final ? IS_FINAL : 0u) | (p->busy ? IS_WORKING : 0u) |
                         (p->damaged ? IS_DAMAGED : 0u));
    jpr_put_u64(out, (uint64_t) p->counted_ns);
    jpr_put_u64(out, (uint64_t) p->last_ns);
}

/* The progress of one rank in one series. Rows are sorted by hash, so
 * differences are small. */
static void put_row(struct jpr_out *out, const struct progress_row *row,
                    uint64_t last_hash)
{
    jpr_put_delta(out, row->hash, last_hash); /* sorted, so small */
    jpr_put_i64(out, row->n_ranks);
    jpr_put_i64(out, row->rank);
    jpr_put_u64(out, row->kind);
    jpr_put_text(out, row->func);
    jpr_put_u64(out, row->ended);
    jpr_put_u64(out, row->begun);
}

/* An operation that had not ended. */
static void put_op(struct jpr_out *out, const struct hangs_op *op,
                   uint64_t last_hash)
{
    jpr_put_delta(out, op->hash, last_hash);
    jpr_put_text(out, op->name);
    jpr_put_text(out, op->func);
    jpr_put_u64(out, op->kind);
    jpr_put_i64(out, op->n_ranks);
    jpr_put_i64(out, op->rank);
    jpr_put_i64(out, op->peer);
    jpr_put_u64(out, op->seq);
    jpr_put_u64(out, op->bytes);
    jpr_put_u64(out, (uint64_t) op->start_ns);
    jpr_put_u64(out, (uint64_t) op->until_ns);
    jpr_put_u64(out, (op->cut_short ? WAS_CUT_SHORT : 0u) |
                         (op->captured ? IS_CAPTURED : 0u) |
                         (op->unsure ? IS_UNSURE : 0u));
    jpr_put_u64(out, op->channels);
    jpr_put_u64(out, op->started);
    jpr_put_u64(out, op->stopped);
}

static void put_evidence(struct jpr_out *out, const void *arg)
{
    const struct hangs_evidence *e = arg;
    uint64_t hash = 0;

    put_process(out, &e->process);
    jpr_put_u64(out, e->left_out);
    jpr_put_u64(out, e->progress.n);
    /* a full buffer is thrown away, and all is put again into a larger one */
    for (size_t i = 0; i < e->progress.n && !out->full; i++) {
        put_row(out, &e->progress.rows[i], hash);
        hash = e->progress.rows[i].hash;
    }
    jpr_put_u64(out, e->n_ops);
    for (size_t i = 0; i < e->n_ops && !out->full; i++) {
        put_op(out, &e->ops[i], hash);
        hash = e->ops[i].hash;
    }
}

/* Writes the evidence of one recording. 0, or -1 with err. */
static int put_hang(struct partial_out *w, struct hangs_evidence *evidence)
{
    if (evidence->progress.n > MAX_ROWS)
        return error_set(w->err, "a recording has too many communicators");
    /* the block has no GPUs; without a partial the recording itself is read */
    if (hangs_has_gpus(evidence))
        return error_set(w->err, "a process has several GPUs");
    progress_sort(&evidence->progress); /* small differences */
    return partial_put_block(w, PARTIAL_HANG, put_evidence, evidence);
}

/* A time in ns since 1970, which is never negative. */
static int64_t get_time(struct jpr_in *in)
{
    return (int64_t) jpr_get_bounded(in, INT64_MAX);
}

static bool get_process(struct jpr_in *in, struct hangs_process *p)
{
    bool good = partial_get_short(in, p->host, sizeof(p->host));
    uint64_t flags;

    launched_init(&p->launched);
    p->rank = -1;
    p->pid = jpr_get_i64(in);
    p->task = jpr_get_i64(in);
    flags = jpr_get_bounded(in, IS_FINAL | IS_WORKING | IS_DAMAGED);
    p->final = flags & IS_FINAL;
    /* written as one flag */
    p->cut = !p->final;
    p->busy = flags & IS_WORKING;
    p->damaged = flags & IS_DAMAGED;
    p->counted_ns = get_time(in);
    p->last_ns = get_time(in);
    return good && !in->bad;
}

/* False: damaged. */
static bool get_row(struct jpr_in *in, struct progress_row *row,
                    uint64_t last_hash)
{
    bool good;

    row->hash = jpr_get_delta(in, last_hash);
    row->n_ranks = jpr_get_i64(in);
    row->rank = jpr_get_i64(in);
    row->kind = (unsigned) jpr_get_bounded(in, JPR_N_OP_KINDS);
    good = partial_get_short(in, row->func, sizeof(row->func));
    row->ended = jpr_get_u64(in);
    row->begun = jpr_get_u64(in);
    return good && !in->bad;
}

/* Reads all rows; *hash is the last one's afterwards. False: damaged, or no
 * memory. */
static bool get_rows(struct jpr_in *in, struct progress *progress,
                     uint64_t *hash)
{
    size_t left = (size_t) (in->end - in->at) / ROW_BYTES;
    uint64_t n = jpr_get_bounded(in, left < MAX_ROWS ? left : MAX_ROWS);

    for (uint64_t i = 0; i < n; i++) {
        struct progress_row row = {0};

        if (!get_row(in, &row, *hash) || progress_add(progress, &row) < 0)
            return false;
        *hash = row.hash;
    }
    return !in->bad;
}

static bool get_op(struct jpr_in *in, struct hangs_op *op, uint64_t last_hash)
{
    uint64_t flags;

    op->hash = jpr_get_delta(in, last_hash);
    /* the id is made from the hash, as in the recorder's reader */
    recfile_id(op->hash, op->id);
    if (!partial_get_short(in, op->name, sizeof(op->name)) ||
        !partial_get_short(in, op->func, sizeof(op->func)))
        return false;
    op->kind = (enum jpr_op_kind) jpr_get_bounded(in, JPR_N_OP_KINDS - 1);
    op->n_ranks = jpr_get_i64(in);
    op->rank = jpr_get_i64(in);
    op->peer = jpr_get_i64(in);
    op->seq = jpr_get_u64(in);
    op->bytes = jpr_get_u64(in);
    op->start_ns = get_time(in);
    op->until_ns = get_time(in);
    flags = jpr_get_bounded(in, WAS_CUT_SHORT | IS_CAPTURED | IS_UNSURE);
    op->cut_short = flags & WAS_CUT_SHORT;
    op->captured = flags & IS_CAPTURED;
    op->unsure = flags & IS_UNSURE;
    op->channels = (uint32_t) jpr_get_bounded(in, UINT32_MAX);
    op->started = (uint32_t) jpr_get_bounded(in, UINT32_MAX);
    op->stopped = (uint32_t) jpr_get_bounded(in, UINT32_MAX);
    return !in->bad;
}

/* Reads all operations; differences of hashes begin at 0 here, as in
 * put_evidence. */
static bool get_ops(struct jpr_in *in, struct hangs_evidence *e, uint64_t hash)
{
    size_t left = (size_t) (in->end - in->at) / OP_BYTES;
    size_t n = (size_t) jpr_get_bounded(
        in, left < 2 * PENDING_MAX ? left : 2 * PENDING_MAX);

    e->ops = n ? calloc(n, sizeof(*e->ops)) : NULL;
    if (n && !e->ops)
        return false;
    for (e->n_ops = 0; e->n_ops < n; e->n_ops++) {
        if (!get_op(in, &e->ops[e->n_ops], hash))
            return false;
        hash = e->ops[e->n_ops].hash;
    }
    return !in->bad;
}

/* Reads the evidence of one recording. 0, and the caller owns *evidence; -1:
 * damaged, or no memory. */
static int get_hang(struct jpr_in *in, struct hangs_evidence *evidence)
{
    struct hangs_evidence e = {0};
    uint64_t hash = 0;
    bool good = get_process(in, &e.process);

    e.left_out = jpr_get_bounded(in, UINT64_C(1) << 40);
    good = good && get_rows(in, &e.progress, &hash) && get_ops(in, &e, hash);
    if (good) {
        *evidence = e;
        return 0;
    }
    hangs_evidence_fini(&e);
    return -1;
}

/* Adds who wrote the next recording, which its file's facts have. */
static void add_writer(struct partial_in *r, struct hangs_process *process)
{
    const struct partial *p = r->partial;
    const struct recfile_process *writer;

    while (r->hang_file < p->n_files &&
           !p->files[r->hang_file].read.has_counters)
        r->hang_file++;
    if (r->hang_file == p->n_files)
        return;
    writer = source_process(&p->files[r->hang_file++].read);
    if (!writer->known)
        return;
    process->pid_namespace = writer->pid_namespace;
    process->start = writer->start;
    process->launched = writer->launched;
}

/* Reads the evidence of one recording to r->evidence, or only checks it. */
static int take_hang(struct partial_in *r)
{
    struct hangs_evidence evidence;
    struct hangs_evidence *to = r->evidence ? r->evidence : &evidence;

    if (get_hang(&r->in, to) < 0)
        return -1;
    add_writer(r, &to->process);
    if (!r->evidence)
        hangs_evidence_fini(&evidence);
    r->n_hangs++;
    return 0;
}

/* --- what its process did --- */

/* A timeline, or a sequence, and the number of its file. */
struct followed {
    size_t file;
    const struct timeline *timeline;
};

/* What the operations of a series share. */
static void put_series(struct jpr_out *out, const struct timeline_series *s)
{
    jpr_put_text(out, s->id);
    jpr_put_text(out, s->func);
    jpr_put_u64(out, s->n_ranks);
    jpr_put_u64(out, s->nnodes);
    jpr_put_u64(out, s->rank);
    jpr_put_u64(out, s->p2p);
}

static void put_timeline(struct jpr_out *out, const void *arg)
{
    const struct followed *item = arg;
    const struct timeline *t = item->timeline;

    jpr_put_u64(out, item->file);
    jpr_put_text(out, t->host);
    jpr_put_i64(out, t->pid);
    jpr_put_u64(out, t->mixed);
    jpr_put_u64(out, t->left); /* beyond its limit */
    jpr_put_u64(out, t->n_series);
    for (uint32_t i = 0; i < t->n_series; i++)
        put_series(out, &t->series[i]);
    jpr_put_u64(out, t->n);
    /* operations are packed already */
    if (t->used)
        jpr_put_bytes(out, t->bytes, t->used);
}

static int put_followed(struct partial_out *w, size_t file, bool sequence,
                        const struct timeline *timeline)
{
    const struct followed item = {file, timeline};

    return partial_put_block(w, sequence ? PARTIAL_SEQUENCE : PARTIAL_TIMELINE,
                             put_timeline, &item);
}

enum { SERIES_BYTES = 6 }; /* at least */

/* False: damaged. */
static bool get_series(struct jpr_in *in, struct timeline_series *s)
{
    if (!partial_get_short(in, s->id, sizeof(s->id)) ||
        !partial_get_short(in, s->func, sizeof(s->func)))
        return false;
    s->n_ranks = (uint32_t) jpr_get_bounded(in, RECORD_MAX_RANKS);
    s->nnodes = (uint32_t) jpr_get_bounded(in, s->n_ranks);
    s->rank = (uint32_t) jpr_get_bounded(in, s->n_ranks ? s->n_ranks - 1
                                                        : RECORD_MAX_RANKS - 1);
    s->p2p = jpr_get_bounded(in, 1); /* bool */
    return !in->bad;
}

static bool get_all_series(struct jpr_in *in, struct timeline *t)
{
    size_t left = (size_t) (in->end - in->at) / SERIES_BYTES;
    uint64_t n =
        jpr_get_bounded(in, left < TIMELINE_SERIES ? left : TIMELINE_SERIES);

    t->series = calloc((size_t) n + 1, sizeof(*t->series));
    if (!t->series)
        return false;
    /* n_series grows while they are read, so a failure frees the right ones */
    t->room_series = (uint32_t) n + 1;
    while (t->n_series < n)
        if (!get_series(in, &t->series[t->n_series++]))
            return false;
    return !in->bad;
}

/* Notes an operation. Series have to be numbered in the order in which they
 * come, so that those of a shorter timeline are a range. False: a number is out
 * of range, or its series is not the next new one. */
static bool settle_event(struct timeline *t, const struct timeline_event *e,
                         uint32_t *seen)
{
    struct timeline_series *s = &t->series[e->series];

    if (e->series > *seen || e->start_us > INT64_MAX ||
        e->time_us > INT64_MAX || e->peer >= RECORD_MAX_RANKS)
        return false;
    *seen += e->series == *seen;
    if (!t->n++)
        t->first_us = e->start_us;
    t->last_us = e->start_us;
    s->low = e->sn < s->low ? e->sn : s->low;
    s->high = e->sn > s->high ? e->sn : s->high;
    return true;
}

/* Checks bytes and series that come from a file: each of the n operations. Sets
 * what follows from them (n, left, times, ranges of sequence numbers, used
 * series). Operations beyond the first `limit` are left out, as timeline_add
 * leaves them out. Nothing can be added afterwards. False: the bytes are
 * damaged. */
static bool settle_timeline(struct timeline *t, uint64_t n, uint64_t limit)
{
    struct timeline_reader reader;
    struct timeline_event e;
    uint32_t seen = 0, kept = 0;
    size_t used = 0;
    bool good = timeline_reader_init(&reader, t) == 0;

    /* ranges are computed, not read */
    for (uint32_t i = 0; i < t->n_series; i++) {
        t->series[i].low = UINT64_MAX;
        t->series[i].high = 0;
    }
    t->n = t->limit = 0;
    while (good && t->n < n && t->n < limit) {
        good = timeline_next(&reader, &e) && settle_event(t, &e, &seen);
        kept = seen;
    }
    /* where the kept operations end */
    used = good ? (size_t) (reader.at - t->bytes) : 0;
    for (uint64_t k = t->n; good && k < n; k++) /* those left out, too */
        good = timeline_next(&reader, &e) && e.series <= seen &&
               (seen += e.series == seen);
    good = good && reader.at == reader.end && seen == t->n_series;
    timeline_reader_fini(&reader);
    t->left += n - t->n;
    t->used = used;
    t->n_series = kept;
    return good;
}

/* Reads the packed operations up to the payload's end and keeps `limit` of them
 * at most. */
static bool get_events(struct jpr_in *in, struct timeline *t, uint64_t limit)
{
    size_t size = (size_t) (in->end - in->at);
    uint64_t n = jpr_get_bounded(in, size);
    uint8_t *less;

    size = (size_t) (in->end - in->at);
    t->bytes = malloc(size + 1);
    if (in->bad || !t->bytes)
        return false;
    memcpy(t->bytes, in->at, size);
    in->at = in->end;
    t->used = size;
    t->room = size + 1;
    /* nothing of the operations is trusted before this */
    if (!settle_timeline(t, n, limit))
        return false;
    /* operations beyond the limit were left out */
    less = realloc(t->bytes, t->used + 1); /* shrinks */
    if (less) {
        t->bytes = less;
        t->room = t->used + 1;
    }
    return true;
}

/* False: damaged, or no memory; the file keeps what was read, and frees it. */
static bool get_timeline(struct jpr_in *in, struct timeline *t, uint64_t limit)
{
    char host[RECORD_MAX_HOST + 1];

    if (!partial_get_short(in, host, sizeof(host)))
        return false;
    free(t->host);
    t->host = strdup(host);
    if (!t->host)
        return false;
    t->pid = jpr_get_i64(in);
    t->mixed = jpr_get_bounded(in, 1);
    t->left = jpr_get_bounded(in, INT64_MAX);
    return get_all_series(in, t) && get_events(in, t, limit);
}

/* Reads a sequence or a timeline for its file. Files are ascending; a file has
 * one of each at most, the sequence first. 0, or -1: damaged, or no memory. */
static int get_followed(struct partial_in *r, bool sequence)
{
    struct partial *p = r->partial;
    size_t at = (size_t) jpr_get_bounded(&r->in, UINT32_MAX);
    const struct recfile_process *writer;
    struct source_facts *file;
    struct timeline *t;

    if (r->in.bad || at >= p->n_files || at + 1 < r->next_timeline)
        return -1;
    file = &p->files[at].read;
    r->next_timeline = at + 1; /* a strip may follow */
    if (file->timeline || (sequence && file->sequence))
        return -1;
    t = timeline_create(0, 0);
    if (!t)
        return -1;
    if (sequence)
        file->sequence = t;
    else
        file->timeline = t;
    writer = source_process(file);
    if (writer->known)
        t->instance = process_instance(writer->pid_namespace, writer->start);
    /* the operations of a sequence have no start */
    return get_timeline(&r->in, t, p->timeline_events) &&
                   !(sequence && (t->first_us || t->last_us))
               ? 0
               : -1;
}

/* --- strips: what a process did over the run --- */

/* A strip and the number of its file. */
struct strip_item {
    size_t file;
    const struct strip *strip;
};

/* Writes a key with the range of its bins that are not zero. */
static void put_strip_key(struct jpr_out *out, const struct strip_key *key,
                          unsigned n)
{
    unsigned from = 0;

    while (from < n && !key->us[from])
        from++;
    while (n > from && !key->us[n - 1])
        n--;
    jpr_put_text(out, key->id);
    jpr_put_text(out, key->func);
    jpr_put_u64(out, key->size);
    jpr_put_u64(out, key->p2p);
    jpr_put_u64(out, from);
    jpr_put_u64(out, n - from);
    for (; from < n; from++)
        jpr_put_u64(out, key->us[from]);
}

static void put_bins(struct jpr_out *out, const struct strip *s)
{
    jpr_put_u64(out, s->left);
    jpr_put_u64(out, s->shift);
    jpr_put_u64(out, s->first);
    jpr_put_u64(out, s->n);
    jpr_put_u64(out, s->n_keys);
    for (unsigned i = 0; i < s->n_keys; i++)
        put_strip_key(out, &s->keys[i], s->n);
}

static void put_strip(struct jpr_out *out, const void *arg)
{
    const struct strip_item *item = arg;

    jpr_put_u64(out, item->file);
    put_bins(out, item->strip);
}

/* Writes the strip of a timeline, if it has one. */
static int put_strip_of(struct partial_out *w, size_t file,
                        const struct strip *strip)
{
    const struct strip_item item = {file, strip};

    return strip ? partial_put_block(w, PARTIAL_STRIP, put_strip, &item) : 0;
}

/* Reads a key and its bins into a strip that has them. False: damaged, or no
 * memory. */
static bool get_strip_key(struct jpr_in *in, struct strip *s)
{
    char id[RECORD_MAX_ID + 1], func[RECORD_MAX_FUNC + 1];
    struct strip_key *key;
    enum strip_size size;
    uint64_t at, n;

    if (!partial_get_short(in, id, sizeof(id)) ||
        !partial_get_short(in, func, sizeof(func)))
        return false;
    size = (enum strip_size) jpr_get_bounded(in, STRIP_N_SIZES - 1);
    key = strip_new_key(s, id, func, size, jpr_get_bounded(in, 1));
    at = jpr_get_bounded(in, s->n);
    n = jpr_get_bounded(in, s->n - at);
    for (; key && !in->bad && n; n--)
        key->us[at++] = (uint32_t) jpr_get_bounded(in, UINT32_MAX);
    return key && !in->bad;
}

/* Reads a strip with the bins that its writer chose. False: damaged, or no
 * memory. */
static bool get_strip(struct jpr_in *in, struct strip *s)
{
    unsigned shift;
    uint64_t first, n;

    s->left = jpr_get_bounded(in, INT64_MAX); /* operations without a key */
    shift = (unsigned) jpr_get_bounded(in, STRIP_MAX_SHIFT);
    first = jpr_get_u64(in);
    n = jpr_get_bounded(in, STRIP_MAX_BINS);
    if (in->bad || !strip_begin(s, shift, first, (unsigned) n))
        return false;
    for (n = jpr_get_bounded(in, STRIP_KEYS); n && !in->bad; n--)
        if (!get_strip_key(in, s))
            return false;
    return !in->bad;
}

/* Reads a strip and converts it to the report's number of bins: its writer may
 * have known of fewer processes. 0, or -1: damaged, or no memory. */
static int get_bins(struct jpr_in *in, struct strip *into)
{
    struct strip *strip = strip_create(STRIP_MAX_BINS);
    int rc = strip && get_strip(in, strip) ? strip_join(into, strip) : -1;

    /* nothing is added to it, and a run may have as many as processes */
    strip_trim(into);
    strip_destroy(strip);
    return rc;
}

/* Whether a strip has the keys of a sequence (enum timeline_order_key). */
static bool is_of_order(const struct strip *s)
{
    for (unsigned i = 0; i < s->n_keys; i++)
        if (*s->keys[i].id || *s->keys[i].func ||
            s->keys[i].size != (i ? STRIP_MEDIUM : STRIP_SMALL))
            return false;
    return s->n_keys == TIMELINE_ORDER_KEYS && !s->left;
}

/* Reads the strip of the timeline, or the sequence, before it. 0, or -1:
 * damaged, or no memory. */
static int get_strip_of(struct partial_in *r)
{
    struct partial *p = r->partial;
    size_t at = (size_t) jpr_get_bounded(&r->in, UINT32_MAX);
    struct source_facts *file;
    struct timeline *t;

    if (r->in.bad || at + 1 != r->next_timeline)
        return -1;
    file = &p->files[at].read;
    t = file->timeline ? file->timeline : file->sequence;
    if (!t || t->strip)
        return -1;
    t->strip = strip_create(strip_bins(p->timeline_events));
    if (!t->strip || get_bins(&r->in, t->strip) < 0)
        return -1;
    return file->timeline || is_of_order(t->strip) ? 0 : -1;
}

/* --- intervals: the longest ones over the run --- */

/* Intervals and the number of their file. */
struct intervals_item {
    size_t file;
    const struct intervals *intervals;
};

static void put_interval(struct jpr_out *out, const struct interval *x,
                         const struct interval *before)
{
    jpr_put_u64(out, x->from_us - before->to_us);
    jpr_put_u64(out, x->to_us - x->from_us);
    jpr_put_delta(out, x->sn, before->sn);
    jpr_put_delta(out, x->nth, before->nth);
    jpr_put_u64(out, x->series == UINT32_MAX ? 0 : (uint64_t) x->series + 1);
}

static void put_intervals(struct jpr_out *out, const void *arg)
{
    const struct intervals_item *item = arg;
    const struct intervals *p = item->intervals;
    struct interval before = {.to_us = p->first_us};

    jpr_put_u64(out, item->file);
    jpr_put_u64(out, p->ops);
    jpr_put_u64(out, p->first_us);
    jpr_put_u64(out, p->clock_us - p->first_us);
    jpr_put_u64(out, p->own_us);
    put_bins(out, p->own);
    jpr_put_u64(out, p->least_us);
    for (unsigned i = 0; i < INTERVALS_WAITS; i++) {
        jpr_put_u64(out, p->waits[i].us);
        jpr_put_u64(out, p->waits[i].end_us);
    }
    jpr_put_u64(out, p->n_series);
    for (uint32_t i = 0; i < p->n_series; i++)
        put_series(out, &p->series[i]);
    jpr_put_u64(out, p->n);
    for (size_t i = 0; i < p->n; i++) {
        put_interval(out, &p->at[i], &before);
        before = p->at[i];
    }
}

/* Writes the intervals of a timeline, if it has some. They get cut. */
static int put_intervals_of(struct partial_out *w, size_t file,
                            struct intervals *intervals)
{
    const struct intervals_item item = {file, intervals};

    if (!intervals)
        return 0;
    if (intervals_cut(intervals) < 0)
        return error_set(w->err, "out of memory");
    return partial_put_block(w, PARTIAL_INTERVALS, put_intervals, &item);
}

enum { INTERVAL_BYTES = 5 }; /* at least */

/* False: damaged. before: that of the one before. */
static bool get_interval(struct jpr_in *in, const struct intervals *p,
                         const struct interval *before, struct interval *x)
{
    uint64_t series;

    x->from_us = before->to_us + jpr_get_bounded(in, INT64_MAX);
    x->to_us = x->from_us + jpr_get_bounded(in, INT64_MAX);
    x->sn = jpr_get_delta(in, before->sn);
    x->nth = (uint32_t) jpr_get_delta(in, before->nth);
    series = jpr_get_bounded(in, p->n_series);
    x->series = series ? (uint32_t) series - 1 : UINT32_MAX;
    return !in->bad && x->from_us >= before->to_us && x->to_us > x->from_us &&
           x->to_us <= p->clock_us && x->nth >= before->nth &&
           x->to_us - x->from_us > p->least_us;
}

/* False: damaged, or no memory. */
static bool get_intervals(struct jpr_in *in, struct intervals *p)
{
    struct interval before;
    uint64_t n;

    p->ops = jpr_get_bounded(in, INT64_MAX);
    p->first_us = jpr_get_bounded(in, INT64_MAX);
    p->clock_us = p->first_us + jpr_get_bounded(in, INT64_MAX - p->first_us);
    p->own_us = jpr_get_bounded(in, p->clock_us - p->first_us);
    if (get_bins(in, p->own) < 0 || p->own->n_keys != 1)
        return false;
    p->least_us = jpr_get_bounded(in, INT64_MAX);
    for (unsigned i = 0; i < INTERVALS_WAITS; i++) {
        p->waits[i].us = jpr_get_bounded(in, RECORD_MAX_TIME_US);
        p->waits[i].end_us = jpr_get_bounded(in, p->clock_us);
    }
    n = jpr_get_bounded(in, (size_t) (in->end - in->at) / SERIES_BYTES);
    if (in->bad || n > TIMELINE_SERIES)
        return false;
    p->series = calloc((size_t) n + 1, sizeof(*p->series));
    if (!p->series)
        return false;
    while (p->n_series < n)
        if (!get_series(in, &p->series[p->n_series++]))
            return false;
    n = jpr_get_bounded(in, (size_t) (in->end - in->at) / INTERVAL_BYTES);
    if (in->bad || n > INTERVALS_MOST)
        return false;
    p->at = calloc((size_t) n + 1, sizeof(*p->at));
    if (!p->at)
        return false;
    p->room = (size_t) n + 1;
    before = (struct interval){.to_us = p->first_us};
    for (; p->n < n; before = p->at[p->n++])
        if (!get_interval(in, p, &before, &p->at[p->n]))
            return false;
    return !in->bad;
}

/* Reads intervals, which follow the strip of their timeline, and cuts them to
 * the report's number. 0, or -1: damaged, or no memory. */
static int get_intervals_of(struct partial_in *r)
{
    struct partial *p = r->partial;
    size_t at = (size_t) jpr_get_bounded(&r->in, UINT32_MAX);
    struct timeline *t;

    if (r->in.bad || at + 1 != r->next_timeline ||
        !(t = p->files[at].read.timeline) || t->intervals)
        return -1;
    t->intervals = intervals_create(strip_bins(p->timeline_events));
    return t->intervals && get_intervals(&r->in, t->intervals)
               ? intervals_cut(t->intervals)
               : -1;
}

/* --- all processes of a node --- */

int partial_put_processes(struct partial_out *w, const struct jp_logwalk *walk,
                          const struct source_facts *files)
{
    for (size_t i = 0; i < walk->n_logs; i++)
        if (files[i].has_counters && put_hang(w, files[i].evidence) < 0)
            return -1;
    for (size_t i = 0; i < walk->n_logs; i++)
        if ((files[i].sequence &&
             (put_followed(w, i, true, files[i].sequence) < 0 ||
              put_strip_of(w, i, files[i].sequence->strip) < 0)) ||
            (files[i].timeline &&
             (put_followed(w, i, false, files[i].timeline) < 0 ||
              put_strip_of(w, i, files[i].timeline->strip) < 0 ||
              put_intervals_of(w, i, files[i].timeline->intervals) < 0)))
            return -1;
    return 0;
}

int partial_get_process(struct partial_in *r, enum partial_block type)
{
    return type == PARTIAL_HANG       ? take_hang(r)
           : type == PARTIAL_SEQUENCE ? get_followed(r, true)
           : type == PARTIAL_TIMELINE ? get_followed(r, false)
           : type == PARTIAL_STRIP    ? get_strip_of(r)
                                      : get_intervals_of(r);
}
