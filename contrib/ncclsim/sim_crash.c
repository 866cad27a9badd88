/* sim_crash.c - how the process dies, and what it leaves for its tests. */
#include "contrib/ncclsim/sim_crash.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "contrib/ncclsim/sim_pace.h"

/* What is called before the death. The lock keeps it from being removed while
 * it runs. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void (*save_fn)(void *data);
static void *save_data;

/* The death that is planned. */
static struct {
    int64_t at_ns;
    int signal;
} later;

void sim_crash_arm(void (*save)(void *data), void *data)
{
    pthread_mutex_lock(&lock);
    save_fn = save;
    save_data = data;
    pthread_mutex_unlock(&lock);
}

void sim_crash_save(void)
{
    pthread_mutex_lock(&lock);
    if (save_fn)
        save_fn(save_data);
    fflush(stdout);
    pthread_mutex_unlock(&lock);
}

void sim_crash_now(int signal)
{
    const struct rlimit no_core = {0, 0};

    /* the tests need the death, not a core file */
    setrlimit(RLIMIT_CORE, &no_core);
    sim_crash_save();
    kill(getpid(), signal);
    /* the signal may be delivered to another thread */
    for (;;)
        pause();
}

/* The thread of a planned death. */
static void *later_main(void *unused)
{
    (void) unused;
    sim_pace_sleep_until(later.at_ns);
    sim_crash_now(later.signal);
}

int sim_crash_later(int64_t us, int signal, struct jp_error *err)
{
    pthread_t thread;

    later.at_ns = sim_pace_now_ns() + us * 1000;
    later.signal = signal;
    if (pthread_create(&thread, NULL, later_main, NULL) != 0)
        return error_set(err, "no thread");
    pthread_detach(thread);
    return 0;
}
