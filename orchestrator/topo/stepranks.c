/* stepranks.c - where a step's ranks are, and what their processes told. */
#include "orchestrator/topo/stepranks.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/fileio.h"
#include "common/jsonload.h"
#include "orchestrator/topo/rankmap.h"

/* Read of a file, and kept of all. */
#define RANKLINES_MAX_LINES 1000000
/* Bytes that are kept of all files; 10,000 ranks with ten communicators each
 * take 15 MB. What comes behind counts as bad. */
#define RANKLINES_MAX_HELD (32u << 20)

/* A variable of a process. One without a name stands for a process of which all
 * that are set are told. */
struct jp_rank_variable {
    const char *host;
    int64_t pid;
    const char *name, *value;
};

/* A path that NCCL's log named. */
struct jp_rank_path {
    const char *comm, *via, *detail, *device, *layer;
    bool gdr, pxn;
    uint64_t lines;
};

/* What the log says of a communicator as a whole. */
struct jp_rank_carriers {
    const char *comm;
    int64_t nvls_channels; /* -1: unknown */
    bool nvls, collnet;
};

struct jp_rank_records {
    struct jp_rankmap_fact *facts;
    size_t n_facts, fact_room;
    struct jp_rankmap_task *tasks;
    size_t n_tasks, task_room;
    struct jp_rank_variable *variables;
    size_t n_variables, variable_room;
    struct jp_rank_path *paths;
    size_t n_paths, path_room;
    struct jp_rank_carriers *carriers;
    size_t n_carriers, carrier_room;
    uint64_t bad_lines;
    struct ranklines_block *blocks; /* texts */
    size_t n_blocks;
};

#define BLOCK_BYTES 65536
#define TEXT_MAX 1024 /* of one text */
#define MAX_DEVICES 64
#define MAX_READ 64 /* of a process */

/* Memory that is freed as a whole. */
struct ranklines_block {
    struct ranklines_block *next;
    size_t used;
    _Alignas(16) char bytes[BLOCK_BYTES];
};

static void *take(struct jp_rank_records *r, size_t size)
{
    struct ranklines_block *block = r->blocks;

    size = (size + 7) & ~(size_t) 7;
    if (!block || block->used + size > BLOCK_BYTES) {
        block = malloc(sizeof(*block));
        if (!block)
            return NULL;
        block->next = r->blocks;
        block->used = 0;
        r->blocks = block;
        r->n_blocks++;
    }
    block->used += size;
    return block->bytes + block->used - size;
}

static const char *keep(struct jp_rank_records *r, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    char *copy;

    if (!len)
        return "";
    if (len > TEXT_MAX)
        len = TEXT_MAX;
    copy = take(r, len + 1);
    if (copy) {
        memcpy(copy, text, len);
        copy[len] = '\0';
    }
    return copy;
}

static const char *keep_member(struct jp_rank_records *r, const json_t *object,
                               const char *key)
{
    return keep(r, json_string_value(json_object_get(object, key)));
}

static int64_t number_of(const json_t *object, const char *key,
                         int64_t otherwise)
{
    const json_t *value = json_object_get(object, key);
    json_int_t n = json_integer_value(value);

    return json_is_integer(value) && n >= 0 ? n : otherwise;
}

/* Room for one more of *array; false: enough, or no memory. */
static bool grow(void **array, size_t n, size_t *room, size_t size)
{
    void *more;

    if (n < *room)
        return true;
    more = realloc(*array, (*room * 2 + 64) * size);
    if (!more)
        return false;
    *array = more;
    *room = *room * 2 + 64;
    return true;
}

static enum jp_rank_source source_of(const json_t *object)
{
    const char *word = json_string_value(json_object_get(object, "source"));

    if (word && strcmp(word, "recorder") == 0)
        return JP_RANK_FROM_RECORDER;
    if (word && strcmp(word, "nccl_log") == 0)
        return JP_RANK_FROM_NCCL_LOG;
    return JP_RANK_FROM_FILE_NAME;
}

static int add_fact(struct jp_rank_records *r, const json_t *object,
                    const char *node, bool is_rank)
{
    struct jp_rankmap_fact fact = {
        .source = source_of(object),
        .node = node,
        .host = keep_member(r, object, "host"),
        .boot_id = keep_member(r, object, "boot_id"),
        .pid = number_of(object, "pid", -1),
        .pid_ns = (uint64_t) number_of(object, "pid_ns", 0),
        .procid = number_of(object, "procid", -1),
        .localid = number_of(object, "localid", -1),
        .comm = is_rank ? keep_member(r, object, "comm") : "",
        .rank = is_rank ? number_of(object, "rank", -1) : -1,
        .busid = is_rank ? keep_member(r, object, "busid") : "",
        .uuid = is_rank ? keep_member(r, object, "uuid") : ""};

    if (!fact.host || !fact.boot_id || !fact.comm || !fact.busid || !fact.uuid)
        return -1;
    if (r->n_facts == RANKLINES_MAX_LINES)
        return 0;
    if (!grow((void **) &r->facts, r->n_facts, &r->fact_room,
              sizeof(*r->facts)))
        return -1;
    r->facts[r->n_facts++] = fact;
    return 0;
}

