/* fuzz_ranks.c - any bytes as lines of ranks.jsonl and starts.jsonl, and what
 * they tell into rankmap.
 *
 * A line that begins with 's' is a start record. A few communicators' ranks are
 * then asked for, so that whatever the facts say has to make sense.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/rankread.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_RANKS = 64 };

static const char *const migs[] = {"MIG-m"};
static const struct jp_rankmap_gpu gpus[] = {
    {"0000:1a:00.0", "GPU-a", 0, NULL, 0},
    {"0000:2a:00.0", "GPU-b", 1, migs, 1}};
static const struct jp_rankmap_node nodes[] = {{"n1", "h1", "b1", gpus, 2},
                                               {"n2", "h2", "b2", gpus, 1}};

static void check(const struct jp_rank_records *r)
{
    struct jp_rankmap_rank ranks[MAX_RANKS];
    struct jp_rankmap_place places[MAX_RANKS];
    struct jp_rankmap_input in = {nodes,    2,          r->tasks, r->n_tasks,
                                  r->facts, r->n_facts, ranks,    0};

    for (size_t i = 0; i < r->n_facts && in.n_ranks < MAX_RANKS; i++) {
        const struct jp_rankmap_fact *fact = &r->facts[i];

        ranks[in.n_ranks++] = (struct jp_rankmap_rank){
            fact->comm, fact->rank < 0 ? 0 : (uint32_t) fact->rank, 4,
            fact->host, fact->pid};
    }
    if (rankmap_resolve(&in, places, NULL) < 0)
        abort();
    for (size_t i = 0; i < in.n_ranks; i++) {
        const struct jp_rankmap_place *place = &places[i];

        assert(place->node >= -1 && place->node < 2);
        assert(place->gpu < 0 ||
               (place->node >= 0 &&
                (size_t) place->gpu < nodes[place->node].n_gpus));
        assert(place->certainty == JP_SURE_UNKNOWN || *place->busid);
        assert(place->certainty == JP_SURE_EXACT || *place->why);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jp_rank_records records = {0};
    const char *at = (const char *) data;
    const char *end = at + size;

    while (at < end) {
        const char *line = memchr(at, '\n', (size_t) (end - at));
        size_t n = (size_t) ((line ? line : end) - at);
        int rc;

        if (n > 0 && *at == 's')
            rc = rankread_start_line(&records, "n1", at + 1, n - 1);
        else
            rc = rankread_rank_line(&records, n % 2 ? "n1" : "n2", at, n);
        if (rc < 0)
            abort();
        at += n + (line != NULL);
    }
    check(&records);
    rankread_fini(&records);
    return 0;
}
