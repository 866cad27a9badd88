/* rec_trust.c - whether NCCL's kernel events can be believed.
 *
 * rec_comm.h explains how the events go wrong and by which rules and checks
 * that is found. Rules act when the program calls or launches (rec_trust_call,
 * rec_trust_op, rec_trust_usable); checks act on the time stamps
 * (rec_trust_start, rec_trust_stop). No decision depends on the order in which
 * threads see changes, so the counters are relaxed. */

#include <stdlib.h>
#include <string.h>

#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_compat.h"

/* STALE_MOST stale operations among STALE_WITHIN end the trust. RING_NEAR is a
 * little below the 64 entries of the ring; an operation takes at most one entry
 * of a channel. GPUS bounds the table of clocks. */
enum {
    STALE_MOST = 8,
    STALE_WITHIN = 10000,
    GPUS = 64,
    RING = 64,
    RING_NEAR = 60
};

/* The clocks of GPU and host are compared only where they run alike: the least
 * differences of two windows agree within CLOCK_SLACK_NS. Only a start that is
 * earlier by more than that counts as too early. */
#define CLOCK_WINDOW_NS 1000000000ULL
#define CLOCK_SLACK_NS 1000000LL

/* What the clocks may part within a window: 50 ppm each. */
#define CLOCK_DRIFT_NS 100000LL

/* The host's clock less the GPU's: the least difference of the current window
 * and of the one before. It is never below the truth, for the host sees an
 * event only after it happened. */
struct jp_rec_gpu_clock {
    char pci[32]; /* "": the entry is free */
    _Atomic int64_t low_ns, before_ns;
    _Atomic uint64_t since_ns; /* begin of the window; 0: none yet */
    atomic_bool is_known;      /* before_ns holds a whole window */
};

static struct jp_rec_gpu_clock clocks[GPUS]; /* entries are never freed */
static _Atomic uint32_t not_asked; /* enum jpr_doubt: why kernel events are not
                                      requested; 0: they are */
static bool has_allgatherv;        /* NCCL may merge Broadcasts */
/* v7: a thread of its own reports the kernels. It counts the replays of graphs
 * as the GPU does, and reports operations in no fixed order. */
static bool has_thread;
static atomic_bool wants_phases; /* KernelPhase was requested */
static _Atomic int *nccl_mask;   /* NCCL's event mask; NULL: out of reach */
static const void *nccl_base;    /* address of the mask's library */

/* Returns whether the mask is still mapped: a program may unload NCCL and load
 * it again elsewhere. */
static bool mask_is_there(void)
{
    Dl_info object;

    return nccl_mask && dladdr((const void *) nccl_mask, &object) &&
           object.dli_fbase == nccl_base;
}

/* Replaces kernel events by proxies in NCCL's mask, which NCCL reads at each
 * call (from v4 on; before that kernel events are not requested). Without
 * kernel events those of the network show when an operation is over. */
void rec_trust_mask(void)
{
    if (atomic_load(&not_asked) == 0 || !mask_is_there() ||
        !(atomic_load(nccl_mask) & JP_NCCL_KERNEL_CH))
        return;
    atomic_fetch_or(nccl_mask, JP_NCCL_PROXY_OP);
    atomic_fetch_and(nccl_mask, ~JP_NCCL_KERNEL_CH);
}

/* Requests no more kernel events in this process. */
static void stop_asking(enum jpr_doubt why)
{
    if (!rec_trust_enabled())
        return;
    atomic_store(&not_asked, why);
    rec_trust_mask();
}

int rec_trust_seen(void)
{
    return mask_is_there() ? atomic_load(nccl_mask) : -1;
}

bool rec_trust_look(int mask)
{
    static bool was_taken; /* at the last look; the writer's */
    bool before = was_taken;

    was_taken = rec_trust_enabled() && (mask & JP_NCCL_COLL) &&
                (mask & JP_NCCL_P2P) && !(mask & JP_NCCL_KERNEL_CH);
    if (was_taken) /* the mask stays as it is */
        atomic_store(&not_asked, JPR_DOUBT_NOT_ASKED);
    return before || was_taken;
}

