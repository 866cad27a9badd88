/* snapshot.c - export this node's topology with hwloc. */
#include "orchestrator/topo/snapshot.h"

#include <errno.h>
#include <hwloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if HWLOC_API_VERSION >= 0x00030000
#define EXPORT_FLAGS HWLOC_TOPOLOGY_EXPORT_XML_FLAG_V2
#else
#define EXPORT_FLAGS 0 /* 2.x writes version 2.0 by default */
#endif

/* A user's HWLOC_XMLFILE would be somebody else's machine. */
static void reset_environment(void)
{
    char name[128];
    bool again = true;

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
    /* a component that is off is loaded all the same, and its libraries */
    setenv("HWLOC_PLUGINS_BLACKLIST",
           "hwloc_gl,hwloc_opencl,hwloc_cuda,hwloc_nvml,hwloc_rsmi,"
           "hwloc_levelzero",
           1);
    setenv("HWLOC_HIDE_ERRORS", "2", 1);
}

static int discover(hwloc_topology_t topology, struct jp_error *err)
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

const char *snapshot_version(void)
{
    static char text[24];
    unsigned v = hwloc_get_api_version();

    snprintf(text, sizeof(text), "%u.%u.%u", v >> 16, v >> 8 & 0xff, v & 0xff);
    return text;
}

char *snapshot_take(size_t *len, struct jp_error *err)
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
    if (discover(topology, err) < 0)
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
