/* cause_limits.c - the table of limits of causes, steps and bottlenecks.
 * orchestrator/insight/limits_rows.h says what a change of a value does. */
#include "orchestrator/util/cause_limits.h"

/* A row is name, value, unit, text, reason. */
/* clang-format off */
const struct jp_limit cause_limits[N_CAUSE_LIMITS + 1] = {
    /* --- what coincides with a finding (cause_find.c) */
    [LIMIT_CAUSE_CHANCE] =
        {"cause_chance_max", 1e-3, JP_LIMIT_IS_NUMBER,
         "A difference from the peers is not a cause if its chance is "
         "larger than {}",
         "some fifty metrics are examined for a finding: in one of 200 "
         "findings a wrong one is named by chance"},
    [LIMIT_CAUSE_CONTRAST] =
        {"cause_contrast_min", 0.5, JP_LIMIT_IS_SHARE,
         "... nor, for a finding in a part of the run, if less than {} of "
         "it disappears in the rest of the run",
         "a difference that existed before did not change anything"},
    [LIMIT_CAUSE_SAMPLES] =
        {"cause_samples_min", 3, JP_LIMIT_IS_NUMBER,
         "... nor if there are fewer than {} samples of it in that "
         "time",
         "a single sample may be accidental"},
    [LIMIT_CAUSE_USUAL] =
        {"cause_usual", 0.2, JP_LIMIT_IS_SHARE,
         "The usual difference between members is taken from their own "
         "deviation and, with the weight of a few peers, from {} of the "
         "metric's limit (cause_..._min)",
         "two or three peers may be close by chance"},
    [LIMIT_CAUSE_EXACT] =
        {"cause_exact", 0.02, JP_LIMIT_IS_SHARE,
         "... which is {} for settings (lanes, rates, power limits)",
         "members of a kind have the same settings"},
    [LIMIT_CAUSE_PRIOR] =
        {"cause_prior", 4, JP_LIMIT_IS_NUMBER,
         "... with the weight of {} peers",
         "the number of ranks of a small job; dozens of peers outweigh it"},
    [LIMIT_CAUSE_FULL] =
        {"cause_full_min", 0.8, JP_LIMIT_IS_SHARE,
         "Other processes take processors of a node if more than {} of "
         "them are busy",
         "otherwise some processors are idle"},
    [LIMIT_CAUSE_THROTTLE] =
        {"cause_throttle_min", 0.05, JP_LIMIT_IS_SHARE,
         "gpu_thermal, gpu_power and gpu_shared where the share of samples, "
         "against its peers, is more than {}",
         "one sample in twenty may be a moment at a limit"},
    [LIMIT_CAUSE_CLOCK] =
        {"cause_clock_min", 0.03, JP_LIMIT_IS_SHARE,
         "gpu_clock, and gpu_power for a lower limit, where it is more than "
         "{} below its peers'",
         "GPUs of one kind differ by a percent or so in clock"},
    [LIMIT_CAUSE_PCIE] =
        {"cause_link_min", 0.2, JP_LIMIT_IS_SHARE,
         "gpu_pcie and port_rate where lanes, generation or rate are "
         "more than {} less",
         "the next lower generation is a quarter less at most, a narrower "
         "link a half"},
    [LIMIT_CAUSE_XID] =
        {"cause_fault_min", 1e-5, JP_LIMIT_IS_NUMBER,
         "gpu_xid where more than {} of the time is after a fault, and "
         "port_errors where a link goes down more times a second than that",
         "one a day is already a fault"},
    [LIMIT_CAUSE_ECC] =
        {"cause_ecc_min", 1e-5, JP_LIMIT_IS_NUMBER,
         "gpu_ecc where there are more than {} errors a second that "
         "cannot be corrected",
         "likewise"},
    [LIMIT_CAUSE_REPLAYS] =
        {"cause_replays_min", 1, JP_LIMIT_IS_NUMBER,
         "gpu_pcie where more than {} transfers a second are repeated",
         "a healthy link repeats a few a day"},
    [LIMIT_CAUSE_OTHERS] =
        {"cause_others_min", 0.5, JP_LIMIT_IS_NUMBER,
         "gpu_shared where more than {} processes of other jobs are on "
         "its GPU",
         "a job's GPU is its own; a mean over the time"},
    [LIMIT_CAUSE_MEMORY_BUSY] =
        {"cause_memory_busy_min", 0.15, JP_LIMIT_IS_SHARE,
         "gpu_memory_bandwidth where its GPU's memory is busy for a share "
         "of the time that is larger than its peers' by more than {}",
         "ranks with the same work are within some hundredths"},
    [LIMIT_CAUSE_HELD] =
        {"cause_held_min", 0.03, JP_LIMIT_IS_SHARE,
         "cpu_throttled, cpu_steal, memory_pressure and cpu_shared by waits "
         "for a processor where the share of time is larger than its peers' "
         "by more than {}",
         "late ranks are reported from a hundredth of the run on"},
    [LIMIT_CAUSE_SWITCHES] =
        {"cause_switches_min", 100, JP_LIMIT_IS_NUMBER,
         "cpu_shared where a task is preempted more than {} times a "
         "second",
         "each time it waits for some milliseconds: the kernel's slice"},
    [LIMIT_CAUSE_PRESSURE] =
        {"cause_pressure_min", 0.1, JP_LIMIT_IS_SHARE,
         "cpu_shared where some thread waited for a processor for more "
         "than {} of the time",
         "helper threads may wait without harm"},
    [LIMIT_CAUSE_CORES] =
        {"cause_cores_min", 0.5, JP_LIMIT_IS_NUMBER,
         "cpu_shared where other processes use more than {} processors "
         "of a full node",
         "system services take a tenth of one"},
    [LIMIT_CAUSE_OWN] =
        {"cause_own_min", 0.15, JP_LIMIT_IS_NUMBER,
         "cpu_own where a task uses more processors than its peers, by more "
         "than {}",
         "ranks that wait spin or sleep alike: a tenth is noise"},
    [LIMIT_CAUSE_FAULTS] =
        {"cause_major_faults_min", 20, JP_LIMIT_IS_NUMBER,
         "memory_pressure where more than {} pages a second had to be read",
         "at a fifth of a millisecond each, some thousandths of the time"},
    [LIMIT_CAUSE_MINOR] =
        {"cause_minor_faults_min", 20000, JP_LIMIT_IS_NUMBER,
         "memory_pressure where more than {} new pages a second are touched",
         "at a microsecond each with the page cleared, some hundredths of the "
         "time"},
    [LIMIT_CAUSE_BYTES] =
        {"cause_files_min", 2e6, JP_LIMIT_IS_BYTES,
         "file_reads and file_writes where more bytes a second are read or "
         "written than by its peers, by more than {}",
         "logs are less"},
    [LIMIT_CAUSE_PORT_ERRORS] =
        {"cause_port_errors_min", 0.1, JP_LIMIT_IS_NUMBER,
         "port_errors where there are more than {} a second",
         "healthy links have none for hours"},
    [LIMIT_CAUSE_PORT_WAITS] =
        {"cause_port_waits_min", 1e6, JP_LIMIT_IS_NUMBER,
         "port_waits where a port waits for more ticks a second than its "
         "peers, by more than {}",
         "ticks are of some nanoseconds: a port that waits for a hundredth of "
         "the time has millions"},
    [LIMIT_CAUSE_PORT_USE] =
        {"cause_port_use_min", 0.2, JP_LIMIT_IS_SHARE,
         "port_shared where traffic takes more of a link's rate than of its "
         "peers', by more than {}",
         "ranks of a job send about as much each"},
    /* --- how long a step takes (iteration.c) */
    [LIMIT_STEP_COUNT] =
        {"step_count_min", 4, JP_LIMIT_IS_NUMBER,
         "The duration of a step of the program's loop is reported if "
         "the step repeats at least {} times",
         "two or three may be equal by chance"},
    [LIMIT_STEP_LIKE] =
        {"step_like_min", 0.8, JP_LIMIT_IS_SHARE,
         "... and at least {} of the operations are of kinds that come "
         "a whole number of times a step",
         "evaluation and checkpoints now and then take a tenth of a run"},
    [LIMIT_STEP_UNEVEN] =
        {"step_uneven_min", 0.2, JP_LIMIT_IS_SHARE,
         "Several repetitions may be one step where their times differ "
         "by more than {} (standard deviation)",
         "equal layers take the same time, and the last one of a step takes "
         "longer"},
    [LIMIT_STEP_CORRELATION] =
        {"step_correlation_min", 0.5, JP_LIMIT_IS_NUMBER,
         "... and repeat themselves with an autocorrelation of more "
         "than {}",
         "noise has none, a step's pause nearly one"},
    [LIMIT_STEP_PEAK] =
        {"step_peak_min", 0.3, JP_LIMIT_IS_NUMBER,
         "By samples of utilisation a step is reported if their "
         "autocorrelation is more than {}, and above the largest of as many "
         "values of noise",
         "a step that changes what is used explains a third of it at least"},
    [LIMIT_STEP_DRIFT] =
        {"step_drift_min", 0.02, JP_LIMIT_IS_SHARE,
         "Steps became longer or shorter where the last third's median "
         "differs from the first one's by more than {}",
         "medians of a hundred steps are that exact"},
    /* --- what the job as a whole is bound by (bottleneck.c) */
    [LIMIT_BOUND_GPU] =
        {"bound_gpu_min", 0.8, JP_LIMIT_IS_SHARE,
         "gpu_bound where GPUs run kernels for more than {} of the "
         "time",
         "a kernel that waits for others also counts: together with "
         "communication_bound it shows little"},
    [LIMIT_BOUND_IDLE] =
        {"bound_idle_max", 0.5, JP_LIMIT_IS_SHARE,
         "input_bound, cpu_bound and io_bound only where that share is "
         "at most {}",
         "a GPU that works most of the time is not kept waiting"},
    [LIMIT_BOUND_CPU] =
        {"bound_cpu_min", 0.9, JP_LIMIT_IS_SHARE,
         "cpu_bound where more than {} of the allocated processors are "
         "busy",
         "the rest are moments between threads"},
    [LIMIT_BOUND_THROTTLED] =
        {"bound_throttled_min", 0.05, JP_LIMIT_IS_SHARE,
         "... or a limit holds them back for more than {} of the time",
         "less is lost in noise"},
    [LIMIT_BOUND_IO] =
        {"bound_io_min", 0.2, JP_LIMIT_IS_SHARE,
         "io_bound where threads wait for storage, or processors of "
         "nodes of its own idle for it, for more than {} of the time",
         "writing a checkpoint now and then is less"},
    [LIMIT_BOUND_READS] =
        {"bound_reads_min", 20e6, JP_LIMIT_IS_BYTES,
         "input_bound where GPUs are idle and tasks read more than {} a "
         "second each",
         "data sets stream at that rate and more; programs and logs do not"},
    [LIMIT_BOUND_MEMORY] =
        {"bound_memory_min", 0.95, JP_LIMIT_IS_SHARE,
         "memory_pressure where more than {} of what is allowed is in "
         "use",
         "the kernel takes pages back from there on"},
    [LIMIT_BOUND_FAULTS] =
        {"bound_faults_min", 100, JP_LIMIT_IS_NUMBER,
         "... or more than {} pages a second have to be read",
         "at 0.1 ms each a hundredth of the time"},
    [LIMIT_BOUND_COMM] =
        {"bound_communication_min", 0.3, JP_LIMIT_IS_SHARE,
         "communication_bound where the median process has operations "
         "in flight for more than {} of the time",
         "training that scales well stays below it"},
    [LIMIT_BOUND_PORT] =
        {"bound_port_min", 0.7, JP_LIMIT_IS_SHARE,
         "... or ports of nodes of its own carry more than {} of their "
         "rate",
         "beyond it queues grow"},
    [LIMIT_BOUND_GPU_MEMORY] =
        {"bound_gpu_memory_min", 0.7, JP_LIMIT_IS_SHARE,
         "gpu_memory_bandwidth where GPUs' memory is read or written "
         "for more than {} of the time",
         "kernels that wait for memory reach it, others stay below a half"},
    [LIMIT_BOUND_IMBALANCE] =
        {"bound_imbalance_min", 1.3, JP_LIMIT_IS_NUMBER,
         "imbalance where one GPU, or task without GPUs, is busy for "
         "more than {} times the mean",
         "a third more work is the pace of all"},
    [LIMIT_BOUND_LIMITED] =
        {"bound_limited_min", 0.05, JP_LIMIT_IS_SHARE,
         "throttled where GPUs are slowed down in more than {} of the "
         "samples",
         "a moment at a limit is harmless"},
    [LIMIT_BOUND_UNUSED] =
        {"bound_unused_max", 0.25, JP_LIMIT_IS_SHARE,
         "under_used where processors and GPUs, as far as there are "
         "any, are both busy for at most {} of the time",
         "a smaller allocation would do"},
};
/* clang-format on */
