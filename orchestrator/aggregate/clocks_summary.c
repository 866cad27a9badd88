/* clocks_summary.c - how well the times of a run's nodes compare, in one
 * sentence. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/aggregate/clocks.h"

/* Starts and times mostly show different last ranks, in operations in which
 * both are certain. Waits that overlap computation cause some of these. */
static bool disagrees(const struct jp_clocks *clocks)
{
    return clocks->compared >= CLOCKS_DISAGREE_LEAST &&
           clocks->disagreed >
               CLOCKS_DISAGREE_SHARE * (double) clocks->compared;
}

/* Says that times of different nodes cannot be compared, and by how much they
 * seem off. */
static void say_unaligned(const struct jp_clocks *clocks, char *buf)
{
    const struct clocks_check *c = &clocks->before;

    if (!c->operations)
        snprintf(buf, CLOCKS_TEXT,
                 "Times of different nodes do not compare: no operation of "
                 "several nodes tells start and end. How far their clocks are "
                 "apart is not known.");
    else if (c->violations)
        snprintf(buf, CLOCKS_TEXT,
                 "Times of different nodes do not compare: their clocks seem "
                 "at least %s apart, and %" PRIu64 " of their %" PRIu64
                 " collectives do not overlap as recorded, which no offset "
                 "explains.",
                 FIG_US((double) c->worst_ns / 1000), c->violations,
                 c->operations);
    else
        snprintf(buf, CLOCKS_TEXT,
                 "Times of different nodes do not compare: their %" PRIu64
                 " collectives are too few to tell how far their clocks are "
                 "apart. As recorded all of them overlap.",
                 c->operations);
}

/* Whether probes and collectives agree, where both are there. */
static void say_check(const struct jp_clocks *clocks, char *buf, size_t size)
{
    const struct clocks_probes *p = &clocks->probes;

    *buf = '\0';
    if (p->files && !p->tied)
        snprintf(buf, size,
                 " Probes of %zu nodes were too few to compare clocks.",
                 p->files);
    else if (p->check.done && !p->check.apart)
        snprintf(buf, size, " Probes and collectives agree.");
    else if (p->check.done)
        snprintf(buf, size,
                 " Probes and collectives disagree on %zu of %zu clocks, on "
                 "that of %.64s by %s where %s is explained: %s.",
                 p->check.apart, p->check.compared,
                 clocks->nodes[p->check.worst].host, FIG_US(p->check.apart_us),
                 FIG_US(p->check.allowed_us),
                 p->used ? "times are those of the probes"
                         : "by the probes many operations do not overlap, so "
                           "times are those of the collectives");
}

/* Says how many operations do not overlap on one clock, and what that means. */
static void say_torn(const struct jp_clocks *clocks, char *buf, size_t size)
{
    const struct clocks_check *c = &clocks->after;

    *buf = '\0';
    if (clocks->widened_us <= 0 &&
        (double) c->violations <= CLOCKS_TORN_TOLD * (double) c->operations)
        return;
    snprintf(buf, size,
             " %" PRIu64 " of %" PRIu64
             " operations of several nodes do not overlap even so, by up to "
             "%s: some of their recorded times are wrong.",
             c->violations, c->operations, FIG_US((double) c->worst_ns / 1000));
    if (clocks->widened_us > 0)
        snprintf(buf + strlen(buf), size - strlen(buf),
                 " So the clocks of some nodes are taken to be uncertain by "
                 "%s.",
                 FIG_US(clocks->widened_us));
}

char *clocks_text(const struct jp_clocks *clocks, char *buf)
{
    size_t apart = 0, far = 0, n = clocks->map.n_nodes;
    double unc_us = 0;
    bool near = true;

    *buf = '\0';
    if (n < 2)
        return buf;
    if (clocks->map.method == CLOCKMAP_NONE) {
        say_unaligned(clocks, buf);
        return buf;
    }
    for (size_t i = 0; i < n; i++) {
        const struct jp_clock *c = &clocks->nodes[i];

        apart += !c->aligned;
        near &= !c->aligned || clocks->map.nodes[i].near;
        unc_us = fmax(unc_us, c->unc_us);
        if (fabs(c->offset_us) > fabs(clocks->nodes[far].offset_us))
            far = i;
    }
    if (clocks->nodes[far].offset_us == 0)
        snprintf(buf, CLOCKS_TEXT, "The nodes' clocks agree");
    else
        snprintf(buf, CLOCKS_TEXT, "The clock of %.64s is %s %s that of %.64s",
                 clocks->nodes[far].host,
                 FIG_US(fabs(clocks->nodes[far].offset_us)),
                 clocks->nodes[far].offset_us < 0 ? "behind" : "ahead of",
                 clocks->map.nodes[clocks->map.reference].host);
    snprintf(buf + strlen(buf), CLOCKS_TEXT - strlen(buf),
             "; by %s times of different nodes compare within %s.",
             clocks->map.method != CLOCKMAP_PROBES ? "their collectives"
             : clocks->probes.by_xla               ? "probes of the tasks' XLA"
                                                   : "probes between the nodes",
             FIG_US(unc_us));
    say_check(clocks, buf + strlen(buf), CLOCKS_TEXT - strlen(buf));
    if (near)
        snprintf(buf + strlen(buf), CLOCKS_TEXT - strlen(buf),
                 " That is too near to tell them apart: times stay as "
                 "recorded.");
    if (apart)
        snprintf(buf + strlen(buf), CLOCKS_TEXT - strlen(buf),
                 " The clocks of %zu other nodes could not be compared: their "
                 "times stay as recorded.",
                 apart);
    if (clocks->probes.xla_ambiguous)
        snprintf(
            buf + strlen(buf), CLOCKS_TEXT - strlen(buf),
            " Probes of the tasks' XLA are not used: a process index is on "
            "two nodes.");
    say_torn(clocks, buf + strlen(buf), CLOCKS_TEXT - strlen(buf));
    if (disagrees(clocks))
        snprintf(buf + strlen(buf), CLOCKS_TEXT - strlen(buf),
                 " Starts and times name different ranks as the last in %.0f "
                 "%% of %" PRIu64 " operations: trust neither.",
                 100 * (double) clocks->disagreed / (double) clocks->compared,
                 clocks->compared);
    return buf;
}
