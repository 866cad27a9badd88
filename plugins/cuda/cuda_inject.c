/* cuda_inject.c - the library that CUDA's driver loads into a task: it counts
 * calls and writes the sums once a second.
 *
 * CUPTI calls see_call() at the entry and exit of each counted call; enter()
 * and leave() add to the sums. A thread of the library's own, run(), writes
 * records of them and is the only one that touches a file system.
 * InitializeInjection() starts all this, at_exit() ends it.
 *
 * The library must never fail or delay the program: what does not work becomes
 * a note in the file, or is lost. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/oldglibc.h"
#include "common/ownfile.h"
#include "plugins/cuda/cuda_cupti.h"
#include "plugins/cuda/cuda_file.h"

/* The counters of this process. The calls of all its threads add to them; the
 * library's thread reads them. There is no lock except around allocations, and
 * no memory from the heap. */

/* Threads are spread over eight rows of sums, so that two of them seldom write
 * to the same cache line. */
enum { SHARDS = 8 };

static struct shard {
    _Alignas(128) _Atomic uint64_t sum[CUDA_COUNTERS_N];
} shards[SHARDS];

/* Nothing is counted: in a child that fork() has made, or where the library's
 * thread could not be started. */
static atomic_bool off;

/* --- calls ---------------------------------------------------------------- */

struct call {
    uint8_t what, shape;
};

/* By CUPTI's callback id; CALL_NONE: not counted. */
static const struct call calls[CUDA_CALLS_END] = {
#define ROW(name, id, what, shape) [id] = {what, shape},
    CUDA_CALLS(ROW)
#undef ROW
};

static const uint16_t ids[] = {
#define ROW(name, id, what, shape) id,
    CUDA_CALLS(ROW)
#undef ROW
        0};

/* Returns the i-th callback id to enable; 0 marks the end of the list. */
static uint32_t wanted_id(unsigned i)
{
    return ids[i];
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000 + (uint64_t) t.tv_nsec;
}

/* The top three bits of the hashed thread id choose the row. */
static struct shard *own_shard(void)
{
    uint64_t self = (uint64_t) (uintptr_t) pthread_self();

    return &shards[(self * 0x9e3779b97f4a7c15u) >> 61];
}

/* Relaxed: the sums need no order among each other. */
static void add_count(struct shard *s, enum cuda_counter i, uint64_t n)
{
    atomic_fetch_add_explicit(&s->sum[i], n, memory_order_relaxed);
}

/* --- allocations ----------------------------------------------------------
 *
 * A free has an address but no size, so sizes are kept in a table of fixed size
 * with linear probing (common/hash.h allocates, which a tracer of allocations
 * in the user's process does not do). The size of an allocation that does not
 * fit is unknown when it is freed.
 */

/* At most three quarters are used, so that probing stays short. */
enum { SLOTS_BITS = 17, SLOTS = 1 << SLOTS_BITS, SLOTS_USED = SLOTS / 4 * 3 };
/* Marks a handle of cuMemCreate. Addresses are below this bit. */
#define HANDLE (1ull << 63)

static struct slot {
    uint64_t at, bytes; /* at 0: free */
} slots[SLOTS];
static size_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t live, peak; /* under lock */

static size_t home(uint64_t at)
{
    return (size_t) ((at * 0x9e3779b97f4a7c15u) >> (64 - SLOTS_BITS));
}

/* The slot of the address, or the free slot where it belongs. Ends because the
 * table is never full. */
static size_t find_slot(uint64_t at)
{
    size_t i = home(at);

    while (slots[i].at && slots[i].at != at)
        i = (i + 1) % SLOTS;
    return i;
}

/* Frees slot i. Linear probing: later entries of the same run move up, so that
 * lookups do not stop at the hole. */
static void empty(size_t i)
{
    size_t k = i;

    for (;;) {
        size_t h;

        k = (k + 1) % SLOTS;
        if (!slots[k].at)
            break;
        h = home(slots[k].at);
        /* its home is at or before the hole, so a lookup of it would pass the
         * hole */
        if ((k - h) % SLOTS >= (k - i) % SLOTS) {
            slots[i] = slots[k];
            i = k;
        }
    }
    slots[i].at = 0;
    used--;
}

