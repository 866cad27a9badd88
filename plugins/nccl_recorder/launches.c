/* launches.c - the time of operations that one kernel launch did together.
 *
 * launches_add() holds records. When there are many, settle_launches() sorts
 * them by launch, share_launch() divides each launch's time, and hand_over()
 * passes on those that are complete, in the file's order. launches.h has the
 * rules.
 */
#include "plugins/nccl_recorder/launches.h"

#include <stdlib.h>
#include <string.h>

#include "common/vector.h"

/* How long a record waits for others of its launch, by the times of the file.
 */
#define HOLD_NS UINT64_C(1000000000)

/* Records held at once, at first and at most (about 18 MB). Beyond that all are
 * handed over, whether they were held long enough or not. */
enum { FIRST_HELD = 4096, MOST_HELD = 65536 };

/* Two messages have one time if their starts, and their ends, are no further
 * apart than this or a SAME_PART-th of the span. Stamps of a batch are taken
 * one after the other. */
#define SAME_NS UINT64_C(2000)
#define SAME_PART 50

/* With how many of the following messages, by GPU start, one is compared. This
 * bounds the cost of a file with all of them at one time. */
enum { SAME_MOST = 512 };

struct held {
    struct record record;
    char func[RECORD_MAX_FUNC + 1]; /* a copy, as the record's may go away */
    enum bandwidth_rule rule;
    bool gone; /* to be handed over */
    uint32_t comm;
    uint64_t start_ns, stop_ns; /* enqueued, CLOCK_MONOTONIC */
    /* by the GPU; 0: unknown, its time is not shared */
    uint64_t first_ns, last_ns;
};

struct launches {
    launches_take *take;
    void *arg;
    struct held *held;
    struct held **order;   /* the same records, sorted by launch */
    size_t n, room, until; /* settle when there are `until` */
    uint64_t newest_ns;
};

struct launches *launches_create(launches_take *take, void *arg)
{
    struct launches *l = calloc(1, sizeof(*l));

    if (l) {
        l->take = take;
        l->arg = arg;
        l->until = FIRST_HELD;
    }
    return l;
}

void launches_destroy(struct launches *launches)
{
    if (!launches)
        return;
    free(launches->held);
    free(launches->order);
    free(launches);
}

/* --------------------------------------------------------------- shares -- */

void launches_divide(const struct launches_member *members, size_t n,
                     uint64_t time_us)
{
    uint64_t bytes = 0, passed = 0, sum = 0;

    /* out of bounds: leave all as they are */
    if (time_us > RECORD_MAX_TIME_US)
        return;
    for (size_t i = 0; i < n; i++)
        if (__builtin_add_overflow(bytes, members[i].record->bytes, &bytes))
            return;
    for (size_t i = 0; i < n; i++) {
        struct record *r = members[i].record;
        uint64_t micro = bandwidth_micro(
            bandwidth_of(members[i].rule, r->n_ranks, bytes, time_us).bus_gbs);
        uint64_t from = passed;

        /* shares are differences of rounded sums, so they add up exactly */
        sum += r->bytes;
        passed = bytes ? (uint64_t) ((double) time_us *
                                     ((double) sum / (double) bytes))
                       : time_us * (i + 1) / n;
        if (members[i].untimed)
            continue;
        r->exec_us = passed - from;
        r->launch_us = time_us;
        r->exec_unknown = !r->exec_us;
        if (!r->busbw_nan && micro <= RECORD_MAX_BUSBW_MICRO)
            r->busbw_micro = micro;
    }
}

/* Gives each operation its share of the time from the first start to the last
 * stop. Returns 0, or -1 without memory. */
static int share(struct held *const *of, size_t n)
{
    struct launches_member *members = calloc(n, sizeof(*members));
    uint64_t first = UINT64_MAX, last = 0;

    if (!members)
        return -1;
    for (size_t i = 0; i < n; i++) {
        members[i] = (struct launches_member){.record = &of[i]->record,
                                              .rule = of[i]->rule,
                                              .untimed = !of[i]->first_ns};
        if (members[i].untimed)
            continue;
        first = of[i]->first_ns < first ? of[i]->first_ns : first;
        last = of[i]->last_ns > last ? of[i]->last_ns : last;
    }
    if (last) /* 0: no member has a time */
        launches_divide(members, n, (last - first) / 1000);
    free(members);
    return 0;
}

static bool is_near(uint64_t a, uint64_t b, uint64_t span)
{
    uint64_t apart = a > b ? a - b : b - a;

    return apart <= SAME_NS || apart <= span / SAME_PART;
}

/* Returns whether two messages go in one direction at one time. */
static bool is_same(const struct held *a, const struct held *b)
{
    uint64_t span = a->last_ns - a->first_ns;

    return !strcmp(a->func, b->func) &&
           is_near(a->first_ns, b->first_ns, span) &&
           is_near(a->last_ns, b->last_ns, span);
}

/* Moves all messages that are the same as the first to the front, in order.
 * Returns how many there are. */
static size_t pick_same(struct held **of, size_t n)
{
    size_t picked = 1;

    for (size_t i = 1; i < n; i++) {
        struct held *one = of[i];

        if (!is_same(of[0], one))
            continue;
        memmove(of + picked + 1, of + picked, (i - picked) * sizeof(*of));
        of[picked++] = one;
    }
    return picked;
}

/* Returns 0 for collectives, 1 for messages with a time, 2 for messages without
 * one. */
static int class_of(const struct held *h)
{
    return !h->record.p2p ? 0 : h->first_ns ? 1 : 2;
}

