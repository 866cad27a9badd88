/* flight_judge.c - from the dumps of all ranks: which operation is blocked, by
 * whom.
 *
 * All entries that have not completed are sorted by (group, number, rank).
 * Those of one group and number are one collective, in which each member has a
 * state (state_of). Then the ranks that hold up others are looked for, the
 * surest kind first (flight_judge). A rank that is itself held up is never
 * blamed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/vector.h"
#include "orchestrator/flight/flight.h"

const char *const flight_state_words[FLIGHT_N_STATES] = {
    [FLIGHT_NO_DUMP] = "no_dump", [FLIGHT_UNSURE] = "unsure",
    [FLIGHT_NEVER] = "never",     [FLIGHT_HELD] = "elsewhere",
    [FLIGHT_INSIDE] = "inside",   [FLIGHT_DONE] = "done"};

const char *const flight_cause_words[FLIGHT_N_CAUSES] = {
    [FLIGHT_NOTHING] = "nothing_in_flight",
    [FLIGHT_RUNNING] = "running",
    [FLIGHT_BY_MISMATCH] = "mismatch",
    [FLIGHT_BY_ABSENCE] = "never_entered",
    [FLIGHT_BY_STUCK] = "stuck_inside",
    [FLIGHT_BY_ORDER] = "order",
    [FLIGHT_BY_MESSAGE] = "message",
    [FLIGHT_BY_UNKNOWN] = "unknown",
    [FLIGHT_INSIDE_ALL] = "all_inside"};

/* A rank is at most so far behind what others wait in: they cannot go on
 * without it. A larger distance shows that the order of groups was no guide. */
#define BEHIND_MAX 64
#define PER_GROUP 64 /* collectives looked at in a group, the first ones */

/* An entry with the dump that it is in. */
struct ref {
    size_t group;
    int64_t seq, rank;
    const struct flight_op *op;
    const struct flight_dump *dump;
};

struct judge {
    struct jp_flight *flight;
    size_t n_ranks;                     /* of the arrays by rank */
    const struct flight_dump **of_rank; /* by rank; NULL: none */
    struct ref *refs;
    size_t n_refs;
    bool *busy;    /* by rank: something is in flight */
    bool *culprit; /* by rank */
    bool *early;   /* by rank: its dump was written before others' */
    size_t room;   /* of flight->seen */
    /* the collective for which the others wait, if no rank can be blamed */
    bool has_root;
    size_t root_group;
    int64_t root_seq;
};

