/* busy.c - when a process had an operation in flight: unites the intervals of
 * its records, and makes the result's rows of busy times.
 *
 * busy.h has the idea. busy_add keeps the last intervals (spans) and moves
 * older ones into slots, so memory is bounded. busy_join puts the pieces of a
 * file together. busy_result gives all processes slices of one width. */
#include "orchestrator/aggregate/busy.h"

#include <stdlib.h>
#include <string.h>

#include "common/clockmap.h"
#include "common/vector.h"
#include "orchestrator/aggregate/result_build.h"

struct busy *busy_create(bool piece)
{
    struct busy *busy = calloc(1, sizeof(*busy));

    if (busy)
        busy->slots.us = calloc(BUSY_SLOTS, sizeof(*busy->slots.us));
    if (busy && busy->slots.us) {
        busy->piece = piece;
        return busy;
    }
    free(busy);
    return NULL;
}

static void spans_fini(struct busy_spans *spans)
{
    free(spans->at);
    *spans = (struct busy_spans){0};
}

void busy_destroy(struct busy *busy)
{
    if (!busy)
        return;
    spans_fini(&busy->last);
    spans_fini(&busy->head);
    free(busy->slots.us);
    free(busy);
}

/* ------------------------------------------------------------------ slots */

/* Makes slots 1 << shift us wide, which is not less than they are. Slots begin
 * at multiples of their width, so an odd first slot is the second half of its
 * new slot. */
static void widen_slots(struct busy_slots *s, unsigned shift)
{
    for (; s->shift < shift; s->shift++) {
        unsigned odd = s->first & 1, n = s->n ? (s->n + odd + 1) / 2 : 0;

        for (unsigned i = 0; i < n; i++) {
            unsigned from = 2 * i; /* in halves of the new slots */
            uint64_t us = 0;

            if (from >= odd)
                us += s->us[from - odd];
            if (from + 1 - odd < s->n)
                us += s->us[from + 1 - odd];
            s->us[i] = us;
        }
        memset(s->us + n, 0, (s->n - n) * sizeof(*s->us));
        s->n = n;
        s->first /= 2;
    }
}

/* Extends the slots to these numbers. Makes them wider if there would be too
 * many. */
static void cover(struct busy_slots *s, uint64_t from, uint64_t to)
{
    uint64_t first = from >> s->shift, last = to >> s->shift;

    /* the range with the slots that are there */
    while (s->n) {
        first = from >> s->shift;
        last = to >> s->shift;
        first = first < s->first ? first : s->first;
        last = last > s->first + s->n - 1 ? last : s->first + s->n - 1;
        if (last - first < BUSY_SLOTS)
            break;
        widen_slots(s, s->shift + 1); /* until they fit */
    }
    /* no slots yet: only their width has to be found */
    while (!s->n && last - first >= BUSY_SLOTS) {
        s->shift++;
        first = from >> s->shift;
        last = to >> s->shift;
    }
    if (s->n && first < s->first)
        memmove(s->us + (s->first - first), s->us, s->n * sizeof(*s->us));
    if (s->n && first < s->first)
        memset(s->us, 0, (s->first - first) * sizeof(*s->us));
    s->first = first;
    s->n = (unsigned) (last - first + 1);
}

/* Adds the time from..to to the slots; to > from. A slot gets what lies within
 * it. */
static void busy_slots_add(struct busy_slots *s, uint64_t from, uint64_t to)
{
    cover(s, from, to - 1);
    while (from < to) {
        uint64_t number = from >> s->shift, edge = (number + 1) << s->shift;
        uint64_t end = edge < to ? edge : to;

        s->us[number - s->first] += end - from;
        from = end;
    }
}

bool busy_slots_good(const struct busy_slots *s)
{
    /* times up to 2^55 us, with which sums cannot overflow */
    if (s->n > BUSY_SLOTS || s->shift > 44 ||
        s->first > (UINT64_MAX >> 9 >> s->shift))
        return false;
    for (unsigned i = 0; i < s->n; i++)
        if (s->us[i] > UINT64_C(1) << s->shift)
            return false;
    return true;
}

