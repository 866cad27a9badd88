/* bottleneck.c - what limits the job as a whole: rules about means over all
 * members.
 *
 * take_facts collects the values, rules[] compares each with a limit of
 * cause_limits.h. Unlike cause_find.c this compares nothing with peers: it
 * answers why a healthy job is not faster. An unknown value (NAN) satisfies no
 * rule.
 */
#include "orchestrator/util/cause.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/figure.h"
#include "orchestrator/insight/finding.h"
#include "common/stats.h"

const char *const bottleneck_words[JP_BOTTLENECKS] = {
    [JP_BOTTLENECK_GPU] = "gpu_bound",
    [JP_BOTTLENECK_INPUT] = "input_bound",
    [JP_BOTTLENECK_CPU] = "cpu_bound",
    [JP_BOTTLENECK_IO] = "io_bound",
    [JP_BOTTLENECK_MEMORY] = "memory_pressure",
    [JP_BOTTLENECK_COMMUNICATION] = "communication_bound",
    [JP_BOTTLENECK_GPU_MEMORY] = "gpu_memory_bandwidth",
    [JP_BOTTLENECK_IMBALANCE] = "imbalance",
    [JP_BOTTLENECK_THROTTLED] = "throttled",
    [JP_BOTTLENECK_UNDER_USED] = "under_used",
};

const char *const bottleneck_titles[JP_BOTTLENECKS] = {
    [JP_BOTTLENECK_GPU] = "GPU",
    [JP_BOTTLENECK_INPUT] = "input",
    [JP_BOTTLENECK_CPU] = "CPU",
    [JP_BOTTLENECK_IO] = "file I/O",
    [JP_BOTTLENECK_MEMORY] = "memory",
    [JP_BOTTLENECK_COMMUNICATION] = "communication",
    [JP_BOTTLENECK_GPU_MEMORY] = "GPU memory",
    [JP_BOTTLENECK_IMBALANCE] = "imbalance",
    [JP_BOTTLENECK_THROTTLED] = "throttled GPUs",
    [JP_BOTTLENECK_UNDER_USED] = "too little work",
};

/* The values that the rules examine; shares from 0 to 1 unless said otherwise.
 * NAN: unknown. */
struct facts {
    double sm, gpu_memory, gpu_imbalance, gpu_limited;
    /* cpu: of the CPUs that the step may use; imbalances: largest / mean */
    double cpu, throttled, task_imbalance;
    /* iowait, port: only of nodes that the step has for itself */
    double io, iowait;
    double reads, memory, faults;
    double communication, port;
};

/* Returns the mean of a column over all members of a scope; NAN: unknown. */
static double mean_of(const struct jp_util *util, enum jp_util_scope scope,
                      unsigned column)
{
    const struct jp_util_row *row = util ? util_find_row(util, scope, column)
                                         : NULL;

    return row ? row->mean : NAN;
}

/* Returns the largest member's mean divided by the mean of all; NAN: unknown.
 */
static double imbalance_of(const struct jp_util *util, enum jp_util_scope scope,
                           unsigned column)
{
    const struct jp_util_row *row = util ? util_find_row(util, scope, column)
                                         : NULL;

    return row ? row->imbalance : NAN;
}

/* Returns the median over processes of the share of time with an operation in
 * flight. The median, because one process that waits all the time must not make
 * the job communication-bound. NAN: unknown. */
static double communication_of(const struct jp_result *r)
{
    double *shares = r && r->n_busy ? calloc(r->n_busy, sizeof(*shares)) : NULL;
    double median = NAN;
    size_t n = 0;

    for (size_t i = 0; shares && i < r->n_busy; i++) {
        const struct jp_busy *b = &r->busy[i];

        if (b->state == JP_BUSY_TOLD && b->to_us > b->from_us)
            shares[n++] = (double) b->busy_us /
                          (double) (b->to_us - b->from_us);
    }
    if (n)
        median = stats_median(shares, n);
    free(shares);
    return median;
}

/* Returns the mean of max(part, other) / whole over all slices of members of
 * nodes that the step has for itself; elsewhere other jobs' use would count.
 * other < 0: none. */
static double own_share(const struct samples *s, enum jp_util_scope scope,
                        int part, int other, int whole)
{
    double sum = 0, n = 0;

    for (size_t i = s->first[scope]; i < s->first[scope + 1]; i++) {
        const struct sampled *m = &s->at[i];
        const float *p = m->slices[part], *q = m->slices[whole];
        const float *o = other >= 0 ? m->slices[other] : NULL;

        for (unsigned k = 0;
             p && q && !s->nodes[m->node].shared && k < s->n_slices; k++) {
            double v = fmax((double) p[k], o ? (double) o[k] : NAN) /
                       (double) q[k];

            if (!isfinite(v))
                continue;
            sum += v;
            n++;
        }
    }
    return n > 0 ? sum / n : NAN;
}

