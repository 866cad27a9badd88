/* nodehw.c - describe this node's hardware, once per job.
 *
 * nodehw_share decides which step of the job writes the files; nodehw_make
 * writes them. Everything that may hang in a driver runs in a child: hwloc
 * here, NVML and the network adapters in orchestrator/topo. The first part
 * removes unfinished files if this process is ended by a signal.
 */
#include "orchestrator/agent/nodehw.h"

#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/fileio.h"
#include "common/ownplace.h"
#include "common/pattern.h"
#include "common/plan.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/topo/hardware.h"

/* --- unfinished files, which a signal removes ---------------------------- */

#define CLEANUP_MAX 4 /* paths at a time */

static const int end_signals[] = {SIGTERM, SIGINT, SIGHUP, SIGALRM};
/* Fixed memory, because the signal handler reads it: the held folder that a
 * path is in, and the rest of the path (ownplace_at). */
static int folders[CLEANUP_MAX];
static char paths[CLEANUP_MAX][PATH_MAX];
static volatile sig_atomic_t used[CLEANUP_MAX];

/* The signal handler: async-signal-safe calls only. */
static void on_end(int sig)
{
    (void) sig;
    for (int i = 0; i < CLEANUP_MAX; i++)
        if (used[i])
            unlinkat(folders[i], paths[i], 0);
    _exit(0);
}

/* Blocks or unblocks (how) the signals that end us. */
static void set_mask(int how)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(end_signals) / sizeof(end_signals[0]); i++)
        sigaddset(&set, end_signals[i]);
    sigprocmask(how, &set, NULL);
}

/* A window is open during the long parts of the work. Signals are delivered
 * only there. */
static void cleanup_open_window(void)
{
    set_mask(SIG_UNBLOCK);
}

static void cleanup_close_window(void)
{
    set_mask(SIG_BLOCK);
}

void nodehw_init(void)
{
    struct sigaction action = {.sa_handler = on_end};

    set_mask(SIG_BLOCK);
    /* No second signal may interrupt the handler. */
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(end_signals) / sizeof(end_signals[0]); i++)
        sigaction(end_signals[i], &action, NULL);
}

/* Registers a path (copied) for removal by a signal. Returns its slot, or -1 if
 * the path is too long or the table is full; such a path is not removed.
 * Signals are blocked, so the handler never sees half a path. */
static int cleanup_add(const char *path)
{
    int folder = ownplace_at(&path);
    size_t n = strlen(path);

    if (n >= PATH_MAX)
        return -1;
    for (int i = 0; i < CLEANUP_MAX; i++) {
        if (used[i])
            continue;
        folders[i] = folder;
        memcpy(paths[i], path, n + 1);
        used[i] = 1;
        return i;
    }
    return -1;
}

/* Forgets the slot: its file is complete or gone. -1: does nothing. */
static void cleanup_drop(int slot)
{
    if (slot >= 0)
        used[slot] = 0;
}

/* --- topology.xml: the node's hardware as hwloc sees it ----------------------
 */

/* hwloc's v2 XML with all I/O objects and with what the job's cgroup hides,
 * once per job and node. hwloc's discovery is loaded without the components
 * that hang in a driver (gl, opencl, nvml, rsmi, levelzero; hardware.h asks
 * NVML itself, in a child), need a CUDA context (cuda) or move the thread over
 * all CPUs (x86), and without their plugins, which would load those drivers'
 * libraries. */

#if HWLOC_API_VERSION >= 0x00030000
#define EXPORT_FLAGS HWLOC_TOPOLOGY_EXPORT_XML_FLAG_V2
#else
#define EXPORT_FLAGS 0 /* 2.x writes version 2.0 by default */
#endif

/* Removes the user's HWLOC_ variables and sets our own. A user's HWLOC_XMLFILE
 * would describe another machine. */
