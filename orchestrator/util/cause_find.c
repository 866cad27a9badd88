/* cause_find.c - compare a finding's subject with its peers, metric by metric.
 *
 * causes_find is the entry. For each finding, each row of cause_table and each
 * unit (a member, or all members of a node) compare_unit() tests one metric:
 * the null hypothesis is that the subject is drawn from the same distribution
 * as its peers. Values are in the unit of the metric. The chance is multiplied
 * by the number of possible subjects (Bonferroni), and `cause_chance_max` is
 * small enough for some fifty metrics: this guards against naming an innocent
 * metric. Metrics that pass are weighed by strength_of; chain() puts
 * consequences after their causes.
 */
#include "orchestrator/util/cause.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/stats.h"
#include "common/vector.h"

#define KEPT 5 /* limit of causes per finding */

/* The finding that is being examined. */
struct finding_state {
    const struct causes_input *in;
    const struct jp_finding *f;
    const struct course *course;
    struct cause_subject subject;
    /* room for one value per member; holds the peers' values */
    double *scratch;
    double *more;  /* the same, for other values */
    bool *suspect; /* [member] it is in another finding, so it is no peer */
};

/* Returns true if a rank or node is late: metrics of its computation may
 * explain it. */
static bool is_compute(enum jp_finding_kind kind)
{
    return kind == JP_FINDING_LATE_RANK || kind == JP_FINDING_LATE_NODE ||
           finding_is_stall(kind);
}

/* Returns true if the network is slow: metrics of links may explain it. */
static bool is_network(enum jp_finding_kind kind)
{
    return kind == JP_FINDING_SLOW_NETWORK || kind == JP_FINDING_DRIFT;
}

/* --- units of comparison -------------------------------------------------- */

/* Members [first, first + n): one member, or all members of a node. */
struct unit {
    size_t first, n;
};

/* Returns true if members of this scope are compared node by node. */
static bool by_node(const struct finding_state *x, enum jp_util_scope scope)
{
    return x->subject.whole_node || scope == JP_UTIL_PORT ||
           scope == JP_UTIL_NODE || scope == JP_UTIL_STEP;
}

/* Returns the unit that a member belongs to. Members of a node are neighbours.
 */
static struct unit unit_at(const struct finding_state *x,
                           enum jp_util_scope scope, size_t member)
{
    const struct samples *s = x->in->samples;
    const struct samples_node *node = &s->nodes[s->at[member].node];

    return by_node(x, scope) ? (struct unit){node->first[scope], node->n[scope]}
                             : (struct unit){member, 1};
}

/* Returns true if the unit is what the finding names. */
static bool is_subject(const struct finding_state *x, enum jp_util_scope scope,
                       const struct unit *unit)
{
    const struct sampled *m = &x->in->samples->at[unit->first];

    if ((int) m->node != x->subject.node)
        return false;
    if (by_node(x, scope))
        return true;
    if (scope == JP_UTIL_GPU)
        return *x->subject.gpu && strcmp(m->id, x->subject.gpu) == 0;
    return *x->subject.sampled && strcmp(m->id, x->subject.sampled) == 0;
}

/* Returns false for totals of a node that other jobs may have influenced. */
static bool is_usable(const struct finding_state *x, enum jp_util_scope scope,
                      uint32_t node)
{
    return (scope != JP_UTIL_NODE && scope != JP_UTIL_PORT) ||
           !x->in->samples->nodes[node].shared;
}

/* --- values --------------------------------------------------------------- */

/* Returns a member's value in a slice; NAN: unknown. */
static double member_at(const struct samples *s, const struct cause_row *row,
                        int column, size_t member, unsigned slice)
{
    const struct sampled *m = &s->at[member];

    if (row->derive)
        return row->derive(s, m, slice);
    return m->slices[column] ? (double) m->slices[column][slice] : NAN;
}

