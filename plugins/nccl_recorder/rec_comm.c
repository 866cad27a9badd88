/* rec_comm.c - the tables that all of the recorder shares: pools of indices,
 * threads, NCCL's words, communicators (rec_comm.h).
 *
 * NCCL's threads call most of this on their hot path, so it takes no locks and
 * allocates nothing. The one lock orders what makes and closes communicators.
 */
#include "plugins/nccl_recorder/rec_comm.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/rec_compat.h"
#include "plugins/nccl_recorder/rec_env.h"

/* --- pools --------------------------------------------------------------- */

/* Two links for each index: within its chain, and below its chain. */
size_t rec_pool_bytes(uint32_t n)
{
    return 2 * (size_t) n * sizeof(uint32_t);
}

void rec_pool_init(struct jp_rec_pool *pool, uint32_t n, uint32_t chain,
                   void *links)
{
    atomic_init(&pool->head, 0);
    atomic_init(&pool->fresh, 0);
    pool->n = n;
    pool->chain = chain;
    pool->next = links;
    pool->below = (_Atomic uint32_t *) links + n;
}

uint32_t rec_pool_used(struct jp_rec_pool *pool)
{
    uint32_t used = atomic_load_explicit(&pool->fresh, memory_order_acquire);

    return used < pool->n ? used : pool->n;
}

/* Links a chain of indices that were never used. Returns the first, or
 * JP_REC_NONE. */
static uint32_t take_fresh(struct jp_rec_pool *pool)
{
    uint32_t first = atomic_load_explicit(&pool->fresh, memory_order_relaxed);
    uint32_t end, i;

    /* the last chain may be shorter */
    do {
        if (first >= pool->n)
            return JP_REC_NONE;
        end = pool->n - first < pool->chain ? pool->n : first + pool->chain;
    } while (!atomic_compare_exchange_weak(&pool->fresh, &first, end));
    for (i = first; i < end; i++)
        pool->next[i] = i + 1 < end ? i + 1 : JP_REC_NONE;
    return first;
}

