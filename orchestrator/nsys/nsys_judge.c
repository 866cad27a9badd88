/* nsys_judge.c - what exports of Nsight Systems show of a step's GPUs: gaps
 * between kernels, small kernels, copies that block, allocations, ranks that
 * have more to compute than others. */
#include "orchestrator/nsys/nsys_feature.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/insight.h"
#include "orchestrator/insight/limits.h"

#define US_NS 1000

/* A row is name, value, unit, text, reason. */
enum limit {
    LIMIT_EVENTS,
    LIMIT_SHORT_GAP,
    LIMIT_IDLE,
    LIMIT_SMALL_KERNEL,
    LIMIT_SMALL_SHARE,
    LIMIT_COPIES,
    LIMIT_COPY_EVENTS,
    LIMIT_ALLOCATION,
    LIMIT_ALLOCATIONS,
    LIMIT_IMBALANCE,
    N_LIMITS
};
/* clang-format off */
const struct jp_limit nsys_limits[N_LIMITS + 1] = {
    [LIMIT_EVENTS] =
        {"gpu_events_min", 1000, JP_LIMIT_IS_NUMBER,
         "gpu_idle and small_kernels where there are at least {} gaps, "
         "or kernels, of that kind",
         "a test of some kernels does not represent a run"},
    [LIMIT_SHORT_GAP] =
        {"gpu_short_gap_max", 100, JP_LIMIT_IS_US,
         "A gap between a GPU's activities is one of launching where "
         "it is at most {} long",
         "a launch takes 5 to 20 us of its thread; longer gaps are input, "
         "other ranks, or Python"},
    [LIMIT_IDLE] =
        {"gpu_idle_min", 0.2, JP_LIMIT_IS_SHARE,
         "gpu_idle where these gaps take at least {} of the GPUs' time",
         "CUDA graphs and fusion win about that back; less is not worth the "
         "work"},
    [LIMIT_SMALL_KERNEL] =
        {"gpu_small_kernel_max", 10, JP_LIMIT_IS_US,
         "A kernel is small where it takes less than {}",
         "to launch one takes about as long"},
    [LIMIT_SMALL_SHARE] =
        {"gpu_small_kernels_min", 0.2, JP_LIMIT_IS_SHARE,
         "small_kernels where these take at least {} of the kernels' "
         "time",
         "models of large matrices have some per cent of it"},
    [LIMIT_COPIES] =
        {"gpu_copies_min", 0.05, JP_LIMIT_IS_SHARE,
         "pageable_copies and sync_copies where they take at least {} "
         "of the GPUs' time",
         "input that is prefetched hides less than that"},
    [LIMIT_COPY_EVENTS] =
        {"gpu_copies", 20, JP_LIMIT_IS_NUMBER,
         "... and there are at least {} of them",
         "a model is loaded once by some copies"},
    [LIMIT_ALLOCATION] =
        {"gpu_allocation_min", 0.01, JP_LIMIT_IS_SHARE,
         "late_allocations where calls for memory in the second half "
         "of the kernels' time take at least {} of it",
         "cudaMalloc and cudaFree wait for the GPU, so that their time is "
         "lost, and a caching allocator has none by then"},
    [LIMIT_ALLOCATIONS] =
        {"gpu_allocations", 20, JP_LIMIT_IS_NUMBER,
         "... and there are at least {} of them",
         "some buffers are made late for good reasons"},
    [LIMIT_IMBALANCE] =
        {"gpu_imbalance_min", 1.3, JP_LIMIT_IS_NUMBER,
         "gpu_imbalance where a rank's kernels, without NCCL's, take "
         "at least {} times the mean of all ranks",
         "a third more work is the pace of all"},
};
/* clang-format on */

const struct jp_reason_row nsys_reasons[] = {
    {JP_REASON_OF("nsys_only", UNJUDGED),
     .situation = "only timelines of nsys were made"},
    {.key = NULL},
};

/* The reader of exports counts while it reads, so it needs the limits
 * beforehand. */
