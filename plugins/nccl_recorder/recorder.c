/* recorder.c - the recorder as a backend: its reader, and its planner with
 * variables, cost and notes. The part that runs in the tasks begins in
 * rec_abi.c.
 */
#include "plugins/backend.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/figure.h"
#include "common/num.h"
#include "plugins/nccl_recorder/rec_env.h"
#include "plugins/reader.h"
#include "plugins/nccl_knobs.h"
#include "plugins/nccl_recorder/jpr_frame.h"
#include "plugins/nccl_recorder/launches.h"

/* --- reader: a recording becomes records ---------------------------------- */

/* Operations between two checks of *stop. */
#define LOOK_EVERY 4096

/* One file on its way into the sink. */
struct way {
    const struct reader_sink *sink;
    struct jp_recfile *source;
    struct source_facts *facts;
    struct launches *launches; /* NULL: only times are needed */
};

/* A file that is cut within the magic bytes counts as a recording as well. */
static bool probe(const char *name, const void *head, size_t len)
{
    uint8_t magic[JPR_HEAD_BYTES];

    jpr_head_write(magic);
    return len > 0 && !memcmp(head, magic, len < 8 ? len : 8);
}

/* Receives records from launches.h. */
static int push_record(void *arg, const struct record *record)
{
    struct way *w = arg;

    return w->sink->take(w->sink->arg, record, 1);
}

/* Passes an operation on; one that makes no record is counted as bad. */
static int take_op(struct way *w, const struct jpr_op *op)
{
    struct record record;
    const char *why;

    /* counted as left out by sum_up() */
    if (w->source->is_sample)
        return 0;
    why = recfile_record(w->source, op, &record);
    w->facts->records++;
    if (!why)
        return w->launches ? launches_add(w->launches, op, &record,
                                          w->source->func->rule)
                           : push_record(w, &record);
    reader_note_bad(w->facts, w->facts->records, w->source->bad, why);
    return 0;
}

/* The watcher (search for hangs) gets every record of the file before it is
 * used. */
static int take_record(struct way *w, const struct jpr_record *record)
{
    int rc = w->sink->watch ? w->sink->watch(w->sink->arg, w->source, record)
                            : 0;

    return rc || record->type != JPR_OP ? rc : take_op(w, record->op);
}

/* Notes the first damage. err has "name: offset N: what", of which the file's
 * name is dropped. */
static void note_damage(struct source_facts *facts, const struct jp_error *err)
{
    const char *at = strstr(err->text, ": offset ");

    reader_note_damage(facts, at ? at + 2 : err->text);
}

/* Adds up the functions of a communicator. */
static void sum_functions(const struct recfile_comm *comm,
                          struct jpr_counts *sum)
{
    *sum = (struct jpr_counts){0};
    for (size_t i = 0; i < comm->n_counts; i++) {
        sum->produced = num_add(sum->produced, comm->counts[i].counts.produced);
        sum->written = num_add(sum->written, comm->counts[i].counts.written);
        sum->lost = num_add(sum->lost, comm->counts[i].counts.lost);
        sum->left_out = num_add(sum->left_out, comm->counts[i].counts.left_out);
    }
}

/* Makes written operations left out ones. */
static void leave_out(struct jpr_counts *counts, uint64_t n)
{
    counts->written -= n < counts->written ? n : counts->written;
    counts->left_out = num_add(counts->left_out, n);
}

/* Passes on what each communicator produced, lost and left out. */
static int add_counts(struct way *w)
{
    struct jpr_counts counts;
    int rc = 0;

    for (uint32_t i = 0; i < w->source->n_comms && rc == 0; i++) {
        const struct recfile_comm *comm = w->source->comms[i];

        if (!comm || comm->why || !comm->n_counts)
            continue;
        sum_functions(comm, &counts);
        leave_out(&counts, comm->sampled);
        rc = w->sink->counts(w->sink->arg, &comm->base, &counts);
    }
    return rc;
}

/* Ends the file: what is held back, the watcher, the counters. */
static int take_end(struct way *w)
{
    int rc = w->launches ? launches_flush(w->launches) : 0;

    if (rc == 0 && w->sink->watch)
        rc = w->sink->watch(w->sink->arg, w->source, NULL);
    return rc ? rc : add_counts(w);
}

