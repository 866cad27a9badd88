/* sim_comms.c - our rank's communicators, the living ones and those that were
 * destroyed.
 *
 * Destroyed communicators stay in the list, because their counts are written at
 * the end. */
#include "contrib/ncclsim/sim_comms.h"

#include <inttypes.h>
#include <stdlib.h>

#include "contrib/ncclsim/sim_plugin.h"
#include "contrib/ncclsim/sim_random.h"

/* Any values: GPU clocks of different nodes have nothing in common. */
#define GPU_EPOCH_NS 1000000000000000ULL
#define GPU_SKEW_NS 7777777777ULL

int sim_comms_init(struct jp_sim_comms *comms, int n_at, struct jp_error *err)
{
    /* each fault recreates at most one communicator */
    size_t n_all = (size_t) n_at + SIM_MAX_FAULTS;

    comms->at = calloc((size_t) n_at + 1, sizeof(comms->at[0]));
    comms->all = calloc(n_all, sizeof(*comms->all));
    comms->n_at = n_at;
    comms->n = 0;
    if (comms->at && comms->all)
        return 0;
    sim_comms_fini(comms);
    return error_set(err, "no memory");
}

/* Ends the kernels and graphs of a communicator. Returns 1 if the host expects
 * kernels that the GPU never counts: without a hang NCCL would wait for them
 * for ever. */
static int end_kernels(struct jp_sim_comms *comms, struct jp_sim_comm *comm)
{
    int n = comm->kernels ? sim_kernels_fini(comm->kernels) : 0;
    int i;

    free(comm->kernels);
    comm->kernels = NULL;
    for (i = 0; i < comm->n_graphs; i++)
        free(comm->graphs[i]);
    free(comm->graphs);
    comm->graphs = NULL;
    comm->n_graphs = 0;
    if (n == 0 || comm->counts.in_flight > 0)
        return 0;
    fprintf(stderr,
            "ncclsim: rank %d: %d kernels of 0x%" PRIx64 " are never "
            "stamped; NCCL's ncclCommDestroy() would not return\n",
            comms->world->rank, n, comm->hash);
    return 1;
}

void sim_comms_fini(struct jp_sim_comms *comms)
{
    int i;

    for (i = 0; comms->all && i < comms->n; i++)
        end_kernels(comms, &comms->all[i]);
    free(comms->at);
    free(comms->all);
    comms->at = NULL;
    comms->all = NULL;
    comms->n = 0;
    comms->n_at = 0;
}

/* Returns how often the group had a communicator. */
static int generation(const struct jp_sim_comms *comms,
                      const struct jp_sim_group *group)
{
    int sum = 0;
    int i;

    for (i = 0; i < comms->n; i++)
        /* destroyed ones are in the list as well */
        sum += comms->all[i].group == group;
    return sum;
}

void sim_comms_create(struct jp_sim_comms *comms,
                      const struct jp_sim_group *group)
{
    int me = comms->world->rank;
    int again = generation(comms, group);
    struct jp_sim_comm *comm = &comms->all[comms->n];

    comm->group = group;
    /* a communicator that is created again has another id */
    comm->hash = again ? sim_random_mix(group->hash, (uint64_t) again)
                       : group->hash;
    comm->rank = sim_groups_rank(group, me);
    comm->is_alive = 1;
    comm->gpu_offset_ns = GPU_EPOCH_NS +
                          GPU_SKEW_NS * (uint64_t) comms->world->node[me];
    comm->kernels = calloc(1, sizeof(*comm->kernels));
    if (!comm->kernels)
        abort();
    sim_plugin_init(comms->options->interface, comm->hash, group->name,
                    group->n_nodes, group->n, comm->rank, &comm->context);
    comms->at[group->index] = comm;
    /* another thread may write the counts at this moment because of a crash */
    __atomic_store_n(&comms->n, comms->n + 1, __ATOMIC_RELEASE);
    if (comms->options->verbose)
        printf("ncclsim: rank %d: comm %s 0x%" PRIx64
               " rank %d of %d on %d nodes%s\n",
               me, group->name ? group->name : "(single)", comm->hash,
               comm->rank, group->n, group->n_nodes,
               comm->context ? "" : ", not profiled");
}

int sim_comms_destroy(struct jp_sim_comms *comms, int index)
{
    struct jp_sim_comm *comm = comms->at[index];

    if (!comm)
        return 0;
    /* a shared proxy thread still runs for another communicator, and reports
     * the kernels late */
    if (comms->options->late_events && sim_comms_context(comms, index)) {
        sim_plugin_finalize(comm->context);
        end_kernels(comms, comm);
    } else {
        /* a real program would hang here */
        if (end_kernels(comms, comm)) {
            comms->at[index] = NULL;
            return -1;
        }
        sim_plugin_finalize(comm->context);
    }
    comm->context = NULL;
    comm->is_alive = 0;
    comms->at[index] = NULL;
    if (comms->options->verbose)
        printf("ncclsim: rank %d: destroyed 0x%" PRIx64 "\n",
               comms->world->rank, comm->hash);
    return 0;
}

int sim_comms_destroy_all(struct jp_sim_comms *comms)
{
    int i;

    for (i = 0; i < comms->n_at; i++) {
        if (sim_comms_destroy(comms, i) < 0)
            return -1;
    }
    return 0;
}

struct jp_sim_graph *sim_comms_add_graph(struct jp_sim_comm *comm, int slot,
                                         int n_ops)
{
    struct jp_sim_graph *graph =
        calloc(1, sizeof(*graph) + (size_t) n_ops * sizeof(graph->ops[0]));

    /* slots are numbered by the program, and used in any order */
    if (slot >= comm->n_graphs)
        comm->graphs = realloc(comm->graphs,
                               (size_t) (slot + 1) * sizeof(comm->graphs[0]));
    if (!graph || !comm->graphs)
        abort();
    while (comm->n_graphs <= slot)
        comm->graphs[comm->n_graphs++] = NULL;
    free(comm->graphs[slot]);
    comm->graphs[slot] = graph;
    graph->n = n_ops;
    return graph;
}

struct jp_sim_graph *sim_comms_graph(const struct jp_sim_comm *comm, int slot)
{
    return slot < comm->n_graphs ? comm->graphs[slot] : NULL;
}

void *sim_comms_context(const struct jp_sim_comms *comms, int not_index)
{
    int i;

    for (i = 0; i < comms->n_at; i++) {
        if (i != not_index && comms->at[i] && comms->at[i]->context)
            return comms->at[i]->context;
    }
    return NULL;
}

void sim_comms_put_counts(const struct jp_sim_comms *comms, FILE *out,
                          int *first)
{
    /* see sim_comms_create */
    int n = __atomic_load_n(&comms->n, __ATOMIC_ACQUIRE);
    int i;

    for (i = 0; i < n; i++) {
        const struct jp_sim_comm *comm = &comms->all[i];

        if (!*first)
            fputc(',', out);
        *first = 0;
        sim_counts_put(out, &comm->counts, comm->group, comm->hash, comm->rank);
    }
}

uint64_t sim_comms_total(const struct jp_sim_comms *comms)
{
    uint64_t sum = 0;
    int i;

    for (i = 0; i < comms->n; i++)
        sum += sim_counts_total(&comms->all[i].counts);
    return sum;
}
