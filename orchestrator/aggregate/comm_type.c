/* comm_type.c - classify a communicator by its number of NVLink domains, as
 * NVIDIA's Inspector does. */
#include "orchestrator/aggregate/comm_type.h"

static const char *const names[JP_COMM_N_TYPES] = {"single-rank", "nvlink-only",
                                                   "hca-only", "mixed"};

const char *comm_type_name(enum jp_comm_type type)
{
    return (unsigned) type < JP_COMM_N_TYPES ? names[type] : "unknown";
}

enum jp_comm_type comm_type_of(uint32_t n_ranks, uint32_t nnodes)
{
    if (n_ranks == 1)
        return JP_COMM_SINGLE_RANK;
    if (nnodes == 1)
        return JP_COMM_NVLINK_ONLY;
    return nnodes == n_ranks ? JP_COMM_HCA_ONLY : JP_COMM_MIXED;
}
