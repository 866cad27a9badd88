/* sim_kernels.c - KernelCh events: the progress thread watches the GPU's
 * counters.
 *
 * Four parts: plans and their reuse; the host, which counts works and keeps a
 * base for each; the GPU, which counts on its own and stamps times
 * (sim_stamps.h); and the polls, which compare both and raise the events. Host
 * and GPU may disagree, as in NCCL; --drift=off switches that off. */
#include "contrib/ncclsim/sim_kernels.h"

#include <stdio.h>
#include <stdlib.h>

#include "contrib/ncclsim/sim_crash.h"
#include "contrib/ncclsim/sim_plugin.h"
#include "contrib/ncclsim/sim_shim.h"
#include "contrib/ncclsim/sim_version.h"

/* ------------------------------------------------------------- the plans -- */

struct jp_sim_plan *sim_kernels_plan(struct jp_sim_kernels *ks, int n)
{
    struct jp_sim_plan *plan;

    /* takes the whole list that the progress thread has returned */
    if (!ks->spare)
        ks->spare = __atomic_exchange_n(&ks->returned, NULL, __ATOMIC_ACQUIRE);
    plan = ks->spare;
    if (plan)
        ks->spare = plan->next;
    else
        plan = calloc(1, sizeof(*plan));
    if (!plan)
        abort();
    plan->kernels = ks;
    sim_plan_reserve(plan, n);
    return plan;
}

/* Returns the plan for reuse once it has run and none of its kernels is
 * watched. Called by the progress thread; the list is a lock-free stack with
 * one consumer, who takes all of it. */
