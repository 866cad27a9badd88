/* liverate.c - recent rates, times and sizes of a process's operations, and how
 * long they usually take.
 *
 * A turn (liverate_turn) comes every five seconds. Between turns the operations
 * that were read are added (liverate_add); at a turn liverate_pass takes the
 * counters and lets older values fade. The second half (liveusual_*) learns the
 * usual length of long operations. */
#include "orchestrator/live/livenode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "common/vector.h"

#define SECOND_NS 1e9
#define SAMPLE_S (LIVERATE_SAMPLE_MS / 1000)

void liverate_fini(struct liverate *rate)
{
    free(rate->series);
    *rate = (struct liverate){.series = NULL};
}

/* The second at which a turn begins differs from one five-second period to the
 * next, so that turns do not always meet the same part of a program's
 * iterations. It depends on the time of day only, so it is the same on all
 * nodes. 2654435761 is Knuth's multiplicative hash. */
uint64_t liverate_turn(uint64_t real_ns)
{
    uint64_t second = real_ns / 1000000000, five = second / SAMPLE_S,
             offset = (five * 2654435761U >> 16) % SAMPLE_S;

    return second % SAMPLE_S >= offset ? five + 1 : five;
}

/* Finds or adds the series. Returns NULL without memory or if there are too
 * many. */
static struct liverate_series *series_of(struct liverate *rate, uint32_t comm,
                                         enum jpr_op_kind kind,
                                         const char *func)
{
    struct liverate_series *s;

    for (size_t i = 0; i < rate->n; i++) {
        s = &rate->series[i];
        if (s->comm == comm && s->kind == kind &&
            !strncmp(s->func, func, sizeof(s->func) - 1))
            return s;
    }
    if (rate->n == LIVERATE_SERIES_MAX)
        return NULL;
    if (VECTOR_DOUBLE(rate->series, rate->n) < 0)
        return NULL;
    s = &rate->series[rate->n++];
    *s = (struct liverate_series){.comm = comm, .kind = kind};
    snprintf(s->func, sizeof(s->func), "%.*s", RECORD_MAX_FUNC, func);
    return s;
}

/* Sums for the mean time and size. */
void liverate_add(struct liverate *rate, const struct liverate_series *key,
                  uint64_t bytes, uint64_t us)
{
    struct liverate_series *s =
        series_of(rate, key->comm, key->kind, key->func);

    /* Without room the sample is smaller; the counters still have the rate. */
    if (!s)
        return;
    s->n++;
    s->bytes += (double) bytes;
    if (us) {
        s->n_timed++;
        s->us += (double) us;
    }
}

/* --- turns ---------------------------------------------------------------- */

/* Weight of older values after that many seconds: half after LIVE_RECENT_MS. */
static double fading(double seconds)
{
    const double recent = LIVE_RECENT_MS / 1e3;

    return recent / (recent + seconds);
}

/* For each series: takes the new count, then fades all sums. */
void liverate_pass(struct liverate *rate, const struct liverate_source *source,
                   uint64_t mono_ns)
{
    double passed = rate->turn_ns && mono_ns > rate->turn_ns
                        ? (double) (mono_ns - rate->turn_ns) / SECOND_NS
                        : 0,
           keep = fading(passed);
    bool first = !rate->turn_ns;

    /* The time is faded like the counts, so their quotient is a rate. */
    rate->turn_ns = mono_ns;
    rate->seconds = keep * (rate->seconds + passed);
    for (size_t i = 0; i < rate->n; i++) {
        struct liverate_series *s = &rate->series[i];
        uint64_t ended;

        if (!source->ended(source->of, s, &ended))
            continue;
        /* The first value of a counter may have been reached long ago. */
        if (s->told && ended > s->ended && !first)
            s->recent += (double) (ended - s->ended);
        s->rated |= s->told && !first;
        s->recent *= keep;
        s->n *= keep;
        s->n_timed *= keep;
        s->us *= keep;
        s->bytes *= keep;
        s->told = true;
        s->ended = ended;
    }
}

