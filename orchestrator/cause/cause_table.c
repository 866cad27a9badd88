/* cause_table.c - what may delay a rank, node or network, and which metric
 * shows it.
 */
#include "orchestrator/cause/cause.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/finding.h"

/* Sentences for causes. */

#define FIGURE 64

/* "1,095 MHz", "93 %", "1.2 GiB/s" */
static char *say_figure(double v, enum util_unit unit, char buf[FIGURE])
{
    uint64_t whole = v > 0 && v < 1e18 ? (uint64_t) (v + 0.5) : 0;

    switch (unit) {
    case UTIL_MHZ:
        snprintf(buf, FIGURE, "%s MHz", FIG_COUNT(whole));
        break;
    case UTIL_SHARE:
        snprintf(buf, FIGURE, "%s", FIG_SHARE(v));
        break;
    case UTIL_BYTES:
        snprintf(buf, FIGURE, "%s", FIG_BYTES(whole));
        break;
    case UTIL_BYTES_S:
        snprintf(buf, FIGURE, "%s/s", FIG_BYTES(whole));
        break;
    case UTIL_PER_S:
        snprintf(buf, FIGURE, "%s/s", FIG_REAL(v));
        break;
    case UTIL_CORES:
        snprintf(buf, FIGURE, "%.3g cores", v);
        break;
    case UTIL_WATTS:
        snprintf(buf, FIGURE, "%.0f W", v);
        break;
    case UTIL_CELSIUS:
        snprintf(buf, FIGURE, "%.0f C", v);
        break;
    default:
        snprintf(buf, FIGURE, "%s", FIG_REAL(v));
    }
    return buf;
}
#define FIG(v, unit) say_figure((v), (unit), (char[FIGURE]){0})

static char *say_who(const struct cause_subject *subject, char *buf,
                     size_t size)
{
    const char *node = subject->name ? subject->name : "node not known";

    switch (subject->kind) {
    case JP_FINDING_LATE_RANK:
        snprintf(buf, size, "rank %" PRId64 " (%.64s) is late", subject->rank,
                 node);
        break;
    case JP_FINDING_STALL:
        snprintf(buf, size, "rank %" PRId64 " (%.64s) stalls", subject->rank,
                 node);
        break;
    case JP_FINDING_LATE_NODE:
        snprintf(buf, size, "node %.64s is late", node);
        break;
    default:
        snprintf(buf, size, "the network is slow%s",
                 subject->kind == JP_FINDING_DRIFT ? "er than before" : "");
        if (subject->name)
            snprintf(buf + strlen(buf), size - strlen(buf), " with node %.64s",
                     subject->name);
    }
    return buf;
}

/* Where, if that is not said yet: "at a port of n3, ", "at its port, ". */
static char *say_place(const struct cause_subject *subject,
                       const struct jp_cause *cause, char *buf, size_t size)
{
    bool own = subject->name && !strcmp(cause->node, subject->name);

    *buf = '\0';
    if (cause->scope == JP_UTIL_PORT && own)
        snprintf(buf, size, "at its port, ");
    else if (cause->scope == JP_UTIL_PORT)
        snprintf(buf, size, "at a port of %.64s, ", cause->node);
    else if (!own)
        snprintf(buf, size, "on %.64s, ", cause->node);
    return buf;
}

/* ", since 10:42:07 UTC"; "" if it was so during the whole run. */
static char *say_since(const struct jp_cause *cause, char *buf, size_t size)
{
    /* keeps the time of day of "2026-11-21 11:02:03 UTC" */
    if (cause->all_along || strlen(FIG_UTC(cause->start_us)) < 20)
        snprintf(buf, size, "%s", "");
    else
        snprintf(buf, size, " since %s", FIG_UTC(cause->start_us) + 11);
    return buf;
}

static double value(const struct sampled *m, int column, unsigned slice)
{
    return m->slices[column] ? (double) m->slices[column][slice] : NAN;
}

