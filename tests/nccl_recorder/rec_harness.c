/* rec_harness.c - runs a scenario against the built recorder in its own
 * process, and reads the files that it leaves. */
#include "tests/nccl_recorder/rec_harness.h"

#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contrib/ncclsim/sim_shim.h"
#include "tests/nccl_recorder/jpr_text.h"

/* LeakSanitizer's tracer sometimes crashes when a process exits while the
 * recorder's thread or the sanitizer's own still runs. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

const char *rec_harness_library(void)
{
    static char path[4096];
    const char *given = getenv("JOBPROF_RECORDER_LIB");
    const char *build = getenv("top_builddir");

    if (given)
        return given;
    snprintf(path, sizeof(path),
             "%s/plugins/nccl_recorder/.libs/libnccl-profiler-jobprof.so",
             build ? build : ".");
    return path;
}

static struct jp_nccl_plugin_v6 *dress(void *lib, int version)
{
    static struct jp_nccl_plugin_v6 *(*const shims[])(void *table) = {
        NULL,        sim_shim_v1, sim_shim_v2, sim_shim_v3,
        sim_shim_v4, sim_shim_v5, NULL,        sim_shim_v7};
    char symbol[32];
    void *table;

    snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", version);
    table = dlsym(lib, symbol);
    CHECK(table != NULL);
    return version == 6 ? table : shims[version](table);
}

static void child(rec_scenario_fn *scenario, int version, const char *dir)
{
    struct rec_scene scene = {.dir = dir, .version = version};

    if (dir)
        setenv("JOBPROF_RECORDER_DIR", dir, 1);
    else
        unsetenv("JOBPROF_RECORDER_DIR");
    alarm(300); /* in case it hangs; a busy machine may take a minute */
    scene.lib = dlopen(rec_harness_library(), RTLD_NOW | RTLD_LOCAL);
    if (!scene.lib) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    scene.api = dress(scene.lib, version);
    scenario(&scene);
    exit(0); /* exit(), for its destructors: the recorder writes the rest */
}

static int ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n >= m && strcmp(name + n - m, end) == 0;
}

/* Moves the lines of snapshots from `text` to `inflight`, which has room for
 * them. */
static void split(char *text, char *inflight)
{
    char *out = text;

    while (*text) {
        size_t n = strcspn(text, "\n") + 1;
        bool is_snapshot = strncmp(text, "{\"type\":\"inflight\"", 18) == 0;

        memmove(is_snapshot ? inflight : out, text, n);
        *(is_snapshot ? &inflight : &out) += n;
        text += n;
    }
    *out = *inflight = '\0';
}

/* Reads all files of the folder as JSON lines. */
static void read_back(struct rec_result *r)
{
    DIR *d = opendir(r->dir);
    struct dirent *e;
    char path[1024];
    struct stat st;
    size_t size;
    FILE *out = open_memstream(&r->text, &size);

    while (d && (e = readdir(d))) {
        if (!ends_with(e->d_name, ".jpr"))
            continue;
        snprintf(path, sizeof(path), "%s/%s", r->dir, e->d_name);
        if (stat(path, &st) == 0)
            r->bytes += (uint64_t) st.st_size;
        if (jpr_text(path, out) < 0)
            r->n_bad++;
        r->n_files++;
    }
    if (d)
        closedir(d);
    fclose(out);
    r->inflight = malloc(size + 1);
    split(r->text, r->inflight);
    r->n_ops = rec_harness_count(r->text, "{\"type\":\"op\",");
}

void scene_wait(const struct rec_scene *scene, const char *text, int n)
{
    struct rec_result r = {.status = 0};
    int found = 0;

    snprintf(r.dir, sizeof(r.dir), "%s", scene->dir);
    for (int i = 0; i < 400 && found < n; i++) {
        if (i)
            usleep(50000);
        read_back(&r);
        found = rec_harness_count(r.text, text) +
                rec_harness_count(r.inflight, text);
        free(r.text);
        free(r.inflight);
    }
    if (found < n)
        fprintf(stderr, "%d of %d times: %s\n", found, n, text);
    CHECK(found >= n);
}

static void run(rec_scenario_fn *scenario, int version, const char *dir,
                struct rec_result *r)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0)
        child(scenario, version, dir);
    waitpid(pid, &r->status, 0);
    read_back(r);
}

void rec_harness_run(rec_scenario_fn *scenario, int version,
                     struct rec_result *result)
{
    memset(result, 0, sizeof(*result));
    snprintf(result->dir, sizeof(result->dir), "/tmp/jobprof-recorder-XXXXXX");
    if (!mkdtemp(result->dir))
        abort();
    run(scenario, version, result->dir, result);
}

void rec_harness_run_in(rec_scenario_fn *scenario, int version, const char *dir,
                        struct rec_result *result)
{
    memset(result, 0, sizeof(*result));
    run(scenario, version, dir, result);
}

