/* topshow.c - the rows and columns of `jobprof top`.
 *
 * A look (struct livestate) becomes rows, one per rank or node; they are
 * filtered, sorted and printed. Each column has one description, whose getter
 * serves the terminal and JSON. Nothing here reads files or waits. */
#include "orchestrator/live/topshow.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/quote.h"

#define N_ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))
/* Bytes of a cell and of a line. */
#define CELL 64
#define LINE_MAX_BYTES 512
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

enum kind { KIND_TEXT, KIND_REAL };

/* One column, for the terminal and for JSON. */
struct column {
    const char *key, *head;
    int width;     /* negative: left-aligned */
    int dropped;   /* the largest are omitted first; 0: never */
    int decimals;  /* decimals of real, on a terminal and in JSON */
    double factor; /* a terminal shows JSON's value times this */
    const char *unit;
    double (*real)(const struct topshow_row *row); /* NAN: unknown */
    /* NULL: uses real. json: unabridged */
    const char *(*text)(const struct topshow_row *row, bool json,
                        char buf[CELL]);
};

/* Getters of texts. NULL: unknown, printed as "-". */
static const char *text_node(const struct topshow_row *row, bool json,
                             char buf[CELL])
{
    (void) json;
    (void) buf;
    return row->node;
}

static const char *text_state(const struct topshow_row *row, bool json,
                              char buf[CELL])
{
    if (json)
        return hung_state_words[row->state];
    snprintf(buf, CELL, "%s%s", short_states[row->state],
             /* the mark of the ranks that matter */
             row->keeps || row->late ? "!" : "");
    return buf;
}

static const char *text_func(const struct topshow_row *row, bool json,
                             char buf[CELL])
{
    (void) json;
    (void) buf;
    return *row->func ? row->func : NULL;
}

/* A communicator's name, or number. If there is no room for both, the name is
 * shown. */
static const char *text_comm(const struct topshow_row *row, bool json,
                             char buf[CELL])
{
    /* no operation, so no communicator */
    if (!*row->func)
        return NULL;
    if (!json && *row->comm_name)
        return row->comm_name;
    snprintf(buf, CELL, "0x%" PRIx64, row->hash);
    return buf;
}

/* A rank's number, or how many ranks a node's row has. */
static const char *text_rank(const struct topshow_row *row, bool json,
                             char buf[CELL])
{
    (void) json;
    if (row->ranks)
        snprintf(buf, CELL, "x%" PRIu64, row->ranks);
    else if (row->rank >= 0)
        snprintf(buf, CELL, "%" PRId64, row->rank);
    else
        return NULL;
    return buf;
}

/* Getters of numbers. */
#define REAL(name)                                                             \
    static double real_##name(const struct topshow_row *row)                   \
    {                                                                          \
        return row->name;                                                      \
    }
REAL(age_s)
REAL(data_age_s)
REAL(ops)
REAL(busbw_gbs)
REAL(caused)
REAL(share)
REAL(gpu)
REAL(mhz)
REAL(watts)

/* Sequence number and size belong to an operation in flight. */
static double real_seq(const struct topshow_row *row)
{
    return row->in_flight ? (double) row->seq : NAN;
}

static double real_bytes(const struct topshow_row *row)
{
    return row->in_flight ? (double) row->bytes : NAN;
}

static double real_pid(const struct topshow_row *row)
{
    return row->ranks ? NAN : (double) row->pid;
}

/* In the order of a line. docs/live.md has the same list. */
static const struct column columns[] = {
    {"node", "node", -13, 0, 0, 1, "", NULL, text_node},
    {"rank", "rank", 6, 0, 0, 1, "", NULL, text_rank},
    {"state", "state", -9, 0, 0, 1, "", NULL, text_state},
    {"age_s", "age", 9, 0, 1, 1, " s", real_age_s, NULL},
    {"function", "function", -14, 0, 0, 1, "", NULL, text_func},
    {"comm", "communicator", -12, 0, 0, 1, "", NULL, text_comm},
    {"ops_s", "ops/s", 8, 2, 1, 1, "", real_ops, NULL},
    {"busbw_gbs", "GB/s", 7, 3, 2, 1, "", real_busbw_gbs, NULL},
    {"caused", "caused", 6, 4, 1, 100, "%", real_caused, NULL},
    {"in_comm", "comm", 6, 5, 1, 100, "%", real_share, NULL},
    {"gpu", "GPU", 5, 6, 0, 100, "%", real_gpu, NULL},
    {"gpu_mhz", "MHz", 5, 7, 0, 1, "", real_mhz, NULL},
    {"gpu_watts", "W", 6, 8, 0, 1, "", real_watts, NULL},
    {"sequence", "sequence", 12, 9, 0, 1, "", real_seq, NULL},
    {"bytes", "bytes", 13, 10, 0, 1, "", real_bytes, NULL},
    {"pid", "pid", 9, 11, 0, 1, "", real_pid, NULL},
    {"data_age_s", "data", 8, 1, 1, 1, " s", real_data_age_s, NULL},
};

static unsigned width_of(const struct column *column)
{
    return (unsigned) abs(column->width);
}

