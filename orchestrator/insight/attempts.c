/* attempts.c - the attempts of a job whose ranks were started anew, or the
 * programs that its tasks ran one after the other: when each ran, how it ended,
 * what was lost until the next one, and what was found in it.
 *
 * A program may also restart within its processes: all of them abort their
 * communicators with operations in flight and make new ones. No launcher tells
 * it, and each process is of both parts, so it is said and nothing is split. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/vector.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/insight.h"

/* The work of attempts_find: of each process its launcher's count, -1: it told
 * none. */
struct search {
    const struct jp_insight *x;
    int64_t *restarts;
};

static int by_count(const void *a, const void *b)
{
    const struct jp_attempt *x = a, *y = b;

    return (x->restarts > y->restarts) - (x->restarts < y->restarts);
}

/* Sets the counts of all processes from their recordings, or in logs by the
 * programs that were found there. */
static void take_counts(struct search *s, const struct jp_result *r)
{
    const struct jp_processes *p = &s->x->processes;

    for (size_t i = 0; i < p->n; i++)
        s->restarts[i] =
            r->quality.programs && !r->n_recorded
                ? r->ranks[p->by_process[p->list[i].first]].restarts
                : -1;
    for (size_t i = 0; i < r->n_recorded; i++) {
        const struct jp_recorded *of = &r->recorded[i];
        const struct jp_process *at =
            processes_find(&s->x->processes, of->host, of->pid, of->instance);

        if (at && of->launched.restarts >= 0 &&
            of->launched.restarts <= UINT32_MAX)
            s->restarts[at - s->x->processes.list] = of->launched.restarts;
    }
}

/* Returns the attempt with this count, which is added if it is new; NULL: no
 * memory. */
static struct jp_attempt *attempt_of(struct jp_attempts *out, int64_t restarts)
{
    struct jp_attempt *more;

    for (size_t i = 0; i < out->n; i++)
        if (out->list[i].restarts == restarts)
            return &out->list[i];
    more = VECTOR_DOUBLE_ADD(out->list, out->n);
    if (more)
        *more =
            (struct jp_attempt){.restarts = (uint32_t) restarts, .rank = -1};
    return more;
}

/* Counts the processes of each attempt. -1: no memory. */
static int count_processes(const struct search *s, struct jp_attempts *out)
{
    for (size_t i = 0; i < s->x->processes.n; i++) {
        struct jp_attempt *a;

        if (s->restarts[i] < 0)
            continue;
        a = attempt_of(out, s->restarts[i]);
        if (!a)
            return -1;
        a->processes++;
    }
    return 0;
}

/* Returns the attempt of a process by its place in the list; NULL: none. */
static struct jp_attempt *attempt_at(const struct search *s,
                                     struct jp_attempts *out, int64_t process)
{
    for (size_t i = 0; process >= 0 && i < out->n; i++)
        if (s->restarts[process] == out->list[i].restarts)
            return &out->list[i];
    return NULL;
}

/* Sets when the attempts ran. The time of an attempt is known if that of each
 * of its processes is. */
static void take_times(const struct search *s, const struct jp_result *r,
                       struct jp_attempts *out)
{
    uint32_t *timed = calloc(out->n + 1, sizeof(*timed));

    for (size_t i = 0; timed && i < r->n_busy; i++) {
        const struct jp_busy *b = &r->busy[i];
        const struct jp_process *at =
            processes_find(&s->x->processes, b->host, b->pid, b->instance);
        struct jp_attempt *a =
            at ? attempt_at(s, out, at - s->x->processes.list) : NULL;

        if (!a || b->state != JP_BUSY_TOLD || !b->from_us)
            continue;
        timed[a - out->list]++;
        if (!a->from_us || b->from_us < a->from_us)
            a->from_us = b->from_us;
        if (b->to_us > a->to_us)
            a->to_us = b->to_us;
    }
    for (size_t i = 0; i < out->n; i++)
        if (!timed || timed[i] < out->list[i].processes)
            out->list[i].from_us = out->list[i].to_us = 0;
    for (size_t i = 0; i + 1 < out->n; i++)
        if (out->list[i].to_us && out->list[i + 1].from_us > out->list[i].to_us)
            out->list[i].lost_us = out->list[i + 1].from_us -
                                   out->list[i].to_us;
    free(timed);
}

/* Sets how each attempt ended. -1: no memory. */
static int take_ends(const struct search *s, const struct jp_nodes *nodes,
                     struct jp_attempts *out)
{
    for (size_t i = 0; i < out->n; i++) {
        struct jp_attempt *a = &out->list[i];
        struct jp_crash crash;

        if (crash_of_attempt(nodes, &s->x->processes, a->restarts,
                             i + 1 < out->n, &crash) < 0)
            return -1;
        a->is_fault = crash_is_fault(&crash);
        snprintf(a->ended, sizeof(a->ended), "%s", crash.text);
        if ((!a->is_fault && crash.cause != JP_CRASH_UNKNOWN) || !crash.node)
            continue;
        snprintf(a->host, sizeof(a->host), "%s", crash.node->name);
        a->rank = crash.world_rank;
    }
    return 0;
}