/* Operations per second. A turn that is overdue counts as time without
 * operations, so that rates fall to 0 when nothing ends. */
static double rate_of(const struct liverate *rate,
                      const struct liverate_series *s, uint64_t mono_ns)
{
    double since = mono_ns > rate->turn_ns
                       ? (double) (mono_ns - rate->turn_ns) / SECOND_NS
                       : 0;

    if (since < 2 * SAMPLE_S)
        since = 0;
    return rate->seconds + since > 0 ? s->recent / (rate->seconds + since) : 0;
}

/* Rounds; 0 for what does not fit. */
static uint64_t whole(double value)
{
    return value > 0 && value < 0x1p53 ? (uint64_t) (value + 0.5) : 0;
}

/* Sums over all series of the process. */
void liverate_rank(const struct liverate *rate, uint64_t mono_ns,
                   struct live_rank *rank)
{
    double sum = 0, share = 0;
    /* Without a series no operation has ended, which is known after a turn. */
    bool rated = rate->seconds > 0 && !rate->n;

    for (size_t i = 0; i < rate->n; i++) {
        const struct liverate_series *s = &rate->series[i];
        double a_second = rate_of(rate, s, mono_ns);

        rated |= s->rated;
        /* Rate times mean duration is the share of time spent in operations. */
        sum += a_second;
        if (s->n_timed > 0)
            share += a_second * s->us / s->n_timed / 1e6;
    }
    rank->unrated = !rated;
    rank->rate_milli = whole(sum * 1000);
    rank->share_permille = whole(share * 1000);
}

/* Sums over the series that belong to the front. */
void liverate_front(const struct liverate *rate,
                    const struct liverate_source *source, uint64_t mono_ns,
                    const struct live_comm *comms, struct live_front *front)
{
    const struct live_comm *comm = &comms[front->comm];
    double a_second = 0, n = 0, n_timed = 0, us = 0, bytes = 0;

    for (size_t i = 0; i < rate->n; i++) {
        const struct liverate_series *s = &rate->series[i];

        /* A front of Send and Recv has no function. */
        if (!source->is_comm(source->of, s->comm, comm->hash, comm->n_ranks,
                             front->comm_rank) ||
            s->kind != front->kind ||
            (*front->func && strcmp(s->func, front->func) != 0))
            continue;
        a_second += rate_of(rate, s, mono_ns);
        n += s->n;
        n_timed += s->n_timed;
        us += s->us;
        bytes += s->bytes;
    }
    front->rate_milli = whole(a_second * 1000);
    front->mean_us = n_timed > 0 ? whole(us / n_timed) : 0;
    front->mean_bytes = n > 0 ? whole(bytes / n) : 0;
}

/* --- usual lengths -------------------------------------------------------- */

/* An operation in flight for this long has a length worth remembering. */
#define LONG_NS UINT64_C(1000000000)

void liveusual_fini(struct liveusual *usual)
{
    free(usual->series);
    *usual = (struct liveusual){.series = NULL};
}

static bool is_usual(const struct liveusual_series *u,
                     const struct liveusual_long *l)
{
    return u->comm == l->comm && u->kind == l->kind &&
           !strcmp(u->func, l->func);
}

/* Finds or adds the series. Returns NULL without memory or if there are too
 * many. */
static struct liveusual_series *usual_of(struct liveusual *usual,
                                         const struct liveusual_long *l)
{
    struct liveusual_series *u;

    for (size_t i = 0; i < usual->n; i++)
        if (is_usual(&usual->series[i], l))
            return &usual->series[i];
    if (usual->n == LIVEUSUAL_SERIES_MAX)
        return NULL;
    if (VECTOR_DOUBLE(usual->series, usual->n) < 0)
        return NULL;
    u = &usual->series[usual->n++];
    *u = (struct liveusual_series){.comm = l->comm, .kind = l->kind};
    memcpy(u->func, l->func, sizeof(u->func));
    return u;
}