/* Remembers an allocation. */
static void keep_allocation(uint64_t at, uint64_t bytes)
{
    size_t i;

    if (!at)
        return;
    pthread_mutex_lock(&lock);
    i = find_slot(at);
    if (slots[i].at) { /* the address was freed by a call that is not counted */
        live -= slots[i].bytes;
        slots[i].bytes = bytes;
        live += bytes;
    } else if (used < SLOTS_USED) {
        slots[i] = (struct slot){at, bytes};
        used++;
        live += bytes;
    }
    peak = live > peak ? live : peak;
    pthread_mutex_unlock(&lock);
}

/* Forgets an allocation. Returns its size in bytes, or 0 if it is unknown. */
static uint64_t take_out(uint64_t at)
{
    uint64_t bytes = 0;
    size_t i;

    if (!at)
        return 0;
    pthread_mutex_lock(&lock);
    i = find_slot(at);
    if (slots[i].at) {
        bytes = slots[i].bytes;
        live -= bytes;
        empty(i);
    }
    pthread_mutex_unlock(&lock);
    return bytes;
}

/* --- arguments ------------------------------------------------------------ */

/* Returns 0 on overflow: such an argument is no size. */
static uint64_t product(uint64_t a, uint64_t b)
{
    uint64_t all;

    return __builtin_mul_overflow(a, b, &all) ? 0 : all;
}

/* Bytes that a copy moves, from its arguments. */
static uint64_t copied(enum cuda_shape shape, const void *params)
{
    const struct cu_batch_copy *batch = params;
    const struct cu_plane *plane;
    const struct cu_cube *cube;
    uint64_t all = 0;

    switch (shape) {
    case SHAPE_COPY:
        return ((const struct cu_copy *) params)->bytes;
    case SHAPE_ARRAY:
        return ((const struct cu_array_copy *) params)->bytes;
    case SHAPE_PEER:
        return ((const struct cu_peer_copy *) params)->bytes;
    case SHAPE_PLANE:
        plane = ((const struct cu_plane_copy *) params)->copy;
        return plane ? product(plane->width, plane->height) : 0;
    case SHAPE_CUBE:
        cube = ((const struct cu_cube_copy *) params)->copy;
        return cube ? product(product(cube->width, cube->height), cube->depth)
                    : 0;
    case SHAPE_BATCH:
        for (size_t i = 0; batch->sizes && i < batch->n; i++)
            all += batch->sizes[i];
        return all;
    default:
        return 0;
    }
}

/* The direction of a copy between two types of memory. CALL_OTHER for arrays
 * and unified memory, whose types do not say where the data is. */
static enum cuda_what way(int from, int to)
{
    if (from == CU_HOST && to == CU_DEVICE)
        return CALL_H2D;
    if (from == CU_DEVICE && to == CU_HOST)
        return CALL_D2H;
    return from == CU_DEVICE && to == CU_DEVICE ? CALL_D2D : CALL_OTHER;
}

/* Most calls have a fixed direction; copies of planes and cubes carry it in
 * their arguments. */
static enum cuda_what way_of(struct call call, const void *params)
{
    const struct cu_plane *plane;
    const struct cu_cube *cube;

    switch (call.shape & ~SHAPE_LATER) {
    case SHAPE_PLANE:
        plane = ((const struct cu_plane_copy *) params)->copy;
        return plane ? way(plane->from_type, plane->to_type) : CALL_OTHER;
    case SHAPE_CUBE:
        cube = ((const struct cu_cube_copy *) params)->copy;
        return cube ? way(cube->from_type, cube->to_type) : CALL_OTHER;
    default:
        return (enum cuda_what) call.what;
    }
}

/* A batch is one call with many copies. */
static uint64_t n_copies(enum cuda_shape shape, const void *params)
{
    return shape == SHAPE_BATCH ? ((const struct cu_batch_copy *) params)->n
                                : 1;
}

/* --- the GPUs' clocks -----------------------------------------------------
 *
 * Once a second the library's thread asks for a pair of clocks, and the next
 * call of CUDA that ends reads it: a context surely exists until a call in it
 * has returned, and the program pays for one reading a second.
 */