/* Returns a unit's value in a slice: the worst port of a node, because one bad
 * link delays all; the mean of its tasks or GPUs. NAN: unknown. */
static double unit_value(const struct samples *s, const struct cause_row *row,
                         int column, const struct unit *unit, unsigned slice)
{
    double sum = 0, worst = NAN;
    size_t n = 0;

    for (size_t i = 0; i < unit->n; i++) {
        double v = member_at(s, row, column, unit->first + i, slice);

        if (!isfinite(v))
            continue;
        worst = row->lower ? fmin(worst, v) : fmax(worst, v);
        sum += v;
        n++;
    }
    return row->scope == JP_UTIL_PORT ? worst : n ? sum / (double) n : NAN;
}

/* Returns the mean over the marked slices; NAN: unknown. *n: slices with a
 * value. */
static double mean_in(const struct samples *s, const struct cause_row *row,
                      int column, const struct unit *unit, const bool *in,
                      unsigned *n)
{
    double sum = 0;

    *n = 0;
    for (unsigned k = 0; k < s->n_slices; k++) {
        double v = in[k] ? unit_value(s, row, column, unit, k) : NAN;

        if (!isfinite(v))
            continue;
        sum += v;
        ++*n;
    }
    return *n ? sum / *n : NAN;
}

/* --- one metric ----------------------------------------------------------- */

/* The comparison of one unit in one metric. Values are in the metric's unit. */
struct comparison {
    const struct cause_row *row;
    int column;
    struct unit unit;
    size_t tried; /* number of possible subjects, for Bonferroni */
    /* the unit's means in the finding's time and in the rest; rest NAN: there
     * is none */
    double value, rest;
    /* as rest, but only before and after the finding */
    double outside;
    unsigned n_value, n_rest;
    double *peers; /* values during the finding's time, stored in scratch */
    size_t n_peers;
    double peers_median;
    double median;             /* the value it is compared with */
    double excess;             /* difference in the bad direction */
    double least;              /* excess needed, by the row's limit */
    double chance, deviations; /* chance of such an excess without a cause;
                                  excess in standard deviations */
};

/* Returns by how much a value is worse than another one. */
static double worse(const struct cause_row *row, double value, double than)
{
    return row->lower ? than - value : value - than;
}

/* Collects the values of all usable units except the subject. Without
 * `suspects`, units that other findings name are left out as well: several late
 * ranks would otherwise make each other look normal. Returns their number. */
static size_t take_peers(const struct finding_state *x,
                         const struct comparison *c, const bool *in,
                         bool suspects, double *out)
{
    const struct samples *s = x->in->samples;
    enum jp_util_scope scope = c->row->scope;
    size_t n = 0;
    unsigned known;

    for (size_t i = s->first[scope]; i < s->first[scope + 1];) {
        struct unit unit = unit_at(x, scope, i);
        double v;

        i = unit.first + unit.n;
        if (unit.first == c->unit.first || (!suspects && x->suspect[i - 1]) ||
            !is_usable(x, scope, s->at[i - 1].node))
            continue;
        v = mean_in(s, c->row, c->column, &unit, in, &known);
        if (isfinite(v))
            out[n++] = v;
    }
    return n;
}

/* Returns the smallest difference from the median that counts. Below it a
 * difference may be significant, but explains nothing. */
static double least_of(const struct cause_row *row, double median)
{
    double least = cause_limit(row->least);

    return row->relative ? least * fabs(median) : least;
}

/* Returns the standard deviation that members of a kind normally have: a share
 * of the row's limit, smaller for settings, which are equal everywhere. */
static double usual_of(const struct comparison *c)
{
    return c->least *
           cause_limit(c->row->exact ? LIMIT_CAUSE_EXACT : LIMIT_CAUSE_USUAL);
}

/* Compares with the peers at the same time, and for a finding in a part of the
 * run also the difference before and after: what differed then already is not
 * what changed. */
