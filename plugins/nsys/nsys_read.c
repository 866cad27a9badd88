/* nsys_read.c - read the tables of an export, one after the other, into a
 * profile.
 *
 * read_all has the order: kernels, copies and memsets fill the busy spans of
 * the GPUs; find_gaps takes their gaps; then calls into CUDA are matched with
 * gaps and with kernels' launches; NVTX ranges come last. Each table has a list
 * of columns, an enum of their positions, and a function that takes a row. A
 * row that makes no sense is counted as bad and skipped. */
#include "plugins/nsys/nsys_read.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/num.h"
#include "common/quote.h"
#include "common/vector.h"

#define FAR_NS (INT64_C(1) << 61) /* larger times are refused */
#define MAX_DEVICE 255
/* The process id within globalPid and globalTid; the lower 24 bits are a
 * thread's. */
#define PID_OF(id) ((uint64_t) (id) >> 24 & 0xffffff)
/* Types of NVTX events: 59 and 70 are push-pop ranges, 60 and 71 start-end
 * ranges, 75 the name of a domain. */
#define PUSHPOP_IS(type) ((type) == 59 || (type) == 70)
#define STARTEND_IS(type) ((type) == 60 || (type) == 71)
#define DOMAIN_IS(type) ((type) == 75)

/* The state of reading one file. */
struct reading {
    struct nsys_db *db;
    const struct nsys_options *options;
    struct nsys_profile *out;
    struct nsys_meanings meanings; /* of the table that is being read */
    struct nsys_launches launches;
    struct nsys_busy busy;
    /* start of the first kernel, end of the last one */
    int64_t first_kernel, last_kernel;
    int64_t classes[8]; /* event classes of calls into CUDA */
    size_t n_classes;
    int64_t severities[16]; /* severities of nsys' messages that are warnings or
                               errors */
    size_t n_severities;
    struct domain {
        int64_t id;
        char name[64];
    } domains[64]; /* NVTX domains that have a name */
    size_t n_domains;
    int64_t processes[NSYS_PROCESSES]; /* those of nsys_profile.processes */
};

/* --- lines --------------------------------------------------------------- */

/* The place of a name's sum, made if necessary. Beyond NSYS_NAMES it is that of
 * NSYS_OTHERS. Returns -1 without memory. */
static int64_t find_line(struct nsys_lines *lines, const char *name)
{
    int64_t at = nsys_names_find(&lines->names, name);

    if (at < 0)
        at = nsys_names_put(&lines->names, lines->names.n < NSYS_NAMES - 1
                                               ? name
                                               : NSYS_OTHERS);
    if (at >= 0 && (size_t) at >= lines->room) {
        size_t room = lines->room ? 2 * lines->room : 64;

        if (vector_resize(&lines->sums, room, sizeof(*lines->sums)) < 0)
            return -1;
        /* new sums are empty */
        memset(lines->sums + lines->room, 0,
               (room - lines->room) * sizeof(*lines->sums));
        lines->room = room;
    }
    return at;
}

void nsys_strip_version(char *name)
{
    char *at = strrchr(name, '_');
    size_t digits = at && at[1] == 'v' ? strspn(at + 2, "0123456789") : 0;

    /* only the runtime's versions have four or five digits */
    if ((digits == 4 || digits == 5) && !at[2 + digits])
        *at = '\0';
}

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* The kind of a CUDA call, by the beginning of its name. An "Async" variant of
 * a copy, wait or allocation does not block, so it is CALL_OTHER. */
