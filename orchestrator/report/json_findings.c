/* json_findings.c - what was found wrong, as JSON. */
#include "orchestrator/report/json_findings.h"

#include <math.h>
#include <stdlib.h>

#define MAX_FINDINGS 200
#define MAX_LATENESS 512 /* rows: ranks of communicators */

static void put_known(struct jp_json *j, json_t *row, const char *key,
                      int64_t value)
{
    if (value >= 0)
        json_out_count(j, row, key, (uint64_t) value);
    else
        json_out_null(j, row, key);
}

static json_t *finding_row(struct jp_json *j, const struct jp_result *r,
                           const struct jp_finding *f)
{
    json_t *row = json_out_object(j);

    json_out_text(j, row, "kind", finding_kind_name(f->kind));
    json_out_text(j, row, "comm", f->comm >= 0 ? r->comms[f->comm].id : NULL);
    put_known(j, row, "comm_index", f->comm);
    json_out_text(j, row, "coll", f->coll);
    put_known(j, row, "rank", f->rank);
    put_known(j, row, "world_rank", f->world_rank);
    json_out_text(j, row, "host", *f->host ? f->host : NULL);
    put_known(j, row, "pid", f->pid);
    json_out_real(j, row, "from", f->from_us);
    json_out_real(j, row, "to", f->to_us);
    json_out_real(j, row, "share", f->share);
    put_known(j, row, "cost_us",
              isfinite(f->cost_us) && f->cost_us < 1e18 ? (int64_t) f->cost_us
                                                        : -1);
    json_out_text(j, row, "against", expectation_word(f->against));
    json_out_text(j, row, "text", f->text);
    json_out_text(j, row, "next", f->next);
    return row;
}

/* A rank of the result and how much of a heat map it would be. */
struct heat {
    size_t rank;
    double weight;
};

static int by_weight(const void *a, const void *b)
{
    const struct heat *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int by_rank(const void *a, const void *b)
{
    const struct heat *x = a, *y = b;

    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* The ranks that were latest, in the result's order; n of them. */
static struct heat *pick(const struct jp_result *r,
                         const struct jp_insight *insight, size_t *n)
{
    struct heat *heats = calloc(r->n_ranks + 1, sizeof(*heats));

    *n = 0;
    for (size_t i = 0; heats && i < r->n_ranks; i++)
        if (insight->lateness[i].judged)
            heats[(*n)++] =
                (struct heat){i, fabs(insight->lateness[i].arrival_us)};
    if (heats && *n) {
        qsort(heats, *n, sizeof(*heats), by_weight);
        *n = *n < MAX_LATENESS ? *n : MAX_LATENESS;
        qsort(heats, *n, sizeof(*heats), by_rank);
    }
    return heats;
}

static json_t *lateness_row(struct jp_json *j, const struct jp_result *r,
                            const struct jp_insight *insight, size_t i)
{
    const struct jp_lateness *l = &insight->lateness[i];
    json_t *row = json_out_object(j), *parts = json_out_array(j);

    json_out_count(j, row, "comm_index", r->ranks[i].comm);
    json_out_count(j, row, "rank", r->ranks[i].rank);
    json_out_real(j, row, "excess_us", round(l->excess_us));
    json_out_real(j, row, "error_us", round(l->error_us));
    json_out_real(j, row, "arrival_us", round(l->arrival_us));
    json_out_real(j, row, "peers_us", round(l->peers_us));
    json_out_put(j, row, "late", json_boolean(l->late));
    for (unsigned s = 0; s < JP_SLICES; s++)
        json_out_append(j, parts,
                        isfinite(l->parts_us[s])
                            ? json_real(round((double) l->parts_us[s]))
                            : json_null());
    json_out_put(j, row, "parts_us", parts);
    return row;
}

void json_findings_put(struct jp_json *j, json_t *array,
                       const struct jp_result *r,
                       const struct jp_insight *insight)
{
    for (size_t i = 0;
         insight && r && i < insight->findings.n && i < MAX_FINDINGS; i++)
        json_out_append(j, array, finding_row(j, r, &insight->findings.at[i]));
}

void json_findings_lateness(struct jp_json *j, json_t *root,
                            const struct jp_result *r,
                            const struct jp_insight *insight)
{
    json_t *array = json_out_array(j);
    struct heat *heats = NULL;
    size_t n = 0;

    if (insight && r && insight->lateness) {
        heats = pick(r, insight, &n);
        if (!heats)
            j->failed = true;
    }
    for (size_t i = 0; i < n; i++)
        json_out_append(j, array, lateness_row(j, r, insight, heats[i].rank));
    free(heats);
    json_out_put(j, root, "lateness", array);
}