/* Returns the number of the function's operations that were produced, from the
 * counters. */
static uint64_t ended_of(const struct jp_recfile *file, uint32_t comm,
                         const char *func)
{
    const struct recfile_comm *told = recfile_comm(file, comm);

    for (size_t i = 0; told && i < told->n_counts; i++)
        if (!strcmp(told->counts[i].func, func))
            return told->counts[i].counts.produced;
    return 0;
}

/* An operation is no longer in flight: learns its length. */
static void learn(struct liveusual *usual, const struct hung_times *times,
                  const struct jp_recfile *file, const struct liveusual_long *l)
{
    struct liveusual_series *u = usual_of(usual, l);
    uint64_t limit;

    if (!u)
        return;
    limit = hung_limit_ns(times, &u->lengths, false);
    /* What was in flight for far too long was a hang, and teaches nothing. */
    if (l->age_ns / HUNG_LEARN_TIMES <= limit)
        hung_usual_add(&u->lengths, l->age_ns);
    /* Shorter operations are only counted. */
    if (u->lengths.n < ended_of(file, l->comm, l->func))
        u->lengths.n = ended_of(file, l->comm, l->func);
}

/* Finds or adds a long operation. Returns NULL if there are too many. */
static struct liveusual_long *longer_of(struct liveusual *usual,
                                        const struct jpr_op *op)
{
    for (size_t i = 0; i < usual->n_longs; i++) {
        struct liveusual_long *l = &usual->longs[i];

        if (l->seq == op->seq && l->comm == op->comm && l->kind == op->kind &&
            l->start_ns == op->enqueue_start_mono_ns)
            return l;
    }
    if (usual->n_longs == LIVEUSUAL_LONGS_MAX)
        return NULL;
    usual->longs[usual->n_longs] =
        (struct liveusual_long){.comm = op->comm,
                                .kind = op->kind,
                                .seq = op->seq,
                                .start_ns = op->enqueue_start_mono_ns};
    snprintf(usual->longs[usual->n_longs].func, sizeof(usual->longs->func),
             "%s", op->func);
    return &usual->longs[usual->n_longs++];
}

/* Long operations are few, so linear searches suffice. */
void liveusual_look(struct liveusual *usual, const struct hung_times *times,
                    const struct jp_recfile *file,
                    const struct jp_pending *pending, uint64_t mono_ns)
{
    size_t kept = 0;

    /* Mark all, unmark those still in flight, and learn from the rest. */
    for (size_t i = 0; i < usual->n_longs; i++)
        usual->longs[i].seen = false;
    for (size_t i = 0; i < pending->n; i++) {
        const struct jpr_op *op = &pending->ops[i].op;
        uint64_t start = op->enqueue_start_mono_ns;
        struct liveusual_long *l;

        if (!start || op->unsure || mono_ns < start ||
            mono_ns - start < LONG_NS)
            continue;
        l = longer_of(usual, op);
        if (l) {
            l->seen = true;
            l->age_ns = mono_ns - start;
        }
    }
    for (size_t i = 0; i < usual->n_longs; i++)
        if (usual->longs[i].seen)
            usual->longs[kept++] = usual->longs[i];
        else
            learn(usual, times, file, &usual->longs[i]);
    usual->n_longs = kept;
}

/* The series has the file's index of the communicator; the operation has its
 * hash. */
const struct hung_usual *liveusual_find(const struct liveusual *usual,
                                        const struct jp_recfile *file,
                                        const struct hangs_op *op)
{
    for (size_t i = 0; i < usual->n; i++) {
        const struct jpr_comm *comm =
            jpr_comm(file->reader, usual->series[i].comm);

        if (comm && comm->id == op->hash && usual->series[i].kind == op->kind &&
            !strcmp(usual->series[i].func, op->func))
            return &usual->series[i].lengths;
    }
    return NULL;
}
