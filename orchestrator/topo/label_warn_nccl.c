/* label_warn_nccl.c - NCCL's variables that force a path. */
#include <stdio.h>
#include <string.h>

#include "orchestrator/topo/label_parts.h"

#define NAMED_HCAS 3

static const struct forcing {
    const char *name;
    const char *harmless; /* NCCL's default; NULL none */
    const char *what;
} forcing[] = {
    {"NCCL_P2P_DISABLE", "0", "GPUs do not reach each other directly"},
    {"NCCL_P2P_LEVEL", NULL, "it decides which GPUs may"},
    {"NCCL_SHM_DISABLE", "0", "no shared memory inside a node"},
    {"NCCL_IB_DISABLE", "0", "no InfiniBand and no RoCE"},
    {"NCCL_NET", NULL, "it decides which network is used"},
    {"NCCL_NET_GDR_LEVEL", NULL, "it decides which HCAs a GPU writes to"},
    {"NCCL_CROSS_NIC", "2", "it decides whether rings may change rails"},
    {"NCCL_TOPO_FILE", NULL, "NCCL takes the PCI tree from it"},
    {"NCCL_MNNVL_ENABLE", "2", "it decides on NVLink between nodes"},
};

/* "mlx5_0, mlx5_1 and 3 more" of those that are left out. */
static size_t list_left_out(const struct topo *topo, char *buf, size_t size)
{
    size_t n = 0, at = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < topo->n_hcas; i++) {
        if (!topo->hcas[i].left_out || n++ >= NAMED_HCAS)
            continue;
        at += (size_t) snprintf(buf + at, size - at, "%s%s", n == 1 ? "" : ", ",
                                topo->hcas[i].name);
    }
    if (n > NAMED_HCAS)
        snprintf(buf + at, size - at, " and %zu more", n - NAMED_HCAS);
    return n;
}

/* What NCCL_IB_HCA leaves out, node by node; nothing where it leaves all. */
static int warn_hcas(const struct groups *g, struct jp_label *label)
{
    const char *value = label_variable(g->comm, "NCCL_IB_HCA");
    char names[160];

    if (!value || label_variable(g->comm, "NCCL_NET") ||
        label_is_on(g->comm, "NCCL_IB_DISABLE"))
        return 0; /* these decide */
    if (label_differs(g->comm, "NCCL_IB_HCA"))
        return label_warn_add(label, JP_WARN_FORCED_PATH, -1,
                              "NCCL_IB_HCA differs among its ranks (%.100s is "
                              "one): which HCA each may use is its own",
                              value);
    for (size_t i = 0; i < g->n_domains; i++) {
        const struct topo *topo = groups_topo(g, &g->domains[i]);

        if (!topo && label_warn_add(label, JP_WARN_FORCED_PATH, -1,
                                    "NCCL_IB_HCA=%.100s is set: it decides "
                                    "which HCAs are used",
                                    value) < 0)
            return -1;
        if (topo && list_left_out(topo, names, sizeof(names)) &&
            label_warn_add(label, JP_WARN_FORCED_PATH, g->domains[i].node,
                           "NCCL_IB_HCA=%.100s leaves out %s", value,
                           names) < 0)
            return -1;
    }
    return 0;
}

static bool is_harmless(const struct forcing *f, const struct groups *g)
{
    const char *value = label_variable(g->comm, f->name);

    if (!value || !*value || (f->harmless && strcmp(value, f->harmless) == 0))
        return true;
    if (strcmp(f->name, "NCCL_P2P_LEVEL") == 0)
        return !label_level_known(value);
    if (strcmp(f->name, "NCCL_P2P_DISABLE") == 0)
        return !label_is_one(g->comm, f->name);
    return f->harmless && strcmp(f->harmless, "0") == 0 &&
           !label_is_on(g->comm, f->name);
}

/* A file is told by its name: the folder is the user's own business. */
static const char *shown(const char *value)
{
    const char *slash = strrchr(value, '/');

    return slash ? slash + 1 : value;
}

int label_warn_variables(const struct groups *g, struct jp_label *label)
{
    for (size_t i = 0; i < sizeof(forcing) / sizeof(*forcing); i++) {
        const struct forcing *f = &forcing[i];

        if (!is_harmless(f, g) &&
            label_warn_add(
                label, JP_WARN_FORCED_PATH, -1, "%s=%.100s is set%s: %s",
                f->name, shown(label_variable(g->comm, f->name)),
                label_differs(g->comm, f->name) ? ", though not so by all ranks"
                                                : "",
                f->what) < 0)
            return -1;
    }
    return warn_hcas(g, label);
}
