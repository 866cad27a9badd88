/* clock_rows.c - write nodes/<node>/clock.jsonl: windows, clocks and failures,
 * a JSON object a line.
 *
 * The file is bounded. When it is full, thin_out rewrites it with every second
 * window and snapshot, and doubles the stride by which later ones are kept. */
#include "plugins/clock/clock_work.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/jsonline.h"
#include "common/lines.h"
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

/* Makes the file in that folder; an older one of that name is replaced. */
static int open_file(struct clock_rows *rows, const char *folder,
                     struct jp_error *err)
{
    if (ownfile_open(&rows->out, folder, 0) == 0 &&
        ownfile_create_anew(&rows->out, CLOCK_FILE) == 0)
        return 0;
    return failed(rows, err);
}

/* Whether a line is copied when the file is rewritten. Windows stay by their
 * id, so that nodes of one stride keep the same windows. Failed exchanges
 * ("probe") never stay; config and clock_step always do. */
static bool stays(struct clock_rows *rows, const char *line)
{
    char type[24];
    int64_t id;

    if (!jsonline_text(line, "type", type, sizeof(type)))
        return false;
    if (strcmp(type, "window_stats") == 0)
        return jsonline_int(line, "window_id", 0, INT64_MAX, &id) &&
               (uint64_t) id % rows->stride == 0;
    if (strcmp(type, "snapshot") == 0)
        return (!rows->halves || rows->met++ % 2 == 0);
    return strcmp(type, "probe") != 0;
}

/* Returns a stream at the file's beginning, or NULL. */
static FILE *stream_of(struct ownfile *file, const char *mode)
{
    int fd = ownfile_copy(file);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, mode);

    if (fd >= 0 && !stream)
        close(fd);
    return stream;
}

/* Copies the lines that stay, and counts their bytes anew. */
static int copy_thinned(struct clock_rows *rows, struct ownfile *to,
                        struct jp_error *err)
{
    int fd = ownfile_copy(&rows->out), rc;
    struct jp_lines *in =
        fd < 0 ? NULL : lines_open_fd(fd, rows->path, &clock_lines, err);
    FILE *out = in ? stream_of(to, "w") : NULL;
    uint64_t bytes = 0;
    char *line;
    size_t len;

    if (!out) {
        lines_close(in);
        return failed(rows, err);
    }
    rows->met = 0;
    while ((rc = lines_next(in, &line, &len, err)) > 0)
        if (stays(rows, line)) {
            fprintf(out, "%s\n", line);
            bytes += len + 1;
        }
    lines_close(in);
    if ((ferror(out) | fclose(out)) != 0 && rc == 0)
        rc = failed(rows, err);
    if (rc == 0)
        rows->bytes = bytes;
    return rc;
}

/* Replaces the file by one with the lines that stay. On failure it remains as
 * it is. */
static int rewrite(struct clock_rows *rows, struct jp_error *err)
{
    char *name = fileio_temp_name(CLOCK_FILE);
    struct ownfile temp = {.lost = false};
    int rc = -1;

    if (!name)
        return error_set(err, "out of memory");
    if (ownfile_open_beside(&temp, &rows->out) < 0 ||
        ownfile_create(&temp, name) < 0)
        failed(rows, err);
    else if (copy_thinned(rows, &temp, err) == 0)
        rc = ownfile_rename(&temp, CLOCK_FILE) < 0 ? failed(rows, err) : 0;
    if (rc == 0) {
        ownfile_close(&rows->out);
        rows->out = temp;
    } else {
        (void) ownfile_unlink(&temp);
        ownfile_close(&temp);
    }
    free(name);
    return rc;
}

/* Rewrites the file until half of its room is free, or doubling the stride does
 * not help any more. */
static int thin_out(struct clock_rows *rows, struct jp_error *err)
{
    for (int i = 0;
         i < 8 && rows->bytes > rows->most / 2 && rows->stride < STRIDE_MAX;
         i++) {
        /* The first round only drops failed exchanges. A longer stride cannot
         * be undone, so it comes later. */
        rows->halves = i > 0;
        if (rows->halves)
            rows->stride *= 2;
        if (rewrite(rows, err) < 0)
            return -1;
    }
    return 0;
}

/* Writes a line, after making room for it if necessary. A line that has no room
 * is dropped without an error. */
