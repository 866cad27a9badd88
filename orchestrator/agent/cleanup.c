/* cleanup.c - remove unfinished files when a signal ends the process. */
#include "orchestrator/agent/cleanup.h"

#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const int end_signals[] = {SIGTERM, SIGINT, SIGHUP, SIGALRM};
static char paths[JP_CLEANUP_MAX][PATH_MAX];
static volatile sig_atomic_t used[JP_CLEANUP_MAX];

static void on_end(int sig)
{
    (void) sig;
    for (int i = 0; i < JP_CLEANUP_MAX; i++)
        if (used[i])
            unlink(paths[i]);
    _exit(0);
}

static void set_mask(int how)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(end_signals) / sizeof(end_signals[0]); i++)
        sigaddset(&set, end_signals[i]);
    sigprocmask(how, &set, NULL);
}

void cleanup_open_window(void)
{
    set_mask(SIG_UNBLOCK);
}

void cleanup_close_window(void)
{
    set_mask(SIG_BLOCK);
}

void cleanup_init(void)
{
    struct sigaction action = {.sa_handler = on_end};

    set_mask(SIG_BLOCK);
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(end_signals) / sizeof(end_signals[0]); i++)
        sigaction(end_signals[i], &action, NULL);
}

int cleanup_add(const char *path)
{
    size_t n = strlen(path);

    if (n >= PATH_MAX)
        return -1;
    for (int i = 0; i < JP_CLEANUP_MAX; i++) {
        if (used[i])
            continue;
        memcpy(paths[i], path, n + 1);
        used[i] = 1;
        return i;
    }
    return -1;
}

void cleanup_drop(int slot)
{
    if (slot >= 0)
        used[slot] = 0;
}
