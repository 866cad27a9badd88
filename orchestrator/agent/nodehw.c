/* nodehw.c - describe this node's hardware, once per job. */
#include "orchestrator/agent/nodehw.h"

#include <errno.h>
#include <fcntl.h>
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
#include "common/pattern.h"
#include "common/plan.h"
#include "orchestrator/agent/cleanup.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/topo/hardware.h"
#include "orchestrator/topo/nvml.h"
#include "orchestrator/topo/snapshot.h"

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

/* Reads the site's file for this node. */
static int read_site(const char *pattern, const char *node, struct xml *xml)
{
    char *path = pattern_expand_node(pattern, node);
    int fd = -1;
    int rc = -1;

    if (!path)
        return error_set(&xml->why, "out of memory");
    fd = fileio_open_regular(path, true, &xml->why);
    if (fd >= 0 && fileio_check_site(fd, path, &xml->why) == 0)
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

static int look(void *arg, int fd)
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

/* Takes tens of milliseconds unless a driver hangs. */
static void discover(struct xml *xml)
{
    struct look *out = child_alloc(sizeof(*out));
    const struct child child = {.work = look,
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
                                    : "the process that asked ended");
    child_free(out, sizeof(*out));
}

static void get_xml(const struct jp_nodehw *job, const struct jp_sitefile *site,
                    const char *path, struct xml *xml)
{
    const struct sitefile_value *named = sitefile_find(site, "topology_file");

    /* left by a begin that ended before it wrote hardware.json; the source is
     * unknown */
    if (fileio_read(path, false, XML_MAX, &xml->text, &xml->len, NULL) == 0) {
        xml->source = named ? JP_TOPO_SITE : JP_TOPO_HWLOC;
        return;
    }
    if (!named || read_site(named->value, job->node, xml) < 0)
        discover(xml);
    if (xml->text && fileio_write(path, xml->text, xml->len, &xml->why) < 0)
        xml->source = JP_TOPO_NONE;
}

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

/* Queries the drivers in a window. */
static int ask(const struct jp_sitefile *site, struct jp_nvml **nvml,
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
    char *xml_path = fileio_path("%s/topology.xml", job->folder);
    char *path = fileio_path("%s/hardware.json", job->folder);
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
    if (ask(&site, &nvml, &hcas, err) == 0)
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

static int take_lock(const char *lock)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    struct stat st;
    int fd = open(lock, flags, 0600);

    if (fd < 0 && errno == EEXIST && lstat(lock, &st) == 0 &&
        time(NULL) - st.st_mtime > JP_NODEHW_STALE_S) {
        unlink(lock);
        fd = open(lock, flags, 0600);
    }
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

/* Makes <job_dir>/nodes/<node>. */
static char *make_folder(const char *job_dir, const char *node,
                         struct jp_error *err)
{
    char *nodes = fileio_path("%s/nodes", job_dir);
    char *folder = fileio_path("%s/nodes/%s", job_dir, node);

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
    char *path = folder ? fileio_path("%s/hardware.json", folder) : NULL;
    char *lock = folder ? fileio_path("%s/topology.lock", folder) : NULL;
    const struct jp_nodehw job = {folder, node, config};
    struct stat st;
    int rc = folder ? 0 : -1;

    if (rc == 0 && err)
        err->text[0] = '\0';
    if (path && lock && lstat(path, &st) < 0 && take_lock(lock) == 0) {
        int slot = cleanup_add(lock);

        if (lstat(path, &st) < 0) /* another step may just have finished it */
            rc = nodehw_make(&job, err);
        unlink(lock);
        cleanup_drop(slot);
    }
    free(folder);
    free(path);
    free(lock);
    return rc;
}