static int put_line(struct clock_rows *rows, struct jp_error *err,
                    const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int put_line(struct clock_rows *rows, struct jp_error *err,
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
    if (!rows->out.fd)
        return 0;
    if (rows->bytes + (uint64_t) len > rows->most && thin_out(rows, err) < 0) {
        /* stop writing for good, otherwise each line would try this again */
        ownfile_close(&rows->out);
        return error_wrap(err, "too many windows: the rest is not kept");
    }
    if (rows->bytes + (uint64_t) len > rows->most)
        return 0;
    /* line by line: an agent that is killed loses nothing */
    if (ownfile_write(&rows->out, line, (size_t) len, rows->bytes) < 0) {
        failed(rows, err);
        (void) ownfile_truncate(&rows->out, rows->bytes);
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
    char *text = NULL;

    *id = '\0';
    if (fileio_read("/proc/sys/kernel/random/boot_id", false, 48, &text, NULL,
                    NULL) == 0)
        snprintf(id, 48, "%.*s", (int) strcspn(text, "\n"), text);
    free(text);
}

static int put_config(struct clock_rows *rows, const struct clock_origin *o,
                      struct jp_error *err)
{
    char boot_id[48] = "", host[NAME_SHOWN] = "";

    read_boot_id(boot_id);
    gethostname(host, sizeof(host) - 1);
    return put_line(
        rows, err,
        "{\"v\":1,\"type\":\"config\",\"node_id\":%u,\"node\":\"%s\","
        "\"host\":\"%s\",\"nodes\":%u,\"job\":%" PRIu64
        ",\"step\":\"%s\",\"boot_id\":\"%s\","
        "\"clock\":\"CLOCK_MONOTONIC\",\"clock_source\":\"%s\","
        "\"cadence_us\":%u,\"window_ms\":%u,\"packet_spacing_us\":%u,"
        "\"snapshot_period_ms\":%u,\"cpu_permille\":%u,"
        "\"interfaces\":\"%s\","
        "\"addr\":\"%s\",\"port\":%u,\"mono_ns\":%" PRId64
        ",\"real_ns\":%" PRId64 "}\n",
        o->node_id, CLEAN(o->node), CLEAN(host), o->n_nodes, o->job,
        CLEAN(o->step), CLEAN(boot_id), o->source, o->conf->cadence_us,
        o->conf->window_ms, o->conf->spacing_us, o->conf->snapshot_ms,
        o->conf->cpu_permille, CLEAN(o->conf->net.interfaces),
        CLEAN(o->address), (unsigned) o->port, o->look.mono_ns,
        o->look.real_ns);
}

int clock_rows_open(struct clock_rows *rows, const char *dir,
                    const struct clock_origin *origin, uint64_t most,
                    struct jp_error *err)
{
    char *folder;
    int rc;

    *rows =
        (struct clock_rows){.most = most, .stride = 1, .nodes = origin->nodes};
    folder = text_format("%s/nodes/%s", dir, origin->node);
    rows->path = folder ? text_format("%s/" CLOCK_FILE, folder) : NULL;
    if (!rows->path) {
        free(folder);
        return error_set(err, "out of memory");
    }
    rc = open_file(rows, folder, err);
    free(folder);
    if (rc == 0 && put_config(rows, origin, err) == 0 &&
        clock_rows_snapshot(rows, &origin->look, err) == 0)
        return 0;
    clock_rows_close(rows);
    return -1;
}

void clock_rows_close(struct clock_rows *rows)
{
    ownfile_close(&rows->out);
    free(rows->path);
    *rows = (struct clock_rows){.path = NULL};
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
    return put_line(
        rows, err,
        "{\"v\":1,\"type\":\"window_stats\",\"message\":\"Window %s\","
        "\"window_id\":%" PRIu64
        ",\"node_id\":%u,\"dst\":%u,\"dst_node\":\"%s\",\"start_ns\":%" PRId64
        ",\"end_ns\":%" PRId64 "%s,\"exchanges\":%u,\"cadence_us\":%u,\"pure_"
        "fwd\":%.3f,\"pure_bwd\":%.3f,"
        "\"lost\":%u,\"notx\":%u,\"disturbed\":%u,\"rtt_min_ns\":%" PRId64
        ",\"clock_source\":\"%s\",\"status\":\"%s\"}\n",
        known ? "completed" : "without a fitted line", w->id, w->from, w->to,
        CLEAN(name_of(rows, w->to)), w->start_ns, w->end_ns, line, w->exchanges,
        w->cadence_us, w->pure_there, w->pure_back, w->lost, w->no_stamp,
        w->disturbed, w->rtt_min_ns, w->user_stamps ? "user" : "kernel_sw",
        clock_status_name(w->status));
}

int clock_rows_snapshot(struct clock_rows *rows, const struct clock_look *look,
                        struct jp_error *err)
{
    if (rows->taken++ % rows->stride != 0)
        return 0;
    return put_line(rows, err,
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
    return put_line(rows, err,
                    "{\"v\":1,\"type\":\"clock_step\",\"mono_ns\":%" PRId64
                    ",\"real_ns\":%" PRId64 ",\"raw_ns\":%" PRId64
                    ",\"by_ns\":%" PRId64 "}\n",
                    look->mono_ns, look->real_ns, look->raw_ns, by_ns);
}

int clock_rows_failure(struct clock_rows *rows, uint32_t from, uint32_t to,
                       uint32_t seq, int64_t mono_ns, const char *why,
                       struct jp_error *err)
{
    return put_line(rows, err,
                    "{\"v\":1,\"type\":\"probe\",\"seq\":%u,\"node_id\":%u,"
                    "\"dst\":%u,\"mono_ns\":%" PRId64
                    ",\"why\":\"%s\",\"status\":\"failed\"}\n",
                    seq, from, to, mono_ns, why);
}
