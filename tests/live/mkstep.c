/* mkstep.c - `mkstep DIR NODES RANKS KIND [WHO]`: makestep.h for shell tests.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/num.h"
#include "tests/live/makestep.h"

int main(int argc, char **argv)
{
    struct makestep step = {.kind = MAKESTEP_N_KINDS};
    uint64_t nodes, ranks, who = 0;
    struct timespec now;

    if (argc < 5 || num_parse_u64(argv[2], 1, 4096, &nodes, NULL) < 0 ||
        num_parse_u64(argv[3], 1, LIVE_RANKS_MAX, &ranks, NULL) < 0 ||
        (argc > 5 && num_parse_u64(argv[5], 0, UINT32_MAX, &who, NULL) < 0)) {
        fprintf(stderr, "usage: mkstep DIR NODES RANKS KIND [WHO]\n");
        return 2;
    }
    for (int i = 0; i < MAKESTEP_N_KINDS; i++)
        if (!strcmp(argv[4], makestep_words[i]))
            step.kind = (enum makestep_kind) i;
    clock_gettime(CLOCK_REALTIME, &now);
    step.nodes = (uint32_t) nodes;
    step.ranks = (uint32_t) ranks;
    step.who = (uint32_t) who;
    step.due_ms = 600000; /* must not become stale on a busy machine */
    step.real_ns = (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
    return step.kind < MAKESTEP_N_KINDS && makestep_write(&step, argv[1]) == 0
               ? 0
               : 1;
}