/* Order for qsort: collectives by their start, messages by direction and time.
 * Addresses make the order total, as qsort is not stable. */
static int by_class(const void *a, const void *b)
{
    const struct held *x = *(const struct held *const *) a;
    const struct held *y = *(const struct held *const *) b;
    int class = class_of(x), order = class - class_of(y);

    if (!order && class == 1)
        order = strcmp(x->func, y->func);
    if (order)
        return order;
    if (class == 1 && x->first_ns != y->first_ns)
        return x->first_ns < y->first_ns ? -1 : 1;
    if (class == 1 && x->last_ns != y->last_ns)
        return x->last_ns < y->last_ns ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x < y ? -1 : x > y;
}

static size_t count_class(struct held *const *of, size_t n, int class)
{
    size_t count = 0;

    while (count < n && class_of(of[count]) == class)
        count++;
    return count;
}

/* Divides the time of one launch. Returns 0, or -1 without memory. */
static int share_launch(struct held **of, size_t n)
{
    size_t picked, messages;
    int rc = 0;

    qsort(of, n, sizeof(*of), by_class);
    picked = count_class(of, n, 0);
    if (picked > 1)
        rc = share(of, picked);
    of += picked;
    messages = count_class(of, n - picked, 1);
    for (; rc == 0 && messages > 1; of += picked, messages -= picked) {
        picked = pick_same(of, messages < SAME_MOST ? messages : SAME_MOST);
        if (picked > 1)
            rc = share(of, picked);
    }
    return rc;
}

/* ------------------------------------------------------------- launches -- */

static int by_launch(const void *a, const void *b)
{
    const struct held *x = *(const struct held *const *) a;
    const struct held *y = *(const struct held *const *) b;

    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Returns how many operations from here on are of one launch: those that begin
 * before the earliest stop so far. */
static size_t launch_length(struct held *const *of, size_t n)
{
    uint64_t stop = of[0]->stop_ns;
    size_t i = 1;

    while (i < n && of[i]->comm == of[0]->comm && of[i]->start_ns < stop) {
        stop = of[i]->stop_ns < stop ? of[i]->stop_ns : stop;
        i++;
    }
    return i;
}

/* Hands over the records that are complete and keeps the others, both in order.
 * After a failure of take the rest is dropped. */
static int hand_over(struct launches *l)
{
    size_t kept = 0;
    int rc = 0;

    for (size_t i = 0; i < l->n; i++) {
        struct held *one = &l->held[i];

        if (!one->gone) {
            l->held[kept++] = *one;
        } else if (rc == 0) {
            one->record.func.text = one->func;
            rc = l->take(l->arg, &one->record);
        }
    }
    l->n = kept;
    return rc;
}

/* Divides and hands over all launches that began before limit_ns. Returns 0, -1
 * without memory, or the result of take. */
static int settle_launches(struct launches *l, uint64_t limit_ns)
{
    size_t length;

    for (size_t i = 0; i < l->n; i++)
        l->order[i] = &l->held[i];
    if (l->n) /* else there is no array */
        qsort(l->order, l->n, sizeof(*l->order), by_launch);
    for (size_t i = 0; i < l->n; i += length) {
        length = launch_length(l->order + i, l->n - i);
        if (l->order[i]->start_ns >= limit_ns)
            continue;
        if (length > 1 && share_launch(l->order + i, length) < 0)
            return -1;
        for (size_t k = i; k < i + length; k++)
            l->order[k]->gone = true;
    }
    return hand_over(l);
}

/* Makes room for one more. Returns 0, or -1 without memory. */
static int reserve_held(struct launches *l)
{
    size_t room = l->room;

    if (VECTOR_ROOM(l->held, l->n + 1, room) < 0)
        return -1;
    return VECTOR_ROOM(l->order, room, l->room);
}

/* Hands over what is old. If little is old, more is held from now on, up to the
 * limit. */
static int settle_old(struct launches *l)
{
    int rc =
        settle_launches(l, l->newest_ns > HOLD_NS ? l->newest_ns - HOLD_NS : 0);

    if (rc == 0 && l->n > MOST_HELD / 2)
        rc = settle_launches(l, UINT64_MAX);
    l->until = l->n < FIRST_HELD / 2 ? FIRST_HELD : 2 * l->n;
    return rc;
}

int launches_add(struct launches *l, const struct jpr_op *op,
                 const struct record *record, enum bandwidth_rule rule)
{
    size_t n = record->func.len < RECORD_MAX_FUNC ? record->func.len
                                                  : RECORD_MAX_FUNC;
    /* only the GPU's stamps are of batches */
    bool timed = !record->exec_unknown && op->enqueue_stop_mono_ns &&
                 op->gpu_first_ns && op->gpu_last_ns > op->gpu_first_ns;

    if (l->n == l->room && reserve_held(l) < 0)
        return -1;
    l->held[l->n++] = (struct held){
        .record = *record,
        .rule = rule,
        .comm = op->comm,
        .start_ns = op->enqueue_start_mono_ns,
        .stop_ns = op->enqueue_stop_mono_ns,
        .first_ns = timed ? op->gpu_first_ns : 0,
        .last_ns = timed ? op->gpu_last_ns : 0,
    };
    memcpy(l->held[l->n - 1].func, record->func.text, n);
    if (op->enqueue_start_mono_ns > l->newest_ns)
        l->newest_ns = op->enqueue_start_mono_ns;
    return l->n >= l->until ? settle_old(l) : 0;
}

int launches_flush(struct launches *l)
{
    return settle_launches(l, UINT64_MAX);
}
