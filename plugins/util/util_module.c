/* util_module.c - the utilisation module of the node agent: samples of node,
 * step, tasks, GPUs and ports.
 *
 * tick takes a sample of everything but GPUs, whose rows come later from a
 * child (readable, or the next tick). Rows go to compressed files
 * (util_rows.h). Besides, a child looks a few times for the frameworks that the
 * tasks have loaded. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/fileio.h"
#include "plugins/module.h"
#include "plugins/util/util_gpu.h"
#include "common/loaded.h"
#include "plugins/util/util_probe.h"
#include "plugins/util/util_rows.h"

#define FLUSH_US 60000000 /* a node that dies loses at most this much */
/* A step is over when all its processes have been gone for this long. */
#define GONE_US 10000000
/* So is a step whose tasks have never been seen. */
#define NEVER_US 600000000

struct util {
    struct module_place place;
    struct util_probe *probe;
    struct util_files *files;
    struct util_gpus *gpus;
    uint64_t began_us, flushed_us;
    /* first and last time that tasks were there; 0: not yet */
    uint64_t first_us, seen_us;
    bool over;
    size_t rows;  /* rows of tasks in this sample, with the step's */
    size_t tasks; /* tasks that were seen so far */
    struct util_row gpu_rows[UTIL_GPUS_MAX];
    struct procfs_pids pids;
    /* what the tasks have loaded */
    struct loaded_list loaded;
    struct loaded_look *look;
    unsigned looks;       /* looks for libraries so far */
    uint64_t look_cpu_us; /* cost of these looks */
};

static void destroy(void *state)
{
    struct util *u = state;

    if (u) {
        loaded_look_stop(u->look);
        util_gpus_stop(u->gpus);
        util_files_destroy(u->files);
        util_probe_destroy(u->probe);
    }
    free(u);
}

static uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t) t.tv_sec * 1000000 + (uint64_t) t.tv_nsec / 1000;
}

/* Returns NULL without an error if no samples are wanted. Without GPUs the
 * module runs nevertheless; err then says why there are none. */
static void *start(const struct module_place *place, struct jp_error *err)
{
    const struct util_step step = {.root = place->root,
                                   .job = place->job,
                                   .step = place->step,
                                   .node = place->node,
                                   .uid = place->uid};
    const struct util_origin origin = {.job = place->job,
                                       .step = place->step,
                                       .node = place->node,
                                       .start_us = now_us()};
    struct util *u = place->period_ms ? calloc(1, sizeof(*u)) : NULL;
    char *dir = text_format("%s/nodes/%s", place->dir, place->node);

    /* sampling is switched off */
    if (!place->period_ms) {
        free(dir);
        return NULL;
    }
    if (u) {
        u->place = *place;
        u->probe = util_probe_create(&step);
        u->files = dir ? util_files_create(dir, &origin, place->disk_bytes)
                       : NULL;
        u->gpus = util_gpus_start(place->nvml_library, place->rsmi_library,
                                  place->gpus, err);
    }
    free(dir);
    if (u && u->probe && u->files)
        return u;
    destroy(u);
    error_set(err, "out of memory");
    return NULL;
}

static int fd(void *state)
{
    const struct util *u = state;

    return u->gpus ? u->gpus->fd : -1;
}

/* Takes a row of the probe. */
static int put_sample(void *arg, enum util_kind kind,
                      const struct util_row *row, struct jp_error *err)
{
    struct util *u = arg;

    u->rows += kind == UTIL_TASK;
    return util_files_add(u->files, kind, row, err);
}

/* Publishes the GPUs' last figures for other modules of the agent. */
static void share_gpus(const struct util *u, size_t n,
                       const struct module_time *now)
{
    struct module_shared *shared = u->place.shared;

    if (!shared)
        return;
    /* other modules run in this process, so no lock is needed */
    shared->n_gpus = n < MODULE_GPUS_MAX ? n : MODULE_GPUS_MAX;
    shared->gpus_us = now->mono_us;
    for (size_t i = 0; i < shared->n_gpus; i++) {
        const struct util_row *row = &u->gpu_rows[i];
        struct module_gpu *gpu = &shared->gpus[i];

        *gpu = (struct module_gpu){.share = row->v[GPU_SM],
                                   .mhz = row->v[GPU_SM_CLOCK],
                                   .watts = row->v[GPU_POWER]};
        snprintf(gpu->bus, sizeof(gpu->bus), "%s", row->id);
    }
}

/* Takes the child's answer if there is one. The rows get the time of their
 * arrival. */
static int take_gpus(struct util *u, const struct module_time *now,
                     struct jp_error *err)
{
    int n = u->gpus
                ? util_gpus_take(u->gpus, now->mono_us / 1000, u->gpu_rows, err)
                : 0;

