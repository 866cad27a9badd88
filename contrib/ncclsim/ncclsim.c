/* ncclsim: a NCCL program without NCCL, for trying profilers and reports. */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contrib/ncclsim/sim_lane.h"
#include "contrib/ncclsim/sim_plugin.h"
#include "contrib/ncclsim/sim_random.h"

static void *lane_main(void *lane)
{
    sim_lane_run(lane);
    return NULL;
}

/* Runs all lanes, the first one in this thread; 0, or -1 when one failed. */
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
        pthread_join(threads[i], NULL);
    for (i = 0; i < started && rc == 0; i++) {
        if (lanes[i].failed)
            rc = error_set(err, "%s", lanes[i].err.text);
    }
    free(threads);
    return rc;
}

static int write_counts(const struct jp_sim_lane *lanes, int n,
                        const struct jp_sim_world *world, const char *path,
                        struct jp_error *err)
{
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
    for (i = 0; i < n; i++)
        sim_lane_put_counts(&lanes[i], out, &first);
    fputs("]}\n", out);
    if (fclose(out) != 0)
        return error_set(err, "%s: cannot be written", path);
    return 0;
}

static int run(const struct jp_sim_options *options, struct jp_error *err)
{
    int n = options->threads;
    struct jp_sim_lane *lanes = calloc((size_t) n, sizeof(*lanes));
    struct jp_sim_world world = {0};
    uint64_t seed = options->seed >= 0 ? (uint64_t) options->seed
                                       : sim_world_seed();
    uint64_t total = 0;
    int rc = -1;
    int i;

    if (!lanes || sim_world_init(&world, options->rank, options->n_ranks,
                                 options->ranks_per_node, err) < 0)
        goto out;
    for (i = 0; i < n; i++) {
        lanes[i].options = options;
        lanes[i].world = &world;
        lanes[i].seed = sim_random_mix(seed, (uint64_t) i);
    }
    if (run_lanes(lanes, n, err) < 0)
        goto out;
    if (options->counts &&
        write_counts(lanes, n, &world, options->counts, err) < 0)
        goto out;
    for (i = 0; i < n; i++)
        total += sim_lane_total(&lanes[i]);
    if (world.rank == 0 || options->verbose)
        printf("ncclsim: rank %d of %d on %d nodes: %d iterations, %" PRIu64
               " operations, profiler %s\n",
               world.rank, world.n_ranks, world.n_nodes, options->iterations,
               total, sim_plugin_describe());
    rc = 0;
out:
    for (i = 0; lanes && i < n; i++)
        sim_lane_fini(&lanes[i]);
    free(lanes);
    sim_world_fini(&world);
    return rc;
}

int main(int argc, char **argv)
{
    struct jp_sim_options options;
    struct jp_error err = {""};

    if (sim_options_parse(&options, argc, argv, &err) < 0) {
        fprintf(stderr, "ncclsim: %s\n", err.text);
        return 2;
    }
    if (options.help) {
        sim_options_help(stdout);
        return 0;
    }
    if (run(&options, &err) < 0) {
        fprintf(stderr, "ncclsim: %s\n", err.text);
        return 1;
    }
    return 0;
}
