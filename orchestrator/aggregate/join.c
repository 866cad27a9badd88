/* join.c - add records to operations, and fold one thread's join into
 * another's.
 *
 * The way of a record: join_add finds its lane, either by the number of its
 * series or by its texts (member_of, lane_of). seek makes the blocks of its
 * sequence number current. Then add_coll adds it to a row, or add_p2p to the
 * sums of its pair. Nearly all records take the short way, so all that is rare
 * is kept out of line (JOIN_RARE).
 *
 * join_merge adds one join to another, part by part. The parts themselves are
 * in join_parts.c. */
#include "orchestrator/aggregate/join.h"

#include <stdlib.h>
#include <string.h>

#include "common/clockmap.h"
#include "common/vector.h"
#include "orchestrator/aggregate/join_parts.h"

struct join *join_create(struct join_budget *budget, bool ordered)
{
    struct join *join = calloc(1, sizeof(*join));

    if (!join)
        return NULL;
    join->budget = budget;
    join->ordered = ordered;
    return join;
}

/* Frees a communicator with its series. The bytes stay charged to the budget,
 * because the whole join goes. */
static void comm_destroy(struct join_comm *comm)
{
    for (uint32_t i = 0; i < comm->n_series; i++) {
        join_series_empty(NULL, comm->series[i]);
        free(comm->series[i]);
    }
    free(comm->series);
    free(comm->members);
    free(comm->name);
    free(comm->paths);
    free(comm);
}

static void member_destroy(struct join_member *member)
{
    /* lanes of Send and Recv, or all lanes if the communicator is still open */
    for (uint32_t i = 0; i < member->n_lanes; i++)
        join_lane_free(NULL, member->lanes[i]);
    free(member->lanes);
    join_messages_fini(member);
    free(member->slices);
    free(member->host);
    free(member);
}

void join_destroy(struct join *join)
{
    if (!join)
        return;
    for (uint32_t i = 0; i < join->n_comms; i++)
        comm_destroy(join->comms[i]);
    for (uint32_t i = 0; i < join->n_members; i++)
        member_destroy(join->members[i]);
    for (uint32_t i = 0; i < join->n_p2p; i++) {
        free(join->p2p[i]->rates.at);
        free(join->p2p[i]);
    }
    for (uint32_t i = 0; i < join->n_funcs; i++)
        free(join->funcs[i]);
    free(join->comms);
    free(join->members);
    free(join->p2p);
    free(join->funcs);
    free(join->strays);
    free(join->touched);
    ops_destroy(join->ops);
    keymap_fini(&join->comm_map);
    keymap_fini(&join->member_map);
    keymap_fini(&join->p2p_map);
    free(join);
}

void join_begin_file(struct join *join, uint32_t file)
{
    join->file = file;
    join->turn++;
    join->n_touched = 0;
    join->n_streams = 0; /* so that members note the new file */
    join->next_stream = 0;
    /* series numbers are valid within one file only */
    memset(join->known, 0, sizeof(join->known));
}

/* Whether a text of a record equals a kept one. */
static bool is_same_text(const struct record_text *text, const char *other,
                         size_t len)
{
    return text->len == len && (!len || !memcmp(text->text, other, len));
}

/* The stream of the process that wrote the record. NULL: it is not among the
 * last ones. There are 16 at most, so comparing them costs less than a hash. */
static struct join_stream *find_stream(struct join *join,
                                       const struct record *r)
{
    for (unsigned i = 0; i < join->n_streams; i++) {
        struct join_stream *s = &join->streams[i];

        if (s->rank == r->rank && s->n_ranks == r->n_ranks &&
            s->nnodes == r->nnodes && s->pid == r->pid &&
            s->instance == r->instance &&
            is_same_text(&r->id, s->id, s->id_len) &&
            is_same_text(&r->name, s->name, s->name_len) &&
            is_same_text(&r->host, s->host, s->host_len))
            return s;
    }
    return NULL;
}

/* Keeps the record's process as a stream, in place of the oldest one. The texts
 * fit, because readers refuse longer ones. */
static void remember(struct join *join, const struct record *r,
                     struct join_member *member)
{
    struct join_stream *s = &join->streams[join->next_stream];