static int read_variable(struct jp_rank_records *r, struct jp_rank_variable v)
{
    if (r->n_variables == RANKLINES_MAX_LINES)
        return 0;
    if (!v.host || !v.name || !v.value ||
        !grow((void **) &r->variables, r->n_variables, &r->variable_room,
              sizeof(*r->variables)))
        return -1;
    r->variables[r->n_variables++] = v;
    return 0;
}

static int read_variables(struct jp_rank_records *r, const json_t *process)
{
    struct jp_rank_variable v = {.host = keep_member(r, process, "host"),
                                 .pid = number_of(process, "pid", -1),
                                 .name = "",
                                 .value = ""};
    json_t *variables = json_object_get(process, "variables"), *value;
    const char *name;
    size_t n = 0;

    if (!json_is_object(variables))
        return v.host ? 0 : -1;
    if (read_variable(r, v) < 0)
        return -1;
    json_object_foreach(variables, name, value)
    {
        if (!*name || !json_is_string(value) || n++ >= MAX_READ)
            continue;
        v.name = keep(r, name);
        v.value = keep(r, json_string_value(value));
        if (read_variable(r, v) < 0)
            return -1;
    }
    return 0;
}

static int add_path(struct jp_rank_records *r, const json_t *object)
{
    struct jp_rank_path path = {
        .comm = keep_member(r, object, "comm"),
        .via = keep_member(r, object, "via"),
        .detail = keep_member(r, object, "detail"),
        .device = keep_member(r, object, "device"),
        .layer = keep_member(r, object, "layer"),
        .gdr = json_is_true(json_object_get(object, "gdr")),
        .pxn = json_is_true(json_object_get(object, "pxn")),
        .lines = (uint64_t) number_of(object, "lines", 1)};

    if (!path.comm || !path.via || !path.detail || !path.device || !path.layer)
        return -1;
    if (r->n_paths == RANKLINES_MAX_LINES)
        return 0;
    if (!grow((void **) &r->paths, r->n_paths, &r->path_room,
              sizeof(*r->paths)))
        return -1;
    r->paths[r->n_paths++] = path;
    return 0;
}

static int add_carriers(struct jp_rank_records *r, const json_t *object)
{
    struct jp_rank_carriers c = {
        .comm = keep_member(r, object, "comm"),
        .nvls_channels = number_of(object, "nvls_channels", -1),
        .nvls = json_is_true(json_object_get(object, "nvls")),
        .collnet = json_is_true(json_object_get(object, "collnet"))};

    if (!c.comm)
        return -1;
    if (r->n_carriers == RANKLINES_MAX_LINES)
        return 0;
    if (!grow((void **) &r->carriers, r->n_carriers, &r->carrier_room,
              sizeof(*r->carriers)))
        return -1;
    r->carriers[r->n_carriers++] = c;
    return 0;
}

/* Adds one line of ranks.jsonl, or of starts.jsonl. -1 without memory. */
static int add_rank_record(const char *line, size_t len, const char *node,
                           struct jp_rank_records *r)
{
    json_t *root =
        jsonload(JSONLOAD_LINE, "", line, len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *process = json_object_get(root, "process");
    const json_t *rank = json_object_get(root, "rank");
    const json_t *path = json_object_get(root, "path");
    const json_t *carriers = json_object_get(root, "carriers");
    int rc = 0;

    if (json_is_object(process))
        rc = add_fact(r, process, node, false) < 0 ? -1
                                                   : read_variables(r, process);
    else if (json_is_object(rank))
        rc = add_fact(r, rank, node, true);
    else if (json_is_object(path))
        rc = add_path(r, path);
    else if (json_is_object(carriers))
        rc = add_carriers(r, carriers);
    else if (!json_is_object(json_object_get(root, "end")))
        r->bad_lines++;
    json_decref(root);
    return rc;
}

/* Minors of the GPUs that the task may open. */
static int read_devices(struct jp_rank_records *r, const json_t *object,
                        struct jp_rankmap_task *task)
{
    const json_t *devices = json_object_get(object, "devices");
    size_t n = json_array_size(devices);
    int *copy;

    task->n_devices = -1;
    if (!json_is_array(devices) || n > MAX_DEVICES)
        return 0;
    copy = take(r, n * sizeof(*copy) + 1);
    if (!copy)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const json_t *device = json_array_get(devices, i);
        json_int_t minor = json_integer_value(device);