static void reset_environment(void)
{
    char name[128];
    bool again = true;

    /* unsetenv moves the entries of environ, so the search starts over. */
    while (again) {
        again = false;
        for (char **var = environ; *var && !again; var++) {
            size_t n = strcspn(*var, "=");

            if (strncmp(*var, "HWLOC_", 6) != 0 || n >= sizeof(name))
                continue;
            memcpy(name, *var, n);
            name[n] = '\0';
            again = unsetenv(name) == 0;
        }
    }
    setenv("HWLOC_COMPONENTS", "-gl,-opencl,-cuda,-nvml,-rsmi,-levelzero,-x86",
           1);
    /* A plugin of hwloc is loaded with its libraries even if its component is
     * off, so the plugins are excluded as well. */
    setenv("HWLOC_PLUGINS_BLACKLIST",
           "hwloc_gl,hwloc_opencl,hwloc_cuda,hwloc_nvml,hwloc_rsmi,"
           "hwloc_levelzero",
           1);
    setenv("HWLOC_HIDE_ERRORS", "2", 1);
}

/* Loads the topology with everything that the job's cgroup hides, and with all
 * PCI devices: the report needs the whole node. */
static int load_topology(hwloc_topology_t topology, struct jp_error *err)
{
    const unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;

    if (hwloc_topology_set_flags(topology, flags) < 0 ||
        hwloc_topology_set_io_types_filter(topology,
                                           HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
        hwloc_topology_load(topology) < 0)
        return error_set(err, "hwloc: the topology cannot be read: %s",
                         strerror(errno));
    return 0;
}

/* The version of hwloc's interface that is in use: "2.9.0". Static memory. */
static const char *snapshot_version(void)
{
    static char text[24];
    unsigned v = hwloc_get_api_version();

    snprintf(text, sizeof(text), "%u.%u.%u", v >> 16, v >> 8 & 0xff, v & 0xff);
    return text;
}

/* Runs hwloc. Returns the XML (caller frees) and its length, or NULL. Changes
 * HWLOC_* variables of this process, which is a child. */
static char *snapshot_take(size_t *len, struct jp_error *err)
{
    hwloc_topology_t topology = NULL;
    char *xml = NULL;
    char *copy = NULL;
    int n = 0;

    reset_environment();
    if (hwloc_topology_init(&topology) < 0) {
        error_set(err, "hwloc: %s", strerror(errno));
        return NULL;
    }
    if (load_topology(topology, err) < 0)
        goto out;
    if (hwloc_topology_export_xmlbuffer(topology, &xml, &n, EXPORT_FLAGS) < 0 ||
        n <= 1) {
        error_set(err, "hwloc: no XML: %s", strerror(errno));
        goto out;
    }
    *len = (size_t) n - 1; /* n counts the final NUL */
    copy = strndup(xml, *len);
    if (!copy)
        error_set(err, "out of memory");
out:
    if (xml)
        hwloc_free_xmlbuffer(topology, xml);
    hwloc_topology_destroy(topology);
    return copy;
}

/* A driver without persistence mode needs 20 s and more to initialise eight
 * GPUs. No step waits for this. The sum of all limits is below begin's own
 * limit. */
#define NVML_LIMIT_MS 60000
#define HCA_LIMIT_MS 20000
#define HWLOC_LIMIT_MS 30000
#define XML_MAX (64 * 1024 * 1024)

/* --- the two files ------------------------------------------------------ */

/* A topology and its source. */
struct xml {
    char *text;
    size_t len;
    enum jp_topo_source source;
    struct jp_error why; /* why there is none, or why it is not the site's */
};

/* Reads the site's file for this node into xml. It must be safe from changes by
 * other users. Returns -1 if it cannot be used; xml->why says why. */
static int read_site(const char *pattern, const char *node, struct xml *xml)
{
    char *path = pattern_expand_node(pattern, node);
    int fd = -1;
    int rc = -1;

    if (!path)
        return error_set(&xml->why, "out of memory");
    fd = fileio_open_regular(path, true, &xml->why);
    if (fd >= 0 && ownplace_check_site(fd, path, &xml->why) == 0)
        rc =
            fileio_read_fd(fd, path, XML_MAX, &xml->text, &xml->len, &xml->why);
    if (fd >= 0)
        close(fd);
    free(path);
    if (rc == 0)
        xml->source = JP_TOPO_SITE;
    return rc;
}

/* The result of the child that runs hwloc. */
struct look {
    size_t len; /* 0: no topology */
    struct jp_error err;
    char text[XML_MAX]; /* untouched pages use no memory */
};

/* Runs in the child (child.work) and leaves its result in shared memory. */
static int take_topology(void *arg, int fd)
{
    struct look *out = arg;
    size_t len = 0;
    char *text = snapshot_take(&len, &out->err);

    (void) fd;
    if (text && len < XML_MAX) {
        memcpy(out->text, text, len);
        out->len = len;
    } else if (text) {
        error_set(&out->err, "hwloc: %zu bytes of XML are too many", len);
    }
    free(text);
    return 0;
}

/* Fills xml by hwloc, in a child with a time limit. It takes tens of
 * milliseconds unless a driver hangs. */
static void discover_topology(struct xml *xml)
{
    struct look *out = child_alloc(sizeof(*out));
    const struct child child = {.work = take_topology,
                                .arg = out,
                                .limit_ms = HWLOC_LIMIT_MS,
                                .dies_with_us = true};
    enum child_end end = CHILD_NEVER;
    struct child_result r;
    bool done = false;

    if (out) {
        cleanup_open_window();
        end = child_run(&child, &r);
        done = child_succeeded(end, &r);
        cleanup_close_window();
    }
    /* The child's memory is foreign input: check the length, and take no more
     * than the text up to its NUL. */
    if (done && out->len > 0 && out->len < XML_MAX) {
        xml->text = strndup(out->text, out->len);
        xml->len = xml->text ? strlen(xml->text) : 0;
    }
    if (xml->text)
        xml->source = JP_TOPO_HWLOC;
    else if (done)
        error_set(&xml->why, "%.500s", out->err.text);
    else
        error_set(&xml->why, "hwloc: %s",
                  end == CHILD_LATE ? "no answer in time"
                                    : "the querying process ended");
    child_free(out, sizeof(*out));
}

/* Gets the topology from the first source that has one: the file of an earlier
 * begin, the site's file, hwloc. A new one is written to path. */
static void get_xml(const struct jp_nodehw *job, const struct jp_sitefile *site,
                    const char *path, struct xml *xml)
{
    const struct sitefile_value *named = sitefile_find(site, "topology_file");

    /* An earlier begin has ended before it wrote hardware.json. Which source
     * its XML has is not recorded; the site file decides, as it did then. */
    if (fileio_read(path, false, XML_MAX, &xml->text, &xml->len, NULL) == 0) {
        xml->source = named ? JP_TOPO_SITE : JP_TOPO_HWLOC;
        return;
    }
    if (!named || read_site(named->value, job->node, xml) < 0)
        discover_topology(xml);
    if (xml->text && fileio_write(path, xml->text, xml->len, &xml->why) < 0)
        xml->source = JP_TOPO_NONE;
}

/* Writes hardware.json, which also says where the topology is from. It is
 * written last: its existence means that both files are complete. */
static int write_hardware(const struct jp_nodehw *job, const char *path,
                          const struct xml *xml, const struct jp_nvml *nvml,
                          const struct jp_hcas *hcas, struct jp_error *err)
{
    const char *addr = getenv("SLURM_TOPOLOGY_ADDR");
    struct jp_hardware hw = {.node = job->node,
                             .topology_addr = addr ? addr : "",
                             .hwloc = "",
                             .source = xml->source,
                             .why = xml->why.text,
                             .nvml = nvml,
                             .hcas = hcas};
    size_t len = 0;
    char *text;
    int rc;

    if (xml->source != JP_TOPO_NONE) {
        hardware_shape(xml->text, xml->len, hw.shape);
        hw.xml_bytes = xml->len;
    }
    if (xml->source == JP_TOPO_HWLOC)
        hw.hwloc = snapshot_version();
    text = hardware_format(&hw, &len, err);
    rc = text ? fileio_write(path, text, len, err) : -1;
    free(text);
    return rc;
}

/* Queries the drivers of GPUs and network adapters in a window. *nvml and *hcas
 * are owned by the caller. If NVML does not answer, /proc shows at least which
 * GPUs exist. */
static int ask_drivers(const struct jp_sitefile *site, struct jp_nvml **nvml,
                       struct jp_hcas **hcas, struct jp_error *err)
{
    const struct sitefile_value *named = sitefile_find(site, "nvml_library");

    cleanup_open_window();
    *nvml = nvml_ask(named ? named->value : JP_NVML_LIBRARY, NVML_LIMIT_MS);
    *hcas = hca_ask("", HCA_LIMIT_MS);
    cleanup_close_window();
    if (!*nvml || !*hcas)
        return error_set(err, "out of memory");
    if ((*nvml)->probe != JP_NVML_OK && (*nvml)->n_gpus == 0)
        nvml_read_proc("", *nvml);
    return 0;
}

int nodehw_make(const struct jp_nodehw *job, struct jp_error *err)
{
    char *xml_path = text_format("%s/topology.xml", job->folder);
    char *path = text_format("%s/hardware.json", job->folder);
    struct jp_sitefile site = {0};
    struct xml xml = {.source = JP_TOPO_NONE};
    struct jp_nvml *nvml = NULL;
    struct jp_hcas *hcas = NULL;
    int rc = -1;

    if (!xml_path || !path) {
        error_set(err, "out of memory");
        goto out;
    }
    /* srun reports errors in the site file */
    (void) plan_load_site(job->config, &site, NULL);
    get_xml(job, &site, xml_path, &xml);
    if (ask_drivers(&site, &nvml, &hcas, err) == 0)
        rc = write_hardware(job, path, &xml, nvml, hcas, err);
    if (rc == 0 && err)
        *err = xml.why;
out:
    free(nvml);
    free(hcas);
    free(xml.text);
    free(xml_path);
    free(path);
    sitefile_fini(&site);
    return rc;
}

/* --- once per job ------------------------------------------------------- */

/* Creates the lock file. A lock that is too old was left by a killed process
 * and is replaced; of several processes that do so at once, O_EXCL lets one
 * succeed. -1: another process has the lock. */
static int take_lock(const char *lock)
{
    const char *rest = lock;
    int at = ownplace_at(&rest);
    struct stat st;
    int fd = ownplace_create(lock, NULL);

    if (fd < 0 && errno == EEXIST &&
        fstatat(at, rest, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        time(NULL) - st.st_mtime > JP_NODEHW_STALE_S) {
        ownplace_unlink(lock);
        fd = ownplace_create(lock, NULL);
    }
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

/* Makes <job_dir>/nodes/<node>. Returns its path (caller frees), or NULL and
 * err. */
static char *make_folder(const char *job_dir, const char *node,
                         struct jp_error *err)
{
    char *nodes = text_format("%s/nodes", job_dir);
    char *folder = text_format("%s/nodes/%s", job_dir, node);

    if (!nodes || !folder || fileio_mkdir(nodes, err) < 0 ||
        fileio_mkdir(folder, err) < 0) {
        free(folder);
        folder = NULL;
    }
    free(nodes);
    return folder;
}

int nodehw_share(const char *job_dir, const char *node, const char *config,
                 struct jp_error *err)
{
    char *folder = make_folder(job_dir, node, err);
    char *path = folder ? text_format("%s/hardware.json", folder) : NULL;
    char *lock = folder ? text_format("%s/topology.lock", folder) : NULL;
    const struct jp_nodehw job = {folder, node, config};
    struct stat st;
    int rc = folder ? 0 : -1;

    if (rc == 0 && err)
        err->text[0] = '\0';
    if (path && lock && lstat(path, &st) < 0 && take_lock(lock) == 0) {
        int slot = cleanup_add(lock);

        if (lstat(path, &st) < 0) /* another step may just have finished it */
            rc = nodehw_make(&job, err);
        ownplace_unlink(lock);
        cleanup_drop(slot);
    }
    free(folder);
    free(path);
    free(lock);
    return rc;
}