/* Fills in what is known about the whole file. The notes are handed over. 0, or
 * -1: no memory. */
static int sum_up(struct jp_recfile *source, struct source_facts *facts)
{
    struct source_recording *recording = reader_recording(facts);

    reader_note_damage(facts, recfile_damage(source));
    facts->bytes = jpr_end(source->reader)->offset;
    facts->damaged = jpr_end(source->reader)->damaged;
    facts->cut = !source->tail.final || jpr_end(source->reader)->cut;
    facts->notes = source->notes;
    source->notes = NULL;
    if (!recording)
        return -1;
    recording->tail = source->tail;
    leave_out(&recording->tail.counts, source->tail.room.sampled);
    recfile_process_of(source, &recording->process);
    return 0;
}

/* Reads to the end of the file or until *stop is set. Damaged blocks are
 * skipped. */
static int read_all(struct jp_recfile *source, const struct reader_input *in,
                    const struct reader_sink *sink, struct source_facts *facts)
{
    struct way w = {sink, source, facts, NULL};
    struct jpr_record record;
    struct jp_error err;
    int rc = 0, got;

    facts->has_counters = true;
    if (!in->only_times && !(w.launches = launches_create(push_record, &w)))
        return -1;
    while (rc == 0 && (got = recfile_next(source, &record, &err)) != 0) {
        if (got < 0)
            note_damage(facts, &err);
        else
            rc = take_record(&w, &record);
        if (facts->records % LOOK_EVERY == 0 && atomic_load(in->stop))
            break;
    }
    if (rc == 0)
        rc = take_end(&w);
    launches_destroy(w.launches);
    return sum_up(source, facts) < 0 ? -1 : rc;
}

/* Recordings have all that is needed in the file, so nothing is kept between
 * files. */
static int read_file(void *state, const struct reader_input *in,
                     const struct reader_sink *sink, struct source_facts *facts)
{
    struct jp_recfile source;
    struct jp_error err = {""};
    int rc;

    if ((in->data
             ? recfile_open_bytes(&source, in->data, in->len, in->path, &err)
             : recfile_open(&source, in->path, &err)) < 0)
        return reader_refuse(facts, in->path, &err);
    source.only_times = in->only_times;
    rc = read_all(&source, in, sink, facts);
    recfile_close(&source);
    return rc;
}

static const struct backend_reader recorder_reader = {.probe = probe,
                                                      .read = read_file};

/* The variable of the knob kernels=. */
#define KERNELS_VARIABLE "JOBPROF_RECORDER_KERNELS"
/* The variable of the knob chain=. */
#define CHAIN_VARIABLE "JOBPROF_RECORDER_CHAIN"
/* Memory of one process, unless mem= is set or the rate needs more. */
#define MEM_BYTES (16u << 20)
#define INSTALLED JP_PKGLIBDIR "/libnccl-profiler-jobprof.so"

/* Bytes of one operation in the file, at most. Measured: 11 to 13 without
 * network waits; the jitter of real times adds to that. */
#define RECORD_BYTES 40

/* Bytes of one operation in a buffer. The writer drains ten times a second, and
 * memory for twice that is provided. */
#define SLOT_BYTES 256
#define DRAINS_A_SECOND 10

struct recorder_plan {
    uint64_t memory_bytes, disk_bytes, cap_bytes, planned_ops, kept_ops;
    const char *limit; /* the setting that limits the file, or "" */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Computes memory and file of one rank. Returns -1 if not even the minimum of
 * memory is allowed. */
static int size_recorder(const struct backend_input *in,
                         struct recorder_plan *p, struct jp_error *err)
{
    const struct plan_side *side = in->side;
    uint64_t ntasks = in->shape.ntasks ? in->shape.ntasks : 1;
    uint64_t room = jobshape_room(&in->shape, plan_number(side, "min_free"));
    uint64_t mem = plan_number(side, "mem");
    uint64_t limit = least(mem, jobshape_memory(&in->shape));
    uint64_t volume;

