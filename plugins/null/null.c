/* null.c - the template of a backend, and the tests' double.
 *
 * To add a profiler, copy this folder and replace its name by the new one, in
 * files and in their names (CONTRIBUTING.md has the commands). Then add the
 * folder's line to plugins/Makefile.inc. From then on this file is the only one
 * to change. Nothing outside of the folder knows a profiler by name.
 *
 * The imagined profiler of the template reads from a variable in which folder
 * its logs go. A process writes one of these first lines and any number of the
 * second kind:
 *
 *     null 1 HOST PID RANK RANKS NODES
 *     COMM FUNCTION FIRST LAST BYTES EXEC_US
 *
 * The second kind stands for the operations FIRST to LAST of a communicator.
 * The template is built with everything else, but no option offers it.
 */
#include "plugins/backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "common/lines.h"
#include "common/num.h"

/* How much of a log is read. */
static const struct lines_limit null_lines = {
    "null's logs",
    0,
    511,
    0,
    0,
    LINES_SKIP,
    "six words; a file is as long as its step"};

/* --- names and settings --------------------------------------------------- */

/* The words of the option that select it: usually one, the name. */
static const struct jp_mode words[] = {
    {.name = "null", .help = "the null profiler: two lines of text a process"},
    {0}};

/* Knobs of this profiler alone, one row each. Those that all share (iterations,
 * mem, disk, dir ...) exist already. The parser, --help, the settings files and
 * the plan read the row. */
static const struct jp_knob knobs[] = {
    {JP_KNOB("depth", JP_KNOB_COUNT, 1, 1000, NULL, "100",
             "operations that one line may stand for")},
    {0}};

/* Keys of the site's file only: nccl.<key>. */
static const struct jp_knob site_keys[] = {
    {JP_KNOB("null", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "a library for the null profiler, which needs none")},
    {0}};

/* --- planner: in srun, before the launch; pure ---------------------------- */

/* Refuses, with a reason that the user can act upon, if something is missing.
 * Here this is a library that the site names. */
static int usable(const struct backend_input *in, struct jp_error *err)
{
    if (in->library && !in->library_exists)
        return error_set(err, "%s does not exist", in->library);
    return 0;
}

/* Memory and disk of one rank, how they were counted, and what will be missing.
 * -1 if it cannot fit: err says what would. */
static int size(const struct backend_input *in, struct backend_forecast *out,
                struct jp_error *err)
{
    *out = (struct backend_forecast){.memory_bytes = 4096,
                                     .disk_bytes = 4096,
                                     .counted = "two lines of text"};
    return 0;
}

/* Adds the variables, each once. %N is the node's name, filled in on the node.
 */
static int env(const struct backend_input *in, struct backend_env *out,
               struct jp_error *err)
{
    if (backend_env_add(out, err, "NULL_PROFILER_DIR", "%s/raw/%%N",
                        in->step_dir) < 0)
        return -1;
    return backend_env_number(out, err, "NULL_PROFILER_DEPTH",
                              plan_number(in->side, "depth"), "depth=");
}

/* Adds a line if a user should know something about a release or a setting. */
static int notes(const struct backend_input *in, backend_note *say, void *arg,
                 struct jp_error *err)
{
    return in->user && plan_env(in->user, "NULL_PROFILER_DIR")
               ? say(arg, true, "NULL_PROFILER_DIR is replaced", err)
               : 0;
}

static const struct backend_planner planner = {
    .usable = usable,
    .size = size,
    .env = env,
    .notes = notes,
    .fallback = NULL, /* no other backend takes over */
};

/* --- reader: after the step; a file is foreign input ---------------------- */

#define MAGIC "null 1 "
#define OPS_MAX 1000 /* that one line may stand for */

/* One file on its way into the sink. */
struct way {
    const struct reader_sink *sink;
    struct source_facts *facts;
    bool begun;                     /* the first line was there and good */
    struct record base;             /* what all its records share */
    char host[RECORD_MAX_HOST + 1]; /* base.host points here */
};

/* Decides by the first bytes; a name is only a hint. */
static bool probe(const char *name, const void *head, size_t len)
{
    return len >= strlen(MAGIC) && !memcmp(head, MAGIC, strlen(MAGIC));
}

/* Splits a line at blanks into exactly n words. */
static bool split(char *line, char **list, size_t n)
{
    size_t found = 0;
    char *word;

    while ((word = strsep(&line, " ")))
        if (found == n)
            return false;
        else
            list[found++] = word;
    return found == n;
}

/* Parses a whole number within bounds. */
static bool number(const char *text, uint64_t least, uint64_t most,
                   uint64_t *out)
{
    return num_parse_u64(text, least, most, out, NULL) == 0;
}

/* Reads "null 1 HOST PID RANK RANKS NODES". Returns NULL, or why the line is
 * bad. */
static const char *take_head(struct way *w, char *line)
{
    uint64_t pid, rank, ranks, nodes;
    char *word[7];

    if (!split(line, word, 7) ||
        !record_is_word(word[2], strlen(word[2]), RECORD_MAX_HOST) ||
        !number(word[3], 0, INT32_MAX, &pid) ||
        !number(word[5], 1, RECORD_MAX_RANKS, &ranks) ||
        !number(word[4], 0, ranks - 1, &rank) ||
        !number(word[6], 1, ranks, &nodes))
        return "bad first line";
    snprintf(w->host, sizeof(w->host), "%s", word[2]);
    w->base = (struct record){.host = {w->host, strlen(w->host)},
                              .pid = (int64_t) pid,
                              .rank = (uint32_t) rank,
                              .n_ranks = (uint32_t) ranks,
                              .nnodes = (uint32_t) nodes,
                              .has_sn = true};
    w->begun = true;
    return NULL;
}