struct jp_nsys_options nsys_options(void)
{
    return (struct jp_nsys_options){
        .short_gap_ns = (uint64_t) (nsys_limits[LIMIT_SHORT_GAP].value * US_NS),
        .small_kernel_ns =
            (uint64_t) (nsys_limits[LIMIT_SMALL_KERNEL].value * US_NS)};
}

/* One figure of a rank, or the sum over ranks: part and whole in ns, and a
 * number of events. */
struct part {
    double part, whole, n;
};

/* Each of the following functions takes one figure of a rank's export. Idle:
 * short gaps between kernels, in which the GPU waits for a launch. Long gaps
 * have other reasons. */
static struct part idle_of(const struct nsys_profile *p)
{
    return (struct part){(double) p->short_gaps.ns, (double) p->span_ns,
                         (double) p->short_gaps.n};
}

static struct part small_of(const struct nsys_profile *p)
{
    return (struct part){(double) p->small_kernels.ns, (double) p->kernels.ns,
                         (double) p->small_kernels.n};
}

static struct part pageable_of(const struct nsys_profile *p)
{
    return (struct part){(double) p->pageable.ns, (double) p->span_ns,
                         (double) p->pageable.n};
}

static struct part sync_of(const struct nsys_profile *p)
{
    return (struct part){(double) p->sync_copies.ns, (double) p->span_ns,
                         (double) p->sync_copies.n};
}

/* Allocations count only in the second half of the kernels' time, because the
 * first half fills caches. */
static struct part allocation_of(const struct nsys_profile *p)
{
    return (struct part){(double) p->late_allocations.ns,
                         (double) p->span_ns / 2,
                         (double) p->late_allocations.n};
}

/* A figure over all ranks, and of the worst rank. */
struct shares {
    struct part all;
    const struct jp_nsys_rank *worst;
    double most; /* share of the worst rank */
};

/* One row for each question: the share of the GPUs' time that counts, and how
 * often it must occur. */
static const struct question {
    enum jp_finding_kind kind;
    struct part (*of)(const struct nsys_profile *p);
    enum limit least; /* least share of all */
    enum limit n;     /* least number of events */
    const char *text; /* format: %s number, %s limit if shown, %s share */
    enum limit shown; /* limit to show, us; N_LIMITS: none */
    const char *next;
} questions[] = {
    {JP_FINDING_GPU_IDLE, idle_of, LIMIT_IDLE, LIMIT_EVENTS,
     "%s gaps of less than %s between the work of GPUs add up to %s of their "
     "time: launches are too slow",
     LIMIT_SHORT_GAP,
     "capture the step in a CUDA graph, fuse kernels (torch.compile), or "
     "enlarge the batch; check the CPU core of the launching thread"},
    {JP_FINDING_SMALL_KERNELS, small_of, LIMIT_SMALL_SHARE, LIMIT_EVENTS,
     "%s kernels of less than %s take %s of the kernels' time: a launch costs "
     "as much as such a kernel",
     LIMIT_SMALL_KERNEL,
     "fuse kernels, batch them, or use multi-tensor optimisers (foreach, "
     "fused)"},
    {JP_FINDING_PAGEABLE_COPIES, pageable_of, LIMIT_COPIES, LIMIT_COPY_EVENTS,
     "%s copies between GPU and pageable memory take %s of the GPUs' time; "
     "they use a buffer of the driver and block the caller",
     N_LIMITS,
     "use pinned memory (pin_memory=True, cudaHostAlloc) and asynchronous "
     "copies"},
    {JP_FINDING_SYNC_COPIES, sync_of, LIMIT_COPIES, LIMIT_COPY_EVENTS,
     "%s synchronous copies hold their threads for %s of the GPUs' time",
     N_LIMITS,
     "use cudaMemcpyAsync from pinned memory; avoid .item(), .cpu() and "
     "printing of tensors in the loop"},
    {JP_FINDING_LATE_ALLOCATIONS, allocation_of, LIMIT_ALLOCATION,
     LIMIT_ALLOCATIONS,
     "%s allocations and releases of memory in the second half of the run "
     "take %s of its time",
     N_LIMITS,
     "keep buffers; use a caching allocator or cudaMallocAsync; look for "
     "sizes that change with each step"},
};

