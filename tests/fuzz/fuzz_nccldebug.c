/* fuzz_nccldebug.c - any bytes as the lines of NCCL's log. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/nccldebug.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct nccldebug *log)
{
    const struct jp_nccl_process *processes;
    const struct jp_nccl_rank *ranks;
    const struct jp_nccl_path *paths;
    size_t n_processes, n_ranks, n_paths, i;
    char tidy[JP_BUSID];

    processes = nccldebug_processes(log, &n_processes);
    ranks = nccldebug_ranks(log, &n_ranks);
    paths = nccldebug_paths(log, &n_paths);
    for (i = 0; i < n_processes; i++)
        assert(strlen(processes[i].host) > 0 && processes[i].pid >= 0);
    for (i = 0; i < n_ranks; i++) {
        assert(ranks[i].process < n_processes);
        assert(ranks[i].rank < ranks[i].n_ranks);
        assert(!*ranks[i].busid || (busid_tidy(ranks[i].busid, tidy) == 0 &&
                                    strcmp(tidy, ranks[i].busid) == 0));
        assert(!*ranks[i].id || strncmp(ranks[i].id, "0x", 2) == 0);
    }
    for (i = 0; i < n_paths; i++) {
        assert(paths[i].process < n_processes);
        assert(paths[i].via < JP_N_VIAS && paths[i].lines > 0);
        assert(paths[i].comm == NCCLDEBUG_NO_COMM || paths[i].comm < n_ranks);
        for (const char *c = paths[i].detail; *c; c++)
            assert(*c >= ' ' && *c <= '~');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nccldebug *log = nccldebug_create();
    const char *at = (const char *) data;
    const char *end = at + size;

    if (!log)
        abort();
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t) (end - at));
        /* a copy of its own: a byte behind it would be found */
        size_t n = (size_t) ((line ? line : end) - at);
        char *copy = malloc(n ? n : 1);

        if (!copy)
            abort();
        memcpy(copy, at, n);
        if (nccldebug_line(log, copy, n) < 0)
            abort();
        free(copy);
        at += n + (line != NULL);
    }
    nccldebug_finish(log);
    check(log);
    nccldebug_destroy(log);
    return 0;
}