    if (mem < JP_REC_MEM_MIN)
        return error_set(err,
                         "the recorder needs at least %s for each rank; mem=%s",
                         FIG_BYTES(JP_REC_MEM_MIN), FIG_BYTES(mem));
    if (limit < JP_REC_MEM_MIN)
        return error_set(err,
                         "the recorder needs at least %s for each rank, but a "
                         "quarter of the step's memory on a node allows %s",
                         FIG_BYTES(JP_REC_MEM_MIN), FIG_BYTES(limit));
    /* memory: what two drains of all communicators bring, within the limits */
    p->memory_bytes =
        num_mul(num_mul(plan_number(side, "comms"), plan_number(side, "rate")),
                2 * SLOT_BYTES) /
        DRAINS_A_SECOND;
    if (p->memory_bytes < MEM_BYTES)
        p->memory_bytes = MEM_BYTES;
    p->memory_bytes = least(least(p->memory_bytes, limit), JP_REC_MEM_MAX);
    /* the file: all planned operations, or what disk= and min_free= allow */
    p->planned_ops =
        num_mul(num_add(plan_number(side, "colls"), plan_number(side, "p2p")),
                plan_number(side, "iterations"));
    volume = num_mul(p->planned_ops, RECORD_BYTES);
    p->cap_bytes = plan_number(side, "disk") / ntasks;
    p->limit = room / ntasks < p->cap_bytes ? "min_free=" : "disk=";
    p->disk_bytes = least(volume, least(p->cap_bytes, room / ntasks));
    p->kept_ops = p->disk_bytes < volume ? p->disk_bytes / RECORD_BYTES
                                         : p->planned_ops;
    return 0;
}

/* Says what the profile costs, and what a too small file will not have. */
static int recorder_forecast(const struct backend_input *in,
                             struct backend_forecast *out, struct jp_error *err)
{
    struct backend_forecast f = {0};
    struct recorder_plan p;

    if (size_recorder(in, &p, err) < 0)
        return -1;
    f.memory_bytes = f.reserved_bytes = p.memory_bytes;
    f.disk_bytes = p.disk_bytes;
    f.planned_ops = p.planned_ops;
    f.kept_ops = p.kept_ops;
    snprintf(f.counted, sizeof(f.counted),
             "iterations x (colls + p2p) x %d B, at most disk= over the ranks "
             "(%s each)",
             RECORD_BYTES, FIG_BYTES(p.cap_bytes));
    if (p.kept_ops < p.planned_ops)
        snprintf(f.lost, sizeof(f.lost),
                 "writes the first %s of %s operations of each rank in full, "
                 "then only counters and samples. The limit is %s",
                 FIG_COUNT(p.kept_ops), FIG_COUNT(p.planned_ops), p.limit);
    *out = f;
    return 0;
}

/* Whether kernels=auto is 0 because each task has one processor: NCCL's threads
 * spin for each other while it makes the connections of its kernel events. */
static bool has_one_processor(const struct backend_input *in)
{
    return in->shape.cpus_per_task == 1 &&
           strcmp(plan_get(in->side, "kernels"), "auto") == 0;
}

/* Adds the recorder's library and the one that it loads besides (chain=). With
 * chain=own that is the user's NCCL_PROFILER_PLUGIN, which ours then replaces.
 */
static int add_libraries(const struct backend_input *in,
                         struct backend_env *out, struct jp_error *err)
{
    const char *library = in->library ? in->library : INSTALLED;
    const char *chain = plan_get(in->side, "chain");
    const char *own = backend_user_value(in, "NCCL_PROFILER_PLUGIN");
    bool soft = out->soft, is_own = chain && !strcmp(chain, "own");
    int rc;

    if (is_own)
        chain = own && strcmp(own, library) != 0 ? own : NULL;
    out->soft = soft && !(is_own && chain);
    rc = backend_env_add(out, err, "NCCL_PROFILER_PLUGIN", "%s", library);
    out->soft = soft;
    return rc == 0 && chain
               ? backend_env_add(out, err, CHAIN_VARIABLE, "%s", chain)
               : rc;
}

/* Adds the variables of the tasks. Whether the library exists is not checked
 * here: srun's host need not have it, so `begin` checks it on the nodes. */
static int recorder_env(const struct backend_input *in, struct backend_env *out,
                        struct jp_error *err)
{
    struct recorder_plan p;

