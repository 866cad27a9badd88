/* partial_files.c - what a partial keeps of the logs that it was made from:
 * their names, sizes and times, and what their readers found (struct
 * source_facts).
 *
 * Every put function has a get function that reads the same numbers in the same
 * order. Numbers are those of jpr_frame.h: unsigned, signed, texts with their
 * length. What is read is foreign input, so every get checks its range. */
#include "orchestrator/aggregate/partial_parts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/vector.h"
#include "orchestrator/aggregate/busy.h"

/* Writes a file's busy time, in the order in which get() reads it. */
static void put_busy(struct jpr_out *out, const struct busy *busy)
{
    const struct busy_slots *s = &busy->slots;

    jpr_put_text(out, busy->host);
    jpr_put_i64(out, busy->pid);
    jpr_put_u64(out, busy->mixed);
    jpr_put_u64(out, busy->timed);
    jpr_put_u64(out, busy->clipped);
    jpr_put_u64(out, busy->from_us);
    jpr_put_u64(out, busy->to_us - busy->from_us);
    jpr_put_u64(out, s->shift);
    jpr_put_u64(out, s->first);
    jpr_put_u64(out, s->n);
    for (unsigned i = 0; i < s->n; i++)
        jpr_put_u64(out, s->us[i]);
}

/* Whether a text has no control characters. */
static bool is_clean(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char) text[i] < 0x20 || text[i] == 0x7f)
            return false;
    return true;
}

/* Reads a text without control characters that fits `size` bytes with its NUL.
 * False: it does not. */
bool partial_get_short(struct jpr_in *in, char *buf, size_t size)
{
    const char *text;
    size_t n = jpr_get_text(in, &text);

    if (in->bad || n >= size || !is_clean(text, n))
        return false;
    memcpy(buf, text, n);
    buf[n] = '\0';
    return true;
}

/* Reads a busy time. False: damaged. */
static bool read_busy(struct jpr_in *in, struct busy *busy)
{
    struct busy_slots *s = &busy->slots;

    if (!partial_get_short(in, busy->host, sizeof(busy->host)))
        return false;
    busy->pid = jpr_get_i64(in);
    busy->mixed = jpr_get_bounded(in, 1);
    busy->timed = jpr_get_u64(in);
    busy->clipped = jpr_get_u64(in);
    busy->from_us = jpr_get_bounded(in, INT64_MAX);
    busy->to_us = busy->from_us + jpr_get_bounded(in, INT64_MAX);
    s->shift = (unsigned) jpr_get_bounded(in, 127);
    s->first = jpr_get_u64(in);
    s->n = (unsigned) jpr_get_bounded(in, BUSY_SLOTS);
    for (unsigned i = 0; i < s->n; i++)
        s->us[i] = jpr_get_u64(in);
    return !in->bad && busy->timed && busy_slots_good(s);
}

/* As above, on the heap. The caller owns *busy, also after a failure. */
static bool get_busy(struct jpr_in *in, struct busy **busy)
{
    *busy = busy_create(false); /* it is whole */
    /* nothing is added to it, and there may be thousands */
    return *busy && read_busy(in, *busy) &&
           vector_resize(&(*busy)->slots.us, (*busy)->slots.n + 1,
                         sizeof(*(*busy)->slots.us)) == 0;
}

/* --- the logs that a partial was made from --- */

/* The most files of a partial, and the most bytes of a file's notes. */
enum { MAX_FILES = 1 << 20, MAX_NOTES = 8192 };

/* Flags of a file, then of a recording. They show which parts follow. */
enum {
    IS_CUT = 1,       /* no end */
    IS_TRACE = 2,     /* of the example plugin */
    IS_FOREIGN = 4,   /* of no profiler */
    IS_RECORDING = 8, /* of the recorder */
    IS_BUSY = 16,     /* a busy time follows */
    IS_MARKED = 32,   /* what the writer's markers count follows */
    HAS_PROCESS = 64  /* who wrote it follows */
};
enum { /* of a recording */
       IS_COUNTED = 1,
       HAS_NOTES = 2,
       HAS_COST = 4,
       HAS_TWINS = 8,
       HAS_PHASES = 16,
       HAS_TAGS = 32,
       HAS_PAUSES = 64,
       HAS_ROOM = 128,
       RECORDING_FLAGS = 255
};

