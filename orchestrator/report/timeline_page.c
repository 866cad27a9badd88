/* timeline_page.c - make the page's timeline from the strips of processes.
 *
 * timeline_page_make runs the stages in order: sources (the strips, sorted by
 * node and rank), rows, kinds, bins, the time that operations were at work,
 * cells. A strip has its own width of bins and its own clock; here all get the
 * same bins on one clock. */
#include "orchestrator/report/timeline_page.h"

#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "orchestrator/aggregate/clocks.h"
#include "orchestrator/aggregate/comms_by_id.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/aggregate/timeline.h"

enum { LEVELS = 15, GROUP_CELLS = 1 << 23 };

/* One strip of a row, with the kind of each of its keys. */
struct source {
    const struct timeline *timeline;
    const struct clockmap_node *clock; /* NULL: times are not mapped */
    uint32_t kind[STRIP_KEYS];         /* by key: index into page.kinds */
    const struct jp_process *process;
};

/* A function of a communicator: the unit in which ranks wait. */
struct group {
    const char *id, *func;
    bool barrier; /* no rank leaves it before all have entered */
};

struct build {
    struct timeline_page *page; /* what is made */
    const struct jp_result *result;
    const struct jp_processes *processes;
    struct source *sources;
    size_t n_sources;   /* sources of the rows that are shown */
    uint32_t *comms;    /* the result's, by id */
    unsigned shift;     /* a bin of the page is 1 << shift us */
    uint32_t *group_of; /* by kind */
    struct group *groups;
    size_t n_groups;
    double *work; /* [group][bin]: time in us that the operation was at work */
    double *acc;  /* [kind of the row][bin] */
};

void timeline_page_fini(struct timeline_page *page)
{
    free(page->rows);
    free(page->kinds);
    free(page->cells);
    *page = (struct timeline_page){0};
}

static void build_fini(struct build *b)
{
    free(b->sources);
    free(b->comms);
    free(b->group_of);
    free(b->groups);
    free(b->work);
    free(b->acc);
}

/* --- sources -------------------------------------------------------------- */

/* Returns the rank for sorting: processes without one come last. */
static int64_t rank_of(const struct source *s)
{
    return s->process && s->process->world_rank >= 0 ? s->process->world_rank
                                                     : INT64_MAX;
}

/* Sorts by node, rank, pid, so that a node's rows are neighbours. */
static int by_process(const void *a, const void *b)
{
    const struct source *x = a, *y = b;
    int order = strcmp(x->timeline->host, y->timeline->host);
    int64_t rank_x = rank_of(x), rank_y = rank_of(y);
    int64_t pid_x = x->timeline->pid, pid_y = y->timeline->pid;

    if (order)
        return order;
    if (rank_x != rank_y)
        return rank_x < rank_y ? -1 : 1;
    return (pid_x > pid_y) - (pid_x < pid_y);
}

static bool is_same(const struct source *a, const struct source *b)
{
    return a->timeline->pid == b->timeline->pid &&
           !strcmp(a->timeline->host, b->timeline->host);
}

/* A mixed file holds several processes, so it has no row. */
static bool has_strip(const struct timeline *t)
{
    return t->strip && t->strip->n && !t->mixed;
}

/* Lists the strips. Returns 0, or -1 when out of memory, like the other stages.
 */
static int find_sources(struct build *b)
{
    const struct jp_result *r = b->result;
    const struct clockmap *map = clocks_map(r->clocks);

    b->sources = calloc(r->n_timelines + 1, sizeof(*b->sources));
    if (!b->sources)
        return -1;
    for (size_t i = 0; i < r->n_timelines; i++) {
        const struct timeline *t = r->timelines[i];

        if (!has_strip(t))
            continue;
        /* the page shows how many operations have no kind */
        b->page->left += t->strip->left;
        b->sources[b->n_sources++] = (struct source){
            .timeline = t,
            .clock = clockmap_find(map, t->host, strlen(t->host)),
            .process =
                processes_find(b->processes, t->host, t->pid, t->instance)};
    }
    if (b->n_sources)
        qsort(b->sources, b->n_sources, sizeof(*b->sources), by_process);
    return 0;
}

/* Makes one row per process, at most TIMELINE_ROWS, and drops the sources of
 * those beyond it. */
