/* livekeep.c - start the program that looks at a hang's processes. */
#include "orchestrator/live/livekeep.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/child.h"

#define PIDS_BYTES 256 /* of LIVE_EVIDENCE_MAX processes */

struct order {
    const char *program;
    const struct module_hang *hang;
};

/* "7,8"; those that have no room are left out. */
static void list_pids(const struct module_hang *hang, bool missing,
                      char list[PIDS_BYTES])
{
    size_t used = 0;

    *list = '\0';
    for (size_t i = 0; i < hang->n_targets; i++) {
        char pid[24];
        size_t n;

        if (hang->targets[i].missing != missing)
            continue;
        n = (size_t) snprintf(pid, sizeof(pid), "%s%" PRId64, used ? "," : "",
                              hang->targets[i].pid);
        if (used + n >= PIDS_BYTES)
            break;
        memcpy(list + used, pid, n + 1);
        used += n;
    }
}

static int run(void *arg, int out)
{
    const struct order *order = arg;
    const struct module_hang *hang = order->hang;
    char missing[PIDS_BYTES], waiting[PIDS_BYTES];
    const char *argv[12] = {"jobprof-node", "evidence", "-q", "--node",
                            hang->node};
    size_t n = 5;
    int null = open("/dev/null", O_RDWR);

    (void) out;
    list_pids(hang, true, missing);
    list_pids(hang, false, waiting);
    if (*missing) {
        argv[n++] = "--missing";
        argv[n++] = missing;
    }
    if (*waiting) {
        argv[n++] = "--waiting";
        argv[n++] = waiting;
    }
    argv[n++] = hang->dir;
    for (int i = 0; i < 3 && null >= 0; i++)
        dup2(null, i);
    close_range(3, ~0U, 0);
    alarm(LIVEKEEP_LIFE_S); /* stays set behind execv() */
    execv(order->program, (char *const *) argv);
    return 127;
}

void livekeep_start(void *program, const struct module_hang *hang)
{
    static pid_t last;
    struct order order = {program ? program : "/proc/self/exe", hang};
    const struct child child = {.work = run, .arg = &order};
    int status;

    /* one at a time: a look that takes longer is of a hang that is the same */
    if (last > 0 && child_await(last, 0, &status) == 0)
        return;
    last = child_start(&child);
}
