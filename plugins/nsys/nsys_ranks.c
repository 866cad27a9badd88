/* nsys_ranks.c - an export of several processes becomes records and times of
 * kernels, one rank for each process. */
#include "plugins/nsys/nsys_ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/keymap.h"
#include "common/quote.h"
#include "common/vector.h"
#include "plugins/backend.h"
#include "plugins/nsys/nsys_read.h"
#include "plugins/phasespans.h"
#include "plugins/traced.h"

#define FAR_NS (INT64_C(1) << 61) /* larger times are refused */
#define NAMES 4096 /* ids of kernels' names that are remembered */
/* Operations whose kernels do not overlap, of all, at which the order is not
 * certain. */
#define TORN_SHARE 0.05

/* What a name's id means, looked up once. */
struct meaning {
    int64_t id;
    const char *func; /* of a kernel of NCCL, a constant; NULL: none */
    bool is_comm, known;
    char name[TRACED_NAME];
};

struct coll {
    int64_t start_ns, end_ns, order; /* order: of the launch */
    const char *func;
    int64_t stream;
    uint64_t sn;
    uint32_t process; /* index */
    uint8_t phase;    /* phasespans_find */
};

struct process {
    uint64_t id; /* globalPid */
    int64_t device;
    struct tracing *tracing;
    uint64_t comms; /* kernels of NCCL */
    struct phasespans phases;
    uint32_t rank;
    int64_t stream; /* of its kernels of NCCL */
    bool several_streams, several_devices;
};

struct reading {
    struct nsys_db *db;
    struct process processes[NSYS_RANKS];
    size_t n;
    struct meaning *meanings;
    struct coll *colls;
    size_t n_colls, room;
    struct keymap launches; /* (process, correlation): index into colls */
    uint64_t left, bad;
    bool to_all, to_one; /* ranges name AlltoAll; Send, Recv or several */
    int64_t start_utc_ns;
    char host[RECORD_MAX_HOST + 1];
};

static bool is_number(const struct nsys_cell *cell, int64_t least, int64_t most)
{
    return cell->type == NSYS_CELL_NUMBER && cell->number >= least &&
           cell->number <= most;
}

/* The process of an id; NULL: there are too many, or no memory (*rc). */
static struct process *find_process(struct reading *r, uint64_t id, int *rc)
{
    struct process *p = r->processes;

    while (p < r->processes + r->n && p->id != id)
        p++;
    if (p < r->processes + r->n || r->n == NSYS_RANKS)
        return r->n == NSYS_RANKS && p == r->processes + r->n ? NULL : p;
    *p = (struct process){.id = id, .device = -1, .stream = INT64_MIN};
    p->tracing = tracing_create();
    if (!p->tracing) {
        *rc = -1;
        return NULL;
    }
    r->n++;
    return p;
}

/* What a name's id means. */
static struct meaning *find_meaning(struct reading *r, int64_t id)
{
    struct meaning *m = &r->meanings[(uint64_t) id % NAMES];
    const char *text;

    /* ids that share a place replace each other */
    if (m->known && m->id == id)
        return m;
    text = nsys_sql_text(r->db, id);
    *m = (struct meaning){.id = id, .known = true};
    snprintf(m->name, sizeof(m->name), "%s", text ? text : NSYS_UNKNOWN);
    m->is_comm = text && tracing_is_comm(text, strlen(text));
    m->func = m->is_comm ? tracing_func(text, strlen(text)) : NULL;
    return m;
}

static const char *const kernel_columns[] = {
    "start",    "end",       "deviceId",  "correlationId",
    "streamId", "globalPid", "shortName", "demangledName"};
enum { K_DEVICE = 2, K_CORRELATION, K_STREAM, K_PID, K_SHORT, K_NAME, K_N };