    join->next_stream = (join->next_stream + 1) % JOIN_STREAMS;
    if (join->n_streams < JOIN_STREAMS)
        join->n_streams++;
    s->member = member;
    s->rank = r->rank;
    s->n_ranks = r->n_ranks;
    s->nnodes = r->nnodes;
    s->pid = r->pid;
    s->instance = r->instance;
    s->id_len = (uint8_t) r->id.len;
    s->name_len = (uint8_t) r->name.len;
    s->host_len = (uint8_t) r->host.len;
    memcpy(s->id, r->id.text, r->id.len);
    if (r->name.len)
        memcpy(s->name, r->name.text, r->name.len);
    if (r->host.len)
        memcpy(s->host, r->host.text, r->host.len);
}

/* Notes that the file being read has records of the member. 0 or -1. */
static int touch(struct join *join, struct join_member *member)
{
    /* its number is in the list already */
    if (member->turn == join->turn)
        return 0;
    if (VECTOR_ROOM(join->touched, join->n_touched + 1, join->room_touched) < 0)
        return -1;
    join->touched[join->n_touched++] = member->number;
    member->turn = join->turn;
    return 0;
}

/* The member that wrote the record. NULL: no memory. */
static JOIN_RARE struct join_member *member_of(struct join *join,
                                               const struct record *r)
{
    struct join_stream *stream = find_stream(join, r);
    struct join_member *member;
    uint32_t comm;

    if (stream) { /* a Send may have made it, which shows nothing about gaps */
        join->comms[stream->member->comm]->gaps_lost |= r->gaps_lost;
        return stream->member;
    }
    /* not seen lately: find or make communicator, member and process by their
     * texts */
    comm = join_comm_get(join, r->id.text, r->id.len, r->n_ranks, r->nnodes);
    if (comm == KEYMAP_NONE ||
        join_comm_name(join->comms[comm], r->name.text, r->name.len) < 0)
        return NULL;
    member = join_member_get(join, comm, r->rank);
    if (!member || join_member_process(
                       member, &(struct join_process){
                                   r->host.len ? r->host.text : "", r->host.len,
                                   r->pid, r->instance, r->device}) < 0)
        return NULL;
    if (touch(join, member) < 0)
        return NULL;
    /* join_merge cannot decide which file's record came first */
    if (member->file != join->file)
        member->many_files = true;
    member->file = join->file;
    join->comms[comm]->gaps_lost |= r->gaps_lost;
    remember(join, r, member);
    return member;
}

/* Counts a repeated record. If two files have it, only the ordered join can
 * decide which one was first. */
static enum join_status repeated(struct join *join,
                                 const struct join_member *member)
{
    join->duplicates++;
    if (member->many_files && !join->ordered)
        join->conflict = true;
    return JOIN_OK;
}

/* A second file of a rank of a closed communicator: the caller has to join once
 * more and close nothing early. */
static enum join_status too_late(struct join *join)
{
    join->conflict = true;
    join->late = true;
    return JOIN_OK;
}

/* Decides what a failed call means: the memory limit was reached, so the record
 * is left out, or there is no memory at all. */
static enum join_status failed(struct join *join)
{
    if (!join->over)
        return JOIN_NO_MEMORY;
    join->over = false;
    join->left_out++;
    if (!join->ordered)
        join->conflict = true;
    return JOIN_LEFT_OUT;
}

enum join_status join_add_counts(struct join *join, const struct record *base,
                                 const struct jpr_counts *counts)
{
    uint32_t comm = join_comm_get(join, base->id.text, base->id.len,
                                  base->n_ranks, base->nnodes);

    if (comm != KEYMAP_NONE) {
        join_counts_fold(join->comms[comm], counts);
        return JOIN_OK;
    }
    if (!join->over)
        return JOIN_NO_MEMORY;
    join->over = false;
    join->conflict |= !join->ordered; /* which of the two sizes came first? */
    return JOIN_LEFT_OUT;
}

/* Keeps a record with another size than its row. The row stays the first
 * size's. JOIN_OK, or as failed(). */
static JOIN_RARE enum join_status
add_stray(struct join *join, const struct join_member *member,
          const struct join_lane *lane, const struct record *r, uint32_t phase)
{
    struct join_stray stray = {.comm = member->comm,
                               .func = lane->func,
                               .rank = member->rank,
                               .sn = r->sn,
                               .seq = join->n_strays};

    join_row_fill(&stray.row, r);
    join_stamp_fill(&stray.stamp, r, phase);
    return join_stray_add(join, &stray) < 0 ? failed(join) : JOIN_OK;
}