static struct {
    cupti_device_time *read; /* NULL: this CUPTI has no such function */
    cupti_device_id *device;
    cu_device_pci *pci;
    uint64_t start_ns;
    atomic_bool due;
    struct cuda_pair last; /* under lock */
    atomic_int failures;
} clocks;

/* More failures in a row than these mean that the clock cannot be read here. A
 * reading that takes longer counts as one: it delays the program. */
enum { CLOCK_FAILURES = 3, CLOCK_TOO_LONG_NS = 1000000 };

/* Reads a hexadecimal number of at most `most` that `end` follows. */
static bool read_hex(const char **at, unsigned long most, char end,
                     unsigned long *out)
{
    char *after;

    *out = strtoul(*at, &after, 16);
    if (after == *at || *after != end || *out > most)
        return false;
    *at = after + 1;
    return true;
}

/* The device's number and PCI address, see cuda_file.h. */
static uint64_t device_of(void *context)
{
    unsigned long domain, bus, slot;
    uint32_t device;
    uint64_t gpu;
    char text[32];
    const char *at = text;

    if (clocks.device(context, &device) != CUPTI_OK || device >= 0xffff)
        return 0;
    gpu = device + 1;
    if (clocks.pci && clocks.pci(text, sizeof(text), (int) device) == CU_OK &&
        read_hex(&at, 0xffff, ':', &domain) && read_hex(&at, 0xff, ':', &bus) &&
        read_hex(&at, 0xff, '.', &slot))
        gpu |= CUDA_PAIR_PCI | (uint64_t) domain << 32 | (uint64_t) bus << 24 |
               (uint64_t) slot << 16;
    return gpu;
}

/* Reads the clock of the context's GPU between two readings of the host's, if
 * that is due. Runs in the program's threads, at the exit of a call. */
static void read_clock(void *context)
{
    uint64_t before, after, gpu_ns = 0;
    struct cuda_pair pair;
    int rc;

    if (!context || !atomic_exchange(&clocks.due, false))
        return;
    before = now_ns();
    rc = clocks.read(context, &gpu_ns);
    after = now_ns();
    if (rc != CUPTI_OK || after - before > CLOCK_TOO_LONG_NS) {
        atomic_fetch_add(&clocks.failures, 1);
        if (rc != CUPTI_OK)
            return;
    } else
        atomic_store(&clocks.failures, 0);
    pair = (struct cuda_pair){.at_ns = before + (after - before) / 2 -
                                       clocks.start_ns,
                              .width_ns = after - before,
                              .gpu = device_of(context),
                              .gpu_ns = gpu_ns};
    if (!pair.gpu)
        return;
    pthread_mutex_lock(&lock);
    clocks.last = pair;
    pthread_mutex_unlock(&lock);
}

/* Finds what reads clocks: where this CUPTI has no such function, there are no
 * pairs. */
static void find_clock(void *library)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

    clocks.device = (cupti_device_id *) dlsym(library, "cuptiGetDeviceId");
    if (driver)
        clocks.pci = (cu_device_pci *) dlsym(driver, "cuDeviceGetPCIBusId");
    if (clocks.device)
        clocks.read =
            (cupti_device_time *) dlsym(library, "cuptiDeviceGetTimestamp");
}

/* Has the next call read the clock. */
static void want_clock(void)
{
    if (clocks.read && atomic_load(&clocks.failures) < CLOCK_FAILURES)
        atomic_store(&clocks.due, true);
}

/* --- a call --------------------------------------------------------------- */

static bool is_copy(struct call call)
{
    return call.what >= CALL_H2D && call.what <= CALL_OTHER;
}

/* Only calls that wait for the GPU are timed. */
static bool is_timed(struct call call)
{
    return call.what == CALL_SYNC ||
           (is_copy(call) && !(call.shape & SHAPE_LATER));
}

/* The key of a freed allocation in the table: an address, or a marked
 * handle. */
static uint64_t name_of(struct call call, const void *params)
{
    uint64_t at = ((const struct cu_free *) params)->at;

    return call.what == CALL_RELEASE && at ? at | HANDLE : at;
}

/* At the entry of a call. CUPTI hands the scratch value to the exit of the same
 * call: it carries the start time, or the size of what is freed. */