static enum nsys_call class_of(const char *name)
{
    static const struct {
        const char *begins;
        enum nsys_call class;
    } rows[] = {
        {"cudaLaunch", CALL_LAUNCH},
        {"cuLaunch", CALL_LAUNCH},
        {"cudaGraphLaunch", CALL_LAUNCH},
        {"cuGraphLaunch", CALL_LAUNCH},
        {"cudaMemcpy", CALL_SYNC_COPY},
        {"cuMemcpy", CALL_SYNC_COPY},
        {"cudaDeviceSynchronize", CALL_SYNC},
        {"cudaThreadSynchronize", CALL_SYNC},
        {"cudaStreamSynchronize", CALL_SYNC},
        {"cudaEventSynchronize", CALL_SYNC},
        {"cuCtxSynchronize", CALL_SYNC},
        {"cuStreamSynchronize", CALL_SYNC},
        {"cuEventSynchronize", CALL_SYNC},
        {"cudaMalloc", CALL_ALLOCATION},
        {"cudaHostAlloc", CALL_ALLOCATION},
        {"cudaHostRegister", CALL_ALLOCATION},
        {"cudaFree", CALL_ALLOCATION},
        {"cuMemAlloc", CALL_ALLOCATION},
        {"cuMemHostAlloc", CALL_ALLOCATION},
        {"cuMemFree", CALL_ALLOCATION},
        {"cuMemCreate", CALL_ALLOCATION},
        {"cuMemMap", CALL_ALLOCATION},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (begins(name, rows[i].begins))
            return rows[i].class >= CALL_SYNC_COPY && strstr(name, "Async")
                       ? CALL_OTHER
                       : rows[i].class;
    return CALL_OTHER;
}

/* The line of a name, which is cleaned first; NULL or "" is NSYS_UNKNOWN.
 * Returns -1 without memory. */
static int64_t line_of(struct reading *r, enum nsys_table table,
                       const char *name)
{
    char clean[NSYS_NAME_LEN];

    clean_text(name && *name ? name : NSYS_UNKNOWN, JP_CLEAN_UTF8, clean,
               sizeof(clean));
    if (table == NSYS_API)
        nsys_strip_version(clean);
    return find_line(&r->out->of[table], clean);
}

/* The line that an id of StringIds means. It is looked up once for each id
 * and table, because tables have millions of rows and few names. NULL: no
 * memory. */
static struct nsys_meaning *mean_string(struct reading *r,
                                        enum nsys_table table,
                                        const struct nsys_cell *cell)
{
    /* a number that no string has stands for NULL */
    int64_t id = cell->type == NSYS_CELL_NUMBER ? cell->number : INT64_MIN;
    struct nsys_meaning *m;
    int64_t line;

    m = nsys_meaning_get(&r->meanings, id);
    if (!m || m->line)
        return m;
    /* the first time that this id occurs */
    line = line_of(r, table, id == INT64_MIN ? NULL : nsys_sql_text(r->db, id));
    if (line < 0)
        return NULL;
    m->line = (uint32_t) line + 1;
    m->class = table == NSYS_API ? class_of(r->out->of[table].names.at[line])
                                 : CALL_OTHER;
    return m;
}

/* --- cells --------------------------------------------------------------- */

static bool is_number(const struct nsys_cell *cell, int64_t least, int64_t most)
{
    return cell->type == NSYS_CELL_NUMBER && cell->number >= least &&
           cell->number <= most;
}

/* The first two cells are a start and an end, in order. */
static bool is_interval(const struct nsys_cell *cells)
{
    return is_number(&cells[0], -FAR_NS, FAR_NS) &&
           is_number(&cells[1], cells[0].number, FAR_NS);
}

static uint64_t ns_of(const struct nsys_cell *cells)
{
    return (uint64_t) (cells[1].number - cells[0].number);
}

static void count_one(struct nsys_count *c, uint64_t ns, uint64_t bytes)
{
    c->n++;
    c->ns = num_add(c->ns, ns);
    c->bytes = num_add(c->bytes, bytes);
}

static int no_memory(struct jp_error *err)
{
    return error_set(err, "out of memory");
}

/* --- kernels, copies, memsets -------------------------------------------- */

/* Columns of each table, and their positions in a row. Start and end are always
 * 0 and 1. */
static const char *const kernel_columns[] = {
    "start",         "end",       "deviceId", "correlationId",
    "demangledName", "globalPid", "shortName"};
enum { K_DEVICE = 2, K_CORRELATION, K_NAME, K_PID, K_SHORT, K_COLUMNS };

/* Correlation ids are unique within a process. Exports without process ids use
 * 0. */
static uint64_t launch_key(const struct nsys_cell *process, int64_t correlation)
{
    uint64_t pid = process->type == NSYS_CELL_NUMBER ? PID_OF(process->number)
                                                     : 0;

    return pid << 40 | ((uint64_t) correlation & ((UINT64_C(1) << 40) - 1));
}

/* Keeps the start of the kernel for its launch's latency. Returns -1 without
 * memory; kernels beyond the limit are counted. */
static int remember_launch(struct reading *r, const struct nsys_cell *cells,
                           struct jp_error *err)
{
    int rc = 0;

