/* topshow.c - the rows and columns of `jobprof top`.
 *
 * A look (struct livestate) becomes rows, one per rank or node; they are
 * filtered, sorted and printed (orchestrator/table/). Nothing here reads files
 * or waits. */
#include "orchestrator/live/topshow.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/quote.h"
#include "orchestrator/table/table.h"

#define LINE_MAX_BYTES 512 /* of a line */
/* Smaller widths are replaced by this one. */
#define WIDTH_MIN 20

const char *const topshow_sort_words[TOPSHOW_N_SORTS] = {"worst", "node", "age",
                                                         "caused", "ops"};

/* Short forms for a column; JSON uses hung_state_words. */
static const char *const short_states[HUNG_N_STATES] = {
    [HUNG_UNKNOWN] = "unknown", [HUNG_MOVES] = "works",
    [HUNG_WAITS] = "waits",     [HUNG_OUTSIDE] = "outside",
    [HUNG_COMPUTES] = "busy",   [HUNG_READS] = "files",
    [HUNG_MUTE] = "silent",     [HUNG_DISK] = "disk",
    [HUNG_TRACED] = "debugger", [HUNG_STOPPED] = "stopped",
    [HUNG_GONE] = "gone",       [HUNG_ENDED] = "ended",
    [HUNG_NO_END] = "no end",
};

/* Order of the states; higher is worse. */
static const int severities[HUNG_N_STATES] = {
    [HUNG_GONE] = 90,    [HUNG_STOPPED] = 80,  [HUNG_DISK] = 70,
    [HUNG_MUTE] = 60,    [HUNG_TRACED] = 50,   [HUNG_WAITS] = 20,
    [HUNG_READS] = 16,   [HUNG_COMPUTES] = 14, [HUNG_OUTSIDE] = 12,
    [HUNG_UNKNOWN] = 11, [HUNG_MOVES] = 10,    [HUNG_ENDED] = 0,
    [HUNG_NO_END] = 18,
};
/* KEEPS: others wait for the rank in a hang. LATE: others wait for it again and
 * again. ODD: the least that key f shows. */
enum { SEVERITY_KEEPS = 100, SEVERITY_LATE = 40, SEVERITY_ODD = 12 };

/* --- columns -------------------------------------------------------------- */

/* A rank's number, or how many ranks a node's row has. */
JP_GETTER(rank_text, topshow_row, {
    if (at->ranks)
        snprintf(v->buf, sizeof(v->buf), "x%" PRIu64, at->ranks);
    else
        snprintf(v->buf, sizeof(v->buf), "%" PRId64, at->rank);
    value_text(v, at->ranks || at->rank >= 0 ? v->buf : NULL);
})
JP_GETTER(ranks, topshow_row, value_count(v, at->ranks);
          if (!at->ranks) v->type = JP_VALUE_ABSENT)
JP_GETTER(rank, topshow_row, value_signed(v, at->rank);
          if (at->ranks) v->type = JP_VALUE_ABSENT)
JP_GETTER(state, topshow_row, value_text(v, hung_state_words[at->state]))
JP_GETTER(short_state, topshow_row, {
    snprintf(v->buf, sizeof(v->buf), "%s%s", short_states[at->state],
             /* the mark of the ranks that matter */
             at->keeps || at->late ? "!" : "");
    value_text(v, v->buf);
})
/* a communicator belongs to an operation */
JP_GETTER(hash, topshow_row, {
    snprintf(v->buf, sizeof(v->buf), "0x%" PRIx64, at->hash);
    value_text(v, *at->func ? v->buf : NULL);
})
/* if there is no room for both, the name is shown */
JP_GETTER(comm, topshow_row, get_hash(row, v);
          if (*at->func && *at->comm_name) value_text(v, at->comm_name))
JP_GETTER(comm_name, topshow_row,
          value_text(v, *at->func ? at->comm_name : NULL))
JP_GETTER(pid, topshow_row, v->type = JP_VALUE_INT; v->number = at->pid;
          if (at->ranks) v->type = JP_VALUE_UNKNOWN)
JP_GETTER(data_age, topshow_row, {
    snprintf(v->buf, sizeof(v->buf), "%.1f s%s", at->data_age_s,
             at->stale ? "!" : "");
    value_text(v, isnan(at->data_age_s) ? NULL : v->buf);
})