static void against_peers(const struct finding_state *x, struct comparison *c)
{
    const struct course *course = x->course;

    c->median = c->peers_median = stats_median(c->peers, c->n_peers);
    c->excess = worse(c->row, c->value, c->median);
    c->least = least_of(c->row, c->median);
    if (!(c->excess > c->least) || c->value < c->row->times * c->median)
        return;
    c->chance = deviation_chance(c->peers, c->n_peers, c->median, c->excess,
                                 usual_of(c), &c->deviations);
    if (course->parts && isfinite(c->outside)) {
        size_t n = take_peers(x, c, course->outside, true, x->more);
        double before = worse(c->row, c->outside, stats_median(x->more, n));

        if (n &&
            c->excess - before < cause_limit(LIMIT_CAUSE_CONTRAST) * c->excess)
            c->chance = 1;
    }
}

/* Compares with the unit's own time before and after, by a t test of two means.
 * Neighbouring slices resemble each other, so three of them count as one value;
 * counting each would make any trend significant. */
static void against_itself(const struct finding_state *x, struct comparison *c)
{
    const struct samples *s = x->in->samples;
    const bool *const in[2] = {x->course->late, x->course->rest};
    double squares = 0, mean[2] = {c->value, c->rest};
    size_t n = 0;

    c->median = c->rest;
    c->excess = worse(c->row, c->value, c->rest);
    c->least = least_of(c->row, c->rest);
    for (int part = 0; part < 2; part++)
        for (unsigned k = 0; k < s->n_slices; k++) {
            double v = in[part][k]
                           ? unit_value(s, c->row, c->column, &c->unit, k)
                           : NAN;

            if (!isfinite(v))
                continue;
            squares += (v - mean[part]) * (v - mean[part]);
            n++;
        }
    if (!(c->excess > c->least) || n < 3)
        return;
    c->chance = deviation_within(squares / (double) (n - 2), n,
                                 c->n_value / 3.0, c->n_rest / 3.0, c->excess,
                                 usual_of(c), &c->deviations);
}

/* Handles metrics of which any amount is bad (errors, throttling), without
 * peers: a cause, unless it was the same before. */
static void alone(struct comparison *c)
{
    double limit = cause_limit(c->row->least);

    if (c->value <= limit ||
        c->value - c->outside < cause_limit(LIMIT_CAUSE_CONTRAST) * c->value)
        return;
    c->median = 0;
    c->excess = c->value;
    c->least = limit;
    c->chance = 0;
}

/* Returns true if the row's further condition holds, or cannot be checked: a
 * missing column does not clear a suspect. */
static bool has_needs(struct finding_state *x, const struct comparison *c)
{
    const struct cause_needs *needs = &c->row->needs;
    struct cause_row other = {
        .scope = c->row->scope, .lower = true, .derive = needs->share};
    struct comparison o = {.row = &other, .unit = c->unit};
    unsigned known;
    double v;
    size_t n;

    if (needs->column)
        o.column = samples_column(other.scope, needs->column);
    else if (!needs->share)
        return true;
    if (o.column < 0)
        return true;
    v = mean_in(x->in->samples, &other, o.column, &c->unit, x->course->late,
                &known);
    if (isnan(v))
        return true;
    if (!needs->below_peers && !needs->share)
        return v >= needs->least;
    n = take_peers(x, &o, x->course->late, false, x->more);
    if (needs->share)
        return !n || v >= stats_median(x->more, n);
    return !n || v < stats_median(x->more, n) *
                         (1 - cause_limit(LIMIT_CAUSE_CLOCK) / 2);
}

/* Returns the number of samples in so many slices. */
static double samples_of(const struct samples *s, unsigned slices)
{
    return slices * (double) s->slice_us / (double) s->period_us;
}

/* Returns true if the unit differs in this metric. *seen: it has samples.
 * Compares with peers. Without peers, and for a network in which the peers show
 * nothing, compares with its own values in the rest of the run. */
