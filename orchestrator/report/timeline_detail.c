/* timeline_detail.c - single operations of the part of the run in which ranks
 * wait most, as a script that the page loads on demand.
 *
 * The timelines may be cut for memory, so only the bins up to find_held are
 * complete. find_window widens the window around the worst bin until DETAIL_OPS
 * operations are in it. Each operation is packed as five numbers of variable
 * length. */
#include "orchestrator/report/timeline_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_stream.h"
#include "orchestrator/aggregate/clocks.h"
#include "orchestrator/aggregate/timeline.h"
#include "orchestrator/report/sections.h"

enum {
    DETAIL_OPS = 60000, /* about 0.4 MB */
    NUMBER_BYTES = 10,  /* most bytes of a number */
    NUMBERS = 5,        /* numbers per operation */
};

struct detail {
    const struct jp_result *result;
    struct timeline_page page; /* rows, kinds and bins, as in the page */
    uint32_t *ops;   /* by bin: operations that begin there and are held */
    size_t *sorted;  /* timelines of the result, by process */
    size_t n_held;   /* number of bins of which all operations are held */
    size_t from, to; /* the window: bins [from, to) */
    unsigned char *bytes, *at;
};

/* Calls take for each operation of the row's process. Times are on the common
 * clock of all nodes. */
typedef void take_op(struct detail *d, const struct timeline *t,
                     const struct timeline_event *e, uint64_t start_us);

/* Orders timelines by process; those of a process stay in their order. */
static int by_process(const void *a, const void *b, void *arg)
{
    const struct jp_result *r = arg;
    size_t x = *(const size_t *) a, y = *(const size_t *) b;
    const struct timeline *t = r->timelines[x], *u = r->timelines[y];
    int order = strcmp(t->host, u->host);

    return t->pid != u->pid ? (t->pid < u->pid ? -1 : 1)
           : order          ? order
           : x != y         ? (x < y ? -1 : 1)
                            : 0;
}

/* Sorts the timelines: a run may have many thousands of rows. 0, or -1: no
 * memory. */
static int sort_timelines(struct detail *d)
{
    size_t n = d->result->n_timelines;

    d->sorted = calloc(n + 1, sizeof(*d->sorted));
    if (!d->sorted)
        return -1;
    for (size_t i = 0; i < n; i++)
        d->sorted[i] = i;
    qsort_r(d->sorted, n, sizeof(*d->sorted), by_process, (void *) d->result);
    return 0;
}

/* Returns the place of the first of the sorted timelines that is not before the
 * row's process. */
