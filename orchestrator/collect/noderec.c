/* noderec.c - write a node's own record into the step directory. */
#include "config.h"

#include "orchestrator/collect/noderec.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"
#include "orchestrator/collect/clock.h"

static const char *from_env(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

static uint64_t number_from_env(const char *name, uint64_t otherwise)
{
    uint64_t value = otherwise;

    num_parse_u64(getenv(name), 0, UINT32_MAX, &value, NULL);
    return value;
}

/* A string whatever its bytes are: jansson takes UTF-8 only. */
static json_t *text(const char *value)
{
    json_t *json = json_string(value);

    return json ? json : json_string("");
}

/* This boot's id, which tells two nodes of one name apart. "" if unknown. */
static json_t *boot_id(void)
{
    char *id = NULL;
    json_t *json;

    if (fileio_read("/proc/sys/kernel/random/boot_id", false, 128, &id, NULL,
                    NULL) < 0)
        return json_string("");
    id[strcspn(id, "\n")] = '\0';
    json = text(id);
    free(id);
    return json;
}

static json_t *make_record(const struct jp_seat *seat, const char *node)
{
    json_t *json = json_object();
    struct utsname uts = {0};
    uint64_t nodes = number_from_env("SLURM_STEP_NUM_NODES", seat->nodes);
    uint64_t tasks = number_from_env("SLURM_STEP_NUM_TASKS", 0);
    int rc = 0;

    uname(&uts);
    rc |= json_object_set_new(json, "schema", json_integer(1));
    rc |= json_object_set_new(json, "node", text(node));
    rc |= json_object_set_new(json, "hostname", text(uts.nodename));
    rc |= json_object_set_new(json, "nodeid", json_integer(seat->nodeid));
    rc |= json_object_set_new(json, "component",
                              json_integer((json_int_t) seat->component));
    rc |= json_object_set_new(json, "boot_id", boot_id());
    rc |= json_object_set_new(json, "kernel", text(uts.release));
    rc |= json_object_set_new(json, "step_nodelist",
                              text(from_env("SLURM_STEP_NODELIST")));
    rc |= json_object_set_new(json, "step_nodes",
                              json_integer((json_int_t) nodes));
    rc |= json_object_set_new(json, "step_tasks",
                              json_integer((json_int_t) tasks));
    rc |= json_object_set_new(json, "step_tasks_per_node",
                              text(from_env("SLURM_STEP_TASKS_PER_NODE")));
    rc |= json_object_set_new(json, "topology_addr",
                              text(from_env("SLURM_TOPOLOGY_ADDR")));
    rc |= json_object_set_new(json, "jobprof", text(PACKAGE_VERSION));
    rc |= json_object_set_new(json, "begin_us",
                              json_integer((json_int_t) clock_real_us()));
    if (rc == 0)
        return json;
    json_decref(json);
    return NULL;
}

int noderec_write(const struct jp_seat *seat, const char *node,
                  struct jp_error *err)
{
    char *path = fileio_path("%s/nodes/%s/node.json", seat->dir, node);
    json_t *json = make_record(seat, node);
    char *out = json ? json_dumps(json, JSON_COMPACT) : NULL;
    int rc = -1;

    if (path && out)
        rc = fileio_write(path, out, strlen(out), err);
    else
        error_set(err, "out of memory");
    free(out);
    json_decref(json);
    free(path);
    return rc;
}
