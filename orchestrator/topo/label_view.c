/* label_view.c - the nodes with the adapters that NCCL's variables leave. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "orchestrator/topo/hcalist.h"
#include "orchestrator/topo/label_parts.h"
#include "orchestrator/topo/topo_parts.h"

/* What leaves adapters out. NCCL's own plugin knows verbs devices but EFA;
 * EFA and Slingshot are another plugin's, which reads none of these. */
struct rule {
    const char *ib_hca; /* NULL: all */
    bool no_verbs;      /* NCCL_IB_DISABLE */
    bool only_verbs;    /* NCCL_NET=IB */
};

static bool is_verbs(const struct topo_hca *hca)
{
    return hca->net != TOPO_NET_EFA && hca->net != TOPO_NET_SLINGSHOT;
}

static struct rule rule_of(const struct jp_label_comm *comm)
{
    const char *net = label_variable(comm, "NCCL_NET");
    struct rule rule = {.ib_hca = label_variable(comm, "NCCL_IB_HCA")};

    if (label_differs(comm, "NCCL_IB_HCA"))
        rule.ib_hca = NULL;
    rule.no_verbs = !net && label_is_on(comm, "NCCL_IB_DISABLE");
    rule.only_verbs = net && strcasecmp(net, "IB") == 0;
    return rule;
}

/* By its name, and by its ports where these are told. */
static bool is_left_out(const struct rule *rule, const struct topo_hca *hca)
{
    uint32_t left;

    if (!is_verbs(hca))
        return rule->only_verbs;
    if (rule->no_verbs || !rule->ib_hca)
        return rule->no_verbs;
    left = hcalist_ports(rule->ib_hca, hca->name);
    if (hca->port == TOPO_PORT_ACTIVE && hca->active_ports)
        left &= hca->active_ports;
    return !left;
}

/* A topology of which only the adapters and what is near are its own. */
static int narrow(const struct topo *topo, const struct rule *rule,
                  struct topo *out)
{
    struct rule here = *rule;
    bool changed = false, verbs = false;

    for (size_t i = 0; i < topo->n_hcas; i++)
        verbs |= is_verbs(&topo->hcas[i]);
    here.only_verbs &= verbs; /* else NCCL_NET=IB means a plugin of the name */
    *out = *topo;
    out->near = NULL;
    out->hcas = calloc(topo->n_hcas + 1, sizeof(*out->hcas));
    for (size_t i = 0; out->hcas && i < topo->n_hcas; i++) {
        out->hcas[i] = topo->hcas[i];
        changed |= out->hcas[i].left_out = is_left_out(&here, &out->hcas[i]);
    }
    out->narrowed = changed;
    return out->hcas ? topo_nearest(out) : -1;
}

static struct topo *find_or_add(struct label_view *view,
                                const struct topo *topo,
                                const struct rule *rule)
{
    struct label_narrowed *more;

    for (size_t i = 0; i < view->n; i++)
        if (view->topos[i].of == topo)
            return view->topos[i].topo;
    more = reallocarray(view->topos, view->n + 1, sizeof(*more));
    if (!more)
        return NULL;
    view->topos = more;
    more[view->n] = (struct label_narrowed){
        .of = topo, .topo = calloc(1, sizeof(struct topo))};
    if (!more[view->n].topo)
        return NULL;
    return narrow(topo, rule, more[view->n++].topo) == 0
               ? more[view->n - 1].topo
               : NULL;
}

int label_view_make(struct label_view *view, const struct jp_label_comm *comm,
                    const struct jp_label_node *nodes, size_t n_nodes)
{
    struct rule rule = rule_of(comm);

    *view = (struct label_view){0};
    if (!rule.ib_hca && !rule.no_verbs && !rule.only_verbs)
        return 0;
    view->nodes = calloc(n_nodes + 1, sizeof(*view->nodes));
    if (!view->nodes)
        return -1;
    memcpy(view->nodes, nodes, n_nodes * sizeof(*nodes));
    for (size_t i = 0; i < comm->n; i++) {
        int at = comm->ranks[i].node;
        struct jp_label_node *node = at >= 0 ? &view->nodes[at] : NULL;

        if (!node || !node->topo || node->topo != nodes[at].topo)
            continue;
        node->topo = find_or_add(view, node->topo, &rule);
        if (!node->topo)
            return -1;
    }
    return 0;
}

void label_view_fini(struct label_view *view)
{
    for (size_t i = 0; i < view->n; i++) {
        free(view->topos[i].topo->hcas);
        free(view->topos[i].topo->near);
        free(view->topos[i].topo);
    }
    free(view->topos);
    free(view->nodes);
}