static void enter(struct call call, const struct cupti_callback *data)
{
    if (!data->scratch)
        return;
    *data->scratch = 0;
    if (is_timed(call))
        *data->scratch = now_ns();
    /* take it out now: as soon as the driver has freed the address, it may give
     * it to another thread */
    else if (call.shape == SHAPE_FREE && data->params)
        *data->scratch = take_out(name_of(call, data->params));
}

/* Nanoseconds since the entry; 0: unknown. */
static uint64_t since(const struct cupti_callback *data)
{
    uint64_t now = now_ns();

    return data->scratch && *data->scratch && now > *data->scratch
               ? now - *data->scratch
               : 0;
}

/* Counts a copy: number, bytes, and the time of one that waits. */
static void add_copy(struct shard *s, struct call call,
                     const struct cupti_callback *data)
{
    enum cuda_shape shape = (enum cuda_shape)(call.shape & ~SHAPE_LATER);
    /* the counters of each direction are a pair, in the order of enum
     * cuda_what */
    unsigned way = way_of(call, data->params) - CALL_H2D;
    enum cuda_counter i = (enum cuda_counter)(CUDA_H2D + 2 * way);

    add_count(s, i, n_copies(shape, data->params));
    add_count(s, (enum cuda_counter)(i + 1), copied(shape, data->params));
    if (is_timed(call))
        add_count(s, CUDA_COPY_NS, since(data));
}

_Static_assert(CALL_OTHER - CALL_H2D == 4 && CUDA_OTHER - CUDA_H2D == 8,
               "ways stand in one order");

/* The address is known only now, after the call has stored it. */
static void add_allocation(struct shard *s, struct call call,
                           const struct cupti_callback *data)
{
    const struct cu_alloc *plain = data->params;
    const struct cu_pitch_alloc *pitch = data->params;
    uint64_t at = plain->at ? *plain->at : 0;
    uint64_t bytes = call.shape != SHAPE_PITCH ? plain->bytes
                     : pitch->pitch ? product(*pitch->pitch, pitch->height)
                                    : 0;

    add_count(s, CUDA_ALLOCS, 1);
    add_count(s, CUDA_ALLOC_BYTES, bytes);
    keep_allocation(call.what == CALL_CREATE && at ? at | HANDLE : at, bytes);
}

/* At the exit of a call. */
static void leave(struct call call, const struct cupti_callback *data)
{
    struct shard *s = own_shard();
    int result = data->result ? *(const int *) data->result : CU_OK;
    uint64_t freed = call.shape == SHAPE_FREE && data->scratch ? *data->scratch
                                                               : 0;

    add_count(s, CUDA_CALLS, 1);
    if (result != CU_OK) {
        if (result != CU_NOT_READY)
            add_count(s, CUDA_ERRORS, 1);
        /* the free has failed: the allocation still exists */
        if (freed && data->params)
            keep_allocation(name_of(call, data->params), freed);
        return;
    }
    if (is_copy(call) && data->params)
        add_copy(s, call, data);
    else if (call.what == CALL_LAUNCH)
        add_count(s, CUDA_LAUNCHES, 1);
    else if (call.what == CALL_GRAPH)
        add_count(s, CUDA_GRAPHS, 1);
    else if (call.what == CALL_SET)
        add_count(s, CUDA_SETS, 1);
    else if (call.what == CALL_SYNC) {
        add_count(s, CUDA_SYNCS, 1);
        add_count(s, CUDA_SYNC_NS, since(data));
    } else if (call.shape == SHAPE_FREE) {
        add_count(s, CUDA_FREES, 1);
        add_count(s, CUDA_FREE_BYTES, freed);
    } else if (call.shape == SHAPE_ALLOC || call.shape == SHAPE_PITCH) {
        if (data->params)
            add_allocation(s, call, data);
    }
}

/* CUPTI's callback, of type cupti_function. Runs in the program's threads. */
static void see_call(void *arg, int domain, uint32_t id, const void *cbdata)
{
    const struct cupti_callback *data = cbdata;

    (void) arg;
    if (domain != CUPTI_DRIVER_API || id >= CUDA_CALLS_END || !data ||
        calls[id].what == CALL_NONE ||
        atomic_load_explicit(&off, memory_order_relaxed))
        return;
    if (data->site == CUPTI_ENTER)
        enter(calls[id], data);
    else if (data->site == CUPTI_EXIT) {
        leave(calls[id], data);
        if (atomic_load_explicit(&clocks.due, memory_order_relaxed))
            read_clock(data->context);
    }
}