    if (size_recorder(in, &p, err) < 0 || add_libraries(in, out, err) < 0 ||
        backend_env_add(out, err, "JOBPROF_RECORDER_DIR", "%s/raw/%%N",
                        in->step_dir) < 0 ||
        backend_env_number(out, err, "JOBPROF_RECORDER_MEM", p.memory_bytes,
                           "buffers of one process; rate x comms, mem=") < 0 ||
        backend_env_number(out, err, "JOBPROF_RECORDER_DISK", p.cap_bytes,
                           "disk= over the ranks") < 0)
        return -1;
    if (backend_env_number(out, err, "JOBPROF_RECORDER_MIN_FREE",
                           plan_number(in->side, "min_free"),
                           "min_free=") < 0 ||
        (has_one_processor(in)
             ? backend_env_number(out, err, KERNELS_VARIABLE, 0,
                                  "kernels=auto with one processor a task (-c, "
                                  "SLURM_CPUS_PER_TASK)")
             : backend_env_add(out, err, KERNELS_VARIABLE, "%s",
                               plan_get(in->side, "kernels"))) < 0)
        return -1;
    /* only the process knows which NCCL it has loaded */
    return in->declined && *in->declined
               ? backend_env_add(out, err, "JOBPROF_RECORDER_DECLINE", "%s",
                                 in->declined)
               : 0;
}

/* ------------------------------------------------- what NCCL's release does */

#define NO_TIME                                                                \
    "operations have no times, only counts, sizes and network transfers"

#define COST                                                                   \
    "kernel events cost a progress thread that polls while an operation "      \
    "runs, "                                                                   \
    "also in jobs over NVLink alone, and 128 proxy connections at a "          \
    "communicator's first operation: 40 ms, seconds where few processors are " \
    "free"
#define ONE_PROCESSOR                                                          \
    "each task has one processor (-c), where the connections of kernel "       \
    "events "                                                                  \
    "take 5 to 6 s at each communicator's first operation: kernels=auto is "   \
    "0, "                                                                      \
    "so " NO_TIME "; -c 2 or kernels=1 turns them on"
#define GRAPHS                                                                 \
    "in CUDA graphs kernel events put a host function into every captured "    \
    "launch (kernels=0 leaves them out, and all times); a communicator whose " \
    "replays mix with eager calls has no times from then on"
#define SELF_COPY                                                              \
    "after a Send to oneself (in each AlltoAll) a communicator's operations "  \
    "have no time"

/* Values of kernels= as bits. */
enum { AUTO = 1, ON = 2, OFF = 4, ANY = AUTO | ON | OFF };

/* What makes a row apply, in addition to release and kernels=. */
enum when {
    ALWAYS,
    BROADCASTS, /* NCCL merges Broadcasts, as NCCL_ALLGATHERV_ENABLE is not 0 */
    WINDOWS,    /* symmetric kernels are likely, as one of `signs` is set */
    ONE_CPU,    /* each task has one processor */
    MORE_CPUS,  /* it has not, as far as is known */
};

/* What users should know about a release. Releases are minor ones, 27 is 2.27;
 * `until` is inclusive, 0 means no end. In a text of WINDOWS, %s is the
 * variable that made it apply. The facts and their places in NCCL's source are
 * in docs/dev/recorder-format.md. */
static const struct {
    unsigned from, until, kernels;
    enum when when;
    bool is_warning;
    const char *text;
} remarks[] = {
    {23, 25, ANY, ALWAYS, false,
     "NCCL has no kernel events before 2.26: " NO_TIME
     "; CUDA graphs over NVLink alone are not recorded"},
    {23, 23, ANY, ALWAYS, false,
     "NCCL 2.23 gives two communicators that were split with the same color "
     "one id: they count as one communicator, and their operations as some "
     "that "
     "came twice"},
    {26, 26, ANY, ALWAYS, false,
     "kernel events are never used with NCCL 2.26, where they have no GPU "
     "times, can crash the program and can block ncclCommDestroy: " NO_TIME
     "; CUDA graphs over NVLink alone are not recorded"},
    {23, 26, ON, ALWAYS, true, "kernels=1 has no effect before NCCL 2.27"},
    {27, 27, AUTO, ALWAYS, false,
     "kernel events are not used with NCCL 2.27, where they can crash a "
     "program that groups Sends and Receives of small and large "
     "messages: " NO_TIME "; of CUDA graphs over NVLink alone only the capture "
     "is recorded; kernels=1 turns kernel events on"},
    {27, 27, ON, ALWAYS, true,
     "kernels=1 with NCCL 2.27 can crash a program that groups Sends and "
     "Receives of small and large messages (\"Proxy append mismatch\")"},
    {27, 0, OFF, ALWAYS, false,
     "kernels=0: " NO_TIME
     "; of CUDA graphs over NVLink alone only the capture is recorded"},
    {27, 27, ON, ALWAYS, false, COST},
    {28, 0, AUTO, ONE_CPU, true, ONE_PROCESSOR},
    {28, 0, AUTO | ON, MORE_CPUS, false, COST},
    {27, 27, ON, ALWAYS, false, GRAPHS},
    {28, 0, AUTO | ON, MORE_CPUS, false, GRAPHS},
    {27, 27, ON, ALWAYS, false, SELF_COPY},
    {28, 0, AUTO | ON, MORE_CPUS, false, SELF_COPY},
    {29, 30, AUTO | ON, BROADCASTS, false,
     "after Broadcasts of several roots in one group, or in a CUDA graph, the "
     "process has no more kernel events; NCCL_ALLGATHERV_ENABLE=0 avoids this"},
    {29, 30, ANY, BROADCASTS, true,
     "NCCL 2.29 and 2.30 report the calls of Broadcast but not its operations, "
     "unless NCCL_ALLGATHERV_ENABLE=0 is set"},
    {27, 27, ANY, WINDOWS, true,
     "%s is set: NCCL 2.27 does not report operations of symmetric kernels, "
     "not even their number"},
    {28, 0, ANY, WINDOWS, true,
     "%s is set: for operations of symmetric kernels NCCL reports only the "
     "calls, and nothing if a graph captures them"},
};

/* Variables that a user of windows and symmetric kernels sets. NCCL_WIN_ENABLE
 * is 1 by default, so a user who sets it to 1 has windows in mind. */
static const struct {
    const char *name;
    unsigned since;
} signs[] = {
    {"NCCL_WIN_ENABLE", 27},
    {"NCCL_SYM_KERNEL", 27},
    {"NCCL_SYM_CTAS", 27},
    {"NCCL_SYM_NOWIN_ENABLE", 29},
};

#define N(array) (sizeof(array) / sizeof(*(array)))

/* Returns the variable that makes symmetric kernels likely with this minor
 * release, or NULL. NCCL_WIN_ENABLE=0 rules them out. */
static const char *find_sign(const struct backend_input *in, unsigned minor)
{
    const char *off = in->user ? plan_env(in->user, "NCCL_WIN_ENABLE") : NULL;

    if (!in->user || (off && !strcmp(off, "0")))
        return NULL;
    for (size_t i = 0; i < N(signs); i++) {
        const char *value = plan_env(in->user, signs[i].name);

        if (value && strcmp(value, "0") != 0 && minor >= signs[i].since)
            return signs[i].name;
    }
    return NULL;
}

/* Returns whether NCCL may merge Broadcasts, which is its default. */
static bool merges_broadcasts(const struct backend_input *in)
{
    const char *value = in->user ? plan_env(in->user, "NCCL_ALLGATHERV_ENABLE")
                                 : NULL;

    return !value || strcmp(value, "0") != 0;
}

/* Returns the value of kernels= as a bit. */
static unsigned kernels_bit(const struct backend_input *in)
{
    const char *word = plan_get(in->side, "kernels");

    return !strcmp(word, "0") ? OFF : !strcmp(word, "1") ? ON : AUTO;
}

/* Says what should be known about the program's release (nccl=), not the
 * library's. */
static int recorder_notes(const struct backend_input *in, backend_note *say,
                          void *arg, struct jp_error *err)
{
    uint64_t release = plan_number(in->side, "nccl");
    unsigned minor = release >= JP_NCCL_VERSION(3, 0)
                         ? UINT_MAX
                         : (unsigned) (release / 1000 % 1000);
    const char *sign = find_sign(in, minor);
    bool merges = merges_broadcasts(in), one = has_one_processor(in);
    char line[320];

    for (size_t i = 0; i < N(remarks); i++) {
        if (minor < remarks[i].from ||
            (remarks[i].until && minor > remarks[i].until) ||
            !(remarks[i].kernels & kernels_bit(in)) ||
            (remarks[i].when == BROADCASTS && !merges) ||
            (remarks[i].when == WINDOWS && !sign) ||
            (remarks[i].when == ONE_CPU && !one) ||
            (remarks[i].when == MORE_CPUS && one))
            continue;
        if (remarks[i].when == WINDOWS)
            snprintf(line, sizeof(line), "%s%s", sign, remarks[i].text + 2);
        if (say(arg, remarks[i].is_warning,
                remarks[i].when == WINDOWS ? line : remarks[i].text, err) < 0)
            return -1;
    }
    return 0;
}

static const struct backend_planner recorder_planner = {
    .size = recorder_forecast,
    .env = recorder_env,
    .notes = recorder_notes,
};

static const struct jp_mode words[] = {
    {.name = "recorder",
     .help = "jobprof's own recorder: every collective, streamed"},
    {0}};

static const struct jp_knob knobs[] = {
    NCCL_KNOB_RATE,
    /* Kernel events are the only source of GPU times. They are off where they
     * can crash the program (docs/dev/recorder-format.md, "Kernel events"). */
    {JP_KNOB("kernels", JP_KNOB_WORD, 0, 0, "auto|1|0", "auto",
             "whether the recorder uses NCCL's kernel events"),
     .variable = KERNELS_VARIABLE},
    {JP_KNOB("chain", JP_KNOB_TEXT, 0, 0, NULL, NULL,
             "another profiler library behind the recorder: its path, NAME for "
             "libnccl-profiler-NAME.so, or own: the user's "
             "NCCL_PROFILER_PLUGIN"),
     .variable = CHAIN_VARIABLE},
    {JP_KNOB("tags", JP_KNOB_TAGS, 0, 0, NULL, NULL,
             "names of the tags of NCCL's calls (userProfilerTag, 2.31) in the "
             "report: 1:forward;2:backward")},
    {0}};

static const struct jp_knob site_keys[] = {
    {JP_KNOB(
        "recorder", JP_KNOB_PATH, 0, 0, NULL, NULL,
        "libnccl-profiler-jobprof.so to use instead of the installed one")},
    {0}};

/* Variables that the part in the tasks reads (rec_env.h). */
static const char *const variables[] = {"JOBPROF_RECORDER_DIR",
                                        "JOBPROF_RECORDER_MEM",
                                        "JOBPROF_RECORDER_DISK",
                                        "JOBPROF_RECORDER_MIN_FREE",
                                        KERNELS_VARIABLE,
                                        "JOBPROF_RECORDER_NET",
                                        "JOBPROF_RECORDER_DECLINE",
                                        CHAIN_VARIABLE,
                                        NULL};

const struct backend backend_nccl_recorder = {
    .abi = BACKEND_ABI,
    .about = {.name = "recorder",
              .title = "the recorder",
              .option = OPTION_NCCL,
              .words = words,
              .knobs = knobs,
              .site_keys = site_keys,
              .library = "recorder",
              .installed = INSTALLED,
              .mark = "JOBPROF_RECORDER_DIR",
              .variables = variables,
              .is_auto = true,
              .records_live = true,
              .counts = true},
    .planner = &recorder_planner,
    .reader = &recorder_reader,
};

/* The choice of auto, because it streams, loses nothing and works with every
 * NCCL since 2.23. */
extern const struct backend backend_nccl_recorder;