void rec_trust_ask_phases(void)
{
    if (!rec_trust_enabled() ||
        atomic_load_explicit(&wants_phases, memory_order_relaxed) ||
        atomic_exchange(&wants_phases, true) || !mask_is_there() ||
        !(atomic_load(nccl_mask) & JP_NCCL_KERNEL_CH))
        return;
    atomic_fetch_or(nccl_mask, JP_NCCL_KERNEL_PHASE);
}

/* Adds a reason. The load first keeps the cache line shared in the common case,
 * where the reason is known. */
static void doubt(struct jp_rec_trust *trust, uint32_t reason)
{
    if (!(atomic_load_explicit(&trust->reasons, memory_order_relaxed) & reason))
        atomic_fetch_or_explicit(&trust->reasons, reason, memory_order_relaxed);
}

void rec_trust_init(bool asking, int interface, int *mask)
{
    const char *merges = getenv("NCCL_ALLGATHERV_ENABLE");
    Dl_info object; /* only a mask in a library's data can be checked later */

    /* a forked child must not use its parent's clocks */
    memset(clocks, 0, sizeof(clocks));
    atomic_store(&not_asked, asking ? 0 : JPR_DOUBT_NOT_ASKED);
    has_allgatherv = interface >= 6 && !(merges && !strcmp(merges, "0"));
    has_thread = interface >= 7;
    atomic_store(&wants_phases, false);
    nccl_mask = mask && dladdr(mask, &object) ? (_Atomic int *) mask : NULL;
    nccl_base = nccl_mask ? object.dli_fbase : NULL;
}

bool rec_trust_enabled(void)
{
    return atomic_load_explicit(&not_asked, memory_order_relaxed) == 0;
}

bool rec_trust_usable(struct jp_rec_trust *trust, bool replayed)
{
    uint32_t why = atomic_load_explicit(&not_asked, memory_order_relaxed);

    if (replayed && !has_thread &&
        !atomic_load_explicit(&trust->replays_count, memory_order_relaxed))
        doubt(trust, JPR_DOUBT_GRAPH_MIX);
    if ((atomic_load_explicit(&trust->reasons, memory_order_relaxed) | why) ==
        0)
        return true;
    if (why)
        doubt(trust, why);
    return false;
}

void rec_trust_comm(struct jp_rec_trust *trust, const char *gpu_pci)
{
    int i = 0;

    while (i < GPUS && clocks[i].pci[0] && strcmp(clocks[i].pci, gpu_pci) != 0)
        i++;
    if (!gpu_pci[0] || i == GPUS)
        return;
    memcpy(clocks[i].pci, gpu_pci, strnlen(gpu_pci, sizeof(clocks[i].pci) - 1));
    trust->clock = &clocks[i];
}

/* ------------------------------------------------------ launches and calls */

void rec_trust_op(struct jp_rec_trust *trust, uint64_t now_ns, bool self_copy,
                  struct jp_rec_place *place)
{
    uint32_t launch = (uint32_t) rec_comm_sum(&trust->launch);

    /* the first operation of a launch: its time bounds the next launch's */
    if (atomic_load_explicit(&trust->first_of, memory_order_relaxed) !=
        launch) {
        atomic_store_explicit(&trust->first_of, launch, memory_order_relaxed);
        atomic_store_explicit(
            &trust->before_ns,
            atomic_load_explicit(&trust->launch_ns, memory_order_relaxed),
            memory_order_relaxed);
        atomic_store_explicit(&trust->launch_ns, now_ns, memory_order_relaxed);
    }
    place->launch = launch;
    place->after_ns =
        atomic_load_explicit(&trust->before_ns, memory_order_relaxed);
    place->number = 1 +
                    atomic_load_explicit(&trust->n_ops, memory_order_relaxed);
    atomic_store_explicit(&trust->afters[place->number % JP_REC_AFTERS],
                          place->after_ns, memory_order_relaxed);
    atomic_store_explicit(&trust->n_ops, place->number, memory_order_release);
    /* the host does not count this copy, so stamps of later kernels come too
     * early */
    if (self_copy && rec_trust_enabled())
        doubt(trust, JPR_DOUBT_SELF_COPY);
}

