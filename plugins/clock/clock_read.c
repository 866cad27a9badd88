/* clock_read.c - read what the agents, or a program's own XLA, have found out
 * about each other's clocks.
 *
 * Both kinds of files have a JSON object a line, which is foreign input.
 * Members are found by a search for "key": in the line (find), without a JSON
 * parser: the lines are flat and there are many. each_line cuts the text
 * into lines and counts bad ones; take handles a line of an agent,
 * take_xla_window one of XLA. */
#include "plugins/clock/clock_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clockline.h"
#include "common/jsonline.h"
#include "common/lines.h"
#include "common/num.h"
#include "common/vector.h"
#include "plugins/clock/clock_packet.h"

/* Larger times and distances (36 years) are refused, so that differences
 * fit. */
#define FAR_NS ((int64_t) 1 << 60)
/* Clocks that drift apart faster than this are not believed. */
#define SLOPE_MAX 1e-2
/* Two readings of the wall clock's distance that differ by less are the
 * same. */
#define SAME_NS 1000

/* How much of an agent's file is read. */
const struct lines_limit clock_lines = {CLOCK_FILE,
                                        UINT64_C(16) << 20,
                                        1023,
                                        200000,
                                        60000,
                                        LINES_SKIP,
                                        "the agent thins its file out at 2 MB"};

static const char *const status_names[CLOCK_STATUSES] = {
    [CLOCK_OK] = "ok",
    [CLOCK_FEW] = "few",
    [CLOCK_CROSSED] = "crossed",
    [CLOCK_STEEP] = "step",
};

const char *clock_status_name(enum clock_status status)
{
    return status_names[status];
}

/* --- members --------------------------------------------------------------
 */

/* --- records --------------------------------------------------------------
 */

/* A whole number from 0 to max. *out is unchanged if there is none. */
static bool count(const char *line, const char *key, uint32_t max,
                  uint32_t *out)
{
    int64_t value;

    if (!jsonline_int(line, key, 0, max, &value))
        return false;
    *out = (uint32_t) value;
    return true;
}

/* A number from 0 to 1. */
static bool share(const char *line, const char *key, double *out)
{
    return jsonline_real(line, key, out) && *out >= 0 && *out <= 1;
}

/* A number of plausible size, of either sign. */
static bool positive(const char *line, const char *key, double *out)
{
    return jsonline_real(line, key, out) && fabs(*out) <= (double) FAR_NS;
}

/* The node's name becomes part of paths, so a slash is refused. */
static bool take_config(const char *line, struct clock_file *file)
{
    struct clock_file read = *file;
    int64_t job;

    if (!jsonline_text(line, "node", read.node, sizeof(read.node)) ||
        !*read.node || strchr(read.node, '/') ||
        !count(line, "nodes", CLOCK_NODES_MAX, &read.nodes) ||
        !count(line, "node_id", CLOCK_NODES_MAX, &read.node_id) ||
        read.node_id >= read.nodes)
        return false;
    /* what follows is optional: older agents did not write it */
    if (!jsonline_text(line, "host", read.host, sizeof(read.host)))
        *read.host = '\0';
    if (jsonline_int(line, "job", 0, INT64_MAX, &job))
        read.job = (uint64_t) job;
    count(line, "cadence_us", UINT32_MAX, &read.cadence_us);
    count(line, "window_ms", UINT32_MAX, &read.window_ms);
    count(line, "cpu_permille", 1000, &read.cpu_permille);
    *file = read;
    return true;
}

static bool status_of(const char *line, enum clock_status *status)
{
    char word[16];

    if (!jsonline_text(line, "status", word, sizeof(word)))
        return false;
    for (int i = 0; i < CLOCK_STATUSES; i++)
        if (strcmp(word, status_names[i]) == 0) {
            *status = (enum clock_status) i;
            return true;
        }
    return false;
}

/* The line of a window with status "ok": beta, alpha and their uncertainty. */
static bool take_line(const char *line, struct clock_window *w)
{
    double alpha;

    if (!jsonline_int(line, "beta_ns", -FAR_NS, FAR_NS, &w->beta_ns) ||
        !jsonline_real(line, "alpha", &alpha) || fabs(alpha - 1) > SLOPE_MAX ||
        !positive(line, "margin_ns", &w->margin_ns) ||
        !positive(line, "unc_ns", &w->unc_ns) || w->unc_ns < 0)
        return false;
    w->slope = alpha - 1;
    return true;
}