#define FIELD(member) JP_FIELD(struct topshow_row, member)
/* key, kind, flags, places in JSON, on a page and on a terminal; then the
 * heading and the width there, and when it is left out. docs/live.md has the
 * same list. */
static const struct jp_column columns[] = {
    {"node", JP_COL_TEXT, 0, 1, 0, 1, "node", .width = 13, FIELD(node)},
    {"rank", JP_COL_FIGURE, .text = 2, .title = "rank", .width = 6, .drops = 16,
     .get = get_rank_text},
    {"ranks", JP_COL_COUNT, 0, 2, .get = get_ranks},
    {"rank", JP_COL_RANK, 0, 3, .get = get_rank},
    {"state", JP_COL_TEXT, .text = 3, .title = "state", .width = 9, .drops = 15,
     .get = get_short_state},
    {"state", JP_COL_WORD, 0, 4, .get = get_state},
    {"age_s", JP_COL_FIXED, JP_FIXED, 5, 0, 4, "age", .width = 9, .drops = 14,
     .decimals = 1, .json_decimals = 3, .unit = " s", FIELD(age_s)},
    {"function", JP_COL_TEXT, 0, 6, 0, 5, "function", .width = 14, .drops = 13,
     FIELD(func), JP_IF(struct topshow_row, func)},
    {"comm", JP_COL_TEXT, .text = 6, .title = "communicator", .width = 12,
     .drops = 12, .get = get_comm},
    {"comm", JP_COL_ID, 0, 7, .get = get_hash},
    {"ops_s", JP_COL_FIXED, JP_FIXED, 8, 0, 7, "ops/s", .width = 8, .drops = 10,
     .decimals = 1, .json_decimals = 3, FIELD(ops)},
    {"busbw_gbs", JP_COL_FIXED, JP_FIXED, 9, 0, 8, "GB/s", .width = 7,
     .drops = 9, .decimals = 2, .json_decimals = 3, FIELD(busbw_gbs)},
    {"caused", JP_COL_FIXED, JP_FIXED, 10, 0, 9, "caused", .width = 6,
     .drops = 8, .decimals = 1, .json_decimals = 3, .unit = "%", FIELD(caused)},
    {"in_comm", JP_COL_FIXED, JP_FIXED, 11, 0, 10, "comm", .width = 6,
     .drops = 7, .decimals = 1, .json_decimals = 3, .unit = "%", FIELD(share)},
    {"gpu", JP_COL_FIXED, JP_FIXED, 12, 0, 11, "GPU", .width = 5, .drops = 6,
     .json_decimals = 3, .unit = "%", FIELD(gpu)},
    {"gpu_mhz", JP_COL_FIXED, JP_FIXED, 13, 0, 12, "MHz", .width = 5,
     .drops = 5, FIELD(mhz)},
    {"gpu_watts", JP_COL_FIXED, JP_FIXED, 14, 0, 13, "W", .width = 6,
     .drops = 4, FIELD(watts)},
    {"sequence", JP_COL_RANK, 0, 15, 0, 14, "sequence", .width = 12, .drops = 3,
     FIELD(seq), JP_IF(struct topshow_row, in_flight)},
    /* all digits: a size that moves is hard to compare */
    {"bytes", JP_COL_RANK, 0, 16, 0, 15, "bytes", .width = 13, .drops = 2,
     FIELD(bytes), JP_IF(struct topshow_row, in_flight)},
    {"pid", JP_COL_PID, 0, 17, 0, 16, "pid", .width = 9, .drops = 1,
     .get = get_pid},
    {"data_age_s", JP_COL_FIGURE, .text = 17, .title = "data", .width = 8,
     .drops = 11, .get = get_data_age},
    {"data_age_s", JP_COL_FIXED, JP_FIXED, 18, .json_decimals = 3,
     FIELD(data_age_s)},
    {"comm_name", JP_COL_TEXT, 0, 19, .get = get_comm_name},
    {"in_flight", JP_COL_BOOL, 0, 20, FIELD(in_flight)},
    {"keeps_others", JP_COL_BOOL, 0, 21, FIELD(keeps)},
    {"late", JP_COL_BOOL, 0, 22, FIELD(late)},
    {"stale", JP_COL_BOOL, 0, 23, FIELD(stale)},
};
#undef FIELD
static const struct jp_table table = {JP_COLUMNS(columns),
                                      .row_size = sizeof(struct topshow_row),
                                      .max_json = SIZE_MAX};

