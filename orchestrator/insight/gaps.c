/* gaps.c - one check for each way in which records can be missing. */
#include "orchestrator/insight/gaps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orchestrator/insight/expected.h"
#include "common/figure.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/pools.h"

#define NAMES_SHOWN 4

static bool is_counted(const struct jp_evidence *e)
{
    return e->expected.kind == JP_EXPECT_COUNTED;
}

static void bound_coverage(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;

    if (e->expected.kind == JP_EXPECT_PLANNED && !e->expected.tail)
        sentence_add(s, "%s of the records present (%s of %s by the plan)",
                     FIG_SHARE(e->expected.coverage), FIG_COUNT(q->records),
                     FIG_COUNT(e->expected.records));
    else if (q->records < e->expected.records)
        sentence_add(s,
                     "at most %s of the records present (%s of %s by sequence "
                     "numbers)",
                     FIG_SHARE(e->expected.coverage), FIG_COUNT(q->records),
                     FIG_COUNT(e->expected.records));
    if (q->unseen_records)
        sentence_add(s, "%s record%s recorded by no rank: %s",
                     FIG_COUNT(q->unseen_records), plural(q->unseen_records),
                     expected_may_filter(e->conf)
                         ? "lost, or below a size filter"
                         : "lost");
}

static void coverage(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;
    double judged = e->expected.judged;

    if (e->expected.kind != JP_EXPECT_NONE && q->records > e->expected.records)
        sentence_add(s,
                     "%s records where %s were expected: the counts do not "
                     "belong to these files",
                     FIG_COUNT(q->records), FIG_COUNT(e->expected.records));
    if (judged < 0 || judged >= limits_get(JP_LIMIT_COVERAGE))
        return;
    if (is_counted(e))
        sentence_add(s, "%s of the records present (%s of %s, counted)",
                     FIG_SHARE(e->expected.coverage), FIG_COUNT(q->records),
                     FIG_COUNT(e->expected.records));
    else
        bound_coverage(e, s);
}

static void lost(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;

    if (q->lost && !is_counted(e)) /* counted: the coverage knows */
        sentence_add(s, "the recorder lost %s record%s", FIG_COUNT(q->lost),
                     plural(q->lost));
}

static void ranks(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;
    const struct jp_comm *comm = expected_largest_comm(e->result);
    uint32_t of = expected_ranks(e->conf, e->nodes, e->result);
    char names[160];

    if (!of || q->ranks_seen >= of)
        return;
    if (comm && comm->n_ranks == of &&
        expected_missing_ranks(e->result, comm, names, sizeof(names)) ==
            of - q->ranks_seen)
        sentence_add(s,
                     "%" PRIu32 " of %" PRIu32 " rank%s without records (%s)",
                     of - q->ranks_seen, of, plural(of), names);
    else
        sentence_add(s, "%" PRIu32 " of %" PRIu32 " rank%s without records",
                     of - q->ranks_seen, of, plural(of));
}

/* Other communicators; the largest was judged by ranks(). */
static void comms(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_comm *largest = expected_largest_comm(e->result);
    size_t n = 0, others = 0;

    for (size_t i = 0; i < e->result->n_comms; i++) {
        const struct jp_comm *comm = &e->result->comms[i];

        if (comm == largest || !comm->ops) /* no collective needs all ranks */
            continue;
        others++;
        n += comm->ranks_seen < comm->n_ranks;
    }
    if (n)
        sentence_add(s, "%zu of %zu other communicators lack ranks", n, others);
}

/* Appends name to a list of at most NAMES_SHOWN. */
static void add_name(char *buf, size_t size, size_t n, const char *name)
{
    size_t len = strlen(buf);

    if (n < NAMES_SHOWN)
        snprintf(buf + len, size - len, "%s%.60s", n ? ", " : "", name);
    else if (n == NAMES_SHOWN)
        snprintf(buf + len, size - len, ", ...");
}

void gaps_nodes(const struct jp_evidence *e, struct jp_sentence *s)
{
    uint32_t of = expected_nodes(e->conf, e->nodes);
    char names[320] = "";

    if (!e->nodes || !e->nodes->n_missing)
        return;
    for (size_t i = 0; i < e->nodes->n_missing; i++)
        add_name(names, sizeof(names), i, e->nodes->missing[i]);
    if (of >= e->nodes->n_missing)
        sentence_add(s, "%zu of %" PRIu32 " node%s without a record (%s)",
                     e->nodes->n_missing, of, plural(of), names);
    else
        sentence_add(s, "%zu node%s without a record (%s)", e->nodes->n_missing,
                     plural(e->nodes->n_missing), names);
    if (e->nodes->n_nodes && e->nodes->why_unprofiled)
        sentence_add(s, "%.200s", e->nodes->why_unprofiled);
}

