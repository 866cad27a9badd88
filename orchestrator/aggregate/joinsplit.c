/* joinsplit.c - whole files and pieces of huge ones, in an order to take. */
#include "orchestrator/aggregate/joinsplit.h"

#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/partial_set.h"
#include "orchestrator/ingest/logsource.h"

/* How many pieces a file makes; it is opened only if it is huge. */
static size_t pieces_of(const struct jp_logfile *log, uint64_t piece_bytes)
{
    struct jp_logsource *source;
    size_t n = 1;

    if (!piece_bytes || log->size / piece_bytes < JOINSPLIT_LEAST ||
        joinrun_kind(log, NULL) != JOIN_LINES)
        return 1;
    source = logsource_open(log->path, NULL);
    if (source && !logsource_packed(source))
        n = (size_t) (log->size / piece_bytes);
    logsource_close(source);
    return n;
}

/* Three binary digits of a size: ranks of a node, whose logs differ by little,
 * shall stay neighbours. */
static uint64_t about(uint64_t size)
{
    unsigned shift = size > 7 ? 61 - (unsigned) __builtin_clzll(size) : 0;

    return size >> shift << shift;
}

static int larger_first(const void *a, const void *b)
{
    const struct join_turn *x = a, *y = b;

    if (about(x->size) != about(y->size))
        return x->size > y->size ? -1 : 1;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

static int in_order(const void *a, const void *b)
{
    const struct join_turn *x = a, *y = b;

    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* The turns of one file; the last piece is the longest. */
static void put_turns(struct joinsplit *split, const struct jp_logfile *log,
                      size_t index, size_t pieces, uint64_t piece_bytes,
                      struct join_file *file)
{
    for (size_t k = 0; k < pieces; k++) {
        struct join_turn *turn = &split->turns[split->n];
        bool last = k + 1 == pieces;

        *turn = (struct join_turn){
            .index = index,
            .from = k * piece_bytes,
            .to = last ? UINT64_MAX : (k + 1) * piece_bytes,
            .file = pieces > 1 ? &split->own[split->n] : file,
            .whole = file};
        turn->size = last ? log->size - turn->from : piece_bytes;
        split->n++;
    }
}

/* The good node whose logs begin at this one; *next moves on. */
static struct partial_node *node_at(const struct partial_set *set, size_t *next,
                                    size_t log)
{
    while (set && *next < set->n && set->nodes[*next].first < log)
        ++*next;
    return set && *next < set->n && set->nodes[*next].first == log &&
                   set->nodes[*next].good
               ? &set->nodes[*next]
               : NULL;
}

/* Fills pieces and nodes of each log: those that a node's partial stands for
 * make no turn but the first's. Returns how many turns there are. */
static size_t count_turns(const struct jp_logwalk *walk,
                          const struct partial_set *partials,
                          uint64_t piece_bytes, size_t *pieces,
                          struct partial_node **nodes)
{
    size_t n = 0, next = 0;

    for (size_t i = 0; i < walk->n_logs;) {
        nodes[i] = node_at(partials, &next, i);
        pieces[i] = nodes[i] ? 1 : pieces_of(&walk->logs[i], piece_bytes);
        n += pieces[i];
        i += nodes[i] ? nodes[i]->n : 1;
    }
    return n;
}

static void put_node(struct joinsplit *split, size_t index,
                     struct partial_node *node)
{
    split->turns[split->n++] =
        (struct join_turn){.size = node->bytes, .index = index, .node = node};
    split->n_nodes++;
}

int joinsplit_init(struct joinsplit *split, const struct jp_logwalk *walk,
                   const struct partial_set *partials, uint64_t piece_bytes,
                   struct join_file *files)
{
    size_t *pieces = calloc(walk->n_logs + 1, sizeof(*pieces)), n = 0;
    struct partial_node **nodes = calloc(walk->n_logs + 1, sizeof(*nodes));
    int rc = -1;

    *split = (struct joinsplit){0};
    if (!pieces || !nodes)
        goto out;
    n = count_turns(walk, partials, piece_bytes, pieces, nodes);
    split->turns = calloc(n + 1, sizeof(*split->turns));
    if (!split->turns)
        goto out;
    for (size_t i = 0; i < walk->n_logs && !split->own; i++)
        if (pieces[i] > 1 && !(split->own = calloc(n, sizeof(*split->own))))
            goto out;
    for (size_t i = 0; i < walk->n_logs; i++)
        if (nodes[i])
            put_node(split, i, nodes[i]);
        else
            put_turns(split, &walk->logs[i], i, pieces[i], piece_bytes,
                      &files[i]);
    if (piece_bytes && n)
        qsort(split->turns, n, sizeof(*split->turns), larger_first);
    rc = 0;
out:
    if (rc < 0)
        joinsplit_fini(split);
    free(pieces);
    free(nodes);
    return rc;
}

/* The busy time of a piece, behind that of those before it. Without memory it
 * is as if its records came too late: nothing is told then. */
static void add_busy(struct join_file *into, struct join_file *piece)
{
    into->unstamped += piece->unstamped;
    if (!piece->busy)
        return;
    if (!into->busy) {
        into->busy = piece->busy;
        piece->busy = NULL;
    } else if (busy_join(into->busy, piece->busy) < 0) {
        into->busy->clipped++;
    }
    busy_destroy(piece->busy);
    piece->busy = NULL;
}

/* What a piece showed; the lines of the pieces before it are in `into`. */
static void add_piece(struct join_file *into, struct join_file *piece)
{
    add_busy(into, piece);
    if (piece->bad_lines && !into->bad_lines) {
        into->bad_line = into->lines + piece->bad_line;
        memcpy(into->why, piece->why, sizeof(into->why));
    }
    for (unsigned i = 0; i < JP_BAD_KINDS; i++) {
        if (piece->bad[i].n && !into->bad[i].n)
            into->bad[i].line = into->lines + piece->bad[i].line;
        into->bad[i].n += piece->bad[i].n;
    }
    if (!into->trouble[0])
        memcpy(into->trouble, piece->trouble, sizeof(into->trouble));
    into->bytes += piece->bytes;
    into->lines += piece->lines;
    into->odd_lines += piece->odd_lines;
    into->bad_lines += piece->bad_lines;
    into->other_lines += piece->other_lines;
    into->unreadable |= piece->unreadable;
    into->cut |= piece->cut;
}

void joinsplit_fold(const struct joinsplit *split)
{
    if (!split->own)
        return;
    qsort(split->turns, split->n, sizeof(*split->turns), in_order);
    for (size_t i = 0; i < split->n; i++)
        if (split->turns[i].file != split->turns[i].whole)
            add_piece(split->turns[i].whole, split->turns[i].file);
    for (size_t i = 0; i < split->n; i++) {
        struct join_file *whole = split->turns[i].whole;

        if (split->turns[i].file != whole && whole->busy)
            busy_end(whole->busy); /* again and again: nothing is left to do */
    }
}

void joinsplit_fini(struct joinsplit *split)
{
    for (size_t i = 0; split->own && i < split->n; i++)
        busy_destroy(split->own[i].busy);
    free(split->turns);
    free(split->own);
    *split = (struct joinsplit){0};
}
