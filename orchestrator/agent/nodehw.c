/* nodehw.c - make topology.xml and hardware.json of this node. */
#include "orchestrator/agent/nodehw.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/plan_site.h"
#include "orchestrator/agent/cleanup.h"
#include "orchestrator/topo/bounded.h"
#include "orchestrator/topo/gpuproc.h"
#include "orchestrator/topo/hardware.h"
#include "orchestrator/topo/snapshot.h"

/* A driver without persistence mode initialises eight GPUs in 20 s and more; no
 * step waits for it. All together stay below begin's own end. */
#define NVML_LIMIT_MS 60000
#define HCA_LIMIT_MS 20000
#define HWLOC_LIMIT_MS 30000
#define XML_MAX (64 * 1024 * 1024)

/* A topology, and how it was got. */
struct xml {
    char *text;
    size_t len;
    enum jp_topo_source source;
    struct jp_error why; /* there is none, or not the site's */
};

/* pattern with %N replaced; NULL without memory. */
static char *expand(const char *pattern, const char *node)
{
    char *path = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&path, &len);
    const char *hit;

    if (!out)
        return NULL;
    while ((hit = strstr(pattern, "%N"))) {
        fwrite(pattern, 1, (size_t) (hit - pattern), out);
        fputs(node, out);
        pattern = hit + 2;
    }
    fputs(pattern, out);
    if (fclose(out) == 0)
        return path;
    free(path);
    return NULL;
}

/* The site's file for this node. */
static int read_site(const char *pattern, const char *node, struct xml *xml)
{
    char *path = expand(pattern, node);
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

/* What the child that looks leaves behind. */
struct look {
    size_t len; /* 0: there is none */
    struct jp_error err;
    char text[XML_MAX]; /* pages that are not touched cost nothing */
};

static void look(const void *arg, void *shared)
{
    struct look *out = shared;
    size_t len = 0;
    char *text = snapshot_take(&len, &out->err);

    (void) arg;
    if (text && len < XML_MAX) {
        memcpy(out->text, text, len);
        out->len = len;
    } else if (text) {
        error_set(&out->err, "hwloc: %zu bytes of XML are too many", len);
    }
    free(text);
}

/* Takes tens of milliseconds where nothing hangs. */
static void discover(struct xml *xml)
{
    struct look *out = bounded_alloc(sizeof(*out));
    enum jp_bounded end = JP_BOUNDED_NEVER;

    if (out) {
        cleanup_open_window();
        end = bounded_run(look, NULL, out, HWLOC_LIMIT_MS);
        cleanup_close_window();
    }
    if (end == JP_BOUNDED_DONE && out->len > 0 && out->len < XML_MAX) {
        xml->text = strndup(out->text, out->len);
        xml->len = xml->text ? strlen(xml->text) : 0;
    }
    if (xml->text)
        xml->source = JP_TOPO_HWLOC;
    else if (end == JP_BOUNDED_DONE)
        error_set(&xml->why, "%.500s", out->err.text);
    else
        error_set(&xml->why, "hwloc: %s",
                  end == JP_BOUNDED_LATE ? "no answer in time"
                                         : "the process that asked ended");
    bounded_free(out, sizeof(*out));
}

static void get_xml(const struct jp_nodehw *job, const struct jp_sitefile *site,
                    const char *path, struct xml *xml)
{
    const struct sitefile_value *named = sitefile_find(site, "topology_file");

    /* made by a begin that ended before hardware.json: by whom, is not known */
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
        shape_hash(xml->text, xml->len, hw.shape);
        hw.xml_bytes = xml->len;
    }
    if (xml->source == JP_TOPO_HWLOC)
        hw.hwloc = snapshot_version();
    text = hardware_format(&hw, &len, err);
    rc = text ? fileio_write(path, text, len, err) : -1;
    free(text);
    return rc;
}

/* What the drivers say, with the signals let through meanwhile. */
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
        gpuproc_read("", *nvml);
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
    /* a bad file is srun's to complain of */
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
