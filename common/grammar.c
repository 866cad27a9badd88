/* grammar.c - the tables of modes and knobs. */
#include "common/grammar.h"

#include <stdio.h>
#include <string.h>

#include "common/defaults.h"

#define STR_(x) #x
#define STR(x) STR_(x)
#define N(array) (sizeof(array) / sizeof(*(array)))

#define KIB (1ULL << 10)
#define MIB (1ULL << 20)
#define GIB (1ULL << 30)
#define TIB (1ULL << 40)
#define SECOND 1000000ULL

static const struct jp_mode nccl_modes[] = {
    {"off", "the step runs unprofiled"},
    {"auto", "the recorder"},
    {"inspector", "NVIDIA's Inspector where the site names it, else the "
                  "recorder"},
    {"example", "NVIDIA's example plugin: a timeline of the last operations"},
    {"recorder", "jobprof's own recorder: every collective, streamed"},
    {"plan", "print what mode= would set and run the step unprofiled"},
};

/* Bits of nccl_modes. */
enum { AUTO = 2, INSPECTOR = 4, EXAMPLE = 8, RECORDER = 16, PLAN = 32 };
#define ANY (AUTO | INSPECTOR | EXAMPLE | RECORDER | PLAN)
#define STREAM (AUTO | INSPECTOR | RECORDER | PLAN)

static const struct jp_knob nccl_knobs[] = {
    {"iterations", JP_KNOB_COUNT, 1, 1000000000, ANY, NULL,
     STR(JP_DEF_ITERATIONS), "iterations that the plan counts with"},
    {"colls", JP_KNOB_COUNT, 1, 1000000, ANY, NULL, STR(JP_DEF_COLLS),
     "collectives in one iteration, all communicators of a rank together"},
    {"comms", JP_KNOB_COUNT, 1, 4096, ANY, NULL, STR(JP_DEF_COMMS),
     "communicators of one rank"},
    {"p2p", JP_KNOB_COUNT_OR_OFF, 0, 1000000, ANY, NULL, "0",
     "sends and receives in one iteration; off records none"},
    {"rate", JP_KNOB_RATE, 1, 10000000, STREAM, NULL, STR(JP_DEF_RATE),
     "peak of collectives a second in one communicator"},
    {"interval", JP_KNOB_TIME, 500, 3600 * SECOND, INSPECTOR | PLAN, NULL,
     JP_DEF_INTERVAL, "time between two writes of Inspector"},
    {"ring", JP_KNOB_COUNT, 16, 16 * MIB, INSPECTOR | PLAN, NULL, NULL,
     "slots of each of Inspector's rings; by rate and interval without it"},
    {"channels", JP_KNOB_COUNT, 1, 64, INSPECTOR | EXAMPLE | PLAN, NULL,
     STR(JP_DEF_CHANNELS),
     "channels of an operation that the plan counts with"},
    {"mem", JP_KNOB_SIZE, MIB, TIB, ANY, NULL, JP_DEF_MEM,
     "memory of one rank that the profiler may take"},
    {"disk", JP_KNOB_SIZE, MIB, 1024 * TIB, ANY, NULL, JP_DEF_DISK,
     "disk that the raw files of one step may take"},
    {"min_free", JP_KNOB_SIZE, 0, 1024 * TIB, ANY, NULL, JP_DEF_MIN_FREE,
     "free space below which nothing is written"},
    {"nccl", JP_KNOB_VERSION, 0, 0, ANY, NULL, JP_DEF_NCCL_VERSION,
     "NCCL release of the program"},
    {"verbose", JP_KNOB_BOOL, 0, 1, INSPECTOR | PLAN, NULL, "0",
     "each operation's events too: more than twice the volume"},
    {"min_size", JP_KNOB_SIZE, 0, TIB, INSPECTOR | PLAN, NULL,
     STR(JP_DEF_MIN_SIZE), "smallest message that is recorded"},
    {"dir", JP_KNOB_PATTERN, 0, 0, ANY, NULL, JP_DEF_DIR,
     "the job's directory; step-ID is added"},
    {"summary", JP_KNOB_WORD, 0, 0, ANY, "auto|off|line|card", "auto",
     "what srun prints at the end"},
    {"force", JP_KNOB_BOOL, 0, 1, ANY, NULL, "0",
     "replace NCCL_ variables that the user has set himself"},
    {"mode", JP_KNOB_WORD, 0, 0, PLAN, "inspector|example|recorder",
     JP_DEF_NCCL_AUTO, "what is planned"},
};

