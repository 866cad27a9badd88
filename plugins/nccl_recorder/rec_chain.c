/* rec_chain.c - another profiler library behind the recorder: how it is found,
 * pairs of handles, and calls in terms of its interface.
 */
#include "plugins/nccl_recorder/rec_chain.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plugins/nccl_recorder/rec_compat.h"
#include "plugins/nccl_recorder/rec_op.h"
#include "plugins/nccl_recorder/rec_v1_names.h"

atomic_bool jp_rec_chained;
struct jp_rec_masks jp_rec_masks;

/* --- the library ------------------------------------------------------------
 */

/* Any version of NCCL's table: all have the same six members. */
struct table {
    const char *name;
    void *init;
    int (*start)(void *context, void **handle, void *descr);
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, void *args);
    int (*finalize)(void *context);
};

typedef int init_v1(void **context, int *mask);
typedef int init_v4(void **context, int *mask, const char *name, uint64_t hash,
                    int n_nodes, int n_ranks, int rank, jp_nccl_log_fn *log);
typedef int init_v5(void **context, uint64_t hash, int *mask, const char *name,
                    int n_nodes, int n_ranks, int rank, jp_nccl_log_fn *log);

static const struct table *table; /* of the library; NULL: none */
static int interface;             /* of that table */
static int nccl_interface;        /* that NCCL uses: the same or a newer one */
static bool opened;
static atomic_flag claimed = ATOMIC_FLAG_INIT;
static atomic_bool refused; /* why is written */
static char why[400];       /* the library is not used, or "" */
static char no_context;     /* stands for NULL: init() succeeded without one */

/* Keeps the first reason; threads may fail at once. */
static void refuse(const char *name, const char *what)
{
    if (atomic_flag_test_and_set(&claimed))
        return;
    snprintf(why, sizeof(why), "chain: %.200s: %.150s", name, what);
    atomic_store_explicit(&refused, true, memory_order_release);
}

/* Returns it, or NULL: there is none. */
static const char *reason(void)
{
    return atomic_load_explicit(&refused, memory_order_acquire) ? why : NULL;
}

/* Loads a library as NCCL does: by its path, else by its short name. */
static void *load_library(const char *name)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    char path[256];

    if (library || strchr(name, '/') ||
        snprintf(path, sizeof(path), "libnccl-profiler-%s.so", name) >=
            (int) sizeof(path))
        return library;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* Finds the newest table that is not newer than NCCL's interface. */
static const struct table *find_table(void *library, int version, int *found)
{
    for (int v = version; v >= 1; v--) {
        char symbol[32];
        const struct table *t;

        snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", v);
        t = dlsym(library, symbol);
        if (t) {
            *found = v;
            return t;
        }
    }
    return NULL;
}

static bool make_pairs(void);

const char *rec_chain_open(int version)
{
    const char *name = getenv("JOBPROF_RECORDER_CHAIN");
    const struct table *t;
    char what[128];
    Dl_info theirs, ours;
    void *library;

    if (opened || !name || !*name)
        return reason();
    opened = true;
    if (getauxval(AT_SECURE)) { /* a less privileged user names the library */
        refuse(name, "not loaded: the program has more rights than its user");
        return reason();
    }
    library = load_library(name);
    if (!library) {
        const char *fault = dlerror();

        refuse(name, fault ? fault : "cannot be loaded");
        return reason();
    }
    nccl_interface = version;
    t = find_table(library, version, &interface);
    if (!t) {
        snprintf(what, sizeof(what),
                 version > 1
                     ? "has no profiler interface from v1 to v%d of this NCCL"
                     : "has no profiler interface v%d, which this NCCL uses",
                 version);
        refuse(name, what);
    } else if (dladdr(t, &theirs) && dladdr(&jp_rec_masks, &ours) &&
               theirs.dli_fbase == ours.dli_fbase) {
        refuse(name, "is the recorder itself");
    } else if (!make_pairs()) {
        refuse(name, "no memory for its handles");
    } else {
        table = t;
        atomic_store_explicit(&jp_rec_chained, true, memory_order_release);
    }
    return reason();
}

