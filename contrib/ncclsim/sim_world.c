/* sim_world.c - the job's ranks: how many there are, on which nodes, and which
 * one this process is.
 *
 * lay_out decides the number of ranks of each node, deal assigns the ranks to
 * them. Every process computes the whole placement, since it simulates the
 * clocks of all ranks. */
#include "contrib/ncclsim/sim_world.h"

#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "contrib/ncclsim/sim_random.h"

enum { MAX_RANKS = 65536 };

/* Reads an integer from the environment, or takes `fallback` if it is not set.
 */
static int env_int(const char *name, int max, int fallback, int *out,
                   struct jp_error *err)
{
    const char *text = getenv(name);
    int64_t v = fallback;

    if (text && num_parse_i64(text, 0, max, &v, err) < 0)
        return error_wrap(err, "%s", name);
    *out = (int) v;
    return 0;
}

/* Reads one item of Slurm's list, "4(x2)" or "4", and moves *p after it.
 * Returns -1 if it is malformed. */
static int next_item(const char **p, int *tasks, int *times)
{
    char *end;
    long v = strtol(*p, &end, 10);
    long n = 1;

    if (end == *p || v < 1 || v > MAX_RANKS)
        return -1;
    /* "4(x2)": two nodes with 4 tasks each */
    if (end[0] == '(' && end[1] == 'x') {
        n = strtol(end + 2, &end, 10);
        if (n < 1 || n > MAX_RANKS || *end++ != ')')
            return -1;
    }
    if (*end == ',')
        end++;
    *p = end;
    *tasks = (int) v;
    *times = (int) n;
    return 0;
}

/* Stores the number of tasks of each node in counts, which has n_ranks
 * elements. Returns the number of nodes, or -1. */
static int node_sizes(const char *list, int n_ranks, int *counts,
                      struct jp_error *err)
{
    const char *p = list;
    int nodes = 0;
    int sum = 0;

    while (*p && sum < n_ranks) {
        int tasks, times;

        if (next_item(&p, &tasks, &times) < 0)
            return error_set(err, "SLURM_STEP_TASKS_PER_NODE: bad \"%s\"",
                             list);
        for (; times > 0 && sum < n_ranks; times--) {
            counts[nodes++] = tasks;
            sum += tasks;
        }
    }
    /* for example inherited from another step's environment */
    if (sum != n_ranks)
        return error_set(err,
                         "SLURM_STEP_TASKS_PER_NODE: \"%s\" is not %d tasks",
                         list, n_ranks);
    return nodes;
}

/* Gives all nodes the same number of ranks, and the last one the rest. Returns
 * the number of nodes. */
static int even_sizes(int n_ranks, int per_node, int *counts)
{
    int nodes = 0;
    int left;

    for (left = n_ranks; left > 0; left -= per_node)
        counts[nodes++] = left < per_node ? left : per_node;
    return nodes;
}

/* Returns the number of consecutive ranks of a node before the next node's
 * turn; 0: as many as the node has. */
static int plane_of(const char *order)
{
    const char *plane = getenv("SLURM_DIST_PLANESIZE");

    if (!order)
        return 0;
    if (strncmp(order, "cyclic", 6) == 0)
        return 1;
    if (strncmp(order, "plane", 5) != 0)
        return 0;
    if (order[5] == '=')
        plane = order + 6;
    return plane ? (int) strtol(plane, NULL, 10) : 0;
}

/* Distributes the ranks to nodes of the given sizes, as Slurm does. */
static void deal(struct jp_sim_world *world, const int *counts, int plane)
{
    int *used = calloc((size_t) world->n_nodes, sizeof(*used));
    int node = 0, row = 0;
    int r;

    if (!used)
        abort();
    for (r = 0; r < world->n_ranks; r++) {
        /* a full node is skipped */
        while (used[node] == counts[node]) {
            node = (node + 1) % world->n_nodes;
            row = 0;
        }
        world->node[r] = node;
        world->local[r] = used[node]++;
        /* the node's turn is over */
        if (plane > 0 && ++row >= plane) {
            node = (node + 1) % world->n_nodes;
            row = 0;
        }
    }
    free(used);
}

