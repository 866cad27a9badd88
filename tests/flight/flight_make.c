/* flight_make.c - dumps of PyTorch's Flight Recorder for tests. */
#include "tests/flight/flight_make.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const make_words[MAKE_N_SCENARIOS] = {
    "healthy", "absent", "idle",    "stuck",  "function", "size",
    "type",    "extra",  "uneven",  "gather", "several",  "batch",
    "pair",    "order",  "message", "inside", "chain",    "parts"};

void make_put(struct make_bytes *b, const void *bytes, size_t n)
{
    while (b->n + n > b->room) {
        b->room = b->room ? 2 * b->room : 1024;
        b->at = realloc(b->at, b->room);
        if (!b->at)
            abort();
    }
    memcpy(b->at + b->n, bytes, n);
    b->n += n;
}

/* --- values, in any of the three forms ------------------------------------ */

struct writer {
    struct make_bytes *out;
    enum make_form form;
    const char *memo[4096]; /* texts already written */
    size_t n_memo;
    bool first; /* JSON: no comma before the next value */
};

static void put_byte(struct writer *w, int byte)
{
    char c = (char) byte;

    make_put(w->out, &c, 1);
}

static void put_little(struct writer *w, uint64_t number, int n)
{
    for (int i = 0; i < n; i++)
        put_byte(w, (int) (number >> (8 * i) & 0xff));
}

static void put_chars(struct writer *w, const char *text)
{
    make_put(w->out, text, strlen(text));
}

/* JSON: separates values. */
static void separate(struct writer *w)
{
    if (w->form == MAKE_JSON && !w->first)
        put_byte(w, ',');
    w->first = false;
}

static void memoize(struct writer *w, const char *text)
{
    if (w->form == MAKE_PYTHON) {
        put_byte(w, 0x94);
    } else if (w->n_memo < 256) {
        put_byte(w, 'q');
        put_little(w, w->n_memo, 1);
    } else {
        put_byte(w, 'r');
        put_little(w, w->n_memo, 4);
    }
    w->memo[w->n_memo++] = text;
}

static void put_text(struct writer *w, const char *text)
{
    separate(w);
    if (w->form == MAKE_JSON) {
        put_byte(w, '"');
        put_chars(w, text);
        put_byte(w, '"');
        return;
    }
    for (size_t i = 0; i < w->n_memo; i++)
        if (w->memo[i] && !strcmp(w->memo[i], text)) {
            put_byte(w, i < 256 ? 'h' : 'j');
            put_little(w, i, i < 256 ? 1 : 4);
            return;
        }
    if (w->form == MAKE_PYTHON) {
        put_byte(w, 0x8c);
        put_little(w, strlen(text), 1);
    } else {
        put_byte(w, 'X');
        put_little(w, strlen(text), 4);
    }
    put_chars(w, text);
    memoize(w, text);
}

static void put_int(struct writer *w, int64_t number)
{
    char text[24];

    separate(w);
    if (w->form == MAKE_JSON) {
        snprintf(text, sizeof(text), "%" PRId64, number);
        put_chars(w, text);
    } else if (number >= 0 && number < 256) {
        put_byte(w, 'K');
        put_little(w, (uint64_t) number, 1);
    } else if (number >= 0 && number < 65536) {
        put_byte(w, 'M');
        put_little(w, (uint64_t) number, 2);
    } else if (number >= INT32_MIN && number <= INT32_MAX) {
        put_byte(w, 'J');
        put_little(w, (uint64_t) number, 4);
    } else {
        put_byte(w, 0x8a);
        put_byte(w, 8);
        put_little(w, (uint64_t) number, 8);
    }
}

static void put_bool(struct writer *w, bool value)
{
    separate(w);
    if (w->form == MAKE_JSON)
        put_chars(w, value ? "true" : "false");
    else
        put_byte(w, value ? 0x88 : 0x89);
}

/* A time; 0 is None, or 0 in JSON. */
static void put_time(struct writer *w, int64_t ns)
{
    if (ns || w->form == MAKE_JSON) {
        put_int(w, ns);
        return;
    }
    separate(w);
    put_byte(w, 'N');
}

static void begin(struct writer *w, bool dict)
{
    separate(w);
    w->first = true;
    if (w->form == MAKE_JSON) {
        put_byte(w, dict ? '{' : '[');
        return;
    }
    put_byte(w, dict ? '}' : ']');
    memoize(w, NULL);
    put_byte(w, '(');
}

