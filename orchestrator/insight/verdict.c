/* verdict.c - judge whether the data of a step carries an answer. */
#include "orchestrator/insight/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "orchestrator/insight/expected.h"
#include "common/figure.h"
#include "orchestrator/insight/gaps.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/nodata.h"
#include "orchestrator/insight/sentence.h"

const char *verdict_word_name(enum jp_verdict_word word)
{
    static const char *const names[] = {
        [JP_VERDICT_HANG] = "HANG",
        [JP_VERDICT_SLOW] = "SLOW",
        [JP_VERDICT_DEGRADED] = "DEGRADED",
        [JP_VERDICT_INCOMPLETE] = "INCOMPLETE",
        [JP_VERDICT_NODATA] = "NODATA",
        [JP_VERDICT_OK] = "OK",
    };

    return names[word];
}

/* How complete a recording is that has no gap worth a word. */
static const char *describe_coverage(const struct jp_evidence *e, char *buf,
                                     size_t size)
{
    const struct jp_quality *q = &e->result->quality;
    const struct jp_setting *filter = expected_filter(e->conf);
    double coverage = e->expected.coverage;
    char share[JP_FIGURE_LEN];

    if (coverage < 0)
        return "how complete they are is unknown";
    figure_share(coverage, share);
    if (e->expected.kind == JP_EXPECT_COUNTED && coverage >= 1 &&
        !q->unseen_calls)
        return "all records present (counted)";
    if (e->expected.kind == JP_EXPECT_COUNTED)
        snprintf(buf, size, "%s of the records present (counted)", share);
    else if (coverage >= 1 && !q->unseen_records)
        return "no gap in the sequence numbers";
    else if (coverage >= 1)
        snprintf(buf, size,
                 "%s of the sequence numbers any rank recorded; %s more "
                 "were recorded by no rank (filtered or lost)",
                 share, FIG_COUNT(q->unseen_records));
    else if (filter && q->unseen_records)
        snprintf(buf, size,
                 "%s of the records by sequence numbers, the rest "
                 "lost or left out by %.16s=%.32s",
                 share, filter->key, filter->value);
    else
        snprintf(buf, size, "%s of the records by sequence numbers", share);
    return buf;
}

/* "8 of 8 ranks, 5,600 operations on 14 communicators, ..." */
static void say_ok(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_result *r = e->result;
    const struct jp_quality *q = &r->quality;
    char ranks[48], p2p[64] = "", complete[200];
    uint32_t of = expected_ranks(e->conf, e->nodes, r);

    if (of)
        snprintf(ranks, sizeof(ranks), "%" PRIu32 " of %" PRIu32 " rank%s",
                 q->ranks_seen, of, sentence_s(of));
    else
        snprintf(ranks, sizeof(ranks), "%" PRIu32 " rank%s", q->ranks_seen,
                 sentence_s(q->ranks_seen));
    if (q->p2p_records)
        snprintf(p2p, sizeof(p2p), ", %s Send/Recv record%s",
                 FIG_COUNT(q->p2p_records), sentence_s(q->p2p_records));
    sentence_add(s, "%s, %s operation%s on %s communicator%s%s, %s", ranks,
                 FIG_COUNT(r->n_ops), sentence_s(r->n_ops),
                 FIG_COUNT(r->n_comms), sentence_s(r->n_comms), p2p,
                 describe_coverage(e, complete, sizeof(complete)));
}

/* A fact of the job that a reader should not miss, whatever the word. */
static void say_failed_tasks(const struct jp_evidence *e, struct jp_sentence *s)
{
    uint32_t tasks = expected_tasks(e->conf, e->nodes);

    if (!e->nodes || !e->nodes->tasks_failed)
        return;
    if (tasks)
        sentence_add(s, "%" PRIu32 " of %" PRIu32 " task%s ended with an error",
                     e->nodes->tasks_failed, tasks, sentence_s(tasks));
    else
        sentence_add(s, "%" PRIu32 " task%s ended with an error",
                     e->nodes->tasks_failed,
                     sentence_s(e->nodes->tasks_failed));
}

/* So does what the recorder was told to leave out. */
static void say_capped(const struct jp_evidence *e, struct jp_sentence *s)
{
    uint64_t n = e->analysed && e->result ? e->result->quality.capped : 0;
    const char *disk = e->conf ? jobconf_find(e->conf, "disk") : NULL;

    if (n)
        sentence_add(s,
                     "%s operation%s left out by intent: the recorder's cap "
                     "(disk=%.32s) was reached",
                     FIG_COUNT(n), sentence_s(n), disk ? disk : "");
}

