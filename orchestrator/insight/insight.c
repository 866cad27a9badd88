/* insight.c - run every analysis that the data allows, and answer every
 * question.
 *
 * insight_run is the way through: missing data first (find_gaps), then
 * analyse_result(): hangs, then compare_ranks() for everything that compares
 * ranks, then the answers. What is missing narrows what is judged, operation by
 * operation (late.h), and silences nothing else. Each analysis appends findings
 * and sets how small an effect it would have seen; the answer_* functions here
 * turn both into one answer per question. A question without an answer stays
 * "not examined", so an analysis that did not run never looks like a good
 * result.
 */
#include "common/figure.h"
#include "orchestrator/insight/insight.h"
#include "orchestrator/insight/likes.h"
#include "orchestrator/insight/limits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "orchestrator/aggregate/clocks.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/aggregate/pauses.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/insight/expected.h"
#include "orchestrator/insight/looks.h"
#include "orchestrator/insight/stalls.h"
#include "orchestrator/insight/whatif.h"

/* Marks each question that has no answer yet as not judged. why: a clause that
 * fits on a line. */
static void answer_rest(struct jp_hypotheses *h, const char *why)
{
    for (size_t i = 0; i < JP_N_HYPOTHESES; i++)
        if (h->of[i].state == JP_HYPOTHESIS_NOT_JUDGED && !*h->of[i].text)
            hypothesis_set(h, (enum jp_hypothesis_id) i,
                           JP_HYPOTHESIS_NOT_JUDGED, NAN, "%s", why);
}

/* Sets the name of each finding's rank ("19", "3 of TP1"). All outputs print
 * this name, so they agree. */
static void name_ranks(struct jp_insight *x, const struct jp_result *r)
{
    char name[JP_PROCESS_NAME_LEN];

    for (size_t i = 0; i < x->findings.n; i++) {
        struct jp_finding *f = &x->findings.at[i];
        const struct jp_process *who =
            f->process >= 0 ? &x->processes.list[f->process] : NULL;

        if (who && f->rank >= 0)
            snprintf(f->name, sizeof(f->name), "%.59s",
                     processes_rank_name(&x->processes, r, who, name));
    }
}

/* If more than this share of the operations is torn, and at least TORN_LEAST of
 * them, traces were joined in a wrong order. */
#define TORN_SHARE 0.05
enum { TORN_LEAST = 3 };

/* Whether operations that traces of kernels gave by their order cannot be the
 * same ones: a rank began after the longest of the others could have ended.
 * Only times of one clock are in such records. */
static bool is_torn(const struct jp_result *r)
{
    struct ops_reader reader = {.ops = r->ops};
    size_t all = 0, torn = 0;

    if (!r->quality.kernel_traces ||
        r->quality.kernel_traces != r->quality.files || clocks_map(r->clocks))
        return false;
    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(&reader, i);

        if (op->n < 2 || op->n_start != op->n || op->n_exec != op->n ||
            !collective_is_barrier(r->coll_names[op->coll]))
            continue;
        all++;
        /* a microsecond each is lost by rounding */
        torn += op->start_max_us - op->start_min_us > op->exec_max_us + 2;
    }
    return torn >= TORN_LEAST && (double) torn > TORN_SHARE * (double) all;
}

/* Looks at each finding of a rank, or of a node's ranks, for which others wait:
 * adds what it did longer than its peers, if traces of kernels show it. */
static void explain_ranks(struct jp_insight *x)
{
    char text[JP_OWNWORK_TEXT];

    for (size_t i = 0; i < x->findings.n; i++) {
        struct jp_finding *f = &x->findings.at[i];
        bool waited = f->kind == JP_FINDING_LATE_RANK ||
                      f->kind == JP_FINDING_IMBALANCE ||
                      finding_is_stall(f->kind);
        int64_t at =
            waited && f->rank >= 0
                ? ownwork_find(&x->ownwork, f->world_rank, f->host, f->pid)
                : -1;
        size_t used = strlen(f->text);

        *text = '\0';
        if (f->kind == JP_FINDING_LATE_NODE)
            ownwork_host_text(&x->ownwork, f->host, text);
        else if (at >= 0)
            ownwork_text(&x->ownwork, (size_t) at, text);
        if (*text)
            snprintf(f->text + used, sizeof(f->text) - used, "; %s", text);
    }
}

/* Returns the question that a finding answers. It depends on more than the kind
 * where one kind answers several questions: a slow network is compared with
 * peaks, with likes or with itself; an imbalance is of a rank or of a stage. */
static enum jp_hypothesis_id question_of(const struct jp_finding *f)
{
    if (f->kind == JP_FINDING_SLOW_NETWORK && f->against == JP_AGAINST_LIKES)
        return JP_HYPOTHESIS_SLOW_LINK;
    if (f->kind == JP_FINDING_SLOW_NETWORK && f->against == JP_AGAINST_OWN)
        return JP_HYPOTHESIS_DRIFT;
    if (f->kind == JP_FINDING_IMBALANCE && f->stage)
        return JP_HYPOTHESIS_STAGE_IMBALANCE;
    return (enum jp_hypothesis_id) findings_about[f->kind].question;
}

