/* flight_hang.c - what dumps of PyTorch's Flight Recorder say, as a hang of the
 * step.
 *
 * Without recordings, the dumps are the hang: a finding for each rank that
 * holds up others, and the operations for the page (struct jp_hang). With
 * recordings that show a hang, they add what only PyTorch knows: the line of
 * the program.
 */
#include "orchestrator/flight/flight_feature.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/report/table.h"

#define CULPRITS_MAX 8 /* findings; the tables have all */

/* Dumps are often written at one moment: a time between two entries says
 * nothing about how long the job hung. */
#define AGE_SAID_US 1000000

/* What to do, by the cause. */
static const char *const nexts[FLIGHT_N_CAUSES] = {
    [FLIGHT_BY_MISMATCH] =
        "compare the two calls: a branch that depends on the rank, or data of "
        "different sizes",
    [FLIGHT_BY_ABSENCE] =
        "examine the rank that never entered: its output, its node, and while "
        "its process lives py-spy dump --pid",
    [FLIGHT_BY_STUCK] =
        "examine the GPU of the rank that is stuck: nvidia-smi -q, Xid in the "
        "kernel's log",
    [FLIGHT_BY_ORDER] =
        "compare the order of calls on the ranks: two groups are entered in "
        "different orders",
    [FLIGHT_BY_MESSAGE] =
        "examine the process that the message is to come from: its output, and "
        "while it lives py-spy dump --pid",
    [FLIGHT_BY_UNKNOWN] =
        "collect the dumps of the ranks that left none: they may never have "
        "entered",
    [FLIGHT_INSIDE_ALL] =
        "check the network and the GPUs of these ranks: NCCL_DEBUG=INFO, Xid "
        "in the kernel's log",
};

static const enum jp_hang_state states[FLIGHT_N_STATES] = {
    [FLIGHT_NO_DUMP] = JP_HANG_UNKNOWN, [FLIGHT_UNSURE] = JP_HANG_UNKNOWN,
    [FLIGHT_NEVER] = JP_HANG_ABSENT,    [FLIGHT_HELD] = JP_HANG_ELSEWHERE,
    [FLIGHT_INSIDE] = JP_HANG_IN,       [FLIGHT_DONE] = JP_HANG_DONE};

/* Copies a collective for the page. Returns 0, or -1 without memory. */
static int add_op(const struct jp_flight *flight,
                  const struct flight_seen *seen, struct jp_hang *hang)
{
    const struct flight_group *g = &flight->groups[seen->group];
    struct jp_hang_op *op = &hang->ops[hang->n_ops];
    size_t n = seen->n < JP_HANG_RANKS ? seen->n : 0;

    *op = (struct jp_hang_op){
        .comm = -1,
        .sn = seen->seq > 0 ? (uint64_t) seen->seq : 0,
        .since_us = seen->since_us,
        .age_us = seen->age_us >= AGE_SAID_US ? (uint64_t) seen->age_us : 0,
        .n_ranks = (uint32_t) n};
    snprintf(op->coll, sizeof(op->coll), "%s", seen->func);
    snprintf(op->name, sizeof(op->name), "%s", *g->desc ? g->desc : g->name);
    op->states = calloc(n + 1, sizeof(*op->states));
    op->ranks = calloc(n + 1, sizeof(*op->ranks));
    if (!op->states || !op->ranks) {
        free(op->states);
        free(op->ranks);
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        op->states[i] = (uint8_t) states[seen->states[i]];
        op->ranks[i] = seen->ranks[i];
    }
    hang->n_ops++;
    return 0;
}

/* Makes the dumps the step's hang. Without memory, it has fewer operations. */
static void set_hang(const struct jp_flight *flight, struct jp_hang *hang)
{
    char text[FLIGHT_TEXT];

    hang->dumps = true;
    hang->table = table_flight_ops.name;
    hang->operations = 1;
    snprintf(hang->text, sizeof(hang->text), "%s", flight_plain(flight, text));
    hang->comm = hang->rank = hang->world_rank = hang->pid = -1;
    if (flight->n_culprits)
        hang->world_rank = flight->culprits->rank;
    for (size_t i = 0; i < flight->n_seen; i++) {
        const struct flight_seen *seen = &flight->seen[i];

        if (!i) {
            hang->since_us = seen->since_us;
            hang->sn = seen->seq > 0 ? (uint64_t) seen->seq : 0;
            snprintf(hang->coll, sizeof(hang->coll), "%s", seen->func);
        }
        if (seen->age_us >= AGE_SAID_US &&
            (uint64_t) seen->age_us > hang->age_us)
            hang->age_us = (uint64_t) seen->age_us;
        if (hang->n_ops < JP_HANG_OPS && add_op(flight, seen, hang) < 0)
            break;
    }
}

