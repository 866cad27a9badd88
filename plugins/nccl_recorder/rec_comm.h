/* Communicators the recorder has seen, with their counters.
 *
 * A communicator is never freed: its counters go into the counts file until
 * the process ends, and a late event may still name it. A process that makes
 * many communicators pays about 600 bytes each.
 */
#ifndef JP_REC_COMM_H
#define JP_REC_COMM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "plugins/nccl_recorder/rec_func.h"

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

/* Counts of one function; produced = written + lost + still pending. */
struct jp_rec_count {
    _Atomic uint64_t produced;
    _Atomic uint64_t written;
    _Atomic uint64_t lost;
};

struct jp_rec_comm {
    _Atomic(struct jp_rec_comm *) next;
    unsigned epoch;       /* process generation, see rec_comm_after_fork() */
    pthread_mutex_t lock; /* over the members from here to `header` */
    bool known;
    uint64_t hash;
    int rank;
    int n_ranks;
    int n_nodes;
    char *name;   /* as given, owned; NULL: none */
    char *header; /* the record's "header" member as JSON, owned */
    _Atomic uint64_t p2p_seq;
    atomic_bool finalized;
    struct jp_rec_count counts[JP_REC_MAX_FUNCS];
};

/* Inspector's id of a hash: "0x%lx" cut to 16 characters, so hashes of 15 or
 * 16 hex digits lose their tail. Kept so, for our records must join with
 * Inspector's of the same run. `id` has room for 17 bytes. */
enum { JP_REC_ID_BYTES = 17 };
void rec_comm_id(uint64_t hash, char id[JP_REC_ID_BYTES]);

/* A new communicator, live until rec_comm_finalize(); NULL without memory.
 * Owned by this module. */
struct jp_rec_comm *rec_comm_create(const struct jp_rec_comm_facts *facts);

/* Tells name, hash and rank of a communicator made with known = false; only
 * the first call counts. */
void rec_comm_identify(struct jp_rec_comm *comm, uint64_t hash,
                       const char *name, int rank);

/* The communicator behind a context pointer, or NULL where there is none or
 * it belongs to the process this one was forked from. */
struct jp_rec_comm *rec_comm_get(void *context);

/* Marks it finalized; true for the first call. */
bool rec_comm_finalize(struct jp_rec_comm *comm);

/* How many are live. */
int rec_comm_live(void);

/* First of all communicators, oldest first; follow `next`. Lock-free: one
 * that appears meanwhile may or may not be seen. */
struct jp_rec_comm *rec_comm_first(void);

/* Sums over all communicators; also a fingerprint of "something changed". */
struct jp_rec_totals {
    uint64_t produced;
    uint64_t written;
    uint64_t lost;
    uint64_t finalized;
    uint64_t comms;
};
void rec_comm_totals(struct jp_rec_totals *totals);

/* In a forked child: the parent's communicators are no longer ours. */
void rec_comm_after_fork(void);

#endif