void rec_harness_fini(struct rec_result *result)
{
    DIR *d = result->dir[0] ? opendir(result->dir) : NULL;
    struct dirent *e;

    while (d && (e = readdir(d)))
        unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    if (result->dir[0])
        rmdir(result->dir);
    free(result->text);
    free(result->inflight);
}

int rec_harness_count(const char *where, const char *text)
{
    size_t length = strlen(text);
    int n = 0;

    /* not strstr(): with ASan it measures the whole text at each call */
    for (where = strchr(where, text[0]); where;
         where = strchr(where + 1, text[0]))
        n += strncmp(where, text, length) == 0;
    return n;
}

int scene_mask;

void *scene_comm(struct rec_scene *scene, const char *name, uint64_t hash,
                 int rank, int n_ranks)
{
    void *comm = NULL;

    CHECK(scene->api->init(&comm, hash, &scene_mask, name, 2, n_ranks, rank,
                           NULL) == 0);
    CHECK(comm && (scene_mask & JP_NCCL_COLL) && (scene_mask & JP_NCCL_P2P));
    CHECK(scene_mask & (JP_NCCL_KERNEL_CH | JP_NCCL_PROXY_OP));
    return comm;
}

void *scene_launch(struct rec_scene *scene, void *comm)
{
    struct jp_nccl_descr_v6 d = {.type = JP_NCCL_GROUP};
    void *handle = NULL;

    CHECK(scene->api->start(comm, &handle, &d) == 0);
    return handle;
}

void *scene_coll(struct rec_scene *scene, void *comm, const char *func,
                 uint64_t seq, uint64_t bytes, int n_channels)
{
    struct jp_nccl_descr_v6 d = {.type = JP_NCCL_COLL, .rank = 3};
    void *handle = (void *) 1;

    d.coll.func = func;
    d.coll.seq = seq;
    d.coll.count = bytes;
    d.coll.datatype = "ncclInt8";
    d.coll.n_channels = (uint8_t) n_channels;
    CHECK(scene->api->start(comm, &handle, &d) == 0);
    return handle;
}

void *scene_p2p(struct rec_scene *scene, void *comm, const char *func, int peer,
                uint64_t bytes, int n_channels)
{
    struct jp_nccl_descr_v6 d = {.type = JP_NCCL_P2P, .rank = 3};
    void *handle = (void *) 1;

    d.p2p.func = func;
    d.p2p.count = bytes;
    d.p2p.datatype = "ncclInt8";
    d.p2p.peer = peer;
    d.p2p.n_channels = (uint8_t) n_channels;
    CHECK(scene->api->start(comm, &handle, &d) == 0);
    return handle;
}

void *scene_kernel(struct rec_scene *scene, void *comm, void *parent,
                   int channel, uint64_t gpu_ns)
{
    struct jp_nccl_descr_v6 d = {.type = JP_NCCL_KERNEL_CH, .parent = parent};
    void *handle = NULL;

    d.kernel_ch.channel = (uint8_t) channel;
    d.kernel_ch.gpu_ns = gpu_ns;
    CHECK(scene->api->start(comm, &handle, &d) == 0);
    return handle;
}

void scene_kernel_stop(struct rec_scene *scene, void *kernel, uint64_t gpu_ns)
{
    union jp_nccl_args_v4 args = {.kernel_ch = {gpu_ns}};

    CHECK(scene->api->record(kernel, JP_NCCL_KERNEL_CH_STOP, &args) == 0);
    CHECK(scene->api->stop(kernel) == 0);
}

void scene_whole(struct rec_scene *scene, void *comm, uint64_t seq, uint64_t us)
{
    void *op = scene_coll(scene, comm, "AllReduce", seq, 1048576, 2);
    void *k0 = scene_kernel(scene, comm, op, 0, 1000);
    void *k1 = scene_kernel(scene, comm, op, 1, 1500);

    CHECK(scene->api->stop(op) == 0);
    scene_kernel_stop(scene, k0, 1000 + us * 1000);
    scene_kernel_stop(scene, k1, 1500 + us * 1000 / 2);
}

struct rec_counts rec_harness_counts(const char *text, const char *comm,
                                     const char *func)
{
    struct rec_counts counts = {0};
    char start[256];
    const char *at = text;

    snprintf(start, sizeof(start), "{\"type\":\"row\",\"comm\":\"%s\"", comm);
    while ((at = strstr(at, start))) {
        char want[64];
        const char *end = strchr(at, '\n');
        const char *row;

        snprintf(want, sizeof(want), "\"func\":\"%s\"", func);
        row = strstr(at, want);
        if (row && row < end)
            sscanf(strstr(row, "\"finalized\""),
                   "\"finalized\":%7[a-z],\"produced\":%" SCNu64
                   ",\"written\":%" SCNu64 ",\"lost\":%" SCNu64
                   ",\"left_out\":%" SCNu64,
                   counts.finalized, &counts.produced, &counts.written,
                   &counts.lost, &counts.left_out);
        at = end;
    }
    return counts;
}