/* Keeps a kernel of NCCL. 0, or -1: no memory. */
static int keep_coll(struct reading *r, struct process *p,
                     const struct nsys_cell *cells, const char *func)
{
    int64_t stream = cells[K_STREAM].number;

    if (p->comms++ == 0)
        p->stream = stream;
    p->several_streams |= p->stream != stream;
    if (r->n_colls == NSYS_RANKS_COLLS) {
        r->left++;
        return 0;
    }
    if (VECTOR_ROOM(r->colls, r->n_colls + 1, r->room) < 0 ||
        (cells[K_CORRELATION].type == NSYS_CELL_NUMBER &&
         keymap_find(&r->launches, p->id,
                     (uint64_t) cells[K_CORRELATION].number) == KEYMAP_NONE &&
         keymap_add(&r->launches, p->id, (uint64_t) cells[K_CORRELATION].number,
                    (uint32_t) r->n_colls) < 0))
        return -1;
    r->colls[r->n_colls++] =
        (struct coll){.start_ns = cells[0].number,
                      .end_ns = cells[1].number,
                      .order = cells[K_CORRELATION].type == NSYS_CELL_NUMBER
                                   ? cells[K_CORRELATION].number
                                   : cells[0].number,
                      .func = func,
                      .stream = stream,
                      .process = (uint32_t) (p - r->processes)};
    return 0;
}

static int take_kernel(void *arg, const struct nsys_cell *cells,
                       struct jp_error *err)
{
    struct reading *r = arg;
    const struct nsys_cell *name =
        &cells[cells[K_SHORT].type == NSYS_CELL_NUMBER ? K_SHORT : K_NAME];
    struct process *p;
    const struct meaning *m;
    int rc = 0;

    if (!is_number(&cells[0], -FAR_NS, FAR_NS) ||
        !is_number(&cells[1], cells[0].number, FAR_NS) ||
        cells[K_PID].type != NSYS_CELL_NUMBER ||
        name->type != NSYS_CELL_NUMBER) {
        r->bad++;
        return 0;
    }
    p = find_process(r, (uint64_t) cells[K_PID].number, &rc);
    if (!p) {
        r->left += rc == 0;
        return rc < 0 ? error_set(err, "out of memory") : 0;
    }
    m = find_meaning(r, name->number);
    if (p->device < 0)
        p->device = cells[K_DEVICE].number;
    p->several_devices |= p->device != cells[K_DEVICE].number;
    if (tracing_kernel(
            p->tracing,
            &(struct tracing_kernel){.start_ns = cells[0].number,
                                     .end_ns = cells[1].number,
                                     .device = cells[K_DEVICE].number,
                                     .name = m->name,
                                     .len = strlen(m->name),
                                     .is_comm = m->is_comm}) < 0 ||
        (m->is_comm && keep_coll(r, p, cells, m->func) < 0))
        return error_set(err, "out of memory");
    return 0;
}

/* The known process of a thread; NULL: it has no kernels. */
static struct process *process_of(struct reading *r,
                                  const struct nsys_cell *tid)
{
    /* globalTid is globalPid and 24 bits of the thread */
    uint64_t id = (uint64_t) tid->number & ~UINT64_C(0xffffff);

    for (size_t i = 0; i < r->n && tid->type == NSYS_CELL_NUMBER; i++)
        if (r->processes[i].id == id)
            return &r->processes[i];
    return NULL;
}

static const char *const range_columns[] = {"text", "textId",    "start",
                                            "end",  "eventType", "globalTid"};
enum { R_TEXT, R_TEXT_ID, R_START, R_END, R_TYPE, R_TID, R_N };

/* Types of NVTX events: ranges of a thread that nest. */
enum { PUSH_POP = 59, PUSH_POP_PROCESS = 70 };

/* The bytes of a range's name without what PyTorch's emit_nvtx adds to each of
 * its operators: "aten::mm, seq = 5, op_id = 7". */
static size_t name_len(const char *text)
{
    const char *seq = strstr(text, ", seq = "),
               *id = strstr(text, ", op_id = ");

    return seq  ? (size_t) (seq - text)
           : id ? (size_t) (id - text)
                : strlen(text);
}

/* Keeps a range of a thread: it may name a phase, and is a call on the host.
 * 0, or -1: no memory. */