/* The sums now, without time and checksum. Calls go on meanwhile, so the sums
 * are not of one instant. */
static void take_sums(struct cuda_file_record *record)
{
    memset(record, 0, sizeof(*record));
    for (size_t i = 0; i < SHARDS; i++)
        for (size_t k = 0; k < CUDA_COUNTERS_N; k++)
            record->sum[k] +=
                atomic_load_explicit(&shards[i].sum[k], memory_order_relaxed);
    pthread_mutex_lock(&lock);
    record->live_bytes = live;
    record->peak_bytes = peak;
    record->pair = clocks.last;
    pthread_mutex_unlock(&lock);
}

/* Stops counting for good. */
static void stop_counting(void)
{
    atomic_store(&off, true);
}

enum { EXIT_WAIT_MS = 200 }; /* limit for the thread at the program's end */

/* The state of the library's thread. */
static struct writer {
    pthread_mutex_t lock; /* protects begun, ending and done */
    pthread_cond_t change;
    bool begun, ending, done;
    pid_t pid; /* of the process that has the thread */
    /* the thread's own */
    char dir[4096], name[CUDA_HOST_MAX + 64];
    struct ownfile file;
    struct cuda_file_head head;
    struct cuda_file_record last;
    uint64_t start_ns, kept_ns; /* of the monotonic clock; time of the last
                                   record that stays */
    /* number of records that stay; the next record is overwritten until it
     * stays as well */
    uint32_t n;
} w = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- beginning and end ---------------------------------------------------- */

static void after_fork(void)
{
    stop_counting();
    w.begun = false; /* the thread exists only in the parent */
}

/* --- CUPTI ---------------------------------------------------------------- */

/* A CUPTI that the program has loaded is preferred, because two copies in one
 * process conflict. Otherwise the newest that is not newer than the driver is
 * taken; the first one that can be loaded decides. */
static const struct {
    const char *name;
    int major; /* release of CUDA; 0: unknown */
} libraries[] = {
    {"libcupti.so.13", 13},
    {"libcupti.so.12", 12},
    {"libcupti.so.11.8", 11},
    {"libcupti.so.11.7", 11},
    {"libcupti.so.11.6", 11},
    {"libcupti.so.11.5", 11},
    {"libcupti.so.11.4", 11},
    {"libcupti.so.11.3", 11},
    {"libcupti.so.11.2", 11},
    {"libcupti.so.11.1", 11},
    {"libcupti.so.11.0", 11},
    {"libcupti.so", 0},
    {"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", 0},
    {"/usr/local/cuda/lib64/libcupti.so", 0},
};

/* Why nothing is counted; it goes into the file's head. */
static void note(const char *text)
{
    memset(w.head.note, 0, sizeof(w.head.note));
    snprintf(w.head.note, sizeof(w.head.note), "%s", text);
}

/* Registers the callback for all counted calls. If that fails, the reason
 * becomes the note. */
static void subscribe(void *library)
{
    cupti_subscribe *begin =
        (cupti_subscribe *) dlsym(library, "cuptiSubscribe");
    cupti_unsubscribe *end =
        (cupti_unsubscribe *) dlsym(library, "cuptiUnsubscribe");
    cupti_enable *enable =
        (cupti_enable *) dlsym(library, "cuptiEnableCallback");
    cupti_version *version =
        (cupti_version *) dlsym(library, "cuptiGetVersion");
    unsigned on = 0;
    void *handle = NULL;
    char text[CUDA_NOTE_MAX];
    uint32_t id;
    int rc;

    if (!begin || !end || !enable) {
        note("libcupti.so has not all functions of CUPTI");
        return;
    }
    rc = begin(&handle, see_call, NULL);
    if (rc != CUPTI_OK) {
        snprintf(
            text, sizeof(text),
            rc == CUPTI_TAKEN
                ? "another client uses CUPTI: a profiler, such as NVIDIA's "
                  "Nsight, or a debugger"
                : "CUPTI does not work on this node: error %d",
            rc);
        note(text);
        return;
    }
    /* ids that this release of CUPTI does not have are refused one by one */
    for (unsigned i = 0; (id = wanted_id(i)) != 0; i++)
        on += enable(1, handle, CUPTI_DRIVER_API, id) == CUPTI_OK;
    if (!on) {
        end(handle);
        note("CUPTI offers no callbacks");
        return;
    }
    if (version && version(&w.head.cupti) != CUPTI_OK)
        w.head.cupti = 0;
    find_clock(library);
    want_clock(); /* the first call gives the first pair */
}