static int by_ref(const void *a, const void *b)
{
    const struct ref *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Whether a message, or a coalesced call of some, is in flight for sure. */
static bool is_message(const struct flight_dump *d, const struct flight_op *op)
{
    return !op->part && flight_dump_waits(d, op);
}

static bool is_collective(const struct flight_op *op)
{
    return !op->message && !op->part && op->seq >= 0;
}

/* Lists the entries of good dumps, and which ranks are in something. 0 or -1.
 */
static int list_refs(struct judge *j)
{
    const struct jp_flight *flight = j->flight;
    size_t n = 0;

    for (size_t i = 0; i < flight->n_dumps; i++)
        n += flight->dumps[i].n_ops;
    j->refs = calloc(n + 1, sizeof(*j->refs));
    if (!j->refs)
        return -1;
    for (size_t i = 0; i < flight->n_dumps; i++) {
        const struct flight_dump *d = &flight->dumps[i];

        if (d->bad)
            continue;
        j->of_rank[d->rank] = d;
        for (size_t k = 0; k < d->n_places; k++)
            flight->groups[d->places[k].group].has_messages |=
                d->places[k].messages;
        for (size_t k = 0; k < d->n_ops; k++) {
            const struct flight_op *op = &d->ops[k];

            j->busy[d->rank] |= is_message(d, op) || is_collective(op);
            if (is_collective(op))
                j->refs[j->n_refs++] =
                    (struct ref){op->group, op->seq, d->rank, op, d};
        }
    }
    qsort(j->refs, j->n_refs, sizeof(*j->refs), by_ref);
    return 0;
}

/* --- the state of each member of a collective ----------------------------- */

/* A rank that has not called it, unless its dump was written before anybody
 * had. */
static enum flight_state absent(const struct judge *j,
                                const struct flight_dump *d, int64_t since_us)
{
    if (d->written_us && d->written_us < since_us)
        return FLIGHT_UNSURE;
    return j->busy[d->rank] ? FLIGHT_HELD : FLIGHT_NEVER;
}

/* The state of a rank without an entry of the collective that has not
 * completed. */
static enum flight_state state_of(const struct judge *j, int64_t rank,
                                  const struct flight_seen *seen)
{
    const struct flight_dump *d = j->of_rank[rank];
    const struct flight_place *place = d ? flight_dump_place(d, seen->group)
                                         : NULL;
    int64_t seq = seen->seq;
    /* the dump holds all that the rank has called since its start */
    bool whole = d && d->entries && !d->dropped && !d->left_out;

    if (!d)
        return FLIGHT_NO_DUMP;
    if (place && place->called >= 0 &&
        !j->flight->groups[seen->group].has_messages) {
        if (place->ordered && seq > place->called + BEHIND_MAX)
            return FLIGHT_UNSURE;
        if (seq > place->called && seq > place->high)
            return absent(j, d, seen->since_us);
        if (seq <= place->ended)
            return FLIGHT_DONE;
    }
    if (place && place->high >= 0) {
        if (seq > place->high)
            return absent(j, d, seen->since_us);
        return seq >= place->low && !d->left_out ? FLIGHT_DONE : FLIGHT_UNSURE;
    }
    return whole ? absent(j, d, seen->since_us) : FLIGHT_UNSURE;
}

static int by_rank(const void *a, const void *b)
{
    int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

    return (x > y) - (x < y);
}

/* The members: the group's ranks, or where no dump lists them, the ranks that
 * have called something in it. Returns the list, ascending; NULL: no memory. */
static int64_t *list_members(const struct judge *j, size_t group, size_t *n)
{
    const struct flight_group *g = &j->flight->groups[group];
    int64_t *ranks = calloc((g->n_ranks ? g->n_ranks : j->flight->n_dumps) + 1,
                            sizeof(*ranks));

    *n = 0;
    for (size_t i = 0; ranks && i < g->n_ranks; i++)
        ranks[(*n)++] = g->ranks[i];
    for (size_t i = 0; ranks && !g->n_ranks && i < j->flight->n_dumps; i++) {
        const struct flight_dump *d = &j->flight->dumps[i];

        if (!d->bad && flight_dump_place(d, group))
            ranks[(*n)++] = d->rank;
    }
    if (ranks && *n)
        qsort(ranks, *n, sizeof(*ranks), by_rank);
    return ranks;
}

/* Takes the times of an entry. */
static void take_times(struct flight_seen *seen, const struct ref *ref)
{
    int64_t at = ref->op->created_us;

    seen->timeout_ms = ref->op->timeout_ms > seen->timeout_ms
                           ? ref->op->timeout_ms
                           : seen->timeout_ms;
    if (!seen->first || (at && (!seen->since_us || at < seen->since_us))) {
        seen->first = ref->op;
        seen->func = ref->op->func;
        seen->since_us = at;
    }
    if (!at)
        return;
    if (ref->dump->last_us - at > seen->age_us)
        seen->age_us = ref->dump->last_us - at;
    if (ref->dump->written_us - at > seen->at_most_us)
        seen->at_most_us = ref->dump->written_us - at;
}

/* --- mismatches ----------------------------------------------------------- */

/* Functions of which all ranks give equally many elements of one type. Others,
 * such as all_to_all, may differ. */
static bool is_even(const char *func)
{
    static const char *const even[] = {"all_reduce",
                                       "broadcast",
                                       "reduce",
                                       "_all_gather_base",
                                       "_reduce_scatter_base",
                                       "all_reduce_barrier",
                                       "all_gather_single",
                                       "reduce_scatter_single"};

    for (size_t i = 0; i < sizeof(even) / sizeof(*even); i++)
        if (!strcmp(func, even[i]))
            return true;
    return false;
}

static bool is_alike(const struct flight_op *a, const struct flight_op *b)
{
    /* interned texts are equal if they are the same */
    if (a->func != b->func)
        return false;
    return !is_even(a->func) ||
           (a->in == b->in && a->out == b->out && a->dtype == b->dtype);
}

/* Finds out whether the entries of one collective differ. Members that are not
 * like the most common one become the culprits; with as many of two kinds, all
 * of them. */
static void compare_entries(struct judge *j, struct flight_seen *seen,
                            const struct ref *refs, size_t n, bool mark)
{
    const struct flight_op *most = NULL;
    size_t n_most = 0, same = 0, len;
    bool tie = false;

    for (size_t i = 0; i < n; i++) {
        size_t like = 0;

        if (i && is_alike(refs[i].op, refs[0].op) && most == refs[0].op)
            continue;
        for (size_t k = 0; k < n; k++)
            like += is_alike(refs[i].op, refs[k].op);
        if (like == n)
            return;
        if (like > n_most) {
            n_most = like;
            most = refs[i].op;
            tie = false;
        } else if (like == n_most && !is_alike(refs[i].op, most)) {
            tie = true;
        }
    }
    seen->mismatch = true;
    for (size_t i = 0; i < n && mark; i++)
        if (tie || !is_alike(refs[i].op, most))
            j->culprit[refs[i].rank] = true;
    /* the common kind, then the first other one */
    len = (size_t) snprintf(seen->differs, sizeof(seen->differs),
                            "%zu called %.40s of %" PRIu64 " %.20s", n_most,
                            most->func, most->in, most->dtype);
    for (size_t i = 0; i < n && len < sizeof(seen->differs); i++)
        if (!is_alike(refs[i].op, most)) {
            for (size_t k = 0; k < n; k++)
                same += is_alike(refs[k].op, refs[i].op);
            if (same == 1)
                snprintf(seen->differs + len, sizeof(seen->differs) - len,
                         ", rank %" PRId64 " %.40s of %" PRIu64 " %.20s",
                         refs[i].rank, refs[i].op->func, refs[i].op->in,
                         refs[i].op->dtype);
            else
                snprintf(seen->differs + len, sizeof(seen->differs) - len,
                         ", %zu %.40s of %" PRIu64 " %.20s", same,
                         refs[i].op->func, refs[i].op->in, refs[i].op->dtype);
            return;
        }
}

/* Functions that no rank leaves before all have entered. */
static bool is_barrier(const char *func)
{
    static const char *const begins[] = {
        "all_reduce",      "all_gather", "_all_gather", "reduce_scatter",
        "_reduce_scatter", "all_to_all", "barrier"};

    for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
        if (!strncmp(func, begins[i], strlen(begins[i])))
            return true;
    return false;
}

/* If a rank has left such a function, all have entered it: a dump that shows
 * otherwise was written before, and shows of nothing what came later. */
static void find_early(struct judge *j)
{
    for (size_t i = 0; i < j->flight->n_seen; i++) {
        const struct flight_seen *seen = &j->flight->seen[i];

        if (!seen->count[FLIGHT_DONE] || !is_barrier(seen->func))
            continue;
        for (size_t k = 0; k < seen->n; k++)
            j->early[seen->ranks[k]] |= seen->states[k] == FLIGHT_NEVER ||
                                        seen->states[k] == FLIGHT_HELD;
    }
}

/* Takes back what early dumps seem to show. */
static void correct_early(struct judge *j)
{
    find_early(j);
    for (size_t i = 0; i < j->flight->n_seen; i++) {
        struct flight_seen *seen = &j->flight->seen[i];

        for (size_t k = 0; k < seen->n; k++) {
            uint8_t *state = &seen->states[k];

            if (!j->early[seen->ranks[k]] ||
                (*state != FLIGHT_NEVER && *state != FLIGHT_HELD))
                continue;
            seen->count[*state]--;
            *state = FLIGHT_UNSURE;
            seen->count[FLIGHT_UNSURE]++;
        }
    }
}

/* --- the collectives ------------------------------------------------------ */

/* Makes one of its entries. Returns 0, or -1 without memory. */
static int make_seen(struct judge *j, const struct ref *refs, size_t n,
                     struct flight_seen *seen)
{
    *seen = (struct flight_seen){
        .group = refs->group, .seq = refs->seq, .at_most_us = -1};
    seen->ranks = list_members(j, refs->group, &seen->n);
    seen->states = seen->ranks ? calloc(seen->n + 1, 1) : NULL;
    if (!seen->states) {
        free(seen->ranks);
        return -1;
    }
    for (size_t i = 0; i < n; i++)
        take_times(seen, &refs[i]);
    for (size_t i = 0, k = 0; i < seen->n; i++) {
        while (k < n && refs[k].rank < seen->ranks[i])
            k++;
        seen->states[i] = (uint8_t) (k < n && refs[k].rank == seen->ranks[i]
                                         ? FLIGHT_INSIDE
                                         : state_of(j, seen->ranks[i], seen));
        seen->count[seen->states[i]]++;
    }
    compare_entries(j, seen, refs, n, false);
    return 0;
}

/* Whether a later collective of a group shows nothing new. */
static bool is_repeat(const struct flight_seen *a, const struct flight_seen *b)
{
    return a->group == b->group && a->n == b->n && !b->mismatch &&
           !memcmp(a->states, b->states, a->n);
}

/* Makes all collectives that have not completed somewhere. 0 or -1. */
static int list_seen(struct judge *j)
{
    struct jp_flight *flight = j->flight;
    size_t in_group = 0;

    for (size_t i = 0, n; i < j->n_refs; i += n) {
        struct flight_seen seen;

        for (n = 1;
             i + n < j->n_refs && j->refs[i + n].group == j->refs[i].group &&
             j->refs[i + n].seq == j->refs[i].seq;
             n++)
            ;
        in_group = i && j->refs[i - 1].group == j->refs[i].group ? in_group + 1
                                                                 : 0;
        if (in_group >= PER_GROUP) {
            flight->seen_left_out++;
            continue;
        }
        if (make_seen(j, &j->refs[i], n, &seen) < 0)
            return -1;
        if (flight->n_seen &&
            is_repeat(&flight->seen[flight->n_seen - 1], &seen)) {
            flight->seen_left_out++;
            free(seen.states);
            free(seen.ranks);
            continue;
        }
        if (VECTOR_ROOM(flight->seen, flight->n_seen + 1, j->room) < 0) {
            free(seen.states);
            free(seen.ranks);
            return -1;
        }
        flight->seen[flight->n_seen++] = seen;
    }
    return 0;
}

/* --- who holds up whom ---------------------------------------------------- */

/* Marks the members of a state. Returns whether there are any. */
static bool mark(struct judge *j, const struct flight_seen *seen,
                 enum flight_state state)
{
    bool any = false;

    for (size_t i = 0; i < seen->n; i++)
        if (seen->states[i] == state) {
            j->culprit[seen->ranks[i]] = true;
            any = true;
        }
    return any;
}

/* Ranks called different operations. The collective that is oldest counts:
 * what comes after it does not fit either. */
static bool find_mismatch(struct judge *j)
{
    struct flight_seen *oldest = NULL;
    size_t first = 0, n = 0;

    for (size_t i = 0; i < j->flight->n_seen; i++) {
        struct flight_seen *seen = &j->flight->seen[i];

        if (seen->mismatch && (!oldest || seen->since_us < oldest->since_us))
            oldest = seen;
    }
    if (!oldest)
        return false;
    while (j->refs[first].group != oldest->group ||
           j->refs[first].seq != oldest->seq)
        first++;
    while (first + n < j->n_refs && j->refs[first + n].group == oldest->group &&
           j->refs[first + n].seq == oldest->seq)
        n++;
    compare_entries(j, oldest, &j->refs[first], n, true);
    return true;
}

/* Ranks that are in nothing, and for which others wait. */
static bool find_absent(struct judge *j)
{
    bool any = false;

    for (size_t i = 0; i < j->flight->n_seen; i++)
        any |= mark(j, &j->flight->seen[i], FLIGHT_NEVER);
    return any;
}

/* The collective in which the rank has been for the longest; NULL: none. */
static const struct flight_op *head_of(const struct judge *j, int64_t rank)
{
    const struct flight_dump *d = j->of_rank[rank];
    const struct flight_op *head = NULL;

    for (size_t i = 0; d && i < d->n_ops; i++)
        if (is_collective(&d->ops[i]) &&
            (!head || d->ops[i].record < head->record))
            head = &d->ops[i];
    return head;
}

/* Ranks that are in their oldest collective although all have called it and
 * others have left it. */
static bool find_stuck(struct judge *j)
{
    bool any = false;

    for (size_t i = 0; i < j->flight->n_seen; i++) {
        const struct flight_seen *seen = &j->flight->seen[i];

        if (!seen->count[FLIGHT_DONE] || seen->count[FLIGHT_HELD] ||
            seen->count[FLIGHT_NEVER] ||
            (!is_barrier(seen->func) &&
             seen->count[FLIGHT_NO_DUMP] + seen->count[FLIGHT_UNSURE]))
            continue;
        for (size_t k = 0; k < seen->n; k++) {
            const struct flight_op *head = seen->states[k] == FLIGHT_INSIDE
                                               ? head_of(j, seen->ranks[k])
                                               : NULL;

            if (head && head->group == seen->group && head->seq == seen->seq) {
                j->culprit[seen->ranks[k]] = true;
                any = true;
            }
        }
    }
    return any;
}

/* Whether the rank has a message of the other direction in flight with the
 * peer. */
static bool answers(const struct flight_dump *d, const struct flight_op *op,
                    int64_t rank)
{
    for (size_t i = 0; i < d->n_ops; i++)
        if (d->ops[i].message && d->ops[i].group == op->group &&
            d->ops[i].peer == rank && d->ops[i].sends != op->sends)
            return true;
    return false;
}

/* Adds a culprit. Returns 0, or -1 without memory. */
static int add_culprit(struct jp_flight *flight, struct flight_culprit culprit)
{
    if (VECTOR_DOUBLE(flight->culprits, flight->n_culprits) < 0)
        return -1;
    flight->culprits[flight->n_culprits++] = culprit;
    return 0;
}

/* Ranks that are in nothing, and for whose message another one waits. Returns
 * how many, or -1. */
static int find_messages(struct judge *j)
{
    struct jp_flight *flight = j->flight;

    for (size_t i = 0; i < flight->n_dumps; i++) {
        const struct flight_dump *d = &flight->dumps[i];

        for (size_t k = 0; !d->bad && k < d->n_ops; k++) {
            const struct flight_op *op = &d->ops[k];
            int64_t peer = op->peer;

            if (!flight_dump_waits(d, op) || peer < 0 || !j->of_rank[peer] ||
                j->busy[peer] || j->culprit[peer] ||
                answers(j->of_rank[peer], op, d->rank))
                continue;
            j->culprit[peer] = true;
            if (add_culprit(flight,
                            (struct flight_culprit){.rank = peer,
                                                    .cause = FLIGHT_BY_MESSAGE,
                                                    .seen = SIZE_MAX,
                                                    .message = op,
                                                    .waits = d->rank}) < 0)
                return -1;
        }
    }
    return flight->n_culprits != 0;
}

/* The collective of this number, or the one before it that shows the same.
 * NULL: it is not among those that are kept. */
static const struct flight_seen *find_seen(const struct jp_flight *flight,
                                           size_t group, int64_t seq)
{
    const struct flight_seen *found = NULL;

    for (size_t i = 0; i < flight->n_seen; i++)
        if (flight->seen[i].group == group && flight->seen[i].seq <= seq &&
            (!found || flight->seen[i].seq > found->seq))
            found = &flight->seen[i];
    return found;
}

/* The collective in which a member is that has not entered this one. NULL: none
 * is, or it waits for a message. */
static const struct flight_seen *next_of(const struct judge *j,
                                         const struct flight_seen *seen)
{
    for (size_t i = 0; i < seen->n; i++) {
        const struct flight_op *head =
            seen->states[i] == FLIGHT_HELD ? head_of(j, seen->ranks[i]) : NULL;

        if (head)
            return find_seen(j->flight, head->group, head->seq);
    }
    return NULL;
}

/* Follows who waits for whom, from the oldest collective that a rank has not
 * entered because it is in another one. Such a chain ends in a collective that
 * all have entered or of which a rank is not known, in a message, or where it
 * began: then ranks wait for each other. */
static enum flight_cause follow(struct judge *j, const struct flight_seen *seen)
{
    size_t steps = 0;

    while (seen->count[FLIGHT_HELD] && steps++ <= j->flight->n_seen) {
        const struct flight_seen *next = next_of(j, seen);

        if (!next)
            return FLIGHT_BY_MESSAGE;
        seen = next;
    }
    j->has_root = true;
    j->root_group = seen->group;
    j->root_seq = seen->seq;
    if (!seen->count[FLIGHT_HELD])
        return seen->count[FLIGHT_NO_DUMP] + seen->count[FLIGHT_UNSURE]
                   ? FLIGHT_BY_UNKNOWN
                   : FLIGHT_INSIDE_ALL;
    /* a circle: all its members are in another one than others expect */
    for (const struct flight_seen *at = seen; at;) {
        mark(j, at, FLIGHT_HELD);
        at = next_of(j, at);
        if (at == seen)
            break;
    }
    return FLIGHT_BY_ORDER;
}

/* Nobody can be blamed for sure: what is known of the rest. */
static enum flight_cause find_rest(struct judge *j)
{
    const struct flight_seen *held = NULL, *unknown = NULL;

    if (!j->flight->n_seen)
        return FLIGHT_BY_MESSAGE;
    /* the oldest of each kind */
    for (size_t i = 0; i < j->flight->n_seen; i++) {
        const struct flight_seen *seen = &j->flight->seen[i];

        if (seen->count[FLIGHT_NO_DUMP] + seen->count[FLIGHT_UNSURE] &&
            (!unknown || seen->since_us < unknown->since_us))
            unknown = seen;
        if (seen->count[FLIGHT_HELD] &&
            (!held || seen->since_us < held->since_us))
            held = seen;
    }
    if (!unknown)
        return held ? follow(j, held) : FLIGHT_INSIDE_ALL;
    j->has_root = true;
    j->root_group = unknown->group;
    j->root_seq = unknown->seq;
    return FLIGHT_BY_UNKNOWN;
}

/* Whether everything in flight was called shortly before the files were
 * written. A file that was copied looks younger than its content, never older.
 */
static bool is_young(const struct judge *j, int64_t hang_us)
{
    bool any = false;

    for (size_t i = 0; i < j->flight->n_dumps; i++) {
        const struct flight_dump *d = &j->flight->dumps[i];

        for (size_t k = 0; !d->bad && k < d->n_ops; k++) {
            const struct flight_op *op = &d->ops[k];

            if (!is_message(d, op) && !is_collective(op))
                continue;
            if (!op->created_us || !d->written_us ||
                d->written_us < d->last_us ||
                d->written_us - op->created_us >= hang_us)
                return false;
            any = true;
        }
    }
    return any;
}

/* The state in which a culprit of this cause is. */
static const enum flight_state guilty[FLIGHT_N_CAUSES] = {
    [FLIGHT_BY_MISMATCH] = FLIGHT_INSIDE,
    [FLIGHT_BY_ABSENCE] = FLIGHT_NEVER,
    [FLIGHT_BY_STUCK] = FLIGHT_INSIDE,
    [FLIGHT_BY_ORDER] = FLIGHT_HELD,
};

/* Whether the collective is one in which the cause shows in this member. */
static bool shows(const struct jp_flight *flight,
                  const struct flight_seen *seen, size_t member)
{
    enum flight_cause cause = flight->cause;

    if (seen->states[member] != (uint8_t) guilty[cause])
        return false;
    if (cause == FLIGHT_BY_MISMATCH)
        return seen->mismatch;
    return cause != FLIGHT_BY_STUCK || seen->count[FLIGHT_DONE];
}

/* Whether it shows the cause: it has a culprit in the cause's state, or the
 * others wait for it. */
static bool is_cause(const struct judge *j, const struct flight_seen *seen)
{
    if (j->has_root)
        return seen->group == j->root_group && seen->seq == j->root_seq;
    for (size_t i = 0; i < seen->n; i++)
        if (j->culprit[seen->ranks[i]] && shows(j->flight, seen, i))
            return true;
    return false;
}

/* The culprits' collectives first, then the oldest. */
static int by_weight(const void *a, const void *b, void *arg)
{
    const struct flight_seen *x = a, *y = b;
    const struct judge *j = arg;
    bool cx = is_cause(j, x), cy = is_cause(j, y);

    if (cx != cy)
        return cx ? -1 : 1;
    if (x->since_us != y->since_us)
        return x->since_us < y->since_us ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Adds a culprit for each marked rank, with the oldest collective that shows
 * it. 0 or -1. */
static int list_culprits(struct judge *j)
{
    struct jp_flight *flight = j->flight;

    for (int64_t rank = 0; rank < (int64_t) j->n_ranks; rank++) {
        size_t at = SIZE_MAX;

        for (size_t i = 0; j->culprit[rank] && i < flight->n_seen; i++) {
            const struct flight_seen *seen = &flight->seen[i];
            const int64_t *m = seen->n ? bsearch(&rank, seen->ranks, seen->n,
                                                 sizeof(rank), by_rank)
                                       : NULL;

            if (m && shows(flight, seen, (size_t) (m - seen->ranks))) {
                at = i;
                break;
            }
        }
        if (at != SIZE_MAX &&
            add_culprit(flight, (struct flight_culprit){.rank = rank,
                                                        .cause = flight->cause,
                                                        .seen = at,
                                                        .waits = -1}) < 0)
            return -1;
    }
    return 0;
}

/* Keeps the first FLIGHT_SEEN_MAX. */
static void cut_seen(struct jp_flight *flight)
{
    for (size_t i = FLIGHT_SEEN_MAX; i < flight->n_seen; i++) {
        free(flight->seen[i].states);
        free(flight->seen[i].ranks);
        flight->seen_left_out++;
    }
    if (flight->n_seen > FLIGHT_SEEN_MAX)
        flight->n_seen = FLIGHT_SEEN_MAX;
}

/* Decides the cause. 0 or -1. */
static int decide(struct judge *j, int64_t hang_us)
{
    struct jp_flight *flight = j->flight;
    int messages;

    correct_early(j);
    for (int64_t rank = 0; rank < (int64_t) j->n_ranks; rank++)
        flight->waiting += j->busy[rank];
    if (!flight->waiting)
        flight->cause = FLIGHT_NOTHING;
    else if (is_young(j, hang_us))
        flight->cause = FLIGHT_RUNNING;
    else if (find_mismatch(j))
        flight->cause = FLIGHT_BY_MISMATCH;
    else if (find_absent(j))
        flight->cause = FLIGHT_BY_ABSENCE;
    else if (find_stuck(j))
        flight->cause = FLIGHT_BY_STUCK;
    else if ((messages = find_messages(j)) != 0) {
        flight->cause = FLIGHT_BY_MESSAGE;
        return messages < 0 ? -1 : 0;
    } else
        flight->cause = find_rest(j);
    return 0;
}

/* 1 + the largest rank of any dump or group. */
static size_t count_ranks(const struct jp_flight *flight)
{
    int64_t most = 0;

    for (size_t i = 0; i < flight->n_dumps; i++)
        if (!flight->dumps[i].bad && flight->dumps[i].rank > most)
            most = flight->dumps[i].rank;
    for (size_t i = 0; i < flight->n_groups; i++)
        for (size_t k = 0; k < flight->groups[i].n_ranks; k++)
            if (flight->groups[i].ranks[k] > most)
                most = flight->groups[i].ranks[k];
    return (size_t) most + 1;
}

int flight_judge(struct jp_flight *flight, int64_t hang_us)
{
    struct judge j = {.flight = flight, .n_ranks = count_ranks(flight)};
    int rc = -1;

    j.of_rank = calloc(j.n_ranks, sizeof(*j.of_rank));
    j.busy = calloc(j.n_ranks, sizeof(*j.busy));
    j.culprit = calloc(j.n_ranks, sizeof(*j.culprit));
    j.early = calloc(j.n_ranks, sizeof(*j.early));

    if (j.of_rank && j.busy && j.culprit && j.early && list_refs(&j) == 0 &&
        list_seen(&j) == 0 && decide(&j, hang_us) == 0) {
        if (flight->n_seen)
            qsort_r(flight->seen, flight->n_seen, sizeof(*flight->seen),
                    by_weight, &j);
        cut_seen(flight);
        rc = flight->cause == FLIGHT_BY_MESSAGE ? 0 : list_culprits(&j);
    }
    for (size_t i = 0; i < flight->n_groups; i++)
        if ((int64_t) flight->groups[i].n_ranks > flight->world)
            flight->world = (int64_t) flight->groups[i].n_ranks;
    free(j.of_rank);
    free(j.busy);
    free(j.culprit);
    free(j.early);
    free(j.refs);
    return rc;
}