/* Sets the worst finding of each attempt. Findings are sorted. */
static void take_findings(const struct search *s, struct jp_attempts *out)
{
    const struct jp_findings *all = &s->x->findings;

    for (size_t i = 0; i < all->n; i++) {
        struct jp_attempt *a = all->at[i].kind != JP_FINDING_CRASH
                                   ? attempt_at(s, out, all->at[i].process)
                                   : NULL;

        if (a && !*a->found)
            snprintf(a->found, sizeof(a->found), "%.*s",
                     (int) sizeof(a->found) - 1, all->at[i].text);
    }
}

/* "2 attempts, 0.52 s lost between them; each failure began on n2". The same
 * node twice is worth a look; that it is the cause is not said. */
static void write_text(struct jp_attempts *out)
{
    uint32_t faults = 0, same = 0;
    bool known = true;
    const char *host = "";
    uint64_t lost_us = 0;
    struct jp_sentence s;

    for (size_t i = 0; i < out->n; i++) {
        const struct jp_attempt *a = &out->list[i];

        lost_us += a->lost_us;
        known &= i + 1 == out->n || a->lost_us;
        if (!a->is_fault && !*a->host)
            continue;
        if (!faults++)
            host = a->host;
        same += *a->host && !strcmp(a->host, host);
    }
    sentence_init(&s, out->text, sizeof(out->text));
    if (out->programs && out->by_logs)
        sentence_add(&s,
                     "%s programs, or starts of one, on the same nodes one "
                     "after the other: each is judged by itself; logs do not "
                     "show which it was, nor how the first ones ended",
                     FIG_COUNT(out->n));
    else if (out->programs)
        sentence_add(&s,
                     "%s programs, which the tasks ran one after the other: "
                     "each is judged by itself",
                     FIG_COUNT(out->n));
    if (known)
        sentence_add(&s, "%s%s%s without an operation between them",
                     out->programs ? "" : FIG_COUNT(out->n),
                     out->programs ? "" : " attempts, ",
                     FIG_US((double) lost_us));
    else if (!out->programs)
        sentence_add(&s, "%s attempts", FIG_COUNT(out->n));
    if (faults > 1 && same == faults)
        sentence_add(&s, "each of the %s failures began on %.60s",
                     FIG_COUNT(faults), host);
    else if (faults > 1)
        sentence_add(&s, "%s failures, not all on one known node",
                     FIG_COUNT(faults));
}

/* --- within the processes --------------------------------------------------
 */

/* When a communicator was in use. */
struct use {
    size_t comm;
    uint64_t from_us, to_us; /* 0: it has no operation */
    uint64_t timed_us; /* start of its last operation that ended on all ranks */
    uint64_t left;     /* records of later ones, which never ended */
};

/* The communicators in order of their first use. */
struct in_place {
    const struct jp_processes *p;
    const struct jp_result *r;
    struct use *uses;
    size_t n;
    size_t *place; /* of each communicator among uses; SIZE_MAX: none */
    uint8_t *before, *after; /* of each process: it has such communicators */
    /* results */
    uint32_t times;
    uint64_t left, pause_us; /* operations that had not ended; all pauses */
};

static int by_first_use(const void *a, const void *b)
{
    const struct use *x = a, *y = b;

    return (x->from_us > y->from_us) - (x->from_us < y->from_us);
}

/* Sets when each communicator was in use. False: a time is unknown. */
static bool take_uses(struct in_place *s)
{
    struct ops_reader reader = {.ops = s->r->ops};
    size_t kept = 0;

    for (size_t i = 0; i < s->r->n_comms; i++)
        s->uses[i] = (struct use){.comm = i};
    for (size_t i = 0; i < s->r->n_ops; i++) {
        const struct jp_op *op = ops_at(&reader, i);
        struct use *use = &s->uses[op->comm];

        if (!op->n_start || (op->n_exec && !op->end_max_us))
            return false;
        if (!use->from_us || op->start_min_us < use->from_us)
            use->from_us = op->start_min_us;
        if (op->end_max_us > use->to_us)
            use->to_us = op->end_max_us;
        if (op->n_exec == op->n && op->start_min_us > use->timed_us)
            use->timed_us = op->start_min_us;
    }
    for (size_t i = 0; i < s->r->n_ops; i++) {
        const struct jp_op *op = ops_at(&reader, i);
        struct use *use = &s->uses[op->comm];

        if (!op->n_exec && op->start_min_us > use->timed_us)
            use->left += op->n;
    }
    for (size_t i = 0; i < s->r->n_comms; i++)
        if (s->uses[i].from_us)
            s->uses[kept++] = s->uses[i];
    s->n = kept;
    qsort(s->uses, kept, sizeof(*s->uses), by_first_use);
    for (size_t i = 0; i < s->r->n_comms; i++)
        s->place[i] = SIZE_MAX;
    for (size_t i = 0; i < kept; i++)
        s->place[s->uses[i].comm] = i;
    return true;
}