/* "10 Broadcasts and 2 Reduces were called, NCCL told nothing of them" */
static void say_unseen(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = e->analysed && e->result ? &e->result->quality
                                                          : NULL;
    char what[256] = "";
    uint64_t rest = q ? q->unseen_calls : 0;
    size_t len = 0;

    if (!rest)
        return;
    for (size_t i = 0; i < q->n_unseen && len < sizeof(what); i++) {
        const struct jp_unseen *u = &q->unseen[i];

        rest -= rest < u->calls ? rest : u->calls;
        len += (size_t) snprintf(what + len, sizeof(what) - len, "%s%s %s%s",
                                 !i                              ? ""
                                 : i + 1 == q->n_unseen && !rest ? " and "
                                                                 : ", ",
                                 FIG_COUNT(u->calls), u->func,
                                 sentence_s(u->calls));
    }
    if (rest && len < sizeof(what))
        snprintf(what + len, sizeof(what) - len, "%s%s other operation%s",
                 len ? " and " : "", FIG_COUNT(rest), sentence_s(rest));
    sentence_add(s, "%s %s called, NCCL told nothing of %s", what,
                 q->unseen_calls == 1 ? "was" : "were",
                 q->unseen_calls == 1 ? "it" : "them");
}

/* Needs last operations only: no gap in the data takes it back. */
static bool hangs(const struct jp_evidence *e, const struct jp_insight *insight,
                  struct jp_sentence *s)
{
    const struct jp_hang *hang = &e->result->hang;

    if (!hang->operations ||
        (double) hang->age_us < limits_table[JP_LIMIT_HANG].value) {
        if (!insight || !insight->findings.n ||
            insight->findings.at[0].kind != JP_FINDING_HANG)
            return false;
        sentence_add(s, "%s", insight->findings.at[0].text);
        return true;
    }
    sentence_add(s, "%s", hang->text);
    if (hang->operations > 1)
        sentence_add(s, "%s more operation%s in flight for %s or more",
                     FIG_COUNT(hang->operations - 1),
                     sentence_s(hang->operations - 1),
                     FIG_US(limits_table[JP_LIMIT_HANG].value));
    return true;
}

/* The word that a finding stands for; OK: none. */
static enum jp_verdict_word word_of(enum jp_finding_kind kind)
{
    switch (kind) {
    case JP_FINDING_HANG:
        return JP_VERDICT_HANG;
    case JP_FINDING_LATE_RANK:
    case JP_FINDING_LATE_NODE:
        return JP_VERDICT_SLOW;
    case JP_FINDING_SLOW_NETWORK:
    case JP_FINDING_DRIFT:
        return JP_VERDICT_DEGRADED;
    default:
        return JP_VERDICT_OK;
    }
}

/* The sentence says the worst; the others stand beside it on the card. */
#define SAID 1

/* The worst word of the findings, with what they say. */
static enum jp_verdict_word say_findings(const struct jp_insight *insight,
                                         struct jp_sentence *s)
{
    enum jp_verdict_word word = JP_VERDICT_OK;
    size_t n = 0;

    for (size_t i = 0; insight && i < insight->findings.n; i++) {
        const struct jp_finding *f = &insight->findings.at[i];
        enum jp_verdict_word own = word_of(f->kind);

        if (own == JP_VERDICT_OK || own == JP_VERDICT_HANG)
            continue;
        word = own < word ? own : word;
        if (n++ < SAID)
            sentence_add(s, "%s", f->text);
    }
    if (n > SAID)
        sentence_add(s, "%zu more finding%s", n - SAID, sentence_s(n - SAID));
    return word;
}

void verdict_decide(const struct jp_jobconf *conf, const struct jp_nodes *nodes,
                    const struct jp_result *result,
                    const struct jp_insight *insight, bool analysed,
                    struct jp_verdict *verdict)
{
    struct jp_evidence e = {.conf = conf,
                            .nodes = nodes,
                            .result = result,
                            .analysed = analysed,
                            .expected = expected_records(conf, nodes, result)};
    struct jp_sentence s;

    sentence_init(&s, verdict->text, sizeof(verdict->text));
    verdict->coverage = analysed ? e.expected.coverage : -1;
    if (analysed && result && hangs(&e, insight, &s)) {
        verdict->word = JP_VERDICT_HANG;
        gaps_list(&e, &s);
    } else if (nodata_explain(&e, &s)) {
        verdict->word = JP_VERDICT_NODATA;
        if (analysed)
            gaps_nodes(&e, &s);
    } else {
        gaps_list(&e, &s);
        verdict->word = s.clauses ? JP_VERDICT_INCOMPLETE
                                  : say_findings(insight, &s);
        if (verdict->word == JP_VERDICT_OK)
            say_ok(&e, &s);
    }
    say_unseen(&e, &s);
    say_capped(&e, &s);
    say_failed_tasks(&e, &s);
}