/* Returns whether a text is an id as records have it: "0x" and hex digits. */
static bool is_id(const char *text)
{
    size_t n = strlen(text);

    return n > 2 && n <= RECORD_MAX_ID && !strncmp(text, "0x", 2) &&
           strspn(text + 2, "0123456789abcdef") == n - 2;
}

/* Reads "COMM FUNCTION FIRST LAST BYTES EXEC_US". The reader must keep the
 * bounds of common/record.h, because no later code checks them. *rc is the
 * result of the sink. */
static const char *take_ops(struct way *w, char *line, int *rc)
{
    uint64_t first, last, busbw;
    struct record record = w->base;
    char *word[6];

    if (!split(line, word, 6) || !is_id(word[0]) ||
        !record_is_word(word[1], strlen(word[1]), RECORD_MAX_FUNC) ||
        !number(word[2], 0, UINT32_MAX, &first) ||
        !number(word[3], first, first + OPS_MAX - 1, &last) ||
        !number(word[4], 0, RECORD_MAX_BYTES, &record.bytes) ||
        !number(word[5], 0, RECORD_MAX_TIME_US, &record.exec_us))
        return "bad operation";
    busbw =
        bandwidth_micro(bandwidth_of(bandwidth_find(word[1]), record.n_ranks,
                                     record.bytes, record.exec_us)
                            .bus_gbs);
    if (busbw > RECORD_MAX_BUSBW_MICRO)
        return "bad bandwidth";
    record.busbw_micro = busbw;
    record.exec_unknown = !record.exec_us;
    record.id = (struct record_text){word[0], strlen(word[0])};
    record.func = (struct record_text){word[1], strlen(word[1])};
    for (record.sn = first; *rc == 0 && record.sn <= last; record.sn++) {
        *rc = w->sink->take(w->sink->arg, &record, 1);
        w->facts->records++;
    }
    return NULL;
}

/* Reads a line. A bad one is counted and does not end the reading. */
static int take_line(struct way *w, char *line)
{
    const char *why;
    int rc = 0;

    w->facts->lines++;
    why = w->begun ? take_ops(w, line, &rc) : take_head(w, line);
    if (why)
        reader_note_bad(w->facts, w->facts->lines, JP_BAD_VALUE, why);
    return rc;
}

/* Reads a file. This reader cannot split files, keeps nothing from file to file
 * and has no counters: losses show in the sequence numbers. */
static int read_file(void *state, const struct reader_input *in,
                     const struct reader_sink *sink, struct source_facts *facts)
{
    struct way w = {.sink = sink, .facts = facts};
    struct jp_error err = {""};
    struct jp_lines *lines =
        in->data
            ? lines_open_memory(in->data, in->len, in->path, &null_lines, &err)
            : lines_open(in->path, &null_lines, &err);
    const struct lines_left *left;
    char *line;
    size_t len;
    int rc = 0, got = 0;

    if (!lines)
        return reader_refuse(facts, in->path, &err);
    /* a last line without its end was cut */
    while (rc == 0 && !atomic_load(in->stop) &&
           (got = lines_next(lines, &line, &len, &err)) > 0 &&
           !lines_is_cut(lines))
        rc = take_line(&w, line);
    /* what the reader has left out (common/lines.h) is bad, too */
    left = lines_left(lines);
    for (uint64_t i = left->too_long + left->with_nul; i > 0; i--)
        reader_note_bad(facts, left->line, JP_BAD_VALUE, left->why);
    facts->bytes += lines_bytes(lines);
    facts->cut = got < 0 || left->early || (got > 0 && lines_is_cut(lines));
    reader_note_damage(facts, got < 0       ? err.text
                              : left->early ? left->why
                                            : NULL);
    lines_close(lines);
    return rc;
}

static const struct backend_reader reader = {.probe = probe, .read = read_file};

/* --- runner: beside the tasks of a node; see plugins/backend.h ------------ */

/* What runs beside the tasks here is just one number. */
struct beside {
    unsigned asked; /* how often ready() was called */
    bool ended;
};

static int start(const struct jp_jobconf *conf, const char *step_dir,
                 const char *node, void **state, struct jp_error *err)
{
    *state = calloc(1, sizeof(struct beside));
    return *state ? 0 : error_set(err, "out of memory");
}

/* Must not block: it is called again until it says yes. */
static int ready(void *state, struct jp_error *err)
{
    struct beside *beside = state;

    return beside->asked++ > 0;
}

static int stop(void *state, bool force)
{
    struct beside *beside = state;

    beside->ended = true;
    return 1;
}

static int collect(void *state, struct jp_error *err)
{
    struct beside *beside = state;

    return beside->ended ? 0 : error_set(err, "still runs");
}

static void destroy(void *state)
{
    free(state);
}

static const struct backend_runner runner = {
    .start = start,
    .ready = ready,
    .stop = stop,
    .collect = collect,
    .destroy = destroy,
};

/* --- doctor --------------------------------------------------------------- */

/* Checks on this host, one line each. */
static int look_at_node(const struct jp_plan *plan, backend_note *say,
                        void *arg, struct jp_error *err)
{
    return say(arg, false, "null: needs no library", err);
}

extern const struct backend backend_null;
const struct backend backend_null = {
    .abi = BACKEND_ABI,
    .about = {.name = "null",
              .title = "the null profiler",
              .option = OPTION_NCCL,
              .words = words,
              .knobs = knobs,
              .site_keys = site_keys,
              .library = "null"},
    .planner = &planner,
    .reader = &reader,
    .runner = &runner,
    /* A profiler of NCCL has no .side and no .about.form: they are of an option
     * of its own. A folder that only adds knobs to an option has no words. */
    .look = look_at_node,
};