    if (is_number(&cells[K_CORRELATION], 1, INT64_MAX))
        rc = nsys_launch_keep(
            &r->launches,
            launch_key(&cells[K_PID], cells[K_CORRELATION].number),
            cells[0].number);
    /* the table of launches is full */
    if (rc > 0)
        r->out->latency_left_out++;
    return rc < 0 ? no_memory(err) : 0;
}

/* Counts the processes with kernels of NCCL. */
static void note_process(struct reading *r, const struct nsys_cell *pid)
{
    uint32_t i = 0;

    if (pid->type != NSYS_CELL_NUMBER)
        return;
    while (i < r->out->processes && r->processes[i] != pid->number)
        i++;
    if (i == r->out->processes && i < NSYS_PROCESSES)
        r->processes[r->out->processes++] = pid->number;
}

static int take_kernel(void *arg, const struct nsys_cell *cells,
                       struct jp_error *err)
{
    struct reading *r = arg;
    struct nsys_profile *out = r->out;
    /* older exports only have short names */
    bool brief =
        cells[K_NAME].type != NSYS_CELL_NUMBER ||
        (r->options->short_names && cells[K_SHORT].type == NSYS_CELL_NUMBER);
    const struct nsys_meaning *m;
    uint64_t ns;

    if (!is_interval(cells) || !is_number(&cells[K_DEVICE], 0, MAX_DEVICE)) {
        out->bad_rows++;
        return 0;
    }
    ns = ns_of(cells);
    m = mean_string(r, NSYS_KERNELS, &cells[brief ? K_SHORT : K_NAME]);
    if (!m || nsys_busy_add(&r->busy, (uint32_t) cells[K_DEVICE].number,
                            cells[0].number, cells[1].number) < 0)
        return no_memory(err);
    nsys_sum_add(&out->of[NSYS_KERNELS].sums[m->line - 1], ns);
    /* the time from the first to the last kernel */
    if (!out->kernels.n || cells[0].number < r->first_kernel)
        r->first_kernel = cells[0].number;
    if (!out->kernels.n || cells[1].number > r->last_kernel)
        r->last_kernel = cells[1].number;
    count_one(&out->kernels, ns, 0);
    /* kernels whose launch may take longer than they run */
    if (ns < r->options->small_kernel_ns)
        count_one(&out->small_kernels, ns, 0);
    /* NCCL's kernels are ncclDevKernel_... or ncclKernel_... */
    if (begins(out->of[NSYS_KERNELS].names.at[m->line - 1], "nccl")) {
        count_one(&out->nccl_kernels, ns, 0);
        note_process(r, &cells[K_PID]);
    }
    return remember_launch(r, cells, err);
}

static const char *const copy_columns[] = {
    "start", "end", "deviceId", "bytes", "copyKind", "srcKind", "dstKind"};
enum { C_DEVICE = 2, C_BYTES, C_KIND, C_FROM, C_TO, C_COLUMNS };
enum {
    TO_DEVICE = 1,
    TO_HOST = 2,
    IS_PAGEABLE = 0
}; /* values of copyKind; of srcKind and dstKind */

/* Adds a copy or memset to both tables of memory, by time and by size. */
static int take_memory(struct reading *r, const struct nsys_cell *cells,
                       const char *label, struct jp_error *err)
{
    struct nsys_profile *out = r->out;
    int64_t time, size;

    time = line_of(r, NSYS_MEM_TIME, label);
    size = line_of(r, NSYS_MEM_SIZE, label);
    if (time < 0 || size < 0 ||
        nsys_busy_add(&r->busy, (uint32_t) cells[C_DEVICE].number,
                      cells[0].number, cells[1].number) < 0)
        return no_memory(err);
    nsys_sum_add(&out->of[NSYS_MEM_TIME].sums[time], ns_of(cells));
    nsys_sum_add(&out->of[NSYS_MEM_SIZE].sums[size],
                 (uint64_t) cells[C_BYTES].number);
    return 0;
}

static bool is_memory(const struct nsys_cell *cells)
{
    return is_interval(cells) && is_number(&cells[C_DEVICE], 0, MAX_DEVICE) &&
           is_number(&cells[C_BYTES], 0, INT64_MAX);
}

static int take_copy(void *arg, const struct nsys_cell *cells,
                     struct jp_error *err)
{
    struct reading *r = arg;
    const struct nsys_cell *host = NULL;
    char label[64];
    int64_t kind;

