/* hangtask.c - a rank that waits for the others, with the built recorder. */
#include "tests/live/hangtask.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "contrib/ncclsim/sim_random.h"
#include "tests/nccl_recorder/rec_harness.h"

#define MS INT64_C(1000000)
#define ITERATION_MS 100
#define BYTES (1 << 20)
/* A tenth of 90 s, and of two minutes. */
#define SAVES_MS 9000
#define LONG_MS 12000
/* Share of a processor: if the evaluating rank gets less, the case proves
 * nothing. */
#define EVALUATES 0.6
#define STARVED 0.3

static const char *const funcs[HANG_FUNCS] = {"AllReduce", "AllGather",
                                              "ReduceScatter"};

struct rank {
    struct hang_job *job;
    struct rec_scene scene;
    void *comms[HANG_COMMS];
    int rank, iteration;
    bool stuck; /* operations entered from now on do not end */
    uint64_t gpu_ns;
};

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void sleep_ms(int64_t ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * MS};

    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

static void sleep_until(int64_t ns)
{
    int64_t left = ns - now_ns();

    if (left > MS)
        sleep_ms(left / MS);
}

static int64_t noise(const struct rank *r, uint64_t what, int64_t below)
{
    uint64_t key = sim_random_mix(r->job->seed, what);

    key = sim_random_mix(key, (uint64_t) r->iteration * HANG_RANKS +
                                  (uint64_t) r->rank);
    return (int64_t) sim_random_below(key, (uint64_t) below);
}

/* --- operations ----------------------------------------------------------- */

static bool have_all(const struct rank *r, int comm, int func, uint64_t seq)
{
    for (int i = 0; i < HANG_RANKS; i++)
        if (atomic_load(&r->job->begun[comm][i][func]) <= seq)
            return false;
    return true;
}

/* Polls often at first, then less often, because a hang is long. */
static void wait_a_bit(int *tries)
{
    sleep_ms(*tries < 20 ? 2 : *tries < 40 ? 10 : 100);
    ++*tries;
}

static void collective(struct rank *r, int comm, int func, uint64_t bytes)
{
    uint64_t seq = atomic_load(&r->job->begun[comm][r->rank][func]);
    void *op =
        scene_coll(&r->scene, r->comms[comm], funcs[func], seq, bytes, 2);
    void *kernels[2];
    int tries = 0;

    for (int i = 0; i < 2; i++)
        kernels[i] = scene_kernel(&r->scene, r->comms[comm], op, i, r->gpu_ns);
    CHECK(r->scene.api->stop(op) == 0);
    atomic_store(&r->job->begun[comm][r->rank][func], seq + 1);
    while (r->stuck || !have_all(r, comm, func, seq))
        wait_a_bit(&tries);
    r->gpu_ns += 100000;
    for (int i = 0; i < 2; i++)
        scene_kernel_stop(&r->scene, kernels[i], r->gpu_ns);
}

/* One side of the transfer: to the next rank, or from the previous one. */
static void message(struct rank *r, bool sends, bool waits)
{
    int n = HANG_RANKS, peer = (r->rank + (sends ? 1 : n - 1)) % n, tries = 0;
    _Atomic uint64_t *mine = sends ? &r->job->sent[r->rank]
                                   : &r->job->received[r->rank],
                     *other = sends ? &r->job->received[peer]
                                    : &r->job->sent[peer];
    void *op = scene_p2p(&r->scene, r->comms[0], sends ? "Send" : "Recv", peer,
                         BYTES, 1);
    void *kernel = scene_kernel(&r->scene, r->comms[0], op, 0, r->gpu_ns);
    uint64_t count = atomic_fetch_add(mine, 1) + 1;

    CHECK(r->scene.api->stop(op) == 0);
    while (waits && atomic_load(other) < count)
        wait_a_bit(&tries);
    r->gpu_ns += 1000;
    scene_kernel_stop(&r->scene, kernel, r->gpu_ns);
}

/* --- faults: instead of, or before, an iteration's first collective ------- */

static void idle(void)
{
    while (true)
        pause();
}

static void wake(int signal)
{
    (void) signal;
}

/* State D: in a call to a file system that does not answer, once a signal has
 * arrived; if none can be mounted, as a parent that waits for vfork(). */
static void wait_for_disk(const struct rank *r)
{
    struct sigaction action = {.sa_handler = wake, .sa_flags = SA_RESTART};
    struct stat st;

    if (r->job->blocked[0]) {
        sigaction(SIGUSR1, &action, NULL);
        (void) !stat(r->job->blocked, &st);
    } else if (vfork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* not inherited by fork() */
        while (true)
            pause();
    }
    idle();
}

static void save(const struct rank *r)
{
    static char block[256 << 10];
    int64_t until = now_ns() + SAVES_MS * MS;
    char path[160];
    int fd;

    snprintf(path, sizeof(path), "%s/checkpoint", r->job->dir);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    while (now_ns() < until) {
        CHECK(pwrite(fd, block, sizeof(block), 0) > 0);
        sleep_ms(200);
    }
    close(fd);
    unlink(path);
}