static int keep_range(struct process *p, const struct nsys_cell *cells,
                      const char *text)
{
    const struct phasespans_range range = {
        .thread = (uint64_t) cells[R_TID].number,
        .start_ns = cells[R_START].number,
        .end_ns = cells[R_END].number,
        .name = text,
        .len = name_len(text),
        /* NCCL has ranges of its own calls */
        .is_annotation = !text[name_len(text)] && strncmp(text, "nccl", 4)};

    /* the process' first thread has its id */
    if (!p->phases.has_main)
        phasespans_main(&p->phases, p->id | (p->id >> 24 & 0xffffff));
    return phasespans_add(&p->phases, &range) < 0 ||
                   tracing_call(p->tracing, range.name, range.len,
                                (uint64_t) (range.end_ns - range.start_ns)) < 0
               ? -1
               : 0;
}

/* Ranges of a thread; those of PyTorch say what Send and Recv are for. */
static int take_range(void *arg, const struct nsys_cell *cells,
                      struct jp_error *err)
{
    struct reading *r = arg;
    const char *text = cells[R_TEXT].type == NSYS_CELL_TEXT ? cells[R_TEXT].text
                       : cells[R_TEXT_ID].type == NSYS_CELL_NUMBER
                           ? nsys_sql_text(r->db, cells[R_TEXT_ID].number)
                           : NULL;
    struct process *p = process_of(r, &cells[R_TID]);

    if (!text)
        return 0;
    if (strncmp(text, "nccl:", 5) != 0) {
        if (p && is_number(&cells[R_START], -FAR_NS, FAR_NS) &&
            is_number(&cells[R_END], cells[R_START].number, FAR_NS) &&
            (is_number(&cells[R_TYPE], PUSH_POP, PUSH_POP) ||
             is_number(&cells[R_TYPE], PUSH_POP_PROCESS, PUSH_POP_PROCESS)) &&
            keep_range(p, cells, text) < 0)
            return error_set(err, "out of memory");
        return 0;
    }
    text += 5;
    if (!strncmp(text, "all_to_all", 10) || !strncmp(text, "alltoall", 8))
        r->to_all = true;
    else if (!strncmp(text, "send", 4) || !strncmp(text, "recv", 4) ||
             !strncmp(text, "coalesced", 9) || !strncmp(text, "gather", 6) ||
             !strncmp(text, "scatter", 7))
        r->to_one = true;
    return 0;
}

static const char *const call_columns[] = {"start", "end", "nameId",
                                           "correlationId", "globalTid"};
enum { C_START, C_END, C_NAME, C_CORRELATION, C_TID, C_N };

/* A call of the runtime: how long its process was in it, and, if it launched a
 * kernel of NCCL, in which phase. All ranges are known by now. */
static int take_call(void *arg, const struct nsys_cell *cells,
                     struct jp_error *err)
{
    struct reading *r = arg;
    struct process *p = process_of(r, &cells[C_TID]);
    char name[TRACED_NAME];
    uint32_t at;

    if (!p || !is_number(&cells[C_START], -FAR_NS, FAR_NS) ||
        !is_number(&cells[C_END], cells[C_START].number, FAR_NS) ||
        cells[C_NAME].type != NSYS_CELL_NUMBER)
        return 0;
    at = cells[C_CORRELATION].type == NSYS_CELL_NUMBER
             ? keymap_find(&r->launches, p->id,
                           (uint64_t) cells[C_CORRELATION].number)
             : KEYMAP_NONE;
    if (at != KEYMAP_NONE)
        r->colls[at].phase = phasespans_find(
            &p->phases, (uint64_t) cells[C_TID].number, cells[C_START].number);
    memcpy(name, find_meaning(r, cells[C_NAME].number)->name, sizeof(name));
    nsys_strip_version(name);
    return tracing_call(
               p->tracing, name, strlen(name),
               (uint64_t) (cells[C_END].number - cells[C_START].number)) < 0
               ? error_set(err, "out of memory")
               : 0;
}

static int take_start(void *arg, const struct nsys_cell *cells,
                      struct jp_error *err)
{
    struct reading *r = arg;

    (void) err;
    if (is_number(&cells[0], 1, INT64_MAX / 2))
        r->start_utc_ns = cells[0].number;
    return 0;
}