/* Two Broadcasts of different roots in one group, or one in a graph, may become
 * an AllGatherV, after which the counts of host and device differ. */
static void note_broadcast(struct jp_rec_trust *trust,
                           const struct jp_rec_thread *thread, int root,
                           bool captured)
{
    /* differs between threads, and between the groups of a thread */
    uint64_t group = (uint64_t) (uintptr_t) thread + thread->group;

    if (!has_allgatherv)
        return;
    if (captured ||
        (trust->broadcast_group == group && trust->broadcast_root != root)) {
        doubt(trust, JPR_DOUBT_BROADCAST);
        stop_asking(JPR_DOUBT_BROADCAST);
    }
    trust->broadcast_group = group;
    trust->broadcast_root = root;
}

void rec_trust_call(struct jp_rec_trust *trust,
                    const struct jp_rec_thread *thread, bool captured,
                    int broadcast_root)
{
    if (atomic_load_explicit(&trust->replays_count, memory_order_relaxed) !=
        captured)
        atomic_store_explicit(&trust->replays_count, captured,
                              memory_order_relaxed);
    if (broadcast_root >= 0)
        note_broadcast(trust, thread, broadcast_root, captured);
}

/* ------------------------------------------------------------- time stamps */

/* Takes a stamp of the GPU that the host saw at now_ns. */
static void compare_clocks(struct jp_rec_gpu_clock *clock, uint64_t gpu_ns,
                           uint64_t now_ns)
{
    int64_t low = (int64_t) (now_ns - gpu_ns);
    uint64_t since =
        atomic_load_explicit(&clock->since_ns, memory_order_relaxed);
    int64_t least = atomic_load_explicit(&clock->low_ns, memory_order_relaxed);

    if (since != 0 && now_ns - since < CLOCK_WINDOW_NS) {
        if (low < least)
            atomic_store_explicit(&clock->low_ns, low, memory_order_relaxed);
        return;
    }
    atomic_store_explicit(&clock->is_known, since != 0, memory_order_relaxed);
    atomic_store_explicit(&clock->before_ns, least, memory_order_relaxed);
    atomic_store_explicit(&clock->low_ns, low, memory_order_relaxed);
    atomic_store_explicit(&clock->since_ns, now_ns, memory_order_relaxed);
}

/* The host's clock less the GPU's, never below the truth. Returns false where
 * the clocks are not known to run alike. */
static bool get_difference(const struct jp_rec_gpu_clock *clock,
                           int64_t *difference)
{
    int64_t low = atomic_load_explicit(&clock->low_ns, memory_order_relaxed);
    int64_t before =
        atomic_load_explicit(&clock->before_ns, memory_order_relaxed);
    int64_t apart = low - before;

    *difference = low > before ? low : before;
    return atomic_load_explicit(&clock->is_known, memory_order_relaxed) &&
           apart <= CLOCK_SLACK_NS && apart >= -CLOCK_SLACK_NS;
}

/* Returns whether a stamp is earlier than a time of the host; false for a time
 * of 0 or where the clocks cannot be compared. */
static bool is_before(const struct jp_rec_gpu_clock *clock, uint64_t gpu_ns,
                      uint64_t host_ns)
{
    int64_t difference;

    return host_ns != 0 && get_difference(clock, &difference) &&
           (int64_t) (gpu_ns + (uint64_t) difference - host_ns) <
               -CLOCK_SLACK_NS;
}

bool rec_trust_is_too_long(const struct jp_rec_trust *trust, uint64_t gpu_ns,
                           uint64_t host_ns)
{
    int64_t difference;

    return trust->clock && get_difference(trust->clock, &difference) &&
           gpu_ns > host_ns + host_ns / 64 + CLOCK_SLACK_NS;
}

/* The stamps run backwards. Times between the two may belong to other
 * operations than NCCL reported them for. A span that goes on where the last
 * one is grows it: without a lap between them the two are one. */
