/* sim_stamps.h - NCCL's work counters, by which the GPU reports that a kernel
 * has started or ended.
 *
 * Each channel of a communicator has two counters of works. The host raises its
 * own when it enqueues an operation that it wants to watch, and keeps the value
 * as the operation's base. The GPU raises the other one for each work that a
 * kernel runs, and writes {counter, time} to slot counter % 64 of two rings,
 * started and completed. The host reads slot base % 64. It takes the work as
 * started, or completed, if slot.counter >= base.
 *
 * Nothing checks that both counters agree. If the GPU counts a work that the
 * host does not (a copy to oneself, AllGatherV, a graph's replay), each later
 * base is one too low: the slot holds the time of an older work, and the
 * operation ends before it began. If the host is 64 works late, the slot holds
 * the time of a newer work.
 *
 * 2.26 has no rings: the GPU writes the number of works that it has started and
 * completed. Source: NVIDIA/nccl 2.26.2 to 2.30.7, src/device/common.h,
 * proxy.cc, transport/profiler.cc. */
#ifndef JP_SIM_STAMPS_H
#define JP_SIM_STAMPS_H

#include <stdint.h>

#include "plugins/nccl_recorder/nccl_profiler.h"

enum { SIM_STAMPS_RING = 64 };

enum jp_sim_phase { SIM_STARTED, SIM_COMPLETED, SIM_N_PHASES };

struct jp_sim_slot {
    uint64_t counter;
    uint64_t ns;
};

struct jp_sim_channel {
    uint64_t host;              /* the host's counter */
    uint64_t gpu[SIM_N_PHASES]; /* the GPU's */
    struct jp_sim_slot
        *rings[SIM_N_PHASES]; /* [SIM_STAMPS_RING]; NULL: zeros */
};

/* The counters of one communicator; zero-initialised. */
struct jp_sim_stamps {
    struct jp_sim_channel channels[JP_NCCL_MAX_CHANNELS];
};

void sim_stamps_fini(struct jp_sim_stamps *stamps);

/* The GPU starts or completes the next `n` works of a channel together. Their
 * times are taken one after the other from `ns` on. Works whose bit in `silent`
 * is set get no time. */
void sim_stamps_put(struct jp_sim_stamps *stamps, int channel,
                    enum jp_sim_phase phase, int n, uint64_t silent,
                    uint64_t ns);

/* As sim_stamps_read(), if the GPU has counted that far. */
int sim_stamps_look(const struct jp_sim_channel *channel,
                    enum jp_sim_phase phase, uint64_t base, uint64_t *ns);

/* Returns whether the host takes the work as started or completed. *ns: its
 * time; 0 if the release or the slot has none. */
static inline int sim_stamps_read(const struct jp_sim_stamps *stamps,
                                  int channel, enum jp_sim_phase phase,
                                  uint64_t base, uint64_t *ns)
{
    const struct jp_sim_channel *ch = &stamps->channels[channel];

    /* only for speed: no slot can hold a larger counter */
    return base <= ch->gpu[phase] && sim_stamps_look(ch, phase, base, ns);
}

#endif