static size_t first_of_row(const struct detail *d,
                           const struct timeline_row *row)
{
    size_t low = 0, high = d->result->n_timelines;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct timeline *t = d->result->timelines[d->sorted[middle]];

        if (t->pid < row->pid ||
            (t->pid == row->pid && strcmp(t->host, row->host) < 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Calls take for the operations of a row. Returns 0, or -1 when out of memory.
 */
static int walk_row(struct detail *d, const struct timeline_row *row,
                    take_op *take)
{
    const struct clockmap_node *clock = clockmap_find(
        clocks_map(d->result->clocks), row->host, strlen(row->host));
    int rc = 0;

    for (size_t i = first_of_row(d, row); rc == 0 && i < d->result->n_timelines;
         i++) {
        const struct timeline *t = d->result->timelines[d->sorted[i]];
        struct timeline_reader reader;
        struct timeline_event e;

        if (t->pid != row->pid || strcmp(t->host, row->host))
            break;
        rc = timeline_reader_init(&reader, t);
        while (rc == 0 && timeline_next(&reader, &e))
            take(d, t, &e, clockmap_us(clock, e.start_us));
        timeline_reader_fini(&reader);
    }
    return rc;
}

/* Returns the bin of a time; n_bins: outside. */
static size_t bin_of(const struct detail *d, uint64_t us)
{
    const struct timeline_page *p = &d->page;

    /* before or after the page's bins */
    if (us < p->from_us || (us - p->from_us) / p->width_us >= p->n_bins)
        return p->n_bins;
    return (size_t) ((us - p->from_us) / p->width_us);
}

/* First walk: counts operations by bin. */
static void count_op(struct detail *d, const struct timeline *t,
                     const struct timeline_event *e, uint64_t start_us)
{
    size_t bin = bin_of(d, start_us);

    (void) t;
    (void) e;
    if (bin < d->page.n_bins)
        d->ops[bin]++;
}

/* Finds the time up to which all truncated timelines are complete. */
static void find_held(struct detail *d)
{
    const struct clockmap *map = clocks_map(d->result->clocks);

    d->n_held = d->page.n_bins;
    for (size_t i = 0; i < d->result->n_timelines; i++) {
        const struct timeline *t = d->result->timelines[i];
        size_t bin;

        /* complete, or without a row */
        if (!t->left || t->mixed)
            continue;
        /* a timeline that holds nothing is complete up to no bin */
        bin = t->n ? bin_of(d, clockmap_us(
                                   clockmap_find(map, t->host, strlen(t->host)),
                                   t->last_us))
                   : 0;
        d->n_held = bin < d->n_held ? bin : d->n_held;
    }
}

/* Returns a measure of the waits of all rows in a bin. */
static uint64_t waits_of(const struct timeline_page *p, size_t bin)
{
    uint64_t sum = 0;

    for (size_t row = 0; row < p->n_rows; row++) {
        const struct timeline_cell *cell = &p->cells[row * p->n_bins + bin];

        sum += (uint64_t) cell->waits * cell->busy;
    }
    return sum;
}

/* Chooses the window around the bin with the most waits, as wide as fits. */
static void find_window(struct detail *d)
{
    uint64_t most = 0, n;

    for (size_t i = 0; i < d->n_held; i++) {
        uint64_t waits = waits_of(&d->page, i);

        /* of equally bad bins, the first */
        if (i == 0 || waits > most) {
            most = waits;
            d->from = i;
        }
    }
    d->to = d->from;
    /* one bin to the right, then one to the left if it fits */
    for (n = 0; d->to < d->n_held && n + d->ops[d->to] <= DETAIL_OPS;) {
        n += d->ops[d->to++];
        if (d->from && n + d->ops[d->from - 1] <= DETAIL_OPS)
            n += d->ops[--d->from];
    }
}

/* --- packing -------------------------------------------------------------- */

/* Writes a number in groups of 7 bits, the lowest first (LEB128). */
static void put_number(struct detail *d, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *d->at++ = (unsigned char) (value | 0x80);
    *d->at++ = (unsigned char) value;
}

/* Returns the index of the kind + 1; 0 if the page does not have it. */
static size_t kind_of(const struct timeline_page *p,
                      const struct timeline_series *s, enum strip_size size)
{
    size_t low = 0, high = p->n_kinds;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct timeline_kind *kind = &p->kinds[middle];
        int order = strcmp(kind->id, s->id);

        order = order ? order : strcmp(kind->func, s->func);
        order = order ? order : (int) kind->size - (int) size;
        if (!order)
            return middle + 1;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* Writes kind, start since the start of the window, time, sequence number and
 * size. */
static void put_op(struct detail *d, const struct timeline *t,
                   const struct timeline_event *e, uint64_t start_us)
{
    const struct timeline_page *p = &d->page;
    const struct timeline_series *s = &t->series[e->series];
    size_t bin = bin_of(d, start_us);

    if (bin < d->from || bin >= d->to)
        return;
    /* + 1, because 0 ends the row */
    put_number(d, kind_of(p, s, strip_size_of(e->bytes)) + 1);
    put_number(d, start_us - p->from_us - d->from * p->width_us);
    put_number(d, e->time_us);
    put_number(d, e->sn);
    put_number(d, e->bytes);
}

/* Writes each row's operations, followed by 0. */
static int pack_detail(struct detail *d)
{
    const struct timeline_page *p = &d->page;
    size_t n = 0;

    for (size_t i = d->from; i < d->to; i++)
        n += d->ops[i];
    /* enough for the longest numbers, so put_number needs no check */
    d->bytes = d->at = malloc(n * NUMBERS * NUMBER_BYTES + p->n_rows + 1);
    if (!d->bytes)
        return -1;
    for (size_t i = 0; i < p->n_rows; i++) {
        /* second walk: the operations of the window */
        if (walk_row(d, &p->rows[i], put_op) < 0)
            return -1;
        put_number(d, 0);
    }
    return 0;
}

/* Writes the script: a call with the page's key, the window, and the packed
 * bytes. */
static int write_detail(const struct detail *d, FILE *out)
{
    const struct timeline_page *p = &d->page;

    fprintf(out,
            "// single operations for report.html's timeline\n"
            "jobprof.detail({\"page\": %llu, \"from\": %zu, \"to\": %zu}, `",
            (unsigned long long) p->from_us, d->from, d->to);
    if (timeline_put_packed(d->bytes, (size_t) (d->at - d->bytes), out) < 0)
        return -1;
    fputs("`);\n", out);
    return 0;
}

int report_write_timeline(const struct jp_report *report, FILE *out,
                          struct jp_error *err)
{
    struct detail d = {.result = report->result};
    int rc;

    errno = 0;
    /* made again: the page is written by another call */
    rc = timeline_page_make(report->result, report->processes, &d.page);
    d.ops = calloc(d.page.n_bins + 1, sizeof(*d.ops));
    if (!d.ops || sort_timelines(&d) < 0)
        rc = -1;
    for (size_t i = 0; rc == 0 && i < d.page.n_rows; i++)
        rc = walk_row(&d, &d.page.rows[i], count_op);
    if (rc == 0 && d.page.n_bins) {
        find_held(&d);
        find_window(&d);
        rc = pack_detail(&d) < 0 ? -1 : write_detail(&d, out);
    }
    free(d.bytes);
    free(d.sorted);
    free(d.ops);
    timeline_page_fini(&d.page);
    if (rc < 0)
        return error_set(err, "out of memory");
    if (fflush(out) || ferror(out))
        return error_set(err, "%s",
                         errno ? strerror(errno) : "cannot be written");
    return 0;
}