/* ------------------------------------------------------------------ spans */

static int by_start(const void *a, const void *b)
{
    const struct busy_span *x = a, *y = b;

    return x->from < y->from ? -1 : x->from > y->from;
}

/* Sorts by start. Spans come nearly in order, so inserting each is quick.
 * Others are left to qsort after 8 moves a span. */
static void sort_spans(struct busy_span *at, size_t n)
{
    size_t moves = 0;

    for (size_t i = 1; i < n; i++) {
        const struct busy_span span = at[i];
        size_t k = i;

        for (; k > 0 && at[k - 1].from > span.from; k--)
            at[k] = at[k - 1];
        at[k] = span;
        moves += i - k;
        if (moves > 8 * n) {
            qsort(at, n, sizeof(*at), by_start);
            return;
        }
    }
}

/* Sorts the spans and unites those that touch. */
static void unite(struct busy_spans *spans)
{
    size_t n = 0;

    if (!spans->n)
        return;
    sort_spans(spans->at, spans->n);
    for (size_t i = 1; i < spans->n; i++) {
        if (spans->at[i].from > spans->at[n].to)
            spans->at[++n] = spans->at[i];
        else if (spans->at[i].to > spans->at[n].to)
            spans->at[n].to = spans->at[i].to;
    }
    spans->n = n + 1;
}

/* Appends a span, or extends the last one. 0, or -1: no memory. */
static int push(struct busy_spans *spans, uint64_t from, uint64_t to)
{
    /* most overlap or touch the one before */
    if (spans->n && from >= spans->at[spans->n - 1].from &&
        from <= spans->at[spans->n - 1].to) {
        if (to > spans->at[spans->n - 1].to)
            spans->at[spans->n - 1].to = to;
        return 0;
    }
    if (VECTOR_ROOM(spans->at, spans->n + 1, spans->room) < 0)
        return -1;
    spans->at[spans->n++] = (struct busy_span){from, to};
    return 0;
}

/* Drops the first n spans. */
static void drop(struct busy_spans *spans, size_t n)
{
    spans->n -= n;
    if (spans->n)
        memmove(spans->at, spans->at + n, spans->n * sizeof(*spans->at));
}

/* Moves the first n of the united spans into the slots. */
static void retire(struct busy *b, size_t n)
{
    struct busy_spans *last = &b->last;

    for (size_t i = 0; i < n; i++)
        busy_slots_add(&b->slots, last->at[i].from, last->at[i].to);
    if (n)
        b->high_us = last->at[n - 1].to; /* end of what the slots hold */
    drop(last, n);
}

/* Makes room for another span: unites those that touch, and moves the older
 * half into the slots. Of a piece, the first ones are kept apart, because the
 * piece before may reach into them. 0, or -1: no memory. */
static int make_room(struct busy *b)
{
    size_t head = 0;

    unite(&b->last);
    if (b->last.n < BUSY_KEPT / 2)
        return 0;
    if (b->piece && !b->head.n) {
        for (; head < BUSY_HEAD; head++)
            if (push(&b->head, b->last.at[head].from, b->last.at[head].to) < 0)
                return -1;
        b->low_us = b->last.at[head - 1].to;
        drop(&b->last, head);
        b->high_us = b->low_us;
    }
    retire(b, b->last.n / 2);
    return 0;
}

/* Adds a span. What lies between low_us and high_us is in the slots already:
 * the part of the span there is cut and counted as clipped. 0, or -1. */
static int add_span(struct busy *b, uint64_t from, uint64_t to)
{
    if (b->last.n >= BUSY_KEPT && make_room(b) < 0)
        return -1;
    if (from < b->high_us) {
        uint64_t low = to < b->low_us ? to : b->low_us;

        /* a piece's head begins before its slots */
        if (from < b->low_us && push(&b->head, from, low) < 0)
            return -1;
        b->clipped += to > b->low_us;
        from = b->high_us;
    }
    return from < to ? push(&b->last, from, to) : 0;
}