/* The clause of one culprit that is not the first. */
static void say_culprit(const struct jp_flight *flight,
                        const struct flight_culprit *c,
                        struct jp_sentence *text)
{
    char name[FLIGHT_NAME], ranks[100];
    const struct flight_seen *op;

    if (c->seen >= flight->n_seen) {
        sentence_add(text, "rank %lld waits for a message of rank %lld",
                     (long long) c->waits, (long long) c->rank);
        return;
    }
    op = &flight->seen[c->seen];
    flight_name(flight, op, name);
    flight_ranks(op, c->cause == FLIGHT_BY_STUCK ? FLIGHT_DONE : FLIGHT_INSIDE,
                 ranks, sizeof(ranks));
    if (c->cause == FLIGHT_BY_STUCK)
        sentence_add(text,
                     "rank %lld is stuck inside %s, which rank%s %s ha%s left",
                     (long long) c->rank, name, plural(op->count[FLIGHT_DONE]),
                     ranks, op->count[FLIGHT_DONE] == 1 ? "s" : "ve");
    else if (c->cause == FLIGHT_BY_MISMATCH)
        sentence_add(text, "rank %lld called something else as %s: %s",
                     (long long) c->rank, name, op->differs);
    else
        sentence_add(text, "rank %lld %s %s; rank%s %s wait%s in it",
                     (long long) c->rank,
                     c->cause == FLIGHT_BY_ABSENCE ? "never entered"
                                                   : "is not in",
                     name, plural(op->count[FLIGHT_INSIDE]), ranks,
                     op->count[FLIGHT_INSIDE] == 1 ? "s" : "");
}

/* Adds a finding for each culprit, or one without a rank. 0 or -1. */
static int add_findings(const struct jp_flight *flight,
                        struct jp_findings *findings)
{
    size_t n = flight->n_culprits < CULPRITS_MAX ? flight->n_culprits
                                                 : CULPRITS_MAX;

    for (size_t i = 0; i < (n ? n : 1); i++) {
        struct jp_finding *f = findings_add(findings, JP_FINDING_HANG);
        char all[FLIGHT_TEXT];
        struct jp_sentence text;

        if (!f)
            return -1;
        sentence_init(&text, f->text, sizeof(f->text));
        if (i)
            say_culprit(flight, &flight->culprits[i], &text);
        else
            sentence_add(&text, "%s", flight_text(flight, all));
        if (n) {
            f->world_rank = flight->culprits[i].rank;
            snprintf(f->name, sizeof(f->name), "%lld",
                     (long long) f->world_rank);
            if (flight->culprits[i].seen < flight->n_seen) {
                const struct flight_seen *op =
                    &flight->seen[flight->culprits[i].seen];

                f->others = op->count[FLIGHT_INSIDE];
                if (op->since_us > 0)
                    f->from_us = (double) op->since_us;
            }
        }
        snprintf(f->next, sizeof(f->next), "%s", nexts[flight->cause]);
    }
    return 0;
}

/* Adds to the recorder's own hang what the dumps know. */
static void join_hang(const struct jp_flight *flight, struct jp_finding *f)
{
    const struct flight_seen *op = flight->n_seen ? flight->seen : NULL;
    const char *where = op && op->first ? op->first->where : "";
    struct jp_sentence text = {f->text, sizeof(f->text), 1};
    char all[FLIGHT_TEXT];

    for (size_t i = 0; i < flight->n_culprits; i++)
        if (flight->culprits[i].rank == f->world_rank) {
            sentence_add(&text, "PyTorch's dumps agree%s%.120s",
                         *where ? ": the others called it at " : "", where);
            return;
        }
    /* they may have been taken of some ranks only */
    sentence_add(&text, "PyTorch's dumps: %s", flight_text(flight, all));
}

void flight_hang_judge(const void *data, struct jp_result *result,
                       struct jp_insight *x)
{
    const struct jp_flight *flight = data;
    struct jp_finding *first = x->findings.n ? x->findings.at : NULL;
    bool found = first && first->kind == JP_FINDING_HANG;
    char text[FLIGHT_TEXT];

    if (!flight || flight->n_bad == flight->n_dumps)
        return;
    if (!flight_hangs(flight)) {
        if (!found && !flight->evidence)
            hypothesis_set(&x->hypotheses, JP_HYPOTHESIS_HANG,
                           JP_HYPOTHESIS_NOT_FOUND, NAN, "%s",
                           flight_text(flight, text));
        return;
    }
    if (found)
        join_hang(flight, first);
    if (found || flight->evidence)
        return;
    if (result && !result->hang.operations)
        set_hang(flight, &result->hang);
    if (add_findings(flight, &x->findings) < 0)
        return;
    hypothesis_set(&x->hypotheses, JP_HYPOTHESIS_HANG, JP_HYPOTHESIS_FOUND, NAN,
                   "by dumps of PyTorch's Flight Recorder");
    findings_sort(&x->findings);
}
