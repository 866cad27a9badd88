/* inspector.h - the Inspector backend: knobs, reader, and the sizes of rings.
 */
#ifndef JP_NCCL_INSPECTOR_INSPECTOR_H
#define JP_NCCL_INSPECTOR_INSPECTOR_H

#include "common/knob.h"
#include "plugins/backend.h"
#include "plugins/reader.h"

/* Its knobs, which RCCL's port has as well. */
extern const struct jp_knob inspector_knobs[];

extern const struct backend_reader inspector_reader;

/* --- interval, rings and what NVIDIA's Inspector will lose.
 *
 * From 2.30 on completed operations wait in two rings a communicator, one for
 * collectives and one for sends and receives, until a thread writes them; a
 * full ring overwrites silently. The thread is late where the cores are busy.
 * For each of the two kinds, in one communicator:
 *
 *   rate    of collectives rate=; of sends and receives rate x p2p / colls
 *   ring    >= rate x (interval + min(interval, 100 ms) + slack) and >= twice
 *             an iteration's operations / comms (a run of one iteration tells
 *             nothing of bursts), a power of two
 *   memory  = comms x 2 x (both rings) x 3,192 B (each with a drain buffer)
 *
 * The slack is 200 ms, and no ring is smaller than the library's own 1,024.
 * Where that exceeds mem= or a quarter of the step's memory over its ranks, the
 * interval is halved while it stays at least 10 ms, unless it has been named;
 * then the slack and the smallest ring are halved and the interval starts anew,
 * down to none and 16.
 *
 * Lost at the end is what waits when a communicator is destroyed: at most rate
 * x (interval + 50 ms), or an iteration. Lost before is what a late thread
 * leaves in a ring that holds less than interval + 200 ms: with m = ring / rate
 * - interval and lateness of 50 ms in the mean, exponential,
 *
 *   share = 50 ms x e^(-m / 50 ms) / (interval + 50 ms)
 *
 * and what the one thread cannot write: 60,000 records a second on a busy core,
 * of all communicators of the process (an idle core writes 250,000; measured,
 * docs/measurements.md). A variable of Inspector that the user has set, where
 * force= is off, counts as given: its interval as if named, its rings as they
 * are.
 *
 * 2.28 and 2.29 keep ONE completed collective a communicator between two dumps,
 * and no sends and receives. With x = rate x (interval + 150 us, what a pass
 * takes) and collectives at random times (1 - e^-x) / x of them are written; an
 * estimate, as collectives come in bursts. Before 2.29.7 the part of the
 * interval below a second is taken as nanoseconds (tv_nsec = microseconds %
 * 1,000,000): there the variable is 1,000 times the interval, which is at most
 * 999 us or whole seconds.
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

/* What the writing thread may be late by where memory allows it. */
#define INSPECTOR_SLACK_US 200000

struct inspector_plan {
    bool rings;              /* 2.30 on */
    bool shortened;          /* the interval, to fit the memory */
    bool never;              /* the user's interval writes nothing */
    uint64_t verbose;        /* 0 or 1; the user's own variable counts */
    uint64_t min_size;       /* bytes; likewise */
    uint64_t interval_us;    /* that is kept */
    uint64_t variable;       /* that makes the release keep it */
    uint64_t ring, p2p_ring; /* slots; 0: the release has none */
    double overload;         /* share that the thread cannot write */
    double spare_us;         /* the thread may be late by this, at no loss */
    uint64_t line_bytes;     /* of a record */
    uint64_t memory_bytes, disk_bytes, planned_ops, kept_ops;
};

/* -1: memory or files exceed a limit; err names both. */
int inspector_size(const struct backend_input *in, struct inspector_plan *out,
                   struct jp_error *err);

#endif
