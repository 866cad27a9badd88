/* stuck_print.c - the answer, and the tables behind it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "orchestrator/ingest/jsontext.h"
#include "orchestrator/show/stuck_parts.h"

/* What a terminal gets; --json has all. */
enum { RANGES = 8, GROUPS_SHOWN = 40, OPS_SHOWN = 200 };

static const char *const state_names[STUCK_N_STATES] = {
    "no_recording", "never_entered", "held_up", "in_flight", "ended"};

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

/* "1.995 s", at the last word of any recording. */
static char *format_age(const struct jp_stuck *stuck, int64_t start_ns,
                        char *buf, size_t size)
{
    int64_t age_ns = stuck->now_ns - start_ns;

    if (!start_ns || age_ns < 0)
        snprintf(buf, size, "?");
    else
        snprintf(buf, size, "%.3f s", (double) age_ns / 1e9);
    return buf;
}

/* " since 2026-11-21 21:42:03 UTC (at least 1.995 s)" */
static char *format_since(const struct jp_stuck *stuck, int64_t start_ns,
                          char *buf, size_t size)
{
    time_t seconds = (time_t) (start_ns / 1000000000);
    struct tm tm;
    char when[32] = "", age[32];

    buf[0] = '\0';
    if (start_ns && gmtime_r(&seconds, &tm) &&
        strftime(when, sizeof(when), "%F %T UTC", &tm))
        snprintf(buf, size, " since %s (at least %s)", when,
                 format_age(stuck, start_ns, age, sizeof(age)));
    return buf;
}

/* "AllReduce 900 of dp (0x8a07aed05ae9a0)" */
static char *format_op(const struct stuck_op *op, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s %" PRIu64 " of %s%s%s%s", op->func,
             op->kind == JPR_CE ? RECFILE_CE : "", op->seq, op->name,
             op->name[0] ? " (" : "", op->id, op->name[0] ? ")" : "");
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

/* Who never entered: those that do nothing, else those held up elsewhere. */
static void answer_missing(const struct jp_stuck *stuck,
                           const struct stuck_group *group, char *buf,
                           size_t size)
{
    bool idle = group->count[STUCK_MISSING];
    enum stuck_state who = idle ? STUCK_MISSING : STUCK_HELD;
    const struct stuck_op *other;
    char whom[512], what[256], since[96];
    int len = snprintf(
        buf, size,
        "%s never entered %s; %" PRIu32 " of %" PRIu32 " ranks are in it%s",
        format_whom(stuck, group, who, whom, sizeof(whom)),
        format_op(&stuck->ops[group->first], what, sizeof(what)),
        group->count[STUCK_IN_FLIGHT], group->n_ranks,
        format_since(stuck, group->start_ns, since, sizeof(since)));

    other = group->count[STUCK_HELD] ? find_elsewhere(stuck, group, STUCK_HELD)
                                     : NULL;
    if (other && len > 0 && (size_t) len < size)
        snprintf(buf + len, size - (size_t) len, "; %s%s in flight: %s",
                 idle
                     ? format_whom(stuck, group, STUCK_HELD, whom, sizeof(whom))
                     : "there",
                 idle ? " neither; there" : " is",
                 format_op(other, what, sizeof(what)));
}

