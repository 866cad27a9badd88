/* fuzz_nccldebug.c - any bytes as the lines of NCCL's log. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/nccldebug.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct nccldebug_told *told)
{
    char tidy[JP_BUSID];

    for (size_t i = 0; i < told->n_processes; i++)
        assert(strlen(told->processes[i].host) > 0 &&
               told->processes[i].pid >= 0);
    for (size_t i = 0; i < told->n_ranks; i++) {
        const struct jp_nccl_rank *r = &told->ranks[i];

        assert(r->process < told->n_processes);
        assert(r->rank < r->n_ranks);
        assert(!*r->busid || (busid_tidy(r->busid, tidy) == 0 &&
                              strcmp(tidy, r->busid) == 0));
        assert(!*r->id || strncmp(r->id, "0x", 2) == 0);
    }
    for (size_t i = 0; i < told->n_paths; i++) {
        const struct jp_nccl_path *p = &told->paths[i];

        assert(p->process < told->n_processes);
        assert(p->via < JP_N_VIAS && p->lines > 0);
        assert(p->comm == NCCLDEBUG_NO_COMM || p->comm < told->n_ranks);
        for (const char *c = p->detail; *c; c++)
            assert(*c >= ' ' && *c <= '~');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nccldebug *log = nccldebug_create();
    const char *at = (const char *) data;
    const char *end = at + size;
    struct nccldebug_told told;

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
    told = nccldebug_finish(log);
    check(&told);
    nccldebug_destroy(log);
    return 0;
}
