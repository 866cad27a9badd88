/* rec_comm.h - communicators with their counters, in a table of fixed size.
 *
 * A context that NCCL holds is a place in the table and its generation, as a
 * handle is. A place is used again once its communicator is gone, everything of
 * it is written and its last counters are in the file.
 */
#ifndef JP_REC_COMM_H
#define JP_REC_COMM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/rec_names.h"
#include "plugins/nccl_recorder/rec_trust.h"

enum { JP_REC_MAX_COMMS = 512 };

/* What init() tells (v4 to v6). `known` is false for v1 to v3, where name,
 * hash and rank come with the first operation and the sizes never. */
struct jp_rec_comm_facts {
    bool known;
    const char *name; /* NULL: none was set */
    uint64_t hash;
    int rank;
    int n_ranks; /* 0: not told */
    int n_nodes; /* NCCL's count: NVLink domains, not hosts; 0: not told */
};

struct jp_rec_count {
    _Atomic uint64_t produced;
    _Atomic uint64_t lost;
    /* the writer's */
    uint64_t written;
    uint64_t left_out;
};

struct jp_rec_comm {
    _Atomic uint32_t generation; /* odd: live or not yet written out */
    atomic_bool finalized;
    atomic_bool closed; /* takes no operation any more */
    atomic_bool known;
    _Atomic uint64_t p2p_seq;
    struct jp_rec_count counts[JPR_N_OP_KINDS][JP_REC_FUNCS];
    /* API calls less those that an operation came of */
    _Atomic int64_t unseen[JP_REC_FUNCS];
    /* collectives: one over the last number of NCCL's, and how many replays
     * have had a number of ours (JPR_REPLAY_SEQ) */
    _Atomic uint64_t next_seq[JP_REC_FUNCS];
    _Atomic uint64_t replays[JP_REC_FUNCS];
    struct jp_rec_trust trust;
    /* the writer's */
    uint64_t reached_ns; /* latest start of an operation that a channel of
                            has stopped: all enqueued before are over */
    uint64_t looked_unseen[JP_REC_FUNCS];
    uint64_t told_unseen[JP_REC_FUNCS];
    bool told;    /* its block is in the file, or on its way */
    bool in_file; /* it is there */
    uint64_t told_sums[JP_REC_FUNCS]; /* of all counts, as the file has them */
    uint64_t told_doubts;             /* likewise, of struct jpr_doubts */
    /* set before anybody else can see it, or under the lock by identify;
     * about.index counts all communicators of the process */
    struct jpr_comm about; /* texts point into the members below */
    char name[256];
    char gpu_pci[32];
    char gpu_uuid[64];
};

/* Takes zeroed memory for JP_REC_MAX_COMMS into use. */
void rec_comm_init(struct jp_rec_comm *table, unsigned epoch);

/* A new communicator; its context. When the table is full, which is counted,
 * one whose operations are counted as foreign; NULL when all are closed. */
void *rec_comm_create(const struct jp_rec_comm_facts *facts);

/* Tells name, hash and rank of a communicator made with known = false; only
 * the first call counts. */
void rec_comm_identify(struct jp_rec_comm *comm, uint64_t hash,
                       const char *name, int rank);

/* The communicator behind a context, or NULL. */
struct jp_rec_comm *rec_comm_get(void *context);

/* An operation comes whose context rec_comm_get does not know; NULL. */
void *rec_comm_foreign(void *context);

unsigned rec_comm_place(const struct jp_rec_comm *comm);
struct jp_rec_comm *rec_comm_at(unsigned place);

/* How many places were ever used; those of even generation are free. */
unsigned rec_comm_places(void);
static inline bool rec_comm_used(const struct jp_rec_comm *comm)
{
    return atomic_load_explicit(&comm->generation, memory_order_acquire) & 1;
}

/* No operation of it is taken from now on, or of any, nor is a communicator
 * made (NULL). */
void rec_comm_close(struct jp_rec_comm *comm);

/* Marks it finalized; true for the first call. */
bool rec_comm_finalize(struct jp_rec_comm *comm);

/* Frees the place; for the writer, when nothing of it is left. */
void rec_comm_release(struct jp_rec_comm *comm);

/* Not finalized yet; without a place. */
int rec_comm_live(void);
uint64_t rec_comm_lost(void);
uint64_t rec_comm_lost_foreign(void);

/* In a forked child: no context of the parent's is ours. */
void rec_comm_after_fork(void);

#endif