/* "its SM clock is 1,095 MHz (peers 1,980 MHz)" */
static char *say_metric(const struct cause_row *row,
                        const struct jp_cause *cause, char *buf, size_t size)
{
    const char *after = row->after ? row->after : "";
    int n = snprintf(buf, size, "%s %s%s", row->says,
                     FIG(cause->value, cause->unit), after);

    if (isfinite(cause->peers))
        snprintf(buf + n, size - (size_t) n, " (peers %s)",
                 FIG(cause->peers, cause->unit));
    else if (isfinite(cause->before))
        snprintf(buf + n, size - (size_t) n, " (otherwise %s)",
                 FIG(cause->before, cause->unit));
    return buf;
}

void cause_describe(const struct cause_subject *subject,
                    const struct cause_row *row, struct jp_cause *cause)
{
    char who[200], place[100], metric[160], since[40];

    snprintf(cause->text, sizeof(cause->text), "%s; %s%s%s",
             say_who(subject, who, sizeof(who)),
             say_place(subject, cause, place, sizeof(place)),
             say_metric(row, cause, metric, sizeof(metric)),
             say_since(cause, since, sizeof(since)));
}

void cause_describe_reason(const struct cause_subject *subject,
                           struct jp_cause found[JP_CAUSES])
{
    static const struct {
        enum jp_cause_what what;
        const char *metric, *says;
    } reasons[] = {
        {JP_CAUSE_GPU_THERMAL, "throttle_thermal", "thermal slowdown"},
        {JP_CAUSE_GPU_POWER, "throttle_power", "its power limit"},
        {JP_CAUSE_GPU_POWER, "throttle_hardware", "slowdown by the hardware"},
    };
    struct jp_cause *clock = &found[JP_CAUSE_GPU_CLOCK];
    char who[200], since[40], text[sizeof(clock->text)];

    if (!(clock->strength > 0))
        return;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
        struct jp_cause *cause = &found[reasons[i].what];

        if (!(cause->strength > 0) ||
            strcmp(cause->metric, reasons[i].metric) != 0)
            continue;
        snprintf(text, sizeof(text),
                 "%s; its SM clock is %s (peers %s), reason: %s in %s of "
                 "samples%s",
                 say_who(subject, who, sizeof(who)),
                 FIG(clock->value, clock->unit), FIG(clock->peers, clock->unit),
                 reasons[i].says, FIG(cause->value, cause->unit),
                 say_since(cause, since, sizeof(since)));
        snprintf(cause->text, sizeof(cause->text), "%s", text);
        /* the clock explains as much, whatever the fraction of samples is */
        cause->strength = fmax(cause->strength, clock->strength);
    }
}

void cause_describe_advice(const struct cause_subject *subject,
                           const struct jp_causes *causes,
                           struct jp_cause_look *look)
{
    struct jp_sentence s;
    char list[300] = "", who[200];

    sentence_init(&s, look->why, sizeof(look->why));
    if (look->n) {
        sentence_add(&s, "%s", causes->at[look->first].text);
    } else {
        for (size_t i = 0; i < look->n_list; i++)
            snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
                     i ? ", " : "", look->list[i]);
        sentence_add(&s, "%s", say_who(subject, who, sizeof(who)));
        sentence_add(&s,
                     look->n_list
                         ? "nothing that was sampled is unlike its peers, "
                           "or unlike before: looked at %s"
                         : "why was not looked at: nothing of it was "
                           "sampled%s",
                     list);
    }
    if (look->shared)
        sentence_add(&s, "what its node and ports count was left out, as other "
                         "jobs may run there");
}