/* All members are checked before *out is written. */
static bool take_window(const char *line, struct clock_window *out)
{
    struct clock_window w = {0};
    char source[16];
    int64_t id;

    if (!jsonline_int(line, "window_id", 0, INT64_MAX, &id) ||
        !count(line, "node_id", CLOCK_NODES_MAX, &w.from) ||
        !count(line, "dst", CLOCK_NODES_MAX, &w.to) || w.from == w.to ||
        !jsonline_int(line, "start_ns", -FAR_NS, FAR_NS, &w.start_ns) ||
        !jsonline_int(line, "end_ns", w.start_ns, FAR_NS, &w.end_ns) ||
        !count(line, "exchanges", UINT32_MAX, &w.exchanges) ||
        !count(line, "lost", UINT32_MAX, &w.lost) ||
        !count(line, "notx", UINT32_MAX, &w.no_stamp) ||
        !status_of(line, &w.status))
        return false;
    if (w.status == CLOCK_OK && !take_line(line, &w))
        return false;
    w.id = (uint64_t) id;
    if (!share(line, "pure_fwd", &w.pure_there))
        w.pure_there = 0;
    if (!share(line, "pure_bwd", &w.pure_back))
        w.pure_back = 0;
    count(line, "disturbed", UINT32_MAX, &w.disturbed);
    count(line, "cadence_us", UINT32_MAX, &w.cadence_us);
    jsonline_int(line, "rtt_min_ns", 0, FAR_NS, &w.rtt_min_ns);
    w.user_stamps =
        jsonline_text(line, "clock_source", source, sizeof(source)) &&
        strcmp(source, "user") == 0;
    *out = w;
    return true;
}

/* Takes the distance of the wall clock at a moment; a distance that has not
 * changed is not stored. Returns 1 if taken, 0 for a bad record, -1 without
 * memory. is_set: the record is a clock_step. */
static int take_wall(const char *line, struct clock_file *file, bool is_set)
{
    struct clock_wall *last = file->n_walls ? &file->walls[file->n_walls - 1]
                                            : NULL;
    int64_t mono, real, ahead;

    if (!jsonline_int(line, "mono_ns", -FAR_NS, FAR_NS, &mono) ||
        !jsonline_int(line, "real_ns", -FAR_NS * 4, FAR_NS * 4, &real))
        return 0;
    ahead = real - mono;
    /* time went back: a record of another boot, or damage */
    if (last && mono < last->mono_ns)
        return 0;
    if (mono > file->last_mono_ns || !file->n_walls)
        file->last_mono_ns = mono;
    if (last && llabs(ahead - last->real_less_mono_ns) <= SAME_NS)
        return 1;
    if (VECTOR_DOUBLE(file->walls, file->n_walls) < 0)
        return -1;
    /* the first record only says where the clock is */
    file->walls[file->n_walls++] =
        (struct clock_wall){mono, ahead, is_set && last};
    return 1;
}

/* Appends a window. Returns 1, or -1 without memory. */
static int append_window(struct clock_file *file,
                         const struct clock_window *window)
{
    if (VECTOR_DOUBLE(file->windows, file->n_windows) < 0)
        return -1;
    file->windows[file->n_windows++] = *window;
    return 1;
}

/* A file only has windows of its own node. */
static int add_window(const char *line, struct clock_file *file)
{
    struct clock_window w;

    if (!take_window(line, &w) || w.from != file->node_id)
        return 0;
    return append_window(file, &w);
}

/* Takes a line of an agent. Returns 1 if it was taken or is of a kind that is
 * not needed here, 0 if it is bad, -1 without memory. */
static int take_entry(char *line, struct clock_file *file)
{
    char type[24];

    if (!*line || line[strlen(line) - 1] != '}' ||
        !jsonline_text(line, "type", type, sizeof(type)))
        return 0;
    /* only the first one: another one would be another node's */
    if (strcmp(type, "config") == 0)
        return !*file->node && take_config(line, file);
    if (!*file->node)
        return 0;
    if (strcmp(type, "window_stats") == 0)
        return add_window(line, file);
    if (strcmp(type, "snapshot") == 0)
        return take_wall(line, file, false);
    if (strcmp(type, "clock_step") == 0)
        return take_wall(line, file, true);
    return 1;
}

/* Calls `each` for each complete line; `lines`, which may be NULL with err set,
 * is closed. It returns as take does. Bad lines are counted; a last line
 * without a newline is one. Returns -1 without memory or lines: the file is
 * then released. */
static int each_line(struct jp_lines *lines,
                     int (*each)(char *line, struct clock_file *file),
                     struct clock_file *file, struct jp_error *err)
{
    const struct lines_left *left;
    char *line;
    size_t len;
    int rc;

    if (!lines)
        return -1;
    while ((rc = lines_next(lines, &line, &len, err)) > 0) {
        int one = lines_is_cut(lines) ? 0 : each(line, file);

        if (one < 0) {
            rc = error_set(err, "out of memory");
            break;
        }
        file->bad_lines += one == 0;
    }
    left = lines_left(lines);
    file->bad_lines += left->too_long + left->with_nul + left->early;
    lines_close(lines);
    if (rc < 0)
        clock_file_fini(file);
    return rc;
}

/* Reads an agent's file; takes lines over. */
static int read_agent(struct jp_lines *lines, struct clock_file *file,
                      struct jp_error *err)
{
    struct clock_file read = {.node = ""};

    if (each_line(lines, take_entry, &read, err) < 0)
        return -1;
    if (!*read.node) {
        clock_file_fini(&read);
        return error_set(err, "no record of type \"config\"");
    }
    *file = read;
    return 0;
}

