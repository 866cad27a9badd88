/* insight.c - run every analysis that the data allows. */
#include "orchestrator/insight/insight.h"

#include <stdlib.h>

#include "orchestrator/collect/clock.h"
#include "orchestrator/insight/gaps.h"
#include "orchestrator/insight/load.h"
#include "orchestrator/insight/network.h"
#include "orchestrator/insight/stall.h"

/* Does missing data forbid to name anyone? */
static bool has_gaps(const struct jp_jobconf *conf,
                     const struct jp_nodes *nodes,
                     const struct jp_result *result)
{
    struct jp_evidence e = {.conf = conf,
                            .nodes = nodes,
                            .result = result,
                            .analysed = true,
                            .expected = expected_records(conf, nodes, result)};
    char text[400];
    struct jp_sentence s;

    sentence_init(&s, text, sizeof(text));
    gaps_list(&e, &s);
    return s.clauses > 0;
}

#define BEST 0.95 /* quantile of a cell that nobody else expects more of */

static int expect(struct jp_insight *x, const struct jp_result *r,
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
        e->gbs = bwhist_quantile(&cell->gbs, BEST);
    }
    return x->expected ? 0 : -1;
}

static int judge(struct jp_insight *x, const struct jp_result *r,
                 const struct jp_people *p,
                 const struct jp_expectation *expectation)
{
    const char *gpu = expectation ? expectation->gpu : NULL;
    struct jp_netserieses series;
    int rc = -1;

    if (netcells_begin(&x->network, r, gpu ? gpu : "") < 0 ||
        netseries_read(r, &x->network, &series) < 0)
        return -1;
    warmup_sum(&series, &x->warmup);
    netcells_end(&x->network);
    if (expect(x, r, expectation) == 0 &&
        late_judge(r, p, &series, x->lateness) == 0 &&
        late_findings(r, p, x->lateness, &x->findings) == 0)
        rc = network_findings(r, p, &series, expectation, &x->findings);
    if (rc == 0)
        rc = load_findings(r, p, &x->network, &x->findings);
    netseries_fini(&series);
    return rc;
}

static int run(struct jp_insight *x, const struct jp_nodes *nodes,
               const struct jp_result *r,
               const struct jp_expectation *expectation)
{
    struct jp_people people;
    int rc;

    x->lateness = calloc(r->n_ranks + 1, sizeof(*x->lateness));
    if (!x->lateness || people_init(&people, r, nodes) < 0)
        return -1;
    rc = stall_findings(r, &people, nodes, x->judged, &x->findings);
    /* the last step of a hang is in part only in Inspector's logs */
    if (rc == 0 && x->judged && (!x->findings.n || r->quality.recordings))
        rc = judge(x, r, &people, expectation);
    people_fini(&people);
    findings_sort(&x->findings);
    return rc;
}

struct jp_insight *insight_run(const struct jp_jobconf *conf,
                               const struct jp_nodes *nodes,
                               const struct jp_result *result,
                               const struct jp_expectation *expectation)
{
    struct jp_insight *x = calloc(1, sizeof(*x));
    uint64_t start_ms = clock_mono_ms();

    if (!x || !result)
        return x;
    x->judged = !has_gaps(conf, nodes, result);
    if (run(x, nodes, result, expectation) < 0) {
        insight_destroy(x);
        return NULL;
    }
    x->duration_us = (clock_mono_ms() - start_ms) * 1000;
    return x;
}

void insight_destroy(struct jp_insight *x)
{
    if (!x)
        return;
    findings_fini(&x->findings);
    free(x->lateness);
    netcells_fini(&x->network);
    free(x->expected);
    free(x);
}
