/* comms_by_id.c - a result's communicators, found by their id. */
#include "orchestrator/aggregate/comms_by_id.h"

#include <stdlib.h>
#include <string.h>

static int compare_ids(const void *a, const void *b, void *arg)
{
    const struct jp_comm *comms = arg;
    uint32_t i = *(const uint32_t *) a, k = *(const uint32_t *) b;
    int order = strcmp(comms[i].id, comms[k].id);

    return order ? order : (i > k) - (i < k);
}

uint32_t *comms_by_id(const struct jp_result *r)
{
    uint32_t *by_id = calloc(r->n_comms + 1, sizeof(*by_id));

    for (uint32_t i = 0; by_id && i < r->n_comms; i++)
        by_id[i] = i;
    if (by_id && r->n_comms)
        qsort_r(by_id, r->n_comms, sizeof(*by_id), compare_ids, r->comms);
    return by_id;
}

size_t comms_by_id_find(const struct jp_result *r, const uint32_t *by_id,
                        const char *id)
{
    size_t low = 0, high = r->n_comms;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(r->comms[by_id[middle]].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
