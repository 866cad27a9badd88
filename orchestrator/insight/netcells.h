/* netcells.h - what the network did, over all communicators of a kind.
 *
 * A cell is: what communicators run over (the label, and NCCL's type), their
 * ranks and nodes, the GPUs' model, the function, and a class of sizes. Its
 * values are the network's own bandwidth: of complete barrier-like operations
 * without the warm-up, from the time of the last arriver. Cells of different
 * steps can be compared and added up.
 *
 * Sizes fall into four classes a power of two: 1, 1.25, 1.5, 1.75 times 2^e.
 */
#ifndef JP_INSIGHT_NETCELLS_H
#define JP_INSIGHT_NETCELLS_H

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/keymap.h"
#include "orchestrator/insight/bwhist.h"

#define NETCELLS_MAX 4096 /* in one step */
#define NETCELLS_SIZES 252

struct jp_netkey {
    char fabric[20], inter[16]; /* words of labels; "unknown" */
    enum jp_comm_type type;
    uint32_t n_ranks, n_hosts;
    char gpu[64]; /* model; "" unknown, or of several kinds */
    char coll[32];
    uint32_t size; /* class */
};
int netkey_compare(const struct jp_netkey *a, const struct jp_netkey *b);

uint32_t netcells_size(uint64_t bytes);
/* The least size of a class; of NETCELLS_SIZES and above UINT64_MAX. */
uint64_t netcells_bytes(uint32_t size);

struct jp_netcell {
    struct jp_netkey key;
    size_t comm;    /* one of its communicators */
    uint64_t bytes; /* the least size that it has */
    double time_us; /* of the network, over operations */
    struct jp_bwhist gbs;
};

struct jp_netcells {
    struct jp_netcell *at; /* sorted by key */
    size_t n;
    bool full; /* there are more than NETCELLS_MAX */
    /* while they are filled: each communicator's kind, cells by kind, function
     * and size */
    struct jp_netkey *kinds;
    size_t *kind_of;
    struct keymap map;
};

/* Knows the communicators of the result, which must outlive netcells_end. gpu:
 * the model, "" unknown. 0, or -1 without memory; netcells_fini in any case. */
int netcells_begin(struct jp_netcells *cells, const struct jp_result *result,
                   const char *gpu);
/* The cell of a communicator's function (borrowed from the result) and size;
 * borrowed until the next call. NULL: no memory, or too many cells. */
struct jp_netcell *netcells_get(struct jp_netcells *cells, size_t comm,
                                const char *coll, uint64_t bytes);
/* Sorts the cells. */
void netcells_end(struct jp_netcells *cells);
void netcells_fini(struct jp_netcells *cells);

/* The key of a communicator's function and size. */
void netcells_key(const struct jp_comm *comm, const char *gpu, const char *coll,
                  uint64_t bytes, struct jp_netkey *key);

#endif
