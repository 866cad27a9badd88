/* Communicators with their counters, in a table of fixed size. */
#include "plugins/nccl_recorder/rec_comm.h"

#include <pthread.h>
#include <string.h>

#include "plugins/nccl_recorder/rec_clock.h"
#include "plugins/nccl_recorder/rec_env.h"

/* Bits of a context: place + 1 in the lower half, generation above. */
enum { GENERATION_SHIFT = 32 };

/* The context of a communicator that there was no place for. */
#define FOREIGN ((void *) UINTPTR_MAX)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct jp_rec_comm *table;
static atomic_uint n_places;
static atomic_int n_live;
static bool all_closed;    /* under the lock */
static uint32_t n_created; /* under the lock */
static _Atomic uint64_t n_lost;
static _Atomic uint64_t n_foreign;

void rec_comm_init(struct jp_rec_comm *memory, unsigned epoch)
{
    int i;

    for (i = 0; epoch > 0 && i < JP_REC_MAX_COMMS; i++)
        atomic_init(&memory[i].generation, epoch << 24);
    atomic_store(&n_places, 0);
    atomic_store(&n_live, 0);
    all_closed = false;
    n_created = 0;
    atomic_store(&n_lost, 0);
    atomic_store(&n_foreign, 0);
    table = memory;
}

static struct jp_rec_comm *find_place(void)
{
    unsigned n = atomic_load(&n_places);
    unsigned i;

    for (i = 0; i < n && n_created < JPR_MAX_COMMS; i++) {
        if (!rec_comm_used(&table[i]))
            return &table[i];
    }
    if (!table || n == JP_REC_MAX_COMMS || n_created == JPR_MAX_COMMS)
        return NULL;
    return &table[n];
}

static void copy_text(char *out, size_t size, const char *text)
{
    size_t n = text ? strnlen(text, size - 1) : 0;

    memcpy(out, text ? text : "", n);
    out[n] = '\0';
}

/* Everything but the generation, which keeps counting. */
static void reset(struct jp_rec_comm *comm)
{
    const size_t from = offsetof(struct jp_rec_comm, finalized);

    memset((char *) comm + from, 0, sizeof(*comm) - from);
    comm->about.name = comm->name;
    comm->about.gpu_pci = comm->gpu_pci;
    comm->about.gpu_uuid = comm->gpu_uuid;
}

static void describe(struct jp_rec_comm *comm,
                     const struct jp_rec_comm_facts *facts)
{
    copy_text(comm->name, sizeof(comm->name), facts->name);
    comm->about.known = facts->known;
    comm->about.id = facts->hash;
    comm->about.rank = facts->rank;
    comm->about.n_ranks = facts->n_ranks;
    comm->about.n_nodes = facts->n_nodes;
}

void *rec_comm_create(const struct jp_rec_comm_facts *facts)
{
    char pci[sizeof(((struct jp_rec_comm *) 0)->gpu_pci)];
    char uuid[sizeof(((struct jp_rec_comm *) 0)->gpu_uuid)];
    struct jp_rec_comm *comm;
    uint32_t generation;
    unsigned place;

    rec_gpu_identify(pci, sizeof(pci), uuid,
                     sizeof(uuid)); /* asks the loader */
    pthread_mutex_lock(&lock);
    comm = all_closed ? NULL : find_place();
    if (!comm) {
        void *context = all_closed ? NULL : FOREIGN;

        atomic_fetch_add(&n_lost, context != NULL);
        pthread_mutex_unlock(&lock);
        return context;
    }
    reset(comm);
    describe(comm, facts);
    comm->about.index = n_created++;
    comm->about.init_mono_ns = rec_clock_ns();
    memcpy(comm->gpu_pci, pci, sizeof(pci));
    memcpy(comm->gpu_uuid, uuid, sizeof(uuid));
    atomic_store(&comm->known, facts->known);
    rec_trust_comm(&comm->trust, pci);
    generation = atomic_load(&comm->generation) + 1;
    atomic_store_explicit(&comm->generation, generation, memory_order_release);
    place = rec_comm_place(comm);
    if (place == atomic_load(&n_places))
        atomic_store(&n_places, place + 1);
    atomic_fetch_add(&n_live, 1);
    pthread_mutex_unlock(&lock);
    return (void *) (uintptr_t) ((uint64_t) generation << GENERATION_SHIFT |
                                 (place + 1));
}

void rec_comm_identify(struct jp_rec_comm *comm, uint64_t hash,
                       const char *name, int rank)
{
    struct jp_rec_comm_facts facts = {
        .known = true, .name = name, .hash = hash, .rank = rank};

    if (atomic_load_explicit(&comm->known, memory_order_relaxed))
        return;
    pthread_mutex_lock(&lock);
    if (!atomic_load(&comm->known)) {
        describe(comm, &facts);
        atomic_store_explicit(&comm->known, true, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
}

struct jp_rec_comm *rec_comm_get(void *context)
{
    uint64_t bits = (uint64_t) (uintptr_t) context;
    uint32_t place = (uint32_t) bits - 1;
    struct jp_rec_comm *comm;

    if (!table || place >= JP_REC_MAX_COMMS)
        return NULL;
    comm = &table[place];
    if (atomic_load_explicit(&comm->generation, memory_order_acquire) !=
        (uint32_t) (bits >> GENERATION_SHIFT))
        return NULL;
    return comm;
}

void *rec_comm_foreign(void *context)
{
    if (context == FOREIGN)
        atomic_fetch_add_explicit(&n_foreign, 1, memory_order_relaxed);
    return NULL;
}

unsigned rec_comm_place(const struct jp_rec_comm *comm)
{
    return (unsigned) (comm - table);
}

struct jp_rec_comm *rec_comm_at(unsigned place)
{
    return &table[place];
}

unsigned rec_comm_places(void)
{
    return atomic_load(&n_places);
}

void rec_comm_close(struct jp_rec_comm *comm)
{
    unsigned i;

    if (comm) {
        atomic_store(&comm->closed, true);
        return;
    }
    pthread_mutex_lock(&lock);
    all_closed = true;
    for (i = 0; table && i < atomic_load(&n_places); i++)
        atomic_store(&table[i].closed, true);
    pthread_mutex_unlock(&lock);
}

bool rec_comm_finalize(struct jp_rec_comm *comm)
{
    if (atomic_exchange(&comm->finalized, true))
        return false;
    atomic_fetch_sub(&n_live, 1);
    return true;
}

void rec_comm_release(struct jp_rec_comm *comm)
{
    atomic_fetch_add(&comm->generation, 1);
}

int rec_comm_live(void)
{
    return atomic_load(&n_live);
}

uint64_t rec_comm_lost(void)
{
    return atomic_load(&n_lost);
}

uint64_t rec_comm_lost_foreign(void)
{
    return atomic_load(&n_foreign);
}

void rec_comm_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    table = NULL;
    atomic_store(&n_live, 0);
}
