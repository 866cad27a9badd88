/* util_gpu.c - a module of the node agent, and samples by drivers in a child. */
#include "plugins/util/util_gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plugins/util/util_rsmi.h"
#include "common/fileio.h"
#include "plugins/module.h"
#include "plugins/util/util_loaded.h"
#include "plugins/util/util_probe.h"
#include "plugins/util/util_rows.h"

/* Utilisation of node, step, tasks, GPUs and ports. */

#define FLUSH_US 60000000 /* a node that dies loses so much at most */
/* A step whose processes are all gone for so long is over. */
#define GONE_US 10000000
/* So is one whose tasks have never come. */
#define NEVER_US 600000000

/* What the child sends: one message a question, whole (SOCK_SEQPACKET). */
struct answer {
    uint32_t n;
    char why[200];            /* n is 0: there will be no more */
    uint64_t cpu_us, max_rss; /* of the child so far */
    struct util_row rows[UTIL_GPUS_MAX];
};

struct util_gpus {
    pid_t pid;
    int fd;
    bool asked, first;
    uint64_t asked_ms;
    uint64_t cpu_us, max_rss;
    struct answer answer;
};

struct util {
    struct module_place place;
    struct util_probe *probe;
    struct util_files *files;
    struct util_gpus *gpus;
    uint64_t began_us, flushed_us;
    uint64_t first_us, seen_us; /* when tasks were there; 0: not yet */
    bool over;
    size_t rows; /* of tasks, in this sample */
    struct util_row gpu_rows[UTIL_GPUS_MAX];
    struct util_pids pids;
    /* what the tasks have loaded */
    struct util_loaded loaded;
    struct util_look *look;
    unsigned looks;
    uint64_t look_cpu_us;
};

static uint64_t cpu_us(void *state)
{
    const struct util *u = state;

    return u->look_cpu_us + (u->gpus ? util_gpus_cpu_us(u->gpus) : 0);
}

static int fd(void *state)
{
    const struct util *u = state;

    return u->gpus ? util_gpus_fd(u->gpus) : -1;
}