static bool compare_unit(struct finding_state *x, struct comparison *c,
                         bool *seen)
{
    const struct samples *s = x->in->samples;
    const struct course *course = x->course;

    unsigned known;

    c->chance = 1;
    c->deviations = NAN;
    c->peers_median = NAN;
    c->value =
        mean_in(s, c->row, c->column, &c->unit, course->late, &c->n_value);
    if (!isfinite(c->value) ||
        samples_of(s, c->n_value) < cause_limit(LIMIT_CAUSE_SAMPLES))
        return false;
    *seen = true;
    c->rest = mean_in(s, c->row, c->column, &c->unit, course->rest, &c->n_rest);
    c->outside =
        mean_in(s, c->row, c->column, &c->unit, course->outside, &known);
    c->peers = x->scratch;
    /* If all peers are in other findings, they are better than none. */
    c->n_peers = take_peers(x, c, course->late, false, c->peers);
    if (!c->n_peers)
        c->n_peers = take_peers(x, c, course->late, true, c->peers);
    if (c->n_peers)
        against_peers(x, c);
    if (c->chance >= 1 && isfinite(c->rest) &&
        (!c->n_peers || is_network(x->f->kind)))
        against_itself(x, c);
    if (!c->n_peers && c->row->alone)
        alone(c);
    return c->chance * (double) c->tried <= cause_limit(LIMIT_CAUSE_CHANCE);
}

/* --- properties of a cause ------------------------------------------------ */

/* Sets when the metric differed by at least half of the excess: from the first
 * to the last such slice. */
static void find_when(const struct finding_state *x, const struct comparison *c,
                      struct jp_cause *cause)
{
    const struct samples *s = x->in->samples;
    unsigned first = s->n_slices, last = 0;

    for (unsigned k = x->course->first; k < x->course->end; k++) {
        double v = unit_value(s, c->row, c->column, &c->unit, k);

        if (!(worse(c->row, v, c->median) >= c->excess / 2))
            continue;
        first = first < k ? first : k;
        last = k;
    }
    if (first == s->n_slices)
        first = x->course->first;
    cause->start_us = s->from_us + first * s->slice_us;
    cause->end_us = s->from_us + (last + 1) * s->slice_us;
    cause->all_along = first <= x->course->first + 1;
}

/* Returns Pearson's correlation of the metric's excess over the peers with the
 * waits, slice by slice; NAN: the waits do not vary, or there are fewer than 8
 * slices. A metric that comes and goes with the waits is more likely their
 * cause. */
static double follows(struct finding_state *x, const struct comparison *c)
{
    const struct samples *s = x->in->samples;
    double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0, n = 0;

    if (!x->course->varies)
        return NAN;
    for (unsigned k = x->course->first; k < x->course->end; k++) {
        bool in[SAMPLES_SLICES] = {false};
        double v = unit_value(s, c->row, c->column, &c->unit, k);
        double w = x->course->waits_us[k];
        size_t peers;

        in[k] = true;
        peers = take_peers(x, c, in, true, x->more);
        if (peers)
            v = worse(c->row, v, stats_median(x->more, peers));
        else
            v = worse(c->row, v, 0);
        if (!isfinite(v))
            continue;
        n++;
        sx += v;
        sy += w;
        sxx += v * v;
        syy += w * w;
        sxy += v * w;
    }
    sxx -= sx * sx / n;
    syy -= sy * sy / n;
    sxy -= sx * sy / n;
    return n >= 8 && sxx > 0 && syy > 0 ? sxy / sqrt(sxx * syy) : NAN;
}

/* Returns the finding's waits as a share of the run; NAN: unknown. */
static double lost_share(const struct finding_state *x)
{
    const struct samples *s = x->in->samples;
    double sum = 0;

    for (unsigned k = x->course->first; k < x->course->end; k++)
        sum += x->course->waits_us[k];
    return sum > 0 ? fmin(sum / ((x->course->end - x->course->first) *
                                 (double) s->slice_us),
                          1)
                   : NAN;
}

