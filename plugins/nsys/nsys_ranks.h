/* nsys_ranks.h - the processes of one export of nsys as ranks.
 *
 * One nsys around torchrun sees all processes of a node. Each process with
 * kernels of NCCL is taken to be a rank; its number is that of its GPU, or, if
 * two use one, its place in the order of process ids. All processes have one
 * clock. Which operation of one process is which of another is found by their
 * order of launch within the function, if that is certain:
 *
 *   - each process launched as many operations of the function;
 *   - all of a process ran on one stream, or there are two processes: then all
 *     operations are of one communicator;
 *   - the operations of a number overlap in time on all processes, but for one
 *     in twenty.
 *
 * A kernel of Send and Recv (ncclDevKernel_SendRecv) counts as AlltoAll if the
 * program's ranges name it ("nccl:all_to_all" of PyTorch) and name no other use
 * of Send and Recv. Sizes are not in these tables. */
#ifndef JP_PLUGINS_NSYS_RANKS_H
#define JP_PLUGINS_NSYS_RANKS_H

#include "plugins/reader.h"

enum {
    NSYS_RANKS = 64, /* processes of an export; further ones are left out */
    NSYS_RANKS_COLLS = 1 << 18 /* kernels of NCCL of all of them */
};

/* Reads such an export; as backend_reader.read. A file with fewer than two such
 * processes gives nothing. */
int nsys_ranks_read(const struct reader_input *in,
                    const struct reader_sink *sink, struct source_facts *facts);

/* This reader as a backend with no other face. It needs libsqlite3, which not
 * all programs with readers have, so it is not in the registry:
 * reader_find_with gets it from those that read exports. */
extern const struct backend backend_nsys_ranks;

#endif
