/* attempts.c - the attempts of a job whose ranks were started anew: when each
 * ran, how it ended, what was lost until the next one, and what was found in
 * it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/vector.h"
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

/* Sets the counts of all processes from their recordings. */
static void take_counts(struct search *s, const struct jp_result *r)
{
    for (size_t i = 0; i < s->x->processes.n; i++)
        s->restarts[i] = -1;
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
static void say(struct jp_attempts *out)
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
    if (known)
        sentence_add(&s, "%s attempts, %s without an operation between them",
                     FIG_COUNT(out->n), FIG_US((double) lost_us));
    else
        sentence_add(&s, "%s attempts", FIG_COUNT(out->n));
    if (faults > 1 && same == faults)
        sentence_add(&s, "each of the %s failures began on %.60s",
                     FIG_COUNT(faults), host);
    else if (faults > 1)
        sentence_add(&s, "%s failures, not all on one known node",
                     FIG_COUNT(faults));
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
        say(out);
    } else {
        attempts_fini(out);
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
