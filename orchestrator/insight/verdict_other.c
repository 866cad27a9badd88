/* verdict_other.c - verdicts from data other than records of NCCL: timelines of
 * GPUs, utilisation, topology, and the features of the registry.
 *
 * verdict_make calls verdict_decide and then the functions of this file. Those
 * named *_alone replace the verdict of a step in which nothing else was asked
 * for; *_add adds to it and may make it worse.
 */
#include "orchestrator/insight/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/limits.h"

#define US_NS 1000

/* The reader of exports counts while it reads, so it needs the limits
 * beforehand. */
struct jp_nsys_options gputime_options(void)
{
    return (struct jp_nsys_options){
        .short_gap_ns = (uint64_t) (limits_get(JP_LIMIT_GPU_SHORT_GAP) * US_NS),
        .small_kernel_ns =
            (uint64_t) (limits_get(JP_LIMIT_GPU_SMALL_KERNEL) * US_NS)};
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
    enum jp_limit_id least; /* least share of all */
    enum jp_limit_id n;     /* least number of events */
    const char *text;       /* format: %s number, %s limit if shown, %s share */
    enum jp_limit_id shown; /* limit to show, us; JP_N_LIMITS: none */
    const char *next;
} questions[] = {
    {JP_FINDING_GPU_IDLE, idle_of, JP_LIMIT_GPU_IDLE, JP_LIMIT_GPU_EVENTS,
     "%s gaps of less than %s between the work of GPUs add up to %s of their "
     "time: launches are too slow",
     JP_LIMIT_GPU_SHORT_GAP,
     "capture the step in a CUDA graph, fuse kernels (torch.compile), or "
     "enlarge the batch; check the CPU core of the launching thread"},
    {JP_FINDING_SMALL_KERNELS, small_of, JP_LIMIT_GPU_SMALL_SHARE,
     JP_LIMIT_GPU_EVENTS,
     "%s kernels of less than %s take %s of the kernels' time: a launch costs "
     "as much as such a kernel",
     JP_LIMIT_GPU_SMALL_KERNEL,
     "fuse kernels, batch them, or use multi-tensor optimisers (foreach, "
     "fused)"},
    {JP_FINDING_PAGEABLE_COPIES, pageable_of, JP_LIMIT_GPU_COPIES,
     JP_LIMIT_GPU_COPY_EVENTS,
     "%s copies between GPU and pageable memory take %s of the GPUs' time; "
     "they use a buffer of the driver and block the caller",
     JP_N_LIMITS,
     "use pinned memory (pin_memory=True, cudaHostAlloc) and asynchronous "
     "copies"},
    {JP_FINDING_SYNC_COPIES, sync_of, JP_LIMIT_GPU_COPIES,
     JP_LIMIT_GPU_COPY_EVENTS,
     "%s synchronous copies hold their threads for %s of the GPUs' time",
     JP_N_LIMITS,
     "use cudaMemcpyAsync from pinned memory; avoid .item(), .cpu() and "
     "printing of tensors in the loop"},
    {JP_FINDING_LATE_ALLOCATIONS, allocation_of, JP_LIMIT_GPU_ALLOCATION,
     JP_LIMIT_GPU_ALLOCATIONS,
     "%s allocations and releases of memory in the second half of the run "
     "take %s of its time",
     JP_N_LIMITS,
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
static int ask(const struct jp_nsys *nsys, const struct question *q,
               struct jp_findings *findings)
{
    struct shares s = add_up(nsys, q->of);
    double share = s.all.whole > 0 ? s.all.part / s.all.whole : 0;
    struct jp_finding *f;

    /* Both limits: a share of few events is no habit, and many events of no
     * share cost nothing. */
    if (s.all.n < limits_get(q->n) || share < limits_get(q->least))
        return 0;
    f = findings_add(findings, q->kind);
    if (!f)
        return -1;
    f->share = share;
    f->evidence = (uint64_t) s.all.n;
    if (q->shown < JP_N_LIMITS)
        add_text(f, q->text, FIG_COUNT((uint64_t) s.all.n),
                 FIG_US(limits_get(q->shown)), FIG_SHARE(share));
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
        own_ns(&most->p) < limits_get(JP_LIMIT_GPU_IMBALANCE) * mean)
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
static void judge(const struct jp_nsys *nsys, struct jp_insight *x)
{
    size_t n = sizeof(questions) / sizeof(*questions);
    size_t before = x->findings.n;
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = ask(nsys, &questions[i], &x->findings);
    if (rc == 0)
        ask_balance(nsys, &x->findings);
    n = x->findings.n - before;
    if (n)
        hypothesis_set(&x->hypotheses, JP_HYPOTHESIS_GPU_TIME,
                       JP_HYPOTHESIS_FOUND, limits_get(JP_LIMIT_GPU_COPIES),
                       "%s finding%s", FIG_COUNT(n), plural(n));
    else
        hypothesis_set(&x->hypotheses, JP_HYPOTHESIS_GPU_TIME,
                       JP_HYPOTHESIS_NOT_FOUND, limits_get(JP_LIMIT_GPU_COPIES),
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
void gputime_judge(const struct jp_nsys *nsys, struct jp_insight *x)
{
    uint64_t kernels = 0;

    for (size_t i = 0; nsys && i < nsys->n_ranks; i++)
        kernels += nsys->ranks[i].p.kernels.n;
    if (kernels)
        judge(nsys, x);
    else
        hypothesis_set(&x->hypotheses, JP_HYPOTHESIS_GPU_TIME,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN, "%s",
                       has_export(nsys) ? "no kernel in the exports of nsys"
                                        : "no export of nsys");
}

void verdict_set_reason(struct jp_verdict *verdict, enum jp_reason reason)
{
    verdict->why = (struct jp_reasons){.n = 0};
    if (reasons_table[reason].word == verdict->word)
        reasons_add(&verdict->why, reason);
    reasons_checks(&verdict->why, verdict->checks);
}

/* Replaces a verdict about missing records of NCCL, which were not asked for:
 * by UNJUDGED, or by FAILED if a task died by itself. */
static void gputime_verdict_alone(const struct jp_nsys *nsys,
                                  const struct jp_insight *insight,
                                  struct jp_verdict *verdict)
{
    const struct jp_crash *crash =
        insight && insight->crash.cause ? &insight->crash : NULL;
    char text[JP_NSYS_TEXT];
    struct jp_sentence s;

    sentence_init(&s, verdict->text, sizeof(verdict->text));
    if (crash)
        sentence_add(&s, "%s", crash->text);
    sentence_add(&s, "timelines of nsys only: %s", nsys_text(nsys, text));
    verdict->word = crash && crash_is_fault(crash) ? JP_VERDICT_FAILED
                                                   : JP_VERDICT_UNJUDGED;
    verdict_set_reason(verdict, JP_REASON_NSYS_ONLY);
}

/* Whether traces of kernels are all that there is, and none of their
 * collectives could be joined. */
static bool has_only_traces(const struct verdict_input *in)
{
    const struct jp_result *r = in->result;

    return in->analysed && in->insight && r && r->traced.n &&
           !r->quality.records && !r->quality.recordings &&
           r->quality.files == r->quality.kernel_traces;
}

/* Replaces a verdict about missing records: the traces have kernels of NCCL,
 * but do not say which belong together. */
static void traces_verdict_alone(const struct traced_list *list,
                                 const struct jp_insight *insight,
                                 struct jp_verdict *verdict)
{
    uint64_t kernels = 0;
    char text[2 * JP_OWNWORK_TEXT];
    struct jp_sentence s;

    for (size_t i = 0; i < list->n; i++)
        kernels += list->at[i].comm_kernels;
    sentence_init(&s, verdict->text, sizeof(verdict->text));
    if (kernels)
        sentence_add(&s, "no collective of the traces could be joined with "
                         "those of other ranks");
    else
        sentence_add(&s, "the traces hold no kernel of NCCL or RCCL");
    sentence_add(&s, "%s", ownwork_summary(&insight->ownwork, text));
    verdict->word = JP_VERDICT_UNJUDGED;
    verdict_set_reason(verdict, JP_REASON_TRACES_ONLY);
}

/* --- nothing that a reader takes ----------------------------------------- */

/* Says what the input holds in place of data. */
static void say_found(const char *found, struct jp_verdict *verdict)
{
    struct jp_sentence s;

    if (verdict->word != JP_VERDICT_NODATA || !verdict->why.n ||
        verdict->why.of[0] != JP_REASON_NO_INPUT)
        return;
    sentence_init(&s, verdict->text, sizeof(verdict->text));
    sentence_add(&s, "the input holds nothing that can be read: %.200s",
                 *found ? found : "no file");
}

/* --- utilisation and clocks alone ----------------------------------------- */

/* Returns the largest number of samples of any series. */
static uint64_t samples_of(const struct jp_util *util)
{
    uint64_t most = 0;

    for (size_t i = 0; util && i < util->n_rows; i++)
        if (util->rows[i].samples > most)
            most = util->rows[i].samples;
    return most;
}

/* Replaces the verdict of a step with only what the node agent does by itself,
 * samples of utilisation and probes of clocks: UNJUDGED with samples or probes,
 * NODATA without, FAILED if a task died by itself. util NULL: no samples were
 * asked for. probed: nodes with probes of clocks; -1: none were asked for.
 * insight may be NULL. */
static void util_verdict_alone(const struct jp_util *util, bool sampled,
                               int probed, const struct jp_insight *insight,
                               struct jp_verdict *verdict)
{
    const struct jp_crash *crash =
        insight && insight->crash.cause ? &insight->crash : NULL;
    struct jp_sentence s;

    sentence_init(&s, verdict->text, sizeof(verdict->text));
    if (crash)
        sentence_add(&s, "%s", crash->text);
    if (samples_of(util) || probed > 0) {
        /* Never OK: without records of NCCL no late ranks were looked for. */
        verdict->word = JP_VERDICT_UNJUDGED;
        sentence_add(&s, "%s%s%s only: NCCL was not profiled",
                     samples_of(util) ? "utilisation" : "",
                     samples_of(util) && probed > 0 ? " and " : "",
                     probed > 0 ? "clocks" : "");
        if (samples_of(util) && (util->bad_files || util->cut_files))
            sentence_add(&s, "%s of %s files of samples are not whole",
                         FIG_COUNT(util->bad_files + util->cut_files),
                         FIG_COUNT(util->files));
    } else {
        verdict->word = JP_VERDICT_NODATA;
        sentence_add(&s, "no node left %s%s%s%s%s",
                     sampled ? "samples of utilisation" : "",
                     sampled && probed == 0 ? " or " : "",
                     probed == 0 ? "probes of clocks" : "",
                     util && *util->trouble ? ": " : "",
                     util ? util->trouble : "");
    }
    verdict_set_reason(verdict, verdict->word == JP_VERDICT_NODATA
                                    ? JP_REASON_NO_SAMPLES
                                    : JP_REASON_UTIL_ONLY);
    if (crash && crash_is_fault(crash)) {
        verdict->word = JP_VERDICT_FAILED;
        verdict->why.n = 0;
        reasons_checks(&verdict->why, verdict->checks);
    }
}

/* --- topology ------------------------------------------------------------- */

/* Returns the first warning of a kind; NULL: none. */
static const struct jp_step_warning *find(const struct jp_step_labels *labels,
                                          enum jp_warning_kind kind)
{
    for (size_t i = 0; i < labels->n_warnings; i++)
        if (labels->warnings[i].kind == kind)
            return &labels->warnings[i];
    return NULL;
}

/* Returns a warning that proves a fault; NULL: none. A port that is down proves
 * one only if nodes are unlike each other: a site may leave a port unplugged on
 * all of them. */
static const struct jp_step_warning *
find_fault(const struct jp_step_labels *labels)
{
    const struct jp_step_warning *dead = find(labels, JP_WARN_DEAD_NVLINK);

    if (dead || !find(labels, JP_WARN_ODD_NODE))
        return dead;
    return find(labels, JP_WARN_HCA_DOWN);
}

/* Answers the question of the topology. labels NULL: no node left any. */
static void answer_topology(const struct jp_step_labels *labels,
                            const struct jp_step_warning *fault,
                            struct jp_hypotheses *h)
{
    if (fault)
        hypothesis_set(h, JP_HYPOTHESIS_TOPOLOGY, JP_HYPOTHESIS_FOUND, 1, "%s",
                       fault->text);
    else if (labels)
        hypothesis_set(h, JP_HYPOTHESIS_TOPOLOGY, JP_HYPOTHESIS_NOT_FOUND, 1,
                       NULL);
    else
        hypothesis_set(h, JP_HYPOTHESIS_TOPOLOGY, JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "no node left a topology");
}

void topo_verdict_add(const struct jp_step_labels *labels,
                      struct jp_hypotheses *hypotheses,
                      struct jp_verdict *verdict)
{
    const struct jp_step_warning *fault = labels ? find_fault(labels) : NULL;
    char rest[sizeof(verdict->text)];
    struct jp_sentence s;

    answer_topology(labels, fault, hypotheses);
    /* A worse verdict has its own sentence; the fault is a finding beside it.
     */
    if (!fault || verdict->word < JP_VERDICT_UNJUDGED)
        return;
    memcpy(rest, verdict->text, sizeof(rest));
    sentence_init(&s, verdict->text, sizeof(verdict->text));
    sentence_add(&s, "%s", fault->text);
    sentence_add(&s, "%s", rest);
    verdict->word = JP_VERDICT_DEGRADED;
    verdict->why = (struct jp_reasons){.n = 0};
    reasons_checks(&verdict->why, verdict->checks);
}

/* --- all kinds of data ---------------------------------------------------- */

/* Whether there is no NCCL log, and none was asked for. */
static bool is_without_nccl(const struct verdict_input *in)
{
    const char *mode = in->conf ? in->conf->nccl_mode : NULL;

    return (!in->result || !in->result->quality.files) &&
           (!mode || !*mode || !strcmp(mode, "off"));
}

/* Whether neither NCCL nor a feature of the registry was profiled. False if the
 * time limit has ended before this was known. */
static bool is_unprofiled(const struct verdict_input *in)
{
    return is_without_nccl(in) && !feature_known(in->features) &&
           !feature_asked(in->conf) && in->analysed;
}

/* Returns the number of nodes with probes of clocks; -1: the step has none. */
static int count_probed(const struct verdict_input *in)
{
    int n = 0;

    if (!in->conf->clock_cadence_us)
        return -1;
    for (size_t i = 0; in->nodes && i < in->nodes->n_nodes; i++) {
        char *path =
            text_format("nodes/%s/clock.jsonl", in->nodes->nodes[i].name);

        n += path && stepdir_has(in->step_dir, path);
        free(path);
    }
    return n;
}

/* Adds the data of features. beside: of those about the operations. */
static void judge_features(const struct verdict_input *in, bool beside,
                           struct jp_verdict *verdict)
{
    for (size_t i = 0; in->features && feature_registry[i]; i++)
        if (in->features->data[i] && feature_registry[i]->judge &&
            (feature_registry[i]->beside != NULL) == beside)
            feature_registry[i]->judge(in->features->data[i],
                                       is_without_nccl(in), verdict);
}

void verdict_make(const struct verdict_input *in, struct jp_verdict *verdict)
{
    const struct jp_jobconf *conf = in->conf;

    verdict_decide(conf, in->nodes, in->result, in->insight, in->analysed,
                   verdict);
    topo_verdict_add(in->labels, in->hypotheses, verdict);
    judge_features(in, false, verdict);
    /* only the agents' modules ran */
    if (conf && (conf->policy.util_period_ms || conf->clock_cadence_us) &&
        is_unprofiled(in))
        util_verdict_alone(in->util, conf->policy.util_period_ms > 0,
                           count_probed(in), in->insight, verdict);
    if (has_export(in->nsys) && is_unprofiled(in))
        gputime_verdict_alone(in->nsys, in->insight, verdict);
    if (has_only_traces(in) && verdict->word == JP_VERDICT_NODATA)
        traces_verdict_alone(&in->result->traced, in->insight, verdict);
    judge_features(in, true, verdict);
    if (in->found)
        say_found(in->found, verdict);
    for (size_t i = 0; in->features && feature_registry[i]; i++)
        if (*in->features->trouble[i].text && feature_registry[i]->failed)
            feature_registry[i]->failed(in->features->trouble[i].text, verdict);
}
