/* rec_pause.c - stretches of time in which nothing is recorded on purpose.
 *
 * Two things end the recording for a while. Somebody may clear NCCL's event
 * mask (PROFILER_MASK of RAS, NCCL 2.31): then NCCL raises no events, and only
 * the numbers of the collectives after it show how many there were. Where the
 * mask keeps a part of the operations, that is dropped, too. Or the
 * folder of the recordings has a file record.off (jobprof record off): then the
 * recorder drops what begins, and counts it. NCCL's mask is left alone for
 * that, as graphs of 2.28 to 2.30 with only some of their operations watched
 * never end. The writer looks for both each time it writes, every 100 ms.
 */
#include "plugins/nccl_recorder/rec_comm.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

atomic_bool rec_paused;

static struct jpr_pause pauses[JPR_MAX_PAUSES]; /* the writer's */
static unsigned n_pauses;
static uint64_t skipped_before;       /* the last pause began with so many */
static _Atomic uint64_t n_skipped;    /* over all pauses */
static _Atomic unsigned why_last = 0; /* enum jpr_pause_why; 0: none yet */

void rec_pause_reset(void)
{
    atomic_store(&rec_paused, false);
    n_pauses = 0;
    skipped_before = 0;
    atomic_store(&n_skipped, 0);
    atomic_store(&why_last, 0);
}

static bool is_by_mask(void)
{
    return atomic_load_explicit(&why_last, memory_order_relaxed) ==
           JPR_PAUSE_BY_MASK;
}

void rec_pause_drop(bool numbered)
{
    if (!numbered || !is_by_mask())
        atomic_fetch_add_explicit(&n_skipped, 1, memory_order_relaxed);
}

void rec_pause_gap(uint64_t n)
{
    if (is_by_mask())
        atomic_fetch_add_explicit(&n_skipped, n, memory_order_relaxed);
}

/* A pause begins. Where the table is full, the last one is made longer. */
static void begin_pause(enum jpr_pause_why why, uint64_t now_ns)
{
    atomic_store(&why_last, why);
    if (n_pauses == JPR_MAX_PAUSES) {
        pauses[n_pauses - 1].to_ns = 0;
        return;
    }
    skipped_before = atomic_load(&n_skipped);
    pauses[n_pauses++] = (struct jpr_pause){.from_ns = now_ns, .why = why};
}

void rec_pause_look(const char *dir, int mask, uint64_t now_ns)
{
    const int all = JP_NCCL_COLL | JP_NCCL_P2P;
    struct jpr_pause *last = n_pauses ? &pauses[n_pauses - 1] : NULL;
    char path[PATH_MAX];
    enum jpr_pause_why why = 0;

    snprintf(path, sizeof(path), "%s/" JPR_PAUSE_FILE, dir);
    if (access(path, F_OK) == 0)
        why = JPR_PAUSE_BY_FILE;
    else if ((mask & all) != all)
        why = JPR_PAUSE_BY_MASK;
    /* by the mask, only if it keeps a part of the operations */
    atomic_store(&rec_paused,
                 why == JPR_PAUSE_BY_FILE ||
                     (why == JPR_PAUSE_BY_MASK && (mask & all) != 0));
    /* what is found after its end still belongs to it */
    if (last)
        last->skipped = atomic_load(&n_skipped) - skipped_before;
    if (last && last->to_ns == 0 && last->why != why) {
        last->to_ns = now_ns;
        last = NULL;
    }
    if (why && (!last || last->to_ns != 0))
        begin_pause(why, now_ns);
}

unsigned rec_pause_list(const struct jpr_pause **list)
{
    *list = pauses;
    return n_pauses;
}
