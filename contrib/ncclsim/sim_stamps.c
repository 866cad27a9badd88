/* sim_stamps.c - NCCL's work counters, by which the GPU reports that a kernel
 * has started or ended. */
#include "contrib/ncclsim/sim_stamps.h"

#include <stdlib.h>

#include "contrib/ncclsim/sim_version.h"

/* Time between two readings of the GPU's clock by one thread. */
enum { TICK_NS = 16 };

void sim_stamps_fini(struct jp_sim_stamps *stamps)
{
    int c;

    for (c = 0; c < JP_NCCL_MAX_CHANNELS; c++) {
        free(stamps->channels[c].rings[SIM_STARTED]);
        free(stamps->channels[c].rings[SIM_COMPLETED]);
    }
    *stamps = (struct jp_sim_stamps){0};
}

/* Returns the ring of a phase, created when it is first used: most channels are
 * unused. */
static struct jp_sim_slot *ring_of(struct jp_sim_channel *channel,
                                   enum jp_sim_phase phase)
{
    struct jp_sim_slot **ring = &channel->rings[phase];

    if (!*ring)
        *ring = calloc(SIM_STAMPS_RING, sizeof(**ring));
    if (!*ring)
        abort();
    return *ring;
}

void sim_stamps_put(struct jp_sim_stamps *stamps, int channel,
                    enum jp_sim_phase phase, int n, uint64_t silent,
                    uint64_t ns)
{
    struct jp_sim_channel *ch = &stamps->channels[channel];
    struct jp_sim_slot *ring = NULL;
    int i;

    for (i = 0; i < n; i++) {
        uint64_t counter = ch->gpu[phase] + 1 + (uint64_t) i;

        /* counted, but not stamped */
        if (silent >> i & 1)
            continue;
        if (!ring)
            ring = ring_of(ch, phase);
        ring[counter % SIM_STAMPS_RING] =
            (struct jp_sim_slot){counter, ns + TICK_NS * (uint64_t) i};
    }
    ch->gpu[phase] += (uint64_t) n;
}

int sim_stamps_look(const struct jp_sim_channel *channel,
                    enum jp_sim_phase phase, uint64_t base, uint64_t *ns)
{
    const struct jp_sim_slot *ring = channel->rings[phase];
    struct jp_sim_slot slot = {0, 0};

    *ns = 0;
    /* 2.26 has only the count, which the caller has compared */
    if (!sim_nccl()->has_stamps)
        return 1;
    if (ring)
        slot = ring[base % SIM_STAMPS_RING];
    *ns = slot.ns;
    /* also true for a newer work in the slot, as in NCCL */
    return base <= slot.counter;
}