        if (!json_is_integer(device) || minor < 0 || minor > INT_MAX)
            return 0;
        copy[i] = (int) minor;
    }
    task->devices = copy;
    task->n_devices = (int) n;
    return 0;
}

static int add_start_record(const char *line, size_t len, const char *node,
                            struct jp_rank_records *r)
{
    json_t *root =
        jsonload(JSONLOAD_LINE, "", line, len, JSON_REJECT_DUPLICATES, NULL);
    struct jp_rankmap_task task = {
        .node = node,
        .boot_id = keep_member(r, root, "boot_id"),
        .pid = number_of(root, "pid", -1),
        .pid_ns = (uint64_t) number_of(root, "pid_ns", 0),
        .procid = number_of(root, "procid", -1),
        .localid = number_of(root, "localid", -1)};
    int rc = task.boot_id ? read_devices(r, root, &task) : -1;

    if (number_of(root, "schema", 0) != 1)
        r->bad_lines++;
    else if (rc == 0 && r->n_tasks < RANKLINES_MAX_LINES) {
        if (grow((void **) &r->tasks, r->n_tasks, &r->task_room,
                 sizeof(*r->tasks)))
            r->tasks[r->n_tasks++] = task;
        else
            rc = -1;
    }
    json_decref(root);
    return rc;
}

/* Foreign files of many nodes take no more memory than this. */
static bool is_full(const struct jp_rank_records *r)
{
    return r->n_blocks * sizeof(struct ranklines_block) +
               r->n_facts * sizeof(*r->facts) + r->n_tasks * sizeof(*r->tasks) +
               r->n_variables * sizeof(*r->variables) +
               r->n_paths * sizeof(*r->paths) >
           RANKLINES_MAX_HELD;
}

static int read_file(const char *folder, const char *name, const char *node,
                     int (*add)(const char *, size_t, const char *,
                                struct jp_rank_records *),
                     struct jp_rank_records *r, struct jp_error *err)
{
    const size_t size = jsonload_limits[JSONLOAD_LINE].bytes;
    char *path = fileio_path("%s/%s", folder, name), *line = malloc(size);
    FILE *file = path ? shortline_open(path) : NULL;
    int rc = path && line ? 0 : -1;
    uint64_t lines = 0;
    ssize_t n;

    while (rc == 0 && file && lines++ < RANKLINES_MAX_LINES &&
           (n = shortline_next(file, line, (int) size)) >= 0)
        if (is_full(r))
            r->bad_lines++;
        else if (*line != '\n')
            rc = add(line, (size_t) n, node, r);
    if (file)
        fclose(file);
    free(line);
    free(path);
    return rc < 0 ? error_set(err, "out of memory") : 0;
}

/* Adds both files of <folder>, which is the node's in the step. Absent ones are
 * no error. -1 without memory. */
static int read_lines_of(const char *folder, const char *node,
                         struct jp_rank_records *r, struct jp_error *err)
{
    const char *name = keep(r, node);

    if (!name)
        return error_set(err, "out of memory");
    if (read_file(folder, "ranks.jsonl", name, add_rank_record, r, err) < 0)
        return -1;
    return read_file(folder, "starts.jsonl", name, add_start_record, r, err);
}

static void records_fini(struct jp_rank_records *r)
{
    while (r->blocks) {
        struct ranklines_block *next = r->blocks->next;

        free(r->blocks);
        r->blocks = next;
    }
    free(r->facts);
    free(r->tasks);
    free(r->variables);
    free(r->paths);
    free(r->carriers);
    memset(r, 0, sizeof(*r));
}

/* ---------------- where a step's ranks are, and what their processes told */

#define MAX_VARIABLES 48 /* of a communicator; the recorder knows fewer */

/* What rankmap takes, made of what we have. */
struct input {
    struct jp_rankmap_node *nodes;
    struct jp_rankmap_gpu *gpus; /* of all nodes */
    struct jp_rankmap_rank *ranks;
    struct jp_rankmap_place *places;
};

static void free_input(struct input *in)
{
    free(in->nodes);
    free(in->gpus);
    free(in->ranks);
    free(in->places);
}

void stepranks_fini(struct jp_step_ranks *ranks)
{
    for (size_t i = 0; ranks->comms && i < ranks->n_comms; i++)
        free(ranks->comms[i].variables);
    if (ranks->records)
        records_fini(ranks->records);
    free(ranks->records);
    free(ranks->comms);
    free(ranks->ranks);
    memset(ranks, 0, sizeof(*ranks));
}

