/* evidence_start.c - start the program that looks at a hang's processes. */
#include "orchestrator/evidence/evidence.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/child.h"
#include "plugins/module.h"

#define PIDS_BYTES 512 /* of the processes of a hang */

/* What the child gets. */
struct order {
    const char *program;
    const struct module_hang *hang;
};

/* Lists the processes of one role as "7:123,8:456", each with its start time.
 * Those without room are left out. */
static void list_pids(const struct module_hang *hang, bool missing,
                      char list[PIDS_BYTES])
{
    size_t used = 0;

    *list = '\0';
    for (size_t i = 0; i < hang->n_targets; i++) {
        char pid[48];
        size_t n;

        if (hang->targets[i].missing != missing)
            continue;
        n = (size_t) snprintf(pid, sizeof(pid), "%s%" PRId64, used ? "," : "",
                              hang->targets[i].pid);
        if (hang->targets[i].start)
            n += (size_t) snprintf(pid + n, sizeof(pid) - n, ":%" PRIu64,
                                   hang->targets[i].start);
        if (used + n >= PIDS_BYTES)
            break;
        memcpy(list + used, pid, n + 1);
        used += n;
    }
}

/* Runs in the child: becomes `jobprof-node evidence`. Returns only if that
 * fails. */
static int run_child(void *arg, int out)
{
    const struct order *order = arg;
    const struct module_hang *hang = order->hang;
    char missing[PIDS_BYTES], waiting[PIDS_BYTES];
    const char *argv[12] = {"jobprof-node", "evidence", "-q", "--node",
                            hang->node};
    size_t n = 5;

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
    /* No descriptor of the agent may stay open: a hung tool would hold it. */
    child_let_go();
    alarm(EVIDENCE_LIFE_S); /* stays set across execv(), so that it limits the
                               program */
    execv(order->program, (char *const *) argv);
    return 127;
}

/* Does not wait for the child; a later call reaps it. */
void evidence_start(void *program, const struct module_hang *hang)
{
    static pid_t last;
    struct order order = {program ? program : "/proc/self/exe", hang};
    const struct child child = {.work = run_child, .arg = &order};
    int status;

    /* One at a time. A second request while the first still runs concerns the
     * same hang. */
    if (last > 0 && child_await(last, 0, &status) == 0)
        return;
    last = child_start(&child);
}