/* The lane of a record's function, which is made if it is new. NULL: no memory,
 * or too many functions. A member has few lanes, so it compares names before it
 * looks for the function's number. */
static JOIN_RARE struct join_lane *
lane_of(struct join *join, struct join_member *member, const struct record *r)
{
    struct join_comm *comm = join->comms[member->comm];
    struct join_series *series = NULL;
    uint32_t func;

    for (uint32_t i = 0; i < member->n_lanes; i++) {
        const char *name = join->funcs[member->lanes[i]->func];

        /* a lane of Send and Recv has no series */
        if (!member->lanes[i]->series == r->p2p &&
            !strncmp(name, r->func.text, r->func.len) && !name[r->func.len])
            return member->lanes[i];
    }
    func = join_func_get(join, r->func.text, r->func.len);
    if (func == KEYMAP_NONE)
        return NULL;
    if (!r->p2p && !(series = join_series_get(join, comm, func)))
        return NULL;
    return join_lane_get(join, member, series, func);
}

/* Makes other blocks the lane's current ones: the series' block of rows (not
 * for Send and Recv) and the member's block of bits and times. 0, or -1 with
 * join->over or without memory. */
static JOIN_RARE int seek_far(struct join *join, struct join_lane *lane,
                              uint64_t number)
{
    struct join_lane_block *mine;
    struct join_block *block = NULL;

    if (lane->series && !(block = join_block_get(join, lane->series, number)))
        return -1;
    mine = join_lane_block_get(join, lane, number);
    if (!mine)
        return -1;
    lane->lane_block = mine;
    lane->block = block;
    return 0;
}

/* Makes the blocks of a sequence number the lane's current ones. */
static inline int seek(struct join *join, struct join_lane *lane, uint64_t sn)
{
    return lane->lane_block && lane->lane_block->number == sn / JOIN_BLOCK
               ? 0
               : seek_far(join, lane, sn / JOIN_BLOCK);
}

/* Adds a time to the journal, if the lane has one. */
static inline int add_time(struct join *join, const struct join_lane *lane,
                           unsigned i, uint64_t exec_us)
{
    if (!lane->journal || /* not barrier-like, or over the limit */
        atomic_load_explicit(&join->budget->journal_off, memory_order_relaxed))
        return 0;
    return join_time_set(join, lane->lane_block, i,
                         exec_us < JOIN_LONG_US ? (uint32_t) exec_us
                                                : JOIN_LONG_US);
}

/* The number of a record's phase; mostly that of the record before. 0: it has
 * none. *rc is -1 without memory. */
static JOIN_RARE uint32_t phase_of(struct join *join, const struct record *r,
                                   int *rc)
{
    const char *last =
        join->phase ? atomic_load(&join->budget->phases[join->phase - 1]) : "";

    if (strncmp(last, r->phase.text, r->phase.len) || last[r->phase.len]) {
        join->phase = join_phase_get(join->budget, r->phase.text, r->phase.len);
        *rc = join->phase ? 0 : -1;
        /* which names are the last ones depends on the order of the files */
        if (join->phase == JP_PHASES && !join->ordered)
            join->conflict = true;
    }
    return join->phase;
}

/* Adds a record's start, end and phase to row i of a block. Most sources have
 * none, so blocks get stamps with their first one. */
static JOIN_RARE int add_stamp(struct join *join, struct join_block *block,
                               unsigned i, const struct record *r,
                               uint32_t phase)
{
    struct join_stamp stamp;

    if (join_stamps_get(join, block) < 0)
        return -1;
    join_stamp_fill(&stamp, r, phase);
    join_stamp_fold(&block->stamps[i], &stamp);
    return 0;
}

/* Prefetches: the rank's next record of the series most likely goes to the next
 * row. */
static inline void row_next(const struct join_row *row)
{
    /* an integer, because the next row may be beyond the array */
    uintptr_t next = (uintptr_t) (row + 1);

    __builtin_prefetch((const void *) next, 1);
    __builtin_prefetch((const void *) (next + sizeof(*row) - 1), 1);
}