/* Returns the size of a found fault, in the unit of its family: a share longer
 * than usual for the network, else a share of the run's time (the larger of the
 * replayed gain and the waits). NAN: unknown. */
static double size_of(const struct jp_finding *f,
                      enum jp_hypothesis_family family)
{
    if (family == JP_HYPOTHESIS_NETWORK)
        return f->ratio - 1;
    return fmax(f->gain, f->of_run);
}

/* Marks the questions that have a finding as found. A rank that is late in a
 * part of the run is found with less than what a rank must be late all along;
 * then the smallest effect that would be seen is unknown. */
static void answer_found(struct jp_hypotheses *h,
                         const struct jp_findings *findings)
{
    size_t n[JP_N_HYPOTHESES] = {0};

    for (size_t i = 0; i < findings->n; i++) {
        const struct jp_finding *f = &findings->at[i];
        enum jp_hypothesis_id id = question_of(f);
        enum jp_hypothesis_family family = hypotheses_table[id].family;

        n[id]++;
        if (family && size_of(f, family) < h->of[id].least)
            h->of[id].least = NAN;
    }
    for (size_t i = 0; i < JP_N_HYPOTHESES; i++)
        if (n[i])
            hypothesis_set(h, (enum jp_hypothesis_id) i, JP_HYPOTHESIS_FOUND,
                           h->of[i].least, "%s finding%s", FIG_COUNT(n[i]),
                           plural(n[i]));
}

/* Takes back the answer "not found" of a question if the smallest effect that
 * it would have shown is larger than the largest fault found in its family.
 * Such a fault hides smaller ones, so the answer would be a false all-clear. */
static void answer_hidden(struct jp_hypotheses *h,
                          const struct jp_findings *findings)
{
    char least[JP_HYPOTHESIS_LEN];

    for (size_t i = 0; i < JP_N_HYPOTHESES; i++) {
        enum jp_hypothesis_family family = hypotheses_table[i].family;
        double most = NAN;

        for (size_t k = 0; family && k < findings->n; k++) {
            const struct jp_finding *f = &findings->at[k];

            /* A finding that leaves the verdict OK does not take back answers.
             */
            if (hypotheses_table[question_of(f)].family == family &&
                finding_verdict(f) != JP_VERDICT_OK)
                most = fmax(most, size_of(f, family));
        }
        if (h->of[i].state != JP_HYPOTHESIS_NOT_FOUND ||
            !(h->of[i].least > most))
            continue;
        hypothesis_set(h, (enum jp_hypothesis_id) i, JP_HYPOTHESIS_NOT_JUDGED,
                       NAN,
                       "effects below %s cannot be seen beside the findings",
                       hypothesis_least(h, (enum jp_hypothesis_id) i, least));
        h->of[i].todo = "fix what was found, then profile again";
    }
}

/* Answers whether records are missing. hides: so many are that a fault could be
 * among them. Otherwise the smallest visible loss is what `coverage_min`
 * allows. */
static void answer_loss(const struct jp_evidence *e, bool hides,
                        struct jp_hypotheses *h)
{
    if (hides)
        hypothesis_set(h, JP_HYPOTHESIS_DATA_LOSS, JP_HYPOTHESIS_FOUND, NAN,
                       "records are missing");
    else if (e->expected.coverage < 0)
        hypothesis_set(h, JP_HYPOTHESIS_DATA_LOSS, JP_HYPOTHESIS_NOT_JUDGED,
                       NAN, "the number of expected records is unknown");
    else
        hypothesis_set(h, JP_HYPOTHESIS_DATA_LOSS, JP_HYPOTHESIS_NOT_FOUND,
                       1 - limits_get(JP_LIMIT_COVERAGE), NULL);
}

/* Returns whether any record of an operation is missing, and answers the
 * question of data loss. A node without a record of its own may have left those
 * of its ranks. */
static bool find_gaps(const struct jp_jobconf *conf,
                      const struct jp_nodes *nodes,
                      const struct jp_result *result, struct jp_hypotheses *h)
{
    struct jp_evidence e = {.conf = conf,
                            .nodes = nodes,
                            .result = result,
                            .analysed = true,
                            .expected = expected_records(conf, nodes, result)};
    char text[400], of_nodes[400];
    struct jp_sentence s, nodes_only;

    sentence_init(&s, text, sizeof(text));
    answer_loss(&e, gaps_list(&e, &s), h);
    sentence_init(&nodes_only, of_nodes, sizeof(of_nodes));
    gaps_nodes(&e, &nodes_only);
    return s.clauses > nodes_only.clauses;
}

/* --- how small a lateness would have been seen --------------------------- */

/* How sensitive the search for late ranks was. */
struct seen {
    size_t judged, blind; /* processes that were judged; those of them that no
                             lateness shorter than the run would have named */
    double least, node; /* of the others the least lateness that would have been
                           named, as a share of the run; node: the same for all
                           ranks of a node. 0: the run's length is unknown */
    enum jp_late_by by; /* what decides it */
    bool own;           /* own times decide who is named */
};