    for (int i = 0; i < n; i++) {
        u->gpu_rows[i].t_us = now->real_us;
        u->gpu_rows[i].mono_us = now->mono_us;
        /* the rest of this sample is lost, later samples are not */
        if (util_files_add(u->files, UTIL_GPU, &u->gpu_rows[i], err) < 0)
            return -1;
    }
    if (n > 0)
        share_gpus(u, (size_t) n, now);
    return n < 0 ? -1 : 0;
}

/* Starts a child that looks for libraries, or takes its result. Programs load
 * most libraries in their first seconds and a few later; a program that waits
 * for its data may load them much later. */
static int look_at_libraries(struct util *u, const struct module_time *now,
                             struct jp_error *err)
{
    static const uint64_t at_us[] = {3000000, 20000000, 120000000, 600000000};
    uint64_t age_us = u->first_us ? now->mono_us - u->first_us : 0;
    struct procfs_some some;
    int rc = 0;

    if (u->look) {
        rc = loaded_look_take(u->look, now->mono_us / 1000, &u->loaded, err);
        /* the child has ended, well or not */
        if (rc) {
            u->look_cpu_us += u->look->cpu_us;
            loaded_look_stop(u->look);
            u->look = NULL;
        }
        return rc < 0 ? -1 : 0;
    }
    if (u->looks < sizeof(at_us) / sizeof(*at_us) && u->pids.n &&
        age_us >= at_us[u->looks]) {
        /* a look that fails is not repeated before the next time */
        u->looks++;
        util_probe_some(u->probe, &some);
        u->look = loaded_look_start(&some, now->mono_us / 1000, err);
        return u->look ? 0 : -1;
    }
    return 0;
}

static int tick(void *state, const struct module_time *now,
                struct jp_error *err)
{
    struct util *u = state;
    int rc;

    u->rows = 0;
    /* a failed part does not keep the others from being sampled */
    rc = util_probe_take(u->probe, now->real_us, now->mono_us, now->cpu_us,
                         put_sample, u, err);
    u->tasks = util_probe_seen(u->probe, &u->pids);
    if (u->gpus)
        util_gpus_ask(u->gpus, now->mono_us / 1000, &u->pids);
    if (u->rows > 1) /* more than the row of the step itself */
        u->seen_us = now->mono_us;
    if (!u->first_us)
        u->first_us = u->seen_us;
    if (look_at_libraries(u, now, err) < 0)
        rc = -1;
    if (!u->began_us)
        u->began_us = now->mono_us;
    u->over = u->seen_us ? now->mono_us - u->seen_us > GONE_US
                         : now->mono_us - u->began_us > NEVER_US;
    /* also notices a child that does not answer */
    if (take_gpus(u, now, err) < 0)
        rc = -1;
    /* the first flush makes the files visible early */
    if (now->mono_us - u->flushed_us >= FLUSH_US || !u->flushed_us) {
        u->flushed_us = now->mono_us;
        if (util_files_flush(u->files, false, err) < 0)
            rc = -1;
    }
    return rc;
}

static int readable(void *state, const struct module_time *now,
                    struct jp_error *err)
{
    return take_gpus(state, now, err);
}

static bool is_over(void *state)
{
    return ((const struct util *) state)->over;
}

static uint64_t bytes(void *state)
{
    return util_files_bytes(((const struct util *) state)->files);
}

static uint64_t cpu_us(void *state)
{
    const struct util *u = state;

    return u->look_cpu_us + (u->gpus ? u->gpus->cpu_us : 0);
}

/* The module's part of agent.json. */
static void record(void *state, struct jp_json_stream *s)
{
    const struct util *u = state;

    json_stream_count(s, "tasks", u->tasks);
    json_stream_count(s, "gpu_cpu_us", u->gpus ? u->gpus->cpu_us : 0);
    json_stream_count(s, "gpu_max_rss_bytes", u->gpus ? u->gpus->max_rss : 0);
    json_stream_array(s, "frameworks");
    for (uint32_t i = 0; i < u->loaded.n; i++) {
        json_stream_object(s, NULL);
        json_stream_text(s, "name", u->loaded.list[i].name);
        json_stream_text(s, "version", u->loaded.list[i].version);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

static void finish(void *state)
{
    util_files_flush(((struct util *) state)->files, true, NULL);
}

const struct node_module util_module = {
    .name = "util",
    .budget = 0.005,
    .memory_bytes = 64 << 20,
    .start = start,
    .fd = fd,
    .tick = tick,
    .readable = readable,
    .is_over = is_over,
    .bytes = bytes,
    .cpu_us = cpu_us,
    .record = record,
    .finish = finish,
    .destroy = destroy,
};