static int64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Simulates work of its own with that share of a processor. */
static void evaluate(const struct rank *r)
{
    int64_t began = now_ns(), used = cpu_ns(), until = began + SAVES_MS * MS;

    while (now_ns() < until)
        if ((double) (cpu_ns() - used) >
            EVALUATES * (double) (now_ns() - began))
            sleep_ms(5);
    if ((double) (cpu_ns() - used) < STARVED * (double) (now_ns() - began))
        atomic_store(&r->job->starved, true);
}

static void first_takes_long(struct rank *r, bool is_victim)
{
    if (is_victim)
        sleep_ms(LONG_MS);
    r->comms[1] = scene_comm(&r->scene, "late", 2000 + r->job->seed % 1000,
                             r->rank, HANG_RANKS);
    collective(r, 1, 0, BYTES);
}

/* Whether the rank skips the iteration's first collective. */
static bool meet_fault(struct rank *r, uint64_t *bytes)
{
    struct hang_job *job = r->job;
    bool now = r->iteration == job->at, is_victim = r->rank == job->victim;

    if (is_victim)
        atomic_store(&job->reached, r->iteration);
    if (job->kind == HANG_SLOW && r->iteration >= job->at && is_victim)
        sleep_ms(300 + noise(r, 1, 1200));
    if (!now)
        return false;
    r->stuck = job->kind == HANG_SIZES || job->kind == HANG_INSIDE;
    if (job->kind == HANG_FIRST)
        first_takes_long(r, is_victim);
    if (job->kind == HANG_CYCLE)
        message(r, false, true);
    if (!is_victim)
        return false;
    if (job->kind == HANG_STOPS)
        idle();
    if (job->kind == HANG_DISK)
        wait_for_disk(r);
    if (job->kind == HANG_SAVES)
        save(r);
    if (job->kind == HANG_TESTS)
        evaluate(r);
    if (job->kind == HANG_SIZES)
        *bytes *= 2;
    return job->kind == HANG_SKIPS;
}

/* --- a run ---------------------------------------------------------------- */

/* What healthy jobs do: a rank pauses for up to two seconds now and then,
 * another one is always a little late, and all pause together. */
static void vary(const struct rank *r)
{
    uint64_t manner = r->job->seed % 5;

    if (manner == 1 && r->rank == r->job->victim)
        sleep_ms(40 + noise(r, 2, 60));
    if (manner == 2 && noise(r, 3, 60) == 0)
        sleep_ms(500 + noise(r, 4, 1500));
    if (manner == 3 && r->iteration % 40 == 39)
        sleep_ms(1500);
    if (manner == 4)
        sleep_ms(noise(r, 5, 30));
}

static void iterate(struct rank *r)
{
    uint64_t bytes = BYTES;
    bool skips;

    sleep_until(r->job->start_ns + r->iteration * ITERATION_MS * MS +
                noise(r, 6, 4 * MS));
    if (r->job->kind == HANG_HEALTHY)
        vary(r);
    skips = meet_fault(r, &bytes);
    for (int f = 0; f < HANG_FUNCS; f++)
        if (f || !skips)
            collective(r, 0, f, bytes);
    message(r, true, false);
    message(r, false, true);
}

static void set_environment(const struct hang_job *job, int rank)
{
    static const char *const names[] = {"SLURM_PROCID", "SLURM_NODEID",
                                        "SLURM_LOCALID"};
    const int values[] = {rank, rank / (HANG_RANKS / HANG_NODES),
                          rank % (HANG_RANKS / HANG_NODES)};
    char text[192];

    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof(text), "%d", values[i]);
        setenv(names[i], text, 1);
    }
    snprintf(text, sizeof(text), "%s/raw/n%d", job->dir, values[1]);
    setenv("JOBPROF_RECORDER_DIR", text, 1);
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("SLURM_STEP_ID", "0", 1);
}

_Noreturn void hangtask_run(struct hang_job *job, int rank)
{
    struct rank r = {.job = job, .rank = rank, .gpu_ns = 1000};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    set_environment(job, rank);
    r.scene.lib = dlopen(rec_harness_library(), RTLD_NOW | RTLD_LOCAL);
    CHECK(r.scene.lib != NULL);
    r.scene.version = 6;
    r.scene.api = dlsym(r.scene.lib, "ncclProfiler_v6");
    CHECK(r.scene.api != NULL);
    r.comms[0] = scene_comm(&r.scene, "world", 1000 + job->seed % 1000, rank,
                            HANG_RANKS);
    for (; r.iteration < job->ends_at; r.iteration++)
        iterate(&r);
    for (int i = 0; i < HANG_COMMS; i++)
        if (r.comms[i])
            r.scene.api->finalize(r.comms[i]);
    exit(0); /* with destructors, so that the recorder writes the rest */
}