/* Whether all processes have communicators of both parts, from `first` to `at`
 * and from there on, and the largest one of both has as many ranks. */
static bool have_both(struct in_place *s, size_t first, size_t at)
{
    uint32_t largest[2] = {0, 0};

    memset(s->before, 0, s->p->n);
    memset(s->after, 0, s->p->n);
    for (size_t i = 0; i < s->r->n_ranks; i++) {
        size_t place = s->place[s->r->ranks[i].comm];

        if (place == SIZE_MAX || place < first)
            continue;
        *(place < at ? &s->before[s->p->of_rank[i]]
                     : &s->after[s->p->of_rank[i]]) = 1;
    }
    for (size_t i = 0; i < s->p->n; i++)
        if (!s->before[i] || !s->after[i])
            return false;
    for (size_t i = first; i < s->n; i++) {
        uint32_t n = s->r->comms[s->uses[i].comm].n_ranks;

        if (n > largest[i >= at])
            largest[i >= at] = n;
    }
    return largest[0] == largest[1];
}

/* Looks for moments at which all communicators in use are left for new ones,
 * while operations of the old ones have not ended. */
static void find_moments(struct in_place *s)
{
    uint64_t to_us = s->n ? s->uses[0].to_us : 0, left;
    size_t first = 0;

    left = s->n ? s->uses[0].left : 0;
    for (size_t i = 1; i < s->n; i++) {
        const struct use *use = &s->uses[i];

        if (use->from_us > to_us && left && have_both(s, first, i)) {
            s->times++;
            s->left += left;
            s->pause_us += use->from_us - to_us;
            first = i;
            left = 0;
        }
        left += use->left;
        if (use->to_us > to_us)
            to_us = use->to_us;
    }
}

/* Says it where it is known. -1: no memory. */
static int find_in_place(const struct jp_insight *insight,
                         const struct jp_result *r, struct jp_attempts *out)
{
    const struct jp_processes *p = &insight->processes;
    struct in_place s = {.p = p, .r = r};
    struct jp_sentence text;
    int rc = 0;

    /* such operations are counted there */
    if (!p->known || !r->ops || !r->n_ops || !r->quality.in_flight)
        return 0;
    s.uses = calloc(r->n_comms + 1, sizeof(*s.uses));
    s.place = calloc(r->n_comms + 1, sizeof(*s.place));
    s.before = calloc(p->n + 1, 1);
    s.after = calloc(p->n + 1, 1);
    if (!s.uses || !s.place || !s.before || !s.after)
        rc = -1;
    else if (take_uses(&s))
        find_moments(&s);
    if (s.times) {
        sentence_init(&text, out->text, sizeof(out->text));
        sentence_add(&text,
                     "all processes went on in new communicators%s%s%s, %s "
                     "after the last operation of the old ones, of which %s "
                     "records have no end",
                     s.times > 1 ? ", " : "",
                     s.times > 1 ? FIG_COUNT(s.times) : "",
                     s.times > 1 ? " times" : "",
                     FIG_US((double) s.pause_us / s.times), FIG_COUNT(s.left));
        sentence_add(&text, "that is a restart within the processes, as a "
                            "rule, and its parts are judged together");
    }
    free(s.uses);
    free(s.place);
    free(s.before);
    free(s.after);
    return rc;
}

int attempts_find(const struct jp_insight *insight,
                  const struct jp_nodes *nodes, const struct jp_result *result,
                  struct jp_attempts *out)
{
    struct search s = {.x = insight};
    int rc = 0;

    *out = (struct jp_attempts){0};
    if (!result || !insight->processes.n)
        return 0;
    s.restarts = calloc(insight->processes.n, sizeof(*s.restarts));
    if (!s.restarts)
        return -1;
    take_counts(&s, result);
    rc = count_processes(&s, out);
    if (rc == 0 && out->n > 1) {
        qsort(out->list, out->n, sizeof(*out->list), by_count);
        for (size_t i = 0; i < out->n; i++)
            out->list[i].number = (uint32_t) i + 1;
        take_times(&s, result, out);
        rc = nodes ? take_ends(&s, nodes, out) : 0;
        take_findings(&s, out);
        out->programs = result->quality.programs > 0;
        out->by_logs = out->programs && !result->n_recorded;
        write_text(out);
    } else {
        attempts_fini(out);
        if (rc == 0)
            rc = find_in_place(insight, result, out);
    }
    if (rc < 0)
        attempts_fini(out);
    free(s.restarts);
    return rc;
}

void attempts_fini(struct jp_attempts *attempts)
{
    free(attempts->list);
    *attempts = (struct jp_attempts){0};
}