    if (!is_memory(cells) || cells[C_KIND].type != NSYS_CELL_NUMBER) {
        r->out->bad_rows++;
        return 0;
    }
    kind = cells[C_KIND].number;
    count_one(&r->out->copies, ns_of(cells), (uint64_t) cells[C_BYTES].number);
    /* the direction says which end is host memory */
    if (kind == TO_DEVICE)
        host = &cells[C_FROM];
    else if (kind == TO_HOST)
        host = &cells[C_TO];
    /* such a copy goes through a buffer of the driver */
    if (host && is_number(host, IS_PAGEABLE, IS_PAGEABLE))
        count_one(&r->out->pageable, ns_of(cells),
                  (uint64_t) cells[C_BYTES].number);
    return take_memory(r, cells, nsys_name_copy(kind, label, sizeof(label)),
                       err);
}

static int take_memset(void *arg, const struct nsys_cell *cells,
                       struct jp_error *err)
{
    struct reading *r = arg;

    if (!is_memory(cells)) {
        r->out->bad_rows++;
        return 0;
    }
    return take_memory(r, cells, "[CUDA memset]", err);
}

/* --- gaps ---------------------------------------------------------------- */

/* Keeps the NSYS_GAPS longest gaps, longest first. */
static void keep_top(struct nsys_profile *out, const struct nsys_gap *gap)
{
    uint64_t ns = (uint64_t) (gap->to_ns - gap->from_ns);
    size_t i = out->n_top;

    if (i == NSYS_GAPS) {
        if (ns <= (uint64_t) (out->top[i - 1].to_ns - out->top[i - 1].from_ns))
            return;
        i--;
    } else {
        out->n_top++;
    }
    for (; i > 0 &&
           (uint64_t) (out->top[i - 1].to_ns - out->top[i - 1].from_ns) < ns;
         i--)
        out->top[i] = out->top[i - 1];
    out->top[i] = *gap;
}

/* Finds the gaps between the busy spans of each GPU. All its activities must be
 * in r->busy. */
static void find_gaps(struct reading *r)
{
    struct nsys_profile *out = r->out;
    const struct nsys_busy *b = &r->busy;

    nsys_busy_settle(&r->busy);
    /* shorter gaps were closed to save memory */
    out->closed_ns = b->merge_ns;
    for (size_t i = 0; i < b->n; i++) {
        const struct nsys_span *s = &b->at[i], *last = i ? s - 1 : NULL;
        uint64_t ns;

        out->busy_ns = num_add(out->busy_ns, s->busy);
        out->span_ns = num_add(out->span_ns, (uint64_t) (s->end - s->start));
        /* spans are sorted by device */
        if (!last || last->device != s->device) {
            /* the first span of a device has no gap before it */
            out->devices++;
            continue;
        }
        ns = (uint64_t) (s->start - last->end);
        out->span_ns = num_add(out->span_ns, ns);
        count_one(&out->gaps, ns, 0);
        if (ns < r->options->short_gap_ns)
            count_one(&out->short_gaps, ns, 0);
        keep_top(out, &(struct nsys_gap){.device = s->device,
                                         .from_ns = last->end,
                                         .to_ns = s->start});
    }
}

/* --- calls --------------------------------------------------------------- */

static const char *const call_columns[] = {
    "start", "end", "eventClass", "globalTid", "correlationId", "nameId"};
enum { A_CLASS = 2, A_THREAD, A_CORRELATION, A_NAME, A_COLUMNS };

static const char *const enum_columns[] = {"id", "name"};

/* Remembers the ids of the event classes of CUDA's calls. */
static int take_class(void *arg, const struct nsys_cell *cells,
                      struct jp_error *err)
{
    struct reading *r = arg;
    const char *name = cells[1].type == NSYS_CELL_TEXT ? cells[1].text : "";
    const char *at = strstr(name, "CUDA_");