/* Returns true if a finding names the process, or its node. */
static bool is_named(const struct jp_insight *x, const struct jp_process *who)
{
    for (size_t i = 0; i < x->findings.n; i++) {
        const struct jp_finding *f = &x->findings.at[i];

        if (!strcmp(f->host, who->host) &&
            (f->kind == JP_FINDING_LATE_NODE ||
             (f->kind == JP_FINDING_LATE_RANK && f->pid == who->pid)))
            return true;
    }
    return false;
}

/* Sets the least lateness of a process that own times speak of: they decide who
 * is named. Few intervals do not show how blocks differ: then the sums count
 * where they need more. */
static void state_own(const struct jp_insight *x, size_t process, double *least,
                      enum jp_late_by *by)
{
    const struct judge_process *own = &x->judge->processes[process];
    /* by durations a slower network explains as much (is_contradicted) */
    double us =
        (x->judge->timed ? own->least_us : fmax(own->least_us, own->net_us)) /
        x->judge->run_us;

    if (own->intervals < JUDGE_KNOWN_INTERVALS && *least >= us)
        return;
    /* of a few sums name from there on, too (is_of_few of blame.c) */
    if (x->judge->timed && own->likes <= JUDGE_FEW &&
        fmax(*least, JUDGE_TOLD) < us) {
        *least = fmax(*least, JUDGE_TOLD);
        return;
    }
    *least = us;
    *by = us > own->least_us / x->judge->run_us            ? JP_LATE_BY_SPREAD
          : own->least_us > own->apart_us                  ? JP_LATE_BY_ERROR
          : own->apart_us > JUDGE_WORTH * x->judge->run_us ? JP_LATE_BY_SPREAD
                                                           : JP_LATE_BY_WORTH;
}

/* Own times compare a process with those of its role. Where these are all on
 * its own host, as in a pipeline of a node a stage, a lateness of the whole
 * host is none of theirs. What it has more than all other hosts may be work or
 * lateness: so much would not be named. Raises *least and *by by that for each
 * such host. Compares up to HOSTS_COMPARED of them. 0, or -1: no memory. */
static int state_hosts(const struct jp_insight *x, double *least,
                       enum jp_late_by *by)
{
    enum { HOSTS_COMPARED = 256 };
    const struct jp_processes *p = &x->processes;
    enum judge_side *side = calloc(p->n + 1, sizeof(*side));
    bool *done = calloc(p->n_hosts + 1, sizeof(*done));
    size_t compared = 0;
    int rc = side && done ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < p->n && compared < HOSTS_COMPARED; i++) {
        const struct jp_process *who = &p->list[i];
        struct judge_group group;

        if (!x->judge->processes[i].judged || done[who->host_at] ||
            judge_has_likes_elsewhere(x->judge, p, i) || is_named(x, who))
            continue;
        done[who->host_at] = true;
        compared++;
        for (size_t k = 0; k < p->n; k++)
            side[k] = p->list[k].host_at == who->host_at ? JUDGE_IN
                                                         : JUDGE_OTHER;
        if (!judge_compare(x->judge, side, p->n, p->n_hosts, &group))
            continue;
        if (fmax(group.us, group.least_us) / x->judge->run_us > *least) {
            *least = fmax(group.us, group.least_us) / x->judge->run_us;
            *by = group.us > group.least_us ? JP_LATE_BY_SPREAD
                                            : JP_LATE_BY_ERROR;
        }
    }
    free(side);
    free(done);
    return rc;
}

/* A process counts with its most sensitive rank: the smallest excess that one
 * of its ranks would have been named for. If all of its ranks have an excess
 * that is larger, and it is not named for whatever reason, it counts with the
 * smallest of these. The job then counts with its least sensitive process,
 * because "no rank that costs X" must hold for all of them. speaks:
 * owntime_speaks. recorded: the share of the operations that was recorded; a
 * rank is later by as much in the others.
 */
static struct seen measure_sensitivity(const struct jp_insight *x, bool speaks,
                                       double recorded)
{
    struct seen seen = {.own = speaks};

    for (size_t i = 0; i < x->processes.n; i++) {
        const struct jp_process *who = &x->processes.list[i];
        enum jp_late_by by = JP_LATE_BY_WORTH;
        double least = NAN, node = NAN, excess = NAN;
        bool judged = false, role = false;

        for (size_t k = who->first; k < who->first + who->n; k++) {
            const struct jp_lateness *l =
                &x->lateness[x->processes.by_process[k]];
            double run_us = l->run_us > 0 ? l->run_us * recorded : NAN;
            double node_us = l->node_us > 0 ? l->node_us : INFINITY;

            if (!l->judged)
                continue;
            judged = true;
            role |= l->with_likes;
            excess = fmin(excess, l->excess_us / run_us);
            if (!(least <= l->stated_us / run_us)) {
                least = l->stated_us / run_us;
                by = l->stated_by;
            }
            node = fmin(node, fmin(node_us, l->stated_us) / run_us);
        }
        /* without the run's length no share of it is known */
        if (speaks && judged && x->run_us > 0 && x->judge->processes[i].judged)
            state_own(x, i, &least, &by);
        seen.judged += judged;
        seen.blind += least >= 1;
        if (excess > least && !role && !is_named(x, who))
            least = excess;
        if (least < 1 && least > seen.least) {
            seen.least = least;
            seen.by = by;
        }
        seen.node = node < 1 ? fmax(seen.node, node) : seen.node;
    }
    if (speaks && x->run_us > 0 && x->processes.n_hosts > 1 &&
        state_hosts(x, &seen.least, &seen.by) < 0)
        seen.judged = 0; /* nothing is claimed */
    return seen;
}

