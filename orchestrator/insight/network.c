/* network.c - from series of the network's time to findings. */
#include "orchestrator/insight/network_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/netgroups.h"
#include "orchestrator/insight/netpairs.h"
#include "orchestrator/insight/sentence.h"
#include "orchestrator/insight/stats.h"

#define MINOR 0.3 /* a kind with less of all excess is the other, misread */
#define HOSTS_NAMED 4

static bool spans_hosts(const struct network *w, size_t comm)
{
    return w->r->comms[comm].n_hosts > 1;
}

/* Marks the communicators of a kind of series, and those that are well. */
size_t network_mark(struct network *w, enum netseries_course course)
{
    size_t n = 0;

    memset(w->slow, 0, w->r->n_comms * sizeof(*w->slow));
    memset(w->healthy, 0, w->r->n_comms * sizeof(*w->healthy));
    for (size_t i = 0; i < w->list->n; i++) {
        const struct jp_netseries *s = &w->list->at[i];

        w->healthy[s->comm] = true;
        if (s->course == course && !w->slow[s->comm]) {
            w->slow[s->comm] = true;
            n++;
        }
    }
    for (size_t c = 0; c < w->r->n_comms; c++)
        w->healthy[c] &= !w->slow[c];
    return n;
}

/* Of communicators that span hosts, or of the others. */
static void count_hosts(struct network *w, bool span)
{
    memset(w->slow_at, 0, w->p->n_hosts * sizeof(*w->slow_at));
    memset(w->healthy_at, 0, w->p->n_hosts * sizeof(*w->healthy_at));
    memset(w->stamp, 0, w->p->n_hosts * sizeof(*w->stamp));
    for (size_t c = 0; c < w->r->n_comms; c++) {
        if ((!w->slow[c] && !w->healthy[c]) || spans_hosts(w, c) != span)
            continue;
        for (size_t i = w->p->comm_start[c]; i < w->p->comm_start[c + 1]; i++) {
            size_t h = w->p->processes[w->p->of_rank[i]].host_at;

            if (w->stamp[h] == c + 1)
                continue;
            w->stamp[h] = c + 1;
            w->slow_at[h] += w->slow[c];
            w->healthy_at[h] += w->healthy[c];
        }
    }
}

static const char *host_name(const struct network *w, size_t host)
{
    for (size_t i = 0; i < w->p->n_processes; i++)
        if (w->p->processes[i].host_at == host)
            return w->p->processes[i].host;
    return "";
}

/* The nodes that all of `between` slow communicators share and, where `only`,
 * no healthy one has, into buf; returns how many. */
static size_t name_hosts(const struct network *w, size_t between, bool only,
                         char *buf, size_t size, size_t *first)
{
    size_t n = 0;

    buf[0] = '\0';
    for (size_t h = 0; between && h < w->p->n_hosts; h++) {
        size_t len = strlen(buf);

        if (w->slow_at[h] < between || (only && w->healthy_at[h]))
            continue;
        if (n < HOSTS_NAMED)
            snprintf(buf + len, size - len, "%s%.36s", n ? " and " : "",
                     host_name(w, h));
        *first = n++ ? *first : h;
    }
    return n;
}

struct network_sum network_add_up(const struct network *w,
                                  enum netseries_course course)
{
    struct network_sum sum = {
        .from_us = INFINITY, .to_us = -INFINITY, .passed = true};

    for (size_t i = 0; i < w->list->n; i++) {
        const struct jp_netseries *s = &w->list->at[i];

        if (s->course != course)
            continue;
        sum.passed &= s->passed;
        sum.ops += s->ops;
        sum.excess_us += s->excess_us;
        sum.ratio += s->excess_us * s->after_us / s->before_us;
        sum.from_us = fmin(sum.from_us, s->from_us);
        sum.to_us = fmax(sum.to_us, s->to_us);
        if (!sum.worst || s->excess_us > sum.worst->excess_us)
            sum.worst = s;
    }
    if (sum.excess_us > 0)
        sum.ratio /= sum.excess_us;
    return sum;
}

/* Which node it is, if the communicators tell, or between which two: these are
 * slow together, and well with others. */