static void destroy(void *state)
{
    struct util *u = state;

    if (u) {
        util_look_stop(u->look);
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
    char *dir = fileio_path("%s/nodes/%s", place->dir, place->node);

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

static int put(void *arg, enum util_kind kind, const struct util_row *row,
               struct jp_error *err)
{
    struct util *u = arg;

    u->rows += kind == UTIL_TASK;
    return util_files_add(u->files, kind, row, err);
}

/* What other modules may want to know of them. */
static void share_gpus(const struct util *u, size_t n,
                       const struct module_time *now)
{
    struct module_shared *shared = u->place.shared;

    if (!shared)
        return;
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

static int take_gpus(struct util *u, const struct module_time *now,
                     struct jp_error *err)
{
    int n = u->gpus
                ? util_gpus_take(u->gpus, now->mono_us / 1000, u->gpu_rows, err)
                : 0;

    for (int i = 0; i < n; i++) {
        u->gpu_rows[i].t_us = now->real_us;
        u->gpu_rows[i].mono_us = now->mono_us;
        if (util_files_add(u->files, UTIL_GPU, &u->gpu_rows[i], err) < 0)
            return -1;
    }
    if (n > 0)
        share_gpus(u, (size_t) n, now);
    return n < 0 ? -1 : 0;
}

/* Programs load libraries in their first seconds, and a few later ones; a wait
 * for data may keep them from it. */
static int look_at_libraries(struct util *u, const struct module_time *now,
                             struct jp_error *err)
{
    static const uint64_t at_us[] = {3000000, 20000000, 120000000, 600000000};
    uint64_t age_us = u->first_us ? now->mono_us - u->first_us : 0;
    int rc = 0;

    if (u->look) {
        rc = util_look_take(u->look, now->mono_us / 1000, &u->loaded, err);
        if (rc) {
            u->look_cpu_us += util_look_cpu_us(u->look);
            util_look_stop(u->look);
            u->look = NULL;
        }
        return rc < 0 ? -1 : 0;
    }
    if (u->looks < sizeof(at_us) / sizeof(*at_us) && u->pids.n &&
        age_us >= at_us[u->looks]) {
        u->looks++;
        u->look =
            util_look_start(u->place.root, &u->pids, now->mono_us / 1000, err);
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
    rc = util_probe_take(u->probe, now->real_us, now->mono_us, now->cpu_us, put,
                         u, err);
    util_probe_pids(u->probe, &u->pids);
    if (u->gpus)
        util_gpus_ask(u->gpus, now->mono_us / 1000, &u->pids);
    if (u->rows > 1) /* besides the step's own */
        u->seen_us = now->mono_us;
    if (!u->first_us)
        u->first_us = u->seen_us;
    if (look_at_libraries(u, now, err) < 0)
        rc = -1;
    if (!u->began_us)
        u->began_us = now->mono_us;
    u->over = u->seen_us ? now->mono_us - u->seen_us > GONE_US
                         : now->mono_us - u->began_us > NEVER_US;
    /* an answer that never comes is noticed here */
    if (take_gpus(u, now, err) < 0)
        rc = -1;
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

/* What the tasks have loaded, and what asking cost. */
static void record(void *state, struct jp_json_stream *s)
{
    const struct util *u = state;

    json_stream_count(s, "tasks", util_probe_tasks(u->probe));
    json_stream_count(s, "gpu_cpu_us", u->gpus ? util_gpus_cpu_us(u->gpus) : 0);
    json_stream_count(s, "gpu_max_rss_bytes",
                      u->gpus ? util_gpus_max_rss(u->gpus) : 0);
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

static size_t answer_bytes(uint32_t n)
{
    return offsetof(struct answer, rows) + n * sizeof(struct util_row);
}

static uint64_t read_clock(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t) t.tv_sec * 1000000 + (uint64_t) t.tv_nsec / 1000;
}

static size_t pids_bytes(uint32_t n)
{
    return offsetof(struct util_pids, pid) +
           (n <= UTIL_PIDS_MAX ? n : 0) * sizeof(uint32_t);
}

static void tell_cost(struct answer *answer)
{
    struct rusage use = {.ru_maxrss = 0};

    getrusage(RUSAGE_SELF, &use);
    answer->max_rss = (uint64_t) use.ru_maxrss * 1024;
    answer->cpu_us = read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

/* What the child has loaded; a node may have GPUs of both. */
struct drivers {
    struct util_nvml *nvml;
    struct util_rsmi *rsmi;
    char why[200]; /* why there is neither */
};

/* Of a node without AMD's library only what NVIDIA's says matters. */
static void load_drivers(const char *nvml, const char *rsmi,
                         const char *numbers, struct drivers *out)
{
    struct jp_error err = {""}, why = {""};

    *out = (struct drivers){.nvml = util_nvml_open(nvml, numbers, &err),
                            .rsmi = util_rsmi_open(rsmi, numbers, &why)};
    snprintf(out->why, sizeof(out->why), "%.199s",
             *why.text ? why.text : err.text);
}

static size_t read_drivers(const struct drivers *drivers,
                           const struct util_pids *pids, struct util_row *rows)
{
    uint64_t mono_us = read_clock(CLOCK_MONOTONIC);
    size_t n = 0;

    if (drivers->nvml)
        n = util_nvml_read(drivers->nvml, read_clock(CLOCK_REALTIME), mono_us,
                           pids, rows);
    if (drivers->rsmi)
        n += util_rsmi_read(drivers->rsmi, mono_us, pids, rows + n,
                            UTIL_GPUS_MAX - n);
    return n;
}

static void __attribute__((noreturn))
serve(int fd, const char *nvml, const char *rsmi, const char *numbers)
{
    struct answer *answer = calloc(1, sizeof(*answer));
    struct util_pids *pids = calloc(1, sizeof(*pids));
    struct drivers drivers = {NULL, NULL, "out of memory"};
    bool any;

    if (answer && pids)
        load_drivers(nvml, rsmi, numbers, &drivers);
    any = drivers.nvml || drivers.rsmi;
    while (answer && pids && recv(fd, pids, sizeof(*pids), 0) > 0) {
        if (any)
            answer->n = (uint32_t) read_drivers(&drivers, pids, answer->rows);
        else
            memcpy(answer->why, drivers.why, sizeof(answer->why));
        tell_cost(answer);
        if (send(fd, answer, answer_bytes(answer->n), MSG_NOSIGNAL) < 0 || !any)
            break;
    }
    _exit(0);
}

struct util_gpus *util_gpus_start(const char *nvml, const char *rsmi,
                                  const char *numbers, struct jp_error *err)
{
    struct util_gpus *gpus = calloc(1, sizeof(*gpus));
    int fd[2] = {-1, -1};
    pid_t parent = getpid();

    if (!gpus ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0) {
        error_set(err, "no GPU: %s", strerror(errno));
        free(gpus);
        return NULL;
    }
    gpus->first = true;
    gpus->pid = fork();
    if (gpus->pid == 0) {
        close(fd[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            serve(fd[1], nvml, rsmi, numbers);
        _exit(0);
    }
    close(fd[1]);
    gpus->fd = fd[0];
    fcntl(gpus->fd, F_SETFL, O_NONBLOCK);
    if (gpus->pid > 0)
        return gpus;
    error_set(err, "no GPU: %s", strerror(errno));
    util_gpus_stop(gpus);
    return NULL;
}

int util_gpus_fd(const struct util_gpus *gpus)
{
    return gpus->fd;
}

void util_gpus_ask(struct util_gpus *gpus, uint64_t now_ms,
                   const struct util_pids *pids)
{
    if (gpus->fd < 0 || gpus->asked ||
        send(gpus->fd, pids, pids_bytes(pids->n), MSG_NOSIGNAL) < 0)
        return;
    gpus->asked = true;
    gpus->asked_ms = now_ms;
}

/* A child that does not die in a driver is left to init. */
static void end_child(struct util_gpus *gpus)
{
    if (gpus->fd >= 0)
        close(gpus->fd);
    gpus->fd = -1;
    if (gpus->pid <= 0)
        return;
    kill(gpus->pid, SIGKILL);
    for (int i = 0; i < 50 && waitpid(gpus->pid, NULL, WNOHANG) == 0; i++)
        usleep(1000);
    gpus->pid = 0;
}

int util_gpus_take(struct util_gpus *gpus, uint64_t now_ms,
                   struct util_row *out, struct jp_error *err)
{
    uint64_t limit = gpus->first ? UTIL_GPU_FIRST_MS : UTIL_GPU_LIMIT_MS;
    struct answer *a = &gpus->answer;
    ssize_t n;

    if (gpus->fd < 0)
        return 0;
    n = recv(gpus->fd, a, sizeof(*a), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        if (!gpus->asked || now_ms - gpus->asked_ms < limit)
            return 0;
        end_child(gpus);
        return error_set(err,
                         "GPUs are not sampled any more: their driver gave "
                         "no answer within %u s",
                         (unsigned) (limit / 1000));
    }
    gpus->asked = gpus->first = false;
    if (n < (ssize_t) answer_bytes(0) || a->n > UTIL_GPUS_MAX ||
        (size_t) n != answer_bytes(a->n)) {
        end_child(gpus);
        return error_set(err, "GPUs are not sampled any more: the process that "
                              "asked their driver ended");
    }
    gpus->cpu_us = a->cpu_us;
    gpus->max_rss = a->max_rss;
    if (a->n == 0) {
        a->why[sizeof(a->why) - 1] = '\0';
        end_child(gpus);
        return error_set(err, "%s", a->why);
    }
    for (uint32_t i = 0; i < a->n; i++) {
        out[i] = a->rows[i];
        out[i].id[UTIL_ID_MAX - 1] = '\0';
    }
    return (int) a->n;
}

uint64_t util_gpus_cpu_us(const struct util_gpus *gpus)
{
    return gpus->cpu_us;
}

uint64_t util_gpus_max_rss(const struct util_gpus *gpus)
{
    return gpus->max_rss;
}

void util_gpus_stop(struct util_gpus *gpus)
{
    if (gpus)
        end_child(gpus);
    free(gpus);
}