/* Finds the unjudged communicator of several ranks with the fewest complete
 * operations. *ops: their number. NULL: none has operations. */
static const struct jp_comm *find_thin(const struct jp_insight *x,
                                       const struct jp_result *r, uint64_t *ops)
{
    const struct jp_comm *thin = NULL;

    for (size_t i = 0; i < r->n_ranks; i++) {
        const struct jp_comm *comm = &r->comms[r->ranks[i].comm];
        uint64_t fewest = x->lateness[i].fewest;

        if (comm->n_ranks < 2 || !fewest || x->lateness[i].judged ||
            (thin && *ops <= fewest))
            continue;
        thin = comm;
        *ops = fewest;
    }
    return thin;
}

/* So many complete operations are not too few, if ranks are missing, too. */
enum { ENOUGH = 30 };

/* Returns the reason why most processes are not judged, the most general one
 * first. May use buf. */
static const char *why_unjudged(const struct jp_insight *x,
                                const struct jp_result *r,
                                const struct seen *seen, char *buf, size_t size)
{
    const struct jp_quality *q = &r->quality;
    const struct jp_comm *thin;
    uint64_t ops = 0;

    if (q->waits_unknown)
        return "too many records to sum up waits within the memory limit";
    if (!x->processes.known)
        return "the records do not tell the processes apart";
    if (2 * q->unsure_records > q->records ||
        2 * q->untimed_records > q->records)
        return "most operations have no time";
    if (seen->judged && 2 * seen->judged >= x->processes.n)
        return HYPOTHESIS_BLIND;
    thin = find_thin(x, r, &ops);
    if (!thin)
        return late_why_none(r);
    if (q->short_comms && ops >= ENOUGH)
        return "ranks have no records, and what the others waited for is "
               "unknown";
    if (ops >= ENOUGH && (double) thin->ops_complete <
                             limits_get(JP_LIMIT_WHOLE) * (double) thin->ops) {
        snprintf(
            buf, size,
            "records of some ranks are missing in %s of the operations of "
            "%.24s, and what the others waited for is unknown",
            FIG_SHARE(1 - (double) thin->ops_complete / (double) thin->ops),
            processes_comm_name(thin));
        return buf;
    }
    snprintf(buf, size,
             "%.24s has only %s complete operation%s of one of its functions, "
             "too few to compare ranks",
             processes_comm_name(thin), FIG_COUNT(ops), plural(ops));
    return buf;
}

/* Sets what would make the smallest lateness smaller. */
static void advise_on_lateness(const struct jp_insight *x,
                               const struct seen *seen, struct jp_judgement *j)
{
    static const char *const by[JP_LATE_REASONS] = {
        [JP_LATE_BY_ERROR] =
            "profile a longer run: it varies too much from one "
            "part to the next",
        [JP_LATE_BY_SPREAD] = "profile more ranks of a kind: those that are "
                              "there may differ by as much anyway",
        [JP_LATE_BY_HIDDEN] =
            "waits in Broadcast, Reduce, or on a slower "
            "network may be as long: a run without them shows "
            "more",
        [JP_LATE_BY_PROOF] = "profile a longer run: there are too few "
                             "operations to prove who comes last",
    };

    j->todo = seen->least > 0
                  ? by[seen->by]
                  : "record start and end of operations (verbose=1): without "
                    "them the length of the run is not known";
    if (seen->least > JUDGE_TOLD && seen->by == JP_LATE_BY_SPREAD &&
        seen->own && !x->judge->timed)
        j->todo = "record start and end of operations (verbose=1): durations "
                  "may count an excess several times";
}

/* Returns true if no rank recorded so many operations that it is told. */
static bool lacks_operations(const struct jp_insight *x)
{
    return x->unrecorded > limits_get(JP_LIMIT_STATED);
}

/* Late ranks count as judged if at least half of the processes were: fewer
 * could miss the late one more often than not. The text has the number of
 * judged processes if it is not all. */
