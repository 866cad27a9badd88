/* gen_timeline.c - recordings of a simulated job of a chosen size, for the
 * page's timeline.
 *
 * usage: gen_timeline DIR FAULT EFFECT SEED TP PP DP PER_NODE LAYERS STEPS
 * FAULT is a name of simjob_fault_name(). 1,024 ranks (8 4 32 8) of 2 layers
 * write some 9 million records in 240 steps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/insight/simrec.h"

static uint32_t number(const char *text)
{
    return (uint32_t) strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
    struct simjob_shape shape = {.microbatches = 2,
                                 .tp_ops = 2,
                                 .world = true,
                                 .gaussian = true,
                                 .buckets = 4,
                                 .grads = SIMJOB_BUCKETS,
                                 .tp_bytes = 8 << 20,
                                 .dp_bytes = 64 << 20};
    struct simjob_truth truth;
    int fault = 0;

    if (argc != 11) {
        fprintf(stderr,
                "usage: %s DIR FAULT EFFECT SEED TP PP DP PER_NODE LAYERS "
                "STEPS\n",
                argv[0]);
        return 2;
    }
    while (fault < SIMJOB_N_FAULTS && strcmp(argv[2], simjob_fault_name(fault)))
        fault++;
    if (fault == SIMJOB_N_FAULTS) {
        fprintf(stderr, "no such fault: %s\n", argv[2]);
        return 2;
    }
    shape.tp = number(argv[5]);
    shape.pp = number(argv[6]);
    shape.dp = number(argv[7]);
    shape.per_node = number(argv[8]);
    shape.layers = number(argv[9]);
    shape.steps = number(argv[10]);
    if (simrec_write(&shape, fault, strtod(argv[3], NULL),
                     strtoull(argv[4], NULL, 10), argv[1], &truth) < 0) {
        perror(argv[1]);
        return 1;
    }
    printf("rank %u node %u\n", truth.ranks[0], truth.node);
    return 0;
}
