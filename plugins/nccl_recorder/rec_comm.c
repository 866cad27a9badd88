/* Communicators the recorder has seen, with their counters. */
#include "plugins/nccl_recorder/rec_comm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/nccl_recorder/rec_line.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct jp_rec_comm *) first;
static struct jp_rec_comm *last;
static atomic_int n_live;
static atomic_uint epoch;

void rec_comm_id(uint64_t hash, char id[JP_REC_ID_BYTES])
{
    char full[2 + 16 + 1];

    snprintf(full, sizeof(full), "0x%" PRIx64, hash);
    memcpy(id, full, JP_REC_ID_BYTES - 1);
    id[JP_REC_ID_BYTES - 1] = '\0';
}

static void append(struct jp_rec_comm *comm)
{
    pthread_mutex_lock(&list_lock);
    if (last)
        atomic_store(&last->next, comm);
    else
        atomic_store(&first, comm);
    last = comm;
    pthread_mutex_unlock(&list_lock);
}

static void destroy(struct jp_rec_comm *comm)
{
    if (!comm)
        return;
    free(comm->name);
    free(comm->header);
    pthread_mutex_destroy(&comm->lock);
    free(comm);
}

/* Fills name, numbers and the ready-made JSON header; 0 or -1 (memory). */
static int describe(struct jp_rec_comm *comm,
                    const struct jp_rec_comm_facts *facts)
{
    char *name = NULL;
    char *header = NULL;

    if (facts->name && !(name = strdup(facts->name)))
        return -1;
    header = rec_line_header(facts);
    if (!header) {
        free(name);
        return -1;
    }
    free(comm->name);
    free(comm->header);
    comm->name = name;
    comm->header = header;
    comm->hash = facts->hash;
    comm->rank = facts->rank;
    comm->n_ranks = facts->n_ranks;
    comm->n_nodes = facts->n_nodes;
    return 0;
}

struct jp_rec_comm *rec_comm_create(const struct jp_rec_comm_facts *facts)
{
    struct jp_rec_comm *comm = calloc(1, sizeof(*comm));

    if (!comm)
        return NULL;
    pthread_mutex_init(&comm->lock, NULL);
    comm->epoch = atomic_load(&epoch);
    comm->known = facts->known;
    if (describe(comm, facts) < 0) {
        destroy(comm);
        return NULL;
    }
    append(comm);
    atomic_fetch_add(&n_live, 1);
    return comm;
}

void rec_comm_identify(struct jp_rec_comm *comm, uint64_t hash,
                       const char *name, int rank)
{
    struct jp_rec_comm_facts facts = {
        .known = true, .name = name, .hash = hash, .rank = rank};

    pthread_mutex_lock(&comm->lock);
    if (!comm->known && describe(comm, &facts) == 0)
        comm->known = true;
    pthread_mutex_unlock(&comm->lock);
}

struct jp_rec_comm *rec_comm_get(void *context)
{
    struct jp_rec_comm *comm = context;

    return comm && comm->epoch == atomic_load(&epoch) ? comm : NULL;
}

bool rec_comm_finalize(struct jp_rec_comm *comm)
{
    if (atomic_exchange(&comm->finalized, true))
        return false;
    atomic_fetch_sub(&n_live, 1);
    return true;
}

int rec_comm_live(void)
{
    return atomic_load(&n_live);
}

struct jp_rec_comm *rec_comm_first(void)
{
    return atomic_load(&first);
}

void rec_comm_totals(struct jp_rec_totals *totals)
{
    struct jp_rec_comm *comm;
    int i;

    memset(totals, 0, sizeof(*totals));
    for (comm = rec_comm_first(); comm; comm = atomic_load(&comm->next)) {
        for (i = 0; i < rec_func_count(); i++) {
            totals->produced += atomic_load(&comm->counts[i].produced);
            totals->written += atomic_load(&comm->counts[i].written);
            totals->lost += atomic_load(&comm->counts[i].lost);
        }
        totals->finalized += atomic_load(&comm->finalized);
        totals->comms++;
    }
}

void rec_comm_after_fork(void)
{
    /* The parent's structs stay allocated: a context may still name one. */
    pthread_mutex_init(&list_lock, NULL);
    atomic_store(&first, NULL);
    last = NULL;
    atomic_store(&n_live, 0);
    atomic_fetch_add(&epoch, 1);
}