const char *const cause_words[JP_CAUSES] = {
    [JP_CAUSE_GPU_XID] = "gpu_xid",
    [JP_CAUSE_GPU_ECC] = "gpu_ecc",
    [JP_CAUSE_GPU_THERMAL] = "gpu_thermal",
    [JP_CAUSE_GPU_POWER] = "gpu_power",
    [JP_CAUSE_GPU_CLOCK] = "gpu_clock",
    [JP_CAUSE_GPU_PCIE] = "gpu_pcie",
    [JP_CAUSE_GPU_SHARED] = "gpu_shared",
    [JP_CAUSE_GPU_MEMORY_BANDWIDTH] = "gpu_memory_bandwidth",
    [JP_CAUSE_CPU_THROTTLED] = "cpu_throttled",
    [JP_CAUSE_CPU_STEAL] = "cpu_steal",
    [JP_CAUSE_CPU_SHARED] = "cpu_shared",
    [JP_CAUSE_MEMORY_PRESSURE] = "memory_pressure",
    [JP_CAUSE_FILE_READS] = "file_reads",
    [JP_CAUSE_FILE_WRITES] = "file_writes",
    [JP_CAUSE_CPU_OWN] = "cpu_own",
    [JP_CAUSE_PORT_ERRORS] = "port_errors",
    [JP_CAUSE_PORT_RATE] = "port_rate",
    [JP_CAUSE_PORT_WAITS] = "port_waits",
    [JP_CAUSE_PORT_SHARED] = "port_shared",
};

static double cpu(const struct samples *s, const struct sampled *m,
                  unsigned slice)
{
    (void) s;
    return value(m, TASK_USER, slice) + value(m, TASK_SYSTEM, slice);
}

static double steal(const struct samples *s, const struct sampled *m,
                    unsigned slice)
{
    (void) s;
    return value(m, NODE_STEAL, slice) / value(m, NODE_CPUS, slice);
}

/* Cores of a fully used node that neither the step nor jobprof uses. */
static double other_cores(const struct samples *s, const struct sampled *m,
                          unsigned slice)
{
    const struct samples_node *node = &s->nodes[m->node];
    double busy = value(m, NODE_BUSY, slice);
    double agent = value(m, NODE_AGENT, slice);
    double step;

    if (!node->n[JP_UTIL_STEP])
        return NAN;
    step = cpu(s, &s->at[node->first[JP_UTIL_STEP]], slice);
    /* idle CPUs are available to everyone */
    if (busy < limits_get(JP_LIMIT_CAUSE_FULL) * value(m, NODE_CPUS, slice))
        return 0;
    return fmax(busy - step - (isnan(agent) ? 0 : agent), 0);
}

static double port_use(const struct samples *s, const struct sampled *m,
                       unsigned slice)
{
    (void) s;
    return fmax(value(m, PORT_IN, slice), value(m, PORT_OUT, slice)) /
           value(m, PORT_RATE, slice);
}

/* The samples contain the number of a GPU fault once, and 0 otherwise. The
 * effect of a fault lasts until the GPU is reset, so the GPU counts as faulty
 * from then on. */
static double xid(const struct samples *s, const struct sampled *m,
                  unsigned slice)
{
    double v = value(m, GPU_XID, slice);

    (void) s;
    for (unsigned k = 0; k <= slice; k++)
        if (value(m, GPU_XID, k) > 0)
            return 1;
    return v;
}

/* The fraction of its runnable time in which a task did not run. If CPUs are
 * short, a task that computes more also waits more. */
static double waiting(const struct samples *s, const struct sampled *m,
                      unsigned slice)
{
    double wait = value(m, TASK_CPU_WAIT, slice);

    return wait / (wait + cpu(s, m, slice));
}

