/* clock_rows.c - write nodes/<node>/clock.jsonl: windows, clocks and failures,
 * a JSON object a line.
 *
 * The file is bounded. When it is full, thin_out rewrites it with every second
 * window and snapshot, and doubles the stride by which later ones are kept. */
#include "plugins/clock/clock_work.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/quote.h"

#define LINE_MAX_BYTES 1000
/* A clock that is set all the time gets at most this many clock_step
 * records. */
#define STEPS_MAX 1000
/* Bytes of a name in a record, with NUL. */
#define NAME_SHOWN 128
/* Beyond this, doubling the stride gains nothing. */
#define STRIDE_MAX (UINT64_C(1) << 40)

/* --- the file -------------------------------------------------------------
 */

static int failed(const struct clock_rows *rows, struct jp_error *err)
{
    return error_set(err, "%s: %s", rows->path, strerror(errno));
}

/* Opens the file for appending; anew: empties it. O_NONBLOCK keeps a FIFO that
 * somebody put there from blocking the agent. */
static int open_file(struct clock_rows *rows, bool anew, struct jp_error *err)
{
    int fd = open(rows->path,
                  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW |
                      O_NONBLOCK | (anew ? O_TRUNC : 0),
                  0600);

    rows->file = fd < 0 ? NULL : fdopen(fd, "a");
    if (rows->file)
        return 0;
    failed(rows, err);
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Whether a line is copied when the file is rewritten. Windows stay by their
 * id, so that nodes of one stride keep the same windows. Failed exchanges
 * ("probe") never stay; config and clock_step always do. */
static bool stays(struct clock_rows *rows, const char *line)
{
    char type[24];
    int64_t id;

    if (!clock_field_text(line, "type", type, sizeof(type)))
        return false;
    if (strcmp(type, "window_stats") == 0)
        return clock_field_int(line, "window_id", 0, INT64_MAX, &id) &&
               (uint64_t) id % rows->stride == 0;
    if (strcmp(type, "snapshot") == 0)
        return (!rows->halves || rows->met++ % 2 == 0);
    return strcmp(type, "probe") != 0;
}

/* Copies the lines that stay, and counts their bytes anew. */
static int copy_thinned(struct clock_rows *rows, FILE *out,
                        struct jp_error *err)
{
    FILE *in = shortline_open(rows->path);
    char line[LINE_MAX_BYTES + 2];
    ssize_t len;

    if (!in)
        return failed(rows, err);
    rows->bytes = 0;
    rows->met = 0;
    while ((len = shortline_next(in, line, sizeof(line))) > 0)
        if (stays(rows, line)) {
            fputs(line, out);
            rows->bytes += (uint64_t) len;
        }
    fclose(in);
    return 0;
}

/* Rewrites the file until half of its room is free, or doubling the stride does
 * not help any more. The stream is opened again, because the old one writes to
 * the replaced file. */
static int thin_out(struct clock_rows *rows, struct jp_error *err)
{
    struct jp_tempfile temp;

    for (int i = 0;
         i < 8 && rows->bytes > rows->most / 2 && rows->stride < STRIDE_MAX;
         i++) {
        /* The first round only drops failed exchanges. A longer stride cannot
         * be undone, so it comes later. */
        rows->halves = i > 0;
        if (rows->halves)
            rows->stride *= 2;
        if (fileio_temp_open(&temp, rows->path, err) < 0)
            return -1;
        if (copy_thinned(rows, temp.stream, err) < 0) {
            fileio_temp_abort(&temp);
            return -1;
        }
        if (fileio_temp_commit(&temp, err) < 0)
            return -1;
    }
    fclose(rows->file);
    rows->file = NULL;
    return open_file(rows, false, err);
}

/* Writes a line, after making room for it if necessary. A line that has no room
 * is dropped without an error. */
static int put(struct clock_rows *rows, struct jp_error *err,
               const char *format, ...) __attribute__((format(printf, 3, 4)));
static int put(struct clock_rows *rows, struct jp_error *err,
               const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (len < 0 || (size_t) len >= sizeof(line))
        return error_set(err, "a line of " CLOCK_FILE " is too long");
    if (!rows->file)
        return 0;
    if (rows->bytes + (uint64_t) len > rows->most && thin_out(rows, err) < 0) {
        /* stop writing for good, otherwise each line would try this again */
        if (rows->file)
            fclose(rows->file);
        rows->file = NULL;
        return error_wrap(err, "too many windows: the rest is not kept");
    }
    if (!rows->file || rows->bytes + (uint64_t) len > rows->most)
        return 0;
    /* flushed line by line: an agent that is killed loses nothing */
    if (fputs(line, rows->file) < 0 || fflush(rows->file) != 0) {
        failed(rows, err);
        clearerr(rows->file);
        return -1;
    }
    rows->bytes += (uint64_t) len;
    return 0;
}

/* A name that is safe inside a JSON string: printable ASCII without quotes and
 * backslashes. */
static const char *clean(const char *text, char buf[NAME_SHOWN])
{
    clean_text(text, JP_CLEAN_ASCII, buf, NAME_SHOWN);
    for (char *c = buf; *c; c++)
        if (*c == '"' || *c == '\\')
            *c = '?';
    return buf;
}
#define CLEAN(text) clean((text), (char[NAME_SHOWN]){""})

static const char *name_of(const struct clock_rows *rows, uint32_t node)
{
    return rows->nodes ? rows->nodes[node] : "";
}

/* --- records --------------------------------------------------------------
 */

/* A node that restarts gets another boot id, so its monotonic times cannot be
 * mixed up. "": unknown. */
static void read_boot_id(char id[48])
{
    FILE *file = shortline_open("/proc/sys/kernel/random/boot_id");

    if (!file || shortline_next(file, id, 48) <= 0)
        *id = '\0';
    id[strcspn(id, "\n")] = '\0';
    if (file)
        fclose(file);
}

static int put_config(struct clock_rows *rows, const struct clock_origin *o,
                      struct jp_error *err)
{
    char boot_id[48] = "", host[NAME_SHOWN] = "";

    read_boot_id(boot_id);
    gethostname(host, sizeof(host) - 1);
    return put(rows, err,
               "{\"v\":1,\"type\":\"config\",\"node_id\":%u,\"node\":\"%s\","
               "\"host\":\"%s\",\"nodes\":%u,\"job\":%" PRIu64
               ",\"step\":\"%s\",\"boot_id\":\"%s\","
               "\"clock\":\"CLOCK_MONOTONIC\",\"clock_source\":\"%s\","
               "\"cadence_us\":%u,\"window_ms\":%u,\"packet_spacing_us\":%u,"
               "\"snapshot_period_ms\":%u,\"interfaces\":\"%s\","
               "\"addr\":\"%s\",\"port\":%u,\"mono_ns\":%" PRId64
               ",\"real_ns\":%" PRId64 "}\n",
               o->node_id, CLEAN(o->node), CLEAN(host), o->n_nodes, o->job,
               CLEAN(o->step), CLEAN(boot_id), o->source, o->conf->cadence_us,
               o->conf->window_ms, o->conf->spacing_us, o->conf->snapshot_ms,
               CLEAN(o->conf->interfaces), CLEAN(o->address),
               (unsigned) o->port, o->look.mono_ns, o->look.real_ns);
}

int clock_rows_open(struct clock_rows *rows, const char *dir,
                    const struct clock_origin *origin, uint64_t most,
                    struct jp_error *err)
{
    *rows =
        (struct clock_rows){.most = most, .stride = 1, .nodes = origin->nodes};
    rows->path = text_format("%s/nodes/%s/" CLOCK_FILE, dir, origin->node);
    if (!rows->path)
        return error_set(err, "out of memory");
    if (open_file(rows, true, err) == 0 && put_config(rows, origin, err) == 0 &&
        clock_rows_snapshot(rows, &origin->look, err) == 0)
        return 0;
    clock_rows_close(rows);
    return -1;
}

void clock_rows_close(struct clock_rows *rows)
{
    if (rows->file)
        fclose(rows->file);
    free(rows->path);
    *rows = (struct clock_rows){.file = NULL};
}

int clock_rows_window(struct clock_rows *rows, const struct clock_window *w,
                      struct jp_error *err)
{
    char line[LINE_MAX_BYTES / 2] = "";
    /* without a line there is no alpha and no beta */
    bool known = w->status == CLOCK_OK;

    if (w->id % rows->stride != 0)
        return 0;
    if (known)
        snprintf(line, sizeof(line),
                 ",\"alpha\":%.12f,\"beta\":%" PRId64 ",\"beta_ns\":%" PRId64
                 ",\"drift_ppm\":%.6f,\"margin_ns\":%.1f,\"unc_ns\":%.1f",
                 1 + w->slope, w->beta_ns, w->beta_ns, w->slope * 1e6,
                 w->margin_ns, w->unc_ns);
    return put(
        rows, err,
        "{\"v\":1,\"type\":\"window_stats\",\"message\":\"Window %s\","
        "\"window_id\":%" PRIu64
        ",\"node_id\":%u,\"dst\":%u,\"dst_node\":\"%s\",\"start_ns\":%" PRId64
        ",\"end_ns\":%" PRId64
        "%s,\"exchanges\":%u,\"pure_fwd\":%.3f,\"pure_bwd\":%.3f,"
        "\"lost\":%u,\"notx\":%u,\"disturbed\":%u,\"rtt_min_ns\":%" PRId64
        ",\"clock_source\":\"%s\",\"status\":\"%s\"}\n",
        known ? "completed" : "without a fitted line", w->id, w->from, w->to,
        CLEAN(name_of(rows, w->to)), w->start_ns, w->end_ns, line, w->exchanges,
        w->pure_there, w->pure_back, w->lost, w->no_stamp, w->disturbed,
        w->rtt_min_ns, w->user_stamps ? "user" : "kernel_sw",
        clock_status_name(w->status));
}

int clock_rows_snapshot(struct clock_rows *rows, const struct clock_look *look,
                        struct jp_error *err)
{
    if (rows->taken++ % rows->stride != 0)
        return 0;
    return put(rows, err,
               "{\"v\":1,\"type\":\"snapshot\",\"mono_ns\":%" PRId64
               ",\"real_ns\":%" PRId64 ",\"raw_ns\":%" PRId64
               ",\"width_ns\":%" PRId64 "}\n",
               look->mono_ns, look->real_ns, look->raw_ns, look->width_ns);
}

int clock_rows_step(struct clock_rows *rows, const struct clock_look *look,
                    int64_t by_ns, struct jp_error *err)
{
    if (rows->steps++ >= STEPS_MAX)
        return 0;
    return put(rows, err,
               "{\"v\":1,\"type\":\"clock_step\",\"mono_ns\":%" PRId64
               ",\"real_ns\":%" PRId64 ",\"raw_ns\":%" PRId64
               ",\"by_ns\":%" PRId64 "}\n",
               look->mono_ns, look->real_ns, look->raw_ns, by_ns);
}

int clock_rows_failure(struct clock_rows *rows, uint32_t from, uint32_t to,
                       uint32_t seq, int64_t mono_ns, const char *why,
                       struct jp_error *err)
{
    return put(rows, err,
               "{\"v\":1,\"type\":\"probe\",\"seq\":%u,\"node_id\":%u,"
               "\"dst\":%u,\"mono_ns\":%" PRId64
               ",\"why\":\"%s\",\"status\":\"failed\"}\n",
               seq, from, to, mono_ns, why);
}