static void note_overrun(struct jp_rec_trust *trust, uint64_t from_ns,
                         uint64_t to_ns)
{
    uint32_t n = atomic_load_explicit(&trust->n_overruns, memory_order_relaxed);
    struct jp_rec_overrun *last = &trust->overruns[(n - 1) % JP_REC_OVERRUNS];

    if (n == 0 ||
        from_ns > atomic_load_explicit(&last->to_ns, memory_order_relaxed)) {
        last = &trust->overruns[n % JP_REC_OVERRUNS];
        atomic_store_explicit(&last->from_ns, from_ns, memory_order_relaxed);
        atomic_store_explicit(&last->to_ns, to_ns, memory_order_relaxed);
        atomic_store_explicit(&trust->n_overruns, n + 1, memory_order_release);
        return;
    }
    if (from_ns < atomic_load_explicit(&last->from_ns, memory_order_relaxed))
        atomic_store_explicit(&last->from_ns, from_ns, memory_order_relaxed);
    if (to_ns > atomic_load_explicit(&last->to_ns, memory_order_relaxed))
        atomic_store_explicit(&last->to_ns, to_ns, memory_order_relaxed);
}

bool rec_trust_is_overrun(const struct jp_rec_trust *trust, uint64_t first_ns,
                          uint64_t last_ns)
{
    uint32_t n = atomic_load_explicit(&trust->n_overruns, memory_order_acquire);
    const struct jp_rec_overrun *oldest = &trust->overruns[n % JP_REC_OVERRUNS];
    uint32_t i;

    /* there were earlier spans, which are not known any more */
    if (n > JP_REC_OVERRUNS &&
        first_ns < atomic_load_explicit(&oldest->from_ns, memory_order_relaxed))
        return true;
    for (i = 0; i < n && i < JP_REC_OVERRUNS; i++) {
        const struct jp_rec_overrun *o = &trust->overruns[i];

        if (last_ns >=
                atomic_load_explicit(&o->from_ns, memory_order_relaxed) &&
            first_ns <= atomic_load_explicit(&o->to_ns, memory_order_relaxed))
            return true;
    }
    return false;
}

/* Returns whether a stamp is earlier than the launch of the operation that is
 * RING later. The difference of the clocks is never below the truth, so the
 * stamp is not later than it seems. */
static bool is_before_lap(const struct jp_rec_trust *trust, uint64_t number,
                          uint64_t gpu_ns)
{
    uint64_t later = number + RING, after_ns, last;
    int64_t difference;

    if (!trust->clock || !get_difference(trust->clock, &difference))
        return false;
    after_ns = atomic_load_explicit(&trust->afters[later % JP_REC_AFTERS],
                                    memory_order_acquire);
    last = atomic_load_explicit(&trust->n_ops, memory_order_acquire);
    /* the entry is that of the operation, or of an earlier one */
    return last >= later && last - later < JP_REC_AFTERS - RING &&
           (int64_t) (gpu_ns + (uint64_t) difference - after_ns) <
               -CLOCK_DRIFT_NS;
}

/* Returns whether so many operations followed this one that the ring may have
 * been overrun, or had followed one that was reported before. *is_own: that
 * cannot be, so the stamp is this one's whatever the others are. Must be called
 * for each stamp, as lateness shows only at the moment of the report. */
static bool is_late(struct jp_rec_trust *trust, uint64_t number,
                    uint64_t gpu_ns, bool *is_own)
{
    uint64_t last = atomic_load_explicit(&trust->n_ops, memory_order_relaxed);

    *is_own = last - number < RING_NEAR || is_before_lap(trust, number, gpu_ns);
    if (!*is_own)
        atomic_store_explicit(&trust->late_until, last, memory_order_relaxed);
    return number <=
           atomic_load_explicit(&trust->late_until, memory_order_relaxed);
}

/* From this stamp on nothing proves whose the connection's stamps are. */
static void note_unproven(struct jp_rec_channel *c, uint64_t number,
                          uint64_t gpu_ns)
{
    uint64_t ns = atomic_load_explicit(&c->late_ns, memory_order_relaxed);
    uint64_t first = atomic_load_explicit(&c->unproven, memory_order_relaxed);

    if (ns == 0 || gpu_ns < ns)
        atomic_store_explicit(&c->late_ns, gpu_ns, memory_order_relaxed);
    if (first == 0 || number < first)
        atomic_store_explicit(&c->unproven, number, memory_order_relaxed);
}