/* The types of events that an interface has. */
static const int known_types[] = {0,    0x3f,  0x3f,   0xff,
                                  0xff, 0xfff, 0x7fff, 0xffff};

/* The context of a library with v1, v2 or v3 where NCCL is newer: the events
 * of these interfaces carry the communicator's name and hash. NCCL may report
 * the end of a kernel after finalize(), so the memory is kept for a later
 * communicator. */
struct named {
    void *_Atomic context;
    uint64_t hash;
    char name[128];
    bool has_name;
    struct named *next; /* of the free ones */
};

static pthread_mutex_t named_lock = PTHREAD_MUTEX_INITIALIZER;
static struct named *named_free;

static bool is_named(void)
{
    return interface < 4 && nccl_interface >= 4;
}

/* Returns NULL without memory. */
static struct named *make_named(const struct jp_rec_chain_comm *comm,
                                void *context)
{
    struct named *named;

    pthread_mutex_lock(&named_lock);
    named = named_free;
    if (named)
        named_free = named->next;
    pthread_mutex_unlock(&named_lock);
    if (!named)
        named = calloc(1, sizeof(*named));
    if (!named)
        return NULL;
    named->hash = comm->hash;
    named->has_name = comm->name != NULL;
    snprintf(named->name, sizeof(named->name), "%s",
             comm->name ? comm->name : "");
    atomic_store(&named->context, context);
    return named;
}

/* What the library itself gave as a context. */
static void *context_of(void *theirs)
{
    if (is_named())
        theirs = atomic_load(&((struct named *) theirs)->context);
    return theirs == &no_context ? NULL : theirs;
}

void *rec_chain_init(const struct jp_rec_chain_comm *comm)
{
    int *mask = &jp_rec_masks.theirs;
    void *context = NULL;
    char what[80];
    int rc;

    if (interface < 4)
        rc = ((init_v1 *) table->init)(&context, mask);
    else if (interface == 4)
        rc = ((init_v4 *) table->init)(&context, mask, comm->name, comm->hash,
                                       comm->n_nodes, comm->n_ranks, comm->rank,
                                       comm->log);
    else
        rc = ((init_v5 *) table->init)(&context, comm->hash, mask, comm->name,
                                       comm->n_nodes, comm->n_ranks, comm->rank,
                                       comm->log);
    __atomic_fetch_and(mask, known_types[interface], __ATOMIC_RELAXED);
    if (rc == 0) {
        if (!context) /* it may need none */
            context = &no_context;
        return is_named() ? make_named(comm, context) : context;
    }
    snprintf(what, sizeof(what), "its init() failed with %d: it gets no events",
             rc);
    refuse(table->name ? table->name : "?", what);
    return NULL;
}

void rec_chain_finalize(void *theirs)
{
    void *context = context_of(theirs);

    if (context && table->finalize) /* as NCCL does */
        table->finalize(context);
    if (is_named()) {
        struct named *named = theirs;

        pthread_mutex_lock(&named_lock);
        named->next = named_free;
        named_free = named;
        pthread_mutex_unlock(&named_lock);
    }
}

/* --- masks ------------------------------------------------------------------
 */

static int *_Atomic nccl_mask;
static const void *_Atomic nccl_base; /* address of the mask's library */

/* Returns NCCL's mask; NULL: none yet. A program may unload NCCL and load
 * another one. */
static int *find_mask(void)
{
    int *mask = atomic_load(&nccl_mask);
    Dl_info object;

    return mask && dladdr(mask, &object) &&
                   object.dli_fbase == atomic_load(&nccl_base)
               ? mask
               : NULL;
}