char *stuck_answer(const struct jp_stuck *stuck, char *buf, size_t size)
{
    const struct stuck_group *group = stuck->groups;
    char what[256], since[96], ranks[160];
    const struct stuck_op *op;

    if (!stuck->n_groups) {
        snprintf(buf, size, "nothing was in flight in %zu recording%s",
                 stuck->n_processes, stuck->n_processes == 1 ? "" : "s");
        return buf;
    }
    op = &stuck->ops[group->first];
    format_op(op, what, sizeof(what));
    format_since(stuck, group->start_ns, since, sizeof(since));
    if (group->count[STUCK_MISSING] || group->count[STUCK_HELD])
        answer_missing(stuck, group, buf, size);
    else if (group->count[STUCK_NO_FILE])
        snprintf(buf, size,
                 "no recording of rank%s %s; all others have entered %s, the "
                 "oldest in flight%s",
                 group->count[STUCK_NO_FILE] == 1 ? "" : "s",
                 stuck_ranks(group, STUCK_NO_FILE, ranks, sizeof(ranks)), what,
                 since);
    else if (group->n_ranks)
        snprintf(buf, size,
                 "no rank is missing: all %" PRIu32 " have entered %s, the "
                 "oldest in flight%s, and %" PRIu32 " have ended it",
                 group->n_ranks, what, since, group->count[STUCK_DONE]);
    else
        snprintf(buf, size, "the oldest in flight is %s by rank %" PRId64 "%s",
                 what, op->rank, since);
    return buf;
}

static void print_groups(const struct jp_stuck *stuck, FILE *out)
{
    static const char *const words[STUCK_N_STATES] = {
        "no recording of", "never entered by", "held up elsewhere",
        "in flight in", "ended in"};
    char text[256], since[96];

    for (size_t i = 0; i < stuck->n_groups && i < GROUPS_SHOWN; i++) {
        const struct stuck_group *group = &stuck->groups[i];

        if (!group->n_ranks)
            continue;
        fprintf(out, "\n%s, %" PRIu64 " bytes, in flight%s:\n",
                format_op(&stuck->ops[group->first], text, sizeof(text)),
                stuck->ops[group->first].bytes,
                format_since(stuck, group->start_ns, since, sizeof(since)));
        for (int s = 0; s < STUCK_N_STATES; s++)
            if (group->count[s])
                fprintf(out, "  %-17s %" PRIu32 " of %" PRIu32 ": %s\n",
                        words[s], group->count[s], group->n_ranks,
                        stuck_ranks(group, (enum stuck_state) s, text,
                                    sizeof(text)));
    }
    if (stuck->n_groups > GROUPS_SHOWN)
        fprintf(out, "\n... and %zu more operations (--json has all)\n",
                stuck->n_groups - GROUPS_SHOWN);
}

static void print_op(const struct jp_stuck *stuck, const struct stuck_op *op,
                     FILE *out)
{
    const struct stuck_process *process = &stuck->processes[op->process];
    char since[32], channels[40], func[INSPECTOR_MAX_FUNC + 8];

    snprintf(func, sizeof(func), "%s%s", op->func,
             op->kind == JPR_CE ? RECFILE_CE : "");
    snprintf(channels, sizeof(channels), "%" PRIu32 "/%" PRIu32 "/%" PRIu32,
             op->started, op->stopped, op->channels);
    fprintf(out,
            "%-18s %-12.12s %-16s %10" PRIu64 " %12" PRIu64
            " %12s %12s %6" PRId64 " %-20s %" PRId64 "\n",
            op->id, op->name[0] ? op->name : "-", func, op->seq, op->bytes,
            format_age(stuck, op->start_ns, since, sizeof(since)), channels,
            op->rank, process->host, process->pid);
}

static void print_ops(const struct jp_stuck *stuck, FILE *out)
{
    size_t shown = 0;

    fprintf(out, "\n%-18s %-12s %-16s %10s %12s %12s %12s %6s %-20s %s\n",
            "communicator", "name", "function", "seq", "bytes", "for",
            "channels*", "rank", "host", "pid");
    for (size_t i = 0; i < stuck->n_groups; i++) {
        const struct stuck_group *group = &stuck->groups[i];

        for (size_t k = 0; k < group->n_ops && shown < OPS_SHOWN; k++, shown++)
            print_op(stuck, &stuck->ops[group->first + k], out);
    }
    if (stuck->n_ops > OPS_SHOWN)
        fprintf(out, "... and %zu more (--json has all)\n",
                stuck->n_ops - OPS_SHOWN);
    fprintf(out, "* started/stopped/all; for: from the enqueueing to the last "
                 "that any recording tells\n");
}