    (void) err;
    /* names have had several prefixes */
    if (at && (!strcmp(at, "CUDA_RUNTIME") || !strcmp(at, "CUDA_DRIVER")) &&
        cells[0].type == NSYS_CELL_NUMBER &&
        r->n_classes < sizeof(r->classes) / sizeof(*r->classes))
        r->classes[r->n_classes++] = cells[0].number;
    return 0;
}

/* The table also has rows of backtraces. Old exports have no such column. */
static bool is_call(const struct reading *r, const struct nsys_cell *class)
{
    if (class->type != NSYS_CELL_NUMBER)
        return class->type == NSYS_CELL_NONE; /* no such column */
    for (size_t i = 0; i < r->n_classes; i++)
        if (r->classes[i] == class->number)
            return true;
    return false;
}

/* For each of the longest gaps, keeps the call that overlaps most of it: what
 * the processor did while the GPU was idle. */
static void explain_gaps(struct nsys_profile *out, const char *name,
                         int64_t start, int64_t end)
{
    for (size_t i = 0; i < out->n_top; i++) {
        struct nsys_gap *g = &out->top[i];
        int64_t from = start > g->from_ns ? start : g->from_ns;
        int64_t to = end < g->to_ns ? end : g->to_ns;

        if (from < to && (uint64_t) (to - from) > g->call_ns) {
            g->call_ns = (uint64_t) (to - from);
            clean_text(name, JP_CLEAN_UTF8, g->call, sizeof(g->call));
        }
    }
}

/* Adds the time from a launch to the start of its kernel. */
static void match_launch(struct reading *r, const struct nsys_cell *cells)
{
    const struct nsys_cell none = {.type = NSYS_CELL_NONE};
    int64_t number = cells[A_CORRELATION].number;
    const struct nsys_launch *l;

    if (!is_number(&cells[A_CORRELATION], 1, INT64_MAX))
        return;
    l = nsys_launch_find(&r->launches, launch_key(&cells[A_THREAD], number));
    if (!l) /* exports whose kernels have no process id */
        l = nsys_launch_find(&r->launches, launch_key(&none, number));
    if (l && l->start >= cells[0].number)
        nsys_sum_add(&r->out->latency, (uint64_t) (l->start - cells[0].number));
}

static int take_call(void *arg, const struct nsys_cell *cells,
                     struct jp_error *err)
{
    struct reading *r = arg;
    struct nsys_profile *out = r->out;
    const struct nsys_meaning *m;
    /* an allocation in the second half of the kernels' time hints at a steady
     * state that allocates */
    int64_t middle = r->first_kernel + (r->last_kernel - r->first_kernel) / 2;
    uint64_t ns;

