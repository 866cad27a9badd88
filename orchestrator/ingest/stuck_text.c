/* stuck_text.c - who is missing where, in a sentence. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "orchestrator/ingest/stuck_parts.h"

/* Ranges of ranks named before "..." */
enum { RANGES = 8 };

char *stuck_ranks(const struct stuck_group *group, enum stuck_state state,
                  char *buf, size_t size)
{
    size_t len = 0;
    unsigned n = 0;

    buf[0] = '\0';
    for (uint32_t i = 0; i < group->n_ranks && len < size; i++) {
        uint32_t from = i;

        if (group->states[i] != state)
            continue;
        while (i + 1 < group->n_ranks && group->states[i + 1] == state)
            i++;
        if (n == RANGES)
            snprintf(buf + len, size - len, ", ...");
        if (n++ == RANGES)
            break;
        len += (size_t) snprintf(buf + len, size - len,
                                 from == i ? "%s%" PRIu32
                                           : "%s%" PRIu32 "-%" PRIu32,
                                 n > 1 ? ", " : "", from, i);
    }
    return buf;
}

/* "2026-11-21 21:42:03.120", UTC; "?": not known */
static char *format_time(int64_t ns, char *buf, size_t size)
{
    time_t seconds = (time_t) (ns / 1000000000);
    char when[32];
    struct tm tm;

    if (ns > 0 && gmtime_r(&seconds, &tm) &&
        strftime(when, sizeof(when), "%F %T", &tm))
        snprintf(buf, size, "%s.%03d", when, (int) (ns / 1000000 % 1000));
    else
        snprintf(buf, size, "?");
    return buf;
}

char *stuck_format_since(const struct stuck_group *group, char *buf,
                         size_t size)
{
    char when[48];

    format_time(group->start_ns, when, sizeof(when));
    when[strcspn(when, ".")] = '\0';
    if (!group->start_ns)
        snprintf(buf, size, "%s", "");
    else if (group->age_ns < 0)
        snprintf(buf, size, " since %s UTC", when);
    else
        snprintf(buf, size, " since %s UTC (at least %.3f s)", when,
                 (double) group->age_ns / 1e9);
    return buf;
}

char *stuck_format_op(const struct stuck_op *op, char *buf, size_t size)
{
    int n = snprintf(buf, size, "%s%s %" PRIu64 " of %s%s%s%s", op->func,
                     op->kind == JPR_CE ? RECFILE_CE : "", op->seq, op->name,
                     op->name[0] ? " (" : "", op->id, op->name[0] ? ")" : "");

    if (op->kind == JPR_P2P && n > 0 && (size_t) n < size)
        snprintf(buf + n, size - (size_t) n, " %s rank %" PRId64,
                 strcmp(op->func, "Send") ? "from" : "to", op->peer);
    return buf;
}

/* Where the first of those ranks is stuck. */
static const struct stuck_op *find_elsewhere(const struct jp_stuck *stuck,
                                             const struct stuck_group *group,
                                             enum stuck_state state)
{
    uint32_t rank = 0;

    while (rank < group->n_ranks && group->states[rank] != state)
        rank++;
    if (!stuck_process_of(stuck, group, rank))
        return NULL;
    for (size_t i = 0; i < stuck->n_ops; i++)
        if (stuck->ops[i].process == group->processes[rank])
            return &stuck->ops[i];
    return NULL;
}

/* "rank 3 (n2 pid 103)" or "ranks 3, 5-7" */
static char *format_whom(const struct jp_stuck *stuck,
                         const struct stuck_group *group,
                         enum stuck_state state, char *buf, size_t size)
{
    const struct stuck_process *process;
    char ranks[160];
    uint32_t first = 0;

    while (first < group->n_ranks && group->states[first] != state)
        first++;
    process = stuck_process_of(stuck, group, first);
    stuck_ranks(group, state, ranks, sizeof(ranks));
    if (group->count[state] == 1 && process)
        snprintf(buf, size, "rank %s (%s pid %" PRId64 ")", ranks,
                 process->host, process->pid);
    else
        snprintf(buf, size, "rank%s %s", group->count[state] == 1 ? "" : "s",
                 ranks);
    return buf;
}

/* " until finalize or exit ended it", where that is so of all */
static const char *format_end(const struct jp_stuck *stuck,
                              const struct stuck_group *group)
{
    for (size_t i = 0; i < group->n_ops; i++)
        if (!stuck->ops[group->first + i].cut_short)
            return "";
    return ", until finalize or exit ended it";
}

/* "; 3 of 4 ranks are in it since ..." into buf */
static char *format_in_it(const struct jp_stuck *stuck,
                          const struct stuck_group *group, char *buf,
                          size_t size)
{
    const char *end = format_end(stuck, group);
    char since[96];

    snprintf(buf, size, "; %" PRIu32 " of %" PRIu32 " ranks %s in it%s%s",
             group->count[STUCK_IN_FLIGHT], group->n_ranks,
             *end ? "were" : "are",
             stuck_format_since(group, since, sizeof(since)), end);
    return buf;
}

