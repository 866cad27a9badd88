/* rec_abi.c - what NCCL calls: its six interfaces, made from two templates, and
 * the recorder's life: a communicator comes, goes; the process forks, ends.
 *
 * Nothing exists before the first communicator, and nothing of a parent is
 * used in a forked child, which starts anew with its own first communicator.
 * The library stays mapped when NCCL unloads it (linked with -z nodelete),
 * so its writer thread is never pulled from under its own code.
 */
#include "plugins/nccl_recorder/rec_abi.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugins/nccl_recorder/nccl_profiler.h"
#include "plugins/nccl_recorder/rec_clock.h"
#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_compat.h"
#include "plugins/nccl_recorder/rec_core.h"
#include "plugins/nccl_recorder/rec_cost.h"
#include "plugins/nccl_recorder/rec_finish.h"
#include "plugins/nccl_recorder/rec_names.h"
#include "plugins/nccl_recorder/rec_net.h"
#include "plugins/nccl_recorder/rec_sink.h"
#include "plugins/nccl_recorder/rec_thread.h"
#include "plugins/nccl_recorder/rec_trust.h"
#include "plugins/nccl_recorder/rec_writer.h"

/* What we ask NCCL for besides operations and what tells of their end. Group
 * and GroupApi come unasked. */
static const int masks[] = {
    [4] = 0,
    [5] = JP_NCCL_COLL_API | JP_NCCL_P2P_API,
    [6] = JP_NCCL_COLL_API | JP_NCCL_P2P_API | JP_NCCL_CE_COLL,
};