/* Loads a CUPTI up to release `newest`, with additional flags for dlopen().
 * false: there is none. */
static bool attach(int flags, int newest)
{
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
        void *library =
            libraries[i].major > newest
                ? NULL
                : dlopen(libraries[i].name, RTLD_NOW | RTLD_LOCAL | flags);

        if (library) {
            subscribe(library);
            return true;
        }
    }
    return false;
}

/* The driver's release of CUDA; INT_MAX: unknown. RTLD_NOLOAD: the driver is in
 * the process already. */
static int driver_major(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    int (*ask)(int *) =
        driver ? (int (*)(int *)) dlsym(driver, "cuDriverGetVersion") : NULL;
    int version = 0;

    return ask && ask(&version) == CU_OK && version > 0 ? version / 1000
                                                        : INT_MAX;
}

static uint64_t clock_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t) t.tv_sec * 1000000000 + (uint64_t) t.tv_nsec;
}

/* SLURM_PROCID, or -1. */
static int rank_of(void)
{
    const char *text = getenv("SLURM_PROCID");
    char *end;
    long rank;

    if (!text || !*text)
        return -1;
    rank = strtol(text, &end, 10);
    return *end || rank < 0 || rank > INT32_MAX ? -1 : (int) rank;
}

/* Prepares head and name of the file. The name has pid, host and time, because
 * pids are reused and hosts may share the folder. */
static bool fill_file_head(const char *dir)
{
    uint64_t real_ns = clock_ns(CLOCK_REALTIME);
    char host[CUDA_HOST_MAX] = "";
    int n;

    gethostname(host, sizeof(host) - 1);
    host[strcspn(host, "./")] = '\0';
    w.start_ns = clock_ns(CLOCK_MONOTONIC);
    w.head.mono_ns = clocks.start_ns = w.start_ns;
    memcpy(w.head.magic, CUDA_FILE_MAGIC, sizeof(w.head.magic));
    w.head.head_bytes = sizeof(w.head);
    w.head.record_bytes = sizeof(w.last);
    w.head.n_counters = CUDA_COUNTERS_N;
    w.head.pid = (uint32_t) getpid();
    w.head.rank = rank_of();
    w.head.start_us = real_ns / 1000;
    memcpy(w.head.host, host, sizeof(host));
    snprintf(w.name, sizeof(w.name), "%s-%d-%llx" CUDA_FILE_END, host,
             (int) getpid(), (unsigned long long) real_ns);
    n = snprintf(w.dir, sizeof(w.dir), "%s", dir);
    return n >= 0 && (size_t) n < sizeof(w.dir);
}

/* --- the file ------------------------------------------------------------- */

/* The folders raw/<node>/cuda are made; the step's folder exists. */
enum { FOLDERS_MADE = 3 };

/* Opens the file and writes its head, if that is not done yet. A file that the
 * program has taken the descriptor of is given up (common/ownfile.h). */
static bool open_file(void)
{
    if (w.file.fd)
        return true;
    if (!w.file.folder && ownfile_open(&w.file, w.dir, FOLDERS_MADE) < 0)
        return false;
    if (ownfile_create(&w.file, w.name) < 0)
        return false;
    w.head.check =
        cuda_file_check(&w.head, offsetof(struct cuda_file_head, check));
    if (ownfile_write(&w.file, &w.head, sizeof(w.head), 0) == 0)
        return true;
    (void) ownfile_unlink(&w.file); /* the next second tries again */
    ownfile_close_file(&w.file);
    return false;
}

