/* livestall.c - detect a step in which no log grows, for longer than ever
 * before.
 *
 * livestall_look is called at each look. It computes how long all logs have
 * been silent (sum_up), searches for a cause (stopped process, rank behind,
 * ended process), derives the limit from the cause, and moves the phase. The
 * rule is explained in livestall.h. */
#include "orchestrator/live/livestall.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/num.h"

/* Number of missed batches that is still no stall. */
#define BATCHES 3
/* Factor on the limit while some nodes are silent: they may have made progress.
 */
#define UNHEARD_TIMES 3

/* Functions in which no rank can finish before all ranks have begun. In the
 * others the root, or a rank that only sends, may be ahead. */
static const char *const together[] = {"AllReduce", "AllGather",
                                       "ReduceScatter"};

static bool is_together(const struct progress_row *row)
{
    for (size_t i = 0; i < sizeof(together) / sizeof(*together); i++)
        if (row->kind == JPR_COLL && !strcmp(row->func, together[i]))
            return true;
    return false;
}

/* Rows of the same communicator, kind and function are compared with each
 * other. */
static bool same_series(const struct progress_row *a,
                        const struct progress_row *b)
{
    return a->hash == b->hash && a->n_ranks == b->n_ranks &&
           a->kind == b->kind && !strcmp(a->func, b->func);
}

/* Looks at one series, rows[0..n): notes the rank that has ended the fewest
 * operations, if it is further behind than what was found before. A row with 0
 * ended is unknown. */
static void look_at_series(struct livestall *stall,
                           const struct progress_row *rows, size_t n)
{
    const struct progress_row *last = NULL;
    uint64_t most = 0;
    size_t n_behind = 0;

    /* First the largest count, then the ranks below it. */
    for (size_t i = 0; i < n; i++)
        most = rows[i].ended > most ? rows[i].ended : most;
    for (size_t i = 0; i < n; i++) {
        if (!rows[i].ended || rows[i].ended == most)
            continue;
        n_behind++;
        if (!last || rows[i].ended < last->ended)
            last = &rows[i];
    }
    if (!last || most - last->ended <= stall->behind)
        return;
    stall->cause = LIVESTALL_BEHIND;
    stall->process = last->process;
    stall->rank = last->rank;
    stall->behind = most - last->ended;
    stall->n_behind = n_behind;
    stall->hash = last->hash;
    stall->n_ranks_of = last->n_ranks;
    memcpy(stall->func, last->func, sizeof(stall->func));
}

/* Rows are sorted, so that the rows of a series are adjacent. */
static void find_behind(struct livestall *stall,
                        const struct progress *progress)
{
    size_t first = 0;

    for (size_t i = 1; i <= progress->n; i++) {
        const struct progress_row *row = &progress->rows[first];

        if (i < progress->n && same_series(row, &progress->rows[i]))
            continue;
        if (is_together(row))
            look_at_series(stall, row, i - first);
        first = i;
    }
}

/* Finds the first process in that state. Its rank is taken from its largest
 * communicator. Returns false if there is none. */
static bool find_state(struct livestall *stall, const struct hung_view *view,
                       enum hung_state state, enum livestall_cause cause)
{
    const struct progress *progress = view->progress;
    int64_t largest = -1;
    uint32_t at = 0;

    while (at < view->hangs->n_processes && view->tasks[at].state != state)
        at++;
    if (at == view->hangs->n_processes)
        return false;
    stall->cause = cause;
    stall->process = at;
    stall->rank = -1;
    for (size_t i = 0; i < progress->n; i++)
        if (progress->rows[i].process == at &&
            progress->rows[i].n_ranks > largest) {
            largest = progress->rows[i].n_ranks;
            stall->rank = progress->rows[i].rank;
        }
    return true;
}

/* All processes that have not ended: counts by state, and the extremes of their
 * logs. */
struct sum {
    size_t n, stopped, traced;
    /* the shortest current silence, the longest earlier one, the longest batch
     * interval */
    uint64_t silent_ms, longest_ms, batch_ms;
    bool learnt; /* the pace of every log is known */
};

/* silent_ms is UINT64_MAX if there is no process. */
static struct sum sum_up(const struct hung_view *view)
{
    struct sum sum = {.silent_ms = UINT64_MAX, .learnt = true};

    for (size_t i = 0; i < view->hangs->n_processes; i++) {
        const struct hung_task *t = &view->tasks[i];

        if (t->state == HUNG_ENDED || t->state == HUNG_GONE)
            continue;
        sum.n++;
        sum.stopped += t->state == HUNG_STOPPED;
        sum.traced += t->state == HUNG_TRACED;
        /* One process without a known pace makes the step impossible to judge.
         */
        sum.learnt = sum.learnt && t->logs && t->longest_ms;
        if (t->silent_ms < sum.silent_ms)
            sum.silent_ms = t->silent_ms;
        if (t->longest_ms > sum.longest_ms)
            sum.longest_ms = t->longest_ms;
        if (t->batch_ms > sum.batch_ms)
            sum.batch_ms = t->batch_ms;
    }
    return sum;
}

/* Returns the silence, in ms, from which on it is a stall. Without a visible
 * cause a long computation looks the same, so the limit is higher then. */