/* Places all ranks: by --ranks-per-node, by Slurm's list, or on one node. */
static int lay_out(struct jp_sim_world *world, int per_node,
                   struct jp_error *err)
{
    const char *list = getenv("SLURM_STEP_TASKS_PER_NODE");
    const char *order = getenv("SLURM_DISTRIBUTION");
    int *counts = calloc((size_t) world->n_ranks, sizeof(*counts));
    int rc = -1;

    if (!counts) {
        error_set(err, "no memory");
        goto out;
    }
    if (per_node > 0)
        world->n_nodes = even_sizes(world->n_ranks, per_node, counts);
    else if (list)
        world->n_nodes = node_sizes(list, world->n_ranks, counts, err);
    else
        world->n_nodes = even_sizes(world->n_ranks, world->n_ranks, counts);
    if (world->n_nodes < 0)
        goto out;
    deal(world, counts, per_node <= 0 ? plane_of(order) : 0);
    rc = 0;
out:
    free(counts);
    return rc;
}

int sim_world_init(struct jp_sim_world *world, int rank, int n_ranks,
                   int ranks_per_node, struct jp_error *err)
{
    struct jp_sim_world w = {.rank = rank, .n_ranks = n_ranks};

    /* the step's number takes precedence over the job's */
    if (w.n_ranks < 0 &&
        (env_int("SLURM_NTASKS", MAX_RANKS, 1, &w.n_ranks, err) < 0 ||
         env_int("SLURM_STEP_NUM_TASKS", MAX_RANKS, w.n_ranks, &w.n_ranks,
                 err) < 0))
        return -1;
    if (w.rank < 0 && env_int("SLURM_PROCID", MAX_RANKS, 0, &w.rank, err) < 0)
        return -1;
    if (w.n_ranks < 1 || w.rank >= w.n_ranks)
        return error_set(err, "rank %d does not exist: the job has %d ranks",
                         w.rank, w.n_ranks);
    w.node = calloc((size_t) w.n_ranks, sizeof(*w.node));
    w.local = calloc((size_t) w.n_ranks, sizeof(*w.local));
    if (!w.node || !w.local)
        error_set(err, "no memory");
    if (!w.node || !w.local || lay_out(&w, ranks_per_node, err) < 0) {
        sim_world_fini(&w);
        return -1;
    }
    *world = w;
    return 0;
}

void sim_world_fini(struct jp_sim_world *world)
{
    free(world->node);
    free(world->local);
    world->node = NULL;
    world->local = NULL;
}

int sim_world_widen(const struct jp_sim_world *processes, int gpus, int gpu,
                    struct jp_sim_world *world, struct jp_error *err)
{
    struct jp_sim_world w = {.rank = processes->rank * gpus + gpu,
                             .n_ranks = processes->n_ranks * gpus,
                             .n_nodes = processes->n_nodes};
    int r;

    w.node = calloc((size_t) w.n_ranks, sizeof(*w.node));
    w.local = calloc((size_t) w.n_ranks, sizeof(*w.local));
    if (!w.node || !w.local) {
        sim_world_fini(&w);
        return error_set(err, "no memory");
    }
    for (r = 0; r < w.n_ranks; r++) {
        w.node[r] = processes->node[r / gpus];
        w.local[r] = processes->local[r / gpus] * gpus + r % gpus;
    }
    *world = w;
    return 0;
}

uint64_t sim_world_seed(void)
{
    static const char *const names[] = {"SLURM_JOB_ID", "SLURM_STEP_ID",
                                        "SLURM_RESTART_COUNT"};
    uint64_t seed = 1;
    size_t i;

    if (!getenv(names[0]))
        return seed;
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = getenv(names[i]);

        seed = sim_random_mix(seed, text ? strtoull(text, NULL, 10) + 1 : 0);
    }
    return seed;
}