int join_path_add(struct join_comm *comm, const struct join_path *path)
{
    struct join_path *at;

    for (uint32_t i = 0; i < comm->n_paths; i++) {
        at = &comm->paths[i];
        if (at->func != path->func || at->algo != path->algo ||
            at->proto != path->proto)
            continue;
        at->records = num_add(at->records, path->records);
        if (path->bytes_min < at->bytes_min)
            at->bytes_min = path->bytes_min;
        if (path->bytes_max > at->bytes_max)
            at->bytes_max = path->bytes_max;
        comm->last_path = i;
        return 0;
    }
    if (comm->n_paths == JOIN_PATHS)
        return 0;
    if (VECTOR_DOUBLE(comm->paths, comm->n_paths) < 0)
        return -1;
    comm->last_path = comm->n_paths;
    comm->paths[comm->n_paths++] = *path;
    return 0;
}

/* Adds a record's algorithm and protocol: mostly those of the one before. */
static inline int add_path(struct join_comm *comm, uint32_t func,
                           const struct record *r)
{
    const struct join_path path = {.func = func,
                                   .algo = r->algo,
                                   .proto = r->proto,
                                   .records = 1,
                                   .bytes_min = r->bytes,
                                   .bytes_max = r->bytes};
    struct join_path *last = comm->n_paths ? &comm->paths[comm->last_path]
                                           : NULL;

    if (!last || last->func != func || last->algo != r->algo ||
        last->proto != r->proto || r->bytes < last->bytes_min ||
        r->bytes > last->bytes_max)
        return join_path_add(comm, &path);
    last->records++;
    return 0;
}

/* Adds a record of a collective to the row of its sequence number. lane's
 * blocks are current. What is changed only after all that may fail, so that a
 * record that is left out leaves no trace. */
static enum join_status add_coll(struct join *join, struct join_member *member,
                                 struct join_lane *lane, const struct record *r)
{
    unsigned i = r->sn % JOIN_BLOCK;
    uint64_t bit = UINT64_C(1) << i;
    struct join_row *into = join_row_get(join, lane->block, i);
    enum join_status status = JOIN_OK;
    uint32_t phase = 0;
    int rc = 0;

    if (r->phase.len)
        phase = phase_of(join, r, &rc);
    if (!into || rc < 0)
        return failed(join);
    /* four cases: a second size, a repeated record, no room, a new record */
    if (into->n && into->bytes != r->bytes) {
        status = add_stray(join, member, lane, r, phase);
    } else if (lane->lane_block->seen & bit) {
        return repeated(join, member);
    } else if ((r->start_us || r->end_us || phase) &&
               add_stamp(join, lane->block, i, r, phase) < 0) {
        return failed(join);
    } else if (add_time(join, lane, i, r->exec_us) < 0) {
        return failed(join);
    } else {
        lane->lane_block->seen |= bit;
        row_next(into);
        join_row_add(into, r);
    }
    if (status == JOIN_OK) {
        member->records++;
        member->kernel_cpu += r->clock == RECORD_CLOCK_KERNEL_CPU;
        member->call_cpu += r->clock == RECORD_CLOCK_COLL_CPU;
        if (r->algo && add_path(join->comms[member->comm], lane->func, r) < 0)
            return failed(join);
        join->comms[member->comm]->records++;
        join->coll_records++;
        join->nan_busbw += r->busbw_nan;
        join->untimed += r->exec_unknown;
    }
    return status;
}

/* Adds a Send or Recv. Both sides record a message; the pair's rows of Send and
 * of Recv are separate. A message without a number cannot be recognised as
 * repeated. */
static JOIN_RARE enum join_status add_p2p(struct join *join,
                                          struct join_member *member,
                                          struct join_lane *lane,
                                          const struct record *r)
{
    bool recv = r->func.text[0] == 'R'; /* Recv */
    uint64_t bit = UINT64_C(1) << r->sn % JOIN_BLOCK;
    struct join_p2p *p2p;

    if (r->has_sn && lane->lane_block->seen & bit)
        return repeated(join, member);
    p2p = join_p2p_get(join, member->comm, recv ? r->peer : r->rank,
                       recv ? r->rank : r->peer, recv);
    if (!p2p || join_messages_add(join, member, p2p, r) < 0)
        return failed(join);
    if (r->has_sn)
        lane->lane_block->seen |= bit;
    p2p->count++;
    p2p->bytes = num_add(p2p->bytes, r->bytes);
    p2p->exec_us = num_add(p2p->exec_us, r->exec_us);
    p2p->busbw_sum = num_add(p2p->busbw_sum, r->busbw_micro);
    p2p->n_busbw += !r->busbw_nan;
    member->p2p_records++;
    if (r->has_sn && r->sn > member->p2p_last)
        member->p2p_last = r->sn;
    join->comms[member->comm]->p2p_records++;
    join->p2p_records++;
    join->nan_busbw += r->busbw_nan;
    join->untimed += r->exec_unknown;
    return JOIN_OK;
}

