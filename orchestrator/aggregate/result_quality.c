/* result_quality.c - how complete and how clean the input was. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/result_build.h"

enum { MAX_NOTES = 100 };

/* Takes what over, an allocated sentence; NULL: no memory. Notes come in any
 * order; all are sorted and cut at the end. */
static int add_note(struct jp_quality *q, const char *path, char *what)
{
    struct jp_file_note *more = q->notes;
    size_t n = q->n_notes;

    if (what && !(n & (n - 1)))
        more = reallocarray(q->notes, n ? 2 * n : 1, sizeof(*more));
    if (!what || !more) {
        free(what);
        return -1;
    }
    q->notes = more;
    more[n] = (struct jp_file_note){strdup(path), what};
    q->n_notes++;
    return more[n].path ? 0 : -1;
}

/* What the recorder itself had to say. */
static int note_recorder(struct jp_quality *q, const char *path,
                         const struct join_file *f)
{
    const struct recfile_tail *t = &f->tail;
    int rc = 0;

    if (t->counts.lost || t->counts.left_out)
        rc = add_note(q, path,
                      fileio_path("the recorder lost %" PRIu64 " of %" PRIu64
                                  " operations and left out %" PRIu64
                                  " at its cap (disk=)",
                                  t->counts.lost, t->counts.produced,
                                  t->counts.left_out));
    if (rc == 0 && t->lost_comms)
        rc = add_note(q, path,
                      fileio_path("the recorder had no room for %" PRIu64
                                  " communicators: their operations count as "
                                  "lost",
                                  t->lost_comms));
    if (rc == 0 && f->notes)
        rc = add_note(q, path, fileio_path("recorder: %s", f->notes));
    return rc;
}

/* What was wrong with a file, worst first; NULL: nothing. *failed: no memory.
 */
static int note_file(struct jp_quality *q, const char *path,
                     const struct join_file *f)
{
    const char *unit = f->recorder ? "operation" : "line";
    int rc = 0;

    if (f->unreadable)
        return add_note(q, path, fileio_path("not read: %s", f->trouble));
    if (f->trouble[0])
        rc = add_note(q, path, fileio_path("%s", f->trouble));
    else if (f->cut && f->recorder)
        rc = add_note(q, path,
                      fileio_path("ends without its final block: at most "
                                  "100 ms are missing besides"));
    else if (f->cut)
        rc = add_note(q, path, fileio_path("cut last line"));
    if (rc == 0 && f->bad_lines > 1)
        rc = add_note(
            q, path,
            fileio_path("%s %" PRIu64 ": %s (and %" PRIu64 " more bad %ss)",
                        unit, f->bad_line, f->why, f->bad_lines - 1, unit));
    else if (rc == 0 && f->bad_lines)
        rc = add_note(
            q, path,
            fileio_path("%s %" PRIu64 ": %s", unit, f->bad_line, f->why));
    return rc == 0 && f->recorder ? note_recorder(q, path, f) : rc;
}

static int count_files(struct build *b)
{
    struct jp_quality *q = &b->result->quality;

    for (size_t i = 0; i < b->walk->n_logs; i++) {
        const struct join_file *f = &b->files[i];

        q->files += !f->unreadable;
        q->skipped_files += f->unreadable;
        q->cut_files += f->cut && !f->recorder;
        q->bytes_read += f->bytes;
        q->bad_lines += f->bad_lines;
        q->unknown_lines += f->other_lines;
        if (note_file(q, b->walk->logs[i].path, f) < 0)
            return -1;
    }
    for (size_t i = 0; i < b->walk->n_skips; i++) {
        q->skipped_files++;
        if (add_note(q, b->walk->skips[i].path,
                     fileio_path("not read: %s", b->walk->skips[i].why)) < 0)
            return -1;
    }
    return 0;
}

static int by_path(const void *a, const void *b)
{
    const struct jp_file_note *x = a, *y = b;
    int order = strcmp(x->path, y->path);

    return order ? order : strcmp(x->what, y->what);
}

static void cut_notes(struct jp_quality *q)
{
    if (q->n_notes)
        qsort(q->notes, q->n_notes, sizeof(*q->notes), by_path);
    while (q->n_notes > MAX_NOTES) {
        q->n_notes--;
        q->notes_left_out++;
        free(q->notes[q->n_notes].path);
        free(q->notes[q->n_notes].what);
    }
}

/* Adds up the recorder's counters. *complete: they cover every file. */
static void sum_counters(struct build *b, uint64_t *produced, bool *complete)
{
    struct jp_quality *q = &b->result->quality;

    *complete = b->walk->n_logs > 0;
    for (size_t i = 0; i < b->walk->n_logs; i++) {
        const struct join_file *f = &b->files[i];
        const struct jpr_counts *c = &f->tail.counts;
        uint64_t there = join_sum(f->records, join_sum(c->lost, c->left_out));

        *complete = *complete && f->recorder && f->tail.counted;
        if (!f->recorder)
            continue;
        q->recordings++;
        q->cut_recordings += f->cut;
        q->damaged_blocks = join_sum(q->damaged_blocks, f->damaged);
        /* records may have come behind the last counters */
        *produced =
            join_sum(*produced, c->produced > there ? c->produced : there);
        q->lost = join_sum(q->lost, c->lost);
        q->capped = join_sum(q->capped, c->left_out);
        q->in_flight = join_sum(q->in_flight, f->tail.in_flight);
        q->lost_steps = join_sum(q->lost_steps, f->tail.lost_steps);
    }
}

static void set_ranks(struct jp_result *r)
{
    struct jp_quality *q = &r->quality;

    for (size_t i = 0; i < r->n_comms; i++) {
        const struct jp_comm *c = &r->comms[i];

        if (c->n_ranks < q->ranks_expected ||
            (c->n_ranks == q->ranks_expected && c->ranks_seen >= q->ranks_seen))
            continue;
        q->ranks_expected = c->n_ranks;
        q->ranks_seen = c->ranks_seen;
    }
}

/* Counters of ranks that left no record are in no sum, so the sum is then no
 * more than another bound. */
static void set_expected(struct build *b, bool complete, uint64_t produced)
{
    struct jp_quality *q = &b->result->quality;

    if (complete && q->ranks_seen == q->ranks_expected) {
        q->expected_kind = JP_EXPECT_COUNTED;
        q->expected = produced;
    } else if (q->records) {
        q->expected_kind = JP_EXPECT_BOUND;
        q->expected = join_sum(b->expected, q->p2p_records);
        q->unseen_records = b->unseen;
        if (b->ragged || produced > q->records)
            q->expected = join_sum(q->expected, b->unseen);
        if (q->expected < produced)
            q->expected = produced;
    }
}

int result_quality(struct build *b)
{
    struct jp_quality *q = &b->result->quality;
    uint64_t produced = 0;
    bool complete;

    if (count_files(b) < 0)
        return -1;
    sum_counters(b, &produced, &complete);
    cut_notes(q);
    q->coll_records = b->join->coll_records;
    q->p2p_records = b->join->p2p_records;
    q->records = q->coll_records + q->p2p_records;
    q->duplicate_records = b->join->duplicates;
    q->nan_busbw = b->join->nan_busbw;
    q->left_out_records = b->join->left_out;
    set_ranks(b->result);
    set_expected(b, complete, produced);
    return 0;
}
