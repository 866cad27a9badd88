/* fuzz_topology.c - topology.xml and hardware.json of a node, and its labels.
 *
 * Input: the XML, a NUL, hardware.json (both may be empty), and after another
 * NUL a value for NCCL_IB_HCA and NCCL_P2P_LEVEL. Where the XML is bad, the
 * JSON stands alone. The XML may be hwloc's or NCCL's.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/label.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *copy(const void *data, size_t size)
{
    char *text = malloc(size + 1);

    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* The model is whole: levels and links are symmetric, indices in range. */
static void check_topo(const struct topo *t)
{
    size_t n = t->n_gpus + t->n_hcas;

    if (t->n_gpus > TOPO_MAX_GPUS || t->n_hcas > TOPO_MAX_HCAS)
        abort();
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            if (topo_level(t, i, k) >= TOPO_N_LEVELS ||
                topo_level(t, i, k) != topo_level(t, k, i) ||
                (topo_level(t, i, k) == TOPO_SELF) != (i == k))
                abort();
    for (size_t i = 0; i < t->n_gpus; i++) {
        if (t->near[i].hca >= (int) t->n_hcas ||
            t->near[i].rail >= (int) t->n_rails)
            abort();
        for (size_t k = 0; k < t->n_gpus; k++)
            if (topo_nvlink(t, i, k) != topo_nvlink(t, k, i))
                abort();
    }
}

/* All GPUs of one node, or one each of two: every label has its reason. */
static void check_labels(const struct topo *t, bool known, uint32_t nnodes,
                         const char *value)
{
    const struct jp_label_node nodes[] = {
        {.name = "a", .boot_id = "a", .topo = t},
        {.name = "b", .boot_id = "b", .topo = t}};
    struct jp_label_rank ranks[2 * TOPO_MAX_GPUS];
    const struct jp_label_variable variables[] = {
        {.name = "NCCL_IB_HCA", .value = value},
        {.name = "NCCL_P2P_LEVEL", .value = value}};
    struct jp_label_comm comm = {.nnodes = nnodes,
                                 .collective = true,
                                 .ranks = ranks,
                                 .variables = variables,
                                 .n_variables = value ? 2 : 0};
    struct jp_label label;
    char text[700];

    for (size_t i = 0; i < t->n_gpus; i++)
        for (int node = 0; node < 2; node++, comm.n++)
            ranks[comm.n] = (struct jp_label_rank){.rank = (uint32_t) comm.n,
                                                   .node = node,
                                                   .host = "h",
                                                   .gpu = known ? (int) i : -1,
                                                   .sure = known};
    comm.n_ranks = (uint32_t) comm.n;
    if (label_comm(&comm, nodes, 2, &label) < 0)
        abort();
    if (!*label.why || strchr(label.why, '\n') || !label.hca_path)
        abort();
    for (size_t i = 0; i < label.n_warnings; i++)
        if (!*label_warning_text(&label.warnings[i], nodes, text, sizeof(text)))
            abort();
    label_fini(&label);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size ? memchr(data, '\0', size) : NULL;
    size_t len = nul ? (size_t) (nul - data) : size;
    const uint8_t *end = nul ? memchr(nul + 1, '\0', size - len - 1) : NULL;
    char *hardware = nul ? copy(nul + 1, size - len - 1) : NULL;
    const char *value = end ? hardware + (end - nul) : NULL;
    struct jp_error err = {""}, note = {""};
    struct topo *topo = topo_make(copy(data, len), len, &err);
    struct topo_host host;

    if (!topo && hardware)
        topo = topo_bare(hardware, NULL);
    if (hardware && topo_hardware(hardware, topo, &host, &note) < 0 &&
        !*note.text)
        abort();
    if (topo) {
        check_topo(topo);
        if (topo_prefer(topo, topo, &note) == 0)
            check_topo(topo); /* NCCL's file of the same node */
        for (uint32_t nnodes = 1; nnodes < 4; nnodes++) {
            check_labels(topo, true, nnodes, value);
            check_labels(topo, false, nnodes, value);
        }
    } else if (!*err.text) {
        abort();
    }
    topo_destroy(topo);
    free(hardware);
    return 0;
}