/* What put_list needs of its caller. */
struct list {
    const struct jp_logwalk *walk;
    size_t skip; /* length of "<raw>/<node>/" */
    const struct source_facts *files;
};

/* A text of any length; jpr_put_text cuts at 1,024 bytes. */
static void put_long_text(struct jpr_out *out, const char *text)
{
    size_t n = strlen(text);

    jpr_put_u64(out, n);
    jpr_put_bytes(out, text, n);
}

/* What is known of a trace of the example plugin. */
static void put_trace(struct jpr_out *out, const struct source_facts *f)
{
    jpr_put_u64(out, f->records);
    jpr_put_u64(out, f->untimed);
    jpr_put_u64(out, f->partly);
    jpr_put_u64(out, f->missing);
    for (unsigned i = 0; i < TRACE_POOLS; i++)
        jpr_put_u64(out, f->pools[i]);
}

/* Bad lines: their number and the first one of each kind. Their sum is known,
 * so without any only two values are written. */
static void put_bad(struct jpr_out *out, const struct source_facts *f)
{
    jpr_put_u64(out, f->bad_line); /* the first one */
    jpr_put_text(out, f->why);
    for (unsigned i = 0; f->bad_lines && i < JP_BAD_KINDS; i++) {
        jpr_put_u64(out, f->bad[i].n);
        if (f->bad[i].n)
            jpr_put_u64(out, f->bad[i].line);
    }
}

/* What the recorder itself cost. */
static void put_cost(struct jpr_out *out, const struct recfile_tail *t)
{
    jpr_put_u64(out, t->cost.events);
    jpr_put_u64(out, t->cost.timed);
    jpr_put_u64(out, t->cost.timed_ns);
    jpr_put_u64(out, t->cost.life_ns);
    jpr_put_u64(out, t->cost.writer_ns);
    jpr_put_u64(out, t->wall_ns);
}

/* Operations without a time, and the reasons. */
static void put_doubts(struct jpr_out *out, const struct recfile_tail *t)
{
    jpr_put_u64(out, t->unsure);
    jpr_put_u64(out, t->refused);
    for (unsigned i = 0; i < RECFILE_DOUBTS; i++)
        jpr_put_u64(out, t->unsure_by[i]);
}

/* What files of version 4 have: each part only where there is something. */
static void put_v7(struct jpr_out *out, const struct recfile_tail *t)
{
    if (t->phases.ops) {
        jpr_put_u64(out, t->phases.ops);
        jpr_put_u64(out, t->phases.exec_ns);
        jpr_put_u64(out, t->phases.sync_ns);
        jpr_put_u64(out, t->phases.close_ns);
    }
    if (t->n_tags)
        jpr_put_u64(out, t->n_tags);
    for (uint32_t i = 0; i < t->n_tags; i++) {
        jpr_put_u64(out, t->tags[i].tag);
        jpr_put_u64(out, t->tags[i].ops);
        jpr_put_u64(out, t->tags[i].exec_ns);
        jpr_put_u64(out, t->tags[i].sync_ns);
    }
    if (t->n_pauses)
        jpr_put_u64(out, t->n_pauses);
    for (uint32_t i = 0; i < t->n_pauses; i++) {
        jpr_put_u64(out, t->pauses[i].from_ns);
        jpr_put_u64(out, t->pauses[i].to_ns);
        jpr_put_u64(out, t->pauses[i].skipped);
        jpr_put_u64(out, t->pauses[i].by_mask);
    }
    if (t->room.limits) {
        jpr_put_u64(out, t->room.limits);
        jpr_put_u64(out, t->room.since_ns);
        jpr_put_u64(out, t->room.error);
    }
}