/* --- rows ----------------------------------------------------------------- */

/* Returns value * part; a negative value is unknown. */
static double figure(int32_t value, double part)
{
    return value < 0 ? NAN : value * part;
}

/* Fills a rank's row. */
static void fill_rank(struct topshow_row *row, const struct livestate *state,
                      const struct livestate_rank *rank)
{
    const struct livestate_node *node = &state->nodes[rank->node];

    *row = (struct topshow_row){
        .node = node->node,
        .rank = rank->rank,
        .pid = rank->is.pid,
        .state = rank->is.state,
        .keeps = rank->keeps,
        .late = rank->late,
        .stale = node->stale,
        .in_flight = rank->in_flight,
        .age_s = rank->age_ns < 0 ? NAN : (double) rank->age_ns / 1e9,
        .data_age_s = (double) node->age_ms / 1000,
        .func = rank->func,
        .comm_name = rank->comm,
        .hash = rank->hash,
        .seq = rank->seq,
        .bytes = rank->bytes,
        .ops = rank->is.unrated ? NAN : (double) rank->is.rate_milli / 1000,
        .busbw_gbs = rank->busbw_gbs,
        .share = rank->is.unrated ? NAN
                                  : (double) rank->is.share_permille / 1000,
        .caused = rank->caused,
        .gpu = figure(rank->is.gpu_permille, 0.001),
        .mhz = figure(rank->is.gpu_mhz, 1),
        .watts = figure(rank->is.gpu_watts, 1),
        .severity = rank->keeps  ? SEVERITY_KEEPS
                    : rank->late ? SEVERITY_LATE
                                 : severities[rank->is.state]};
}

/* The larger value; NAN is ignored. */
static double most_of(double a, double b)
{
    return isnan(a) ? b : isnan(b) || a > b ? a : b;
}

/* The smaller value; NAN is ignored. */
static double least_of(double a, double b)
{
    return isnan(a) ? b : isnan(b) || a < b ? a : b;
}

/* The sum; NAN is ignored. */
static double sum_of(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

/* A mean of the known values. */
struct mean {
    double sum;
    unsigned n;
};

static void mean_add(struct mean *mean, double value)
{
    if (!isnan(value)) {
        mean->sum += value;
        mean->n++;
    }
}

static double mean_of(const struct mean *mean)
{
    return mean->n ? mean->sum / mean->n : NAN;
}

/* Whether a's operation is older. Unknown ages are the youngest. */
static bool is_older(const struct topshow_row *a, const struct topshow_row *b)
{
    return !isnan(a->age_s) && (isnan(b->age_s) || a->age_s > b->age_s);
}

/* Fills a node's row: the worst rank's state and the oldest operation.
 * Operations per second and watts are sums, the clock is the slowest one,
 * shares are means. */
static void fill_node(struct topshow_row *row, const struct livestate *state,
                      size_t at)
{
    const struct livestate_node *node = &state->nodes[at];
    struct mean bus = {0}, share = {0}, gpu = {0};
    struct topshow_row one, oldest;

    *row = (struct topshow_row){.node = node->node,
                                .rank = -1,
                                .pid = -1,
                                .state = HUNG_UNKNOWN,
                                .stale = node->stale,
                                .age_s = NAN,
                                .data_age_s = (double) node->age_ms / 1000,
                                .func = "",
                                .comm_name = "",
                                .ops = node->n_ranks ? 0 : NAN,
                                .busbw_gbs = NAN,
                                .share = NAN,
                                .caused = NAN,
                                .gpu = NAN,
                                .mhz = NAN,
                                .watts = NAN,
                                .severity = -1};
    /* if the node has no rank, the row stays without an operation */
    oldest = *row;
    for (size_t i = 0; i < node->n_ranks; i++) {
        fill_rank(&one, state, &state->ranks[node->first + i]);
        if (one.severity > row->severity) {
            row->severity = one.severity;
            row->state = one.state;
        }
        /* the oldest operation is where the node waits */
        if (i == 0 || is_older(&one, &oldest))
            oldest = one;
        row->keeps |= one.keeps;
        row->late |= one.late;
        /* unknown if that of a rank is */
        row->ops += one.ops;
        row->caused = most_of(row->caused, one.caused);
        row->mhz = least_of(row->mhz, one.mhz);
        row->watts = sum_of(row->watts, one.watts);
        mean_add(&bus, one.busbw_gbs);
        mean_add(&share, one.share);
        mean_add(&gpu, one.gpu);
    }
    /* also those that the snapshot has no room for */
    row->ranks = node->n_ranks + node->left_ranks;
    row->in_flight = oldest.in_flight;
    row->age_s = oldest.age_s;
    row->func = oldest.func;
    row->comm_name = oldest.comm_name;
    row->hash = oldest.hash;
    row->seq = oldest.seq;
    row->bytes = oldest.bytes;
    row->busbw_gbs = mean_of(&bus);
    row->share = mean_of(&share);
    row->gpu = mean_of(&gpu);
}

/* Compares for qsort: larger values first, unknown values last. */
static int by_real(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a < b) - (a > b);
}