static const struct jp_mode copper_modes[] = {
    {"off", "no Copper profile"},
    {"aggregate", "operation counters only"},
    {"top", "counters and the most used paths"},
    {"full", "counters and all paths"},
};

enum { AGGREGATE = 2, TOP = 4, FULL = 8 };
#define ANY_COPPER (AGGREGATE | TOP | FULL)

static const struct jp_knob copper_knobs[] = {
    {"top", JP_KNOB_COUNT, 1, 1000000, TOP | FULL, NULL, "20",
     "paths in each list"},
    {"interval", JP_KNOB_TIME, SECOND, 3600 * SECOND, ANY_COPPER, NULL, NULL,
     "time between two snapshots; none without it"},
    {"attach", JP_KNOB_BOOL, 0, 1, ANY_COPPER, NULL, "0",
     "use the Copper that is mounted already"},
    {"mount", JP_KNOB_PATH, 0, 0, ANY_COPPER, NULL, NULL,
     "where Copper is mounted"},
    {"ttl", JP_KNOB_COUNT, 0, 3600000, ANY_COPPER, NULL, NULL,
     "life of a negative lookup in ms; Copper's own without it"},
    {"root", JP_KNOB_PATH, 0, 0, ANY_COPPER, NULL, NULL,
     "Copper's installation (COPPER_ROOT)"},
};

const struct jp_grammar jp_grammar_nccl = {
    "--nccl-profile", "JOBPROF_NCCL", "nccl",       nccl_modes,
    N(nccl_modes),    nccl_knobs,     N(nccl_knobs)};
const struct jp_grammar jp_grammar_copper = {
    "--copper-profile", "JOBPROF_COPPER", "copper",       copper_modes,
    N(copper_modes),    copper_knobs,     N(copper_knobs)};

_Static_assert(N(nccl_knobs) <= JP_KNOBS_MAX, "raise JP_KNOBS_MAX");
_Static_assert(N(copper_knobs) <= JP_KNOBS_MAX, "raise JP_KNOBS_MAX");
_Static_assert(N(nccl_modes) <= JP_MODES_MAX, "raise JP_MODES_MAX");

int grammar_find_mode(const struct jp_grammar *grammar, const char *name)
{
    for (size_t i = 0; i < grammar->n_modes; i++)
        if (!strcmp(grammar->modes[i].name, name))
            return (int) i;
    return -1;
}

int grammar_find_knob(const struct jp_grammar *grammar, const char *name)
{
    for (size_t i = 0; i < grammar->n_knobs; i++)
        if (!strcmp(grammar->knobs[i].name, name))
            return (int) i;
    return -1;
}

char *grammar_list_modes(const struct jp_grammar *grammar, unsigned mask,
                         char *buf, size_t len)
{
    size_t used = 0;
    unsigned left = mask & ((1u << grammar->n_modes) - 1);

    buf[0] = '\0';
    for (size_t i = 0; i < grammar->n_modes && used < len; i++) {
        const char *before;

        if (!(left >> i & 1))
            continue;
        left &= ~(1u << i);
        before = !used ? "" : left ? ", " : " or ";
        used += (size_t) snprintf(buf + used, len - used, "%s%s", before,
                                  grammar->modes[i].name);
    }
    return buf;
}
