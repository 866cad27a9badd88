/* table.h - the rows of labels.c. */
#ifndef JP_TESTS_TABLE_H
#define JP_TESTS_TABLE_H

#include "orchestrator/topo/label.h"

struct label_row {
    const char *name, *nodes, *ranks;
    uint32_t nnodes;
    const char *label, *warnings;
    uint32_t n_ranks; /* 0: as many as are listed */
    bool p2p_only, guessed;
    struct jp_label_variable variable;
    const struct jp_label_paths *paths;
};
extern const struct label_row label_rows[];
extern const size_t n_label_rows;

/* The ports of an adapter that a value of NCCL_IB_HCA leaves. */
struct hca_row {
    const char *value, *name;
    uint32_t ports; /* bit 0 is port 1 */
};
extern const struct hca_row hca_rows[];
extern const size_t n_hca_rows;

#endif
