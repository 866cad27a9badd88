/* stepranks.c - find out where a step's ranks are, and what their logs and
 * variables say.
 *
 * stepranks_make is the entry. It reads the nodes' records (rankread.c), lets
 * rankmap.c place the ranks, and collects paths and variables for each
 * communicator. */
#include "orchestrator/topo/steplabels.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/topo/rankread.h"

/* Time for making files that killed nodes have left undone; of all nodes
 * together. */
#define MAKE_UP_MS 5000

#define MAX_VARIABLES 48 /* of a communicator; the recorder knows fewer */

/* The input of rankmap_resolve. */
struct input {
    struct jp_rankmap_node *nodes;
    struct jp_rankmap_gpu *gpus; /* of all nodes */
    /* in the result's order, as are the places */
    struct jp_rankmap_rank *ranks;
    struct jp_rankmap_place *places;
};

/* Frees what list_nodes and list_ranks have allocated. */
static void free_input(struct input *in)
{
    free(in->nodes);
    free(in->gpus);
    free(in->ranks);
    free(in->places);
}

/* Also frees what a failed stepranks_make has left. */
void stepranks_fini(struct jp_step_ranks *ranks)
{
    for (size_t i = 0; ranks->comms && i < ranks->n_comms; i++)
        free(ranks->comms[i].variables);
    if (ranks->records)
        rankread_fini(ranks->records);
    free(ranks->records);
    free(ranks->comms);
    free(ranks->ranks);
    free(ranks->busids);
    memset(ranks, 0, sizeof(*ranks));
}

/* The topology of a node; NULL: none. */
static const struct topo *topo_of(const struct jp_shapes *shapes, size_t node)
{
    int shape = shapes->nodes[node].shape;

    return shape >= 0 ? shapes->shapes[shape].topo : NULL;
}

/* Lists the nodes with their GPUs, in the order of their topologies. */
static int list_nodes(const struct jp_nodes *nodes,
                      const struct jp_shapes *shapes, struct input *in)
{
    size_t all = 0, at = 0;

    for (size_t i = 0; i < nodes->n_nodes; i++)
        all += topo_of(shapes, i) ? topo_of(shapes, i)->n_gpus : 0;
    in->nodes = calloc(nodes->n_nodes + 1, sizeof(*in->nodes));
    in->gpus = calloc(all + 1, sizeof(*in->gpus));
    if (!in->nodes || !in->gpus)
        return -1;
    for (size_t i = 0; i < nodes->n_nodes; i++) {
        const struct topo *topo = topo_of(shapes, i);
        const struct topo_self *self = shapes->nodes[i].gpus;

        in->nodes[i] =
            (struct jp_rankmap_node){.name = nodes->nodes[i].name,
                                     .hostname = nodes->nodes[i].hostname,
                                     .boot_id = nodes->nodes[i].boot_id,
                                     .gpus = in->gpus + at,
                                     .n_gpus = topo ? topo->n_gpus : 0};
        for (size_t k = 0; topo && k < topo->n_gpus; k++)
            /* All nodes share one array; each node points to its part. */
            in->gpus[at++] =
                (struct jp_rankmap_gpu){.busid = topo->gpus[k].busid,
                                        .uuid = self[k].uuid,
                                        .minor = self[k].minor};
    }
    return 0;
}

/* Lists the result's ranks, and makes room for their places. */
static int list_ranks(const struct jp_result *result, struct input *in)
{
    in->ranks = calloc(result->n_ranks + 1, sizeof(*in->ranks));
    in->places = calloc(result->n_ranks + 1, sizeof(*in->places));
    if (!in->ranks || !in->places)
        return -1;
    for (size_t i = 0; i < result->n_ranks; i++) {
        const struct jp_rank *rank = &result->ranks[i];
        const struct jp_comm *comm = &result->comms[rank->comm];

        in->ranks[i] =
            (struct jp_rankmap_rank){.comm = comm->id,
                                     .rank = rank->rank,
                                     .n_ranks = comm->n_ranks,
                                     .host = rank->host ? rank->host : "",
                                     .pid = rank->pid};
    }
    return 0;
}

/* Places the ranks, and translates the answer for the labels. */
static int place(const struct jp_result *result, const struct input *in,
                 const struct jp_rank_records *records, size_t n_nodes,
                 struct jp_step_ranks *ranks, struct jp_error *err)
{
    const struct jp_rankmap_input all = {.nodes = in->nodes,
                                         .n_nodes = n_nodes,
                                         .tasks = records->tasks,
                                         .n_tasks = records->n_tasks,
                                         .facts = records->facts,
                                         .n_facts = records->n_facts,
                                         .ranks = in->ranks,
                                         .n_ranks = result->n_ranks};

