/* label_variables.c - what NCCL makes of its variables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/label_parts.h"

static const struct jp_label_variable *find(const struct jp_label_comm *comm,
                                            const char *name)
{
    for (size_t i = 0; i < comm->n_variables; i++)
        if (strcmp(comm->variables[i].name, name) == 0)
            return &comm->variables[i];
    return NULL;
}

const char *label_variable(const struct jp_label_comm *comm, const char *name)
{
    const struct jp_label_variable *v = find(comm, name);

    return v ? v->value : NULL;
}

bool label_differs(const struct jp_label_comm *comm, const char *name)
{
    const struct jp_label_variable *v = find(comm, name);

    return v && v->differs;
}

/* NCCL takes the number that a text begins with, in any base of C's. */
static long number_of(const char *text)
{
    return text ? strtol(text, NULL, 0) : 0;
}

bool label_is_on(const struct jp_label_comm *comm, const char *name)
{
    return number_of(label_variable(comm, name)) != 0;
}

bool label_is_one(const struct jp_label_comm *comm, const char *name)
{
    return number_of(label_variable(comm, name)) == 1;
}

/* NCCL's words, nearest first; behind them the old numbers that mean them. */
static const struct level {
    const char *word;
    int number; /* -1: none */
    enum topo_level pci;
    enum label_nvlink nvlink;
} levels[] = {
    {"LOC", 0, TOPO_SELF, LABEL_NVLINK_NO},
    {"NVL", -1, TOPO_SELF, LABEL_NVLINK_DIRECT},
    {"NVB", -1, TOPO_SELF, LABEL_NVLINK_BRIDGED},
    {"C2C", -1, TOPO_SELF, LABEL_NVLINK_BRIDGED},
    {"PIX", 1, TOPO_PIX, LABEL_NVLINK_BRIDGED},
    {"PXB", 2, TOPO_PXB, LABEL_NVLINK_BRIDGED},
    {"P2C", -1, TOPO_PXB, LABEL_NVLINK_BRIDGED},
    {"PXN", -1, TOPO_PXB, LABEL_NVLINK_BRIDGED},
    {"PHB", 3, TOPO_NODE, LABEL_NVLINK_BRIDGED},
    {"SYS", 4, TOPO_SYS, LABEL_NVLINK_BRIDGED},
};
#define N_LEVELS (sizeof(levels) / sizeof(*levels))

static const struct level *level_of(const char *value)
{
    long number = value && *value >= '0' && *value <= '9' ? number_of(value)
                                                          : -1;

    if (number > 4)
        number = 4;
    for (size_t i = 0; value && i < N_LEVELS; i++)
        if (strcmp(levels[i].word, value) == 0 ||
            (number >= 0 && levels[i].number == number))
            return &levels[i];
    return NULL;
}

bool label_level_known(const char *value)
{
    return level_of(value) != NULL;
}

struct label_reach label_reach(const struct jp_label_comm *comm)
{
    const char *value = label_variable(comm, "NCCL_P2P_LEVEL");
    const struct level *level = level_of(value);
    struct label_reach reach = {.pci = TOPO_SYS,
                                .nvlink = LABEL_NVLINK_BRIDGED};

    if (comm->paths && comm->paths->p2p)
        return reach; /* its log names peers: not told which */
    if (comm->paths && comm->paths->shm) {
        reach = (struct label_reach){.nvlink = LABEL_NVLINK_NO, .logged = true};
        snprintf(reach.why, sizeof(reach.why), "NCCL's log names SHM");
    } else if (label_is_one(comm, "NCCL_P2P_DISABLE")) {
        reach.nvlink = LABEL_NVLINK_NO;
        snprintf(reach.why, sizeof(reach.why), "NCCL_P2P_DISABLE is set");
    } else if (level) {
        reach.pci = level->pci;
        reach.nvlink = level->nvlink;
        snprintf(reach.why, sizeof(reach.why), "NCCL_P2P_LEVEL is %s",
                 level->word);
    }
    return reach;
}