/* Whole seconds of an age; 0 for unknown ones. */
static double whole(double seconds)
{
    return isnan(seconds) || seconds < 1 ? 0 : floor(seconds);
}

/* Orders by node (n2 before n10), rank and process. */
static int by_place(const struct topshow_row *x, const struct topshow_row *y)
{
    int order = strverscmp(x->node, y->node);

    if (order)
        return order;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Orders by severity. Ignores ages below one second, which change with each
 * look, so that rows keep their places. */
static int by_worst(const struct topshow_row *x, const struct topshow_row *y)
{
    if (x->severity != y->severity)
        return x->severity > y->severity ? -1 : 1;
    return by_real(whole(x->age_s), whole(y->age_s));
}

/* Compares for qsort_r; arg is the order. */
static int compare_ranks(const void *a, const void *b, void *arg)
{
    const struct topshow_row *x = a, *y = b;
    int order = 0;

    switch (*(const enum topshow_sort *) arg) {
    case TOPSHOW_WORST:
        order = by_worst(x, y);
        break;
    case TOPSHOW_AGE:
        order = by_real(x->age_s, y->age_s);
        break;
    case TOPSHOW_CAUSED:
        order = by_real(x->caused, y->caused);
        break;
    case TOPSHOW_OPS:
        order = by_real(y->ops, x->ops);
        break;
    default:
        break;
    }
    /* equal rows keep their places from look to look */
    return order ? order : by_place(x, y);
}

/* Whether the row passes the filters. */
static bool is_shown(const struct topshow_row *row,
                     const struct topshow_how *how)
{
    return (!how->node || !strcmp(row->node, how->node)) &&
           (!how->odd || row->severity >= SEVERITY_ODD || row->stale);
}

/* Makes the rows of ranks or nodes. Returns -1 without memory. */
static int make_rows(struct topshow *top, const struct livestate *state,
                     const struct topshow_how *how, bool nodes)
{
    size_t n = nodes ? state->n_nodes : state->n_ranks;
    enum topshow_sort sort = how->sort;

    *top = (struct topshow){.rows = calloc(n + 1, sizeof(*top->rows)),
                            .nodes = nodes};
    if (!top->rows)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (nodes)
            fill_node(&top->rows[top->n], state, i);
        else
            fill_rank(&top->rows[top->n], state, &state->ranks[i]);
        top->n += is_shown(&top->rows[top->n], how);
    }
    qsort_r(top->rows, top->n, sizeof(*top->rows), compare_ranks, &sort);
    return 0;
}

int topshow_make(struct topshow *top, const struct livestate *state,
                 const struct topshow_how *how)
{
    return make_rows(top, state, how,
                     /* one node is always shown by rank */
                     !how->node && state->n_ranks > TOPSHOW_RANKS_MAX);
}

void topshow_fini(struct topshow *top)
{
    free(top->rows);
    *top = (struct topshow){.n = 0};
}

/* --- text ----------------------------------------------------------------- */

#define SGR_BOLD "\033[1m"
#define SGR_DIM "\033[2m"
#define SGR_MARK "\033[7m"
#define SGR_RED "\033[31m"
#define SGR_YELLOW "\033[33m"
#define SGR_GREEN "\033[32m"
#define SGR_OFF "\033[0m"