/* Whether the record is of the same process as the others. The first record
 * sets the process. */
static bool is_same(struct busy *b, const struct record *r)
{
    const char *host = r->host.len ? r->host.text : "";

    if (!b->timed) {
        memcpy(b->host, host, r->host.len);
        b->host[r->host.len] = '\0';
        b->pid = r->pid;
        b->instance = r->instance;
    }
    return r->pid == b->pid && r->instance == b->instance &&
           b->host[r->host.len] == '\0' &&
           memcmp(b->host, host, r->host.len) == 0;
}

int busy_add(struct busy *b, const struct record *r)
{
    uint64_t from = r->start_us;
    uint64_t to = r->end_us > from ? r->end_us : from + 1;

    /* the GPU's time, counted back from the end, begins before what the host
     * saw */
    if (!r->exec_unknown && r->exec_us < to && to - r->exec_us < from)
        from = to - r->exec_us;
    /* no real time; the record counts as neither timed nor untimed */
    if (to - from > RECORD_MAX_TIME_US || r->host.len > RECORD_MAX_HOST)
        return 0;
    b->mixed |= !is_same(b, r);
    b->timed++;
    if (!b->from_us || from < b->from_us)
        b->from_us = from;
    if (to > b->to_us)
        b->to_us = to;
    return add_span(b, from, to);
}

/* ----------------------------------------------------------------- pieces */

/* Moves all kept spans into the slots, cut at low_us, where the slots of the
 * next piece begin. */
static void settle_below(struct busy *b, uint64_t low_us)
{
    size_t n = 0;

    unite(&b->last);
    for (; n < b->last.n && b->last.at[n].from < low_us; n++)
        if (b->last.at[n].to > low_us) {
            b->last.at[n].to = low_us;
            b->clipped++;
        }
    b->clipped += b->last.n > n;
    retire(b, n);
    b->last.n = 0;
}

/* Adds the figures of the next piece: process, counts, first and last time. */
static void join_facts(struct busy *b, const struct busy *next)
{
    if (!b->timed) {
        memcpy(b->host, next->host, sizeof(b->host));
        b->pid = next->pid;
        b->instance = next->instance;
    }
    b->mixed |= next->mixed || (next->timed && (next->pid != b->pid ||
                                                strcmp(next->host, b->host)));
    b->timed += next->timed;
    b->clipped += next->clipped;
    if (next->timed && (!b->from_us || next->from_us < b->from_us))
        b->from_us = next->from_us;
    if (next->to_us > b->to_us)
        b->to_us = next->to_us;
}

/* Adds the slots of the next piece. A slot's time is put at its start, which is
 * exact, because the slots here are as wide or wider. */
static void join_slots(struct busy *b, const struct busy_slots *next)
{
    widen_slots(&b->slots, next->shift);
    for (unsigned i = 0; i < next->n; i++) {
        uint64_t at = (next->first + i) << next->shift;

        if (next->us[i])
            busy_slots_add(&b->slots, at, at + next->us[i]);
    }
}

/* Adds the spans of the next piece, in order. 0, or -1: no memory. */
static int join_spans(struct busy *b, struct busy_spans *next)
{
    unite(next);
    for (size_t i = 0; i < next->n; i++)
        if (add_span(b, next->at[i].from, next->at[i].to) < 0)
            return -1;
    return 0;
}

/* Moves the head into the slots: no piece comes before this one. */
static void settle_head(struct busy *b)
{
    unite(&b->head);
    for (size_t i = 0; i < b->head.n; i++)
        busy_slots_add(&b->slots, b->head.at[i].from, b->head.at[i].to);
    spans_fini(&b->head);
    b->low_us = 0;
    b->piece = false;
}

int busy_join(struct busy *b, struct busy *next)
{
    /* in the order of time: the head of next, its slots, its last spans */
    settle_head(b);
    join_facts(b, next);
    if (join_spans(b, &next->head) < 0)
        return -1;
    if (next->high_us) {
        settle_below(b, next->low_us);
        join_slots(b, &next->slots);
        b->high_us = next->high_us;
    }
    return join_spans(b, &next->last);
}

