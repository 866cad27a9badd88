/* clock_xla.c - read what a program's XLA has found out of clocks. */
#include "plugins/clock/clock_xla.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clockline.h"
#include "common/num.h"
#include "plugins/clock/clock_packet.h"

/* Until 2116, so that differences fit. */
#define LAST_NS INT64_C(4600000000000000000)
#define FAR_NS ((int64_t) 1 << 60)
#define PAIRS_LEAST 12
#define LONGEST_NS INT64_C(3600000000000)
/* Its stamps have passed through a double. */
#define ROUNDING_NS 512.0

bool clock_xla_name(const char *name, uint32_t *process)
{
    size_t len = strlen(name), head = strlen(CLOCK_XLA_PREFIX),
           tail = strlen(CLOCK_XLA_SUFFIX);
    char digits[8];
    int64_t value;

    if (len <= head + tail || len - head - tail >= sizeof(digits) ||
        strncmp(name, CLOCK_XLA_PREFIX, head) != 0 ||
        strcmp(name + len - tail, CLOCK_XLA_SUFFIX) != 0)
        return false;
    memcpy(digits, name + head, len - head - tail);
    digits[len - head - tail] = '\0';
    if (num_parse_i64(digits, 0, CLOCK_NODES_MAX, &value, NULL) < 0)
        return false;
    *process = (uint32_t) value;
    return true;
}

/* An edge of the window w, which has all else. */
static int take_edge(const char *text, const struct clock_window *of,
                     struct clock_file *file)
{
    struct clock_window w = *of;
    int64_t dst, pairs, lost;
    double alpha;

    if (!clock_field_int(text, "dst", 0, CLOCK_NODES_MAX, &dst) ||
        dst == w.from || !clock_field_real(text, "alpha", &alpha) ||
        !clock_field_int(text, "beta", -FAR_NS, FAR_NS, &w.beta_ns) ||
        !clock_field_int(text, "pairs", 0, UINT32_MAX, &pairs) ||
        !clock_field_int(text, "lost", 0, UINT32_MAX, &lost))
        return 0;
    w.to = (uint32_t) dst;
    w.slope = fabs(alpha - 1) <= CLOCKLINE_MAX_SLOPE ? alpha - 1 : alpha;
    w.exchanges = (uint32_t) pairs;
    w.lost = (uint32_t) lost;
    /* both 0: its solver found no line */
    w.status = pairs < PAIRS_LEAST || (alpha == 0 && w.beta_ns == 0) ? CLOCK_FEW
               : fabs(w.slope) > CLOCKLINE_MAX_SLOPE ? CLOCK_STEEP
                                                     : CLOCK_OK;
    if (w.status == CLOCK_OK)
        w.margin_ns = w.unc_ns = CLOCK_XLA_UNC_NS + ROUNDING_NS +
                                 fabs(w.slope) *
                                     (double) (w.end_ns - w.start_ns);
    return clock_file_append(file, &w);
}

static int take_window(char *line, struct clock_file *file)
{
    struct clock_window w = {.from = file->node_id};
    char *edges = strstr(line, "\"edges\":[");
    int64_t id, from;
    int rc = 1;

    if (!edges)
        return strstr(line, "\"meta\":true") &&
               clock_field_int(line, "node_id", file->node_id, file->node_id,
                               &from);
    *edges = '\0'; /* the names before are those of the window */
    if (!clock_field_int(line, "node_id", file->node_id, file->node_id,
                         &from) ||
        !clock_field_int(line, "window_id", 0, INT64_MAX, &id) ||
        !clock_field_int(line, "window_start_ns", 0, LAST_NS, &w.start_ns) ||
        !clock_field_int(line, "window_end_ns", w.start_ns,
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
        rc = one < rc ? one : rc; /* one that is bad makes none of the others */
        at = end ? strchr(end + 1, '{') : NULL;
    }
    if (w.end_ns > file->last_mono_ns)
        file->last_mono_ns = w.end_ns;
    return rc;
}

int clock_xla_parse(const char *text, size_t len, uint32_t process,
                    struct clock_file *file, struct jp_error *err)
{
    struct clock_file read = {.node_id = process};

    if (clock_file_lines(text, len, CLOCK_LINE_MAX, take_window, &read, err) <
        0)
        return -1;
    if (!read.n_windows) {
        clock_file_fini(&read);
        return error_set(err, "no window of process %u", process);
    }
    *file = read;
    return 0;
}
