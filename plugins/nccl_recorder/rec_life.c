/* The recorder's life: a communicator comes, goes; the process forks, ends. */
#include "plugins/nccl_recorder/rec_life.h"

#include <stdlib.h>

#include "plugins/nccl_recorder/rec_core.h"
#include "plugins/nccl_recorder/rec_counts.h"
#include "plugins/nccl_recorder/rec_queue.h"
#include "plugins/nccl_recorder/rec_sink.h"
#include "plugins/nccl_recorder/rec_writer.h"

/* What we ask NCCL for. v1 and v2 have no kernel events. */
static const int masks[] = {
    [1] = JP_NCCL_COLL | JP_NCCL_P2P | JP_NCCL_PROXY_OP,
    [2] = JP_NCCL_COLL | JP_NCCL_P2P | JP_NCCL_PROXY_OP,
    [3] = JP_NCCL_COLL | JP_NCCL_P2P | JP_NCCL_KERNEL_CH,
    [4] = JP_NCCL_COLL | JP_NCCL_P2P | JP_NCCL_KERNEL_CH,
    [5] = JP_NCCL_COLL | JP_NCCL_P2P | JP_NCCL_KERNEL_CH,
    [6] = JP_NCCL_COLL | JP_NCCL_P2P | JP_NCCL_KERNEL_CH,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *off; /* why nothing is recorded; NULL: no reason */
static bool said;
static bool fork_handled;

static void sweep(bool all)
{
    if (all)
        rec_core_finish_all(NULL);
    else
        rec_core_finish_quiet();
}

static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    off = NULL;
    said = false;
    rec_comm_after_fork();
    rec_op_after_fork();
    rec_queue_after_fork();
    rec_sink_close();
    rec_counts_after_fork();
    rec_writer_after_fork();
}

__attribute__((destructor)) static void at_exit(void)
{
    rec_writer_close();
}

/* Opens the directory and starts the writer, once; NULL or why that is not
 * possible. */
static const char *get_ready(void)
{
    const char *why;

    if (!fork_handled && pthread_atfork(NULL, NULL, after_fork) != 0)
        return "no memory";
    fork_handled = true;
    why = rec_sink_init(getenv("JOBPROF_RECORDER_DIR"));
    if (!why && rec_writer_start(sweep) < 0) {
        rec_sink_close();
        why = "the writer thread cannot be started";
    }
    return why;
}

int rec_life_init(int version, const struct jp_rec_comm_facts *facts,
                  jp_nccl_log_fn *log, void **context, int *mask)
{
    struct jp_rec_comm *comm = NULL;
    const char *why;
    bool say;

    pthread_mutex_lock(&lock);
    if (!off && !rec_sink_ready())
        off = get_ready();
    why = off;
    if (!why) {
        rec_counts_interface(version);
        comm = rec_comm_create(facts);
        why = comm ? NULL : "no memory for a communicator";
    }
    if (mask) /* it holds for all communicators of the process */
        *mask = off ? 0 : masks[version];
    say = why && !said;
    said = said || say;
    pthread_mutex_unlock(&lock);

    *context = comm;
    if (comm)
        rec_writer_wake(); /* it may sleep without a timer */
    if (say && log)
        log(JP_NCCL_LOG_INFO, JP_NCCL_LOG_INIT, "jobprof", 0,
            "PROFILER/jobprof: %s: nothing is recorded", why);
    return JP_NCCL_SUCCESS;
}

int rec_life_finalize(void *context)
{
    struct jp_rec_comm *comm = rec_comm_get(context);

    if (!comm || !rec_comm_finalize(comm))
        return JP_NCCL_SUCCESS;
    rec_core_finish_all(comm);
    rec_writer_flush();
    return JP_NCCL_SUCCESS;
}