static const struct topo *topo_of(const struct jp_shapes *shapes, size_t node)
{
    int shape = shapes->nodes[node].shape;

    return shape >= 0 ? shapes->shapes[shape].topo : NULL;
}

/* The nodes with their GPUs, in the order of their topologies. */
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
            in->gpus[at++] =
                (struct jp_rankmap_gpu){.busid = topo->gpus[k].busid,
                                        .uuid = self[k].uuid,
                                        .minor = self[k].minor};
    }
    return 0;
}

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
    if (!ranks->ranks)
        return error_set(err, "out of memory");
    if (rankmap_resolve(&all, in->places, err) < 0)
        return -1;
    for (size_t i = 0; i < result->n_ranks; i++) {
        const struct jp_rankmap_place *p = &in->places[i];

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

/* --- paths and variables -----------------------------------------------------
 */

/* The first one stands for all. */
static void copy_once(char *out, size_t size, const char *text)
{
    if (!*out && strlen(text) < size)
        memcpy(out, text, strlen(text) + 1);
}

static void count_path(const struct jp_rank_path *path,
                       struct jp_comm_facts *comm)
{
    struct jp_label_paths *p = &comm->paths;

    comm->has_paths = true;
    if (strcmp(path->via, "P2P") == 0) {
        p->p2p += path->lines;
        p->mnnvl += strcmp(path->detail, "MNNVL") == 0 ? path->lines : 0;
    } else if (strcmp(path->via, "SHM") == 0) {
        p->shm += path->lines;
    } else if (strcmp(path->via, "NET") == 0) {
        label_paths_net(p, path->detail, path->layer, path->lines);
        p->net_gdr += path->gdr ? path->lines : 0;
        p->net_pxn += path->pxn ? path->lines : 0;
        copy_once(p->device, sizeof(p->device), path->device);
    } else if (strcmp(path->via, "COLLNET") == 0) {
        p->collnet = true;
        copy_once(p->collnet_name, sizeof(p->collnet_name), path->detail);
    }
}

static void count_carriers(const struct jp_rank_carriers *c,
                           struct jp_comm_facts *comm)
{
    struct jp_label_paths *p = &comm->paths;

    comm->has_paths = true;
    p->nvls |= c->nvls;
    p->collnet |= c->collnet;
    if (c->nvls_channels < 0)
        return;
    p->told_channels = true;
    p->nvls_channels |= c->nvls_channels > 0;
}

struct by_id {
    const char *id;
    size_t comm;
};

static int compare_ids(const void *a, const void *b)
{
    const struct by_id *x = a, *y = b;

    return strcmp(x->id, y->id);
}

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

/* Ids are unique but for a few: paths go to the first of equal ones. */
static int count_paths(const struct jp_result *result,
                       const struct jp_rank_records *records,
                       struct jp_step_ranks *ranks)
{
    struct by_id *ids = calloc(result->n_comms + 1, sizeof(*ids));

    if (!ids)
        return -1;
    for (size_t i = 0; i < result->n_comms; i++)
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

static int compare_process(const void *a, const void *b)
{
    const struct jp_rank_variable *x = a, *y = b;
    int order = strcmp(x->host, y->host);

    if (!order && x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return order ? order
                 : strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

/* The first variable of a process; records are sorted. */
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

static int add_variable(struct jp_comm_facts *comm, const char *name,
                        const char *value)
{
    for (size_t i = 0; i < comm->n_variables; i++)
        if (strcmp(comm->variables[i].name, name) == 0) {
            comm->variables[i].differs |=
                strcmp(comm->variables[i].value, value) != 0;
            return 0;
        }
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

static bool is_process(const struct jp_rank_records *records, size_t at,
                       const struct jp_rank *rank)
{
    return at < records->n_variables &&
           records->variables[at].pid == rank->pid &&
           strcmp(records->variables[at].host, rank->host ? rank->host : "") ==
               0;
}

/* What a rank has not set, others of its communicator have otherwise; `at` is
 * its process's first record. */
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

/* A variable that one rank has counts: NCCL's ranks must agree on most. */
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
    for (size_t i = 0; i < result->n_ranks; i++) {
        const struct jp_rank *rank = &result->ranks[i];

        at = find_process(records, rank->host ? rank->host : "", rank->pid);
        note_unset(&ranks->comms[rank->comm], records, at, rank);
    }
    return 0;
}

static int read_records(const struct jp_nodes *nodes, const char *step_dir,
                        struct jp_rank_records *records, struct jp_error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < nodes->n_nodes; i++) {
        const char *name = nodes->nodes[i].name;
        char *folder = fileio_path("%s/nodes/%s", step_dir, name);

        rc = folder ? read_lines_of(folder, name, records, err)
                    : error_set(err, "out of memory");
        free(folder);
    }
    return rc;
}

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
