/* ncclsim.c - a NCCL program without NCCL, for trying profilers and reports.
 *
 * Each process is one rank of a simulated training job, or one for each of its
 * GPUs (--gpus). It loads the profiler
 * plugin as NCCL does and raises the events that NCCL would raise, in NCCL's
 * order and from NCCL's threads. Start reading with sim_lane.c (a user thread),
 * then sim_model.c (the program), sim_events.c (the events of one call) and
 * sim_progress.c (those of the progress thread). */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contrib/ncclsim/sim_crash.h"
#include "contrib/ncclsim/sim_device.h"
#include "contrib/ncclsim/sim_lane.h"
#include "contrib/ncclsim/sim_plugin.h"
#include "contrib/ncclsim/sim_random.h"
#include "contrib/ncclsim/sim_version.h"

/* Runs a lane in a thread of its own. */
static void *lane_main(void *lane)
{
    sim_lane_run(lane);
    return NULL;
}

/* Runs all lanes, the first one in this thread. Returns 0, or -1 if one failed.
 */
static int run_lanes(struct jp_sim_lane *lanes, int n, struct jp_error *err)
{
    pthread_t *threads = calloc((size_t) n, sizeof(*threads));
    int started;
    int rc = 0;
    int i;

    if (!threads)
        return error_set(err, "no memory");
    for (started = 1; started < n; started++) {
        if (pthread_create(&threads[started], NULL, lane_main,
                           &lanes[started]) != 0) {
            rc = error_set(err, "no thread");
            break;
        }
    }
    sim_lane_run(&lanes[0]);
    for (i = 1; i < started; i++)
        /* also after an error: the lanes use their options until they end */
        pthread_join(threads[i], NULL);
    for (i = 0; i < started && rc == 0; i++) {
        if (lanes[i].failed)
            rc = error_set(err, "%s", lanes[i].err.text);
    }
    free(threads);
    return rc;
}

/* One run of the program: what the counts are written from. */
struct run {
    const struct jp_sim_options *options;
    struct jp_sim_world *worlds; /* of each GPU */
    struct jp_sim_lane *lanes; /* the threads of the first GPU, the next ... */
    int n_lanes;
};

/* Writes what a GPU's rank has really issued as JSON, for tests to compare with
 * what the profiler has recorded. */
static int write_rank(const struct run *run, int gpu, struct jp_error *err)
{
    const struct jp_sim_world *world = &run->worlds[gpu];
    const char *path = run->options->counts;
    FILE *out = sim_counts_open(path, world->rank, world->n_ranks, err);
    char host[256] = "";
    int first = 1;
    int i;

    if (!out)
        return -1;
    gethostname(host, sizeof(host) - 1);
    fprintf(out,
            "{\"rank\":%d,\"n_ranks\":%d,\"hostname\":\"%s\",\"pid\":%d,"
            "\"comms\":[",
            world->rank, world->n_ranks, host, (int) getpid());
    for (i = 0; i < run->n_lanes; i++)
        if (run->lanes[i].world == world)
            sim_comms_put_counts(&run->lanes[i].comms, out, &first);
    fputs("]}\n", out);
    if (fclose(out) != 0)
        return error_set(err, "%s: cannot be written", path);
    return 0;
}

static int write_counts(const struct run *run, struct jp_error *err)
{
    int gpu;

    for (gpu = 0; gpu < run->options->gpus; gpu++)
        if (write_rank(run, gpu, err) < 0)
            return -1;
    return 0;
}

/* Writes the counts before the process dies or hangs. Called by any thread. */
static void save(void *data)
{
    struct run *run = data;
    struct jp_error err = {""};

    if (run->options->counts && write_counts(run, &err) < 0)
        fprintf(stderr, "ncclsim: %s\n", err.text);
}

/* Finds the worlds of the process's GPUs. */
static int find_worlds(struct run *run, struct jp_error *err)
{
    const struct jp_sim_options *o = run->options;
    struct jp_sim_world processes;
    int rc = 0;
    int gpu;

    if (sim_world_init(&processes, o->rank, o->n_ranks, o->ranks_per_node,
                       err) < 0)
        return -1;
    for (gpu = 0; rc == 0 && gpu < o->gpus; gpu++)
        rc = sim_world_widen(&processes, o->gpus, gpu, &run->worlds[gpu], err);
    sim_world_fini(&processes);
    return rc;
}