#define COMPUTE CAUSE_OF_COMPUTE
#define NETWORK CAUSE_OF_NETWORK
/* clang-format off */
const struct cause_row cause_table[] = {
    /* --- GPU */
    {JP_CAUSE_GPU_XID, JP_UTIL_GPU, "xid", xid, UTIL_SHARE,
     .of = COMPUTE | NETWORK, .least = JP_LIMIT_CAUSE_XID, .alone = true,
     .prior = 1, .says = "the driver has reported a fault of its GPU (Xid) "
                         "before",
     .after = " of that time"},
    {JP_CAUSE_GPU_ECC, JP_UTIL_GPU, "ecc_errors", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_ECC, .alone = true, .prior = 0.95,
     .says = "its GPU's memory has errors that cannot be corrected at a rate "
             "of"},
    {JP_CAUSE_GPU_THERMAL, JP_UTIL_GPU, "throttle_thermal", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_THROTTLE, .alone = true, .prior = 1,
     .needs = {"sm_clock", .below_peers = true},
     .says = "its GPU is slowed down by heat in", .after = " of samples"},
    {JP_CAUSE_GPU_POWER, JP_UTIL_GPU, "throttle_power", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_THROTTLE, .prior = 0.95,
     .needs = {"sm_clock", .below_peers = true},
     .says = "its GPU is slowed down by its power limit in", .after = " of samples"},
    {JP_CAUSE_GPU_POWER, JP_UTIL_GPU, "throttle_hardware", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_THROTTLE, .alone = true, .prior = 0.95,
     .needs = {"sm_clock", .below_peers = true},
     .says = "its GPU is slowed down by the hardware in", .after = " of samples"},
    {JP_CAUSE_GPU_POWER, JP_UTIL_GPU, "power_limit", .of = COMPUTE,
     .lower = true, .least = JP_LIMIT_CAUSE_CLOCK, .exact = true, .relative = true,
     .prior = 0.8, .needs = {"sm_clock", .below_peers = true},
     .says = "the power limit of its GPU is"},
    {JP_CAUSE_GPU_CLOCK, JP_UTIL_GPU, "sm_clock", .of = COMPUTE, .lower = true,
     .least = JP_LIMIT_CAUSE_CLOCK, .relative = true, .prior = 0.9, .takes = 1,
     .needs = {"sm", .least = 0.3}, .says = "its SM clock is"},
    {JP_CAUSE_GPU_CLOCK, JP_UTIL_GPU, "memory_clock", .of = COMPUTE,
     .lower = true, .least = JP_LIMIT_CAUSE_CLOCK, .relative = true,
     .prior = 0.85, .takes = 1, .needs = {"sm", .least = 0.3},
     .says = "the clock of its GPU's memory is"},
    {JP_CAUSE_GPU_PCIE, JP_UTIL_GPU, "pcie_width", .of = COMPUTE | NETWORK,
     .lower = true, .least = JP_LIMIT_CAUSE_PCIE, .exact = true, .relative = true,
     .prior = 0.85, .says = "the PCIe lanes of its GPU are"},
    {JP_CAUSE_GPU_PCIE, JP_UTIL_GPU, "pcie_generation",
     .of = COMPUTE | NETWORK, .lower = true, .least = JP_LIMIT_CAUSE_PCIE,
     .exact = true, .relative = true, .prior = 0.8, .needs = {"sm", .least = 0.3},
     .says = "the PCIe generation of its GPU is"},
    {JP_CAUSE_GPU_PCIE, JP_UTIL_GPU, "pcie_replays", .of = COMPUTE | NETWORK,
     .least = JP_LIMIT_CAUSE_REPLAYS, .alone = true, .prior = 0.75,
     .says = "PCIe repeats transfers of its GPU at a rate of"},
    {JP_CAUSE_GPU_SHARED, JP_UTIL_GPU, "others", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_OTHERS, .alone = true, .prior = 0.9,
     .says = "processes of others on its GPU are"},
    {JP_CAUSE_GPU_SHARED, JP_UTIL_GPU, "others_sm", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_THROTTLE, .alone = true, .prior = 0.95,
     .takes = 1, .says = "others use its GPU for", .after = " of the time"},
    {JP_CAUSE_GPU_MEMORY_BANDWIDTH, JP_UTIL_GPU, "memory_busy", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_MEMORY_BUSY, .prior = 0.55,
     .says = "the memory of its GPU is read or written for", .after = " of the time"},
    /* --- CPUs */
    {JP_CAUSE_CPU_THROTTLED, JP_UTIL_TASK, "cpu_throttled", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_HELD, .alone = true, .prior = 1, .takes = 1,
     .says = "a limit holds its processors back for", .after = " of the time"},
    {JP_CAUSE_CPU_THROTTLED, JP_UTIL_STEP, "cpu_throttled", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_HELD, .alone = true, .prior = 0.95, .takes = 1,
     .says = "a limit holds the processors of the step on its node back for", .after = " of the time"},
    {JP_CAUSE_CPU_STEAL, JP_UTIL_NODE, "cpu_steal", steal, UTIL_SHARE,
     .of = COMPUTE, .least = JP_LIMIT_CAUSE_HELD, .alone = true, .prior = 0.95,
     .takes = 1,
     .says = "other machines of the same host take of its node's processors"},
    {JP_CAUSE_CPU_SHARED, JP_UTIL_TASK, "cpu_wait", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_HELD, .times = 2, .common = true, .prior = 0.95,
     .takes = 1, .needs = {.share = waiting},
     .says = "it could run and waited for a processor for", .after = " of the time"},
    {JP_CAUSE_CPU_SHARED, JP_UTIL_TASK, "involuntary_switches", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_SWITCHES, .times = 2, .common = true, .prior = 0.85,
     .needs = {.share = waiting},
     .says = "others take its processors at a rate of"},
    {JP_CAUSE_CPU_SHARED, JP_UTIL_TASK, "cpu_pressure", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_PRESSURE, .common = true, .prior = 0.9, .takes = 1,
     .says = "threads of it waited for a processor for", .after = " of the time"},
    {JP_CAUSE_CPU_SHARED, JP_UTIL_STEP, "cpu_pressure", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_PRESSURE, .common = true, .prior = 0.7, .takes = 1,
     .says = "threads of the step on its node waited for a processor for", .after = " of the time"},
    {JP_CAUSE_CPU_SHARED, JP_UTIL_NODE, "other_cores", other_cores, UTIL_CORES,
     .of = COMPUTE, .least = JP_LIMIT_CAUSE_CORES, .prior = 0.8,
     .says = "its node is full, and others than the step use"},
    {JP_CAUSE_CPU_OWN, JP_UTIL_TASK, "cpu", cpu, UTIL_CORES, .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_OWN, .prior = 0.5, .takes = 1,
     .says = "it computes itself, with"},
    /* --- memory */
    {JP_CAUSE_MEMORY_PRESSURE, JP_UTIL_TASK, "major_faults", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_FAULTS, .prior = 0.95, .takes = 2e-4,
     .says = "it reads pages of its memory from disks at a rate of"},
    {JP_CAUSE_MEMORY_PRESSURE, JP_UTIL_STEP, "major_faults", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_FAULTS, .prior = 0.75, .takes = 2e-4,
     .says = "the step on its node reads pages of memory from disks at a rate "
             "of"},
    {JP_CAUSE_MEMORY_PRESSURE, JP_UTIL_TASK, "minor_faults", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_MINOR, .prior = 0.7, .takes = 1e-6,
     .says = "it touches new pages of memory at a rate of"},
    {JP_CAUSE_MEMORY_PRESSURE, JP_UTIL_TASK, "memory_pressure", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_HELD, .alone = true, .prior = 0.95, .takes = 1,
     .says = "it waited for memory for", .after = " of the time"},
    {JP_CAUSE_MEMORY_PRESSURE, JP_UTIL_STEP, "memory_pressure", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_HELD, .alone = true, .prior = 0.8, .takes = 1,
     .says = "the step on its node waited for memory for", .after = " of the time"},
    {JP_CAUSE_MEMORY_PRESSURE, JP_UTIL_NODE, "memory_pressure", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_HELD, .alone = true, .prior = 0.75, .takes = 1,
     .says = "processes of its node waited for memory for", .after = " of the time"},
    {JP_CAUSE_MEMORY_PRESSURE, JP_UTIL_NODE, "major_faults", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_FAULTS, .prior = 0.7, .takes = 2e-4,
     .says = "its node reads pages of memory from disks at a rate of"},
    /* --- files */
    {JP_CAUSE_FILE_READS, JP_UTIL_TASK, "read_calls", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_BYTES, .prior = 0.85, .says = "it reads"},
    {JP_CAUSE_FILE_READS, JP_UTIL_TASK, "read", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_BYTES, .prior = 0.9,
     .needs = {"read_calls", .least = 1e6}, /* otherwise it is paging */
     .says = "it reads from storage"},
    {JP_CAUSE_FILE_READS, JP_UTIL_STEP, "read", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_BYTES, .prior = 0.6,
     .says = "the step on its node reads from storage"},
    {JP_CAUSE_FILE_WRITES, JP_UTIL_TASK, "write_calls", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_BYTES, .prior = 0.85, .says = "it writes"},
    {JP_CAUSE_FILE_WRITES, JP_UTIL_TASK, "write", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_BYTES, .prior = 0.9,
     .says = "it writes to storage"},
    {JP_CAUSE_FILE_WRITES, JP_UTIL_STEP, "write", .of = COMPUTE,
     .least = JP_LIMIT_CAUSE_BYTES, .prior = 0.6,
     .says = "the step on its node writes to storage"},
    /* --- ports */
    {JP_CAUSE_PORT_ERRORS, JP_UTIL_PORT, "errors", .of = COMPUTE | NETWORK,
     .least = JP_LIMIT_CAUSE_PORT_ERRORS, .alone = true, .prior = 0.95,
     .says = "errors are counted at a rate of"},
    {JP_CAUSE_PORT_ERRORS, JP_UTIL_GPU, "nvlink_errors",
     .of = COMPUTE | NETWORK, .least = JP_LIMIT_CAUSE_PORT_ERRORS,
     .alone = true, .prior = 0.9,
     .says = "NVLinks of its GPU count errors at a rate of"},
    {JP_CAUSE_PORT_ERRORS, JP_UTIL_PORT, "downed", .of = COMPUTE | NETWORK,
     .least = JP_LIMIT_CAUSE_XID, .alone = true, .prior = 1,
     .says = "the link goes down at a rate of"},
    {JP_CAUSE_PORT_RATE, JP_UTIL_PORT, "rate", .of = COMPUTE | NETWORK,
     .lower = true, .least = JP_LIMIT_CAUSE_PCIE, .exact = true, .relative = true,
     .prior = 0.95, .says = "the link's rate is"},
    {JP_CAUSE_PORT_RATE, JP_UTIL_PORT, "up", .of = COMPUTE | NETWORK,
     .lower = true, .least = JP_LIMIT_CAUSE_PCIE, .exact = true, .relative = true,
     .prior = 0.95, .says = "the port is active in", .after = " of samples"},
    {JP_CAUSE_PORT_WAITS, JP_UTIL_PORT, "wait", .of = COMPUTE | NETWORK,
     .least = JP_LIMIT_CAUSE_PORT_WAITS, .prior = 0.7,
     .says = "data waits for credit, in ticks at a rate of"},
    {JP_CAUSE_PORT_SHARED, JP_UTIL_PORT, "port_use", port_use, UTIL_SHARE,
     .of = COMPUTE | NETWORK, .least = JP_LIMIT_CAUSE_PORT_USE, .prior = 0.7,
     .takes = 1, .says = "traffic takes, of the link's rate,"},
};
/* clang-format on */
const size_t cause_table_n = sizeof(cause_table) / sizeof(*cause_table);