    /* not counted as bad: other events share the table */
    if (!is_call(r, &cells[A_CLASS]))
        return 0;
    if (!is_interval(cells)) {
        out->bad_rows++;
        return 0;
    }
    ns = ns_of(cells);
    m = mean_string(r, NSYS_API, &cells[A_NAME]);
    if (!m)
        return no_memory(err);
    nsys_sum_add(&out->of[NSYS_API].sums[m->line - 1], ns);
    /* all gaps are known by now */
    explain_gaps(out, out->of[NSYS_API].names.at[m->line - 1], cells[0].number,
                 cells[1].number);
    if (m->class == CALL_LAUNCH)
        match_launch(r, cells);
    else if (m->class == CALL_SYNC_COPY)
        count_one(&out->sync_copies, ns, 0);
    else if (m->class == CALL_SYNC)
        count_one(&out->syncs, ns, 0);
    if (m->class != CALL_ALLOCATION)
        return 0;
    count_one(&out->allocations, ns, 0);
    if (out->kernels.n && cells[0].number >= middle &&
        cells[0].number <= r->last_kernel)
        count_one(&out->late_allocations, ns, 0);
    return 0;
}

static int read_calls(struct reading *r, struct jp_error *err)
{
    if (nsys_sql_scan(r->db, "ENUM_NSYS_EVENT_CLASS", enum_columns, 2,
                      take_class, r, err) < 0)
        return -1;
    if (!r->n_classes) { /* exports from before that table existed */
        r->classes[0] = 0;
        r->classes[1] = 1;
        r->n_classes = 2;
    }
    return nsys_sql_scan(r->db, "CUPTI_ACTIVITY_KIND_RUNTIME", call_columns,
                         A_COLUMNS, take_call, r, err);
}

/* --- NVTX ---------------------------------------------------------------- */

static const char *const nvtx_columns[] = {"start", "end",    "eventType",
                                           "text",  "textId", "domainId"};
enum { N_TYPE = 2, N_TEXT, N_TEXT_ID, N_DOMAIN, N_COLUMNS };

/* The text of an event: stored directly, or by an id of StringIds. */
static const char *nvtx_text(struct reading *r, const struct nsys_cell *cells)
{
    if (cells[N_TEXT].type == NSYS_CELL_TEXT)
        return cells[N_TEXT].text;
    return cells[N_TEXT_ID].type == NSYS_CELL_NUMBER
               ? nsys_sql_text(r->db, cells[N_TEXT_ID].number)
               : NULL;
}

/* The name of a domain is an event of its own. */
static int take_domain(void *arg, const struct nsys_cell *cells,
                       struct jp_error *err)
{
    struct reading *r = arg;
    struct domain *d = &r->domains[r->n_domains];
    const char *text;

    (void) err;
    if (cells[N_TYPE].type != NSYS_CELL_NUMBER ||
        !DOMAIN_IS(cells[N_TYPE].number) ||
        cells[N_DOMAIN].type != NSYS_CELL_NUMBER ||
        r->n_domains == sizeof(r->domains) / sizeof(*r->domains) ||
        !(text = nvtx_text(r, cells)))
        return 0;
    d->id = cells[N_DOMAIN].number;
    clean_text(text, JP_CLEAN_UTF8, d->name, sizeof(d->name));
    r->n_domains++;
    return 0;
}

/* The name of a domain; "": it has none. */
static const char *domain_of(const struct reading *r,
                             const struct nsys_cell *cell)
{
    for (size_t i = 0; cell->type == NSYS_CELL_NUMBER && i < r->n_domains; i++)
        if (r->domains[i].id == cell->number)
            return r->domains[i].name;
    return "";
}

static int take_range(void *arg, const struct nsys_cell *cells,
                      struct jp_error *err)
{
    struct reading *r = arg;
    int64_t type = cells[N_TYPE].type == NSYS_CELL_NUMBER ? cells[N_TYPE].number
                                                          : -1;
    enum nsys_table table = PUSHPOP_IS(type) ? NSYS_PUSHPOP : NSYS_STARTEND;
    char name[NSYS_NAME_LEN];
    const char *text, *domain;
    int64_t line;