/* Adds up one figure over the ranks. */
static struct shares add_up(const struct jp_nsys *nsys,
                            struct part (*of)(const struct nsys_profile *p))
{
    struct shares s = {.most = -1};

    for (size_t i = 0; i < nsys->n_ranks; i++) {
        struct part p = of(&nsys->ranks[i].p);

        s.all.part += p.part;
        s.all.whole += p.whole;
        s.all.n += p.n;
        if (p.whole > 0 && p.part / p.whole > s.most) {
            s.most = p.part / p.whole;
            s.worst = &nsys->ranks[i];
        }
    }
    return s;
}

/* Appends to the finding's text. */
__attribute__((format(printf, 2, 3))) static void
add_text(struct jp_finding *f, const char *text, ...)
{
    size_t len = 0;
    va_list ap;

    while (f->text[len])
        len++;
    va_start(ap, text);
    vsnprintf(f->text + len, sizeof(f->text) - len, text, ap);
    va_end(ap);
}

/* Returns "rank 3 on n2", "n2", or words for an unknown rank. */
static const char *name_of(const struct jp_nsys_rank *r, char buf[120])
{
    if (r->rank >= 0)
        snprintf(buf, 120, "rank %lld%s%.80s", (long long) r->rank,
                 *r->host ? " on " : "", r->host);
    else
        snprintf(buf, 120, "%.100s", *r->host ? r->host : "one of the ranks");
    return buf;
}

/* Names the worst rank, if there are at least two to choose from. */
static void set_worst(struct jp_finding *f, const struct jp_nsys *nsys,
                      const struct jp_nsys_rank *worst, const char *how)
{
    char name[120];

    if (!worst || nsys->n_ranks - nsys->n_bad < 2)
        return;
    f->world_rank = worst->rank;
    snprintf(f->host, sizeof(f->host), "%s", worst->host);
    add_text(f, "; most on %s: %s", name_of(worst, name), how);
}

/* Answers one question. Returns 0 or -1. */
static int ask_question(const struct jp_nsys *nsys, const struct question *q,
                        struct jp_findings *findings)
{
    struct shares s = add_up(nsys, q->of);
    double share = s.all.whole > 0 ? s.all.part / s.all.whole : 0;
    struct jp_finding *f;

    /* Both limits: a share of few events is no habit, and many events of no
     * share cost nothing. */
    if (s.all.n < nsys_limits[q->n].value ||
        share < nsys_limits[q->least].value)
        return 0;
    f = findings_add(findings, q->kind);
    if (!f)
        return -1;
    f->share = share;
    f->evidence = (uint64_t) s.all.n;
    if (q->shown < N_LIMITS)
        add_text(f, q->text, FIG_COUNT((uint64_t) s.all.n),
                 FIG_US(nsys_limits[q->shown].value), FIG_SHARE(share));
    else
        add_text(f, q->text, FIG_COUNT((uint64_t) s.all.n), FIG_SHARE(share));
    set_worst(f, nsys, s.worst, FIG_SHARE(s.most));
    snprintf(f->next, sizeof(f->next), "%s", q->next);
    return 0;
}

/* Returns the time of a rank's own kernels. NCCL's kernels wait for other
 * ranks, and would make the fastest rank look busiest. */
static double own_ns(const struct nsys_profile *p)
{
    return (double) p->kernels.ns - (double) p->nccl_kernels.ns;
}

/* Adds a finding if a rank's GPU has more to compute than the mean of all.
 * Returns 0 or -1. */