/* The facts of a recording's tail that result_*.c use. */
static void put_recording(struct jpr_out *out, const struct source_facts *f)
{
    const struct recfile_tail *t = source_tail(f);

    jpr_put_u64(
        out,
        (t->counted ? IS_COUNTED : 0u) | (f->notes ? HAS_NOTES : 0u) |
            (t->cost.told ? HAS_COST : 0u) | (t->has_twins ? HAS_TWINS : 0u) |
            (t->phases.ops ? HAS_PHASES : 0u) | (t->n_tags ? HAS_TAGS : 0u) |
            (t->n_pauses ? HAS_PAUSES : 0u) | (t->room.limits ? HAS_ROOM : 0u));
    jpr_put_u64(out, f->records);
    jpr_put_u64(out, f->damaged);
    jpr_put_u64(out, t->clocks.real_ns); /* of the last counters */
    partial_put_counts(out, &t->counts);
    jpr_put_u64(out, t->in_flight);
    jpr_put_u64(out, t->lost_steps);
    jpr_put_u64(out, t->lost_comms);
    jpr_put_u64(out, t->cut_short);
    jpr_put_u64(out, t->last_ns);
    jpr_put_u64(out, t->oldest_ns); /* start of the oldest in flight */
    jpr_put_u64(out, t->unseen_calls);
    jpr_put_u64(out, t->n_unseen);
    for (uint32_t i = 0; i < t->n_unseen; i++) {
        jpr_put_text(out, t->unseen[i].func);
        jpr_put_u64(out, t->unseen[i].calls);
    }
    put_doubts(out, t);
    if (t->cost.told)
        put_cost(out, t);
    put_v7(out, t);
    if (f->notes)
        put_long_text(out, f->notes);
}

/* Who wrote a recording. */
static void put_writer(struct jpr_out *out, const struct recfile_process *p)
{
    const struct launched *l = &p->launched;

    jpr_put_text(out, p->host);
    jpr_put_i64(out, p->pid);
    jpr_put_i64(out, p->procid);
    jpr_put_u64(out, p->pid_namespace);
    jpr_put_u64(out, p->start);
    jpr_put_u64(out, LAUNCHED_KINDS);
    for (int i = 0; i < LAUNCHED_KINDS; i++) {
        jpr_put_i64(out, l->rank[i]);
        jpr_put_i64(out, l->size[i]);
    }
    jpr_put_i64(out, l->local_rank);
    jpr_put_i64(out, l->restarts);
    jpr_put_i64(out, l->task_pid);
    jpr_put_text(out, l->run);
}

static unsigned flags_of(const struct source_facts *f)
{
    /* what the file is, and which parts follow */
    return (f->cut ? IS_CUT : 0u) | (f->has_pools ? IS_TRACE : 0u) |
           (f->foreign ? IS_FOREIGN : 0u) |
           (f->has_counters ? IS_RECORDING : 0u) | (f->busy ? IS_BUSY : 0u) |
           (f->markers ? IS_MARKED : 0u) |
           (source_process(f)->known ? HAS_PROCESS : 0u);
}

/* One log. `skip`: length of "<raw>/<node>/", which the reader adds again. */
static void put_file(struct jpr_out *out, const struct jp_logfile *log,
                     size_t skip, const struct source_facts *f)
{
    put_long_text(out, log->path + skip);
    jpr_put_u64(out, log->size);
    jpr_put_i64(out, log->mtime_us);
    jpr_put_u64(out, flags_of(f));
    jpr_put_u64(out, f->bytes);
    jpr_put_u64(out, f->lines);
    jpr_put_u64(out, f->odd_lines);
    jpr_put_u64(out, f->bad_lines);
    jpr_put_u64(out, f->other_lines);
    put_bad(out, f);
    jpr_put_text(out, f->trouble); /* why it was not read to its end */
    if (f->has_pools)
        put_trace(out, f);
    if (f->has_counters)
        put_recording(out, f);
    if (f->markers) {
        jpr_put_u64(out, f->markers);
        jpr_put_u64(out, f->marked);
        jpr_put_u64(out, f->dropped);
    }
    jpr_put_u64(out, f->unstamped); /* records without start or end */
    if (source_process(f)->known)
        put_writer(out, source_process(f));
    if (f->busy)
        put_busy(out, f->busy);
}