static int make_rows(struct build *b)
{
    struct timeline_page *p = b->page;
    size_t kept = 0;

    p->rows = calloc(b->n_sources + 1, sizeof(*p->rows));
    if (!p->rows)
        return -1;
    for (size_t i = 0; i < b->n_sources; i++) {
        const struct source *s = &b->sources[i];

        /* several strips of one process are one row */
        if (i && is_same(s, s - 1)) {
            /* a source of a row that is shown */
            if (!p->rows_left)
                kept = i + 1;
            continue;
        }
        if (p->n_rows == TIMELINE_ROWS) {
            p->rows_left++;
            continue;
        }
        kept = i + 1;
        p->rows[p->n_rows++] = (struct timeline_row){
            s->timeline->host, s->timeline->pid, s->process};
    }
    b->n_sources = kept;
    return 0;
}

/* --- kinds ---------------------------------------------------------------- */

/* A key of a strip, to sort the keys of all strips. */
struct ref {
    const struct strip_key *key;
    struct source *source;
    unsigned at; /* index of the key in its source */
};

/* Sorts by communicator, function, size, so that the kinds of a group are
 * neighbours. */
static int by_kind(const void *a, const void *b)
{
    const struct strip_key *x = ((const struct ref *) a)->key;
    const struct strip_key *y = ((const struct ref *) b)->key;
    int order = strcmp(x->id, y->id);

    if (!order)
        order = strcmp(x->func, y->func);
    return order ? order : (int) x->size - (int) y->size;
}

static size_t count_keys(const struct build *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->n_sources; i++)
        n += b->sources[i].timeline->strip->n_keys;
    return n;
}

/* Of communicators with the same id, returns the one with the most ranks.
 * SIZE_MAX: there is none. */
static size_t find_comm(const struct build *b, const char *id)
{
    const struct jp_result *r = b->result;
    size_t found = SIZE_MAX;

    for (size_t i = comms_by_id_find(r, b->comms, id);
         i < r->n_comms && !strcmp(r->comms[b->comms[i]].id, id); i++)
        if (found == SIZE_MAX ||
            r->comms[b->comms[i]].n_ranks > r->comms[found].n_ranks)
            found = b->comms[i];
    return found;
}

/* Adds a kind that differs from the one before. */
static void new_kind(struct build *b, const struct strip_key *key)
{
    struct timeline_page *p = b->page;
    const struct timeline_kind *last = p->n_kinds ? &p->kinds[p->n_kinds - 1]
                                                  : NULL;
    bool same_comm = last && !strcmp(last->id, key->id);

    if (!same_comm || strcmp(last->func, key->func))
        /* the kinds of a group differ only in size */
        b->groups[b->n_groups++] = (struct group){
            key->id, key->func, !key->p2p && collective_is_barrier(key->func)};
    b->group_of[p->n_kinds] = (uint32_t) b->n_groups - 1;
    p->kinds[p->n_kinds++] = (struct timeline_kind){
        .id = key->id,
        .func = key->func,
        .size = key->size,
        .comm = same_comm ? last->comm : find_comm(b, key->id)};
}

/* Gives each key of each strip the index of its kind, and lists the groups.
 * Keys that are equal in several strips are one kind. */
static int make_kinds(struct build *b)
{
    struct timeline_page *p = b->page;
    size_t n = count_keys(b), at = 0;
    struct ref *refs = calloc(n + 1, sizeof(*refs));

    p->kinds = calloc(n + 1, sizeof(*p->kinds));
    b->group_of = calloc(n + 1, sizeof(*b->group_of));
    b->groups = calloc(n + 1, sizeof(*b->groups));
    b->comms = comms_by_id(b->result);
    if (!refs || !p->kinds || !b->group_of || !b->groups || !b->comms) {
        free(refs);
        return -1;
    }
    for (size_t i = 0; i < b->n_sources; i++)
        for (unsigned k = 0; k < b->sources[i].timeline->strip->n_keys; k++)
            refs[at++] = (struct ref){&b->sources[i].timeline->strip->keys[k],
                                      &b->sources[i], k};
    if (n)
        qsort(refs, n, sizeof(*refs), by_kind);
    /* equal keys of different strips get the same kind */
    for (size_t i = 0; i < n; i++) {
        if (!i || by_kind(&refs[i - 1], &refs[i]))
            new_kind(b, refs[i].key);
        refs[i].source->kind[refs[i].at] = (uint32_t) p->n_kinds - 1;
    }
    free(refs);
    return 0;
}

/* --- bins ----------------------------------------------------------------- */

/* Returns when a bin of the strip starts, on the common clock. */
static uint64_t edge_of(const struct source *s, uint64_t bin)
{
    return clockmap_us(s->clock, bin << s->timeline->strip->shift);
}

