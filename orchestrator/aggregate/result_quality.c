/* result_quality.c - how complete and how clean the input was. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/result_build.h"
#include "orchestrator/ingest/countsfile.h"

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

/* What was wrong with a file, worst first; NULL: nothing. *failed: no memory.
 */
static int note_file(struct jp_quality *q, const char *path,
                     const struct join_file *f)
{
    int rc = 0;

    if (f->unreadable)
        return add_note(q, path, fileio_path("not read: %s", f->trouble));
    if (f->trouble[0])
        rc = add_note(q, path, fileio_path("%s", f->trouble));
    else if (f->cut)
        rc = add_note(q, path, fileio_path("cut last line"));
    if (rc == 0 && f->bad_lines > 1)
        rc = add_note(q, path,
                      fileio_path("line %" PRIu64 ": %s (and %" PRIu64
                                  " more bad lines)",
                                  f->bad_line, f->why, f->bad_lines - 1));
    else if (rc == 0 && f->bad_lines)
        rc = add_note(q, path,
                      fileio_path("line %" PRIu64 ": %s", f->bad_line, f->why));
    return rc;
}

static int count_files(struct build *b)
{
    struct jp_quality *q = &b->result->quality;

    for (size_t i = 0; i < b->walk->n_logs; i++) {
        const struct join_file *f = &b->files[i];

        q->files += !f->unreadable;
        q->skipped_files += f->unreadable;
        q->cut_files += f->cut;
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

/* Is there a counts file beside the log, and was it good (good[i])? */
static bool has_counts(const struct jp_logwalk *walk, const bool *good,
                       const char *log)
{
    size_t stem = logwalk_stem(log), lo = 0, hi = walk->n_counts;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const char *path = walk->counts[mid].path;
        int order = strncmp(path, log, stem);

        if (!order)
            order = strcmp(path + stem, ".counts.json");
        if (!order)
            return good[mid];
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

/* Reads all counts files. *complete: they cover every log. */
static int read_counts(struct build *b, uint64_t *produced, bool *complete)
{
    const struct jp_logwalk *walk = b->walk;
    struct jp_quality *q = &b->result->quality;
    bool *good = calloc(walk->n_counts + 1, sizeof(*good));
    int rc = -1;

    if (!good)
        return -1;
    *complete = walk->n_logs > 0;
    for (size_t i = 0; i < walk->n_counts; i++) {
        struct jp_counts counts = {0};
        struct jp_error err = {""};

        if (countsfile_read(walk->counts[i].path, &counts, &err) < 0) {
            *complete = false;
            if (add_note(q, walk->counts[i].path,
                         fileio_path("counts not read: %s", err.text)) < 0)
                goto out;
            continue;
        }
        good[i] = counts.finalized;
        *complete = *complete && counts.finalized;
        *produced = join_sum(*produced, counts.produced);
        q->lost = join_sum(q->lost, counts.lost);
    }
    for (size_t i = 0; *complete && i < walk->n_logs; i++)
        *complete = has_counts(walk, good, walk->logs[i].path);
    rc = 0;
out:
    free(good);
    return rc;
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

    if (count_files(b) < 0 || read_counts(b, &produced, &complete) < 0)
        return -1;
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