/* An unknown property speaks neither for a cause nor against it. */
static double half_if_unknown(double v)
{
    return isnan(v) ? 0.5 : fmin(fmax(v, 0), 1);
}

/* Returns the part of the value that the peers do not have, for metrics of
 * which all members have some. */
static double own_share(const struct comparison *c)
{
    return c->row->common && c->n_peers && c->value > c->peers_median
               ? 1 - fmax(c->peers_median, 0) / c->value
               : 1;
}

/* Returns the strength of a cause, 0 to 1, which decides the order only. It
 * combines how large the difference is (saturating at a few limits), what part
 * of the lost time it may explain, and whether it follows the waits. The
 * weights are a judgement, not a fit. */
static double strength_of(const struct finding_state *x,
                          const struct comparison *c, double follows)
{
    double off = 1 - exp(-c->excess / (3 * c->least));
    double takes = NAN, lost = lost_share(x);

    if (c->row->takes > 0) {
        takes = c->row->takes * (c->row->relative && c->median > 0
                                     ? c->excess / c->median
                                     : c->excess);
        takes = isnan(lost) ? takes / 0.05 : takes / fmax(lost, 0.01);
    }
    return c->row->prior * own_share(c) *
           (0.4 * off + 0.3 * half_if_unknown(takes) +
            0.3 * half_if_unknown(follows));
}

/* Returns the member of the unit that differs: every other one is at most half
 * as far off. NULL: there are several. */
static const struct sampled *odd_member(const struct finding_state *x,
                                        const struct comparison *c)
{
    const struct samples *s = x->in->samples;
    double most = 0, second = 0;
    size_t odd = c->unit.first;

    for (size_t i = c->unit.first; i < c->unit.first + c->unit.n; i++) {
        const struct unit one = {i, 1};
        unsigned n;
        double off = worse(
            c->row, mean_in(s, c->row, c->column, &one, x->course->late, &n),
            c->median);

        if (off > most) {
            second = most;
            most = off;
            odd = i;
        } else if (off > second) {
            second = off;
        }
    }
    return c->unit.n == 1 || second < most / 2 ? &s->at[odd] : NULL;
}

/* Fills the cause from the comparison. */
static void fill_cause(struct finding_state *x, struct comparison *c,
                       size_t finding, struct jp_cause *cause)
{
    const struct samples *s = x->in->samples;
    const struct sampled *m = &s->at[c->unit.first];
    const struct sampled *odd = odd_member(x, c);
    const struct cause_row *row = c->row;

    *cause = (struct jp_cause){
        .what = row->what,
        .finding = finding,
        .scope = row->scope,
        .node = s->nodes[m->node].name,
        .metric = row->metric,
        .unit =
            row->derive
                ? row->unit
                : util_tables[samples_kind(row->scope)].columns[c->column].unit,
        .value = c->value,
        .peers = c->peers_median,
        .before = c->rest,
        .deviations = c->deviations,
        .n_peers = (uint32_t) c->n_peers,
        .follows = follows(x, c)};
    if (odd && row->scope != JP_UTIL_NODE && row->scope != JP_UTIL_STEP)
        memcpy(cause->id, odd->id, sizeof(cause->id));
    find_when(x, c, cause);
    cause->strength = strength_of(x, c, cause->follows);
    cause_describe(&x->subject, row, cause);
}

/* --- one finding ---------------------------------------------------------- */

/* Keeps the strongest cause of each kind. found: by kind. */
static void keep_cause(struct jp_cause *found, const struct jp_cause *cause)
{
    if (!(found[cause->what].strength >= cause->strength))
        found[cause->what] = *cause;
}

/* Tries one metric: for the subject, or for every unit if a slow network has no
 * named node. */