/* The record with its times on the clock of all nodes: *mapped, or the record
 * itself if its times are not mapped. */
static JOIN_RARE const struct record *
on_reference(struct join *join, const struct record *r, struct record *mapped)
{
    const struct clockmap_node *clock;

    /* records of one host follow each other, so its clock is looked up once */
    if (r->host.len != join->clock_len ||
        memcmp(r->host.text, join->clock_host, r->host.len)) {
        join->clock =
            clockmap_find(join->budget->clocks, r->host.text, r->host.len);
        join->clock_len = r->host.len;
        memcpy(join->clock_host, r->host.text, r->host.len);
    }
    clock = join->clock;
    if (!clock || !r->host.len)
        /* unknown host, or a host without a map */
        return r;
    *mapped = *r;
    mapped->start_us = clockmap_us(clock, r->start_us);
    mapped->end_us = clockmap_us(clock, r->end_us);
    mapped->dump_us = clockmap_us(clock, r->dump_us);
    return mapped;
}

enum join_status join_add(struct join *join, const struct record *record)
{
    struct join_known *known = &join->known[record->series % RECORD_MAX_SERIES];
    struct join_member *member = known->member;
    struct join_lane *lane = known->lane;
    struct record mapped;

    /* the slow way: texts instead of the reader's number */
    if (!record->series || known->series != record->series) {
        member = member_of(join, record);
        if (member && !record->p2p && join->comms[member->comm]->closed)
            return too_late(join);
        lane = member ? lane_of(join, member, record) : NULL;
        if (lane && record->series)
            *known = (struct join_known){record->series, member, lane};
    }
    /* rows and times are added with times on the common clock */
    if (!lane || seek(join, lane, record->sn) < 0)
        return failed(join);
    if (join->budget->clocks)
        record = on_reference(join, record, &mapped);
    return record->p2p ? add_p2p(join, member, lane, record)
                       : add_coll(join, member, lane, record);
}

/* --- fold one thread's join into another's --- */

/* Maps the numbers of `from` to those of `into`. */
struct mapping {
    struct join *into, *from;
    uint32_t *funcs, *comms;
};

/* Adds the rows of one block to another of the same room. Two sizes for one row
 * are a conflict, left to the ordered join. */
static void fold_rows(struct join *into, struct join_block *to,
                      const struct join_block *from)
{
    for (unsigned i = 0; i < from->room; i++) {
        if (!from->rows[i].n)
            continue;
        if (to->rows[i].n && to->rows[i].bytes != from->rows[i].bytes) {
            into->conflict = true;
            continue;
        }
        join_row_fold(&to->rows[i], &from->rows[i]);
        if (from->stamps)
            join_stamp_fold(&to->stamps[i], &from->stamps[i]);
    }
}

/* Merges the blocks of a series. A block that the other side does not have is
 * handed over as it is. 0, or -1: the memory limit, or no memory. */
static int merge_series(struct mapping *m, struct join_series *to,
                        struct join_series *from)
{
    for (size_t i = 0; i < blockmap_slots(&from->blocks); i++) {
        struct join_block *block = (void *) from->blocks.slots[i], *mine;

        if (!block)
            continue;
        mine = blockmap_find(&to->blocks, block->number);
        if (!mine) {
            if (blockmap_add(&to->blocks, block) < 0)
                return -1;
            from->blocks.slots[i] = NULL; /* now owned by the other one */
            join_move_block(m->into, m->from, block);
            continue;
        }
        /* both have it: make room for the same rows, then add row by row */
        if (!join_row_get(m->into, mine, block->room - 1) ||
            (block->stamps && join_stamps_get(m->into, mine) < 0))
            return -1;
        fold_rows(m->into, mine, block);
        join_block_destroy(block);
        from->blocks.slots[i] = NULL;
    }
    blockmap_fini(&from->blocks);
    return 0;
}

/* A communicator that one side has closed has no rows on the other side;
 * otherwise a record came too late. */
