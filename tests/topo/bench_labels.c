/* bench_labels.c - label a job of 1,024 nodes of three shapes.
 *
 * The texts of the records are made first. Then the time of everything that a
 * report does with them is measured: reading, joining shapes, and labelling a
 * tensor group per node, a data group per GPU, and the world. Prints CPU
 * seconds (of one thread), MB, and the ratio to a plain pass over the same
 * bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "machine.h"
#include "orchestrator/topo/shapes.h"
#include "orchestrator/topo/label.h"

#define N_NODES 1024
#define MAX_GPUS 8

struct texts {
    char *xml, *hardware;
};

/* CPU time of this process, so that other work on the machine does not count.
 */
static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static double peak_mb(void)
{
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    return (double) use.ru_maxrss / 1024;
}

static void make_texts(struct texts texts[3])
{
    static const char *const names[] = {"bench-a", "bench-b", "bench-c"};
    const char *top = getenv("top_srcdir");
    char path[600];

    snprintf(path, sizeof(path), "%s/tests/topo/machines.txt", top ? top : ".");
    for (int i = 0; i < 3; i++)
        if (machine_make(path, names[i], "n", &texts[i].xml,
                         &texts[i].hardware) < 0)
            exit(99);
}

/* A tenth of the nodes has the second shape, a few have the third. */
static int shape_of(int node)
{
    return node % 100 == 7 ? 2 : node % 10 == 3 ? 1 : 0;
}

static void add_nodes(struct jp_shapes *shapes, const struct texts texts[3])
{
    struct jp_error err;

    memset(shapes, 0, sizeof(*shapes));
    for (int i = 0; i < N_NODES; i++) {
        const struct texts *t = &texts[shape_of(i)];
        char name[16];

        snprintf(name, sizeof(name), "n%04d", i);
        if (shapes_add(shapes, name, strdup(t->xml), strlen(t->xml),
                       t->hardware, NULL, &err) < 0)
            exit(1);
    }
    if (shapes_sort(shapes, &err) < 0)
        exit(1);
}

static void name_nodes(const struct jp_shapes *shapes,
                       struct jp_label_node *nodes)
{
    for (size_t i = 0; i < N_NODES; i++) {
        const struct jp_shape_node *node = &shapes->nodes[i];

        nodes[i] =
            (struct jp_label_node){.name = node->name,
                                   .boot_id = node->name,
                                   .topo = shapes->shapes[node->shape].topo,
                                   .selves = node->gpus};
    }
}

static size_t gpus_of(const struct jp_label_node *node)
{
    return node->topo->n_gpus < MAX_GPUS ? node->topo->n_gpus : MAX_GPUS;
}

/* gpu < 0: all of a node; node < 0: all nodes. Returns the number of warnings.
 */
static size_t label_group(const struct jp_label_node *nodes, int node, int gpu)
{
    static struct jp_label_rank ranks[N_NODES * MAX_GPUS];
    static const struct jp_label_variable variable = {.name = "NCCL_IB_HCA",
                                                      .value = "^mlx5_bond"};
    struct jp_label_comm comm = {.collective = true,
                                 .ranks = ranks,
                                 .variables = &variable,
                                 .n_variables = 1};
    struct jp_label label;
    size_t warnings;

    for (int i = 0; i < N_NODES; i++) {
        size_t before = comm.n;

        if (node >= 0 && i != node)
            continue;
        for (size_t k = 0; k < gpus_of(&nodes[i]); k++)
            if (gpu < 0 || (int) k == gpu) {
                ranks[comm.n] =
                    (struct jp_label_rank){.rank = (uint32_t) comm.n,
                                           .node = i,
                                           .host = nodes[i].name,
                                           .gpu = (int) k,
                                           .sure = true};
                comm.n++;
            }
        comm.nnodes += comm.n > before;
    }
    comm.n_ranks = (uint32_t) comm.n;
    if (label_comm(&comm, nodes, N_NODES, &label) < 0)
        exit(1);
    if (node < 0)
        printf("#   %u ranks: %s + %s, %s; %zu warnings\n", comm.n_ranks,
               label_fabric_word[label.fabric], label_inter_word[label.inter],
               label_rail_word[label.rail], label.n_warnings);
    warnings = label.n_warnings;
    label_fini(&label);
    return warnings;
}

/* The minimum cost of reading: a copy and a look at every byte. */
static double plain_pass(const struct texts texts[3])
{
    double start = cpu_s();
    volatile size_t lines = 0;

    for (int i = 0; i < N_NODES; i++) {
        char *copy = strdup(texts[shape_of(i)].xml);

        for (const char *c = copy; *c; c++)
            lines += *c == '\n';
        free(copy);
    }
    return cpu_s() - start;
}

int main(void)
{
    static struct jp_label_node nodes[N_NODES];
    struct jp_shapes shapes;
    struct texts texts[3];
    size_t bytes = 0, labels = 0;
    double base, start, read, end, pass;

    make_texts(texts);
    for (int i = 0; i < N_NODES; i++)
        bytes += strlen(texts[shape_of(i)].xml);
    base = peak_mb();
    start = cpu_s();
    add_nodes(&shapes, texts);
    read = cpu_s();
    name_nodes(&shapes, nodes);
    for (int i = 0; i < N_NODES; i++, labels++)
        label_group(nodes, i, -1);
    for (int gpu = 0; gpu < MAX_GPUS; gpu++, labels++)
        label_group(nodes, -1, gpu);
    label_group(nodes, -1, -1);
    end = cpu_s();
    pass = plain_pass(texts);
    printf("bench topo: %d nodes of %zu shapes, %.0f MB of XML: %.3f s (%.3f "
           "reading, %.3f for %zu labels), %.0f MB, %.1f x a plain pass\n",
           N_NODES, shapes.n_shapes, (double) bytes / 1e6, end - start,
           read - start, end - read, labels + 1, peak_mb() - base,
           (end - start) / pass);
    for (int i = 0; i < 3; i++) {
        free(texts[i].xml);
        free(texts[i].hardware);
    }
    shapes_fini(&shapes);
    return end - start < 1.0 && peak_mb() - base < 100 ? 0 : 1;
}
