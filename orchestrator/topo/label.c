/* label.c - put a communicator's label together. */
#include "orchestrator/topo/label.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/label_parts.h"

const char *const label_fabric_word[JP_N_FABRICS] = {
    "none",           "same-gpu", "mnnvl",     "nvswitch",  "nvlink-mesh",
    "nvlink-partial", "pcie",     "pcie-host", "pcie-numa", "unknown"};
const char *const label_inter_word[JP_N_INTERS] = {
    "none", "ib", "roce", "efa", "slingshot", "tcp", "unknown"};
const char *const label_rail_word[JP_N_RAILS] = {"n/a", "aligned", "partial",
                                                 "cross", "unknown"};
const char *const label_evidence_word[JP_N_EVIDENCES] = {
    "none", "assumed", "inferred", "hwloc", "nvml", "observed"};

static bool is_hca(enum jp_inter inter)
{
    return inter == JP_INTER_IB || inter == JP_INTER_ROCE ||
           inter == JP_INTER_EFA || inter == JP_INTER_SLINGSHOT;
}

/* The rule of the sizes, then a clause for each part. */
static void explain(const struct groups *g, const struct verdict_of *fabric,
                    const struct verdict_of *inter,
                    const struct verdict_of *rail, struct jp_label *label)
{
    const struct jp_label_comm *c = g->comm;
    int n = snprintf(label->why, sizeof(label->why),
                     "%s %" PRIu32 " node%s for %" PRIu32 " rank%s on %" PRIu32
                     " host%s; %s",
                     c->guessed ? "the records show" : "NCCL counts",
                     c->guessed ? g->hosts : c->nnodes,
                     (c->guessed ? g->hosts : c->nnodes) == 1 ? "" : "s",
                     c->n_ranks, c->n_ranks == 1 ? "" : "s", g->hosts,
                     g->hosts == 1 ? "" : "s", fabric->clause);
    const struct verdict_of *more[] = {inter, rail};

    for (size_t i = 0; i < 2; i++)
        if (*more[i]->clause && n > 0 && (size_t) n < sizeof(label->why))
            n += snprintf(label->why + n, sizeof(label->why) - (size_t) n,
                          "; %s", more[i]->clause);
    if (label->evidence && n > 0 && (size_t) n < sizeof(label->why))
        snprintf(label->why + n, sizeof(label->why) - (size_t) n,
                 "; evidence %s", label_evidence_word[label->evidence]);
}

static void decide(const struct groups *g, struct jp_label *label)
{
    struct verdict_of fabric, inter, rail = {.word = JP_RAIL_NA};

    label_fabric(g, &fabric);
    label_inter(g, &inter);
    label->fabric = (enum jp_fabric) fabric.word;
    label->inter = (enum jp_inter) inter.word;
    label->hca_path = "";
    if (is_hca(label->inter)) {
        label_rail(g, &rail);
        label->hca_path = label_hca_path(g);
    }
    label->rail = (enum jp_rail) rail.word;
    label->evidence = label->fabric == JP_FABRIC_NONE ? inter.evidence
                                                      : fabric.evidence;
    explain(g, &fabric, &inter, &rail, label);
}

int label_comm(const struct jp_label_comm *comm,
               const struct jp_label_node *nodes, size_t n_nodes,
               struct jp_label *label)
{
    struct groups groups = {0};
    struct label_view view;
    int rc = label_view_make(&view, comm, nodes, n_nodes);

    memset(label, 0, sizeof(*label));
    label->hca_path = "";
    if (rc == 0)
        rc = groups_make(&groups, comm, view.nodes ? view.nodes : nodes,
                         n_nodes);
    if (rc == 0) {
        decide(&groups, label);
        rc = label_warn(&groups, label);
    }
    groups_fini(&groups);
    label_view_fini(&view);
    if (rc < 0)
        label_fini(label);
    return rc;
}

void label_fini(struct jp_label *label)
{
    for (size_t i = 0; i < label->n_warnings; i++)
        free(label->warnings[i].nodes);
    free(label->warnings);
    label->warnings = NULL;
    label->n_warnings = 0;
}