void busy_end(struct busy *b)
{
    settle_head(b);
    unite(&b->last);
    retire(b, b->last.n);
    spans_fini(&b->last);
    b->high_us = 0;
}

/* --- rows of a result: each process' busy time, in slices that all share -- */

#define MAX_SLICES 200    /* of the result */
#define UNTIMED_SHARE 100 /* one record in so many may have no start or end */

/* Frees the busy times of the files: of thousands, they take as much memory as
 * all timelines. */
static void free_busy(struct build *b)
{
    for (size_t i = 0; i < b->walk->n_logs; i++) {
        struct source_facts *f = &b->files[i];

        busy_destroy(f->busy);
        f->busy = NULL;
        for (size_t k = 0; k < f->n_also; k++) {
            busy_destroy(f->also[k].busy);
            f->also[k].busy = NULL;
        }
    }
    result_give_back();
}

/* The file of a process, and its records without start or end. */
struct source {
    const struct busy *busy; /* its busy time */
    uint64_t untimed;
};

static int by_process(const void *a, const void *b)
{
    const struct source *x = a, *y = b;
    int order = strcmp(x->busy->host, y->busy->host);

    if (order)
        return order;
    if (x->busy->pid != y->busy->pid)
        return x->busy->pid < y->busy->pid ? -1 : 1;
    return (x->busy->instance > y->busy->instance) -
           (x->busy->instance < y->busy->instance);
}

/* The files with times, sorted by process; *n is their number. The caller frees
 * the list. NULL: no memory. */
static struct source *list_sources(struct build *b, size_t *n)
{
    size_t room = b->walk->n_logs + 1;
    struct source *list;

    for (size_t i = 0; i < b->walk->n_logs; i++)
        room += b->files[i].n_also;
    list = calloc(room, sizeof(*list));
    for (size_t i = 0; list && i < b->walk->n_logs; i++) {
        const struct source_facts *f = &b->files[i];

        if (f->busy && f->busy->timed)
            list[(*n)++] = (struct source){f->busy, f->unstamped};
        else
            b->result->busy_silent += f->unstamped > 0;
        for (size_t k = 0; k < f->n_also; k++)
            if (f->also[k].busy && f->also[k].busy->timed)
                list[(*n)++] =
                    (struct source){f->also[k].busy, f->also[k].unstamped};
    }
    if (list && *n)
        qsort(list, *n, sizeof(*list), by_process);
    return list;
}

static bool is_told(const struct jp_busy *row)
{
    return row->state == JP_BUSY_TOLD;
}

/* Makes a row for each process. at[i] is the file of row i. The states give the
 * reason why a busy time is unknown. 0, or -1: no memory. */
static int make_rows(struct jp_result *r, const struct source *list, size_t n,
                     const struct busy **at)
{
    for (size_t i = 0; i < n; i++) {
        const struct busy *busy = list[i].busy;
        struct jp_busy *row = r->n_busy ? &r->busy[r->n_busy - 1] : NULL;

        if (i && by_process(&list[i - 1], &list[i]) == 0) {
            row->state = JP_BUSY_SEVERAL; /* their times may overlap */
            row->timed += busy->timed;
            row->untimed += list[i].untimed;
            continue;
        }
        at[r->n_busy] = busy;
        row = &r->busy[r->n_busy++];
        *row = (struct jp_busy){.host = strdup(busy->host),
                                .pid = busy->pid,
                                .instance = busy->instance,
                                .timed = busy->timed,
                                .untimed = list[i].untimed,
                                .state = busy->mixed     ? JP_BUSY_MIXED
                                         : busy->clipped ? JP_BUSY_ORDER
                                         : list[i].untimed >
                                                 busy->timed / UNTIMED_SHARE
                                             ? JP_BUSY_UNTIMED
                                             : JP_BUSY_TOLD};
        if (!row->host)
            return -1;
    }
    return 0;
}