static void put_list(struct jpr_out *out, const void *arg)
{
    const struct list *list = arg;

    jpr_put_u64(out, list->walk->n_logs);
    for (size_t i = 0; i < list->walk->n_logs; i++)
        put_file(out, &list->walk->logs[i], list->skip, &list->files[i]);
}

int partial_put_files(struct partial_out *w, const struct jp_logwalk *walk,
                      size_t skip, const struct source_facts *files)
{
    const struct list list = {walk, skip, files};

    for (size_t i = 0; i < walk->n_logs; i++) {
        /* a partial without what the report would count is not written */
        if (files[i].unreadable)
            return error_set(w->err, "%.200s is not readable",
                             walk->logs[i].path);
        /* limits that the reader has */
        if (files[i].notes && strlen(files[i].notes) > MAX_NOTES)
            return error_set(w->err, "%.200s has long notes",
                             walk->logs[i].path);
        if (strlen(walk->logs[i].path) >= PATH_MAX)
            return error_set(w->err, "a name is too long");
    }
    return partial_put_block(w, PARTIAL_FILES, put_list, &list);
}

/* Reads a text of at most `max` bytes. The caller frees it. NULL: damaged, or
 * no memory. */
static char *get_long_text(struct jpr_in *in, size_t max)
{
    size_t n = (size_t) jpr_get_bounded(in, max);
    char *text;

    /* never allocate more than there is */
    if (in->bad || n > (size_t) (in->end - in->at))
        return NULL;
    text = malloc(n + 1);
    if (!text)
        return NULL;
    memcpy(text, in->at, n);
    text[n] = '\0';
    in->at += n;
    if (strlen(text) == n) /* no NUL within */
        return text;
    free(text);
    return NULL;
}

static bool get_trace(struct jpr_in *in, struct source_facts *f)
{
    f->records = jpr_get_u64(in);
    f->untimed = jpr_get_bounded(in, f->records); /* at most all */
    f->partly = jpr_get_bounded(in, f->records);
    f->missing = jpr_get_u64(in);
    for (unsigned i = 0; i < TRACE_POOLS; i++)
        f->pools[i] = jpr_get_u64(in);
    return !in->bad;
}

static bool get_bad(struct jpr_in *in, struct source_facts *f)
{
    uint64_t left = f->bad_lines;

    f->bad_line = jpr_get_u64(in);
    if (!partial_get_short(in, f->why, sizeof(f->why)))
        return false;
    for (unsigned i = 0; f->bad_lines && i < JP_BAD_KINDS; i++) {
        /* the kinds must add up to all bad lines */
        f->bad[i].n = jpr_get_bounded(in, left);
        f->bad[i].line = f->bad[i].n ? jpr_get_u64(in) : 0;
        left -= f->bad[i].n;
    }
    return left == 0 && !in->bad;
}

/* Calls for which NCCL reported no operation, by function. */
static bool get_unseen(struct jpr_in *in, struct recfile_tail *t)
{
    t->unseen_calls = jpr_get_u64(in);
    t->n_unseen = (uint32_t) jpr_get_bounded(in, RECFILE_UNSEEN);
    for (uint32_t i = 0; i < t->n_unseen; i++) {
        if (!partial_get_short(in, t->unseen[i].func,
                               sizeof(t->unseen[i].func)))
            return false;
        t->unseen[i].calls = jpr_get_u64(in);
    }
    return !in->bad;
}

static void get_cost(struct jpr_in *in, struct recfile_tail *t)
{
    t->cost.told = true;
    t->cost.events = jpr_get_u64(in);
    t->cost.timed = jpr_get_u64(in);
    t->cost.timed_ns = jpr_get_u64(in);
    t->cost.life_ns = jpr_get_u64(in);
    t->cost.writer_ns = jpr_get_u64(in);
    t->wall_ns = jpr_get_u64(in);
}