/* The arithmetic lets NAN through, so a fact with an unknown operand is
 * unknown. fmax prefers the known one. */
static void take_facts(const struct jp_util *util, const struct samples *s,
                       const struct jp_result *r, struct facts *f)
{
    double used = mean_of(util, JP_UTIL_STEP, TASK_USER) +
                  mean_of(util, JP_UTIL_STEP, TASK_SYSTEM);

    *f = (struct facts){
        .sm = mean_of(util, JP_UTIL_GPU, GPU_SM),
        .gpu_memory = mean_of(util, JP_UTIL_GPU, GPU_MEMORY_BUSY),
        .gpu_imbalance = imbalance_of(util, JP_UTIL_GPU, GPU_SM),
        .gpu_limited =
            fmax(mean_of(util, JP_UTIL_GPU, GPU_THROTTLE_THERMAL),
                 fmax(mean_of(util, JP_UTIL_GPU, GPU_THROTTLE_POWER),
                      mean_of(util, JP_UTIL_GPU, GPU_THROTTLE_HARDWARE))),
        .cpu = used / mean_of(util, JP_UTIL_STEP, TASK_CPUS),
        .throttled = mean_of(util, JP_UTIL_STEP, TASK_THROTTLED),
        .task_imbalance = imbalance_of(util, JP_UTIL_TASK, TASK_USER),
        .io = mean_of(util, JP_UTIL_STEP, TASK_IO_PRESSURE),
        .iowait = NAN,
        .reads = mean_of(util, JP_UTIL_TASK, TASK_READ_CALLS),
        .memory = mean_of(util, JP_UTIL_STEP, TASK_MEMORY) /
                  mean_of(util, JP_UTIL_STEP, TASK_MEMORY_LIMIT),
        .faults = mean_of(util, JP_UTIL_STEP, TASK_MAJOR_FAULTS),
        .communication = communication_of(r),
        .port = NAN};
    if (s && s->n) {
        f->iowait = own_share(s, JP_UTIL_NODE, NODE_IOWAIT, -1, NODE_CPUS);
        f->port = own_share(s, JP_UTIL_PORT, PORT_IN, PORT_OUT, PORT_RATE);
    }
}

/* --- the rules ------------------------------------------------------------ */

/* In order of preference: the first rule that holds is the evidence for its
 * kind. Rules with `idle` apply only if the step has no GPUs, or GPUs that
 * mostly wait: then the CPUs' work is not hidden behind theirs. */
static const struct rule {
    enum jp_bottleneck_kind kind;
    size_t fact; /* offset in struct facts */
    enum cause_limit_id limit;
    enum util_unit unit;
    bool idle;
    bool gpus; /* only with GPUs */
    const char *metric;
    const char *text, *after; /* before and after the value; after NULL:
                               * nothing */
} rules[] = {
#define FACT(name) offsetof(struct facts, name)
    {JP_BOTTLENECK_GPU, FACT(sm), LIMIT_BOUND_GPU, UTIL_SHARE, false, true,
     "gpu.sm", "GPUs run kernels for", " of the time"},
    {JP_BOTTLENECK_INPUT, FACT(reads), LIMIT_BOUND_READS, UTIL_BYTES_S, true,
     true, "task.read_calls", "GPUs wait, and tasks read", "/s each"},
    {JP_BOTTLENECK_CPU, FACT(cpu), LIMIT_BOUND_CPU, UTIL_SHARE, true, false,
     "step.cpu", "processors are busy for", " of the time"},
    {JP_BOTTLENECK_CPU, FACT(throttled), LIMIT_BOUND_THROTTLED, UTIL_SHARE,
     true, false, "step.cpu_throttled", "a limit holds processors back for",
     " of the time"},
    {JP_BOTTLENECK_IO, FACT(io), LIMIT_BOUND_IO, UTIL_SHARE, true, false,
     "step.io_pressure", "threads wait for storage for", " of the time"},
    {JP_BOTTLENECK_IO, FACT(iowait), LIMIT_BOUND_IO, UTIL_SHARE, true, false,
     "node.cpu_iowait", "processors idle for disks for", " of the time"},
    {JP_BOTTLENECK_MEMORY, FACT(memory), LIMIT_BOUND_MEMORY, UTIL_SHARE, false,
     false, "step.memory", "memory in use, of what is allowed, is", NULL},
    {JP_BOTTLENECK_MEMORY, FACT(faults), LIMIT_BOUND_FAULTS, UTIL_PER_S, false,
     false, "step.major_faults", "pages are read from disks at", "/s"},
    {JP_BOTTLENECK_COMMUNICATION, FACT(communication), LIMIT_BOUND_COMM,
     UTIL_SHARE, false, false, "communication", "operations are in flight for",
     " of the time"},
    {JP_BOTTLENECK_COMMUNICATION, FACT(port), LIMIT_BOUND_PORT, UTIL_SHARE,
     false, false, "port.use", "ports carry, of their rate,", NULL},
    {JP_BOTTLENECK_GPU_MEMORY, FACT(gpu_memory), LIMIT_BOUND_GPU_MEMORY,
     UTIL_SHARE, false, true, "gpu.memory_busy", "GPU memory is busy for",
     " of the time"},
    {JP_BOTTLENECK_IMBALANCE, FACT(gpu_imbalance), LIMIT_BOUND_IMBALANCE,
     UTIL_COUNT, false, true, "gpu.sm", "the busiest GPU works for",
     " times the mean"},
    {JP_BOTTLENECK_IMBALANCE, FACT(task_imbalance), LIMIT_BOUND_IMBALANCE,
     UTIL_COUNT, false, false, "task.cpu_user", "the busiest task computes for",
     " times the mean"},
    {JP_BOTTLENECK_THROTTLED, FACT(gpu_limited), LIMIT_BOUND_LIMITED,
     UTIL_SHARE, false, true, "gpu.throttle", "GPUs are slowed down in",
     " of the samples"},
#undef FACT
};

