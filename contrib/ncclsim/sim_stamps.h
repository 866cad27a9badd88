/* NCCL's work counters: how the GPU says that a kernel has started or ended.
 *
 * Each channel of a communicator has two counters of works. The host raises its
 * own when it enqueues an operation that it wants to watch and keeps the value:
 * the operation's base. The GPU raises the other for each work that a kernel
 * runs, and writes {counter, time} to slot counter % 64 of two rings, started
 * and completed. The host reads slot base % 64 and takes the work for started,
 * or completed, where slot.counter >= base.
 *
 * Nothing checks that both count the same. Where the GPU counts a work that the
 * host does not (a copy to oneself, AllGatherV, a graph's replay), each base
 * that follows is one too low: the slot holds an older work's time, and the
 * operation is over before it began. Where the host is 64 works late, the slot
 * holds a newer work's time.
 *
 * 2.26 has no rings: the GPU says how many works it has started and completed.
 * Source: NVIDIA/nccl 2.26.2 to 2.30.7, src/device/common.h, proxy.cc,
 * transport/profiler.cc.
 */
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

/* One communicator's; zeros at first. */
struct jp_sim_stamps {
    struct jp_sim_channel channels[JP_NCCL_MAX_CHANNELS];
};

void sim_stamps_fini(struct jp_sim_stamps *stamps);

/* The GPU starts or completes the next `n` works of a channel together; their
 * times are taken one after the other from `ns` on, those of works whose bit in
 * `silent` is set not at all. */
void sim_stamps_put(struct jp_sim_stamps *stamps, int channel,
                    enum jp_sim_phase phase, int n, uint64_t silent,
                    uint64_t ns);

/* As sim_stamps_read(), where the GPU has counted that far. */
int sim_stamps_look(const struct jp_sim_channel *channel,
                    enum jp_sim_phase phase, uint64_t base, uint64_t *ns);

/* Whether the host takes the work for started or completed; `*ns` is when, 0
 * where the release or the slot does not say. */
static inline int sim_stamps_read(const struct jp_sim_stamps *stamps,
                                  int channel, enum jp_sim_phase phase,
                                  uint64_t base, uint64_t *ns)
{
    const struct jp_sim_channel *ch = &stamps->channels[channel];

    /* no slot can hold more: this is for speed only */
    return base <= ch->gpu[phase] && sim_stamps_look(ch, phase, base, ns);
}

#endif