/* Who never entered: those that do nothing, else those held up elsewhere. */
static void answer_missing(const struct jp_stuck *stuck,
                           const struct stuck_group *group, char *buf,
                           size_t size)
{
    bool idle = group->count[STUCK_MISSING];
    enum stuck_state who = idle ? STUCK_MISSING : STUCK_HELD;
    const struct stuck_op *other;
    char whom[512], what[256], in_it[224];
    int len =
        snprintf(buf, size, "%s never entered %s%s",
                 format_whom(stuck, group, who, whom, sizeof(whom)),
                 stuck_format_op(&stuck->ops[group->first], what, sizeof(what)),
                 format_in_it(stuck, group, in_it, sizeof(in_it)));

    other = group->count[STUCK_HELD] ? find_elsewhere(stuck, group, STUCK_HELD)
                                     : NULL;
    if (other && len > 0 && (size_t) len < size)
        snprintf(buf + len, size - (size_t) len, "; %s%s in flight: %s",
                 idle
                     ? format_whom(stuck, group, STUCK_HELD, whom, sizeof(whom))
                     : "there",
                 idle ? " neither; there" : " is",
                 stuck_format_op(other, what, sizeof(what)));
}

/* The last that any process of those ranks counted. */
static int64_t last_counted(const struct jp_stuck *stuck,
                            const struct stuck_group *group,
                            enum stuck_state state)
{
    int64_t last = 0;

    for (uint32_t i = 0; i < group->n_ranks; i++) {
        const struct stuck_process *p = stuck_process_of(stuck, group, i);

        if (group->states[i] == state && p && p->counted_ns > last)
            last = p->counted_ns;
    }
    return last;
}

static bool has_damage(const struct jp_stuck *stuck,
                       const struct stuck_group *group)
{
    for (uint32_t i = 0; i < group->n_ranks; i++) {
        const struct stuck_process *p = stuck_process_of(stuck, group, i);

        if (group->states[i] == STUCK_UNSURE && p && p->damaged)
            return true;
    }
    return false;
}

static void answer_unsure(const struct jp_stuck *stuck,
                          const struct stuck_group *group, char *buf,
                          size_t size)
{
    bool one = group->count[STUCK_UNSURE] == 1;
    char whom[512], what[256], in_it[224], until[48], start[48];

    format_time(last_counted(stuck, group, STUCK_UNSURE), until, sizeof(until));
    snprintf(
        buf, size,
        "cannot tell whether a rank is missing in %s: %s %s recorded%s until "
        "%s%s, the operation began %s UTC%s",
        stuck_format_op(&stuck->ops[group->first], what, sizeof(what)),
        format_whom(stuck, group, STUCK_UNSURE, whom, sizeof(whom)),
        one ? "is" : "are", has_damage(stuck, group) ? " with damage" : "",
        until, one ? "" : " at the latest",
        format_time(group->start_ns, start, sizeof(start)),
        format_in_it(stuck, group, in_it, sizeof(in_it)));
}

char *stuck_answer_of(const struct jp_stuck *stuck,
                      const struct stuck_group *group, char *buf, size_t size)
{
    const struct stuck_op *op = &stuck->ops[group->first];
    char what[256], since[96], ranks[160];

    stuck_format_op(op, what, sizeof(what));
    stuck_format_since(group, since, sizeof(since));
    if (group->count[STUCK_MISSING] || group->count[STUCK_HELD])
        answer_missing(stuck, group, buf, size);
    else if (group->count[STUCK_UNSURE])
        answer_unsure(stuck, group, buf, size);
    else if (group->count[STUCK_NO_FILE])
        snprintf(buf, size,
                 "no recording of rank%s %s; all others have entered %s, the "
                 "oldest in flight%s%s",
                 group->count[STUCK_NO_FILE] == 1 ? "" : "s",
                 stuck_ranks(group, STUCK_NO_FILE, ranks, sizeof(ranks)), what,
                 since, format_end(stuck, group));
    else if (group->n_ranks)
        snprintf(buf, size,
                 "no rank is missing: all %" PRIu32 " have entered %s, the "
                 "oldest in flight%s%s, and %" PRIu32 " have ended it",
                 group->n_ranks, what, since, format_end(stuck, group),
                 group->count[STUCK_DONE]);
    else
        snprintf(buf, size,
                 "the oldest in flight is %s by rank %" PRId64 "%s%s", what,
                 op->rank, since, format_end(stuck, group));
    return buf;
}

char *stuck_answer(const struct jp_stuck *stuck, char *buf, size_t size)
{
    if (stuck->n_groups)
        return stuck_answer_of(stuck, stuck->groups, buf, size);
    snprintf(buf, size, "nothing was in flight in %zu recording%s",
             stuck->n_processes, stuck->n_processes == 1 ? "" : "s");
    return buf;
}