const struct cause_chain cause_chains[] = {
    {JP_CAUSE_GPU_XID, JP_CAUSE_GPU_CLOCK},
    {JP_CAUSE_GPU_THERMAL, JP_CAUSE_GPU_CLOCK},
    {JP_CAUSE_GPU_POWER, JP_CAUSE_GPU_CLOCK},
    {JP_CAUSE_CPU_THROTTLED, JP_CAUSE_CPU_SHARED},
    {JP_CAUSE_CPU_STEAL, JP_CAUSE_CPU_SHARED},
    {JP_CAUSE_FILE_READS, JP_CAUSE_CPU_OWN},
    {JP_CAUSE_FILE_WRITES, JP_CAUSE_CPU_OWN},
    {JP_CAUSE_MEMORY_PRESSURE, JP_CAUSE_CPU_OWN},
    {JP_CAUSE_PORT_RATE, JP_CAUSE_PORT_SHARED}, /* due to a lower rate */
    {JP_CAUSE_PORT_RATE, JP_CAUSE_PORT_WAITS},
    {JP_CAUSE_PORT_ERRORS, JP_CAUSE_PORT_WAITS},
    {JP_CAUSE_PORT_SHARED, JP_CAUSE_PORT_WAITS},
};
const size_t cause_chains_n = sizeof(cause_chains) / sizeof(*cause_chains);
