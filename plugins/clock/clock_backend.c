/* clock_backend.c - the clocks' place among the backends: words, knobs, XLA's
 * settings for the same probes, doctor's look.
 *
 * XLA's distributed profiling has variables and a JSON file for its probes.
 * Both are accepted here for ours (docs/measuring.md). Each knob names its XLA
 * variable; find_member uses the same table for the JSON file. */
#include <inttypes.h>
#include <linux/net_tstamp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/jsonload.h"
#include "common/nearest.h"
#include "common/ownplace.h"
#include "common/quote.h"
#include "plugins/backend.h"
#include "plugins/clock/clock_launch.h"
#include "plugins/clock/clock_read.h"
#include "plugins/clock/clock_peers.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

/* The node agent sends the probes, beside any profiler or without one. The
 * clocks are never the profiler of a step themselves. */
static int usable(const struct backend_input *in, struct jp_error *err)
{
    return error_set(err, "clocks are probed by --clock-profile");
}

static const struct backend_planner planner = {
    .usable = usable,
};

#define SETS(cadence_us, window_s, spacing_us, snapshot_ms, cpu_permille)      \
    "probe_cadence_us=" #cadence_us ",probe_window_s=" #window_s               \
    ",packet_spacing_us=" #spacing_us ",snapshot_period_ms=" #snapshot_ms      \
    ",probe_cpu_permille=" #cpu_permille

/* Except for auto, the figures are those that XLA's guide to distributed
 * profiling recommends under these names. The last one is ours: the fastest
 * cadences would take a tenth of a processor. */
/* By the option or JOBPROF_CLOCK; XLA's own variables do not ask for a
 * report. */
static bool is_asked(const struct plan_side *side)
{
    return plan_side_is_own(side) && !side->trouble;
}

static const struct jp_conf_key conf_keys[] = {
    [CLOCK_CADENCE_US] = {"cadence_us", false},
    [CLOCK_WINDOW_MS] = {"window_ms", false},
    [CLOCK_SPACING_US] = {"spacing_us", false},
    [CLOCK_SNAPSHOT_MS] = {"snapshot_ms", false},
    [CLOCK_CPU_PERMILLE] = {"cpu_permille", false},
    [CLOCK_INTERFACES] = {"interfaces", true},
    [CLOCK_SECRET] = {"key", true},
    {0}};

static const struct jp_option_form form = {
    .off = "no clock probes between nodes",
    .on = "enabled",
    .on_mode = "default",
    .only_srun = true,
    .is_asked = is_asked,
    .conf_keys = conf_keys};

static const struct jp_mode words[] = {
    {.name = "auto",
     .help = "probes between nodes at a cost of at most 0.5 % of a processor"},
    {.name = "default",
     .help = "XLA's balanced configuration",
     .sets = SETS(800, 4, 100, 100, 5)},
    {.name = "accurate",
     .help = "XLA's high accuracy",
     .sets = SETS(400, 2, 50, 50, 20)},
    {.name = "light",
     .help = "XLA's low overhead",
     .sets = SETS(2000, 10, 200, 200, 5)},
    {.name = "debug",
     .help = "XLA's configuration for development",
     .sets = SETS(1000, 2, 100, 100, 5)},
    {.name = "training",
     .help = "XLA's example for the training of large models",
     .sets = SETS(1000, 5, 100, 100, 5)},
    {.name = "inference",
     .help = "XLA's example for inference",
     .sets = SETS(500, 3, 75, 75, 10)},
    {.name = "benchmark",
     .help = "XLA's example for benchmarks",
     .sets = SETS(5000, 20, 200, 500, 5)},
    {.name = "sync",
     .help = "XLA's example for problems with synchronization",
     .sets = SETS(200, 1, 50, 25, 20)},
    {0}};

#define COUNT(name, min, max, def, help)                                       \
    JP_KNOB(name, JP_KNOB_COUNT, min, max, NULL, JP_STR(def), help)

