/* inspector.h - the Inspector backend: its knobs, its reader, and the sizes of
 * its rings.
 */
#ifndef JP_NCCL_INSPECTOR_INSPECTOR_H
#define JP_NCCL_INSPECTOR_INSPECTOR_H

#include "common/knob.h"
#include "plugins/backend.h"
#include "plugins/reader.h"

/* Its knobs, which RCCL's port shares. */
extern const struct jp_knob inspector_knobs[];

extern const struct backend_reader inspector_reader;

/* --- interval, rings and what NVIDIA's Inspector will lose.
 *
 * From 2.30 on completed operations wait in two rings of each communicator, one
 * for collectives and one for sends and receives, until a thread writes them. A
 * full ring overwrites silently, and the thread is late where cores are busy.
 * For each of the two kinds, in one communicator:
 *
 *   rate    of collectives rate=; of sends and receives rate x p2p / colls
 *   ring    >= rate x (interval + min(interval, 100 ms) + slack) and >= twice
 *             an iteration's operations / comms (a run of one iteration says
 *             nothing about bursts), a power of two
 *   memory  = comms x 2 x (both rings) x 3,192 B (each with a drain buffer)
 *
 * The slack is 200 ms, and no ring is smaller than the library's own 1,024. If
 * that exceeds mem= or a rank's part of a quarter of the step's memory, the
 * interval is halved as long as it is at least 10 ms, unless the user has set
 * it. Then the slack and the smallest ring are halved and the interval starts
 * anew, down to no slack and 16 slots.
 *
 * The end loses what waits when a communicator is destroyed: at most rate x
 * (interval + 50 ms), or an iteration. Before that a late thread loses
 * operations of a ring that holds less than interval + 200 ms. With m = ring /
 * rate - interval and an exponential lateness of 50 ms in the mean this is
 *
 *   share = 50 ms x e^(-m / 50 ms) / (interval + 50 ms)
 *
 * The one thread also loses what it cannot write: it writes 60,000 records a
 * second on a busy core, for all communicators of the process (250,000 on an
 * idle core; both measured). A variable of Inspector that the user has set
 * counts as given where force= is off: the interval as if the knob were set,
 * the rings as they are.
 *
 * 2.28 and 2.29 keep ONE completed collective of a communicator between two
 * dumps, and no sends and receives. With x = rate x (interval + 150 us, what a
 * pass takes) and collectives at random times, (1 - e^-x) / x of them are
 * written. This is an estimate, as collectives come in bursts. Before 2.29.7
 * the library takes the part of the interval below a second as nanoseconds
 * (tv_nsec = microseconds % 1,000,000). There the variable is 1,000 times the
 * interval, which is at most 999 us or whole seconds.
 *
 * files = iterations x (colls + p2p) x 447 B, with verbose=1 x (610 B + 205 B a
 * channel); x ranks <= disk= and <= the free space less min_free=.
 *
 * Sources: NVIDIA/nccl ext-profiler/inspector/inspector.cc at 2.28.3 to 2.29.7
 * (completedCollInfo, dumpMain), plugins/profiler/inspector/inspector_ring.h at
 * 2.30; bytes measured on 2.30.7.
 */

#define INSPECTOR_VARIABLE(name) "NCCL_INSPECTOR_" name
#define INSPECTOR_FOLDER INSPECTOR_VARIABLE("DUMP_DIR")

/* How late the writing thread may be without a loss, if memory allows. */
#define INSPECTOR_SLACK_US 200000

struct inspector_plan {
    bool rings;              /* 2.30 on */
    bool shortened;          /* the interval was shortened to fit the memory */
    bool never;              /* the user's interval makes it write nothing */
    uint64_t verbose;        /* 0 or 1; the user's own variable wins */
    uint64_t min_size;       /* bytes; the same */
    uint64_t interval_us;    /* that the library will keep */
    uint64_t variable;       /* value of the variable for that interval */
    uint64_t ring, p2p_ring; /* slots; 0: the release has none */
    double overload;     /* share of operations that the thread cannot write */
    double spare_us;     /* how late the thread may be without a loss */
    uint64_t line_bytes; /* of one record */
    uint64_t memory_bytes, disk_bytes, planned_ops, kept_ops;
};

/* Sizes Inspector. Returns 0, or -1: memory or files exceed a limit, and err
 * names both. */
int inspector_size(const struct backend_input *in, struct inspector_plan *out,
                   struct jp_error *err);

#endif