    if (!PUSHPOP_IS(type) && !STARTEND_IS(type))
        return 0;
    /* the program ended inside the range */
    if (cells[1].type == NSYS_CELL_NONE) {
        r->out->open_calls++;
        return 0;
    }
    if (!is_interval(cells)) {
        r->out->bad_rows++;
        return 0;
    }
    text = nvtx_text(r, cells);
    domain = domain_of(r, &cells[N_DOMAIN]);
    snprintf(name, sizeof(name), "%s%s%s", domain, *domain ? ":" : "",
             text && *text ? text : NSYS_UNKNOWN);
    line = line_of(r, table, name);
    if (line < 0)
        return no_memory(err);
    nsys_sum_add(&r->out->of[table].sums[line], ns_of(cells));
    return 0;
}

/* Reads the table twice: a domain's name may come after its ranges. */
static int read_nvtx(struct reading *r, struct jp_error *err)
{
    return nsys_sql_scan(r->db, "NVTX_EVENTS", nvtx_columns, N_COLUMNS,
                         take_domain, r, err) < 0
               ? -1
               : nsys_sql_scan(r->db, "NVTX_EVENTS", nvtx_columns, N_COLUMNS,
                               take_range, r, err);
}

/* --- about the export ---------------------------------------------------- */

/* Copies a text of the file, harmless to a terminal. */
static void copy_text(const struct nsys_cell *cell, char *buf, size_t size)
{
    if (cell->type == NSYS_CELL_TEXT)
        clean_text(cell->text, JP_CLEAN_UTF8, buf, size);
}

static int take_meta(void *arg, const struct nsys_cell *cells,
                     struct jp_error *err)
{
    struct reading *r = arg;

    (void) err;
    if (cells[0].type == NSYS_CELL_TEXT &&
        strcmp(cells[0].text, "EXPORT_SCHEMA_VERSION") == 0)
        copy_text(&cells[1], r->out->schema, sizeof(r->out->schema));
    return 0;
}

static int take_system(void *arg, const struct nsys_cell *cells,
                       struct jp_error *err)
{
    struct reading *r = arg;

    (void) err;
    if (cells[0].type == NSYS_CELL_TEXT &&
        strcasecmp(cells[0].text, "Hostname") == 0)
        copy_text(&cells[1], r->out->host, sizeof(r->out->host));
    return 0;
}

static int take_start(void *arg, const struct nsys_cell *cells,
                      struct jp_error *err)
{
    struct reading *r = arg;

    (void) err;
    if (is_number(&cells[0], 1, INT64_MAX))
        r->out->start_utc_ns = (uint64_t) cells[0].number;
    return 0;
}

/* The numbers of severities depend on the release, so they are found by
 * name. */
static int take_severity(void *arg, const struct nsys_cell *cells,
                         struct jp_error *err)
{
    struct reading *r = arg;
    const char *name = cells[1].type == NSYS_CELL_TEXT ? cells[1].text : "";

    (void) err;
    if ((strcasestr(name, "warn") || strcasestr(name, "error") ||
         strcasestr(name, "fatal")) &&
        cells[0].type == NSYS_CELL_NUMBER &&
        r->n_severities < sizeof(r->severities) / sizeof(*r->severities))
        r->severities[r->n_severities++] = cells[0].number;
    return 0;
}

/* Counts nsys' warnings; the first is kept. */
static int take_diagnostic(void *arg, const struct nsys_cell *cells,
                           struct jp_error *err)
{
    struct reading *r = arg;
    bool bad = false;