static void merge_closed(struct mapping *m, struct join_comm *to,
                         const struct join_comm *from)
{
    if ((from->closed && to->n_series) || (to->closed && from->n_series)) {
        m->into->conflict = true;
        m->into->late = true;
    } else if (from->closed) {
        to->closed = true;
        to->sums = from->sums;
    }
}

/* Merges communicators with their names, counters and rows, and fills m->comms.
 */
static int merge_comms(struct mapping *m)
{
    for (uint32_t i = 0; i < m->from->n_comms; i++) {
        struct join_comm *from = m->from->comms[i], *to;
        const char *name = from->name ? from->name : "";

        m->comms[i] = join_comm_get(m->into, from->id, strlen(from->id),
                                    from->n_ranks, from->nnodes);
        if (m->comms[i] == KEYMAP_NONE)
            return -1;
        to = m->into->comms[m->comms[i]];
        if (join_comm_name(to, name, strlen(name)) < 0)
            return -1;
        merge_closed(m, to, from);
        to->records += from->records;
        to->p2p_records += from->p2p_records;
        to->gaps_lost |= from->gaps_lost;
        if (from->counted)
            join_counts_fold(to, &from->counts);
        for (uint32_t k = 0; k < from->n_paths; k++) {
            struct join_path path = from->paths[k];

            path.func = m->funcs[path.func];
            if (join_path_add(to, &path) < 0)
                return -1;
        }
        for (uint32_t k = 0; k < from->n_series; k++) {
            struct join_series *series =
                join_series_get(m->into, to, m->funcs[from->series[k]->func]);

            if (!series || merge_series(m, series, from->series[k]) < 0)
                return -1;
        }
    }
    return 0;
}

/* Copies the times of the records in from, which are no records of `to`. */
static int merge_times(struct join *into, struct join_lane_block *to,
                       const struct join_lane_block *from)
{
    uint64_t seen = from->seen;

    for (; seen; seen &= seen - 1) {
        unsigned k = (unsigned) __builtin_ctzll(seen);

        if (join_time_set(into, to, k, join_time(from, k)) < 0)
            return -1;
    }
    return 0;
}

/* Merges the bits and times of a lane. A bit that both have is a repeated
 * record; only the ordered join can decide which record counts. */
static int merge_lane(struct mapping *m, struct join_lane *to,
                      struct join_lane *from)
{
    struct join *into = m->into;

    for (size_t i = 0; i < blockmap_slots(&from->blocks); i++) {
        struct join_lane_block *block = (void *) from->blocks.slots[i], *mine;

        if (!block)
            continue;
        mine = blockmap_find(&to->blocks, block->number);
        if (!mine) {
            if (blockmap_add(&to->blocks, block) < 0)
                return -1;
            from->blocks.slots[i] = NULL; /* now owned by the other one */
            join_move_lane_block(into, m->from, from->journal, block);
            continue;
        }
        if (mine->seen & block->seen)
            into->conflict = true;
        if (from->journal && !atomic_load(&into->budget->journal_off) &&
            merge_times(into, mine, block) < 0)
            return -1;
        mine->seen |= block->seen;
    }
    return 0;
}

/* Takes over the results of a communicator that `from` has closed. The other
 * join has no rows of it then (merge_closed). */
static void merge_slices(struct join_member *to, struct join_member *from)
{
    if (to->slices || !from->slices)
        return;
    to->slices = from->slices;
    from->slices = NULL;
}

/* Merges one rank of a communicator. Communicators and functions are merged
 * before, so their numbers in `into` are known. */