static void end(struct writer *w, bool dict)
{
    w->first = false;
    if (w->form == MAKE_JSON)
        put_byte(w, dict ? '}' : ']');
    else
        put_byte(w, dict ? 'u' : 'e');
}

static void key(struct writer *w, const char *name)
{
    put_text(w, name);
    if (w->form == MAKE_JSON) {
        put_byte(w, ':');
        w->first = true;
    }
}

static void key_int(struct writer *w, const char *name, int64_t value)
{
    key(w, name);
    put_int(w, value);
}

static void key_text(struct writer *w, const char *name, const char *value)
{
    key(w, name);
    put_text(w, value);
}

static void key_time(struct writer *w, const char *name, int64_t ns)
{
    key(w, name);
    put_time(w, ns);
}

/* --- the parts of a dump -------------------------------------------------- */

static void put_sizes(struct writer *w, const char *name, int64_t elements)
{
    key(w, name);
    begin(w, false);
    if (elements >= 0) {
        begin(w, false);
        put_int(w, elements);
        end(w, false);
    }
    end(w, false);
}

static void put_dtypes(struct writer *w, const char *name, const char *dtype)
{
    key(w, name);
    begin(w, false);
    put_text(w, dtype);
    end(w, false);
}

static void put_frames(struct writer *w, const struct make_entry *e)
{
    if (w->form == MAKE_JSON)
        return;
    key(w, "frames");
    begin(w, false);
    for (size_t i = 0; i < e->n_frames; i++) {
        begin(w, true);
        key_text(w, "name", e->frames[i].name);
        key_text(w, "filename", e->frames[i].file);
        key_int(w, "line", e->frames[i].line);
        end(w, true);
    }
    end(w, false);
}

static void put_entry(struct writer *w, const struct make_dump *dump,
                      const struct make_entry *e)
{
    bool one = dump->minor < 0;

    begin(w, true);
    if (dump->minor >= 3)
        put_frames(w, e);
    key_int(w, one ? "id" : "record_id", e->record);
    key_int(w, "pg_id", e->pg_id);
    if (!one) {
        key(w, "process_group");
        if (w->form == MAKE_JSON)
            begin(w, false);
        put_text(w, e->group);
        put_text(w, e->desc);
        if (w->form == MAKE_JSON)
            end(w, false);
        else
            put_byte(w, 0x86);
    }
    if (dump->minor >= 9) {
        key_text(w, "thread_name", "pt_main_thread");
        key_text(w, "thread_id", "23456244340032");
    }
    if (one) {
        key_int(w, "seq_id", e->seq);
    } else {
        key_int(w, "collective_seq_id", e->seq);
        key_int(w, "p2p_seq_id", e->p2p);
    }
    key_int(w, "op_id", e->seq);
    key_text(w, "profiling_name", e->func);
    key_int(w, "time_created_ns", e->created_ns);
    put_sizes(w, "input_sizes", e->elements);
    if (!one)
        put_dtypes(w, "input_dtypes", e->dtype);
    put_sizes(w, "output_sizes", e->out ? e->out : e->elements);
    if (!one)
        put_dtypes(w, "output_dtypes", e->dtype);
    key_text(w, "state", e->state);
    key_time(w, "time_discovered_started_ns", e->started_ns);
    key_time(w, "time_discovered_completed_ns", e->completed_ns);
    key(w, "retired");
    put_bool(w, false);
    if (dump->minor >= 2)
        key_int(w, "timeout_ms", 600000);
    if (!one) {
        key(w, "is_p2p");
        put_bool(w, e->is_p2p);
    }
    if (dump->minor < 3)
        put_frames(w, e);
    end(w, true);
}

static void put_entries(struct writer *w, const struct make_dump *dump)
{
    if (dump->no_entries)
        return;
    key(w, "entries");
    begin(w, false);
    for (size_t i = 0; i < dump->n_entries; i++)
        put_entry(w, dump, &dump->entries[i]);
    end(w, false);
}

static void put_groups(struct writer *w, const struct make_dump *dump)
{
    key(w, "pg_config");
    begin(w, true);
    for (size_t i = 0; i < dump->n_groups; i++) {
        const struct make_group *g = &dump->groups[i];

        key(w, g->name);
        begin(w, true);
        key_text(w, "name", g->name);
        key_text(w, "desc", g->desc);
        key_text(w, "ranks", g->ranks);
        end(w, true);
    }
    end(w, true);
}