static const struct jp_knob knobs[] = {
    {JP_KNOB("enabled", JP_KNOB_BOOL, 0, 1, NULL, NULL,
             "0: as off; 1 in XLA's settings: as default"),
     .variable = "XLA_ENABLE_DISTRIBUTED_PROFILING"},
    {COUNT("probe_cadence_us", 100, 60000000, JP_DEF_CLOCK_CADENCE_US,
           "microseconds between two probes of one neighbour"),
     .variable = "XLA_PROBE_CADENCE_US"},
    {COUNT("probe_window_s", 1, 60, JP_DEF_CLOCK_WINDOW_S,
           "seconds of probes for one estimate of offset and drift"),
     .variable = "XLA_PROBE_WINDOW_S"},
    {COUNT("packet_spacing_us", 0, 1000, JP_DEF_CLOCK_SPACING_US,
           "microseconds between the two packets of a probe"),
     .variable = "XLA_PACKET_SPACING_US"},
    {COUNT("snapshot_period_ms", 10, 1000, JP_DEF_CLOCK_SNAPSHOT_MS,
           "milliseconds between two readings of all clocks of a node"),
     .variable = "XLA_SNAPSHOT_PERIOD_MS"},
    {COUNT("probe_cpu_permille", 1, 1000, JP_DEF_CLOCK_CPU_PERMILLE,
           "thousandths of a processor that a node's probes may take")},
    {JP_KNOB("output_dir", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "with xla=1, the file for the probes of the programs' XLA"),
     .variable = "XLA_DIST_PROF_OUTPUT_DIR"},
    {JP_KNOB("if", JP_KNOB_TEXT, 0, 0, NULL, NULL,
             "interfaces as in NCCL_SOCKET_IFNAME, with ; for a comma")},
    {JP_KNOB("config", JP_KNOB_FILE, 0, 0, NULL, NULL,
             "XLA's JSON file of these keys"),
     .variable = "XLA_DIST_PROF_CONFIG"},
    {JP_KNOB("xla", JP_KNOB_BOOL, 0, 1, NULL, "0",
             "pass the settings to the tasks, so that their XLA probes")},
    {JP_KNOB_SUMMARY},
    {0}};

/* --- XLA's JSON file ------------------------------------------------------ */

/* The knob of a member's name; NULL: the file has no such member. "config" is
 * left out: it is the file itself. */
static const struct jp_knob *find_member(const char *name)
{
    for (const struct jp_knob *k = knobs; k->name; k++)
        if (k->variable && k->kind != JP_KNOB_FILE && !strcmp(k->name, name))
            return k;
    return NULL;
}

/* Refuses a name, with the nearest one or the list of all. */
static int unknown_member(const char *name, struct jp_error *err)
{
    const char *names[N(knobs)], *near;
    char list[256] = "";
    size_t n = 0, used = 0;

    for (const struct jp_knob *k = knobs; k->name; k++)
        if (find_member(k->name))
            names[n++] = k->name;
    near = nearest_find(name, names, n);
    if (near)
        return error_set(err, "unknown key \"%s\"; did you mean \"%s\"?",
                         QUOTE(name), near);
    /* no similar name: list all of them */
    for (size_t i = 0; i < n && used < sizeof(list); i++)
        used += (size_t) snprintf(list + used, sizeof(list) - used, "%s%s",
                                  i ? ", " : "", names[i]);
    return error_set(err, "unknown key \"%s\" (%s)", QUOTE(name), list);
}

/* Sets line and column, from 1, of the name of the object's n-th member, from
 * 0. jansson has positions only for syntax errors, so the text is scanned
 * again. It has been parsed, so brackets and quotes match. */
static void place_member(const char *text, size_t len, size_t n, unsigned *line,
                         unsigned *column)
{
    bool in_text = false, name_next = false;
    size_t start = 0;
    unsigned depth = 0;

    *line = 1;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        /* columns count from the start of the line */
        if (c == '\n') {
            ++*line;
            start = i + 1;
        }
        if (in_text) {
            /* skip an escaped character */
            i += c == '\\';
            in_text = c != '"';
            continue;
        }
        in_text = c == '"';
        /* a string where a name is due, directly inside the object */
        if (in_text && depth == 1 && name_next && n-- == 0) {
            *column = (unsigned) (i - start) + 1;
            return;
        }
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        if (c == '{' || c == ',' || c == '"')
            /* after { or , a name follows, unless inside a nested value */
            name_next = c != '"' && depth == 1;
    }
    *column = 1;
}

/* The value as the option's text: *text is borrowed from the value, or is
 * `number`. -1: the value has the wrong type. */
static int member_text(const struct jp_knob *knob, const json_t *value,
                       char number[24], const char **text, struct jp_error *err)
{
    *text = NULL;
    if (knob->kind == JP_KNOB_BOOL && json_is_boolean(value))
        *text = json_is_true(value) ? "1" : "0";
    /* COUNT takes no fractions, and PATH no numbers */
    if (knob->kind == JP_KNOB_COUNT && json_is_integer(value)) {
        snprintf(number, 24, "%" JSON_INTEGER_FORMAT,
                 json_integer_value(value));
        *text = number;
    }
    if (knob->kind == JP_KNOB_PATH && json_is_string(value))
        *text = json_string_value(value);
    if (*text)
        return 0;
    return error_set(err, "\"%s\" is not %s", knob->name,
                     knob->kind == JP_KNOB_BOOL    ? "true or false"
                     : knob->kind == JP_KNOB_COUNT ? "a whole number"
                                                   : "a string");
}

static int take_member(const char *name, const json_t *value,
                       profiler_take *take, void *arg, struct jp_error *err)
{
    const struct jp_knob *knob = find_member(name);
    const char *text;
    char number[24];

    if (!knob)
        return unknown_member(name, err);
    /* the same check as for the option follows in take */
    if (member_text(knob, value, number, &text, err) < 0)
        return -1;
    return take(arg, name, text, err);
}