void gaps_own_folder(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_nodes *nodes = e->nodes;

    if (nodes && nodes->own_missed)
        sentence_add(s,
                     "%s file%s could not be taken from %.200s (jobprof "
                     "aggregate reads %s there)",
                     FIG_COUNT(nodes->own_missed), plural(nodes->own_missed),
                     nodes->own_folder, nodes->own_missed == 1 ? "it" : "them");
}

static void unfinished(const struct jp_evidence *e, struct jp_sentence *s)
{
    char names[320] = "";
    size_t n = 0;

    if (!e->nodes || is_counted(e)) /* counted: the coverage knows */
        return;
    for (size_t i = 0; i < e->nodes->n_nodes; i++)
        if (!e->nodes->nodes[i].finished)
            add_name(names, sizeof(names), n++, e->nodes->nodes[i].name);
    if (n)
        sentence_add(s, "%zu node%s did not finish (%s)", n, plural(n), names);
}

static void cut(const struct jp_evidence *e, struct jp_sentence *s)
{
    uint64_t n = e->result->quality.cut_files;

    if (n)
        sentence_add(s, "%s of %s file%s end%s in mid-line", FIG_COUNT(n),
                     FIG_COUNT(e->result->quality.files),
                     plural(e->result->quality.files), n == 1 ? "s" : "");
}

static void cut_recordings(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;

    char since[8 + JP_FIGURE_LEN] = "";

    if (q->unbounded_since_us)
        snprintf(since, sizeof(since), " since %s",
                 FIG_UTC(q->unbounded_since_us));
    if (q->unbounded_recordings)
        sentence_add(s,
                     "%s of %s recording%s cut: what %s of them miss%s besides "
                     "is unknown%s",
                     FIG_COUNT(q->cut_recordings), FIG_COUNT(q->recordings),
                     plural(q->recordings), FIG_COUNT(q->unbounded_recordings),
                     q->unbounded_recordings == 1 ? "es" : "", since);
    else if (q->cut_recordings)
        sentence_add(s,
                     "%s of %s recording%s cut: at most 100 ms of %s missing "
                     "besides",
                     FIG_COUNT(q->cut_recordings), FIG_COUNT(q->recordings),
                     plural(q->recordings),
                     q->cut_recordings == 1 ? "it is" : "each are");
    if (q->in_flight)
        sentence_add(s,
                     "%s operation%s had not ended (jobprof show --pending "
                     "names them)",
                     FIG_COUNT(q->in_flight), plural(q->in_flight));
}

static void damaged(const struct jp_evidence *e, struct jp_sentence *s)
{
    uint64_t n = e->result->quality.damaged_blocks;

    if (n)
        sentence_add(s, "%s damaged block%s in the recordings", FIG_COUNT(n),
                     plural(n));
}

static void left_out(const struct jp_evidence *e, struct jp_sentence *s)
{
    uint64_t n = e->result->quality.left_out_records;

    if (n)
        sentence_add(s, "%s record%s left out (the join's memory limit)",
                     FIG_COUNT(n), plural(n));
}

static void shared(const struct jp_evidence *e, struct jp_sentence *s)
{
    uint32_t n = e->result->quality.shared_ranks;

    if (n)
        sentence_add(s,
                     "%" PRIu32 " rank%s with records of two processes: "
                     "more than one run in this folder?",
                     n, plural(n));
}

static void bad_lines(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;
    double lines = (double) q->bad_lines + (double) q->records +
                   (double) q->unknown_lines + (double) q->duplicate_records;

    if ((double) q->bad_lines > lines * limits_get(JP_LIMIT_BAD_LINES))
        sentence_add(s, "%s line%s could not be read", FIG_COUNT(q->bad_lines),
                     plural(q->bad_lines));
}

void gaps_list(const struct jp_evidence *e, struct jp_sentence *s)
{
    static void (*const checks[])(const struct jp_evidence *,
                                  struct jp_sentence *) = {
        coverage,   pools_check, ranks,          comms,           gaps_nodes,
        unfinished, cut,         cut_recordings, damaged,         left_out,
        shared,     lost,        bad_lines,      gaps_own_folder,
    };

    for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
        checks[i](e, s);
}