static void answer_ranks(const struct jp_insight *x, const struct jp_result *r,
                         const struct seen *seen, struct jp_hypotheses *h)
{
    size_t n = seen->judged - seen->blind;
    char why[JP_HYPOTHESIS_WHY] = "";

    if (n < x->processes.n && seen->least > 0)
        snprintf(why, sizeof(why), "%s of %s ranks cost%s less than %s",
                 FIG_COUNT(n), FIG_COUNT(x->processes.n), n == 1 ? "s" : "",
                 FIG_SHARE(seen->least));
    else if (n < x->processes.n)
        snprintf(why, sizeof(why), "%s of %s ranks no later than the others",
                 FIG_COUNT(n), FIG_COUNT(x->processes.n));
    else if (lacks_operations(x) && seen->least > 0)
        snprintf(why, sizeof(why),
                 "no rank that costs %s in the operations that were recorded",
                 FIG_SHARE(seen->least));
    if (x->processes.known && x->processes.n == 1)
        hypothesis_set(h, JP_HYPOTHESIS_LATE_RANK, JP_HYPOTHESIS_NOT_JUDGED,
                       NAN, "%s",
                       r->quality.ranks_expected > 1
                           ? "only one rank has records"
                           : "only one rank, so no other waits for it");
    else if (2 * n < x->processes.n || !n)
        hypothesis_set(h, JP_HYPOTHESIS_LATE_RANK, JP_HYPOTHESIS_NOT_JUDGED,
                       NAN, "%s", why_unjudged(x, r, seen, why, sizeof(why)));
    else
        hypothesis_set(h, JP_HYPOTHESIS_LATE_RANK, JP_HYPOTHESIS_NOT_FOUND,
                       seen->least, "%s", why);
    if (h->of[JP_HYPOTHESIS_LATE_RANK].state == JP_HYPOTHESIS_NOT_FOUND)
        advise_on_lateness(x, seen, &h->of[JP_HYPOTHESIS_LATE_RANK]);
    /* no longer run would show more */
    else if (x->processes.known && x->processes.n == 1)
        h->of[JP_HYPOTHESIS_LATE_RANK].todo =
            r->quality.ranks_expected > 1
                ? "profile all ranks, or give the files of all"
                : "ranks are compared where there are several";
    else if (reasons_find(hypothesis_why(h, JP_HYPOTHESIS_LATE_RANK)) ==
             JP_REASON_APART)
        h->of[JP_HYPOTHESIS_LATE_RANK].todo =
            "only ranks of one communicator can be compared";
    else if (reasons_find(hypothesis_why(h, JP_HYPOTHESIS_LATE_RANK)) ==
             JP_REASON_NO_TIMES)
        h->of[JP_HYPOTHESIS_LATE_RANK].todo =
            "only operations whose durations were recorded can be compared";
    else if (!x->processes.known)
        h->of[JP_HYPOTHESIS_LATE_RANK].todo =
            "run a process for each GPU, or record with mode recorder, which "
            "tells the GPUs of a process apart";
    else if (!late_has_barriers(r))
        h->of[JP_HYPOTHESIS_LATE_RANK].todo =
            "jobprof show lists who waited for whose messages";
}

/* A late node is judged under the same conditions as a late rank, and needs a
 * second node to be compared with. */
static void answer_nodes(const struct jp_insight *x, const struct seen *seen,
                         struct jp_hypotheses *h)
{
    if (!hypothesis_judged(h, JP_HYPOTHESIS_LATE_RANK))
        hypothesis_set(h, JP_HYPOTHESIS_LATE_NODE, JP_HYPOTHESIS_NOT_JUDGED,
                       NAN, "%s", hypothesis_why(h, JP_HYPOTHESIS_LATE_RANK));
    else if (x->processes.n_hosts < 2)
        hypothesis_set(h, JP_HYPOTHESIS_LATE_NODE, JP_HYPOTHESIS_NOT_JUDGED,
                       NAN,
                       "only one node, so there is no other to compare with");
    else
        hypothesis_set(h, JP_HYPOTHESIS_LATE_NODE, JP_HYPOTHESIS_NOT_FOUND,
                       seen->node > 0 ? seen->node : NAN, NULL);
}

#define RECORD_ALL "record all operations: no rank recorded a part of them"

static void answer_lateness(struct jp_insight *x, const struct jp_result *r)
{
    struct seen seen =
        measure_sensitivity(x, owntime_speaks(r, x->judge, &x->findings),
                            x->findings.part ? expected_seen_while_on(r) : 1);

    struct jp_judgement *ranks = &x->hypotheses.of[JP_HYPOTHESIS_LATE_RANK];

    x->blind = seen.blind;
    answer_ranks(x, r, &seen, &x->hypotheses);
    if (lacks_operations(x) && ranks->state == JP_HYPOTHESIS_NOT_FOUND &&
        (!ranks->todo || ranks->least <= limits_get(JP_LIMIT_STATED)))
        ranks->todo = RECORD_ALL;
    answer_nodes(x, &seen, &x->hypotheses);
}

/* Raises the stated lateness to that of ranks that own times name and no
 * finding does. */