/* The time until which a hanging operation certainly lasted, us since 1970; 0:
 * unknown. */
static uint64_t hang_end(const struct jp_hang_op *op)
{
    uint64_t end;

    return op->since_us > 0 && op->comm >= 0 &&
                   !__builtin_add_overflow((uint64_t) op->since_us, op->age_us,
                                           &end)
               ? end
               : 0;
}

/* Chooses the page's bins: no finer than those of any strip, and as many as the
 * page holds. A hang is drawn to its end. */
static void make_bins(struct build *b)
{
    const struct jp_hang *hang = &b->result->hang;
    struct timeline_page *p = b->page;
    uint64_t from = UINT64_MAX, to = 0;

    for (size_t i = 0; i < b->n_sources; i++) {
        const struct strip *s = b->sources[i].timeline->strip;
        uint64_t first = edge_of(&b->sources[i], s->first);
        uint64_t last = edge_of(&b->sources[i], s->first + s->n);

        from = first < from ? first : from;
        to = last > to ? last : to;
        /* a strip has no details below its own width */
        b->shift = s->shift > b->shift ? s->shift : b->shift;
    }
    if (!b->n_sources || to <= from)
        return;
    for (size_t i = 0; i < hang->n_ops && i < JP_HANG_OPS; i++)
        if (hang_end(&hang->ops[i]) > to)
            to = hang_end(&hang->ops[i]);
    /* double the width until the page's limits hold */
    while (((to - 1) >> b->shift) - (from >> b->shift) >= STRIP_MAX_BINS ||
           (((to - 1) >> b->shift) - (from >> b->shift) + 1) * p->n_rows >
               TIMELINE_CELLS)
        b->shift++;
    p->span_us = to - from;
    p->width_us = UINT64_C(1) << b->shift;
    /* bins start at multiples of their width */
    p->from_us = from >> b->shift << b->shift;
    p->n_bins = (size_t) (((to - 1) >> b->shift) - (from >> b->shift)) + 1;
}

/* Adds amount, spread evenly over from..to. */
static void spread(const struct timeline_page *p, double *bins, uint64_t from,
                   uint64_t to, double amount)
{
    uint64_t end = p->from_us + p->n_bins * p->width_us;
    double rate = to > from ? amount / (double) (to - from) : 0;

    from = from < p->from_us ? p->from_us : from;
    to = to > end ? end : to;
    while (from < to) {
        size_t at = (size_t) ((from - p->from_us) / p->width_us);
        uint64_t edge = p->from_us + (at + 1) * p->width_us;

        /* up to the end of the bin, or of the range */
        edge = edge < to ? edge : to;
        bins[at] += rate * (double) (edge - from);
        from = edge;
    }
}

/* --- waits ---------------------------------------------------------------- */

/* Finds a group by binary search; groups were added in sorted order. */
static uint32_t find_group(const struct build *b, const char *id,
                           const char *func)
{
    size_t low = 0, high = b->n_groups;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(b->groups[middle].id, id);

        if (!order)
            order = strcmp(b->groups[middle].func, func);
        if (!order)
            return (uint32_t) middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return UINT32_MAX;
}

/* Computes when operations were at work. Returns 0, or -1 when out of memory.
 */
static int find_work(struct build *b)
{
    struct timeline_page *p = b->page;
    const struct jp_result *r = b->result;
    struct ops_reader reader = {.ops = r->ops};
    uint32_t comm = UINT32_MAX, coll = UINT32_MAX, group = UINT32_MAX;

    /* without complete records, or with too many groups, waits stay unknown */
    p->waits = !r->quality.waits_unknown && r->ops &&
               b->n_groups <= GROUP_CELLS / p->n_bins;
    if (!p->waits)
        return 0;
    b->work = calloc(b->n_groups * p->n_bins + 1, sizeof(*b->work));
    if (!b->work)
        return -1;
    ops_want(&reader, OPS_N | OPS_N_EXEC | OPS_EXEC | OPS_STARTS);
    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(&reader, i);
        bool whole;
        uint64_t us;

        /* neighbouring operations are alike, so the search is rarely repeated
         */
        if (op->comm != comm || op->coll != coll) {
            comm = op->comm;
            coll = op->coll;
            group = find_group(b, r->comms[comm].id, r->coll_names[coll]);
        }
        if (group == UINT32_MAX || !op->end_max_us)
            continue;
        /* the last rank to arrive is known only if all ranks have records */
        whole = op->n_exec == r->comms[comm].n_ranks;
        us = whole ? op->exec_min_us : op->exec_max_us;
        /* a damaged time must not start before 0 */
        us = us < op->end_max_us ? us : op->end_max_us;
        spread(p, b->work + group * p->n_bins, op->end_max_us - us,
               op->end_max_us, (double) us);
    }
    return 0;
}

