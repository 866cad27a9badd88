/* stall_first.c - of all communicators that stopped short, find the first.
 *
 * Ended operations have no order across communicators, but some follows from
 * what they are. A rank that stops holds its tensor group up, that the groups
 * it exchanges Send and Recv with, and those of the gradients come last.
 */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/stall_parts.h"

/* Does every member lag elsewhere, too? Else it waits here for others. */
static bool is_inner(const struct stall *s, size_t comm)
{
    for (size_t i = s->p->comm_start[comm]; i < s->p->comm_start[comm + 1]; i++)
        if (s->lags_of[s->p->of_rank[i]] < 2)
            return false;
    return true;
}

/* Messages of a rank by Send and Recv, as it recorded them. */
struct messages {
    uint64_t in, out;
    uint64_t most; /* with one peer, in one direction */
    size_t peers;  /* it receives from */
};

static struct messages count_messages(const struct stall *s, size_t rank)
{
    const struct jp_rank *x = &s->r->ranks[rank];
    struct messages m = {0};

    for (size_t i = 0; i < s->r->n_p2p; i++) {
        const struct jp_p2p *p = &s->r->p2p[i];
        bool sends = !strcmp(p->func, "Send");

        if (p->comm != x->comm || x->rank != (sends ? p->src : p->dst))
            continue;
        m.most = p->count > m.most ? p->count : m.most;
        m.in += sends ? 0 : p->count;
        m.out += sends ? p->count : 0;
        m.peers += !sends;
    }
    return m;
}

/* The rank's place in a communicator of Send and Recv alone; SIZE_MAX: none. */
static size_t pipe_rank(const struct stall *s, size_t process)
{
    const struct jp_process *who = &s->p->processes[process];

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t rank = s->p->by_process[i];
        const struct jp_comm *c = &s->r->comms[s->r->ranks[rank].comm];

        if (!c->ops && c->p2p_records)
            return rank;
    }
    return SIZE_MAX;
}

enum place { EXPLAINED, POSSIBLE, CERTAIN };

/* A stage passes each microbatch on and back, `pass` operations each time. A
 * stage that has got a message and not done the operations that follow it waits
 * for nobody; one that has done all, for its next message. Of the first and
 * last stage, which begin half of their passes by themselves, this is known in
 * the midst of a pass only. */
static enum place place_of(const struct stall *s, size_t comm, uint64_t pass)
{
    size_t pipe = pipe_rank(s, s->p->of_rank[s->p->comm_start[comm]]);
    uint64_t done = s->r->comms[comm].ops;
    struct messages m;

    if (pipe == SIZE_MAX)
        return POSSIBLE;
    m = count_messages(s, pipe);
    if (m.peers > 1)
        return done < m.in * pass ? CERTAIN : EXPLAINED;
    if (done < (m.in + m.out) * pass || done % pass)
        return CERTAIN;
    return done == (m.in + m.out) * pass ? POSSIBLE : EXPLAINED;
}

/* Operations of a pass through a stage; 0: the counts do not fit a pipeline. */
static uint64_t pass_of(const struct stall *s, size_t comm)
{
    uint64_t most = s->r->comms[comm].ops + s->lag[comm];

    for (size_t c = 0; c < s->r->n_comms; c++) {
        size_t pipe;
        struct messages m;

        if (s->lag[c] || s->r->comms[c].ops != most ||
            s->r->comms[c].n_ranks != s->r->comms[comm].n_ranks ||
            s->p->comm_start[c] == s->p->comm_start[c + 1])
            continue;
        pipe = pipe_rank(s, s->p->of_rank[s->p->comm_start[c]]);
        m = pipe == SIZE_MAX ? (struct messages){0} : count_messages(s, pipe);
        return m.most && most % (2 * m.most) == 0 ? most / (2 * m.most) : 0;
    }
    return 0;
}

/* The one of the stages of a pipeline; SIZE_MAX: not sure. */
static size_t find_stage(const struct stall *s, const size_t *inner, size_t n)
{
    size_t found[3] = {SIZE_MAX, SIZE_MAX, SIZE_MAX}, count[3] = {0};

    for (size_t i = 0; i < n; i++) {
        uint64_t pass = pass_of(s, inner[i]);
        enum place place = pass ? place_of(s, inner[i], pass) : POSSIBLE;

        found[place] = inner[i];
        count[place]++;
    }
    if (count[CERTAIN])
        return count[CERTAIN] == 1 ? found[CERTAIN] : SIZE_MAX;
    return count[POSSIBLE] == 1 ? found[POSSIBLE] : SIZE_MAX;
}

/* The one that is furthest behind, as groups that exchange with the first one
 * come one operation further; SIZE_MAX: several. */