static void answer_dropped(struct jp_insight *x)
{
    const struct jp_judgement *late =
        &x->hypotheses.of[JP_HYPOTHESIS_LATE_RANK];

    for (size_t i = 0; x->judge && i < x->judge->n; i++) {
        const struct judge_answer *a = &x->judge->answers[i];
        double share = a->excess_us / x->judge->run_us;

        if (a->kind != JUDGE_STALL && share > late->least &&
            late->state == JP_HYPOTHESIS_NOT_FOUND &&
            !is_named(x, &x->processes.list[a->process]))
            hypothesis_set(&x->hypotheses, JP_HYPOTHESIS_LATE_RANK,
                           JP_HYPOTHESIS_NOT_FOUND, share, NULL);
    }
}

/* --- all analyses -------------------------------------------------------- */

/* Fills x->expected: for each cell the bandwidth by peaks or baseline; without
 * both a high quantile of its own bandwidths (`net_best`). Returns 0 or -1. */
static int find_expected(struct jp_insight *x, const struct jp_result *r,
                         const struct jp_expectation *expectation)
{
    const struct jp_netcells *cells = &x->network;

    x->expected = calloc(cells->n + 1, sizeof(*x->expected));
    for (size_t i = 0; x->expected && i < cells->n; i++) {
        const struct jp_netcell *cell = &cells->at[i];
        struct jp_expected_bw *e = &x->expected[i];

        expectation_find(expectation, &r->comms[cell->comm], cell->key.coll,
                         cell->bytes, e);
        if (e->against != JP_AGAINST_NOTHING)
            continue;
        e->against = JP_AGAINST_OWN;
        e->gbs = bwhist_quantile(&cell->gbs, limits_get(JP_LIMIT_NET_BEST));
    }
    return x->expected ? 0 : -1;
}

/* Runs the analyses that compare ranks. Returns 0, or -1 without memory.
 *
 * The order matters. The series come first, because late ranks are judged with
 * the network's own time. Three need most memory, and each frees what it worked
 * with before the next: the judge's own times, sums of waits, and the replay,
 * by which the judge prices its answers. Stalls come before blame_findings(),
 * which tells nobody who is late by stalls only. The network follows: pairs of
 * ranks are not compared if a rank is late, because messages wait for it.
 * blame_by_own_times() comes last: it speaks where nothing else was found.
 */
static int compare_ranks(struct jp_insight *x, struct jp_result *r,
                         const struct jp_processes *p,
                         const struct jp_expectation *expectation)
{
    const char *gpu = expectation ? expectation->gpu : NULL;
    struct jp_netserieses series;
    int rc = -1;

    if (netseries_read(r, gpu ? gpu : "", &x->network, &series) < 0)
        return -1;
    warmup_sum(&series, &x->warmup);
    if (find_expected(x, r, expectation) < 0)
        goto out;
    x->judge = judge_measure(r, p, x->run_us);
    x->lateness = calloc(r->n_ranks + 1, sizeof(*x->lateness));
    if (!x->judge || !x->lateness ||
        late_judge(r, p, &series, x->lateness) < 0 ||
        judge_price(x->judge, r, p) < 0)
        goto out;
    rc = stalls_findings(r, p, x->judge, &x->findings, &x->stalls);
    if (rc == 0)
        rc = blame_findings(r, p, x->judge, x->lateness, &x->findings);
    answer_lateness(x, r);
    if (rc == 0)
        rc = stages_findings(r, p, x->judge, x->lateness, &x->findings);
    if (rc == 0)
        rc = load_findings(r, p, &x->network, &x->findings);
    if (rc == 0)
        rc = network_findings(r, p, &series, expectation, &x->findings);
    if (rc == 0)
        rc = turns_findings(r, p, x->judge, &x->findings);
    if (rc == 0)
        rc = phases_findings(r, p, &x->findings);
    if (rc == 0)
        rc = blame_by_own_times(r, p, x->judge, &x->findings);
    if (x->stalls.judged)
        stalls_leave_out(p, x->judge, &x->hypotheses);
out:
    netseries_fini(&series);
    return rc;
}

/* --- the GPU time of the run ---------------------------------------------- */

/* A communicator is at most about as long as the longest one: records are
 * written in batches. */
#define SPAN_MOST 1.1

/* Same hosts. Times of such communicators are by the same clocks. */
static int by_hosts(const struct jp_comm *x, const struct jp_comm *y)
{
    int order = (x->n_hosts > y->n_hosts) - (x->n_hosts < y->n_hosts);

    for (size_t i = 0; !order && i < x->n_hosts; i++)
        order = strcmp(x->hosts[i], y->hosts[i]);
    return order;
}

/* From the first to the last operation of a communicator. */
struct span {
    size_t class; /* of the hosts of its communicator */
    double from, to;
};

static int by_class_and_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    if (x->class != y->class)
        return x->class > y->class ? 1 : -1;
    return (x->from > y->from) - (x->from < y->from);
}

/* Returns how long a process ran: the longest time of one class of its spans,
 * without gaps between them. Sorts the spans. */
static double time_of(struct span *spans, size_t n)
{
    double most = 0, sum = 0, end = -INFINITY;

    if (n)
        qsort(spans, n, sizeof(*spans), by_class_and_start);
    for (size_t i = 0; i < n; i++) {
        if (i && spans[i].class != spans[i - 1].class) {
            sum = 0;
            end = -INFINITY;
        }
        if (spans[i].to > end)
            sum += spans[i].to - fmax(spans[i].from, end);
        end = fmax(end, spans[i].to);
        most = fmax(most, sum);
    }
    return most;
}