static int ask_balance(const struct jp_nsys *nsys, struct jp_findings *findings)
{
    const struct jp_nsys_rank *most = NULL, *least = NULL;
    double sum = 0, mean;
    struct jp_finding *f;
    size_t n = 0;

    for (size_t i = 0; i < nsys->n_ranks; i++) {
        const struct jp_nsys_rank *r = &nsys->ranks[i];

        if (r->bad || !r->p.kernels.n)
            continue;
        sum += own_ns(&r->p);
        n++;
        most = !most || own_ns(&r->p) > own_ns(&most->p) ? r : most;
        least = !least || own_ns(&r->p) < own_ns(&least->p) ? r : least;
    }
    mean = n ? sum / (double) n : 0;
    if (n < 2 || !(mean > 0) ||
        own_ns(&most->p) < nsys_limits[LIMIT_IMBALANCE].value * mean)
        return 0;
    f = findings_add(findings, JP_FINDING_GPU_IMBALANCE);
    if (!f)
        return -1;
    f->world_rank = most->rank;
    snprintf(f->host, sizeof(f->host), "%s", most->host);
    f->share = 1 - mean / own_ns(&most->p);
    f->evidence = n;
    add_text(f,
             "%s computes for %s, %.2f times the mean of %s ranks; the least "
             "computes for %s (kernels without NCCL's)",
             name_of(most, (char[120]){0}), FIG_US(own_ns(&most->p) / US_NS),
             own_ns(&most->p) / mean, FIG_COUNT(n),
             FIG_US(own_ns(&least->p) / US_NS));
    snprintf(f->next, sizeof(f->next),
             "divide the work evenly: layers of a stage, lengths of sequences, "
             "experts");
    return 0;
}

/* Tries all questions and answers GPU_TIME. Findings are sorted again, because
 * the card shows the first one. Without memory some are missing. */
static void ask_all(const struct jp_nsys *nsys, struct jp_insight *x)
{
    size_t n = sizeof(questions) / sizeof(*questions);
    size_t before = x->findings.n;
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = ask_question(nsys, &questions[i], &x->findings);
    if (rc == 0)
        ask_balance(nsys, &x->findings);
    n = x->findings.n - before;
    if (n)
        hypothesis_set(&x->hypotheses, JP_HYPOTHESIS_GPU_TIME,
                       JP_HYPOTHESIS_FOUND, nsys_limits[LIMIT_COPIES].value,
                       "%s finding%s", FIG_COUNT(n), plural(n));
    else
        hypothesis_set(&x->hypotheses, JP_HYPOTHESIS_GPU_TIME,
                       JP_HYPOTHESIS_NOT_FOUND, nsys_limits[LIMIT_COPIES].value,
                       NULL);
    findings_sort(&x->findings);
}

/* Returns true if an export was read. nsys may be NULL. */
static bool has_export(const struct jp_nsys *nsys)
{
    return nsys && nsys->n_ranks > nsys->n_bad;
}

/* Without a kernel there is nothing to judge: an export may have CPU data only.
 */
void nsys_judge(const void *data, struct jp_result *result,
                struct jp_insight *insight)
{
    const struct jp_nsys *nsys = data;
    uint64_t kernels = 0;

    (void) result;
    for (size_t i = 0; nsys && i < nsys->n_ranks; i++)
        kernels += nsys->ranks[i].p.kernels.n;
    if (kernels) {
        ask_all(nsys, insight);
        return;
    }
    hypothesis_set(&insight->hypotheses, JP_HYPOTHESIS_GPU_TIME,
                   JP_HYPOTHESIS_NOT_JUDGED, NAN, "%s",
                   has_export(nsys) ? "no kernel in the exports of nsys"
                                    : "no export of nsys");
    insight->hypotheses.of[JP_HYPOTHESIS_GPU_TIME].todo =
        "run ranks under nsys and report their exports: jobprof nsys --help";
}

/* Replaces a verdict about missing records of NCCL, which were not asked for:
 * by UNJUDGED, or by FAILED if a task died by itself. */
void nsys_judge_alone(const void *data, const struct verdict_input *in,
                      bool alone, struct jp_verdict *verdict)
{
    const struct jp_nsys *nsys = data;
    const struct jp_crash *crash =
        in->insight && in->insight->crash.cause ? &in->insight->crash : NULL;
    char text[JP_NSYS_TEXT];
    struct jp_sentence s;

    if (!alone || !has_export(nsys))
        return;
    sentence_init(&s, verdict->text, sizeof(verdict->text));
    if (crash)
        sentence_add(&s, "%s", crash->text);
    sentence_add(&s, "timelines of nsys only: %s", nsys_text(nsys, text));
    verdict->word = crash && crash_is_fault(crash) ? JP_VERDICT_FAILED
                                                   : JP_VERDICT_UNJUDGED;
    verdict_set_reason(verdict, &nsys_reasons[0]);
}