/* --- cells ---------------------------------------------------------------- */

/* Returns a share as 0 to LEVELS, rounded. */
static uint8_t level_of(double share)
{
    double level = share * LEVELS + 0.5;

    return level >= LEVELS ? LEVELS : level > 0 ? (uint8_t) level : 0;
}

/* Lists the n kinds of one row, ascending. */
static size_t row_kinds(const struct source *from, size_t n, uint32_t *kinds)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < from[i].timeline->strip->n_keys; k++) {
            size_t at = found;

            /* an insertion sort: a row has few kinds */
            while (at > 0 && kinds[at - 1] > from[i].kind[k])
                at--;
            if (at > 0 && kinds[at - 1] == from[i].kind[k])
                continue;
            /* more kinds than a row of several strips usually has: ignore the
             * rest */
            if (found == STRIP_KEYS * 4)
                continue;
            memmove(kinds + at + 1, kinds + at, (found - at) * sizeof(*kinds));
            kinds[at] = from[i].kind[k];
            found++;
        }
    return found;
}

/* Fills a cell: the kind of most time, the share in operations, and the share
 * of waits. The kinds are sorted, so a group ends where the next kind has
 * another. */
static void put_cell(const struct build *b, const uint32_t *kinds, size_t n,
                     size_t bin, struct timeline_cell *cell)
{
    const struct timeline_page *p = b->page;
    double most = 0, sum = 0, waits = 0, in_group = 0;

    for (size_t k = 0; k < n; k++) {
        double us = b->acc[k * p->n_bins + bin];
        uint32_t group = b->group_of[kinds[k]];

        sum += us;
        in_group += us;
        if (us > most) {
            most = us;
            cell->kind = kinds[k] < TIMELINE_KINDS ? (uint16_t) (kinds[k] + 1)
                                                   : 0;
        }
        if (k + 1 < n && b->group_of[kinds[k + 1]] == group)
            continue;
        if (p->waits && b->groups[group].barrier &&
            in_group > b->work[group * p->n_bins + bin])
            waits += in_group - b->work[group * p->n_bins + bin];
        in_group = 0;
    }
    if (!(sum > 0))
        return;
    cell->busy = level_of(sum / (double) p->width_us);
    /* any operation must be visible */
    cell->busy += !cell->busy;
    cell->waits = level_of(waits / sum);
}

/* Writes one row from its n sources. */
static void put_row(struct build *b, const struct source *from, size_t n,
                    struct timeline_cell *cells)
{
    struct timeline_page *p = b->page;
    uint32_t kinds[STRIP_KEYS * 4];
    size_t n_kinds = row_kinds(from, n, kinds);

    /* only the part that this row uses */
    memset(b->acc, 0, n_kinds * p->n_bins * sizeof(*b->acc));
    for (size_t i = 0; i < n; i++) {
        const struct strip *s = from[i].timeline->strip;

        for (unsigned k = 0; k < s->n_keys; k++) {
            size_t at = 0;

            while (at < n_kinds && kinds[at] != from[i].kind[k])
                at++;
            for (unsigned bin = 0; bin < s->n && at < n_kinds; bin++)
                if (s->keys[k].us[bin]) {
                    /* a strip's bin may cover several bins of the page, or a
                     * part of one */
                    spread(p, b->acc + at * p->n_bins,
                           edge_of(&from[i], s->first + bin),
                           edge_of(&from[i], s->first + bin + 1),
                           s->keys[k].us[bin]);
                    p->kinds[from[i].kind[k]].us += s->keys[k].us[bin];
                }
        }
    }
    for (size_t bin = 0; bin < p->n_bins; bin++)
        put_cell(b, kinds, n_kinds, bin, &cells[bin]);
}

/* Fills the cells row by row, so the scratch memory is that of one row. */
static int make_cells(struct build *b)
{
    struct timeline_page *p = b->page;
    size_t row = 0;

    p->cells = calloc(p->n_rows * p->n_bins + 1, sizeof(*p->cells));
    b->acc = calloc(STRIP_KEYS * 4 * p->n_bins + 1, sizeof(*b->acc));
    if (!p->cells || !b->acc)
        return -1;
    for (size_t i = 0, n; i < b->n_sources && row < p->n_rows; i += n, row++) {
        /* the sources of one process follow each other */
        for (n = 1; i + n < b->n_sources &&
                    is_same(&b->sources[i], &b->sources[i + n]);)
            n++;
        put_row(b, &b->sources[i], n, p->cells + row * p->n_bins);
    }
    return 0;
}