/* Prints a line of at most width columns in plain ASCII, one byte per
 * column. */
static void put_line(const struct topshow_how *how, const char *sgr,
                     const char *text, FILE *out)
{
    char clean[LINE_MAX_BYTES];
    unsigned width = how->width < WIDTH_MIN ? WIDTH_MIN : how->width;
    int n;

    clean_text(text, JP_CLEAN_ASCII, clean, sizeof(clean));
    n = (int) strlen(clean);
    n = n > (int) width ? (int) width : n;
    /* no padding at the end of a line */
    while (n > 0 && clean[n - 1] == ' ')
        n--;
    fprintf(out, "%s%.*s%s%s%s\n", how->colour ? sgr : "", n,
            clean, /* raw: cleaned */
            how->colour && *sgr ? SGR_OFF : "", how->screen ? "\033[K" : "",
            how->screen ? "\r" : "");
}

static void put_format(const struct topshow_how *how, const char *sgr,
                       FILE *out, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Prints a formatted line. */
static void put_format(const struct topshow_how *how, const char *sgr,
                       FILE *out, const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    put_line(how, sgr, line, out);
}

/* Prints a row of the table, or its headings. Without memory the line is empty.
 */
static void put_row(const struct topshow_how *how, const char *sgr,
                    const struct table_view *view, size_t index, FILE *out)
{
    char *text = NULL;
    size_t len = 0;
    FILE *line = open_memstream(&text, &len);

    if (line) {
        table_view_row(view, index, line);
        fclose(line);
    }
    put_line(how, sgr, text ? text : "", out);
    free(text);
}

/* Returns the colour of the verdict. */
static const char *sgr_of_word(enum livestate_word word)
{
    return word <= LIVESTATE_TROUBLE ? SGR_BOLD SGR_RED
           : word == LIVESTATE_SLOW  ? SGR_BOLD SGR_YELLOW
           : word == LIVESTATE_OK    ? SGR_BOLD SGR_GREEN
                                     : SGR_BOLD;
}

/* Returns the colour of a row. */
static const char *sgr_of(const struct topshow_row *row)
{
    return row->stale                               ? SGR_DIM
           : row->keeps                             ? SGR_RED
           : row->severity > severities[HUNG_WAITS] ? SGR_YELLOW
                                                    : "";
}

/* The age of the oldest snapshot of a running node. */
static double oldest_data(const struct livestate *state)
{
    uint64_t most = 0;

    for (size_t i = 0; i < state->n_nodes; i++)
        if (!state->nodes[i].last && state->nodes[i].age_ms > most)
            most = state->nodes[i].age_ms;
    return (double) most / 1000;
}

/* Prints the verdict's sentence in two lines, wrapped at a blank. */
static void put_text(const struct livestate *state,
                     const struct topshow_how *how, FILE *out)
{
    size_t width = how->width < WIDTH_MIN ? WIDTH_MIN : how->width,
           len = strlen(state->text), cut = len;
    char first[LINE_MAX_BYTES];

    if (width >= sizeof(first))
        width = sizeof(first) - 1;
    if (len > width) {
        /* the last blank that fits; a word that is too long is cut */
        for (cut = width; cut > 0 && state->text[cut] != ' ';)
            cut--;
        cut = cut ? cut : width;
    }
    snprintf(first, sizeof(first), "%.*s", (int) cut, state->text);
    put_line(how, "", first, out);
    put_line(how, "", state->text + cut + (state->text[cut] == ' '), out);
}

/* Prints the lines above the table: verdict, step, sizes and age; then the
 * sentence. */
static void put_head(const struct topshow *top, const struct livestate *state,
                     const struct topshow_how *how, FILE *out)
{
    char waited[40] = "", silent[64] = "", left[64] = "";

    if (state->word <= LIVESTATE_SUSPECT)
        snprintf(waited, sizeof(waited), " for %.0f s",
                 (double) state->waited_ms / 1000);
    if (state->n_silent && state->word != LIVESTATE_ENDED)
        snprintf(silent, sizeof(silent), ", no data of %s node%s",
                 FIG_COUNT(state->n_silent), plural(state->n_silent));
    if (state->left_ranks)
        snprintf(left, sizeof(left), ", %s more not shown",
                 FIG_COUNT(state->left_ranks));
    put_format(how, sgr_of_word(state->word), out,
               "%s%s  step %s: %s rank%s%s on %s node%s%s; data of the last "
               "%.1f s",
               livestate_words[state->word], waited, how->job,
               FIG_COUNT(state->n_ranks), plural(state->n_ranks), left,
               FIG_COUNT(state->n_nodes), plural(state->n_nodes), silent,
               oldest_data(state));
    put_text(state, how, out);
    (void) top;
}

/* Prints one diagnostic line about what the look has read. */
static void put_reading(const struct livestate *state,
                        const struct topshow_how *how, FILE *out)
{
    uint64_t left_comms = 0;
    uint32_t stale = 0;

    /* sums over the nodes' snapshots */
    for (size_t i = 0; i < state->n_nodes; i++) {
        left_comms += state->nodes[i].left_comms;
        stale += state->nodes[i].stale;
    }
    put_format(how, "", out,
               "%s snapshots, %s stale, %s torn; the rule: %s; left out: %s "
               "ranks, %s communicators",
               FIG_COUNT(state->n_nodes), FIG_COUNT(stale),
               FIG_COUNT(state->n_bad), hung_phase_words[state->stuck.phase],
               FIG_COUNT(state->left_ranks), FIG_COUNT(left_comms));
}

void topshow_print(const struct topshow *top, const struct livestate *state,
                   const struct topshow_how *how, FILE *out)
{
    const struct table_source source = {.rows = top->rows, .n = top->n};
    unsigned width = how->width < WIDTH_MIN ? WIDTH_MIN : how->width;
    struct table_view view;
    size_t end = top->n;

    table_view_init(&view, &table, &source, TABLE_ON_SCREEN,
                    width < LINE_MAX_BYTES ? width : LINE_MAX_BYTES - 1);
    put_head(top, state, how, out);
    put_row(how, SGR_BOLD, &view, SIZE_MAX, out);
    /* the rows that fit from the first one on */
    if (how->first < end && end - how->first > how->rows)
        end = how->first + how->rows;
    for (size_t r = how->first; r < end; r++)
        put_row(how, r == how->selected ? SGR_MARK : sgr_of(&top->rows[r]),
                &view, r, out);
    if (end < top->n)
        put_format(how, "", out, "+%s more %s", FIG_COUNT(top->n - end),
                   top->nodes ? "nodes" : "ranks");
    if (how->reading)
        put_reading(state, how, out);
}

/* --- JSON ----------------------------------------------------------------- */

/* Writes all ranks or nodes as an array, worst first. */
static int json_rows(struct jp_json_stream *s, const char *key,
                     const struct livestate *state, bool nodes)
{
    const struct topshow_how how = {.sort = TOPSHOW_WORST};
    struct topshow top;

    if (make_rows(&top, state, &how, nodes) < 0)
        return -1;
    table_write_json(
        s, key, &table,
        &(const struct table_source){.rows = top.rows, .n = top.n});
    topshow_fini(&top);
    return 0;
}

int topshow_json(struct jp_json_stream *s, const struct livestate *state)
{
    const struct hung_cause *cause = &state->stuck.cause;
    /* class and waiting time only describe a hang */
    bool stuck = state->word <= LIVESTATE_SUSPECT;

    json_stream_object(s, "verdict");
    json_stream_text(s, "word", livestate_words[state->word]);
    json_stream_text(s, "text", state->text);
    json_stream_text(s, "class",
                     !stuck ? NULL
                     : state->stall.phase != HUNG_QUIET
                         ? LIVESTALL_CLASS
                         : hung_class_words[cause->class]);
    json_stream_known(s, "waited_ms", stuck, state->waited_ms);
    json_stream_end_object(s);
    json_stream_count(s, "silent_nodes", state->n_silent);
    json_stream_count(s, "late_ranks", state->n_late);
    json_stream_count(s, "left_ranks", state->left_ranks);
    json_stream_count(s, "torn", state->n_bad);
    json_stream_bool(s, "in_flight_told", !state->n_logs);
    json_stream_known(s, "batch_ms", state->batch_ms > 0, state->batch_ms);
    if (json_rows(s, "nodes", state, true) < 0)
        return -1;
    return json_rows(s, "ranks", state, false);
}