/* Nanoseconds between two records that stay; see cuda_file.h. */
static uint64_t period_ns(void)
{
    return w.n < CUDA_SECONDS ? 1000000000u
           : w.n < CUDA_TENS  ? 10000000000u
                              : 60000000000u;
}

/* Writes the current sums, unless nothing was called since the last record. */
static void put_record(void)
{
    struct cuda_file_record r;

    take_sums(&r);
    if (memcmp(r.sum, w.last.sum, sizeof(r.sum)) == 0)
        return;
    r.since_ns = clock_ns(CLOCK_MONOTONIC) - w.start_ns;
    r.check = cuda_file_check(&r, offsetof(struct cuda_file_record, check));
    /* a full disk: the next record is written in the same place */
    if (ownfile_write(&w.file, &r, sizeof(r),
                      sizeof(w.head) + w.n * sizeof(r)) < 0)
        return;
    w.last = r;
    /* half a second of tolerance, because the thread may wake early */
    if (r.since_ns - w.kept_ns + 500000000u >= period_ns() &&
        w.n < CUDA_RECORDS_MAX - 1) {
        w.kept_ns = r.since_ns;
        w.n++;
    }
}

/* The thread: a record a second, and a last one at the end. */
static void *run_writer(void *arg)
{
    struct timespec until;
    bool ending;

    (void) ownfile_own_table();
    clock_gettime(CLOCK_MONOTONIC, &until);
    do {
        until.tv_sec++;
        pthread_mutex_lock(&w.lock);
        while (!w.ending &&
               pthread_cond_timedwait(&w.change, &w.lock, &until) == 0)
            ;
        ending = w.ending;
        pthread_mutex_unlock(&w.lock);
        if (open_file() && !*w.head.note)
            put_record();
        want_clock();
        /* the note is written and nothing will be counted */
        if (*w.head.note && w.file.fd)
            ending = true;
    } while (!ending);
    pthread_mutex_lock(&w.lock);
    w.done = true;
    pthread_cond_broadcast(&w.change);
    pthread_mutex_unlock(&w.lock);
    return arg;
}

/* Starts the thread with all signals blocked: they are for the program's own
 * threads. */
static bool start_thread(void)
{
    pthread_condattr_t monotonic;
    pthread_attr_t attr;
    sigset_t all, old;
    pthread_t thread;
    bool ok;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w.change, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all);
    if (pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    ok = pthread_create(&thread, &attr, run_writer, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return ok;
}

__attribute__((visibility("default"))) int InitializeInjection(void);

/* CUDA's driver calls this in cuInit(). 1 means success; the driver continues
 * whatever is returned. Further calls in the same process do nothing. */
int InitializeInjection(void)
{
    static atomic_flag once = ATOMIC_FLAG_INIT;
    const char *dir = getenv(CUDA_ENV_DIR);

    if (!ownfile_may_open() || atomic_flag_test_and_set(&once) || !dir ||
        *dir != '/' || !fill_file_head(dir))
        return 1;
    if (pthread_atfork(NULL, NULL, after_fork) != 0)
        return 1;
    /* first a CUPTI that is loaded already */
    if (!attach(RTLD_NOLOAD, INT_MAX) && !attach(0, driver_major()))
        note("libcupti.so was not found (LD_LIBRARY_PATH)");
    w.pid = getpid();
    w.begun = start_thread();
    if (!w.begun)
        stop_counting();
    return 1;
}

/* Writes the last second. A file system that hangs delays the end of the
 * program by at most EXIT_WAIT_MS. */
__attribute__((destructor)) static void at_exit(void)
{
    uint64_t until_ns;
    struct timespec until;

    /* a copy by clone(), which runs no fork handlers, has no thread either */
    if (!w.begun || w.pid != getpid())
        return;
    until_ns = clock_ns(CLOCK_MONOTONIC) + EXIT_WAIT_MS * 1000000ull;
    until = (struct timespec){(time_t) (until_ns / 1000000000),
                              (long) (until_ns % 1000000000)};
    pthread_mutex_lock(&w.lock);
    w.ending = true;
    pthread_cond_broadcast(&w.change);
    while (!w.done && pthread_cond_timedwait(&w.change, &w.lock, &until) == 0)
        ;
    pthread_mutex_unlock(&w.lock);
}