static int take_system(void *arg, const struct nsys_cell *cells,
                       struct jp_error *err)
{
    struct reading *r = arg;

    (void) err;
    if (cells[0].type == NSYS_CELL_TEXT && cells[1].type == NSYS_CELL_TEXT &&
        !strcmp(cells[0].text, "Hostname") &&
        record_is_word(cells[1].text, strlen(cells[1].text), RECORD_MAX_HOST))
        snprintf(r->host, sizeof(r->host), "%s", cells[1].text);
    return 0;
}

/* 0, or -1 and err. */
static int read_tables(struct reading *r, struct jp_error *err)
{
    static const char *const utc[] = {"utcEpochNs"}, *const system[] = {
                                                         "name", "value"};

    if (nsys_sql_scan(r->db, "CUPTI_ACTIVITY_KIND_KERNEL", kernel_columns, K_N,
                      take_kernel, r, err) < 0 ||
        nsys_sql_scan(r->db, "NVTX_EVENTS", range_columns, R_N, take_range, r,
                      err) < 0)
        return -1;
    for (size_t i = 0; i < r->n; i++)
        phasespans_end(&r->processes[i].phases);
    return nsys_sql_scan(r->db, "CUPTI_ACTIVITY_KIND_RUNTIME", call_columns,
                         C_N, take_call, r, err) < 0 ||
                   nsys_sql_scan(r->db, "TARGET_INFO_SESSION_START_TIME", utc,
                                 1, take_start, r, err) < 0 ||
                   nsys_sql_scan(r->db, "TARGET_INFO_SYSTEM_ENV", system, 2,
                                 take_system, r, err) < 0
               ? -1
               : 0;
}

/* --- ranks ---------------------------------------------------------------- */

/* Numbers the processes with kernels of NCCL. Returns how many there are. */
static uint32_t number_ranks(struct reading *r, bool *by_gpu)
{
    uint32_t n = 0;

    *by_gpu = true;
    for (size_t i = 0; i < r->n; i++) {
        struct process *p = &r->processes[i];

        if (!p->comms)
            continue;
        n++;
        *by_gpu &= !p->several_devices && p->device >= 0;
        for (size_t k = 0; k < r->n; k++) {
            const struct process *q = &r->processes[k];

            if (k == i || !q->comms)
                continue;
            *by_gpu &= q->device != p->device;
            p->rank += q->device < p->device;
        }
    }
    for (size_t i = 0; i < r->n && !*by_gpu; i++) {
        r->processes[i].rank = 0;
        for (size_t k = 0; k < r->n; k++)
            r->processes[i].rank += r->processes[k].comms &&
                                    r->processes[k].id < r->processes[i].id;
    }
    return n;
}

static int by_order(const void *a, const void *b)
{
    const struct coll *x = a, *y = b;
    int order = strcmp(x->func, y->func);

    if (order)
        return order;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int by_start(const void *a, const void *b)
{
    const struct coll *x = a, *y = b;

    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Of n kernels of a function, sorted, `each` of each of `ranks` processes: the
 * share of operations whose kernels do not overlap. */
static double torn_share(const struct coll *colls, size_t each, uint32_t ranks)
{
    size_t torn = 0;

    for (size_t i = 0; i < each; i++) {
        int64_t last_start = INT64_MIN, first_end = INT64_MAX;

        for (uint32_t k = 0; k < ranks; k++) {
            const struct coll *c = &colls[k * each + i];

            last_start = c->start_ns > last_start ? c->start_ns : last_start;
            first_end = c->end_ns < first_end ? c->end_ns : first_end;
        }
        torn += first_end < last_start;
    }
    return each ? (double) torn / (double) each : 1;
}

/* Moves kernels that are no collective behind the others. Returns how many
 * collectives there are. */
static size_t sort_out(struct reading *r)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->n_colls; i++) {
        struct coll c = r->colls[i];

        if (c.func && !strcmp(c.func, "SendRecv"))
            c.func = r->to_all && !r->to_one ? "AlltoAll" : NULL;
        if (c.func)
            r->colls[kept++] = c;
    }
    return kept;
}