/* The reverse of put_v7(). A part that is there is not empty. */
static bool get_v7(struct jpr_in *in, unsigned flags, struct recfile_tail *t)
{
    if (flags & HAS_PHASES) {
        t->phases.ops = jpr_get_u64(in);
        t->phases.exec_ns = jpr_get_u64(in);
        t->phases.sync_ns = jpr_get_u64(in);
        t->phases.close_ns = jpr_get_u64(in);
    }
    if (flags & HAS_TAGS)
        t->n_tags = (uint32_t) jpr_get_bounded(in, RECFILE_TAGS);
    for (uint32_t i = 0; i < t->n_tags; i++) {
        t->tags[i].tag = jpr_get_u64(in);
        t->tags[i].ops = jpr_get_u64(in);
        t->tags[i].exec_ns = jpr_get_u64(in);
        t->tags[i].sync_ns = jpr_get_u64(in);
    }
    if (flags & HAS_PAUSES)
        t->n_pauses = (uint32_t) jpr_get_bounded(in, RECFILE_PAUSES);
    for (uint32_t i = 0; i < t->n_pauses; i++) {
        t->pauses[i].from_ns = jpr_get_u64(in);
        t->pauses[i].to_ns = jpr_get_u64(in);
        t->pauses[i].skipped = jpr_get_u64(in);
        t->pauses[i].by_mask = jpr_get_bounded(in, 1);
    }
    if (flags & HAS_ROOM) {
        t->room.limits = (unsigned) jpr_get_bounded(in, JPR_LIMITS);
        t->room.since_ns = jpr_get_u64(in);
        t->room.error = jpr_get_u64(in);
    }
    return !in->bad && (!(flags & HAS_PHASES) || t->phases.ops) &&
           (!(flags & HAS_TAGS) || t->n_tags) &&
           (!(flags & HAS_PAUSES) || t->n_pauses) &&
           (!(flags & HAS_ROOM) || t->room.limits);
}

static bool get_recording(struct jpr_in *in, struct source_facts *f)
{
    struct source_recording *recording = reader_recording(f);
    struct recfile_tail *t = recording ? &recording->tail : NULL;
    uint64_t flags = jpr_get_bounded(in, RECORDING_FLAGS);

    if (!t)
        return false;
    t->counted = flags & IS_COUNTED;
    t->has_twins = flags & HAS_TWINS;
    f->records = jpr_get_u64(in);
    f->damaged = jpr_get_u64(in);
    t->clocks.real_ns = jpr_get_u64(in);
    partial_get_counts(in, &t->counts);
    t->in_flight = jpr_get_u64(in);
    t->lost_steps = jpr_get_u64(in);
    t->lost_comms = jpr_get_u64(in);
    t->cut_short = jpr_get_u64(in);
    t->last_ns = jpr_get_u64(in);
    t->oldest_ns = jpr_get_u64(in);
    if (!get_unseen(in, t))
        return false;
    t->unsure = jpr_get_u64(in);
    t->refused = jpr_get_u64(in);
    for (unsigned i = 0; i < RECFILE_DOUBTS; i++)
        t->unsure_by[i] = jpr_get_u64(in);
    if (flags & HAS_COST)
        get_cost(in, t);
    if (!get_v7(in, (unsigned) flags, t))
        return false;
    if (!(flags & HAS_NOTES))
        return !in->bad;
    f->notes = get_long_text(in, MAX_NOTES);
    /* notes are shown to users */
    return f->notes && is_clean(f->notes, strlen(f->notes));
}

/* A number of a launcher: none, or a small one. */
static int64_t get_launched(struct jpr_in *in)
{
    int64_t n = jpr_get_i64(in);

    if (n < -1 || n > INT32_MAX)
        in->bad = true;
    return n;
}