static int merge_member(struct mapping *m, struct join_member *from)
{
    uint32_t comm = m->comms[from->comm];
    struct join_member *to = join_member_get(m->into, comm, from->rank);
    const char *host = from->host ? from->host : "";

    if (to && to->host)
        to->many_files = true; /* two threads never share a file */
    if (!to || join_member_process(to, &(struct join_process){
                                           host, strlen(host), from->pid,
                                           from->instance, from->device}) < 0)
        return -1;
    if (touch(m->into, to) < 0)
        return -1;
    merge_slices(to, from);
    to->exec_us += from->exec_us;
    to->last_ops += from->last_ops;
    to->stalled_ops += from->stalled_ops;
    to->caused_us += from->caused_us;
    to->shared |= from->shared;
    to->many_files |= from->many_files;
    to->records += from->records;
    to->p2p_records += from->p2p_records;
    to->kernel_cpu += from->kernel_cpu;
    to->call_cpu += from->call_cpu;
    if (from->p2p_last > to->p2p_last)
        to->p2p_last = from->p2p_last;
    if (join_messages_merge(m->into, to, from) < 0)
        return -1;
    /* its lanes: bits of all records, times of barrier-like functions */
    for (uint32_t i = 0; i < from->n_lanes; i++) {
        struct join_lane *lane = from->lanes[i], *mine;
        uint32_t func = m->funcs[lane->func];
        struct join_series *series = NULL;

        if (lane->series &&
            !(series = join_series_get(m->into, m->into->comms[comm], func)))
            return -1;
        mine = join_lane_get(m->into, to, series, func);
        if (!mine || merge_lane(m, mine, lane) < 0)
            return -1;
    }
    return 0;
}

/* Merges the pairs of ranks. Members come first, because the number of a
 * member's pairs decides whether rates of single pairs are kept. */
static int merge_p2p(struct mapping *m)
{
    for (uint32_t i = 0; i < m->from->n_p2p; i++) {
        const struct join_p2p *from = m->from->p2p[i];
        struct join_p2p *to = join_p2p_get(m->into, m->comms[from->comm],
                                           from->src, from->dst, from->recv);

        if (!to || (join_p2p_has_rates(m->into, to) &&
                    join_rates_merge(m->into, &to->rates, &from->rates) < 0))
            return -1;
        to->count += from->count;
        to->bytes = num_add(to->bytes, from->bytes);
        to->exec_us = num_add(to->exec_us, from->exec_us);
        to->busbw_sum = num_add(to->busbw_sum, from->busbw_sum);
        to->n_busbw += from->n_busbw;
    }
    return 0;
}

/* Appends the strays; the caller sorts them afterwards. */
static int merge_strays(struct mapping *m)
{
    for (size_t i = 0; i < m->from->n_strays; i++) {
        struct join_stray stray = m->from->strays[i];

        stray.comm = m->comms[stray.comm];
        stray.func = m->funcs[stray.func];
        if (join_stray_add(m->into, &stray) < 0)
            return -1;
    }
    return 0;
}

/* Takes over the packed operations of closed communicators. */
static int merge_ops(struct mapping *m)
{
    if (!m->into->ops && !(m->into->ops = ops_create()))
        return -1;
    return ops_take(m->into->ops, m->from->ops, m->comms, m->funcs);
}

/* Functions and communicators come first, as everything else refers to their
 * numbers. */
static int merge_all(struct mapping *m)
{
    for (uint32_t i = 0; i < m->from->n_funcs; i++) {
        const char *name = m->from->funcs[i];

        m->funcs[i] = join_func_get(m->into, name, strlen(name));
        if (m->funcs[i] == KEYMAP_NONE)
            return -1;
    }
    if (merge_comms(m) < 0)
        return -1;
    for (uint32_t i = 0; i < m->from->n_members; i++)
        if (merge_member(m, m->from->members[i]) < 0)
            return -1;
    if (merge_p2p(m) < 0 || merge_strays(m) < 0)
        return -1;
    return m->from->ops ? merge_ops(m) : 0;
}

enum join_status join_merge(struct join *into, struct join *from)
{
    struct mapping m = {into, from, NULL, NULL};
    enum join_status status = JOIN_NO_MEMORY;

    m.funcs = calloc(from->n_funcs + 1, sizeof(*m.funcs));
    m.comms = calloc(from->n_comms + 1, sizeof(*m.comms));
    if (!m.funcs || !m.comms)
        goto out;
    if (merge_all(&m) < 0) {
        into->conflict |= into->over; /* memory limit: join again in order */
        status = into->over ? JOIN_LEFT_OUT : JOIN_NO_MEMORY;
        goto out;
    }
    /* the counts change only if all parts were merged */
    into->coll_records += from->coll_records;
    into->p2p_records += from->p2p_records;
    into->duplicates += from->duplicates;
    into->nan_busbw += from->nan_busbw;
    into->untimed += from->untimed;
    into->left_out += from->left_out;
    into->conflict |= from->conflict;
    into->late |= from->late;
    status = JOIN_OK;
out:
    free(m.funcs);
    free(m.comms);
    return status;
}