static void release_if_done(struct jp_sim_plan *plan)
{
    struct jp_sim_kernels *ks = plan->kernels;
    int i;

    if (!plan->is_over || plan->n_watched > 0)
        return;
    for (i = 0; i < plan->n; i++) {
        if (plan->works[i].proxies)
            free(plan->works[i].proxies);
    }
    plan->next = __atomic_load_n(&ks->returned, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&ks->returned, &plan->next, plan, 0,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

void sim_kernels_over(struct jp_sim_plan *plan)
{
    plan->is_over = 1;
    release_if_done(plan);
}

/* Ends the watching of one kernel. */
static void drop_kernel(struct jp_sim_plan *plan)
{
    plan->n_watched--;
    release_if_done(plan);
}

/* Frees a list of plans. */
static void free_plans(struct jp_sim_plan *plan)
{
    while (plan) {
        struct jp_sim_plan *next = plan->next;

        sim_plan_free(plan);
        plan = next;
    }
}

/* -------------------------------------------------------------- the host -- */

/* Whether the host counts the work. The GPU counts each work that it runs. The
 * differences between releases and modes are NCCL's. */
static int host_counts(const struct jp_sim_plan *plan,
                       const struct jp_sim_work *work)
{
    int asked = work->mask & JP_NCCL_KERNEL_CH;

    /* both always agree */
    if (!plan->options->drift)
        return plan->mode != SIM_CAPTURE;
    if (sim_nccl()->counts_as_gpu)
        return asked && plan->mode != SIM_CAPTURE &&
               work->op.way != SIM_ALLGATHERV;
    /* a copy to oneself, or AllGatherV */
    if (sim_plan_is_self(plan, work) || work->op.way == SIM_ALLGATHERV)
        return 0;
    if (!asked)
        return sim_nccl()->counts_unasked && plan->mode != SIM_REPLAY;
    if (plan->mode == SIM_EAGER)
        return 1;
    if (sim_nccl()->adds_at_replay)
        return plan->mode == SIM_CAPTURE;
    return plan->mode == SIM_REPLAY && plan->persistent;
}

/* Returns the base of a work on a channel: the host's counter when the work was
 * enqueued. A work of a graph has its base from the capture. */
static uint64_t base_of(const struct jp_sim_plan *plan,
                        const struct jp_sim_work *work, int channel, int counts)
{
    uint64_t *host = &plan->kernels->stamps.channels[channel].host;
    uint64_t base;

    *host += (uint64_t) counts;
    if (!work->bases)
        return *host;
    if (counts || !plan->options->drift)
        work->bases[channel] = *host;
    base = work->bases[channel];
    if (sim_nccl()->adds_at_replay && plan->mode == SIM_REPLAY &&
        plan->options->drift)
        /* 2.26.2 adds the counter at each replay */
        work->bases[channel] += *host;
    return base;
}

/* Watches a kernel on its connection, behind those that are watched there
 * already. */
static void watch(struct jp_sim_plan *plan, const struct jp_sim_work *work,
                  int channel, uint64_t base)
{
    struct jp_sim_kernels *ks = plan->kernels;
    int dir = work->op.func == JP_NCCL_RECV;
    struct jp_sim_kernel *k = &plan->watched[plan->n_kernels++];

    *k = (struct jp_sim_kernel){
        .plan = plan, .work = work, .base = base, .channel = (uint8_t) channel};
    if (ks->busy[dir] >> channel & 1)
        ks->connections[dir][channel].tail->next = k;
    else
        ks->connections[dir][channel].head = k;
    ks->connections[dir][channel].tail = k;
    ks->busy[dir] |= 1ULL << channel;
    plan->n_watched++;
}

/* Whether NCCL would use the protocol LL: as long as the message fits in its
 * buffers, of which each channel has one. */
static int is_ll(const struct jp_sim_op *op)
{
    return op->bytes <= 16384 * (uint64_t) op->n_channels;
}

/* Ends the program if NCCL would. Up to 2.27 a connection takes the P2P
 * operations of a batch together and refuses those of another protocol; the
 * communicator then fails, and the program with it. */
static void check_protocols(const struct jp_sim_plan *plan)
{
    int i, k;

    for (i = 1; i < plan->n; i++) {
        const struct jp_sim_work *w = &plan->works[i];

        for (k = i - 1; k >= 0 && plan->works[k].batch == w->batch; k--) {
            const struct jp_sim_work *before = &plan->works[k];

            if (!sim_plan_is_p2p(&w->op) || w->op.func != before->op.func ||
                !(w->mask & before->mask & JP_NCCL_KERNEL_CH) ||
                sim_plan_is_self(plan, w) || sim_plan_is_self(plan, before) ||
                is_ll(&w->op) == is_ll(&before->op))
                continue;
            fprintf(stderr,
                    "ncclsim: rank %d: Proxy append mismatch: "
                    "internal error, as NCCL up to 2.27\n",
                    plan->rank);
            sim_crash_save();
            exit(1);
        }
    }
}

void sim_kernels_append(struct jp_sim_plan *plan)
{
    int i, c;

    if (sim_nccl()->shared_batches)
        check_protocols(plan);
    for (i = 0; i < plan->n; i++) {
        const struct jp_sim_work *w = &plan->works[i];
        /* --fault short-channels */
        int n_told = w->op.n_channels - w->op.n_missing;
        int counts = w->opens && host_counts(plan, w);

        /* counted, but not watched */
        if (!(w->mask & JP_NCCL_KERNEL_CH) ||
            (sim_plan_is_self(plan, w) && !sim_nccl()->counts_as_gpu) ||
            w->op.way == SIM_ALLGATHERV || plan->mode == SIM_CAPTURE)
            n_told = 0;
        for (c = 0; c < w->op.n_channels; c++) {
            uint64_t base = base_of(plan, w, w->op.channel + c, counts);

            if (c < n_told)
                watch(plan, w, w->op.channel + c, base);
        }
    }
}

/* --------------------------------------------------------------- the GPU -- */

/* Channels start one after the other and end the other way round, so that the
 * first one spans the operation. */
enum { START_STEP_NS = 40, END_STEP_NS = 30 };

/* Whether the GPU takes no time of the work. AllGatherV's works are counted,
 * but not stamped. */
static int is_silent(const struct jp_sim_work *w)
{
    return !(w->mask & JP_NCCL_KERNEL_CH) || w->op.way == SIM_ALLGATHERV;
}

void sim_kernels_run(const struct jp_sim_plan *plan, int batch,
                     enum jp_sim_phase phase, int64_t real_ns)
{
    int64_t start_ns, end_ns;
    int end, first = sim_plan_batch(plan, batch, &end, &start_ns, &end_ns);
    int most = 0;
    int c, i;

    for (i = first; i < end; i++) {
        const struct jp_sim_op *op = &plan->works[i].op;

        if (op->channel + op->n_channels > most)
            most = op->channel + op->n_channels;
    }
    /* on each channel, the works that use it */
    for (c = 0; c < most; c++) {
        int64_t ns = phase == SIM_STARTED ? start_ns + START_STEP_NS * c
                                          : end_ns - END_STEP_NS * c;
        uint64_t silent = 0;
        int n = 0;

        for (i = first; i < end; i++) {
            const struct jp_sim_work *w = &plan->works[i];

            if (!w->opens || c < w->op.channel ||
                c >= w->op.channel + w->op.n_channels)
                continue;
            silent |= (uint64_t) is_silent(w) << n;
            n++;
        }
        if (n > 0)
            sim_stamps_put(&plan->kernels->stamps, c, phase, n, silent,
                           real_ns ? plan->gpu_offset_ns + (uint64_t) real_ns
                                   : plan->gpu_base_ns + (uint64_t) ns);
    }
}

/* ------------------------------------------------------------- the polls -- */

/* Whether the start of this kernel is lost (--lost-starts). NCCL looks for the
 * start, then for the end. If both happen in between, the start is never
 * reported, and the handle is the one that was used last. */
static int is_lost(struct jp_sim_kernels *ks, const struct jp_sim_kernel *k)
{
    int each = k->plan->options->lost_starts;

    return each > 0 && ++ks->n_started % each == 0;
}

/* Raises the start of a kernel. */
static void tell_start(struct jp_sim_kernels *ks, struct jp_sim_kernel *k,
                       uint64_t ns)
{
    struct jp_nccl_plugin_v6 *plugin = sim_plugin_get();
    struct jp_nccl_descr_v6 descr = {.type = JP_NCCL_KERNEL_CH,
                                     .parent = k->work->task};
    void **last =
        &ks->connections[k->work->op.func == JP_NCCL_RECV][k->channel].last;

    if (is_lost(ks, k)) {
        k->handle = *last;
        return;
    }
    k->start_ns = ns;
    descr.kernel_ch.channel = k->channel;
    descr.kernel_ch.gpu_ns = ns;
    if (plugin)
        plugin->start(k->plan->context, &k->handle, &descr);
    *last = k->handle;
}

/* Raises the phases of a symmetric kernel, as NCCL does when it is over: the
 * wait for the last rank, the work, and the meeting at the end. */
static void tell_phases(const struct jp_sim_kernel *k, uint64_t end_ns)
{
    enum { BARRIER_NS = 500 };
    const struct jp_sim_op *op = &k->work->op;
    uint64_t took_ns = (uint64_t) (op->end_ns - op->all_ns);
    uint64_t open_ns = end_ns > took_ns ? end_ns - took_ns : 0;

    if (!op->symmetric || !(k->work->mask & JP_NCCL_KERNEL_PHASE) ||
        took_ns <= BARRIER_NS || end_ns - BARRIER_NS <= k->start_ns)
        return;
    if (open_ns < k->start_ns) /* the last rank does not wait */
        open_ns = k->start_ns;
    sim_shim_phases(
        k->plan->context, k->handle, k->channel,
        (const uint64_t[]){k->start_ns, open_ns, end_ns - BARRIER_NS, end_ns});
}

/* Raises the end of a kernel. */
static void tell_end(struct jp_sim_kernel *k, uint64_t ns)
{
    struct jp_nccl_plugin_v6 *plugin = sim_plugin_get();
    union jp_nccl_args_v4 args = {.kernel_ch.gpu_ns = ns};

    if (!plugin || !k->handle)
        return;
    tell_phases(k, ns);
    plugin->record(k->handle, JP_NCCL_KERNEL_CH_STOP, &args);
    plugin->stop(k->handle);
}

/* Looks at one kernel. Returns 1 if an event was raised. */
static int poll_one(struct jp_sim_kernels *ks, struct jp_sim_kernel *k)
{
    uint64_t ns;

    if (k->is_done)
        return 0;
    if (!sim_stamps_read(&ks->stamps, k->channel,
                         k->is_started ? SIM_COMPLETED : SIM_STARTED, k->base,
                         &ns))
        return 0;
    if (k->is_started) {
        tell_end(k, ns);
        k->is_done = 1;
    } else {
        tell_start(ks, k, ns);
        k->is_started = 1;
    }
    return 1;
}

/* Whether a kernel is watched together with the head of its connection: up to
 * 2.27 those of the head's batch are, later only the head. */
static inline int is_shared(const struct jp_sim_kernel *head,
                            const struct jp_sim_kernel *k)
{
    return k == head || (sim_nccl()->shared_batches && k->plan == head->plan &&
                         k->work->batch == head->work->batch &&
                         sim_plan_is_p2p(&k->work->op));
}

/* Removes the head, and those watched with it, if all of them have ended. This
 * may free the plan. */
static void pop(struct jp_sim_kernels *ks, int dir, int c)
{
    struct jp_sim_kernel *head = ks->connections[dir][c].head;
    struct jp_sim_kernel *k;

    for (k = head; k && is_shared(head, k); k = k->next) {
        if (!k->is_done)
            return;
    }
    ks->connections[dir][c].head = k;
    if (!k)
        ks->busy[dir] &= ~(1ULL << c);
    while (head != k) {
        struct jp_sim_kernel *next = head->next;

        drop_kernel(head->plan);
        head = next;
    }
}

/* Looks at all kernels of a connection, for the start and the end of each, and
 * removes those that have ended, in whatever order they do. The thread of 2.31
 * does this, so one that lags reads more than the ring has at once. */
static int poll_all(struct jp_sim_kernels *ks, int dir, int c)
{
    struct jp_sim_kernel *k, *next, *last = NULL;
    int told = 0;

    for (k = ks->connections[dir][c].head; k; k = next) {
        next = k->next; /* k may be freed with its plan */
        told += poll_one(ks, k);
        if (k->is_started)
            told += poll_one(ks, k);
        if (!k->is_done) {
            last = k;
            continue;
        }
        if (last)
            last->next = next;
        else
            ks->connections[dir][c].head = next;
        drop_kernel(k->plan);
    }
    ks->connections[dir][c].tail = last;
    if (!last)
        ks->busy[dir] &= ~(1ULL << c);
    return told;
}

/* Looks at all kernels that are watched on a connection. Returns the number of
 * events. */
static int poll_connection(struct jp_sim_kernels *ks, int dir, int c)
{
    struct jp_sim_kernel *head = ks->connections[dir][c].head;
    struct jp_sim_kernel *k;
    int told = 0;

    if (sim_nccl()->passes_all)
        return poll_all(ks, dir, c);
    for (k = head; k && is_shared(head, k); k = k->next)
        told += poll_one(ks, k);
    if (told)
        pop(ks, dir, c);
    return told;
}

/* Looks at all connections once. Returns the number of events. */
static int pass(struct jp_sim_kernels *ks)
{
    int told = 0;
    int dir;

    for (dir = 0; dir < 2; dir++) {
        uint64_t left = ks->busy[dir];

        /* each set bit, the lowest first */
        for (; left; left &= left - 1)
            told += poll_connection(ks, dir, __builtin_ctzll(left));
    }
    return told;
}

void sim_kernels_poll(struct jp_sim_kernels *ks)
{
    while (pass(ks) > 0)
        ;
}

/* Each operation takes two passes, so three passes per plan catch up in the
 * end, while the GPU goes on. From 2.31 on one pass does. */
void sim_kernels_poll_late(struct jp_sim_kernels *ks, int lag)
{
    int i;

    if (++ks->backlog >= lag)
        ks->is_catching_up = 1;
    for (i = 0; i < 3 && ks->is_catching_up; i++)
        pass(ks);
    if (ks->is_catching_up && !(ks->busy[0] | ks->busy[1])) {
        ks->is_catching_up = 0;
        ks->backlog = 0;
    }
}

int sim_kernels_fini(struct jp_sim_kernels *ks)
{
    int n = 0;
    int dir, c;

    sim_kernels_poll(ks);
    for (dir = 0; dir < 2; dir++) {
        for (c = 0; c < JP_NCCL_MAX_CHANNELS; c++) {
            struct jp_sim_kernel *k = ks->connections[dir][c].head;

            for (; k; n++) {
                struct jp_sim_kernel *next = k->next;

                /* a plan that hangs never gets there by itself */
                k->plan->is_over = 1;
                drop_kernel(k->plan);
                k = next;
            }
        }
    }
    free_plans(ks->spare);
    free_plans(ks->returned);
    sim_stamps_fini(&ks->stamps);
    *ks = (struct jp_sim_kernels){0};
    return n;
}