    ranks->ranks = calloc(result->n_ranks + 1, sizeof(*ranks->ranks));
    ranks->busids = calloc(result->n_ranks + 1, sizeof(*ranks->busids));
    if (!ranks->ranks || !ranks->busids)
        return error_set(err, "out of memory");
    if (rankmap_resolve(&all, in->places, err) < 0)
        return -1;
    for (size_t i = 0; i < result->n_ranks; i++) {
        const struct jp_rankmap_place *p = &in->places[i];

        if (p->node >= 0 && p->certainty == JP_SURE_EXACT)
            memcpy(ranks->busids[i], p->busid, sizeof(p->busid));
        /* A GPU without a node cannot be looked up, so it is dropped. */
        ranks->ranks[i] =
            (struct jp_label_rank){.rank = result->ranks[i].rank,
                                   .node = p->node,
                                   .host = in->ranks[i].host,
                                   .gpu = p->node >= 0 ? p->gpu : -1,
                                   .sure = p->certainty == JP_SURE_EXACT,
                                   .mig = p->mig && *p->mig};
    }
    return 0;
}

/* --- paths and variables -------------------------------------------------- */

/* The first text stands for all. */
static void copy_once(char *out, size_t size, const char *text)
{
    if (!*out && strlen(text) < size)
        memcpy(out, text, strlen(text) + 1);
}

/* Counts a path that NCCL's log named for its communicator. */
static void count_path(const struct jp_rank_path *path,
                       struct jp_comm_facts *comm)
{
    struct jp_label_paths *p = &comm->paths;

    comm->has_paths = true;
    if (strcmp(path->via, "P2P") == 0) {
        p->p2p += path->lines;
        /* NVLink across hosts is logged as a kind of P2P. */
        p->mnnvl += strcmp(path->detail, "MNNVL") == 0 ? path->lines : 0;
    } else if (strcmp(path->via, "SHM") == 0) {
        p->shm += path->lines;
    } else if (strcmp(path->via, "NET") == 0) {
        label_paths_net(p, path->detail, path->layer, path->lines);
        p->net_gdr += path->gdr ? path->lines : 0;
        p->net_pxn += path->pxn ? path->lines : 0;
        /* One adapter's name is enough to find its kind. */
        copy_once(p->device, sizeof(p->device), path->device);
    } else if (strcmp(path->via, "COLLNET") == 0) {
        p->collnet = true;
        copy_once(p->collnet_name, sizeof(p->collnet_name), path->detail);
    }
}

/* Adds what a rank's log says about its communicator as a whole. */
static void count_carriers(const struct jp_rank_carriers *c,
                           struct jp_comm_facts *comm)
{
    struct jp_label_paths *p = &comm->paths;

    comm->has_paths = true;
    p->nvls |= c->nvls;
    p->collnet |= c->collnet;
    /* Older releases do not log the number. */
    if (c->nvls_channels < 0)
        return;
    p->told_channels = true;
    p->nvls_channels |= c->nvls_channels > 0;
}

/* Communicators sorted by id, for binary search. */
struct by_id {
    const char *id;
    size_t comm;
};

/* Orders by id only. */
static int compare_ids(const void *a, const void *b)
{
    const struct by_id *x = a, *y = b;

    return strcmp(x->id, y->id);
}

/* The facts of the communicator with that id; NULL: the result has none. */
static struct jp_comm_facts *facts_of(const struct jp_result *result,
                                      const struct by_id *ids,
                                      struct jp_step_ranks *ranks,
                                      const char *id)
{
    const struct by_id key = {id, 0};
    const struct by_id *hit =
        bsearch(&key, ids, result->n_comms, sizeof(*ids), compare_ids);

    return hit ? &ranks->comms[hit->comm] : NULL;
}

/* Collects paths and carriers. Ids may repeat in rare cases; then the first
 * communicator gets the paths. */
static int count_paths(const struct jp_result *result,
                       const struct jp_rank_records *records,
                       struct jp_step_ranks *ranks)
{
    struct by_id *ids = calloc(result->n_comms + 1, sizeof(*ids));

    if (!ids)
        return -1;
    for (size_t i = 0; i < result->n_comms; i++)
        /* Paths and carriers name communicators by their ids. */
        ids[i] = (struct by_id){result->comms[i].id, i};
    qsort(ids, result->n_comms, sizeof(*ids), compare_ids);
    for (size_t i = 0; i < records->n_paths; i++) {
        struct jp_comm_facts *comm =
            facts_of(result, ids, ranks, records->paths[i].comm);

        if (comm)
            count_path(&records->paths[i], comm);
    }
    for (size_t i = 0; i < records->n_carriers; i++) {
        struct jp_comm_facts *comm =
            facts_of(result, ids, ranks, records->carriers[i].comm);

        if (comm)
            count_carriers(&records->carriers[i], comm);
    }
    free(ids);
    return 0;
}