/* Keeps the functions whose operations can be told apart, and numbers them.
 * Returns how many kernels are left, from the first on. *unsure: of functions
 * that were left out. */
static size_t number_colls(struct reading *r, size_t n, uint32_t ranks,
                           uint64_t *unsure)
{
    size_t kept = 0;

    if (n)
        qsort(r->colls, n, sizeof(*r->colls), by_order);
    for (size_t from = 0, to; from < n; from = to) {
        size_t each = 0;
        bool even = true;

        for (to = from;
             to < n && !strcmp(r->colls[to].func, r->colls[from].func); to++) {
            struct coll *c = &r->colls[to];

            c->sn = to > from && c[-1].process == c->process ? c[-1].sn + 1 : 0;
            each = c->sn + 1 > each ? (size_t) c->sn + 1 : each;
        }
        even = each * ranks == to - from;
        if (!even || torn_share(r->colls + from, each, ranks) > TORN_SHARE) {
            *unsure += to - from;
            continue;
        }
        memmove(r->colls + kept, r->colls + from,
                (to - from) * sizeof(*r->colls));
        kept += to - from;
    }
    if (kept)
        qsort(r->colls, kept, sizeof(*r->colls), by_start);
    return kept;
}

/* The process id within globalPid. */
static int64_t pid_of(uint64_t id)
{
    return (int64_t) (id >> 24 & 0xffffff);
}

static uint64_t wall_us(const struct reading *r, int64_t ns)
{
    int64_t sum = r->start_utc_ns + ns;

    return sum > 0 ? (uint64_t) sum / 1000 : 0;
}

/* Passes the first n kernels on as records. 0, or the sink's result. */
static int pass_records(struct reading *r, size_t n,
                        const struct reader_sink *sink,
                        struct source_facts *facts)
{
    static const char id[] = "0x1";
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct coll *c = &r->colls[i];
        const struct process *p = &r->processes[c->process];
        struct record record = {
            .id = {id, strlen(id)},
            .name = {"processes of nsys", 17},
            .host = {r->host, strlen(r->host)},
            .func = {c->func, strlen(c->func)},
            .pid = pid_of(p->id),
            .device = (uint64_t) p->device + 1,
            .start_us = wall_us(r, c->start_ns),
            .end_us = wall_us(r, c->end_ns),
            .dump_us = wall_us(r, c->end_ns),
            .sn = c->sn,
            .has_sn = true,
            .exec_us = (uint64_t) (c->end_ns - c->start_ns) / 1000,
            .rank = p->rank,
            .clock = RECORD_CLOCK_GPU,
            .busbw_nan = true,
            .phase = phasespans_name(&p->phases, c->phase)};

        if (record.exec_us > RECORD_MAX_TIME_US)
            record.exec_us = 0;
        record.exec_unknown = !record.exec_us;
        facts->records++;
        facts->untimed += record.exec_unknown;
        rc = sink->take(sink->arg, &record, 1);
    }
    return rc;
}

/* Adds the times of each process. 0, or -1: no memory. */
static int add_traced(struct reading *r, struct source_facts *facts)
{
    for (size_t i = 0; i < r->n; i++) {
        struct process *p = &r->processes[i];
        struct traced traced;

        if (!p->comms)
            continue;
        if (tracing_end(p->tracing, r->start_utc_ns, &traced) < 0)
            return -1;
        memcpy(traced.host, r->host, sizeof(traced.host));
        traced.pid = pid_of(p->id);
        traced.rank = p->rank;
        traced.source = "nsys";
        if (traced_list_add(&facts->traced, &traced) < 0) {
            traced_fini(&traced);
            return -1;
        }
    }
    return 0;
}

