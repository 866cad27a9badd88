/* nsys_events.c - add GPU activity from nsys exports to a trace of events.
 *
 * An export has times since the start of its session. utcEpochNs converts them
 * to the clock of its node, and the report's clocks to the clock common to all
 * nodes. Kernels and copies are thus aligned with the collectives, as precisely
 * as both conversions are known.
 *
 * First the exports are found, and the start of each is read (find_exports).
 * write_events then reads the tables of kernels, copies and memsets of each,
 * row by row, and writes an event for each row. */
#include "orchestrator/nsys/nsys_feature.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clockmap.h"
#include "common/fileio.h"
#include "common/json_stream.h"
#include "common/trace_out.h"
#include "common/vector.h"
#include "plugins/nsys/nsys_read.h"

/* levels of folders, and exports at most */
#define DEPTH 8
#define EXPORTS_MAX 4096
/* Threads of communicators use smaller numbers. */
#define FIRST_THREAD 1000000
/* threads of one process */
enum { STREAMS = 256 };

/* One export. */
struct export_file {
    char *path;
    int64_t rank; /* -1: unknown */
    char host[256];
    uint64_t start_ns; /* start of the session, unix ns, by its node's clock */
    uint64_t first_ns; /* by the common clock */
    const struct clockmap_node *clock;
};

/* All exports, by rank. */
struct exports {
    struct export_file *at;
    size_t n;
    uint64_t first_ns; /* see struct feature_found */
    size_t bad;        /* exports without a start, or damaged */
};

/* The list while it is made. */
struct finding {
    struct exports *list;
    size_t room;
    const struct clockmap *clocks;
    void (*say)(void *arg, const char *text); /* NULL: nobody is told */
    void *arg;
    bool failed;
};

/* --- find ---------------------------------------------------------------- */

/* The callback for the row with the session's start. */
static int take_start(void *arg, const struct nsys_cell *cells,
                      struct jp_error *err)
{
    struct export_file *one = arg;

    (void) err;
    if (cells[0].type == NSYS_CELL_NUMBER && cells[0].number > 0)
        one->start_ns = (uint64_t) cells[0].number;
    return 0;
}

/* Finds a host's clock by its full name, then by the part before the first
 * dot. */
static const struct clockmap_node *clock_of(const struct clockmap *clocks,
                                            const char *host)
{
    const struct clockmap_node *node =
        clocks ? clockmap_find(clocks, host, strlen(host)) : NULL;

    /* an export may have the full name, the map the short one */
    return node || !clocks ? node
                           : clockmap_find(clocks, host, strcspn(host, "."));
}

/* Whether it is an export with a start time; reads its facts. */
static bool look_at_export(struct export_file *one,
                           const struct clockmap *clocks)
{
    static const char *const start[] = {"utcEpochNs"};
    struct nsys_db *db = nsys_sql_open(one->path, NULL, NULL, NULL);

    if (!db || nsys_sql_scan(db, "TARGET_INFO_SESSION_START_TIME", start, 1,
                             take_start, one, NULL) < 0)
        one->start_ns = 0;
    /* NULL if it is no database */
    nsys_sql_close(db);
    /* the file's name has rank and host */
    one->rank = nsys_name_read(one->path, one->host, sizeof(one->host));
    one->clock = clock_of(clocks, one->host);
    one->first_ns = clockmap_ns(one->clock, one->start_ns);
    /* leaves room for additions without overflow */
    return one->start_ns > 0 && one->start_ns < INT64_MAX / 2;
}

/* Adds an export to the list, or counts it as bad. */
static void add_file(struct finding *f, const char *path)
{
    struct exports *list = f->list;
    struct export_file one = {.path = strdup(path)};

    /* no memory */
    if (!one.path || VECTOR_ROOM(list->at, list->n + 1, f->room) < 0) {
        free(one.path);
        f->failed = true;
    } else if (list->n < EXPORTS_MAX && look_at_export(&one, f->clocks)) {
        list->at[list->n++] = one;
        if (one.first_ns < list->first_ns)
            list->first_ns = one.first_ns;
    } else {
        char text[PATH_MAX + 80];

        snprintf(text, sizeof(text),
                 list->n < EXPORTS_MAX
                     ? "%s: no start of a session, so its kernels have no time"
                     : "%s: more exports than can be read",
                 one.path);
        if (f->say)
            f->say(f->arg, text);
        free(one.path);
        list->bad++;
    }
}