void network_say_hosts(struct network *w, struct jp_finding *f, char *buf,
                       size_t size)
{
    size_t between = 0, first = 0, n;
    bool only = true, span = false;
    char names[160];

    for (size_t c = 0; c < w->r->n_comms; c++)
        span |= w->slow[c] && spans_hosts(w, c);
    for (size_t c = 0; c < w->r->n_comms; c++)
        between += w->slow[c] && spans_hosts(w, c) == span;
    count_hosts(w, span);
    n = name_hosts(w, between, true, names, sizeof(names), &first);
    if (!n) {
        only = false;
        n = name_hosts(w, between, false, names, sizeof(names), &first);
    }
    buf[0] = '\0';
    if (n == 0 || n > HOSTS_NAMED)
        return;
    snprintf(buf, size, ", all with %s%.120s%s", n == 1 ? "node " : "nodes ",
             names, only ? " and no other" : "");
    if (n == 1)
        snprintf(f->host, sizeof(f->host), "%s", host_name(w, first));
}

static int add_course(struct network *w, enum netseries_course course,
                      enum jp_finding_kind kind)
{
    struct network_sum sum = network_add_up(w, course);
    size_t comms = network_mark(w, course);
    struct jp_finding *f = findings_add(w->findings, kind);
    struct jp_sentence text;
    char hosts[200], when[16 + 2 * JP_FIGURE_LEN] = "";
    bool passed;

    if (!f)
        return -1;
    if (comms == 1)
        f->comm = (int64_t) sum.worst->comm;
    f->coll = comms == 1 ? sum.worst->coll : NULL;
    f->from_us = isfinite(sum.from_us) ? sum.from_us : NAN;
    f->to_us = isfinite(sum.to_us) ? sum.to_us : NAN;
    f->cost_us = sum.excess_us;
    f->share = w->list->time_us > 0 ? sum.excess_us / w->list->time_us : NAN;
    f->against = JP_AGAINST_OWN;
    network_say_hosts(w, f, hosts, sizeof(hosts));
    passed = sum.passed && isfinite(f->to_us);
    if (course == NET_STEP && isfinite(f->from_us))
        snprintf(when, sizeof(when), " from %s %s%s",
                 FIG_UTC((uint64_t) f->from_us), passed ? "to " : "on",
                 passed ? FIG_UTC((uint64_t) f->to_us) : "");
    sentence_init(&text, f->text, sizeof(f->text));
    sentence_add(
        &text,
        "the network's time %s by %s%s in %zu communicator%s%s; cost %s of "
        "GPU time, %s of communication",
        course == NET_STEP ? "grew" : "grew steadily, over the run",
        FIG_SHARE(sum.ratio - 1), when, comms, sentence_s(comms), hosts,
        FIG_US(f->cost_us), FIG_SHARE(f->share));
    snprintf(f->next, sizeof(f->next), "%s",
             *f->host ? "look at that node's HCAs and links: error counters, "
                        "width, speed, congestion"
                      : "look at the fabric at that time: error counters, "
                        "congestion, other jobs");
    return 0;
}

static int tell(struct network *w)
{
    struct network_sum step = network_add_up(w, NET_STEP),
                       line = network_add_up(w, NET_LINE);
    double both = step.excess_us + line.excess_us;
    double least =
        fmax(MINOR * both,
             w->list->time_us * limits_table[JP_LIMIT_NET_SHARE].value);
    int rc;

    if (step.excess_us > least &&
        add_course(w, NET_STEP, JP_FINDING_SLOW_NETWORK) < 0)
        return -1;
    if (line.excess_us > least && add_course(w, NET_LINE, JP_FINDING_DRIFT) < 0)
        return -1;
    if (step.excess_us > least || line.excess_us > least)
        return 0;
    rc = network_compare(w);
    if (rc == 0)
        rc = netgroups_findings(w);
    if (rc)
        return rc < 0 ? -1 : 0;
    return netpairs_findings(w->r, w->p, w->list->time_us, w->findings);
}

int network_findings(const struct jp_result *r, const struct jp_people *p,
                     const struct jp_netserieses *list,
                     const struct jp_expectation *expectation,
                     struct jp_findings *findings)
{
    struct network w = {.r = r,
                        .p = p,
                        .list = list,
                        .expectation = expectation,
                        .findings = findings};
    int rc = -1;

    w.slow = calloc(r->n_comms + 1, sizeof(*w.slow));
    w.healthy = calloc(r->n_comms + 1, sizeof(*w.healthy));
    w.slow_at = calloc(p->n_hosts + 1, sizeof(*w.slow_at));
    w.healthy_at = calloc(p->n_hosts + 1, sizeof(*w.healthy_at));
    w.stamp = calloc(p->n_hosts + 1, sizeof(*w.stamp));
    if (w.slow && w.healthy && w.slow_at && w.healthy_at && w.stamp)
        rc = tell(&w);
    free(w.slow);
    free(w.healthy);
    free(w.slow_at);
    free(w.healthy_at);
    free(w.stamp);
    return rc;
}
