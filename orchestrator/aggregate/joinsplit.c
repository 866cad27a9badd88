/* joinsplit.c - whole files and pieces of huge ones, in an order to take. */
#include "orchestrator/aggregate/joinsplit.h"

#include <stdlib.h>
#include <string.h>

#include "orchestrator/ingest/logsource.h"

/* How many pieces a file makes; it is opened only if it is huge. */
static size_t pieces_of(const struct jp_logfile *log, uint64_t piece_bytes)
{
    struct jp_logsource *source;
    size_t n = 1;

    if (!piece_bytes || log->size / piece_bytes < 2 ||
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

int joinsplit_init(struct joinsplit *split, const struct jp_logwalk *walk,
                   uint64_t piece_bytes, struct join_file *files)
{
    size_t *pieces = calloc(walk->n_logs + 1, sizeof(*pieces)), n = 0;

    *split = (struct joinsplit){0};
    for (size_t i = 0; pieces && i < walk->n_logs; i++)
        n += pieces[i] = pieces_of(&walk->logs[i], piece_bytes);
    split->turns = calloc(n + 1, sizeof(*split->turns));
    if (n > walk->n_logs)
        split->own = calloc(n, sizeof(*split->own));
    if (!pieces || !split->turns || (n > walk->n_logs && !split->own)) {
        free(pieces);
        joinsplit_fini(split);
        return -1;
    }
    for (size_t i = 0; i < walk->n_logs; i++)
        put_turns(split, &walk->logs[i], i, pieces[i], piece_bytes, &files[i]);
    if (piece_bytes && n)
        qsort(split->turns, n, sizeof(*split->turns), larger_first);
    free(pieces);
    return 0;
}

/* What a piece showed; the lines of the pieces before it are in `into`. */
static void add_piece(struct join_file *into, const struct join_file *piece)
{
    if (piece->bad_lines && !into->bad_lines) {
        into->bad_line = into->lines + piece->bad_line;
        memcpy(into->why, piece->why, sizeof(into->why));
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
}

void joinsplit_fini(struct joinsplit *split)
{
    free(split->turns);
    free(split->own);
    *split = (struct joinsplit){0};
}