/* Network steps at once; 24 bytes each. */
enum { N_STEPS = 8192 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *off; /* why nothing is recorded; NULL: no reason */
static bool is_ready;
static bool said;
static bool fork_handled;
static unsigned epoch; /* how many forks we come from */
static struct jp_rec_settings settings;
static char *arena;
static size_t arena_bytes;

/* ---------------------------------------------------------------- memory -- */

static char *carve(size_t *used, size_t bytes)
{
    char *at = arena + *used;

    *used += (bytes + 63) & ~(size_t) 63;
    return at;
}

/* Any number that another process will hardly have. */
static uint32_t make_salt(void)
{
    const long no_block = 1; /* GRND_NONBLOCK */
    uint32_t salt = 0;

    if (syscall(SYS_getrandom, &salt, sizeof(salt), no_block) !=
        (long) sizeof(salt))
        salt = (uint32_t) rec_clock_ns() * 2654435761u;
    return salt;
}

/* Divides the memory: tables first, of the rest three quarters for operations
 * in flight and one for finished records, which the writer soon takes. Pages
 * are touched as they are used. 0 or -1. */
static int divide_memory(void)
{
    const size_t comms = JP_REC_MAX_COMMS * sizeof(struct jp_rec_comm);
    const size_t threads = JP_REC_MAX_THREADS * sizeof(struct jp_rec_thread);
    size_t steps = settings.net ? rec_net_bytes(N_STEPS) : 0;
    size_t used = 0, rest;
    uint32_t n_ops, n_records;
    void *memory;

    arena_bytes = settings.memory_bytes - JP_REC_WRITER_BYTES;
    rest = arena_bytes - comms - threads - steps - 1024;
    n_ops = (uint32_t) (rest / 4 * 3 / rec_op_bytes(1));
    n_records = (uint32_t) (rest / 4 /
                            (rec_done_bytes(32768, settings.net) / 32768 + 1)) -
                32;
    memory = mmap(NULL, arena_bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return -1;
    arena = memory;
    if (rec_thread_init((struct jp_rec_thread *) carve(&used, threads)) < 0)
        return -1;
    rec_comm_init((struct jp_rec_comm *) carve(&used, comms), epoch);
    rec_net_init(settings.net ? carve(&used, steps) : NULL, N_STEPS);
    rec_done_init(carve(&used, rec_done_bytes(n_records, settings.net)),
                  n_records, settings.net);
    rec_op_init(carve(&used, rec_op_bytes(n_ops)), n_ops, epoch, make_salt());
    return 0;
}

static void free_memory(void)
{
    rec_op_forget();
    if (arena)
        munmap(arena, arena_bytes);
    arena = NULL;
}

/* ------------------------------------------------------------------- life --
 */

static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    off = NULL;
    is_ready = false;
    said = false;
    epoch++;
    rec_comm_after_fork();
    rec_thread_after_fork();
    rec_cost_after_fork();
    rec_trust_after_fork();
    rec_net_init(NULL, 0);
    free_memory();
    rec_sink_close();
    rec_writer_after_fork();
}

__attribute__((destructor)) static void at_exit(void)
{
    rec_writer_close();
}

/* Starts the writer, which opens the directory, once; NULL or why nothing is
 * recorded. A release that is declined has a file, which says so. */
static const char *get_ready(int version, int *mask)
{
    const char *declined, *why;

    if (getauxval(AT_SECURE)) /* the variables are another's who may less */
        return "the program has its file's rights (setuid, capabilities)";
    if (!fork_handled && pthread_atfork(NULL, NULL, after_fork) != 0)
        return "no memory";
    fork_handled = true;
    rec_env_read(&settings);
    rec_trust_init(rec_env_asks_kernels(&settings, version), version, mask);
    declined = rec_env_declined();
    why = rec_writer_start(getenv("JOBPROF_RECORDER_DIR"), &settings);
    if (why)
        return why;
    if ((!declined && divide_memory() < 0) ||
        rec_writer_init(&settings, version, declined != NULL) < 0)
        return "no memory";
    rec_writer_go();
    if (declined)
        rec_writer_wake();
    return declined;
}

static int mask_of(int version)
{
    int mask = JP_NCCL_COLL | JP_NCCL_P2P | masks[version];

    mask |= rec_trust_asks() ? JP_NCCL_KERNEL_CH : JP_NCCL_PROXY_OP;
    return settings.net ? mask | JP_NCCL_PROXY_OP | JP_NCCL_PROXY_STEP : mask;
}

/* A communicator comes up. `version` is the interface's (1 to 6), `log` may
 * be NULL. `*context` is NULL and `*mask` 0 when nothing can be recorded,
 * which is said once, at INFO level. `mask` may be NULL. Always
 * JP_NCCL_SUCCESS. */
static int begin_comm(int version, const struct jp_rec_comm_facts *facts,
                      jp_nccl_log_fn *log, void **context, int *mask)
{
    uint64_t since_ns = rec_clock_ns();
    const char *why;
    bool say;

    *context = NULL;
    pthread_mutex_lock(&lock);
    if (!off && !is_ready) {
        off = get_ready(version, mask);
        is_ready = !off;
    }
    why = off;
    if (!why)
        *context = rec_comm_create(facts);
    if (mask) { /* it holds for all communicators of the process */
        *mask = off ? 0 : mask_of(version);
        rec_trust_mask();
    }
    say = why && !said;
    said = said || say;
    pthread_mutex_unlock(&lock);

    if (!why)
        rec_writer_wake(); /* it may sleep without a timer */
    else if (say && log)
        log(JP_NCCL_LOG_INFO, JP_NCCL_LOG_INIT, "jobprof", 0,
            "PROFILER/jobprof: %s: nothing is recorded", why);
    rec_cost_life(since_ns);
    return JP_NCCL_SUCCESS;
}

/* It goes: pending operations are recorded, and everything is written or 40 ms
 * have passed. Always JP_NCCL_SUCCESS. */
static int end_comm(void *context)
{
    struct jp_rec_comm *comm = rec_comm_get(context);
    uint64_t since_ns = rec_clock_ns();

    if (!comm)
        return JP_NCCL_SUCCESS;
    rec_comm_close(comm);
    rec_finish_all(comm);
    if (rec_comm_finalize(comm))
        rec_writer_flush();
    rec_cost_life(since_ns);
    return JP_NCCL_SUCCESS;
}

/* --- the six interfaces in terms of the core --- */

#define JP_REC_PASTE(a, b) a##b
#define JP_REC_NAME(a, b) JP_REC_PASTE(a, b)
/* a static function of the version being made */
#define NAME(name) JP_REC_NAME(name##_v, VERSION)

#define VERSION 1
#define FUNC(event) rec_names_v1_func((event).func)
#define DATATYPE(event) rec_names_v1_datatype((event).datatype)
#define ALGO(event) NULL
#define PROTO(event) NULL
#include "plugins/nccl_recorder/rec_abi_old.h"

#define VERSION 2
#define FUNC(event) (event).func
#define DATATYPE(event) (event).datatype
#define ALGO(event) (event).algo
#define PROTO(event) (event).proto
#include "plugins/nccl_recorder/rec_abi_old.h"

#define VERSION 3
#define FUNC(event) (event).func
#define DATATYPE(event) (event).datatype
#define ALGO(event) (event).algo
#define PROTO(event) (event).proto
#include "plugins/nccl_recorder/rec_abi_old.h"

#define VERSION 4
#include "plugins/nccl_recorder/rec_abi_new.h"

#define VERSION 5
#include "plugins/nccl_recorder/rec_abi_new.h"

#define VERSION 6
#include "plugins/nccl_recorder/rec_abi_new.h"
