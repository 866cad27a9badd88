/* agents.c - add up the node agents' records. */
#include "orchestrator/collect/agents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/jsonload.h"
#include "common/num.h"
#include "common/quote.h"

/* The node's agent.json, or NULL. The caller releases it. */
static json_t *load_agent(const char *step_dir, const char *node)
{
    char *path = text_format("%s/nodes/%s/agent.json", step_dir, node);
    char *text = NULL;
    json_t *root = NULL;
    size_t len = 0;

    if (path && fileio_read(path, false, jsonload_limits[JSONLOAD_NODE].bytes,
                            &text, &len, NULL) == 0)
        root = jsonload(JSONLOAD_NODE, path, text, len, 0, NULL);
    free(text);
    free(path);
    return root;
}

/* Counts a framework of one node. The number of nodes is kept beside each
 * entry. */
static void add_loaded(struct jp_agents *a, const char *name,
                       const char *version)
{
    uint32_t n = a->loaded.n;

    /* replaces an entry without a version */
    loaded_add(&a->loaded, name, version);
    for (uint32_t i = 0; i < a->loaded.n; i++)
        if (strcmp(a->loaded.list[i].name, name) == 0 &&
            (strcmp(a->loaded.list[i].version, version) == 0 || !*version)) {
            a->on[i] = i < n ? a->on[i] + 1 : 1;
            return;
        }
}

/* Takes what the module `live` did not watch. */
static void take_unwatched(struct jp_agents *a, const char *node,
                           const json_t *module)
{
    const json_t *pids = json_object_get(module, "left_pids");
    bool ended = json_is_false(json_object_get(module, "running"));
    struct jp_unwatched u = {
        .left = jsonload_count(module, "left_out", 0),
        .left_comms = jsonload_count(module, "left_comms", 0)};
    const char *why = jsonload_text(module, "why");

    if (!(ended && *why) && !u.left && !u.left_comms)
        return;
    if (a->n_unwatched++ >= JP_UNWATCHED_MAX)
        return;
    snprintf(u.node, sizeof(u.node), "%s", node);
    if (ended)
        clean_text(*why ? why : "ended", JP_CLEAN_ASCII, u.why, sizeof(u.why));
    for (size_t i = 0; i < json_array_size(pids) && u.n_pids < 8; i++)
        u.pids[u.n_pids++] = json_integer_value(json_array_get(pids, i));
    a->unwatched[a->n_unwatched - 1] = u;
}

/* Takes the part of one module. period_ms: as requested. */
static void take_module(struct jp_agents *a, const char *node,
                        const json_t *module, uint32_t period_ms)
{
    const json_t *list = json_object_get(module, "frameworks");
    uint64_t period = jsonload_count(module, "period_ms", 0);
    const char *why = jsonload_text(module, "why");
    char clean[160];

    a->bytes = num_add(a->bytes, jsonload_count(module, "bytes", 0));
    if (!strcmp(jsonload_text(module, "name"), "live"))
        take_unwatched(a, node, module);
    /* the module has lengthened its period to keep its budget */
    if (period_ms && period > period_ms && period <= UINT32_MAX) {
        a->slowed++;
        if (period > a->slowest_ms)
            a->slowest_ms = (uint32_t) period;
    }
    /* a node without GPUs is not an error */
    if (*why && !strstr(why, "no GPU") && a->troubled++ == 0)
        snprintf(a->trouble, sizeof(a->trouble), "%.32s: %s", node,
                 clean_text(why, JP_CLEAN_ASCII, clean, sizeof(clean)));
    for (size_t i = 0; i < json_array_size(list) && i < LOADED_MAX; i++) {
        const json_t *one = json_array_get(list, i);

        add_loaded(a, jsonload_text(one, "name"),
                   jsonload_text(one, "version"));
    }
}

static void take_record(struct jp_agents *a, const char *node,
                        const json_t *root, uint32_t period_ms)
{
    const json_t *modules = json_object_get(root, "modules");
    uint64_t start = jsonload_count(root, "start_us", 0),
             end = jsonload_count(root, "end_us", 0);
    uint64_t rss = jsonload_count(root, "max_rss_bytes", 0), child = 0;

    a->nodes++;
    a->cpu_us = num_add(a->cpu_us, jsonload_count(root, "cpu_us", 0));
    a->wakeups = num_add(a->wakeups, jsonload_count(root, "wakeups", 0));
    /* a clock that was set may make an agent end before it began */
    if (end > start)
        a->lived_us = num_add(a->lived_us, end - start);
    for (size_t i = 0; i < json_array_size(modules) && i < 8; i++) {
        const json_t *module = json_array_get(modules, i);

        /* the child that samples GPUs is a process of its own */
        child = num_add(child, jsonload_count(module, "gpu_max_rss_bytes", 0));
        take_module(a, node, module, period_ms);
    }
    rss = num_add(rss, child);
    if (rss > a->max_rss)
        a->max_rss = rss;
}

void agents_load(const char *step_dir, const struct jp_nodes *nodes,
                 uint32_t period_ms, struct jp_agents *out)
{
    *out = (struct jp_agents){0};
    for (size_t i = 0; nodes && i < nodes->n_nodes; i++) {
        json_t *root = load_agent(nodes_step_dir(&nodes->nodes[i], step_dir),
                                  nodes->nodes[i].name);

        if (json_is_object(root))
            take_record(out, nodes->nodes[i].name, root, period_ms);
        json_decref(root);
    }
}

const char *agents_version(const struct jp_agents *a, const char *name)
{
    const char *version = NULL;

    for (uint32_t i = 0; i < a->loaded.n; i++) {
        if (strcmp(a->loaded.list[i].name, name) != 0)
            continue;
        /* two versions, or an unknown one */
        if (version || !*a->loaded.list[i].version)
            return NULL;
        version = a->loaded.list[i].version;
    }
    return version;
}

char *agents_text(const struct jp_agents *a, char *buf, size_t size)
{
    size_t len;

    *buf = '\0';
    if (!a->nodes || !a->lived_us)
        return buf;
    snprintf(buf, size,
             "%s agent%s: %.2f %% of a processor%s, %s of memory at most, %s "
             "of files, %s wake-up%s",
             FIG_COUNT(a->nodes), plural(a->nodes),
             100 * (double) a->cpu_us / (double) a->lived_us,
             a->nodes > 1 ? " each" : "", FIG_BYTES(a->max_rss),
             FIG_BYTES(a->bytes), FIG_COUNT(a->wakeups), plural(a->wakeups));
    len = strlen(buf);
    if (a->slowed)
        snprintf(buf + len, size - len,
                 "; to stay below its budget %s sampled less often, down to "
                 "every %s",
                 a->slowed < a->nodes ? "some" : "each",
                 FIG_US((double) a->slowest_ms * 1000));
    len = strlen(buf);
    if (a->troubled)
        snprintf(buf + len, size - len, "; %.150s", a->trouble);
    return buf;
}

char *agents_loaded(const struct jp_agents *a, char *buf, size_t size)
{
    size_t len = 0;

    *buf = '\0';
    for (uint32_t i = 0; i < a->loaded.n && len < size; i++) {
        const struct loaded_library *one = &a->loaded.list[i];

        len += (size_t) snprintf(buf + len, size - len, "%s%s%s%s",
                                 len ? ", " : "", one->name,
                                 *one->version ? " " : "", one->version);
    }
    return buf;
}