static size_t find_furthest(const struct stall *s, const size_t *inner,
                            size_t n)
{
    size_t most = 0, same = 0;

    for (size_t i = 1; i < n; i++)
        if (s->lag[inner[i]] > s->lag[inner[most]])
            most = i;
    for (size_t i = 0; i < n; i++)
        same += s->lag[inner[i]] == s->lag[inner[most]];
    return same == 1 ? inner[most] : SIZE_MAX;
}

/* Of Send and Recv: does each rank of it exchange with all others? */
static bool is_exchange(const struct stall *s, size_t comm)
{
    uint32_t n = s->r->comms[comm].n_ranks;

    return n > 2 && count_messages(s, s->p->comm_start[comm]).peers >= n - 1;
}

/* All ranks are in one communicator, or in two of all of them. */
static size_t find_only(const struct stall *s)
{
    size_t found[2] = {SIZE_MAX, SIZE_MAX}, n = 0;
    uint64_t a, b, each;

    for (size_t c = 0; c < s->r->n_comms; c++) {
        const struct jp_comm *comm = &s->r->comms[c];

        if (comm->n_ranks < 2 || !stall_done(comm))
            continue;
        if (n == 2 || comm->n_ranks != s->p->n_processes)
            return SIZE_MAX;
        found[n++] = c;
    }
    if (n < 2)
        return found[0];
    if (stall_done(&s->r->comms[found[0]]) <
        stall_done(&s->r->comms[found[1]])) {
        size_t other = found[0];

        found[0] = found[1];
        found[1] = other;
    }
    a = stall_done(&s->r->comms[found[0]]);
    b = stall_done(&s->r->comms[found[1]]);
    each = (a + b / 2) / b;
    if (a == b)
        return SIZE_MAX;
    /* as many as a step has, since the last of the other: that is next */
    if (a < b * each || a - b * each > each)
        return SIZE_MAX;
    return found[a - b * each == each];
}

size_t stall_find_first(const struct stall *s)
{
    size_t *inner = calloc(s->r->n_comms + 1, sizeof(*inner)), n = 0;
    size_t first = SIZE_MAX, p2p = SIZE_MAX, n_p2p = 0, only = SIZE_MAX;
    bool exchanges = false, pipes = false;

    if (!s->n_lags || s->unsure || !inner) {
        free(inner);
        return s->n_lags ? SIZE_MAX : find_only(s);
    }
    for (size_t c = 0; c < s->r->n_comms; c++) {
        if (!s->lag[c])
            continue;
        only = c;
        if (s->r->comms[c].ops) {
            if (is_inner(s, c))
                inner[n++] = c;
            continue;
        }
        p2p = c;
        n_p2p++;
        exchanges |= is_exchange(s, c);
        pipes |= !is_exchange(s, c);
    }
    if (s->n_lags == 1)
        first = only;
    else if (n == 0 && n_p2p == 1)
        first = p2p;
    else if (exchanges && !pipes)
        first = find_furthest(s, inner, n);
    else if (!exchanges && (pipes || n == 1))
        first = find_stage(s, inner, n);
    free(inner);
    return first;
}

/* --- who fell silent ------------------------------------------------------ */

/* Are the operations that lack one record the last ones of each function? */
static bool is_tail_cut(const struct stall *s, size_t comm)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    uint32_t n_ranks = s->r->comms[comm].n_ranks, coll = UINT32_MAX;
    bool ok = reader != NULL, tail = false;

    if (reader) {
        reader->ops = s->r->ops;
        ops_want(reader, OPS_SN | OPS_COUNTS);
    }
    for (size_t i = 0; ok && i < s->r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);

        if (op->comm != comm)
            continue;
        tail &= op->coll == coll;
        coll = op->coll;
        ok = op->n == n_ranks ? !tail : op->n + 1 == n_ranks;
        tail |= op->n != n_ranks;
    }
    free(reader);
    return ok;
}

size_t stall_find_silent(const struct stall *s)
{
    size_t silent = SIZE_MAX;

    for (size_t i = 0; i < s->r->n_ranks; i++) {
        const struct jp_rank *rank = &s->r->ranks[i];
        const struct jp_comm *c = &s->r->comms[rank->comm];
        uint64_t missing = c->ops - rank->records;

        if (c->n_ranks < 2 || !c->ops || rank->records >= c->ops)
            continue;
        if (silent != SIZE_MAX && s->p->of_rank[i] != s->p->of_rank[silent])
            return SIZE_MAX;
        if (missing != c->ops - c->ops_complete)
            return SIZE_MAX;
        if (silent == SIZE_MAX ||
            rank->timed_ops > s->r->ranks[silent].timed_ops)
            silent = i;
    }
    if (silent == SIZE_MAX || !is_tail_cut(s, s->r->ranks[silent].comm))
        return SIZE_MAX;
    return silent;
}
