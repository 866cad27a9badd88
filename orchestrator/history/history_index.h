/* history_index.h - texts and lists of nodes as numbers, for tables of millions
 * of steps.
 *
 * The texts are foreign: what one user may add is bounded, so that nobody's
 * lines keep the others' out of memory.
 */
#ifndef JP_HISTORY_HISTORY_INDEX_H
#define JP_HISTORY_HISTORY_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "orchestrator/history/history.h"

/* A set of texts; zero is empty. The number of a text is its place. */
struct history_names {
    char *bytes; /* harmless, each with a NUL */
    size_t n_bytes, room_bytes;
    struct history_name {
        uint64_t hash; /* of the text as it was */
        size_t at;
    } * names;
    uint32_t *slots;
    size_t n, room, n_slots;
};

#define HISTORY_NO_NAME UINT32_MAX

/* The number of the text, which is added if it is not there and *may is not 0;
 * *may counts down. HISTORY_NO_NAME: it is not, or no memory (*failed). may
 * NULL: only looks. */
uint32_t history_names_put(struct history_names *names,
                           struct history_text text, uint64_t *may,
                           bool *failed);
const char *history_names_at(const struct history_names *names, uint32_t id);
void history_names_fini(struct history_names *names);

/* Calls see for each node of "n[1-3,7],gpu5" or "r[0-1]n[1-2]", at most
 * HISTORY_NODES_MOST. 0, what see gave, or -1: not a list of nodes, or of
 * more. */
enum { HISTORY_NODES_MOST = 16384 };
int history_nodes_each(struct history_text list,
                       int (*see)(void *arg, struct history_text node),
                       void *arg);

#endif