int clock_file_parse(const char *text, size_t len, struct clock_file *file,
                     struct jp_error *err)
{
    return read_agent(
        lines_open_memory(text, len, CLOCK_FILE, &clock_lines, err), file, err);
}

int clock_file_read(const char *path, struct clock_file *file,
                    struct jp_error *err)
{
    struct jp_lines *lines = lines_open(path, &clock_lines, err);

    if (!lines)
        return -1;
    return read_agent(lines, file, err) < 0 ? error_wrap(err, "%s", path) : 0;
}

/* --- files of a program's XLA ---------------------------------------------
 */

/* Times of the wall clock end in 2115, so that differences fit. */
#define LAST_NS INT64_C(4600000000000000000)
#define PAIRS_LEAST 12 /* as CLOCK_LEAST of our own windows */
#define LONGEST_NS INT64_C(3600000000000)
/* XLA's stamps have passed through a double, whose steps are 256 ns today. */
#define ROUNDING_NS 512.0

/* Takes one neighbour of a window; `of` has all other members. Returns as take
 * does. */
static int take_edge(const char *text, const struct clock_window *of,
                     struct clock_file *file)
{
    struct clock_window w = *of;
    int64_t dst, pairs, lost;
    double alpha;

    if (!jsonline_int(text, "dst", 0, CLOCK_NODES_MAX, &dst) || dst == w.from ||
        !jsonline_real(text, "alpha", &alpha) ||
        !jsonline_int(text, "beta", -FAR_NS, FAR_NS, &w.beta_ns) ||
        !jsonline_int(text, "pairs", 0, UINT32_MAX, &pairs) ||
        !jsonline_int(text, "lost", 0, UINT32_MAX, &lost))
        return 0;
    w.to = (uint32_t) dst;
    /* some releases write the slope, others 1 + slope */
    w.slope = fabs(alpha - 1) <= CLOCKLINE_MAX_SLOPE ? alpha - 1 : alpha;
    w.exchanges = (uint32_t) pairs;
    w.lost = (uint32_t) lost;
    /* both 0: XLA's solver found no line */
    w.status = pairs < PAIRS_LEAST || (alpha == 0 && w.beta_ns == 0) ? CLOCK_FEW
               : fabs(w.slope) > CLOCKLINE_MAX_SLOPE ? CLOCK_STEEP
                                                     : CLOCK_OK;
    if (w.status == CLOCK_OK)
        /* the moment of beta within the window is not known */
        w.margin_ns = w.unc_ns = CLOCK_XLA_UNC_NS + ROUNDING_NS +
                                 fabs(w.slope) *
                                     (double) (w.end_ns - w.start_ns);
    return append_window(file, &w);
}

/* Takes a line of XLA, which is changed: it is cut before "edges" and at each
 * edge's end. Returns as take does. */
static int take_xla_window(char *line, struct clock_file *file)
{
    struct clock_window w = {.from = file->node_id};
    char *edges = strstr(line, "\"edges\":[");
    int64_t id, from;
    int rc = 1;

    if (!edges)
        return strstr(line, "\"meta\":true") &&
               jsonline_int(line, "node_id", file->node_id, file->node_id,
                            &from);
    *edges = '\0';
    if (!jsonline_int(line, "node_id", file->node_id, file->node_id, &from) ||
        !jsonline_int(line, "window_id", 0, INT64_MAX, &id) ||
        !jsonline_int(line, "window_start_ns", 0, LAST_NS, &w.start_ns) ||
        !jsonline_int(line, "window_end_ns", w.start_ns,
                      w.start_ns + LONGEST_NS, &w.end_ns))
        return 0;
    w.id = (uint64_t) id;
    for (char *at = strchr(edges + 1, '{'); at && rc >= 0;) {
        char *end = strchr(at, '}');
        int one = 0;

        if (end) {
            *end = '\0';
            one = take_edge(at, &w, file);
        }
        /* a bad edge makes the line bad, but the other edges are kept */
        rc = one < rc ? one : rc;
        at = end ? strchr(end + 1, '{') : NULL;
    }
    if (w.end_ns > file->last_mono_ns)
        file->last_mono_ns = w.end_ns;
    return rc;
}

/* Reads a file of XLA; takes lines over. */
static int read_xla(struct jp_lines *lines, uint32_t process,
                    struct clock_file *file, struct jp_error *err)
{
    struct clock_file read = {.node_id = process};

    if (each_line(lines, take_xla_window, &read, err) < 0)
        return -1;
    if (!read.n_windows) {
        clock_file_fini(&read);
        return error_set(err, "no window of process %u", process);
    }
    *file = read;
    return 0;
}

int clock_xla_parse(const char *text, size_t len, uint32_t process,
                    struct clock_file *file, struct jp_error *err)
{
    return read_xla(
        lines_open_memory(text, len, "XLA", &lines_limits[LINES_XLA], err),
        process, file, err);
}

int clock_xla_read(const char *path, uint32_t process, struct clock_file *file,
                   struct jp_error *err)
{
    return read_xla(lines_open(path, &lines_limits[LINES_XLA], err), process,
                    file, err);
}
