/* sim_job.c - write the logs of a simulated job and say what is wrong with it.
 *
 * usage: sim_job DIR FAULT EFFECT SEED [NOISE]
 * FAULT is a name of simjob_fault_name(), EFFECT a share such as 0.1. SEED
 * makes the shape, and what happens; with NOISE that does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/insight/simlog.h"

static void tell(const struct simjob_shape *s, const struct simjob_truth *t)
{
    char host[16], id[20];

    printf("shape tp=%u pp=%u dp=%u per_node=%u layers=%u microbatches=%u "
           "steps=%u warmup=%u tp_ops=%u sharded=%d world=%d grads=%d "
           "buckets=%u dp_before_pp=%d gaussian=%d tp_bytes=%" PRIu64
           " dp_bytes=%" PRIu64 "\n",
           s->tp, s->pp, s->dp, s->per_node, s->layers, s->microbatches,
           s->steps, s->warmup, s->tp_ops, s->sharded, s->world, s->grads,
           s->buckets, s->dp_before_pp, s->gaussian, s->tp_bytes, s->dp_bytes);
    simlog_host(t->node, host);
    simlog_id(t->comm, id);
    printf("fault %s effect %g ranks %u %u node %s from_step %u comm %s\n",
           simjob_fault_name(t->fault), t->effect, t->ranks[0], t->ranks[1],
           host, t->from_step, id);
}

int main(int argc, char **argv)
{
    struct simjob_truth truth;
    struct simjob_shape shape;
    int fault = 0;

    if (argc != 5 && argc != 6) {
        fprintf(stderr, "usage: %s DIR FAULT EFFECT SEED [NOISE]\n", argv[0]);
        return 2;
    }
    while (fault < SIMJOB_N_FAULTS && strcmp(argv[2], simjob_fault_name(fault)))
        fault++;
    if (fault == SIMJOB_N_FAULTS) {
        fprintf(stderr, "no such fault: %s; one of:", argv[2]);
        for (fault = 0; fault < SIMJOB_N_FAULTS; fault++)
            fprintf(stderr, " %s", simjob_fault_name(fault));
        fputc('\n', stderr);
        return 2;
    }
    shape = simjob_random_shape(strtoull(argv[4], NULL, 10));
    if (simlog_write(&shape, fault, strtod(argv[3], NULL),
                     strtoull(argv[argc - 1], NULL, 10), argv[1], &truth) < 0) {
        perror(argv[1]);
        return 1;
    }
    tell(&shape, &truth);
    return 0;
}
