/* proof.c - which picture proves a verdict. */
#include "orchestrator/report/proof.h"

#include "orchestrator/report/sections.h"

/* By kind of finding; NULL: it has none. */
static proof_picture *const by_kind[] = {
    [JP_FINDING_HANG] = proof_hang,
    [JP_FINDING_CRASH] = proof_tasks,
    [JP_FINDING_LATE_RANK] = proof_arrivals,
    [JP_FINDING_LATE_NODE] = proof_arrivals,
    [JP_FINDING_STALL] = proof_stalls,
    [JP_FINDING_SLOW_NETWORK] = proof_network,
    [JP_FINDING_DRIFT] = proof_network,
    [JP_FINDING_UNEVEN] = proof_records,
};

/* The picture for a verdict none of whose findings has one. */
static proof_picture *by_word(enum jp_verdict_word word)
{
    switch (word) {
    case JP_VERDICT_HANG:
        return proof_hang;
    case JP_VERDICT_FAILED:
        return proof_tasks;
    case JP_VERDICT_INCOMPLETE:
    case JP_VERDICT_UNJUDGED:
        return proof_records;
    case JP_VERDICT_OK:
    case JP_VERDICT_DEGRADED:
        return proof_excess;
    default:
        return NULL;
    }
}

int proof_write(const struct jp_report *report, FILE *out)
{
    const struct jp_insight *x = report->insight;
    enum jp_verdict_word word = report->verdict->word;
    proof_picture *picture;
    bool made = false; /* by a finding on NCCL */
    int rc = 1;

    for (size_t i = 0; rc == 1 && x && i < x->findings.n; i++) {
        const struct jp_finding *f = &x->findings.at[i];

        proof_picture *own = f->kind < sizeof(by_kind) / sizeof(*by_kind)
                                 ? by_kind[f->kind]
                                 : NULL;

        made |= findings_about[f->kind].verdict == word;
        if (findings_about[f->kind].verdict == word && own)
            rc = own(report, f, out);
    }
    if (rc == 1 && report->copper &&
        (!report_has_nccl(report) || (word == JP_VERDICT_DEGRADED && !made)))
        rc = proof_copper(report, NULL, out);
    picture = by_word(word);
    if (rc == 1 && picture)
        rc = picture(report, NULL, out);
    return rc < 0 ? -1 : 0;
}