/* --- operations that hang --------------------------------------------------
 */

/* The kind of a hanging operation: the one of its communicator and function, of
 * any size, as the hang's has no class. Returns n_kinds if none of them ever
 * ended. */
static size_t hang_kind(const struct build *b, const struct jp_hang_op *op)
{
    const struct timeline_page *p = b->page;

    for (size_t i = 0; i < p->n_kinds; i++)
        if (p->kinds[i].comm == (size_t) op->comm &&
            !strcmp(p->kinds[i].func, op->coll))
            return i;
    return p->n_kinds;
}

/* Fills a row from the start of an operation to its end: the rank waits in
 * it. The host may have enqueued it long before the GPU came to it, so a pause
 * between operations is none of its wait: it begins after the last of them. */
static void hold_row(struct build *b, const struct jp_hang_op *op, size_t kind,
                     struct timeline_cell *cells)
{
    const struct timeline_page *p = b->page;
    uint64_t start = (uint64_t) op->since_us, end = hang_end(op);
    size_t first = p->n_bins;

    while (first && !cells[first - 1].busy)
        first--;
    for (size_t bin = first; bin < p->n_bins; bin++) {
        uint64_t edge = p->from_us + bin * p->width_us;

        if (edge + p->width_us <= start || edge >= end)
            continue;
        cells[bin] = (struct timeline_cell){
            kind < TIMELINE_KINDS ? (uint16_t) (kind + 1) : 0, 15,
            p->waits ? 15 : 0};
    }
}

/* Draws an operation that hangs in the rows of the ranks that are in it. */
static void hold_op(struct build *b, const struct jp_hang_op *op)
{
    const struct jp_result *r = b->result;
    const struct jp_processes *processes = b->processes;
    struct timeline_page *p = b->page;
    size_t kind = hang_kind(b, op);

    if (!hang_end(op) || (size_t) op->comm >= r->n_comms || !op->states ||
        !processes || !processes->comm_start || kind == p->n_kinds)
        return;
    for (uint32_t rank = 0; rank < op->n_ranks && rank < JP_HANG_RANKS;
         rank++) {
        const struct jp_process *process;
        size_t at;

        if (op->states[rank] != JP_HANG_IN)
            continue;
        at = processes_rank(processes, r, (size_t) op->comm, rank);
        /* a rank without a record has no row */
        if (at >= r->n_ranks)
            continue;
        process = &processes->list[processes->of_rank[at]];
        for (size_t row = 0; row < p->n_rows; row++)
            if (p->rows[row].process == process)
                hold_row(b, op, kind, p->cells + row * p->n_bins);
    }
}

/* Lists the sources, the rows and the bins. Returns 0, or -1 when out of
 * memory. */
static int make_extent(struct build *b)
{
    if (find_sources(b) < 0 || make_rows(b) < 0)
        return -1;
    make_bins(b);
    /* no operation has a start and an end, so there are no rows */
    if (!b->page->n_bins)
        b->page->n_rows = 0;
    return 0;
}

int timeline_page_extent(const struct jp_result *result,
                         const struct jp_processes *processes,
                         struct timeline_page *page)
{
    struct timeline_page made = {0};
    struct build b = {.page = &made, .result = result, .processes = processes};
    int rc = make_extent(&b);

    build_fini(&b);
    if (rc < 0)
        timeline_page_fini(&made);
    else
        *page = made;
    return rc;
}

int timeline_page_make(const struct jp_result *result,
                       const struct jp_processes *processes,
                       struct timeline_page *page)
{
    struct timeline_page made = {0};
    struct build b = {.page = &made, .result = result, .processes = processes};
    int rc = make_extent(&b);

    if (rc == 0)
        rc = make_kinds(&b);
    if (rc == 0 && made.n_bins)
        rc = find_work(&b) < 0 || make_cells(&b) < 0 ? -1 : 0;
    for (size_t i = 0;
         rc == 0 && made.n_bins && i < result->hang.n_ops && i < JP_HANG_OPS;
         i++)
        hold_op(&b, &result->hang.ops[i]);
    build_fini(&b);
    if (rc < 0)
        timeline_page_fini(&made);
    else
        *page = made;
    return rc;
}