    (void) err;
    for (size_t i = 0; i < r->n_severities; i++)
        bad |= cells[0].type == NSYS_CELL_NUMBER &&
               cells[0].number == r->severities[i];
    if (bad && !r->out->warnings++)
        copy_text(&cells[1], r->out->warning, sizeof(r->out->warning));
    return 0;
}

/* --- the whole file ------------------------------------------------------ */

static const char *const name_value[] = {"name", "value"};
static const char *const utc[] = {"utcEpochNs"};
static const char *const diagnostic[] = {"severity", "text"};

/* Scans a table with r and err of the function around it. */
#define TABLE(name, columns, n, take)                                          \
    nsys_sql_scan(r->db, name, columns, n, take, r, err)

static int read_about(struct reading *r, struct jp_error *err)
{
    return TABLE("META_DATA_EXPORT", name_value, 2, take_meta) < 0 ||
                   TABLE("TARGET_INFO_SYSTEM_ENV", name_value, 2, take_system) <
                       0 ||
                   TABLE("TARGET_INFO_SESSION_START_TIME", utc, 1, take_start) <
                       0 ||
                   TABLE("ENUM_DIAGNOSTIC_SEVERITY_LEVEL", enum_columns, 2,
                         take_severity) < 0 ||
                   TABLE("DIAGNOSTIC_EVENT", diagnostic, 2, take_diagnostic) < 0
               ? -1
               : 0;
}

/* Kernels come before calls, which are matched with kernels and gaps. */
static int read_all(struct reading *r, struct jp_error *err)
{
    if (read_about(r, err) < 0 ||
        TABLE("CUPTI_ACTIVITY_KIND_KERNEL", kernel_columns, K_COLUMNS,
              take_kernel) < 0)
        return -1;
    /* ids of StringIds mean other lines in another table */
    nsys_meanings_fini(&r->meanings);
    if (TABLE("CUPTI_ACTIVITY_KIND_MEMCPY", copy_columns, C_COLUMNS,
              take_copy) < 0 ||
        TABLE("CUPTI_ACTIVITY_KIND_MEMSET", copy_columns, C_BYTES + 1,
              take_memset) < 0)
        return -1;
    find_gaps(r);
    return read_calls(r, err) < 0 || read_nvtx(r, err) < 0 ? -1 : 0;
}

/* Whether the file has at least one table of an export. */
static bool is_export(struct nsys_db *db)
{
    static const char *const tables[] = {"META_DATA_EXPORT",
                                         "CUPTI_ACTIVITY_KIND_KERNEL",
                                         "CUPTI_ACTIVITY_KIND_RUNTIME",
                                         "CUPTI_ACTIVITY_KIND_MEMCPY",
                                         "CUPTI_ACTIVITY_KIND_MEMSET",
                                         "NVTX_EVENTS",
                                         "TARGET_INFO_SESSION_START_TIME",
                                         "ANALYSIS_DETAILS"};

    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
        if (nsys_sql_has(db, tables[i]))
            return true;
    return false;
}

int nsys_read(const char *path, const struct nsys_options *options,
              struct nsys_profile *out, struct jp_error *err)
{
    /* *out is only written on success */
    struct nsys_profile profile = {0};
    struct reading r = {.options = options, .out = &profile};
    int rc = -1;

    r.db = nsys_sql_open(path, options->stop, options->arg, err);
    if (!r.db)
        return -1;
    if (!is_export(r.db)) {
        error_set(err, "%s: an SQLite file, but not an nsys export",
                  QUOTE(path));
    } else {
        rc = read_all(&r, err);
        if (rc < 0)
            error_wrap(err, "%s", QUOTE(path));
    }
    nsys_sql_close(r.db);
    nsys_meanings_fini(&r.meanings);
    free(r.busy.at);
    nsys_launches_fini(&r.launches);
    if (rc == 0)
        *out = profile;
    else
        nsys_profile_fini(&profile);
    return rc;
}

void nsys_profile_fini(struct nsys_profile *profile)
{
    for (size_t i = 0; i < NSYS_TABLES; i++) {
        nsys_names_fini(&profile->of[i].names);
        free(profile->of[i].sums);
    }
    *profile = (struct nsys_profile){0};
}