/* Passes all members to take. Errors get the position of the member. */
static int take_all(const char *path, const char *text, size_t len,
                    json_t *root, profiler_take *take, void *arg,
                    struct jp_error *err)
{
    const char *name;
    unsigned line, column;
    json_t *value;
    size_t n = 0;

    if (!json_is_object(root))
        return error_set(err, "%s:1:1: not an object", path);
    json_object_foreach(root, name, value)
    {
        if (take_member(name, value, take, arg, err) < 0) {
            place_member(text, len, n, &line, &column);
            return error_wrap(err, "%s:%u:%u", path, line, column);
        }
        /* members are counted to find the position of a bad one */
        n++;
    }
    return 0;
}

/* Reads a regular file. Root reads no file that another user could change. */
static int load_file(const char *path, char **text, size_t *len,
                     struct jp_error *err)
{
    int fd = fileio_open_regular(path, true, err), rc = 0;

    if (fd < 0)
        return -1;
    /* slurmstepd's helper may run as root */
    if (geteuid() == 0)
        rc = ownplace_check_site(fd, path, err);
    if (rc == 0)
        rc = fileio_read_fd(fd, path, jsonload_limits[JSONLOAD_SETTINGS].bytes,
                            text, len, err);
    close(fd);
    return rc;
}

/* The backend's `read`: see plugins/backend.h. */
static int read_file(const char *path, profiler_take *take, void *arg,
                     struct jp_error *err)
{
    char *text = NULL;
    json_error_t why;
    json_t *root;
    size_t len;
    int rc = -1;

    if (load_file(path, &text, &len, err) < 0)
        return -1;
    root = jsonload_at(JSONLOAD_SETTINGS, path, text, len,
                       JSON_REJECT_DUPLICATES, &why, err);
    if (root)
        rc = take_all(path, text, len, root, take, arg, err);
    /* jansson's own error has a position */
    else if (why.line > 0)
        error_set(err, "%s:%d:%d: %s", path, why.line, why.column, why.text);
    json_decref(root);
    free(text);
    return rc;
}

/* --- doctor --------------------------------------------------------------- */

/* Whether the kernel stamps packets of UDP, which a container may forbid. */
static bool has_stamps(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int flags = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE |
                SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_OPT_TSONLY |
                SOF_TIMESTAMPING_OPT_ID;
    bool has = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags,
                                     sizeof(flags)) == 0;

    if (fd >= 0)
        close(fd);
    return has;
}

/* What a node of this kind can do, as doctor's lines. */
static int look_at_node(const struct jp_plan *plan, backend_note *say,
                        void *arg, struct jp_error *err)
{
    static const char source[] =
        "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    const struct plan_side *side = &plan->sides[OPTION_CLOCK];
    /* switched off by the site or the user, not by default */
    bool off = side->grammar && !side->mode &&
               side->mode_source != PLAN_DEFAULT;
    char line[512], *name = NULL;

    if (side->trouble && say(arg, true, side->trouble, err) < 0)
        return -1;
    if (fileio_read(source, false, 4096, &name, NULL, NULL) == 0)
        name[strcspn(name, "\n")] = '\0';
    snprintf(line, sizeof(line),
             "clocks: %s; this host: %s, the kernel's clock is %s",
             off ? "no probes without the option"
                 : "probes in steps of several nodes for which an NCCL profile "
                   "was requested",
             has_stamps()
                 ? "the kernel stamps packets"
                 : "the kernel does not stamp packets (probes are less exact)",
             name ? QUOTE(name) : "unknown");
    free(name);
    return say(arg, false, line, err);
}

/* Checks that an interface for the probes can be found on this host. */
static void check_host(const struct backend_host *host)
{
    const struct plan_side *side = &host->plan->sides[OPTION_CLOCK];
    const char *list = side->grammar ? plan_get(side, "if") : NULL;
    struct peer_iface found[PEER_ADDRESSES];
    struct jp_error err;

    if (!peer_iface_find(list, found, &err))
        host->add(host, BACKEND_WARN, "clocks",
                  list ? "set clock.if to an interface of the nodes (ip -brief "
                         "address)"
                       : "run ip -brief address to see which interfaces are up",
                  "the nodes' clocks are not compared: %s", err.text);
    else
        host->add(host, BACKEND_OK, "clocks", "", "probes use %s (%s)",
                  found[0].name, found[0].address);
}

extern const struct backend backend_clock;
const struct backend backend_clock = {
    .abi = BACKEND_ABI,
    .about = {.name = "clock",
              .title = "the clocks",
              .option = OPTION_CLOCK,
              .form = &form,
              .words = words,
              .knobs = knobs,
              .read = read_file},
    .planner = &planner,
    .side = &clock_side,
    .look = look_at_node,
    .check_host = check_host,
    .clocks = clock_probes_read,
};
