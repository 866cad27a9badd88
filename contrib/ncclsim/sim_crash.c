/* sim_crash.c - how the process dies, and what it leaves for its tests. */
#include "contrib/ncclsim/sim_crash.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Ends the process as an exception ends a program under torchelastic: it
 * writes the exception to the file that its launcher has named, and exits. */
static void raise_exception(void)
{
    const char *path = getenv("TORCHELASTIC_ERROR_FILE");
    FILE *out = path ? fopen(path, "we") : NULL;

    if (out) {
        fputs(
            "{\"message\": {\"message\": \"RuntimeError: made up by ncclsim\", "
            "\"extraInfo\": {\"py_callstack\": \"Traceback (most recent "
            "call last):\\n  File \\\"/opt/lib/python3.11/site-packages/"
            "torch/distributed/elastic/multiprocessing/errors/__init__.py"
            "\\\", line 355, in wrapper\\n    return f()\\n  File "
            "\\\"/home/alice/train.py\\\", line 40, in step\\n    loss()"
            "\\n\", \"timestamp\": \"1700000000\"}}}",
            out);
        fclose(out);
    }
    _exit(1);
}

void sim_crash_now(int signal)
{
    const struct rlimit no_core = {0, 0};

    /* the tests need the death, not a core file */
    setrlimit(RLIMIT_CORE, &no_core);
    sim_crash_save();
    if (signal == SIM_CRASH_RAISES)
        raise_exception();
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
