/* The recorder's life: a communicator comes, goes; the process forks, ends. */
#include "plugins/nccl_recorder/rec_life.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugins/nccl_recorder/rec_clock.h"
#include "plugins/nccl_recorder/rec_compat.h"
#include "plugins/nccl_recorder/rec_cost.h"
#include "plugins/nccl_recorder/rec_finish.h"
#include "plugins/nccl_recorder/rec_flush.h"
#include "plugins/nccl_recorder/rec_net.h"
#include "plugins/nccl_recorder/rec_sink.h"
#include "plugins/nccl_recorder/rec_thread.h"
#include "plugins/nccl_recorder/rec_writer.h"

/* What we ask NCCL for. v1 and v2 have no kernel events. */
static const int masks[] = {
    [1] = JP_NCCL_COLL | JP_NCCL_P2P | JP_NCCL_PROXY_OP,
    [2] = JP_NCCL_COLL | JP_NCCL_P2P | JP_NCCL_PROXY_OP,
    [3] = JP_NCCL_COLL | JP_NCCL_P2P | JP_NCCL_KERNEL_CH,
    [4] = JP_NCCL_COLL | JP_NCCL_P2P | JP_NCCL_KERNEL_CH,
    [5] = JP_NCCL_COLL | JP_NCCL_P2P | JP_NCCL_KERNEL_CH | JP_NCCL_COLL_API |
          JP_NCCL_P2P_API,
    [6] = JP_NCCL_COLL | JP_NCCL_P2P | JP_NCCL_KERNEL_CH | JP_NCCL_COLL_API |
          JP_NCCL_P2P_API | JP_NCCL_CE_COLL,
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

    arena_bytes = settings.memory_bytes - JP_REC_FLUSH_BYTES;
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
static const char *get_ready(int version)
{
    const char *declined, *why;

    if (!fork_handled && pthread_atfork(NULL, NULL, after_fork) != 0)
        return "no memory";
    fork_handled = true;
    rec_env_read(&settings);
    declined = rec_env_declined();
    why = rec_writer_start(getenv("JOBPROF_RECORDER_DIR"), &settings);
    if (why)
        return why;
    if ((!declined && divide_memory() < 0) ||
        rec_flush_init(&settings, version, declined != NULL) < 0)
        return "no memory";
    rec_writer_go();
    if (declined)
        rec_writer_wake();
    return declined;
}

static int mask_of(int version)
{
    return settings.net ? masks[version] | JP_NCCL_PROXY_OP | JP_NCCL_PROXY_STEP
                        : masks[version];
}

int rec_life_init(int version, const struct jp_rec_comm_facts *facts,
                  jp_nccl_log_fn *log, void **context, int *mask)
{
    uint64_t since_ns = rec_clock_ns();
    const char *why;
    bool say;

    *context = NULL;
    pthread_mutex_lock(&lock);
    if (!off && !is_ready) {
        off = get_ready(version);
        is_ready = !off;
    }
    why = off;
    if (!why)
        *context = rec_comm_create(facts);
    if (mask) /* it holds for all communicators of the process */
        *mask = off ? 0 : mask_of(version);
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

int rec_life_finalize(void *context)
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