/* Chooses the columns that fit into the width. */
static void choose(unsigned width, bool shown[N_ELEMENTS(columns)])
{
    unsigned used = 0;

    if (width < WIDTH_MIN)
        width = WIDTH_MIN;
    /* the most useful columns take their room first */
    for (int dropped = 0; dropped <= (int) N_ELEMENTS(columns); dropped++)
        for (size_t i = 0; i < N_ELEMENTS(columns); i++) {
            if (columns[i].dropped != dropped)
                continue;
            shown[i] = used + width_of(&columns[i]) + (used > 0) <= width;
            if (!shown[i]) /* nor any less useful column */
                width = used;
            else
                used += width_of(&columns[i]) + (used > 0);
        }
}

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
        .ops = (double) rank->is.rate_milli / 1000,
        .busbw_gbs = rank->busbw_gbs,
        .share = (double) rank->is.share_permille / 1000,
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
static int compare(const void *a, const void *b, void *arg)
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
static int make(struct topshow *top, const struct livestate *state,
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
    qsort_r(top->rows, top->n, sizeof(*top->rows), compare, &sort);
    return 0;
}

int topshow_make(struct topshow *top, const struct livestate *state,
                 const struct topshow_how *how)
{
    return make(top, state, how,
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

/* Formats a value for its column. Long text is truncated; a number that does
 * not fit is replaced by ">" signs. */
static void put_cell(const struct column *column, const char *text, char *line,
                     size_t *used)
{
    int width = (int) width_of(column);
    char clean[CELL];
    size_t room = LINE_MAX_BYTES - *used;
    int n;

    clean_text(text, JP_CLEAN_ASCII, clean, sizeof(clean));
    /* '~' marks the cut */
    if ((int) strlen(clean) > width)
        clean[width - 1] = '~';
    n = snprintf(line + *used, room, column->width < 0 ? "%s%-*.*s" : "%s%*.*s",
                 *used ? " " : "", width, width, clean);
    if (n > 0 && (size_t) n < room)
        *used += (size_t) n;
}

/* Appends the cell of a column to the line. */
static void format_cell(const struct column *column,
                        const struct topshow_row *row, char *line, size_t *used)
{
    char buf[CELL];
    const char *text = NULL;
    double value;

    if (column->text) {
        text = column->text(row, false, buf);
    } else if (value = column->real(row), !isnan(value)) {
        snprintf(buf, sizeof(buf), "%.*f%s%s", column->decimals,
                 value * column->factor, column->unit,
                 row->stale && column->real == real_data_age_s ? "!" : "");
        text = buf;
    }
    put_cell(column, text ? text : "-", line, used);
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
    bool shown[N_ELEMENTS(columns)];
    char line[LINE_MAX_BYTES];
    size_t used = 0, end = top->n;

    choose(how->width < sizeof(line) ? how->width : sizeof(line) - 1, shown);
    put_head(top, state, how, out);
    *line = '\0';
    for (size_t i = 0; i < N_ELEMENTS(columns); i++)
        if (shown[i])
            put_cell(&columns[i], columns[i].head, line, &used);
    put_line(how, SGR_BOLD, line, out);
    /* the rows that fit from the first one on */
    if (how->first < end && end - how->first > how->rows)
        end = how->first + how->rows;
    for (size_t r = how->first; r < end; r++) {
        used = 0;
        *line = '\0';
        for (size_t i = 0; i < N_ELEMENTS(columns); i++)
            if (shown[i])
                format_cell(&columns[i], &top->rows[r], line, &used);
        put_line(how, r == how->selected ? SGR_MARK : sgr_of(&top->rows[r]),
                 line, out);
    }
    if (end < top->n)
        put_format(how, "", out, "+%s more %s", FIG_COUNT(top->n - end),
                   top->nodes ? "nodes" : "ranks");
    if (how->reading)
        put_reading(state, how, out);
}

/* --- JSON ----------------------------------------------------------------- */

/* Writes a row, with all columns and some members that have no column. */
static void json_row(struct jp_json_stream *s, const struct topshow_row *row)
{
    char buf[CELL];

    json_stream_object(s, NULL);
    for (size_t i = 0; i < N_ELEMENTS(columns); i++) {
        const struct column *c = &columns[i];

        if (c->text == text_rank) {
            if (row->ranks)
                json_stream_count(s, "ranks", row->ranks);
            else if (row->rank >= 0)
                json_stream_int(s, "rank", row->rank);
            else
                json_stream_null(s, "rank");
        } else if (c->text) {
            json_stream_text(s, c->key, c->text(row, true, buf));
            /* shares of 1 in JSON are percent on a terminal */
        } else if (c->factor > 1) {
            json_stream_fixed(s, c->key, c->real(row), 3);
        } else {
            json_stream_fixed(s, c->key, c->real(row), c->decimals ? 3 : 0);
        }
    }
    json_stream_text(s, "comm_name", *row->func ? row->comm_name : NULL);
    json_stream_bool(s, "in_flight", row->in_flight);
    json_stream_bool(s, "keeps_others", row->keeps);
    json_stream_bool(s, "late", row->late);
    json_stream_bool(s, "stale", row->stale);
    json_stream_end_object(s);
}

/* Writes all ranks or nodes as an array, worst first. */
static int json_rows(struct jp_json_stream *s, const char *key,
                     const struct livestate *state, bool nodes)
{
    const struct topshow_how how = {.sort = TOPSHOW_WORST};
    struct topshow top;

    if (make(&top, state, &how, nodes) < 0)
        return -1;
    json_stream_array(s, key);
    for (size_t i = 0; i < top.n; i++)
        json_row(s, &top.rows[i]);
    json_stream_end_array(s);
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