static void try_row(struct finding_state *x, const struct cause_row *row,
                    size_t finding, struct jp_cause *found,
                    struct jp_cause_look *look)
{
    const struct samples *s = x->in->samples;
    struct comparison c = {.row = row};
    bool anyone = is_network(x->f->kind) && x->subject.node < 0;
    size_t from = s->first[row->scope], to = s->first[row->scope + 1];

    c.column = row->derive ? 0 : samples_column(row->scope, row->metric);
    if (c.column < 0)
        return;
    for (size_t i = from; i < to;) { /* if no one is named, tries all */
        struct unit unit = unit_at(x, row->scope, i);

        i = unit.first + unit.n;
        c.tried += anyone;
    }
    if (!anyone)
        c.tried = 1;
    for (size_t i = from; i < to;) {
        struct jp_cause cause;
        bool seen = false;

        c.unit = unit_at(x, row->scope, i);
        i = c.unit.first + c.unit.n;
        if (!anyone && !is_subject(x, row->scope, &c.unit))
            continue;
        if (!is_usable(x, row->scope, s->at[c.unit.first].node)) {
            look->shared = true;
            continue;
        }
        if (compare_unit(x, &c, &seen) && has_needs(x, &c)) {
            fill_cause(x, &c, finding, &cause);
            keep_cause(found, &cause);
        }
        if (seen)
            look->seen |= 1U << row->what;
    }
}

static int by_strength(const void *a, const void *b)
{
    const struct jp_cause *x = a, *y = b;

    if (x->strength != y->strength)
        return x->strength > y->strength ? -1 : 1;
    return x->what < y->what ? -1 : x->what > y->what;
}

/* Returns true if the loss is due to the process's own computing and not to
 * others on its processors. A process that computes more than its peers also
 * waits more for a processor, in proportion: compares its additional computing
 * with the wait beyond that proportion. */
static bool is_own(const struct jp_cause *found)
{
    const struct jp_cause *own = &found[JP_CAUSE_CPU_OWN];
    const struct jp_cause *shared = &found[JP_CAUSE_CPU_SHARED];
    double more;

    if (!(own->strength > 0 && shared->strength > 0))
        return false;
    if (shared->unit != UTIL_SHARE || !(own->peers > 0))
        return true;
    more = fmax(own->value / own->peers, 1);
    return own->value - own->peers >
           shared->value - (shared->scope == JP_UTIL_TASK ? shared->peers * more
                                                          : shared->peers);
}

/* Moves a consequence after its cause, by its strength. */
static void put_behind(struct jp_cause *what, const struct jp_cause *by)
{
    if (by->strength > 0 && what->strength > 0)
        what->strength = fmin(what->strength, 0.9 * by->strength);
}

/* Orders causes and consequences, e.g. heat before a low clock. */
static void chain(struct jp_cause *found)
{
    if (is_own(found))
        put_behind(&found[JP_CAUSE_CPU_SHARED], &found[JP_CAUSE_CPU_OWN]);
    for (size_t i = 0; i < cause_chains_n; i++)
        put_behind(&found[cause_chains[i].what], &found[cause_chains[i].by]);
}

/* Appends the KEPT strongest causes of one finding. Returns 0 or -1. */
static int add_cause(struct jp_causes *causes, struct jp_cause *found,
                     struct jp_cause_look *look)
{
    size_t n = 0;

    for (size_t i = 0; i < JP_CAUSES; i++)
        if (found[i].strength > 0)
            found[n++] = found[i];
    if (n)
        qsort(found, n, sizeof(*found), by_strength);
    n = n < KEPT ? n : KEPT;
    if (vector_resize(&causes->at, causes->n + n + 1, sizeof(*causes->at)) < 0)
        return -1;
    look->first = causes->n;
    look->n = n;
    for (size_t i = 0; i < n; i++)
        causes->at[causes->n++] = found[i];
    return 0;
}