/* Returns the value at this offset in struct facts. */
static double fact_of(const struct facts *f, size_t offset)
{
    return *(const double *) (const void *) ((const char *) f + offset);
}

/* Adds a bottleneck, unless one of its kind is there. */
static void add_bottleneck(struct jp_bottlenecks *out,
                           const struct jp_bottleneck *b)
{
    for (size_t i = 0; i < out->n; i++)
        if (out->at[i].kind == b->kind)
            return;
    out->at[out->n++] = *b;
}

/* Returns true if an imbalance matters. Units that are hardly used are uneven
 * by nature, and the host threads of GPUs may do anything. */
static bool is_compared(const struct rule *rule, const struct facts *f)
{
    double used = rule->gpus ? f->sm : f->cpu;

    return used > cause_limit(LIMIT_BOUND_UNUSED) &&
           (rule->gpus || isnan(f->sm));
}

/* Adds the rule's bottleneck if its value is above its limit. */
static void try_rule(const struct rule *rule, const struct facts *f,
                     struct jp_bottlenecks *out)
{
    struct jp_bottleneck b = {.kind = rule->kind,
                              .metric = rule->metric,
                              .unit = rule->unit,
                              .value = fact_of(f, rule->fact),
                              .limit = cause_limit(rule->limit)};
    bool busy = f->sm > cause_limit(LIMIT_BOUND_IDLE);

    /* Written so that an unknown value fails. */
    if (!(b.value > b.limit) || (rule->idle && busy) ||
        (rule->gpus && isnan(f->sm)) ||
        (rule->kind == JP_BOTTLENECK_IMBALANCE && !is_compared(rule, f)))
        return;
    snprintf(b.text, sizeof(b.text), "%s %s%s", rule->text,
             rule->unit == UTIL_SHARE     ? FIG_SHARE(b.value)
             : rule->unit == UTIL_BYTES_S ? FIG_BYTES((uint64_t) b.value)
                                          : FIG_GBS(b.value),
             rule->after ? rule->after : "");
    add_bottleneck(out, &b);
}

/* Adds UNDER_USED if processors and GPUs are hardly used. nccl: the job has
 * used NCCL, so it has GPUs; where these are not sampled, they may be busy. */
static void try_unused(const struct facts *f, bool nccl,
                       struct jp_bottlenecks *out)
{
    double limit = cause_limit(LIMIT_BOUND_UNUSED);
    struct jp_bottleneck b = {.kind = JP_BOTTLENECK_UNDER_USED,
                              .metric = isnan(f->sm) ? "step.cpu" : "gpu.sm",
                              .unit = UTIL_SHARE,
                              .value = isnan(f->sm) ? f->cpu : f->sm,
                              .limit = limit};

    if (!(f->cpu <= limit) || f->sm > limit || (nccl && isnan(f->sm)))
        return;
    snprintf(b.text, sizeof(b.text), "processors are busy for %s%s%s",
             FIG_SHARE(f->cpu), isnan(f->sm) ? "" : ", GPUs for ",
             isnan(f->sm) ? "" : FIG_SHARE(f->sm));
    add_bottleneck(out, &b);
}

void bottlenecks_find(const struct jp_util *util, const struct samples *samples,
                      const struct jp_result *result,
                      struct jp_bottlenecks *out)
{
    struct jp_sentence s;
    struct facts f;

    *out = (struct jp_bottlenecks){.looked = util != NULL};
    take_facts(util, samples, result, &f);
    out->looked |= !isnan(f.communication);
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        try_rule(&rules[i], &f, out);
    try_unused(&f, result && result->quality.files, out);
    sentence_init(&s, out->text, sizeof(out->text));
    for (size_t i = 0; i < out->n; i++)
        sentence_add(&s, "%s (%s)", bottleneck_titles[out->at[i].kind],
                     out->at[i].text);
}