bool rec_trust_is_proven(const struct jp_rec_trust *trust,
                         enum jp_rec_link link, uint64_t number,
                         uint64_t channels)
{
    for (unsigned i = 0; channels >> i; i++) {
        uint64_t first = atomic_load_explicit(
            &trust->channels[i][link].unproven, memory_order_acquire);

        if ((channels >> i & 1) && first != 0 && first <= number)
            return false;
    }
    return true;
}

void rec_trust_skip(struct jp_rec_trust *trust)
{
    atomic_fetch_add_explicit(&trust->n_ops, 1, memory_order_relaxed);
}

/* Counts a stale stamp. A few over a long time are chance: NCCL loses a start
 * now and then. */
static enum jp_rec_stamp take_stale(struct jp_rec_trust *trust)
{
    uint64_t last = atomic_load_explicit(&trust->n_ops, memory_order_relaxed);

    atomic_fetch_add_explicit(&trust->n_unsure.by_others, 1,
                              memory_order_relaxed);
    if (last - atomic_load_explicit(&trust->stale_since, memory_order_relaxed) >
        STALE_WITHIN) {
        atomic_store_explicit(&trust->stale_since, last, memory_order_relaxed);
        atomic_store_explicit(&trust->n_stale, 0, memory_order_relaxed);
    }
    if (1 + atomic_fetch_add_explicit(&trust->n_stale, 1,
                                      memory_order_relaxed) >=
        STALE_MOST)
        doubt(trust, JPR_DOUBT_STALE);
    return JP_REC_STALE;
}

/* Judges the first stamp of a launch on the connection. */
static enum jp_rec_stamp compare_stamp(struct jp_rec_trust *trust,
                                       struct jp_rec_channel *c,
                                       const struct jp_rec_place *place,
                                       bool late, uint64_t gpu_ns)
{
    uint64_t start = atomic_load_explicit(&c->start_ns, memory_order_relaxed);
    uint64_t stop = atomic_load_explicit(&c->stop_ns, memory_order_relaxed);
    uint64_t since = atomic_load_explicit(&c->late_ns, memory_order_relaxed);

    if (trust->clock && is_before(trust->clock, gpu_ns, place->after_ns))
        return take_stale(trust);
    if (gpu_ns < stop && !late)
        return take_stale(trust);
    if (gpu_ns < start || gpu_ns < stop)
        note_overrun(trust, since != 0 && since < gpu_ns ? since : gpu_ns,
                     start > stop ? start : stop);
    return gpu_ns < stop ? JP_REC_DOUBTFUL : JP_REC_FRESH;
}

/* What is known of the connection's stamps decides whose they are. */
static void end_unproven(struct jp_rec_trust *trust, struct jp_rec_channel *c)
{
    atomic_store_explicit(&c->late_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&c->unproven, 0, memory_order_release);
    atomic_fetch_add_explicit(&trust->n_proofs, 1, memory_order_release);
}

/* Refuses the unproven stamps of a connection that a start proves nothing
 * about: the works between the two may be a lap of the ring, or it is earlier
 * than those of its own launch. */
static void check_unproven(struct jp_rec_trust *trust, struct jp_rec_channel *c,
                           const struct jp_rec_place *place, uint64_t gpu_ns)
{
    uint64_t since = atomic_load_explicit(&c->late_ns, memory_order_relaxed);
    uint64_t start = atomic_load_explicit(&c->start_ns, memory_order_relaxed);
    uint64_t stop = atomic_load_explicit(&c->stop_ns, memory_order_relaxed);
    uint32_t last = atomic_load_explicit(&c->number, memory_order_relaxed);

    if (since == 0)
        return;
    if ((uint32_t) place->number - last >= RING_NEAR) {
        note_overrun(trust, since, start > stop ? start : stop);
        end_unproven(trust, c);
    } else if (gpu_ns < start)
        note_overrun(trust, since < gpu_ns ? since : gpu_ns, start);
}