/* Examines one finding. Returns 0 or -1. */
static int look_into(struct finding_state *x, size_t finding,
                     struct jp_causes *causes)
{
    struct jp_cause_look *look = &causes->looks[finding];
    struct jp_cause found[JP_CAUSES] = {0};
    unsigned of = is_compute(x->f->kind)   ? CAUSE_OF_COMPUTE
                  : is_network(x->f->kind) ? CAUSE_OF_NETWORK
                                           : 0;
    int rc;

    if (!of)
        return 0;
    look->looked = true;
    cause_subject_find(x->in, x->f, &x->subject);
    for (size_t i = 0; i < cause_table_n; i++)
        if (cause_table[i].of & of)
            try_row(x, &cause_table[i], finding, found, look);
    for (unsigned i = 0; i < JP_CAUSES; i++)
        if (look->seen & 1U << i)
            look->list[look->n_list++] = (char *) cause_words[i];
    cause_describe_reason(&x->subject, found);
    chain(found);
    rc = add_cause(causes, found, look);
    cause_describe_advice(&x->subject, causes, look);
    return rc;
}

/* --- all findings --------------------------------------------------------- */

/* Marks tasks and GPUs that are named by a finding; they are no peers. Nodes
 * and ports are not marked: a late rank does not make its node a bad peer. */
static void mark_suspects(struct finding_state *x)
{
    const struct jp_findings *list = &x->in->insight->findings;
    const struct samples *s = x->in->samples;

    for (size_t k = 0; k < list->n; k++) {
        x->f = &list->at[k];
        if (!is_compute(x->f->kind))
            continue;
        cause_subject_find(x->in, x->f, &x->subject);
        for (size_t i = 0; i < s->n && x->subject.node >= 0; i++) {
            struct unit one = {i, 1};

            if (s->at[i].scope != JP_UTIL_NODE &&
                s->at[i].scope != JP_UTIL_STEP &&
                s->at[i].scope != JP_UTIL_PORT)
                x->suspect[i] |= is_subject(x, s->at[i].scope, &one);
        }
    }
}

int causes_find(const struct causes_input *in, struct jp_causes **out,
                struct jp_error *err)
{
    const struct jp_findings *list = &in->insight->findings;
    struct finding_state x = {.in = in};
    struct course *courses;
    struct jp_causes *causes;
    int rc = -1;

    *out = NULL;
    if (!in->samples->n)
        return 0;
    causes = calloc(1, sizeof(*causes));
    courses = courses_make(in);
    x.scratch = calloc(in->samples->n + 1, sizeof(*x.scratch));
    x.more = calloc(in->samples->n + 1, sizeof(*x.more));
    x.suspect = calloc(in->samples->n + 1, sizeof(*x.suspect));
    if (causes)
        causes->looks = calloc(list->n + 1, sizeof(*causes->looks));
    if (causes && courses && x.scratch && x.more && x.suspect &&
        causes->looks) {
        causes->n_looks = list->n;
        mark_suspects(&x);
        rc = 0;
    }
    for (size_t i = 0; rc == 0 && i < list->n; i++) {
        x.f = &list->at[i];
        x.course = &courses[i];
        rc = look_into(&x, i, causes);
    }
    free(courses);
    free(x.scratch);
    free(x.more);
    free(x.suspect);
    if (rc < 0) {
        causes_destroy(causes);
        return error_set(err, "out of memory");
    }
    *out = causes;
    return 0;
}

void causes_destroy(struct jp_causes *causes)
{
    if (!causes)
        return;
    free(causes->at);
    free(causes->looks);
    free(causes);
}

const struct jp_cause_look *causes_look(const struct jp_causes *causes,
                                        size_t finding)
{
    return causes && finding < causes->n_looks && causes->looks[finding].looked
               ? &causes->looks[finding]
               : NULL;
}