/* Reads who wrote a recording. False: damaged, or no memory. */
static bool get_writer(struct jpr_in *in, struct source_facts *f)
{
    struct source_recording *recording = reader_recording(f);
    struct recfile_process *p = recording ? &recording->process : NULL;
    struct launched *l;

    if (!p)
        return false;
    l = &p->launched;
    launched_init(l);
    p->known = true;
    if (!partial_get_short(in, p->host, sizeof(p->host)))
        return false;
    p->pid = jpr_get_i64(in);
    p->procid = jpr_get_i64(in);
    p->pid_namespace = jpr_get_u64(in);
    p->start = jpr_get_u64(in);
    if (jpr_get_bounded(in, LAUNCHED_KINDS) != LAUNCHED_KINDS)
        return false;
    for (int i = 0; i < LAUNCHED_KINDS; i++) {
        l->rank[i] = get_launched(in);
        l->size[i] = get_launched(in);
    }
    l->local_rank = get_launched(in);
    l->restarts = get_launched(in);
    l->task_pid = get_launched(in);
    return partial_get_short(in, l->run, sizeof(l->run)) && !in->bad;
}

/* Reads the flags of a file. False: the file would be of two kinds. */
static bool get_flags(struct jpr_in *in, struct source_facts *f, bool *is_busy,
                      bool *has_process)
{
    /* older versions have no markers and no process */
    uint64_t flags = jpr_get_bounded(in, 127);

    f->cut = flags & IS_CUT;
    f->has_pools = flags & IS_TRACE;
    f->foreign = flags & IS_FOREIGN;
    f->has_counters = flags & IS_RECORDING;
    f->markers = flags & IS_MARKED; /* its number follows */
    *has_process = flags & HAS_PROCESS;
    *is_busy = flags & IS_BUSY;
    return f->has_pools + f->foreign + f->has_counters <= 1;
}

/* Reads one log. False: damaged, or no memory; what was read is freed by
 * partial_close. */
static bool get_file(struct jpr_in *in, struct partial_file *file)
{
    struct source_facts *f = &file->read;
    bool good, is_busy, has_process;

    file->path = get_long_text(in, PATH_MAX);
    file->size = jpr_get_u64(in);
    file->mtime_us = jpr_get_i64(in);
    good = get_flags(in, f, &is_busy, &has_process);
    f->bytes = jpr_get_u64(in);
    f->lines = jpr_get_u64(in);
    f->odd_lines = jpr_get_u64(in);
    f->bad_lines = jpr_get_u64(in);
    f->other_lines = jpr_get_u64(in);
    /* in the order of put_file */
    if (!good || !file->path || !get_bad(in, f) ||
        !partial_get_short(in, f->trouble, sizeof(f->trouble)) ||
        (f->has_pools && !get_trace(in, f)) ||
        (f->has_counters && !get_recording(in, f)))
        return false;
    if (f->markers) {
        f->markers = jpr_get_u64(in);
        f->marked = jpr_get_u64(in);
        f->dropped = jpr_get_u64(in);
    }
    f->unstamped = jpr_get_u64(in);
    if (has_process && !get_writer(in, f))
        return false;
    if (is_busy && !get_busy(in, &f->busy))
        return false;
    if (is_busy && has_process)
        f->busy->instance = process_instance(source_process(f)->pid_namespace,
                                             source_process(f)->start);
    return !in->bad;
}

int partial_get_files(struct partial *partial, struct jpr_in *in)
{
    size_t n = (size_t) jpr_get_bounded(in, MAX_FILES);

    /* a file takes 14 bytes at least, which bounds the allocation */
    if (in->bad || n > (size_t) (in->end - in->at) / 14)
        return -1;
    partial->files = calloc(n + 1, sizeof(*partial->files));
    if (!partial->files)
        return -1;
    for (partial->n_files = 0; partial->n_files < n;) {
        struct partial_file *file = &partial->files[partial->n_files++];

        if (!get_file(in, file) ||
            (file > partial->files &&
             strcmp(file[-1].path, file->path) >= 0)) /* sorted, each once */
            return -1;
        partial->n_recordings += file->read.has_counters;
    }
    return in->at == in->end ? 0 : -1;
}