static uint64_t limit_of(const struct livestall *stall,
                         const struct hung_view *view, const struct sum *sum)
{
    uint64_t limit = stall->times.ms[HUNG_LEAST], more;

    if (stall->cause == LIVESTALL_UNKNOWN || stall->cause == LIVESTALL_ENDED)
        limit *= HUNG_BUSY_TIMES;
    more = num_mul(sum->longest_ms, HUNG_MAX_TIMES);
    limit = more > limit ? more : limit;
    more = num_mul(sum->batch_ms, BATCHES);
    limit = more > limit ? more : limit;
    return view->n_silent ? num_mul(limit, UNHEARD_TIMES) : limit;
}

/* Fills in the findings of this look. Returns whether the silence is over the
 * limit. */
static bool is_overdue(struct livestall *stall, const struct hung_view *view)
{
    struct sum sum = sum_up(view);

    stall->cause = LIVESTALL_UNKNOWN;
    stall->process = UINT32_MAX;
    stall->rank = -1;
    stall->behind = 0;
    stall->n_behind = 0;
    stall->n_ranks = sum.n;
    stall->silent_ms = sum.n ? sum.silent_ms : 0;
    stall->judged = sum.n && sum.learnt;
    if (!stall->judged ||
        sum.silent_ms < stall->times.ms[HUNG_LOOKS]) /* not worth a search */
        return false;
    /* A stopped process explains the silence best; an ended one is only a cause
     * if no rank is behind. */
    if (!find_state(stall, view, HUNG_STOPPED, LIVESTALL_STOPPED)) {
        find_behind(stall, view->progress);
        if (stall->cause == LIVESTALL_UNKNOWN)
            find_state(stall, view, HUNG_ENDED, LIVESTALL_ENDED);
    }
    stall->limit_ms = limit_of(stall, view, &sum);
    /* A debugger explains the silence, and so does a job that was suspended as
     * a whole. */
    return !sum.traced && sum.stopped < sum.n &&
           sum.silent_ms > stall->limit_ms;
}

/* After the stall was reported: returns HUNG_GOES_ON when a log has grown. Only
 * a much shorter silence counts as growth, because a snapshot may be somewhat
 * old or missed at one look; a debugger or a silent node is no progress. The
 * state also ends with the step. */
static enum hung_news look_for_progress(struct livestall *stall,
                                        uint64_t before_ms)
{
    if (stall->n_ranks && stall->silent_ms >= before_ms / 2)
        return HUNG_NO_NEWS;
    stall->phase = HUNG_QUIET;
    stall->said = false;
    stall->was_ms = before_ms;
    /* Nobody is told that a finished step makes progress. */
    return stall->n_ranks ? HUNG_GOES_ON : HUNG_NO_NEWS;
}

enum hung_news livestall_look(struct livestall *stall,
                              const struct hung_view *view)
{
    uint64_t now_ms = view->now_ms, before_ms = stall->silent_ms;
    bool overdue = is_overdue(stall, view);

    if (stall->said)
        return look_for_progress(stall, before_ms);
    if (!overdue) {
        stall->phase = HUNG_QUIET;
        return HUNG_NO_NEWS;
    }
    /* The phases delay the report: a single long look must not cause it. */
    if (stall->phase == HUNG_QUIET) {
        stall->phase = HUNG_SEEN;
        stall->seen_ms = now_ms;
    } else if (stall->phase == HUNG_SEEN &&
               now_ms - stall->seen_ms >= stall->times.ms[HUNG_LOOKS]) {
        stall->phase = HUNG_SUSPECT;
        stall->suspect_ms = now_ms;
    } else if (stall->phase == HUNG_SUSPECT &&
               now_ms - stall->suspect_ms >= stall->times.ms[HUNG_SAY]) {
        stall->said = true;
        return HUNG_SLOW;
    }
    return HUNG_NO_NEWS;
}

/* --- in words ------------------------------------------------------------- */

/* Formats the cause as the end of a sentence; "" if there is none. */
static void format_cause(const struct livestall *stall,
                         const struct hung_view *view, char *buf, size_t size)
{
    const struct hangs_process *p =
        stall->process < view->hangs->n_processes
            ? &view->hangs->processes[stall->process]
            : NULL;
    char whom[HANGS_NAME_LEN], more[64] = "";

    hangs_name(view->hangs, stall->process, stall->rank, whom);
    *buf = '\0';
    if (stall->n_behind > 1)
        snprintf(more, sizeof(more), ", and %zu more rank%s behind",
                 stall->n_behind - 1, stall->n_behind > 2 ? "s are" : " is");
    if (p && stall->cause == LIVESTALL_BEHIND)
        snprintf(buf, size,
                 "; %s is %" PRIu64 " operation%s behind in %s of 0x%" PRIx64
                 "%s",
                 whom, stall->behind, stall->behind == 1 ? "" : "s",
                 stall->func, stall->hash, more);
    else if (p && stall->cause == LIVESTALL_STOPPED)
        snprintf(buf, size, "; %s is stopped by a signal", whom);
    else if (p && stall->cause == LIVESTALL_ENDED)
        snprintf(buf, size, "; %s has ended", whom);
}

char *livestall_answer(const struct livestall *stall,
                       const struct hung_view *view, char *buf, size_t size)
{
    char cause[320];

    format_cause(stall, view, cause, sizeof(cause));
    snprintf(buf, size,
             "no operation of %s%zu rank%s has ended, for longer than ever "
             "before; their logs do not show operations in flight%s",
             stall->n_ranks > 1 ? "all " : "", stall->n_ranks,
             stall->n_ranks == 1 ? "" : "s", cause);
    return buf;
}