uint32_t rec_pool_take(struct jp_rec_pool *pool)
{
    uint64_t head = atomic_load_explicit(&pool->head, memory_order_acquire);
    uint64_t next;
    uint32_t first;

    /* the tag in the upper half makes the exchange fail when the chain was
     * taken and given back since `head` was read */
    do {
        if ((uint32_t) head == 0)
            return take_fresh(pool);
        first = (uint32_t) head - 1;
        next = ((head >> 32) + 1) << 32 |
               atomic_load_explicit(&pool->below[first], memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(
        &pool->head, &head, next, memory_order_acq_rel, memory_order_acquire));
    return first;
}

/* Pushes a chain; the tag changes here as well. */
void rec_pool_give(struct jp_rec_pool *pool, uint32_t first)
{
    uint64_t head = atomic_load_explicit(&pool->head, memory_order_relaxed);
    uint64_t next;

    do {
        atomic_store_explicit(&pool->below[first], (uint32_t) head,
                              memory_order_relaxed);
        next = ((head >> 32) + 1) << 32 | (first + 1);
    } while (!atomic_compare_exchange_weak_explicit(
        &pool->head, &head, next, memory_order_acq_rel, memory_order_relaxed));
}

/* Only an empty purse touches the pool that all threads share. */
uint32_t rec_purse_take(struct jp_rec_purse *purse, struct jp_rec_pool *pool)
{
    uint32_t index = purse->first;

    if (index == JP_REC_NONE) {
        index = rec_pool_take(pool);
        if (index == JP_REC_NONE)
            return index;
        purse->n = 0; /* unknown, as the chain may be short; counts from here */
    }
    purse->first = pool->next[index];
    if (purse->n > 0)
        purse->n--;
    return index;
}

/* A purse of a full chain goes back to the pool first, so that places freed by
 * one thread reach the others. */
void rec_purse_give(struct jp_rec_purse *purse, struct jp_rec_pool *pool,
                    uint32_t index)
{
    if (purse->n == pool->chain) {
        rec_pool_give(pool, purse->first);
        purse->first = JP_REC_NONE;
        purse->n = 0;
    }
    pool->next[index] = purse->first;
    purse->first = index;
    purse->n++;
}

static struct jp_rec_comm *table;

/* --- threads ------------------------------------------------------------- */

static struct jp_rec_thread *threads;
static pthread_key_t key;
static bool have_key;

static __thread struct jp_rec_thread *mine;

/* Runs when a thread ends: its entry becomes free for another one. */
static void give_back(void *thread)
{
    if (mine == thread)
        atomic_store_explicit(&mine->taken, false, memory_order_release);
    mine = NULL;
}

enum state { FREE, BUSY, READY };

enum { NAME_BYTES = 32 };

/* A word and its number, which is its place in the table. */
struct name {
    atomic_int state;
    uint8_t bytes; /* of a datatype's element; 0: no datatype */
    char text[NAME_BYTES];
};

/* Takes a free entry for a name. Returns 0 when another thread was faster. */
static int claim(struct name *name, const char *text)
{
    int state = FREE;

    if (!atomic_compare_exchange_strong(&name->state, &state, BUSY))
        return 0;
    memcpy(name->text, text, strnlen(text, NAME_BYTES - 1));
    atomic_store_explicit(&name->state, READY, memory_order_release);
    return 1;
}

/* Claims a free entry of the table for this thread, or returns NULL. Not
 * inlined, so that rec_thread_get() needs no stack. */
__attribute__((noinline)) static struct jp_rec_thread *claim_thread(void)
{
    int i;

    for (i = 0; threads && i < JP_REC_MAX_THREADS; i++) {
        bool taken =
            atomic_load_explicit(&threads[i].taken, memory_order_relaxed);

        if (!taken && atomic_compare_exchange_strong_explicit(
                          &threads[i].taken, &taken, true, memory_order_acquire,
                          memory_order_relaxed)) {
            mine = &threads[i];
            pthread_setspecific(key, mine);
            return mine;
        }
    }
    return NULL;
}

/* The common case is one load of a thread-local variable. */
struct jp_rec_thread *rec_thread_get(void)
{
    struct jp_rec_thread *thread = mine;

    return thread ? thread : claim_thread();
}

struct jp_rec_thread *rec_thread_table(void)
{
    return threads;
}

/* Returns 0, or -1 without a key, without which no ending thread would be
 * noticed. */
static int init_threads(struct jp_rec_thread *memory)
{
    int i;

    if (!have_key && pthread_key_create(&key, give_back) != 0)
        return -1;
    have_key = true;
    for (i = 0; i < JP_REC_MAX_THREADS; i++) {
        atomic_init(&memory[i].chunk, JP_REC_NONE);
        memory[i].ops.first = JP_REC_NONE;
        memory[i].steps.first = JP_REC_NONE;
    }
    threads = memory;
    return 0;
}

/* --- What the recorder itself takes of the program's time ---------------- */

static _Atomic uint64_t life_ns; /* of init and finalize */

void rec_cost_take(struct jp_rec_thread *thread, uint64_t since_ns)
{
    uint64_t ns = rec_clock_ns() - since_ns;

    if (!thread) { /* shared, but rare enough to time each */
        atomic_fetch_add(&life_ns, ns);
        return;
    }
    rec_cost_add(&thread->timed, 1);
    rec_cost_add(&thread->timed_ns,
                 ns < JP_REC_COST_MOST_NS ? ns : JP_REC_COST_MOST_NS);
}

/* Another thread may be adding: a sum that is a moment old is fine. */
static uint64_t get_counter(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* The counters of threads that have ended stay in their entries. */
static void sum_cost(struct jpr_cost *cost)
{
    *cost = (struct jpr_cost){
        .told = true,
        .life_ns = get_counter(&life_ns),
        .writer_ns = rec_clock_of(CLOCK_THREAD_CPUTIME_ID),
    };
    for (unsigned i = 0; threads && i < JP_REC_MAX_THREADS; i++) {
        cost->events += get_counter(&threads[i].events);
        cost->timed += get_counter(&threads[i].timed);
        cost->timed_ns += get_counter(&threads[i].timed_ns);
    }
}

/* clang-format off */
#define KNOWN(text) {READY, 0, text}
#define TYPE(text, bytes) {READY, bytes, text}

/* Searched in this order, so the most used words come first. */
static struct name funcs[JP_REC_FUNCS] = {
    KNOWN(""), KNOWN("AllReduce"), KNOWN("AllGather"), KNOWN("ReduceScatter"),
    KNOWN("Send"), [JP_REC_FUNC_RECV] = KNOWN("Recv"),
    [JP_REC_FUNC_BROADCAST] = KNOWN("Broadcast"), KNOWN("Reduce"),
    KNOWN("SendRecv"), KNOWN("AllGatherV"), KNOWN("AlltoAll"), KNOWN("Gather"),
    KNOWN("Scatter"), [JP_REC_FUNCS - 1] = KNOWN("other"),
};

static struct name words[JP_REC_WORDS] = {
    KNOWN(""), TYPE("ncclBfloat16", 2), TYPE("ncclFloat16", 2),
    TYPE("ncclFloat32", 4), TYPE("ncclFloat64", 8), TYPE("ncclInt8", 1),
    TYPE("ncclUint8", 1), TYPE("Unknown", 1), TYPE("ncclInt32", 4),
    TYPE("ncclUint32", 4), TYPE("ncclInt64", 8), TYPE("ncclUint64", 8),
    TYPE("ncclFloat8e4m3", 1), TYPE("ncclFloat8e5m2", 1),
    KNOWN("RING"), KNOWN("TREE"), KNOWN("NVLS"), KNOWN("NVLS_TREE"),
    KNOWN("COLLNET_DIRECT"), KNOWN("COLLNET_CHAIN"), KNOWN("PAT"),
    KNOWN("SIMPLE"), KNOWN("LL"), KNOWN("LL128"),
    [JP_REC_WORDS - 1] = KNOWN("other"),
};

/* clang-format on */

/* Returns the number of a word, which takes the first free entry if it is new.
 */
static unsigned find_word(struct name *names, unsigned n, const char *text)
{
    unsigned i = text && text[0] ? 1 : 0;

    for (; text && text[0] && i < n - 1; i++) {
        int state = atomic_load_explicit(&names[i].state, memory_order_acquire);

        if (state == FREE && claim(&names[i], text))
            return i;
        /* an entry that another thread is filling is skipped, so a word may get
         * two numbers */
        if (state == READY && strncmp(names[i].text, text, NAME_BYTES - 1) == 0)
            return i;
    }
    return i;
}

/* Libraries whose constants were looked up. Never taken back: a thread may be
 * reading one. When there is no more room, all words are compared. */
enum { LIBRARIES = 16 };
static struct jp_rec_constants libraries[LIBRARIES];
static unsigned n_libraries; /* under names_lock */
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
/* of the NCCL that made the last communicator; NULL: not known */
static const struct jp_rec_constants *_Atomic constants;

struct search {
    uintptr_t inside;
    struct jp_rec_constants out;
};

/* Finds the library in which an address is, and its segments below the first
 * one that can be written. */
static int find_constants(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *search = arg;
    uintptr_t from = UINTPTR_MAX, to = 0, writable = UINTPTR_MAX;
    bool is_it = false;

    (void) size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p->p_vaddr;
        uintptr_t end = begin + p->p_memsz;

        if (p->p_type != PT_LOAD)
            continue;
        is_it |= search->inside >= begin && search->inside < end;
        if ((p->p_flags & PF_W) && begin < writable)
            writable = begin;
        if (!(p->p_flags & PF_W) && begin < from)
            from = begin;
        if (!(p->p_flags & PF_W) && end > to)
            to = end;
    }
    to = to < writable ? to : writable;
    if (is_it && from < to)
        search->out = (struct jp_rec_constants){from, to - from};
    return is_it;
}

void rec_names_begin(const void *mask)
{
    struct search search = {.inside = (uintptr_t) mask};
    const struct jp_rec_constants *found = NULL;

    if (mask)
        dl_iterate_phdr(find_constants, &search);
    pthread_mutex_lock(&names_lock);
    for (unsigned i = 0; i < n_libraries && !found; i++)
        if (libraries[i].from == search.out.from &&
            libraries[i].bytes == search.out.bytes)
            found = &libraries[i];
    if (!found && search.out.bytes && n_libraries < LIBRARIES) {
        libraries[n_libraries] = search.out;
        found = &libraries[n_libraries++];
    }
    atomic_store_explicit(&constants, found, memory_order_release);
    pthread_mutex_unlock(&names_lock);
}

/* The same, by a cache of addresses. */
static unsigned find_cached(struct jp_rec_name_cache *cache, struct name *names,
                            unsigned n, const char *text)
{
    const struct jp_rec_constants *of =
        atomic_load_explicit(&constants, memory_order_acquire);
    size_t at = ((uintptr_t) text ^ (uintptr_t) text >> 4) % JP_REC_CACHED;
    unsigned number;

    if (!text)
        return 0;
    if (cache->of != of) { /* another library may be at the same place */
        memset(cache, 0, sizeof(*cache));
        cache->of = of;
    }
    number = cache->number[at];
    if (cache->text[at] == text &&
        ((of && (uintptr_t) text - of->from < of->bytes) ||
         strcmp(names[number].text, text) == 0))
        return number;
    number = find_word(names, n, text);
    cache->text[at] = text;
    cache->number[at] = (uint8_t) number;
    return number;
}

/* The same cache cannot serve both tables: a number means another word there.
 */
unsigned rec_names_func(struct jp_rec_name_cache *cache, const char *name)
{
    return find_cached(cache, funcs, JP_REC_FUNCS, name);
}

unsigned rec_names_word(struct jp_rec_name_cache *cache, const char *word)
{
    return find_cached(cache, words, JP_REC_WORDS, word);
}

const char *rec_names_func_text(unsigned number)
{
    return funcs[number < JP_REC_FUNCS ? number : JP_REC_FUNCS - 1].text;
}

const char *rec_names_word_text(unsigned number)
{
    return words[number < JP_REC_WORDS ? number : JP_REC_WORDS - 1].text;
}

uint64_t rec_names_datatype_bytes(unsigned word)
{
    return word < JP_REC_WORDS ? words[word].bytes : 0;
}

/* Bits of a context: place + 1 in the lower half, generation in the upper. */
enum { GENERATION_SHIFT = 32 };

/* The context of a communicator for which the table had no place. */
#define FOREIGN ((void *) UINTPTR_MAX)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static atomic_uint n_places;       /* ever used */
static atomic_int n_live;          /* not finalized */
static bool all_closed;            /* under the lock */
static uint32_t n_created;         /* under the lock */
static _Atomic uint64_t n_lost;    /* communicators without a place */
static _Atomic uint64_t n_foreign; /* operations of those */

/* The generation at which places begin. A forked child begins at a higher one:
 * contexts of its parent, which NCCL still holds there, must not match. */
static uint32_t first_generation; /* under the lock */

static void init_table(struct jp_rec_comm *memory, unsigned epoch)
{
    first_generation = epoch << 24;
    atomic_store(&n_places, 0);
    atomic_store(&n_live, 0);
    all_closed = false;
    n_created = 0;
    atomic_store(&n_lost, 0);
    atomic_store(&n_foreign, 0);
    table = memory;
}

size_t rec_comm_init(char *memory, unsigned epoch)
{
    const size_t thread_bytes = JP_REC_MAX_THREADS *
                                sizeof(struct jp_rec_thread);

    if (init_threads((struct jp_rec_thread *) memory) < 0)
        return 0;
    init_table((struct jp_rec_comm *) (memory + thread_bytes), epoch);
    return thread_bytes + JP_REC_MAX_COMMS * sizeof(struct jp_rec_comm);
}

/* Returns a free place, an old one if possible, or NULL. A file has at most
 * JPR_MAX_COMMS communicators. */
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

/* Copies a text, cut to size; NULL is "". */
static void copy_text(char *out, size_t size, const char *text)
{
    size_t n = text ? strnlen(text, size - 1) : 0;

    memcpy(out, text ? text : "", n);
    out[n] = '\0';
}

/* Clears everything but the generation, which keeps counting. */
static void reset(struct jp_rec_comm *comm)
{
    const size_t from = offsetof(struct jp_rec_comm, finalized);

    memset((char *) comm + from, 0, sizeof(*comm) - from);
    comm->about.name = comm->name;
    comm->about.gpu_pci = comm->gpu_pci;
    comm->about.gpu_uuid = comm->gpu_uuid;
}

/* Takes over what init() or the first operation says. */
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

    /* takes the loader's lock: not under ours */
    rec_gpu_identify(pci, sizeof(pci), uuid, sizeof(uuid));
    pthread_mutex_lock(&lock);
    comm = all_closed ? NULL : find_place();
    if (!comm) { /* the table is full, or the process ends */
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
    /* odd from here on: other threads may see it */
    generation = atomic_load(&comm->generation);
    generation = (generation ? generation : first_generation) + 1;
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

    /* every operation of v1 to v3 comes here: no lock for the later ones */
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
    /* NULL and FOREIGN give a place outside of the table */
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
    if (atomic_exchange(&comm->finalized, true)) /* a second call */
        return false;
    atomic_fetch_sub(&n_live, 1);
    return true;
}

int rec_comm_live(void)
{
    return atomic_load(&n_live);
}

void rec_comm_totals(struct jpr_counters *counters)
{
    counters->lost_comms = atomic_load(&n_lost);
    counters->lost_foreign = atomic_load(&n_foreign);
    sum_cost(&counters->cost);
}

void rec_comm_after_fork(void)
{
    /* another thread of the parent may have held the lock */
    pthread_mutex_init(&lock, NULL);
    pthread_mutex_init(&names_lock, NULL);
    table = NULL;
    atomic_store(&n_live, 0);
    threads = NULL;
    mine = NULL; /* the thread that forked is the child's only one */
    atomic_store(&life_ns, 0);
}
