/* parallel.h - what the communicators show of a job's parallelism.
 *
 * Programs that divide a model make a communicator for each group of ranks:
 * tensor-parallel, pipeline-parallel, data-parallel and so on. A size is said
 * only where the communicators show it without doubt. Everything else, such as
 * communicators without a name, stays unknown.
 */
#ifndef JP_IDENTITY_PARALLEL_H
#define JP_IDENTITY_PARALLEL_H

#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/identity/processes.h"

/* A way to divide a model, and the names of its communicators: the short one,
 * as in reports, then others in lower case (PyTorch's meshes put "mesh_" before
 * the name; Megatron-LM's groups are called as its functions). */
#define PARALLEL_AXES(ROW)                                                     \
    ROW("tp", "tensor", "tensor_parallel_group",                               \
        "tensor_model_parallel_group")                                         \
    ROW("pp", "pipeline", "pipeline_parallel_group",                           \
        "pipeline_model_parallel_group")                                       \
    ROW("dp", "data", "data_parallel_group", "")                               \
    ROW("cp", "context", "context_parallel_group", "")                         \
    ROW("ep", "expert", "expert_parallel_group", "expert_model_parallel_group")

#define PARALLEL_COUNT(...) +1
enum { PARALLEL_MAX = 0 PARALLEL_AXES(PARALLEL_COUNT) };

struct parallel_axis {
    const char *axis; /* "tp" ...; static */
    uint32_t ranks;   /* of each of its communicators */
    uint32_t comms;   /* so many communicators */
    const char *comm; /* the name of the first one; borrowed */
};

struct parallel {
    uint64_t world_size; /* ranks of the program; 0: unknown */
    struct parallel_axis list[PARALLEL_MAX]; /* in the table's order */
    size_t n;
};

/* Finds the sizes. The world's size is known if the communicators, of which all
 * ranks have records, connect all processes (of an attempt). An axis has a size
 * if its communicators have all ranks and one size, and each process is in
 * exactly one of them. tasks: of the step, 0 if unknown; a program of fewer
 * ranks is not the whole step, and has no size. result is borrowed. 0, or -1:
 * no memory. */
int parallel_find(struct parallel *out, const struct jp_result *result,
                  const struct jp_processes *processes, uint64_t tasks);

/* Formats "16 ranks; tp 4, pp 2, dp 2", "" if nothing is known. Returns buf. */
#define PARALLEL_TEXT 160
char *parallel_text(const struct parallel *parallel, char buf[PARALLEL_TEXT]);

#endif