static bool is_export(const char *name)
{
    size_t n = strlen(name);

    return n > 7 && !strcmp(name + n - 7, ".sqlite");
}

/* A callback of type treewalk_see. */
static int see_file(void *arg, const struct treewalk_entry *entry)
{
    struct finding *f = arg;

    if (entry->what == TREEWALK_FILE && is_export(entry->name))
        add_file(f, entry->path);
    return f->failed ? -1 : 0;
}

/* Compares by rank (unknown ranks last), then by path. */
static int by_rank(const void *a, const void *b)
{
    const struct export_file *x = a, *y = b;
    uint64_t i = (uint64_t) x->rank, k = (uint64_t) y->rank;

    return i != k ? i < k ? -1 : 1 : strcmp(x->path, y->path);
}

static void free_exports(struct export_file *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(at[i].path);
    free(at);
}

static int find_exports(struct feature_found *found, const char *const *inputs,
                        size_t n, const struct clockmap *clocks,
                        void (*say)(void *arg, const char *text), void *arg)
{
    struct exports list = {.first_ns = UINT64_MAX};
    struct finding f = {
        .list = &list, .clocks = clocks, .say = say, .arg = arg};

    *found = (struct feature_found){.n = 0};
    for (size_t i = 0; !f.failed && nsys_sql_built() && i < n; i++) {
        int fd = open(inputs[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd >= 0)
            f.failed = treewalk(fd, inputs[i], DEPTH, see_file, &f) < 0;
        else if (errno == ENOTDIR && is_export(inputs[i]))
            add_file(&f, inputs[i]);
    }
    if (f.failed) {
        free_exports(list.at, list.n);
        return -1;
    }
    if (list.n > 1)
        qsort(list.at, list.n, sizeof(*list.at), by_rank);
    *found = (struct feature_found){.n = list.n,
                                    .first_ns = list.first_ns,
                                    .bad = list.bad,
                                    .list = list.at};
    return 0;
}

static void free_found(struct feature_found *found)
{
    free_exports(found->list, found->n);
    *found = (struct feature_found){.n = 0};
}

/* --- events -------------------------------------------------------------- */

/* A CUDA stream of a device. */
struct stream {
    int64_t device, stream;
};

/* The state while one export is written. */
struct writer {
    struct trace_out *events;
    const struct export_file *of;
    struct nsys_db *db;
    uint64_t origin_ns, pid;
    struct stream streams[STREAMS];
    size_t n_streams;
};

/* The thread of a stream, which is named when it is new. Beyond the limit,
 * streams share the last one. */
static uint64_t thread_of(struct writer *w, int64_t device, int64_t stream)
{
    char text[96];
    size_t i = 0;

    /* few streams: a loop will do */
    while (i < w->n_streams &&
           (w->streams[i].device != device || w->streams[i].stream != stream))
        i++;
    if (i == STREAMS)
        return FIRST_THREAD + STREAMS - 1;
    if (i == w->n_streams) {
        w->streams[w->n_streams++] = (struct stream){device, stream};
        snprintf(text, sizeof(text), "GPU %" PRId64 ", stream %" PRId64, device,
                 stream);
        trace_out_name(w->events, "thread_name", w->pid, FIRST_THREAD + i,
                       text);
    }
    return FIRST_THREAD + i;
}

/* The columns that are read; a table without one of them has no value there. */
enum { START, END, DEVICE, STREAM, SHORT, NAME, BYTES, KIND, COLUMNS };
static const char *const columns[] = {"start",    "end",       "deviceId",
                                      "streamId", "shortName", "demangledName",
                                      "bytes",    "copyKind"};

/* A cell as a number; -1 if it is none. All numbers here are positive. */
static int64_t number(const struct nsys_cell *cell)
{
    return cell->type == NSYS_CELL_NUMBER ? cell->number : -1;
}

/* A kernel's short name, or else its long one. Cells have indexes of the
 * export's table of texts. */
static const char *title(struct writer *w, const struct nsys_cell *cells,
                         const char *missing)
{
    const char *text = NULL;

    if (cells[SHORT].type == NSYS_CELL_NUMBER)
        text = nsys_sql_text(w->db, cells[SHORT].number);
    if (!text && cells[NAME].type == NSYS_CELL_NUMBER)
        text = nsys_sql_text(w->db, cells[NAME].number);
    return text ? text : missing;
}

/* Converts a time of the session to ns since the trace's zero. */
static int64_t place(const struct writer *w, int64_t ns)
{
    uint64_t at = clockmap_ns(w->of->clock, w->of->start_ns + (uint64_t) ns);

    return (int64_t) (at - w->origin_ns);
}

/* Writes an event of a row. Rows with impossible times are left out. */
static void put_event(struct writer *w, const struct nsys_cell *cells,
                      const char *kind, const char *text)
{
    int64_t start = number(&cells[START]), end = number(&cells[END]), at;
    struct jp_json_stream s;
    uint64_t thread;

    if (start < 0 || end < start || end > INT64_MAX / 4)
        return;
    at = place(w, start);
    thread = thread_of(w, number(&cells[DEVICE]), number(&cells[STREAM]));
    trace_out_begin(w->events, &s, "X", w->pid, thread);
    json_stream_text(&s, "name", text);
    json_stream_text(&s, "cat", kind);
    json_stream_milli(&s, "ts", at);
    json_stream_milli(&s, "dur", end - start);
    if (number(&cells[BYTES]) >= 0) {
        json_stream_object(&s, "args");
        json_stream_count(&s, "bytes", (uint64_t) number(&cells[BYTES]));
        json_stream_end_object(&s);
    }
    json_stream_close(&s, NULL);
}

/* The callbacks for the rows of the three tables. */
static int take_kernel(void *arg, const struct nsys_cell *cells,
                       struct jp_error *err)
{
    struct writer *w = arg;

    put_event(w, cells, "kernel", title(w, cells, "<unknown>"));
    return ferror(w->events->out) ? error_set(err, "output failed") : 0;
}

static int take_copy(void *arg, const struct nsys_cell *cells,
                     struct jp_error *err)
{
    struct writer *w = arg;
    char label[64];

    put_event(w, cells, "copy",
              nsys_name_copy(number(&cells[KIND]), label, sizeof(label)));
    return ferror(w->events->out) ? error_set(err, "output failed") : 0;
}

static int take_set(void *arg, const struct nsys_cell *cells,
                    struct jp_error *err)
{
    struct writer *w = arg;

    put_event(w, cells, "copy", "[CUDA memset]");
    return ferror(w->events->out) ? error_set(err, "output failed") : 0;
}

/* Returns -1 if the export is damaged. */
static int write_one(struct writer *w)
{
    int rc = -1;

    /* a missing table is no error, a damaged one is */
    w->db = nsys_sql_open(w->of->path, NULL, NULL, NULL);
    w->n_streams = 0;
    if (w->db &&
        nsys_sql_scan(w->db, "CUPTI_ACTIVITY_KIND_KERNEL", columns, COLUMNS,
                      take_kernel, w, NULL) == 0 &&
        nsys_sql_scan(w->db, "CUPTI_ACTIVITY_KIND_MEMCPY", columns, COLUMNS,
                      take_copy, w, NULL) == 0 &&
        nsys_sql_scan(w->db, "CUPTI_ACTIVITY_KIND_MEMSET", columns, COLUMNS,
                      take_set, w, NULL) == 0)
        rc = 0;
    nsys_sql_close(w->db);
    return rc;
}

static size_t write_events(const struct feature_found *found,
                           uint64_t origin_ns, const bool *is_named,
                           size_t n_named, uint64_t free_pid,
                           struct trace_out *events)
{
    const struct export_file *list = found->list;
    struct writer *w = calloc(1, sizeof(*w));
    size_t bad = 0;

    for (size_t i = 0; w && i < found->n && !ferror(events->out); i++) {
        const struct export_file *one = &list[i];
        bool known = one->rank >= 0 && (uint64_t) one->rank < free_pid;
        char text[320];

        *w = (struct writer){
            .events = events, .of = one, .origin_ns = origin_ns};
        w->pid = known ? (uint64_t) one->rank : free_pid + i;
        /* named unless a recording has named it */
        if (!known || (size_t) one->rank >= n_named || !is_named[one->rank]) {
            if (known)
                snprintf(text, sizeof(text), "rank %" PRId64 " %s", one->rank,
                         one->host);
            else
                snprintf(text, sizeof(text), "nsys %zu", i + 1);
            trace_out_name(w->events, "process_name", w->pid, 0, text);
        }
        bad += write_one(w) < 0;
    }
    free(w);
    return w ? bad : found->n;
}

const struct feature_events nsys_events = {
    .about = "Kernels and copies come from exports of nsys (.sqlite).",
    .find = find_exports,
    .write = write_events,
    .fini = free_found};