/* JSON has numbers of the status as text. */
static void put_number(struct writer *w, const char *name, int64_t value)
{
    char text[24];

    if (w->form != MAKE_JSON) {
        key_int(w, name, value);
        return;
    }
    snprintf(text, sizeof(text), "%" PRId64, value);
    key_text(w, name, text);
}

static void put_status(struct writer *w, const struct make_dump *dump)
{
    static char names[8][24];

    key(w, "pg_status");
    begin(w, true);
    for (size_t i = 0; i < dump->n_status; i++) {
        const struct make_status *s = &dump->status[i];

        snprintf(names[i], sizeof(names[i]), "%" PRId64, s->pg_id);
        key(w, names[i]);
        begin(w, true);
        put_number(w, "last_enqueued_collective", s->called);
        put_number(w, "last_started_collective", s->started);
        put_number(w, "last_completed_collective", s->ended);
        end(w, true);
    }
    end(w, true);
}

void make_write(const struct make_dump *dump, struct make_bytes *out)
{
    struct writer *w = calloc(1, sizeof(*w));
    char version[16];
    bool old = dump->minor < 3;

    if (!w)
        abort();
    *out = (struct make_bytes){0};
    w->out = out;
    w->form = dump->form;
    w->first = true;
    if (dump->minor < 0)
        snprintf(version, sizeof(version), "1.4");
    else
        snprintf(version, sizeof(version), "2.%d", dump->minor);
    if (w->form != MAKE_JSON) {
        put_byte(w, 0x80);
        put_byte(w, w->form == MAKE_PYTHON ? 4 : 2);
    }
    if (w->form == MAKE_PYTHON) {
        put_byte(w, 0x95);
        put_little(w, 1000, 8);
    }
    begin(w, true);
    /* the first versions end with the groups */
    if (old)
        put_entries(w, dump);
    key_text(w, "version", version);
    put_groups(w, dump);
    if (dump->minor >= 5)
        key_text(w, dump->minor >= 10 ? "comm_lib_version" : "nccl_version",
                 "2.27.3");
    if (!old) {
        put_status(w, dump);
        put_entries(w, dump);
    }
    end(w, true);
    if (w->form != MAKE_JSON)
        put_byte(w, '.');
    free(w);
}

/* --- a job of four ranks -------------------------------------------------- */

static const struct make_frame frames[] = {
    {"all_reduce",
     "/opt/conda/lib/python3.12/site-packages/torch/distributed/"
     "distributed_c10d.py",
     2696},
    {"wrapper",
     "/opt/conda/lib/python3.12/site-packages/torch/distributed/c10d_logger.py",
     83},
    {"step", "/home/alice/train.py", 30},
    {"main", "/home/alice/train.py", 71},
};

static struct make_entry *add(struct make_dump *d, const char *func,
                              const char *group, int64_t seq, bool done)
{
    struct make_entry *e = &d->entries[d->n_entries];
    int64_t at = MAKE_TIME_NS + (int64_t) d->n_entries * 1000000;

    *e = (struct make_entry){
        .record = (int64_t) d->n_entries,
        .pg_id = atoi(group),
        .group = group,
        .desc = !strcmp(group, "0")   ? "default_pg"
                : !strcmp(group, "1") ? "DATA"
                                      : "TENSOR",
        .seq = seq,
        .func = func,
        .state = done ? "completed" : "scheduled",
        .created_ns = at,
        .started_ns = done ? at + 1000 : 0,
        .completed_ns = done ? at + 2000 : 0,
        .elements = 4096,
        .dtype = "Float",
        .frames = frames,
        .n_frames = sizeof(frames) / sizeof(*frames),
    };
    d->n_entries++;
    return e;
}

/* A message in group 0. */
static struct make_entry *add_message(struct make_dump *d, const char *func,
                                      int64_t number, bool done)
{
    struct make_entry *e = add(d, func, "0", 0, done);

    e->p2p = number;
    e->is_p2p = true;
    return e;
}

/* The parts of a coalesced call stay "scheduled"; its own entry completes. */
static void add_parts(struct make_dump *d)
{
    add_message(d, "nccl:recv 0<-1", 1, false);
    add_message(d, "nccl:send 0->1", 1, false);
    add_message(d, "nccl:coalesced", 1, true)->elements = -1;
}

static void add_scenario(enum make_scenario scenario, int rank,
                         struct make_dump *d)
{
    bool other = rank == 2;