/* The clock of the process' node. NULL: its times are not mapped. */
static const struct clockmap_node *clock_of(const struct build *b,
                                            const struct busy *busy)
{
    return clockmap_find(b->clocks, busy->host, strlen(busy->host));
}

/* Start of a process' slot k on the common clock. clock: of its node. */
static uint64_t slot_begin(const struct clockmap_node *clock,
                           const struct busy *busy, unsigned k)
{
    return clockmap_us(clock, (busy->slots.first + k) << busy->slots.shift);
}

/* Finds the narrowest common width of slices that needs few enough of them, and
 * the range that they cover. Returns the logarithm of the width. */
static unsigned find_slices(const struct build *b, const struct busy *const *at)
{
    struct jp_result *r = b->result;
    uint64_t first = UINT64_MAX, last = 0;
    unsigned shift = 0;

    for (size_t i = 0; i < r->n_busy; i++)
        if (is_told(&r->busy[i]) && at[i]->slots.n) {
            const struct busy_slots *s = &at[i]->slots;
            const struct clockmap_node *clock = clock_of(b, at[i]);
            uint64_t begin = slot_begin(clock, at[i], 0);
            uint64_t end = slot_begin(clock, at[i], s->n - 1) +
                           (UINT64_C(1) << s->shift);

            shift = s->shift > shift ? s->shift : shift;
            first = begin < first ? begin : first;
            last = end - 1 > last ? end - 1 : last;
        }
    /* no process has a busy time */
    if (first > last)
        return 0;
    while ((last >> shift) - (first >> shift) >= MAX_SLICES)
        shift++;
    r->n_busy_slices = (size_t) ((last >> shift) - (first >> shift)) + 1;
    r->busy_slice_us = UINT64_C(1) << shift;
    r->busy_from_us = first >> shift << shift; /* an edge */
    return shift;
}

/* Fills the slices of a row. A slot by another node's clock may lie in two
 * slices; its busy time is then split in proportion to its part of each. */
static void fill_row(const struct build *b, size_t i, const struct busy *busy,
                     unsigned shift)
{
    struct jp_result *r = b->result;
    const struct busy_slots *s = &busy->slots;
    const struct clockmap_node *clock = clock_of(b, busy);
    struct jp_busy *row = &r->busy[i];
    uint64_t *slices = r->busy_slices + i * r->n_busy_slices;
    double width = (double) (UINT64_C(1) << s->shift);

    row->slice_us = slices;
    if (!is_told(row))
        return;
    row->from_us = clockmap_us(clock, busy->from_us);
    row->to_us = clockmap_us(clock, busy->to_us);
    for (unsigned k = 0; k < s->n; k++) {
        uint64_t begin = slot_begin(clock, busy, k) - r->busy_from_us;
        size_t at = (size_t) (begin >> shift);
        uint64_t edge = (uint64_t) (at + 1) << shift, us = s->us[k];

        if (begin + (UINT64_C(1) << s->shift) > edge &&
            at + 1 < r->n_busy_slices) {
            us = (uint64_t) ((double) us * (double) (edge - begin) / width);
            slices[at + 1] += s->us[k] - us;
        }
        slices[at] += us;
        row->busy_us += s->us[k];
    }
}

int busy_result(struct build *b)
{
    struct jp_result *r = b->result;
    size_t n = 0;
    struct source *list = list_sources(b, &n);
    const struct busy **at = calloc(n + 1, sizeof(*at));
    unsigned shift;
    int rc = -1;

    r->busy = calloc(n + 1, sizeof(*r->busy));
    if (!list || !at || !r->busy || make_rows(r, list, n, at) < 0)
        goto out;
    shift = find_slices(b, at);
    r->busy_slices =
        calloc(r->n_busy * r->n_busy_slices + 1, sizeof(*r->busy_slices));
    if (!r->busy_slices)
        goto out;
    for (size_t i = 0; i < r->n_busy; i++)
        fill_row(b, i, at[i], shift);
    free_busy(b);
    rc = 0;
out:
    free(list);
    free(at);
    return rc;
}