/* Tells what was assumed and left out. */
static void make_notes(const struct reading *r, uint32_t ranks, bool by_gpu,
                       uint64_t unnamed, uint64_t unsure, uint64_t records,
                       struct source_facts *facts)
{
    uint64_t ranges = 0;
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return;
    fprintf(out,
            "%" PRIu32 " processes with kernels of NCCL are taken to be ranks, "
            "numbered by %s",
            ranks, by_gpu ? "their GPUs" : "their process ids");
    if (records)
        fprintf(out, "; operations are joined by order and have no sizes (0 B "
                     "stands for it)");
    if (unnamed)
        fprintf(out,
                "; %" PRIu64 " kernels of Send and Recv or of several "
                "functions are not joined: nothing says that they are "
                "collectives",
                unnamed);
    if (unsure)
        fprintf(out,
                "; %" PRIu64 " collectives are not joined: their order does "
                "not show which belong together",
                unsure);
    if (r->left || r->bad)
        fprintf(out, "; %" PRIu64 " kernels were left out", r->left + r->bad);
    for (size_t i = 0; i < r->n; i++)
        ranges += r->processes[i].phases.left;
    if (ranges)
        fprintf(out,
                "; %" PRIu64 " NVTX ranges are beyond the limit of a process "
                "and name no phase",
                ranges);
    if (fclose(out) == 0)
        facts->notes = text;
    else
        free(text);
}

/* 0, -1 without memory, or the sink's result. */
static int settle_reading(struct reading *r, const struct reader_input *in,
                          const struct reader_sink *sink,
                          struct source_facts *facts)
{
    bool by_gpu, one = true;
    uint32_t ranks = number_ranks(r, &by_gpu);
    uint64_t unsure = 0;
    size_t all = r->n_colls, n, joined = 0;
    int rc;

    /* one rank alone is what jobprof nsys shows */
    if (ranks < 2)
        return 0;
    for (size_t i = 0; i < r->n; i++)
        one &= !r->processes[i].several_streams;
    n = sort_out(r);
    if (in->only_facts)
        n = all = 0; /* the files of an NCCL profiler have them */
    else if (one || ranks == 2)
        joined = number_colls(r, n, ranks, &unsure);
    else
        unsure = n;
    rc = pass_records(r, joined, sink, facts);
    if (rc != 0)
        return rc;
    make_notes(r, ranks, by_gpu, all - n, unsure, joined, facts);
    return add_traced(r, facts);
}

/* Whether the caller wants the reading to end. */
static bool is_stopped(void *arg)
{
    const struct reader_input *in = arg;

    return atomic_load_explicit(in->stop, memory_order_relaxed);
}

int nsys_ranks_read(const struct reader_input *in,
                    const struct reader_sink *sink, struct source_facts *facts)
{
    struct reading *r = calloc(1, sizeof(*r));
    struct reader_input copy = *in;
    struct jp_error err = {""};
    int rc = -1;

    if (!r)
        return -1;
    r->meanings = calloc(NAMES, sizeof(*r->meanings));
    r->db = r->meanings ? nsys_sql_open(in->path, is_stopped, &copy, &err)
                        : NULL;
    facts->unit = "row";
    facts->several = true;
    if (r->db && read_tables(r, &err) == 0) {
        rc = settle_reading(r, in, sink, facts);
    } else if (r->meanings && *err.text) {
        rc = reader_refuse(facts, in->path, &err);
    }
    nsys_sql_close(r->db);
    for (size_t i = 0; i < r->n; i++) {
        tracing_destroy(r->processes[i].tracing);
        phasespans_fini(&r->processes[i].phases);
    }
    keymap_fini(&r->launches);
    free(r->meanings);
    free(r->colls);
    free(r);
    return rc;
}

static bool probe(const char *name, const void *head, size_t len)
{
    static const char magic[] = "SQLite format 3";

    (void) name;
    return len >= sizeof(magic) && !memcmp(head, magic, sizeof(magic));
}

/* An export is read by its path: it cannot be a part of other bytes. */
static int read_file(void *state, const struct reader_input *in,
                     const struct reader_sink *sink, struct source_facts *facts)
{
    (void) state;
    return in->data ? 0 : nsys_ranks_read(in, sink, facts);
}

static const struct backend_reader reader = {
    .probe = probe, .is_second = true, .read = read_file};

const struct backend backend_nsys_ranks = {
    .abi = BACKEND_ABI,
    .about = {.name = "nsys", .title = "nsys"},
    .reader = &reader,
};
