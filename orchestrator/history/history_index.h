/* history_index.h - store strings and node lists as numbers, for tables of
 * millions of steps.
 *
 * The strings are foreign input. The amount that one user may add is limited,
 * so that no user can exhaust the memory at the expense of others.
 */
#ifndef JP_HISTORY_HISTORY_INDEX_H
#define JP_HISTORY_HISTORY_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "orchestrator/history/history.h"

/* A set of strings; zero-initialised: empty. The number of a string is its
 * index. */
struct history_names {
    char *bytes; /* harmless copies, each ended by NUL */
    size_t n_bytes, room_bytes;
    struct history_name {
        uint64_t hash; /* of the original text */
        size_t at;
    } * names;
    uint32_t *slots;
    size_t n, room, n_slots;
};

#define HISTORY_NO_NAME UINT32_MAX

/* Returns the number of the text. Adds a missing text if *may is not 0, and
 * then decrements *may. may NULL: only looks it up. HISTORY_NO_NAME: not there,
 * or no memory (*failed). */
uint32_t history_names_put(struct history_names *names,
                           struct history_text text, uint64_t *may,
                           bool *failed);
const char *history_names_at(const struct history_names *names, uint32_t id);
void history_names_fini(struct history_names *names);

/* Calls see for each node of "n[1-3,7],gpu5" or "r[0-1]n[1-2]", at most
 * HISTORY_NODES_MOST. Returns 0, the non-zero result of see, or -1 if the text
 * is not a node list or has more nodes. */
enum { HISTORY_NODES_MOST = 16384 };
int history_nodes_each(struct history_text list,
                       int (*see)(void *arg, struct history_text node),
                       void *arg);

#endif