/* Fills the spans of all communicators, in recorded time. Returns false if one
 * is longer than the run: then a clock was set. */
static bool find_spans(const struct jp_result *r, double run_us,
                       struct ops_reader *reader, const size_t *class_of,
                       struct span *spans)
{
    for (size_t c = 0; c < r->n_comms; c++)
        spans[c] = (struct span){class_of[c], INFINITY, -INFINITY};
    reader->ops = r->ops;
    ops_want(reader, OPS_DUMP_MIN);
    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);
        uint64_t at_us = op->dump_min_us;
        struct span *s = &spans[op->comm];

        if (!at_us)
            return false;
        at_us -= pauses_known_us(&r->quality, r->ops->dump_first, at_us);
        s->from = fmin(s->from, (double) at_us);
        s->to = fmax(s->to, (double) at_us);
        if (s->to - s->from > SPAN_MOST * run_us)
            return false;
    }
    return true;
}

/* Raises the GPU time of the run to how long each process had communicators,
 * one after the other, if that is known. 0, or -1: no memory. */
static int find_gpu_time(const struct jp_result *r,
                         const struct jp_processes *p, double run_us,
                         double *gpus_us)
{
    size_t *class_of = calloc(r->n_comms + 1, sizeof(*class_of)), classes;
    struct span *of_comm = calloc(r->n_comms + 1, sizeof(*of_comm));
    struct span *mine = calloc(r->n_ranks + 1, sizeof(*mine));
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    bool ok = class_of && of_comm && mine && reader &&
              likes_number(r, by_hosts, class_of, &classes) == 0;
    double sum = 0;

    if (ok && find_spans(r, run_us, reader, class_of, of_comm)) {
        for (size_t i = 0; i < p->n; i++) {
            const struct jp_process *who = &p->list[i];
            size_t n = 0;

            for (size_t k = who->first; k < who->first + who->n; k++) {
                const struct span *s =
                    &of_comm[r->ranks[p->by_process[k]].comm];

                if (s->to > s->from)
                    mine[n++] = *s;
            }
            sum += time_of(mine, n);
        }
        /* a process with few operations has run as long as the others */
        *gpus_us = fmax(*gpus_us, sum);
    }
    free(class_of);
    free(of_comm);
    free(mine);
    free(reader);
    return ok ? 0 : -1;
}

static bool has_hang(const struct jp_findings *findings)
{
    return findings->n && findings->at[0].kind == JP_FINDING_HANG;
}

/* Analyses a result. Hangs are looked for first, so a hang is the first finding
 * (has_hang). Doubtful findings are dropped before the others are replayed, as
 * what one of several costs depends on all of them. whole: no record is
 * missing. */
static int analyse_result(struct jp_insight *x, const struct jp_nodes *nodes,
                          struct jp_result *r, bool whole,
                          const struct jp_expectation *expectation)
{
    const struct jp_processes *p = &x->processes;
    struct jp_hypotheses *h = &x->hypotheses;
    double run_us;
    size_t found;
    int rc;

    if (processes_init_nodes(&x->processes, r, nodes) < 0)
        return -1;
    run_us = x->run_us = late_run_us(r);
    x->findings.run_us = run_us;
    x->findings.gpus_us = run_us * (double) p->at_once;
    if (run_us > 0 && r->n_comms > 1 && p->n == p->at_once &&
        find_gpu_time(r, p, run_us, &x->findings.gpus_us) < 0)
        return -1;
    x->unrecorded = 1 - expected_seen(r);
    x->findings.part = 1 - expected_seen_while_on(r) >
                       limits_get(JP_LIMIT_STATED);
    x->findings.paused = r->quality.n_pauses && !r->quality.pauses_joined;
    rc = hang_findings(r, p, nodes, whole, &x->findings);
    /* If a step hangs, NCCL Inspector's logs contain its last part for some
     * ranks only, so ranks cannot be compared. The recorder's files are
     * complete. */
    if (rc == 0 && x->judged &&
        (!has_hang(&x->findings) || r->quality.recordings))
        rc = compare_ranks(x, r, p, expectation);
    /* nobody is judged then */
    if (!x->lateness &&
        !(x->lateness = calloc(r->n_ranks + 1, sizeof(*x->lateness))))
        return -1;
    for (int i = 0; !r->quality.records && i < JP_N_HYPOTHESES; i++)
        if (hypotheses_table[i].of_operations)
            hypothesis_set(h, (enum jp_hypothesis_id) i,
                           JP_HYPOTHESIS_NOT_JUDGED, NAN, "no record");
    answer_rest(h, r->quality.shared_ranks && r->quality.twin_recordings
                       ? "two communicators have one id"
                   : r->quality.shared_ranks
                       ? "the records of several runs are "
                         "mixed"
                   : x->torn ? "operations that the order of the traces joins "
                               "do not overlap in time"
                   : !x->judged ? "NCCL reported too few of the collectives"
                   : has_hang(&x->findings) ? "the last step is incomplete"
                                            : "not examined");
    /* A stall as long as the run cannot happen, so nothing was ruled out. */
    if (run_us > 0 && h->of[JP_HYPOTHESIS_STALL].least >= run_us)
        hypothesis_set(h, JP_HYPOTHESIS_STALL, JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       HYPOTHESIS_BLIND);
    found = x->findings.n;
    findings_drop_doubtful(&x->findings);
    if (rc == 0)
        rc = whatif_findings(r, p, x->judge, &x->findings);
    if (x->judge)
        judge_drop_replay(x->judge);
    if (x->findings.n < found) { /* whose lateness was not stated */
        answer_lateness(x, r);
        answer_dropped(x);
        if (x->stalls.judged)
            stalls_leave_out(p, x->judge, h);
    }
    answer_found(h, &x->findings);
    name_ranks(x, r);
    answer_hidden(h, &x->findings);
    return rc;
}

