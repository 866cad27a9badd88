/* copper_planner.c - Copper's place among the backends: words, knobs, keys of
 * the site file. */
#include "plugins/backend.h"
#include "plugins/copper/copper_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugins/copper/copper_counts.h"
#include "common/fileio.h"
#include "plugins/copper/copper_flags.h"
#include "plugins/copper/copper_mount.h"

/* Copper's daemons make the profile, not variables of the tasks. So it runs
 * beside an NCCL profiler, never in its place. */
static int usable(const struct backend_input *in, struct jp_error *err)
{
    return error_set(err, "Copper runs with --copper-profile");
}

static const struct backend_planner planner = {
    .usable = usable,
};

static const struct jp_option_form form = {
    .off = "no Copper profile", .on_page = "Copper", .only_srun = true};

static const struct jp_mode words[] = {
    {.name = "aggregate", .help = "operation counters only"},
    {.name = "top", .help = "counters and the most used paths"},
    {.name = "full", .help = "counters and all paths"},
    {0}};

enum { TOP = 2, FULL = 4 }; /* a bit for each word, in their order */

static const struct jp_knob knobs[] = {
    {JP_KNOB("top", JP_KNOB_COUNT, 1, 1000000, NULL, "20",
             "paths in each list"),
     .modes = TOP | FULL},
    {JP_KNOB("interval", JP_KNOB_TIME, JP_SECOND, 3600 * JP_SECOND, NULL, NULL,
             "time between two snapshots; default: no snapshots")},
    {JP_KNOB("attach", JP_KNOB_BOOL, 0, 1, NULL, "0",
             "use a Copper mount that exists already")},
    {JP_KNOB("mount", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "where Copper is mounted")},
    {JP_KNOB("ttl", JP_KNOB_COUNT, 0, 3600000, NULL, NULL,
             "lifetime of a negative lookup in ms; default 2000")},
    {JP_KNOB("root", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "Copper's installation (COPPER_ROOT)")},
    {0}};

static const struct jp_knob site_keys[] = {
    {JP_KNOB("cu_fuse", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "Copper's daemon; default ROOT/build/cu_fuse")},
    {JP_KNOB("address_book", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "the site's address book; without it only tcp is possible")},
    {JP_KNOB("net_type", JP_KNOB_TEXT, 0, 0, NULL, NULL,
             "-net_type of the daemons")},
    {JP_KNOB("cores", JP_KNOB_LIST, 0, 0, NULL, NULL,
             "CPUs on which a node's daemon runs")},
    {JP_KNOB("cache_size", JP_KNOB_SIZE, 1, JP_TIB, NULL, NULL,
             "files of this size or more are not cached")},
    {JP_KNOB("args", JP_KNOB_TEXT, 0, 0, NULL, NULL,
             "further flags of the daemons, separated by spaces")},
    {0}};

/* Recognises the logs <host>-<pid>-output.log of the daemons. They contain
 * text, or nothing at the usual log level. */
static bool is_daemon_log(int dir, const char *name)
{
    static const char ending[] = "-output.log";
    size_t len = strlen(name), n_ending = sizeof(ending) - 1;
    char head[512];
    ssize_t n = -1;
    int fd;

    if (len <= n_ending || strcmp(name + len - n_ending, ending) != 0)
        return false;
    /* a FIFO of that name must not block the walk */
    fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, head, sizeof(head));
        close(fd);
    }
    /* -1: it cannot be read, which its reader will report */
    return n == 0 || (n > 0 && copper_log_probe(head, (size_t) n));
}

#define DEVICE "/dev/fuse"

/* Checks what Copper needs, if the site names its daemon. */
static void check_host(const struct backend_host *host)
{
    const char *cu_fuse = plan_site(host->plan, "copper.cu_fuse");
    const char *root = plan_site(host->plan, "copper.root");
    char *daemon = cu_fuse ? strdup(cu_fuse)
                   : root  ? text_format("%s/build/cu_fuse", root)
                           : NULL;
    char *fusermount = daemon ? copper_mount_program(COPPER_MOUNT_PATH) : NULL;
    bool well = true;

    if (!daemon)
        return;
    if (access(daemon, X_OK) < 0) {
        host->add(host, BACKEND_WARN, "copper",
                  "install it: nodes without it run without Copper", "%s: %s",
                  daemon, strerror(errno));
        well = false;
    }
    if (!fusermount) {
        host->add(host, BACKEND_WARN, "copper",
                  "install fuse3: nodes without it run without Copper",
                  "no fusermount3 in " COPPER_MOUNT_PATH);
        well = false;
    }
    /* The daemon runs as the user, who must be able to open the device. */
    if (access(DEVICE, R_OK | W_OK) < 0) {
        host->add(host, BACKEND_WARN, "copper",
                  "run modprobe fuse on the nodes: users need this device",
                  DEVICE ": %s", strerror(errno));
        well = false;
    }
    if (well)
        host->add(host, BACKEND_OK, "copper", "", "%s, unmounted by %s", daemon,
                  fusermount);
    host->need(host, daemon);
    if (fusermount)
        host->need(host, fusermount);
    free(fusermount);
    free(daemon);
}

static bool is_copper(const struct filekind_look *look)
{
    static const char *const logs[] = {"-output.log", NULL};
    struct copper_name name;

    if (filekind_ends_in(look->name, logs))
        return !look->len || copper_log_probe(look->head, look->len);
    return copper_name_parse(look->folder, look->name, &name);
}

static const struct filekind_row kinds[] = {{.one = "file of a Copper cache",
                                             .many = "files of a Copper cache",
                                             .probe = is_copper,
                                             .joined = true},
                                            {.one = NULL}};

/* the registry is generated and has no header */
extern const struct backend backend_copper;
const struct backend backend_copper = {
    .abi = BACKEND_ABI,
    .kinds = kinds,
    .about = {.name = "copper",
              .title = "Copper",
              .option = OPTION_COPPER,
              .form = &form,
              .words = words,
              .knobs = knobs,
              .site_keys = site_keys},
    .planner = &planner,
    .side = &copper_side,
    .runner = &copper_runner,
    .other_log = is_daemon_log,
    .check_host = check_host,
};
