/* progress.h - how far each rank has come in each communicator and function. */
#ifndef JP_INGEST_PROGRESS_H
#define JP_INGEST_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugins/nccl_recorder/recfile.h"

/* One rank in one series. Operations of the copy engines are numbered over all
 * functions of a communicator, Send and Recv by the recorder: func is "" for
 * them. kind JPR_N_OP_KINDS: only
 * that the rank has the communicator. */
struct progress_row {
    uint64_t hash; /* of the communicator */
    int64_t n_ranks, rank;
    unsigned kind;
    char func[RECORD_MAX_FUNC + 1];
    uint32_t process;
    /* one over the largest sequence number that ended, and that is known to
     * have begun; 0: none */
    uint64_t ended, begun;
};

struct progress {
    struct progress_row *rows;
    size_t n;
    /* one file's rows by their series: open addressing, 1 over the row, 0 free;
     * at most half is taken */
    uint32_t *slots;
    size_t n_slots, used;
};

/* What one file tells; .process is 0. Each 0, or -1 without memory. */
int progress_comm(struct progress *progress, const struct jpr_comm *comm);
int progress_op(struct progress *progress, const struct jpr_comm *comm,
                const struct jpr_op *op, bool ended);
/* What counters tell of a function's collectives, recorded or not: NCCL numbers
 * them from 0, so that of n the last has number n - 1. */
int progress_count(struct progress *progress, const struct jpr_comm *comm,
                   const char *func, uint64_t produced);

/* The file is read: frees what finds its rows. */
void progress_freeze(struct progress *progress);

int progress_add(struct progress *progress, const struct progress_row *row);
/* Another file's rows, which get the process. 0, or -1 without memory. */
int progress_append(struct progress *progress, const struct progress *file,
                    uint32_t process);

/* The rows of from, which go on in it, into an empty one. 0, or -1 without
 * memory. */
int progress_copy(struct progress *to, const struct progress *from);

/* Sorts by (hash, n_ranks, kind, func, rank, process), for progress_find. */
void progress_sort(struct progress *progress);
/* The rows of a series; *n how many. func is ignored but for collectives. */
const struct progress_row *progress_find(const struct progress *progress,
                                         uint64_t hash, int64_t n_ranks,
                                         unsigned kind, const char *func,
                                         size_t *n);
void progress_fini(struct progress *progress);

#endif