struct jp_insight *insight_run(const struct jp_jobconf *conf,
                               const struct jp_nodes *nodes,
                               struct jp_result *result,
                               const struct jp_expectation *expectation)
{
    struct jp_insight *x = calloc(1, sizeof(*x));
    uint64_t start_ms = clock_mono_ms();
    int rc = 0;

    if (!x)
        return NULL;
    x->findings.hypotheses = &x->hypotheses;
    if (result) {
        x->torn = is_torn(result);
        x->judged = !result->quality.shared_ranks &&
                    !gaps_unseen_waits(result) && !x->torn;
        rc = analyse_result(x, nodes, result,
                            !find_gaps(conf, nodes, result, &x->hypotheses),
                            expectation);
        if (rc == 0)
            rc = ownwork_make(&result->traced, &x->ownwork);
        if (rc == 0)
            explain_ranks(x);
    } else {
        answer_rest(&x->hypotheses, "no record");
    }
    if (rc < 0 ||
        crash_findings(nodes, &x->processes, result, &x->crash, &x->findings) <
            0 ||
        crash_of_hang(nodes, &x->processes, result, &x->crash, &x->findings) <
            0) {
        insight_destroy(x);
        return NULL;
    }
    findings_sort(&x->findings);
    if (attempts_find(x, nodes, result, &x->attempts) < 0) {
        insight_destroy(x);
        return NULL;
    }
    x->duration_us = (clock_mono_ms() - start_ms) * 1000;
    return x;
}

char *insight_rough(const struct jp_insight *x, char buf[JP_INSIGHT_ROUGH],
                    const char **todo)
{
    const struct jp_judgement *ranks =
        &x->hypotheses.of[JP_HYPOTHESIS_LATE_RANK];
    double most = limits_get(JP_LIMIT_STATED), least = ranks->least;
    double once =
        x->run_us > 0 && x->stalls.judged ? x->stalls.once_us / x->run_us : 0;
    /* A filter leaves out the same operations of each step. A rank may be late
     * in these only. */
    bool of_part = lacks_operations(x) && x->unrecorded > fmax(least, once);
    bool of_wait = !of_part && once > most;

    *buf = '\0';
    *todo = of_part ? RECORD_ALL
            : of_wait
                ? "profile a longer run, of which such a wait is a smaller part"
                : ranks->todo;
    if (of_part)
        snprintf(buf, JP_INSIGHT_ROUGH,
                 "no rank recorded %s of the operations, and a late rank there "
                 "would not have been seen",
                 FIG_SHARE(x->unrecorded));
    else if (of_wait && once > 1)
        snprintf(buf, JP_INSIGHT_ROUGH,
                 "no single wait for one rank would have been named, however "
                 "long");
    else if (of_wait)
        snprintf(buf, JP_INSIGHT_ROUGH,
                 "a single wait for one rank of less than %s, %s of the run, "
                 "would not have been named",
                 FIG_US(x->stalls.once_us), FIG_SHARE(once));
    else if (x->blind && least > 0)
        snprintf(buf, JP_INSIGHT_ROUGH,
                 "%s of %s ranks var%s so much that %s lateness would not "
                 "have been seen",
                 FIG_COUNT(x->blind), FIG_COUNT(x->processes.n),
                 x->blind == 1 ? "ies" : "y", x->blind == 1 ? "its" : "their");
    else if (!(least > 0))
        snprintf(buf, JP_INSIGHT_ROUGH,
                 "how late a rank would have to be to be seen is not known");
    else if (least > most)
        snprintf(buf, JP_INSIGHT_ROUGH,
                 "a rank that costs less than %s of the run's time would not "
                 "have been seen",
                 FIG_SHARE(least));
    return buf;
}

void insight_destroy(struct jp_insight *x)
{
    if (!x)
        return;
    findings_fini(&x->findings);
    attempts_fini(&x->attempts);
    processes_fini(&x->processes);
    ownwork_fini(&x->ownwork);
    free(x->lateness);
    judge_destroy(x->judge);
    netcells_fini(&x->network);
    free(x->expected);
    free(x);
}
