/* stuck_print.c - the answer with the tables behind it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orchestrator/ingest/jsontext.h"
#include "orchestrator/ingest/stuck.h"

/* What a terminal gets; --json has all. */
enum { GROUPS_SHOWN = 40, OPS_SHOWN = 200 };

static const char *const state_names[STUCK_N_STATES] = {
    "no_recording", "cannot_tell", "never_entered", "held_up",
    "entered",      "in_flight",   "ended"};

/* "1.995 s", as far as the process' own file tells. */
static char *format_age(const struct stuck_op *op, char *buf, size_t size)
{
    int64_t age_ns = stuck_age_ns(op);

    if (age_ns < 0)
        snprintf(buf, size, "?");
    else
        snprintf(buf, size, "%.3f s", (double) age_ns / 1e9);
    return buf;
}

static void print_groups(const struct jp_stuck *stuck, FILE *out)
{
    static const char *const words[STUCK_N_STATES] = {
        "no recording of",   "cannot tell of", "never entered by",
        "held up elsewhere", "entered by",     "in flight in",
        "ended in"};
    char text[256], since[96];

    for (size_t i = 0; i < stuck->n_groups && i < GROUPS_SHOWN; i++) {
        const struct stuck_group *group = &stuck->groups[i];

        if (!group->n_ranks)
            continue;
        fprintf(out, "\n%s, %" PRIu64 " bytes, in flight%s:\n",
                stuck_format_op(&stuck->ops[group->first], text, sizeof(text)),
                stuck->ops[group->first].bytes,
                stuck_format_since(group, since, sizeof(since)));
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
    char age[32], channels[40], func[INSPECTOR_MAX_FUNC + 8], peer[24] = "-";

    if (op->kind == JPR_P2P)
        snprintf(peer, sizeof(peer), "%" PRId64, op->peer);
    snprintf(func, sizeof(func), "%s%s", op->func,
             op->kind == JPR_CE ? RECFILE_CE : "");
    snprintf(channels, sizeof(channels), "%" PRIu32 "/%" PRIu32 "/%" PRIu32,
             op->started, op->stopped, op->channels);
    fprintf(out,
            "%-18s %-12.12s %-16s %10" PRIu64 " %12" PRIu64
            " %12s %12s %6" PRId64 " %6s %-20s %" PRId64 "%s\n",
            op->id, op->name[0] ? op->name : "-", func, op->seq, op->bytes,
            format_age(op, age, sizeof(age)), channels, op->rank, peer,
            process->host, process->pid,
            op->cut_short ? " (ended by finalize or exit)" : "");
}

static void print_ops(const struct jp_stuck *stuck, FILE *out)
{
    size_t shown = 0;

    fprintf(out, "\n%-18s %-12s %-16s %10s %12s %12s %12s %6s %6s %-20s %s\n",
            "communicator", "name", "function", "seq", "bytes", "for",
            "channels*", "rank", "peer", "host", "pid");
    for (size_t i = 0; i < stuck->n_groups; i++) {
        const struct stuck_group *group = &stuck->groups[i];

        for (size_t k = 0; k < group->n_ops && shown < OPS_SHOWN; k++, shown++)
            print_op(stuck, &stuck->ops[group->first + k], out);
    }
    if (stuck->n_ops > OPS_SHOWN)
        fprintf(out, "... and %zu more (--json has all)\n",
                stuck->n_ops - OPS_SHOWN);
    fprintf(out, "* started/stopped/all; for: from the enqueueing to the last "
                 "that its recording tells\n");
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
    if (stuck_age_ns(op) >= 0)
        fprintf(out, ",\"in_flight_us\":%" PRId64, stuck_age_ns(op) / 1000);
    if (process->counted_ns)
        fprintf(out, ",\"counted_unix_us\":%" PRId64,
                process->counted_ns / 1000);
    fprintf(out, ",\"cut_short\":%s", op->cut_short ? "true" : "false");
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
    if (group->age_ns >= 0)
        fprintf(out, ",\"in_flight_us\":%" PRId64, group->age_ns / 1000);
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