/* Takes a start that is not before the kernel's launch. */
static enum jp_rec_stamp take_start(struct jp_rec_trust *trust,
                                    struct jp_rec_channel *c,
                                    const struct jp_rec_place *place,
                                    uint64_t gpu_ns)
{
    enum jp_rec_stamp stamp = JP_REC_FRESH;
    bool is_own, late = is_late(trust, place->number, gpu_ns, &is_own);
    uint32_t last = atomic_load_explicit(&c->launch, memory_order_relaxed);

    /* one that is reported after a later one began before it */
    if (has_thread && (int32_t) (place->launch - last) < 0) {
        if (!is_own)
            note_unproven(c, place->number, gpu_ns);
        if (gpu_ns > atomic_load_explicit(&c->start_ns, memory_order_relaxed))
            return JP_REC_DOUBTFUL;
        return late ? JP_REC_LATE : JP_REC_FRESH;
    }
    check_unproven(trust, c, place, gpu_ns);
    /* operations of one launch share their stamps: compare only the first */
    if (last != place->launch) {
        stamp = compare_stamp(trust, c, place, late, gpu_ns);
        if (stamp == JP_REC_STALE)
            return stamp;
        atomic_store_explicit(&c->launch, place->launch, memory_order_relaxed);
    }
    atomic_store_explicit(&c->number, (uint32_t) place->number,
                          memory_order_relaxed);
    if (gpu_ns > atomic_load_explicit(&c->start_ns, memory_order_relaxed))
        atomic_store_explicit(&c->start_ns, gpu_ns, memory_order_relaxed);
    if (!is_own) {
        note_unproven(c, place->number, gpu_ns);
    } else if (atomic_load_explicit(&c->late_ns, memory_order_relaxed) != 0) {
        /* those that ran backwards are in a span by now, the rest is right */
        end_unproven(trust, c);
    }
    return late && stamp == JP_REC_FRESH ? JP_REC_LATE : stamp;
}

enum jp_rec_stamp rec_trust_start(struct jp_rec_trust *trust, unsigned channel,
                                  const struct jp_rec_place *place,
                                  uint64_t gpu_ns, uint64_t now_ns)
{
    uint64_t launch = 1 + (uint64_t) place->launch;
    enum jp_rec_stamp stamp;

    if (!atomic_load_explicit(&trust->has_events, memory_order_relaxed))
        atomic_store_explicit(&trust->has_events, true, memory_order_relaxed);
    if (gpu_ns == 0)
        return take_stale(trust);
    if (trust->clock && now_ns)
        compare_clocks(trust->clock, gpu_ns, now_ns);
    stamp = take_start(trust, &trust->channels[channel][place->link], place,
                       gpu_ns);
    if (stamp == JP_REC_DOUBTFUL || stamp == JP_REC_STALE)
        atomic_store_explicit(&trust->doubtful_launch, launch,
                              memory_order_relaxed);
    else if (atomic_load_explicit(&trust->doubtful_launch,
                                  memory_order_relaxed) == launch)
        stamp = JP_REC_DOUBTFUL;
    return stamp;
}

enum jp_rec_stamp rec_trust_stop(struct jp_rec_trust *trust, unsigned channel,
                                 const struct jp_rec_place *place,
                                 uint64_t start_ns, uint64_t gpu_ns)
{
    struct jp_rec_channel *c = &trust->channels[channel][place->link];
    bool is_own, late = is_late(trust, place->number, gpu_ns, &is_own);

    if (gpu_ns > atomic_load_explicit(&c->stop_ns, memory_order_relaxed))
        atomic_store_explicit(&c->stop_ns, gpu_ns, memory_order_relaxed);
    if (!is_own)
        note_unproven(c, place->number, start_ns);
    if (gpu_ns <= start_ns || rec_trust_is_overrun(trust, start_ns, start_ns))
        return JP_REC_DOUBTFUL;
    return late ? JP_REC_LATE : JP_REC_FRESH;
}