int stuck_print(const struct jp_stuck *stuck, FILE *out, struct jp_error *err)
{
    char answer[1024];

    fprintf(out, "%s\n", stuck_answer(stuck, answer, sizeof(answer)));
    if (stuck->n_ops) {
        print_groups(stuck, out);
        print_ops(stuck, out);
    }
    if (stuck->left_out)
        fprintf(out, "%" PRIu64 " more operations in flight are not kept\n",
                stuck->left_out);
    return fflush(out) != 0 || ferror(out) ? error_set(err, "output failed: %m")
                                           : 0;
}

static void json_ranks(const struct stuck_group *group, FILE *out)
{
    for (int s = 0; s < STUCK_N_STATES; s++) {
        const char *comma = "";

        fprintf(out, ",\"%s\":[", state_names[s]);
        for (uint32_t i = 0; i < group->n_ranks; i++)
            if (group->states[i] == s) {
                fprintf(out, "%s%" PRIu32, comma, i);
                comma = ",";
            }
        fputs("]", out);
    }
}

static void json_place(const struct jp_stuck *stuck, const struct stuck_op *op,
                       FILE *out)
{
    const struct stuck_process *process = &stuck->processes[op->process];

    fprintf(out, "{\"rank\":%" PRId64 ",\"host\":", op->rank);
    jsontext_put(out, process->host);
    fprintf(out, ",\"pid\":%" PRId64 ",\"task\":%" PRId64 ",\"cut\":%s",
            process->pid, process->task, process->cut ? "true" : "false");
    if (op->kind == JPR_P2P)
        fprintf(out, ",\"peer\":%" PRId64, op->peer);
    if (op->start_ns)
        fprintf(out, ",\"start_unix_us\":%" PRId64, op->start_ns / 1000);
    fprintf(out,
            ",\"channels\":%" PRIu32 ",\"channels_started\":%" PRIu32
            ",\"channels_stopped\":%" PRIu32 "}",
            op->channels, op->started, op->stopped);
}

static void json_group(const struct jp_stuck *stuck,
                       const struct stuck_group *group, FILE *out)
{
    const struct stuck_op *op = &stuck->ops[group->first];

    fprintf(out, "{\"comm\":\"%s\",\"name\":", op->id);
    jsontext_put(out, op->name);
    fputs(",\"func\":", out);
    jsontext_put(out, op->func);
    fprintf(out,
            ",\"copy_engine\":%s,\"n_ranks\":%" PRId64 ",\"seq\":%" PRIu64
            ",\"bytes\":%" PRIu64,
            op->kind == JPR_CE ? "true" : "false", op->n_ranks, op->seq,
            op->bytes);
    if (group->start_ns)
        fprintf(out, ",\"start_unix_us\":%" PRId64, group->start_ns / 1000);
    if (group->n_ranks)
        json_ranks(group, out);
    fputs(",\"places\":[", out);
    for (size_t i = 0; i < group->n_ops; i++) {
        fputs(i ? ",\n  " : "\n  ", out);
        json_place(stuck, &op[i], out);
    }
    fputs("]}", out);
}

int stuck_print_json(const struct jp_stuck *stuck, FILE *out,
                     struct jp_error *err)
{
    char answer[1024];

    fputs("{\"schema_version\":1,\"answer\":", out);
    jsontext_put(out, stuck_answer(stuck, answer, sizeof(answer)));
    fprintf(out,
            ",\"recordings\":%zu,\"in_flight\":%zu,\"left_out\":%" PRIu64
            ",\"operations\":[",
            stuck->n_processes, stuck->n_ops, stuck->left_out);
    for (size_t i = 0; i < stuck->n_groups; i++) {
        fputs(i ? ",\n " : "\n ", out);
        json_group(stuck, &stuck->groups[i], out);
    }
    fputs("]}\n", out);
    return fflush(out) != 0 || ferror(out) ? error_set(err, "output failed: %m")
                                           : 0;
}