/* Sorts by host, pid, name; the row without a name comes first. */
static int compare_process(const void *a, const void *b)
{
    const struct jp_rank_variable *x = a, *y = b;
    int order = strcmp(x->host, y->host);

    if (!order && x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return order ? order
                 : strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

/* Returns the index of the process's first variable by binary search. */
static size_t find_process(const struct jp_rank_records *records,
                           const char *host, int64_t pid)
{
    const struct jp_rank_variable key = {.host = host, .pid = pid, .name = ""};
    size_t from = 0, to = records->n_variables;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (compare_process(&records->variables[middle], &key) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Adds a variable to the communicator, or compares its value with the first
 * one. */
static int add_variable(struct jp_comm_facts *comm, const char *name,
                        const char *value)
{
    for (size_t i = 0; i < comm->n_variables; i++)
        if (strcmp(comm->variables[i].name, name) == 0) {
            comm->variables[i].differs |=
                strcmp(comm->variables[i].value, value) != 0;
            return 0;
        }
    /* Further variables are ignored. */
    if (comm->n_variables == MAX_VARIABLES)
        return 0;
    if (!comm->variables)
        comm->variables = calloc(MAX_VARIABLES, sizeof(*comm->variables));
    if (!comm->variables)
        return -1;
    comm->variables[comm->n_variables++] =
        (struct jp_label_variable){.name = name, .value = value};
    return 0;
}

/* Whether the variable at `at` belongs to the rank's process. */
static bool is_process(const struct jp_rank_records *records, size_t at,
                       const struct jp_rank *rank)
{
    return at < records->n_variables &&
           records->variables[at].pid == rank->pid &&
           strcmp(records->variables[at].host, rank->host ? rank->host : "") ==
               0;
}

/* Marks variables that a rank has not set but others of its communicator have;
 * `at` is the first record of its process. */
static void note_unset(struct jp_comm_facts *comm,
                       const struct jp_rank_records *records, size_t at,
                       const struct jp_rank *rank)
{
    for (size_t i = 0; is_process(records, at, rank) && i < comm->n_variables;
         i++) {
        struct jp_label_variable *v = &comm->variables[i];
        bool set = v->differs;

        for (size_t k = at; !set && is_process(records, k, rank); k++)
            set = strcmp(records->variables[k].name, v->name) == 0;
        v->differs |= !set;
    }
}

/* A variable counts even if only one rank has set it, because NCCL's ranks must
 * agree on most of them. */
static int add_variables(const struct jp_result *result,
                         struct jp_rank_records *records,
                         struct jp_step_ranks *ranks)
{
    size_t at;

    if (records->n_variables)
        qsort(records->variables, records->n_variables,
              sizeof(*records->variables), compare_process);
    for (size_t i = 0; i < result->n_ranks; i++) {
        const struct jp_rank *rank = &result->ranks[i];

        at = find_process(records, rank->host ? rank->host : "", rank->pid);
        for (; is_process(records, at, rank); at++)
            if (*records->variables[at].name &&
                add_variable(&ranks->comms[rank->comm],
                             records->variables[at].name,
                             records->variables[at].value) < 0)
                return -1;
    }
    /* A second pass: only now all variables of the communicator are known. */
    for (size_t i = 0; i < result->n_ranks; i++) {
        const struct jp_rank *rank = &result->ranks[i];

        at = find_process(records, rank->host ? rank->host : "", rank->pid);
        note_unset(&ranks->comms[rank->comm], records, at, rank);
    }
    return 0;
}

/* Reads the records of all nodes, within one common time limit. */
static int read_records(const struct jp_nodes *nodes, const char *step_dir,
                        struct jp_rank_records *records, struct jp_error *err)
{
    uint64_t deadline_ms = clock_mono_ms() + MAKE_UP_MS;

    for (size_t i = 0; i < nodes->n_nodes; i++)
        if (rankread_node(records, nodes_step_dir(&nodes->nodes[i], step_dir),
                          nodes->nodes[i].name, deadline_ms, err) < 0)
            return -1;
    return 0;
}

/* records is kept because the variables' texts point into it. */
int stepranks_make(const struct jp_result *result, const struct jp_nodes *nodes,
                   const struct jp_shapes *shapes, const char *step_dir,
                   struct jp_step_ranks *ranks, struct jp_error *err)
{
    struct jp_rank_records *records = calloc(1, sizeof(*records));
    struct input in = {0};
    int rc = -1;

    memset(ranks, 0, sizeof(*ranks));
    ranks->records = records;
    ranks->n_comms = result->n_comms;
    ranks->comms = calloc(result->n_comms + 1, sizeof(*ranks->comms));
    if (!records || !ranks->comms || list_nodes(nodes, shapes, &in) < 0 ||
        list_ranks(result, &in) < 0)
        error_set(err, "out of memory");
    else if (read_records(nodes, step_dir, records, err) == 0 &&
             place(result, &in, records, nodes->n_nodes, ranks, err) == 0)
        rc = count_paths(result, records, ranks) < 0 ||
                     add_variables(result, records, ranks) < 0
                 ? error_set(err, "out of memory")
                 : 0;
    free_input(&in);
    if (rc < 0)
        stepranks_fini(ranks);
    return rc;
}