void rec_chain_mask(int *mask)
{
    int both = __atomic_load_n(&jp_rec_masks.ours, __ATOMIC_RELAXED) |
               __atomic_load_n(&jp_rec_masks.theirs, __ATOMIC_RELAXED);
    int was = __atomic_load_n(&jp_rec_masks.both, __ATOMIC_RELAXED);
    Dl_info object;

    if (mask) {
        atomic_store(&nccl_base,
                     dladdr(mask, &object) ? object.dli_fbase : NULL);
        atomic_store(&nccl_mask, mask);
        __atomic_store_n(mask, both, __ATOMIC_RELAXED);
    } else if ((mask = find_mask())) {
        /* somebody else may have changed it: RAS */
        __atomic_compare_exchange_n(mask, &was, both, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    }
    __atomic_store_n(&jp_rec_masks.both, both, __ATOMIC_RELAXED);
}

int rec_chain_seen(void)
{
    const int *mask = find_mask();

    return mask ? __atomic_load_n(mask, __ATOMIC_RELAXED) : -1;
}

/* What below an operation is asked for. */
#define BELOW                                                                  \
    (JP_NCCL_PROXY_OP | JP_NCCL_PROXY_STEP | JP_NCCL_KERNEL_CH |               \
     JP_NCCL_KERNEL_PHASE | JP_NCCL_NET_PLUGIN)

#define COPY_ENGINES (JP_NCCL_CE_COLL | JP_NCCL_CE_SYNC | JP_NCCL_CE_BATCH)

bool rec_chain_wants(int mask, uint64_t type)
{
    int children = 0;

    switch (type) { /* NCCL's src/plugin/profiler.cc, from 2.23 to 2.30 */
    case JP_NCCL_GROUP_API:
        children = JP_NCCL_COLL_API | JP_NCCL_P2P_API | JP_NCCL_KERNEL_LAUNCH |
                   JP_NCCL_GROUP | JP_NCCL_COLL | JP_NCCL_P2P | BELOW |
                   COPY_ENGINES;
        break;
    case JP_NCCL_COLL_API:
        children = JP_NCCL_COLL | BELOW | COPY_ENGINES;
        break;
    case JP_NCCL_P2P_API:
        children = JP_NCCL_P2P | BELOW;
        break;
    case JP_NCCL_GROUP:
        children = JP_NCCL_COLL | JP_NCCL_P2P | BELOW;
        break;
    case JP_NCCL_P2P:
        if (nccl_interface < 3) /* until 2.25 collectives decide */
            type = JP_NCCL_COLL;
        children = BELOW;
        break;
    case JP_NCCL_COLL:
        children = BELOW;
        break;
    case JP_NCCL_PROXY_OP:
        children = JP_NCCL_PROXY_STEP | JP_NCCL_NET_PLUGIN;
        break;
    case JP_NCCL_PROXY_STEP:
        children = JP_NCCL_NET_PLUGIN;
        break;
    case JP_NCCL_KERNEL_CH:
        children = JP_NCCL_KERNEL_PHASE;
        break;
    case JP_NCCL_CE_COLL:
        children = JP_NCCL_CE_SYNC | JP_NCCL_CE_BATCH;
        break;
    default:
        break;
    }
    return ((uint64_t) (unsigned) mask & (type | (unsigned) children)) != 0;
}

/* --- pairs ------------------------------------------------------------------
 */

/* Places, and how many of them wait before they are used again. */
enum { PLACES = 1 << 18, WAITING = 1 << 17, WAITING_CAPTURED = 1 << 16 };

/* A place. generation: odd while it is in use; next: of the free ones, from 1.
 */
struct place {
    _Atomic uint32_t generation;
    _Atomic uint32_t next;
    _Atomic uintptr_t ours, theirs;
    _Atomic uint32_t life; /* enum jp_rec_life, or ENDED */
};

enum { ENDED = JP_REC_CAPTURED + 1 };

/* Numbers of places that have ended, in the order in which they did; 0: none.
 */
struct queue {
    _Atomic uint32_t *numbers;
    uint32_t n;
    _Atomic uint64_t turn;
};

static struct place *places; /* PLACES; place number 1 is the first */
static struct queue parents, captured;
static _Atomic uint64_t free_head; /* changes << 32 | number; 0: none */
static _Atomic uint32_t n_used;    /* places that were ever used */
static uint32_t salt;              /* of this process, mixed into generations */
static _Atomic pid_t known_pid;    /* as getpid() is a system call */

/* Takes the memory, of which the kernel provides what is touched. */
static bool make_pairs(void)
{
    size_t bytes = PLACES * sizeof(*places) +
                   (WAITING + WAITING_CAPTURED) * sizeof(*parents.numbers);
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        return false;
    salt = rec_op_salt();
    places = (void *) memory;
    parents.numbers = (void *) (memory + PLACES * sizeof(*places));
    parents.n = WAITING;
    captured.numbers = parents.numbers + WAITING;
    captured.n = WAITING_CAPTURED;
    return true;
}

uint32_t rec_chain_take(void)
{
    uint64_t head = atomic_load_explicit(&free_head, memory_order_acquire);
    uint32_t fresh;

    while ((uint32_t) head) {
        struct place *place = &places[(uint32_t) head - 1];
        uint64_t next =
            atomic_load_explicit(&place->next, memory_order_relaxed) |
            ((head >> 32) + 1) << 32;

        if (atomic_compare_exchange_weak_explicit(&free_head, &head, next,
                                                  memory_order_acquire,
                                                  memory_order_acquire))
            return (uint32_t) (place - places) + 1;
    }
    fresh = atomic_load_explicit(&n_used, memory_order_relaxed);
    while (fresh < PLACES)
        if (atomic_compare_exchange_weak_explicit(&n_used, &fresh, fresh + 1,
                                                  memory_order_relaxed,
                                                  memory_order_relaxed))
            return fresh + 1;
    return 0;
}

static void give_place(uint32_t number)
{
    struct place *place = &places[number - 1];
    uint64_t head = atomic_load_explicit(&free_head, memory_order_relaxed);

    do {
        atomic_store_explicit(&place->next, (uint32_t) head,
                              memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(
        &free_head, &head, ((head >> 32) + 1) << 32 | number,
        memory_order_release, memory_order_relaxed));
}

/* The place is free: its handles stand for nothing from now on. Only one of
 * several callers frees it. */
static void retire(uint32_t number)
{
    _Atomic uint32_t *generation = &places[number - 1].generation;
    uint32_t now = atomic_load_explicit(generation, memory_order_relaxed);

    if ((now & 1) && atomic_compare_exchange_strong_explicit(
                         generation, &now, now + 1, memory_order_release,
                         memory_order_relaxed))
        give_place(number);
}

/* A place has ended: it is freed when the queue is full. */
static void put_off(struct queue *queue, uint32_t number)
{
    uint64_t turn =
        atomic_fetch_add_explicit(&queue->turn, 1, memory_order_relaxed);
    uint32_t oldest = atomic_exchange_explicit(&queue->numbers[turn % queue->n],
                                               number, memory_order_acq_rel);

    if (oldest)
        retire(oldest);
}

void *rec_chain_join(uint32_t number, void *ours, void *theirs,
                     enum jp_rec_life life)
{
    struct place *place;
    uint32_t generation;

    if (!number)
        return ours;
    if (!theirs) {
        give_place(number);
        return ours;
    }
    place = &places[number - 1];
    atomic_store_explicit(&place->ours, (uintptr_t) ours, memory_order_relaxed);
    atomic_store_explicit(&place->theirs, (uintptr_t) theirs,
                          memory_order_relaxed);
    atomic_store_explicit(&place->life, life, memory_order_relaxed);
    generation =
        atomic_fetch_add_explicit(&place->generation, 1, memory_order_release) +
        1;
    return (void *) (uintptr_t) ((uint64_t) (generation ^ salt) << 32 |
                                 (uint64_t) number << 3);
}

void *rec_chain_pair_comm(void *ours, void *theirs)
{
    uint32_t number = theirs ? rec_chain_take() : 0;

    if (theirs && !number)
        rec_chain_finalize(theirs); /* it would get no event */
    return rec_chain_join(number, ours, theirs, JP_REC_PARENT);
}

/* Returns the place that a handle names, or NULL. */
static struct place *place_of(const void *handle, uint32_t *generation)
{
    uint64_t bits = (uint64_t) (uintptr_t) handle;
    uint64_t number = (uint32_t) bits >> 3;

    *generation = (uint32_t) (bits >> 32) ^ salt;
    return number && number <= PLACES && !(bits & 7) ? &places[number - 1]
                                                     : NULL;
}

/* Reads a pair; false: the handle is too old or none. */
static bool read_pair(const void *handle, struct jp_rec_pair *pair)
{
    uint32_t generation;
    struct place *place = place_of(handle, &generation);

    if (!place || !(generation & 1) ||
        atomic_load_explicit(&place->generation, memory_order_acquire) !=
            generation)
        return false;
    pair->ours =
        (void *) atomic_load_explicit(&place->ours, memory_order_relaxed);
    pair->theirs =
        (void *) atomic_load_explicit(&place->theirs, memory_order_relaxed);
    /* it may have ended meanwhile */
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&place->generation, memory_order_relaxed) ==
           generation;
}

struct jp_rec_pair rec_chain_find(const void *handle)
{
    struct jp_rec_pair pair;

    if ((uintptr_t) handle & 7) /* one of ours, alone */
        return (struct jp_rec_pair){.ours = (void *) (uintptr_t) handle};
    return read_pair(handle, &pair) ? pair : (struct jp_rec_pair){NULL, NULL};
}

struct jp_rec_pair rec_chain_find_comm(void *context)
{
    struct jp_rec_pair pair;

    return read_pair(context, &pair) ? pair
                                     : (struct jp_rec_pair){.ours = context};
}

struct jp_rec_pair rec_chain_find_of(const void *handle, pid_t pid)
{
    /* with PXN a handle of another process comes here */
    if (pid != atomic_load_explicit(&known_pid, memory_order_relaxed)) {
        if (pid != getpid())
            return (struct jp_rec_pair){NULL, NULL};
        atomic_store_explicit(&known_pid, pid, memory_order_relaxed);
    }
    return rec_chain_find(handle);
}

void rec_chain_end(const void *handle)
{
    uint32_t generation, number;
    struct place *place = place_of(handle, &generation);

    if (!place || atomic_load_explicit(&place->generation,
                                       memory_order_acquire) != generation)
        return;
    number = (uint32_t) (place - places) + 1;
    /* NCCL may stop an event twice */
    switch (
        atomic_exchange_explicit(&place->life, ENDED, memory_order_relaxed)) {
    case JP_REC_LEAF:
        retire(number);
        break;
    case JP_REC_PARENT:
        put_off(&parents, number);
        break;
    case JP_REC_CAPTURED:
        put_off(&captured, number);
        break;
    default:
        break;
    }
}

/* --- calls in terms of its interface ----------------------------------------
 */

/* An event as all interfaces have it. */
struct event {
    uint64_t type;
    void *parent;
    int rank;
    const char *comm_name; /* NULL: not known */
    uint64_t comm_hash;
    size_t traffic_bytes; /* v2 has it; else 0 */
    union {
        struct jp_nccl_coll_v4 coll;
        struct jp_nccl_p2p_v4 p2p;
        struct jp_nccl_proxy_op proxy_op;
        struct jp_nccl_proxy_step proxy_step;
        struct jp_nccl_kernel_ch_v4 kernel_ch;
        struct jp_nccl_net_plugin net_plugin;
    };
};

/* Copies the events that do not differ between interfaces. */
#define COPY_REST(to, from)                                                    \
    do {                                                                       \
        if ((from)->type == JP_NCCL_PROXY_OP)                                  \
            (to)->proxy_op = (from)->proxy_op;                                 \
        else if ((from)->type == JP_NCCL_PROXY_STEP)                           \
            (to)->proxy_step = (from)->proxy_step;                             \
    } while (0)

static_assert(offsetof(struct jp_nccl_coll_v5, proto) ==
                  offsetof(struct jp_nccl_coll_v4, proto),
              "v4's collective begins v5's");
static_assert(offsetof(struct jp_nccl_p2p_v5, n_channels) ==
                  offsetof(struct jp_nccl_p2p_v4, n_channels),
              "v4's Send begins v5's");
/* The members of v7's events begin with those of v6, and v6's with those of
 * v5: a library reads an event of a newer interface as one of its own. */
#define SAME(newer, older, member)                                             \
    static_assert(offsetof(struct jp_nccl_descr_##newer, member) ==            \
                      offsetof(struct jp_nccl_descr_##older, member),          \
                  #newer " begins as " #older)
SAME(v6, v5, kernel_ch);
SAME(v6, v5, coll.parent_group);
SAME(v6, v5, p2p.parent_group);
SAME(v6, v5, coll_api.graph_captured);
SAME(v6, v5, p2p_api.graph_captured);
SAME(v7, v6, rank);
SAME(v7, v6, group_api.depth);
SAME(v7, v6, kernel_launch);
SAME(v7, v6, coll.proto);
SAME(v7, v6, coll.parent_group);
SAME(v7, v6, p2p.parent_group);
SAME(v7, v6, coll_api.graph_captured);
SAME(v7, v6, p2p_api.graph_captured);
SAME(v7, v6, proxy_op);
SAME(v7, v6, proxy_step);
SAME(v7, v6, kernel_ch);
SAME(v7, v6, net_plugin);
SAME(v7, v6, ce_coll.stream);
SAME(v7, v6, ce_sync);
SAME(v7, v6, ce_batch);
#undef SAME

/* Reads an event of v5, v6 or v7. */
static void read_v5(struct event *out, const struct jp_nccl_descr_v5 *d)
{
    *out =
        (struct event){.type = d->type, .parent = d->parent, .rank = d->rank};
    if (d->type == JP_NCCL_COLL) {
        memcpy(&out->coll, &d->coll, sizeof(out->coll));
        out->parent = d->coll.parent_group;
    } else if (d->type == JP_NCCL_P2P) {
        memcpy(&out->p2p, &d->p2p, sizeof(out->p2p));
        out->parent = d->p2p.parent_group;
    } else if (d->type == JP_NCCL_KERNEL_CH) {
        out->kernel_ch = d->kernel_ch;
    } else if (d->type == JP_NCCL_NET_PLUGIN) {
        out->net_plugin = d->net_plugin;
    } else {
        COPY_REST(out, d);
    }
}

static void read_v4(struct event *out, const struct jp_nccl_descr_v4 *d)
{
    *out =
        (struct event){.type = d->type, .parent = d->parent, .rank = d->rank};
    if (d->type == JP_NCCL_COLL)
        out->coll = d->coll;
    else if (d->type == JP_NCCL_P2P)
        out->p2p = d->p2p;
    else if (d->type == JP_NCCL_KERNEL_CH)
        out->kernel_ch = d->kernel_ch;
    else if (d->type == JP_NCCL_NET_PLUGIN)
        out->net_plugin = d->net_plugin;
    else
        COPY_REST(out, d);
}

/* The two interfaces whose events name the communicator in text. */
#define READ_OLD(d)                                                            \
    do {                                                                       \
        *out = (struct event){                                                 \
            .type = (d)->type, .parent = (d)->parent, .rank = (d)->rank};      \
        if ((d)->type == JP_NCCL_COLL) {                                       \
            out->comm_name = (d)->coll.comm_name;                              \
            out->comm_hash = (d)->coll.comm_hash;                              \
            out->coll =                                                        \
                (struct jp_nccl_coll_v4){.seq = (d)->coll.seq,                 \
                                         .func = (d)->coll.func,               \
                                         .send_buf = (d)->coll.send_buf,       \
                                         .recv_buf = (d)->coll.recv_buf,       \
                                         .count = (d)->coll.count,             \
                                         .root = (d)->coll.root,               \
                                         .datatype = (d)->coll.datatype,       \
                                         .n_channels = (d)->coll.max_channels, \
                                         .n_warps = (d)->coll.n_warps,         \
                                         .algo = (d)->coll.algo,               \
                                         .proto = (d)->coll.proto};            \
        } else if ((d)->type == JP_NCCL_P2P) {                                 \
            out->comm_name = (d)->p2p.comm_name;                               \
            out->comm_hash = (d)->p2p.comm_hash;                               \
            out->p2p = (struct jp_nccl_p2p_v4){.func = (d)->p2p.func,          \
                                               .buf = (d)->p2p.buf,            \
                                               .datatype = (d)->p2p.datatype,  \
                                               .count = (d)->p2p.count,        \
                                               .peer = (d)->p2p.peer};         \
        } else {                                                               \
            COPY_REST(out, d);                                                 \
        }                                                                      \
    } while (0)

static void read_v3(struct event *out, const struct jp_nccl_descr_v3 *d)
{
    READ_OLD(d);
}

static void read_v2(struct event *out, const struct jp_nccl_descr_v2 *d)
{
    READ_OLD(d);
    if (d->type == JP_NCCL_COLL)
        out->traffic_bytes = d->coll.traffic_bytes;
}

static void read_event(struct event *out, int version, const void *descr)
{
    if (version >= 5)
        read_v5(out, descr);
    else if (version == 4)
        read_v4(out, descr);
    else if (version == 3)
        read_v3(out, descr);
    else
        read_v2(out, descr);
}

/* A description of any interface before v5. */
union old_descr {
    struct jp_nccl_descr_v1 v1;
    struct jp_nccl_descr_v2 v2;
    struct jp_nccl_descr_v3 v3;
    struct jp_nccl_descr_v4 v4;
};

static void write_v4(struct jp_nccl_descr_v4 *out, const struct event *e)
{
    *out = (struct jp_nccl_descr_v4){
        .type = (uint8_t) e->type, .parent = e->parent, .rank = e->rank};
    if (e->type == JP_NCCL_COLL)
        out->coll = e->coll;
    else if (e->type == JP_NCCL_P2P)
        out->p2p = e->p2p;
    else if (e->type == JP_NCCL_KERNEL_CH)
        out->kernel_ch = e->kernel_ch;
    else if (e->type == JP_NCCL_NET_PLUGIN)
        out->net_plugin = e->net_plugin;
    else
        COPY_REST(out, e);
}

static void write_p2p(struct jp_nccl_p2p_v2 *out, const struct event *e)
{
    *out = (struct jp_nccl_p2p_v2){.comm_name = e->comm_name,
                                   .comm_hash = e->comm_hash,
                                   .func = e->p2p.func,
                                   .buf = e->p2p.buf,
                                   .datatype = e->p2p.datatype,
                                   .count = e->p2p.count,
                                   .peer = e->p2p.peer};
}

static void write_v3(struct jp_nccl_descr_v3 *out, const struct event *e)
{
    *out = (struct jp_nccl_descr_v3){
        .type = (uint8_t) e->type, .parent = e->parent, .rank = e->rank};
    if (e->type == JP_NCCL_COLL)
        out->coll = (struct jp_nccl_coll_v3){.comm_name = e->comm_name,
                                             .comm_hash = e->comm_hash,
                                             .seq = e->coll.seq,
                                             .func = e->coll.func,
                                             .send_buf = e->coll.send_buf,
                                             .recv_buf = e->coll.recv_buf,
                                             .count = e->coll.count,
                                             .root = e->coll.root,
                                             .datatype = e->coll.datatype,
                                             .max_channels = e->coll.n_channels,
                                             .n_warps = e->coll.n_warps,
                                             .algo = e->coll.algo,
                                             .proto = e->coll.proto};
    else if (e->type == JP_NCCL_P2P)
        write_p2p(&out->p2p, e);
    else if (e->type == JP_NCCL_KERNEL_CH)
        out->kernel_ch.channel = e->kernel_ch.channel;
    else if (e->type == JP_NCCL_NET_PLUGIN)
        out->net_plugin = e->net_plugin;
    else
        COPY_REST(out, e);
}

static void write_v2(struct jp_nccl_descr_v2 *out, const struct event *e)
{
    *out = (struct jp_nccl_descr_v2){
        .type = (uint8_t) e->type, .parent = e->parent, .rank = e->rank};
    if (e->type == JP_NCCL_COLL)
        out->coll = (struct jp_nccl_coll_v2){.comm_name = e->comm_name,
                                             .comm_hash = e->comm_hash,
                                             .seq = e->coll.seq,
                                             .func = e->coll.func,
                                             .send_buf = e->coll.send_buf,
                                             .recv_buf = e->coll.recv_buf,
                                             .count = e->coll.count,
                                             .root = e->coll.root,
                                             .datatype = e->coll.datatype,
                                             .traffic_bytes = e->traffic_bytes,
                                             .max_channels = e->coll.n_channels,
                                             .n_warps = e->coll.n_warps,
                                             .algo = e->coll.algo,
                                             .proto = e->coll.proto};
    else if (e->type == JP_NCCL_P2P)
        write_p2p(&out->p2p, e);
    else
        COPY_REST(out, e);
}

/* The place of a name in a table of n, or `other`. */
static uint8_t number_of(const char *const *names, int n, const char *name,
                         int other)
{
    for (int i = 0; name && i < n; i++)
        if (names[i] && strcmp(names[i], name) == 0)
            return (uint8_t) i;
    return (uint8_t) other;
}

/* v1 has numbers; for a word that NCCL 2.23 did not have it gets the number
 * that NCCL itself hands to such a library. */
static void write_v1(struct jp_nccl_descr_v1 *out, const struct event *e)
{
    static const char *const algos[] = {
        "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE"};
    static const char *const protos[] = {"LL", "LL128"};

    *out = (struct jp_nccl_descr_v1){
        .type = (uint8_t) e->type, .parent = e->parent, .rank = e->rank};
    if (e->type == JP_NCCL_COLL)
        out->coll = (struct jp_nccl_coll_v1){
            .comm_name = e->comm_name,
            .comm_hash = e->comm_hash,
            .seq = e->coll.seq,
            .func = number_of(rec_v1_funcs, JP_NCCL_N_FUNCS, e->coll.func,
                              JP_NCCL_SEND),
            .send_buf = e->coll.send_buf,
            .recv_buf = e->coll.recv_buf,
            .count = e->coll.count,
            .root = e->coll.root,
            .datatype = number_of(rec_v1_datatypes, JP_NCCL_N_DATATYPES,
                                  e->coll.datatype, JP_NCCL_UINT8),
            .traffic_bytes = e->traffic_bytes,
            .max_channels = e->coll.n_channels,
            .n_warps = e->coll.n_warps,
            .algo = number_of(algos, 6, e->coll.algo, 6),     /* PAT */
            .proto = number_of(protos, 2, e->coll.proto, 2)}; /* simple */
    else if (e->type == JP_NCCL_P2P)
        out->p2p = (struct jp_nccl_p2p_v1){
            .comm_name = e->comm_name,
            .comm_hash = e->comm_hash,
            .func = number_of(rec_v1_funcs, JP_NCCL_N_FUNCS, e->p2p.func,
                              JP_NCCL_SEND),
            .buf = e->p2p.buf,
            .datatype = number_of(rec_v1_datatypes, JP_NCCL_N_DATATYPES,
                                  e->p2p.datatype, JP_NCCL_UINT8),
            .count = e->p2p.count,
            .peer = e->p2p.peer};
    else
        COPY_REST(out, e);
}

static void write_event(union old_descr *out, const struct event *e)
{
    if (interface == 4)
        write_v4(&out->v4, e);
    else if (interface == 3)
        write_v3(&out->v3, e);
    else if (interface == 2)
        write_v2(&out->v2, e);
    else
        write_v1(&out->v1, e);
}

void *rec_chain_start(int version, void *theirs, void *descr, uint64_t type)
{
    union old_descr old;
    struct event event;
    void *handle = NULL;

    if (!(type & (unsigned) known_types[interface]))
        return NULL;
    if (version != interface && interface <= 4) {
        read_event(&event, version, descr);
        if (is_named()) {
            const struct named *named = theirs;

            event.comm_name = named->has_name ? named->name : NULL;
            event.comm_hash = named->hash;
        }
        write_event(&old, &event);
        descr = &old;
    }
    table->start(context_of(theirs), &handle, descr);
    return handle;
}

void rec_chain_stop(void *theirs)
{
    if (theirs)
        table->stop(theirs);
}

/* A state of v4 and later for a library with v1, v2 or v3. */
static void record_old(void *theirs, int state,
                       const union jp_nccl_args_v4 *args)
{
    union jp_nccl_args_v1 old = {0};

    if (state > JP_NCCL_CTRL_APPEND_END)
        return;
    if (state >= JP_NCCL_CTRL_IDLE && args)
        old.proxy_ctrl.appended = args->proxy_ctrl.appended;
    table->record(theirs, state, &old);
}

void rec_chain_record(void *theirs, int state, void *args)
{
    if (!theirs)
        return;
    if (is_named())
        record_old(theirs, state, args);
    /* v4 does not have the newer states */
    else if (interface != 4 || state <= JP_NCCL_KERNEL_CH_STOP)
        table->record(theirs, state, args);
}