/* Finds the worlds, gives each lane a seed of its own, and starts the clock of
 * a random death. The ranks of one communicator have one seed. */
static int prepare(struct run *run, struct jp_error *err)
{
    const struct jp_sim_options *o = run->options;
    uint64_t seed = o->seed >= 0 ? (uint64_t) o->seed : sim_world_seed();
    int64_t death_us;
    int signal;
    int i;

    if (find_worlds(run, err) < 0 ||
        (o->gpus > 1 && sim_device_load(o->gpus, err) < 0))
        return -1;
    for (i = 0; i < run->n_lanes; i++) {
        run->lanes[i].options = o;
        run->lanes[i].world = &run->worlds[i / o->threads];
        run->lanes[i].device = o->gpus > 1 ? i / o->threads : -1;
        run->lanes[i].seed = sim_random_mix(seed, (uint64_t) (i % o->threads));
    }
    sim_crash_arm(save, run);
    for (i = 0; i < o->gpus; i++) {
        death_us =
            sim_faults_death_us(&o->faults, run->worlds[i].rank, seed, &signal);
        /* -1: this rank does not die; one that does takes the process along */
        if (death_us >= 0)
            return sim_crash_later(death_us, signal, err);
    }
    return 0;
}

/* Prints the totals. Returns whether a lane hung. */
static int summarise(const struct run *run)
{
    uint64_t total = 0;
    int64_t ran_ns = 1;
    int halted = 0;
    int i;

    for (i = 0; i < run->n_lanes; i++) {
        const struct jp_sim_lane *lane = &run->lanes[i];

        total += sim_comms_total(&lane->comms);
        halted |= lane->halted;
        if (lane->ran_ns > ran_ns)
            ran_ns = lane->ran_ns;
    }
    if (run->worlds[0].rank == 0 || run->options->verbose)
        printf("ncclsim: rank %d of %d on %d nodes: %d iterations, %" PRIu64
               " operations, %.0f a second, profiler %s\n",
               run->worlds[0].rank, run->worlds[0].n_ranks,
               run->worlds[0].n_nodes, run->options->iterations, total,
               (double) total * 1e9 / (double) ran_ns, sim_plugin_describe());
    return halted;
}

/* Runs the simulated job. Returns the exit status, or -1 and err. */
static int run_job(const struct jp_sim_options *options, struct jp_error *err)
{
    struct run run = {.options = options,
                      .n_lanes = options->gpus * options->threads};
    int rc = -1;
    int i;

    run.lanes = calloc((size_t) run.n_lanes, sizeof(*run.lanes));
    run.worlds = calloc((size_t) options->gpus, sizeof(*run.worlds));
    if (!run.lanes || !run.worlds) {
        error_set(err, "no memory");
        goto out;
    }
    if (prepare(&run, err) < 0)
        goto out;
    if (run_lanes(run.lanes, run.n_lanes, err) < 0)
        goto out;
    if (options->counts && write_counts(&run, err) < 0)
        goto out;
    rc = summarise(&run) ? 3 : 0;
out:
    /* the lanes are freed now, so a crash must not read them */
    sim_crash_arm(NULL, NULL);
    for (i = 0; run.lanes && i < run.n_lanes; i++)
        sim_lane_fini(&run.lanes[i]);
    for (i = 0; run.worlds && i < options->gpus; i++)
        sim_world_fini(&run.worlds[i]);
    free(run.lanes);
    free(run.worlds);
    return rc;
}

int main(int argc, char **argv)
{
    struct jp_sim_options options;
    struct jp_error err = {""};
    int rc;

    if (sim_options_parse(&options, argc, argv, &err) < 0) {
        fprintf(stderr, "ncclsim: %s\n", err.text);
        return 2;
    }
    /* before the options' help, because a wrong release is an error in any case
     */
    if (sim_version_set(options.nccl_version, options.interface, &err) < 0) {
        fprintf(stderr, "ncclsim: --nccl-version: %s\n", err.text);
        return 2;
    }
    sim_options_follow(&options);
    if (options.help) {
        sim_options_help(stdout);
        return 0;
    }
    rc = run_job(&options, &err);
    if (rc < 0) {
        fprintf(stderr, "ncclsim: %s\n", err.text);
        return 1;
    }
    return rc;
}