    switch (scenario) {
    case MAKE_HEALTHY:
        break;
    case MAKE_ABSENT:
    case MAKE_IDLE:
        if (!other)
            add(d, "nccl:all_reduce", "1", 11, false);
        break;
    case MAKE_STUCK:
        add(d, "nccl:all_reduce", "1", 11, !other);
        if (!other)
            add(d, "nccl:all_reduce", "1", 12, false);
        break;
    case MAKE_FUNCTION:
        add(d, other ? "nccl:broadcast" : "nccl:all_reduce", "1", 11, false);
        break;
    case MAKE_SIZE:
        add(d, "nccl:all_reduce", "1", 11, false)->elements = other ? 4095
                                                                    : 4096;
        break;
    case MAKE_TYPE:
        add(d, "nccl:all_reduce", "1", 11, false)->dtype = other ? "BFloat16"
                                                                 : "Float";
        break;
    case MAKE_EXTRA:
        add(d, "nccl:all_reduce", "1", 11, true);
        if (other)
            add(d, "nccl:all_reduce", "1", 12, false);
        break;
    case MAKE_UNEVEN:
        if (!other)
            add(d, "nccl:all_to_all", "1", 11, false)->elements = 4096 + rank;
        break;
    case MAKE_GATHER:
        if (!other)
            add(d, "nccl:gather", "1", 11, false)->out = rank ? -1 : 16384;
        break;
    case MAKE_SEVERAL:
        if (!other)
            add(d, "nccl:allreduce_coalesced", "1", 11, false);
        break;
    case MAKE_BATCH:
        if (rank == 1) {
            add_message(d, "nccl:recv 1<-0", 1, false);
            add_message(d, "nccl:send 1->0", 1, false);
            add_message(d, "nccl:coalesced", 1, false)->elements = -1;
        }
        break;
    case MAKE_PAIR:
        if (rank == 0)
            add_message(d, "nccl:send 0->1", 1, false);
        if (rank == 1)
            add_message(d, "nccl:recv 1<-0", 1, false);
        break;
    case MAKE_ORDER:
        add(d, "nccl:all_reduce", rank < 2 ? "1" : "0", rank < 2 ? 11 : 1,
            false);
        break;
    case MAKE_MESSAGE:
        if (rank == 1)
            add_message(d, "nccl:recv 1<-0", 1, false);
        break;
    case MAKE_INSIDE:
        add(d, "nccl:all_reduce", "1", 11, false);
        break;
    case MAKE_CHAIN:
        add(d, "nccl:all_reduce", rank < 2 ? "2" : "1", rank < 2 ? 2 : 11,
            false);
        break;
    case MAKE_PARTS:
        if (rank == 0)
            add_parts(d);
        break;
    case MAKE_N_SCENARIOS:
        break;
    }
}

/* The last called and completed collective of each group, by the entries. */
static void set_status(struct make_dump *d)
{
    for (size_t i = 0; i < d->n_groups; i++) {
        struct make_status *s = &d->status[i];

        *s = (struct make_status){.pg_id = atoi(d->groups[i].name),
                                  .called = -1,
                                  .started = -1,
                                  .ended = -1};
        for (size_t k = 0; k < d->n_entries; k++) {
            const struct make_entry *e = &d->entries[k];
            int64_t number = e->is_p2p ? e->p2p : e->seq;

            if (strcmp(e->group, d->groups[i].name) != 0)
                continue;
            s->called = number;
            if (e->completed_ns)
                s->ended = number;
        }
    }
    d->n_status = d->n_groups;
}

void make_rank(enum make_scenario scenario, int rank, struct make_dump *dump)
{
    *dump = (struct make_dump){.minor = 9, .n_groups = 3};
    dump->groups[0] = (struct make_group){"0", "default_pg", "[0, 1, 2, 3]"};
    dump->groups[1] = (struct make_group){"1", "DATA", "[0, 1, 2, 3]"};
    dump->groups[2] = rank < 2 ? (struct make_group){"2", "TENSOR", "[0, 1]"}
                               : (struct make_group){"3", "TENSOR", "[2, 3]"};
    for (int i = 1; i <= 10; i++)
        add(dump, "nccl:all_reduce", "1", i, true);
    add(dump, "nccl:all_reduce", dump->groups[2].name, 1, true);
    add_scenario(scenario, rank, dump);
    set_status(dump);
    if (scenario == MAKE_IDLE && rank == 2)
        dump->n_entries = 0;
}
