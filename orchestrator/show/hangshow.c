/* hangshow.c - print which ranks wait for which.
 *
 * ingest/hangs.h finds the operations and the ranks that block them. Here they
 * become text (an answer, a paragraph per operation, a table of ranks) or JSON.
 * Hangs of recordings and of running steps (hangshow_print_text,
 * hangshow_put_json) share the printing. */
#include "orchestrator/show/show.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/quote.h"
#include "orchestrator/ingest/hangs.h"
#include "orchestrator/show/commnames.h"
#include "orchestrator/show/show_table.h"

/* Limits for a terminal; --json has all. */
enum { GROUPS_SHOWN = 40, OPS_SHOWN = 200 };

/* Names in JSON, in the order of enum hangs_state. */
static const char *const state_names[HANGS_N_STATES] = {
    "no_recording", "cannot_tell", "never_entered", "held_up",
    "entered",      "in_flight",   "ended"};

/* Formats how long an operation was in flight, "1.995 s", as far as the
 * process's own file shows; "?" if it is unknown. Returns buf. */
static char *format_age(const struct hangs_op *op, char *buf, size_t size)
{
    int64_t age_ns = hangs_age_ns(op);

    if (age_ns < 0)
        snprintf(buf, size, "?");
    else
        snprintf(buf, size, "%.3f s", (double) age_ns / 1e9);
    return buf;
}

/* Prints, for each operation of all its ranks, how many ranks are in which
 * state, and which. */
static void print_groups(const struct jp_hangs *hangs, FILE *out)
{
    static const char *const words[HANGS_N_STATES] = {
        "no recording of",   "unknown for", "never entered by",
        "held up elsewhere", "entered by",  "in flight in",
        "ended in"};
    char text[512], since[96];

    for (size_t i = 0; i < hangs->n_groups && i < GROUPS_SHOWN; i++) {
        const struct hangs_group *group = &hangs->groups[i];

        /* Send and Recv, which are only in the table */
        if (!group->n_ranks)
            continue;
        fputc('\n', out);
        show_table_line(
            out, 2, "%s, %" PRIu64 " bytes, in flight%s:",
            hangs_format_op(&hangs->ops[group->first], text, sizeof(text)),
            hangs->ops[group->first].bytes,
            hangs_format_since(group, since, sizeof(since)));
        for (int s = 0; s < HANGS_N_STATES; s++)
            if (group->count[s])
                show_table_line(out, 20, "  %-17s %s of %s: %s", words[s],
                                FIG_COUNT(group->count[s]),
                                FIG_COUNT(group->n_ranks),
                                hangs_whom(hangs, group, (enum hangs_state) s,
                                           text, sizeof(text)));
    }
    /* oldest first, so the interesting ones are above */
    if (hangs->n_groups > GROUPS_SHOWN)
        quote_printf(out, "\n... and %s more operations (--json has all)\n",
                     FIG_COUNT(hangs->n_groups - GROUPS_SHOWN));
}

/* An operation in flight on a rank. */
struct place {
    char title[COMMNAMES_LEN]; /* the communicator in words */
    char id[RECORD_MAX_ID + 1];
    char func[RECORD_MAX_FUNC + 8];
    uint64_t seq, bytes;
    char age[32], channels[40], peer[24];
    char rank[SHOW_RANK_LEN]; /* of the job, and of the communicator */
    char host[RECORD_MAX_HOST + 1];
    char pid[64]; /* and how it ended */
};

#define FIELD(member) JP_FIELD(struct place, member)
#define CHARS(member) JP_CHARS(struct place, member)
/* The table of operations in flight; only for people. A number of bytes is
 * exact here, because it is compared. */
static const struct jp_column places[] = {
    {"title", JP_COL_TEXT, .text = 1, .title = "communicator", .width = 28,
     .cut = 40, .drops = 6, CHARS(title)},
    {"function", JP_COL_TEXT, .text = 2, .title = "function", .width = 16,
     CHARS(func)},
    {"seq", JP_COL_RANK, .text = 3, .title = "seq", .width = 10, .drops = 5,
     FIELD(seq)},
    {"bytes", JP_COL_RANK, .text = 4, .title = "bytes", .width = 12, .drops = 4,
     FIELD(bytes)},
    {"for", JP_COL_FIGURE, .text = 5, .title = "for", .width = 12, CHARS(age)},
    {"channels", JP_COL_FIGURE, .text = 6, .title = "channels*", .width = 12,
     .drops = 1, CHARS(channels)},
    {"rank", JP_COL_TEXT, .text = 7, .title = "rank", .width = 8, CHARS(rank)},
    {"peer", JP_COL_FIGURE, .text = 8, .title = "peer", .width = 6, .drops = 2,
     CHARS(peer)},
    {"host", JP_COL_TEXT, .text = 9, .title = "host", .width = 20, CHARS(host)},
    {"pid", JP_COL_TEXT, .text = 10, .title = "pid", .width = 8, CHARS(pid)},
    {"id", JP_COL_ID, .text = 11, .title = "id", .width = 1, .drops = 3,
     CHARS(id)},
};
#undef CHARS
#undef FIELD

static const struct jp_table table = {JP_COLUMNS(places),
                                      .row_size = sizeof(struct place)};

/* Names a group's communicator in words. Without memory it has no words. */
static void name_comm(const struct jp_hangs *hangs,
                      const struct hangs_group *group,
                      char title[COMMNAMES_LEN])
{
    const struct hangs_op *op = &hangs->ops[group->first];
    const struct commnames_key key = {0, op->id, op->name};
    struct commnames *names = commnames_create();
    uint32_t n = op->n_ranks > 0 && op->n_ranks <= UINT32_MAX
                     ? (uint32_t) op->n_ranks
                     : 0;
    bool failed = !names;

    /* the ranks in it, and the others as far as their processes are known */
    for (size_t i = 0; !failed && i < group->n_ops; i++)
        failed = commnames_add(names, &key, n, (uint32_t) op[i].rank,
                               hangs->processes[op[i].process].host) < 0;
    for (uint32_t i = 0; !failed && i < group->n_ranks; i++)
        if (group->processes[i] < hangs->n_processes)
            failed = commnames_add(names, &key, n, i,
                                   hangs->processes[group->processes[i]].host) <
                     0;
    if (failed)
        snprintf(title, COMMNAMES_LEN, "%.*s", COMMNAMES_LEN - 1, op->name);
    else
        commnames_text(names, &key, title);
    commnames_destroy(names);
}

/* Fills a row of the table. title: the communicator in words. */
static void describe(const struct jp_hangs *hangs, const struct hangs_op *op,
                     const char *title, struct place *p)
{
    const struct hangs_process *process = &hangs->processes[op->process];

    *p = (struct place){.seq = op->seq, .bytes = op->bytes, .peer = "-"};
    snprintf(p->title, sizeof(p->title), "%s", title);
    show_rank(process->rank, op->rank, p->rank);
    snprintf(p->id, sizeof(p->id), "%s", op->id);
    snprintf(p->func, sizeof(p->func), "%s%s", op->func,
             op->kind == JPR_CE ? RECORD_CE : "");
    format_age(op, p->age, sizeof(p->age));
    snprintf(p->channels, sizeof(p->channels),
             "%" PRIu32 "/%" PRIu32 "/%" PRIu32, op->started, op->stopped,
             op->channels);
    /* only a message has one peer */
    if (op->kind == JPR_P2P)
        snprintf(p->peer, sizeof(p->peer), "%" PRId64, op->peer);
    snprintf(p->host, sizeof(p->host), "%s", process->host);
    snprintf(p->pid, sizeof(p->pid), "%" PRId64 "%s", process->pid,
             op->cut_short ? " (ended by finalize or exit)" : "");
}

/* Prints the table of operations in flight, one row per rank. */
static void print_ops(const struct jp_hangs *hangs, FILE *out)
{
    struct place *rows = calloc(OPS_SHOWN, sizeof(*rows));
    bool whole = true;
    size_t n = 0;

    fputc('\n', out);
    for (size_t i = 0; rows && i < hangs->n_groups; i++) {
        const struct hangs_group *group = &hangs->groups[i];
        char title[COMMNAMES_LEN];

        if (n < OPS_SHOWN)
            name_comm(hangs, group, title);
        /* groups are sorted, the most important first */
        for (size_t k = 0; k < group->n_ops && n < OPS_SHOWN; k++)
            describe(hangs, &hangs->ops[group->first + k], title, &rows[n++]);
    }
    if (rows)
        whole = table_show(&table,
                           &(const struct table_source){.rows = rows, .n = n},
                           TABLE_FOR_PEOPLE, out);
    free(rows);
    if (hangs->n_ops > n)
        quote_printf(out, "... and %s more (--json has all)\n",
                     FIG_COUNT(hangs->n_ops - n));
    /* the note about channels only if their column was not dropped */
    show_table_line(out, 2, "%sfor: from the enqueueing to the last record",
                    whole ? "* started/stopped/all; " : "");
}

/* Prints everything as text. Returns -1 and err if the output failed. */
int hangshow_print_text(const struct jp_hangs *hangs, const char *answer,
                        FILE *out, struct jp_error *err)
{
    show_table_line(out, 0, "%s", answer);
    if (hangs->n_ops) {
        print_groups(hangs, out);
        print_ops(hangs, out);
    }
    /* a very large job: not all operations fit in memory */
    if (hangs->left_out)
        quote_printf(out, "%s more operations in flight are not kept\n",
                     FIG_COUNT(hangs->left_out));
    return table_output_end(NULL, out, err);
}

/* Writes an array of ranks per state. */
static void json_ranks(struct jp_json_stream *s,
                       const struct hangs_group *group)
{
    for (int state = 0; state < HANGS_N_STATES; state++) {
        json_stream_array(s, state_names[state]);
        for (uint32_t i = 0; i < group->n_ranks; i++)
            if (group->states[i] == state)
                json_stream_count(s, NULL, i);
        json_stream_end_array(s);
    }
}

/* Writes one rank's part of an operation. */
static void json_place(struct jp_json_stream *s, const struct jp_hangs *hangs,
                       const struct hangs_op *op)
{
    const struct hangs_process *process = &hangs->processes[op->process];

    json_stream_object(s, NULL);
    json_stream_int(s, "rank", op->rank);
    json_stream_text(s, "host", process->host);
    json_stream_int(s, "pid", process->pid);
    json_stream_int(s, "task", process->task);
    json_stream_int(s, "world_rank", process->rank);
    json_stream_bool(s, "cut", process->cut);
    if (op->kind == JPR_P2P)
        json_stream_int(s, "peer", op->peer);
    if (op->start_ns)
        json_stream_int(s, "start_unix_us", op->start_ns / 1000);
    /* members with unknown values are omitted */
    if (hangs_age_ns(op) >= 0)
        json_stream_int(s, "in_flight_us", hangs_age_ns(op) / 1000);
    if (process->counted_ns)
        json_stream_int(s, "counted_unix_us", process->counted_ns / 1000);
    json_stream_bool(s, "cut_short", op->cut_short);
    json_stream_count(s, "channels", op->channels);
    json_stream_count(s, "channels_started", op->started);
    json_stream_count(s, "channels_stopped", op->stopped);
    json_stream_end_object(s);
}

/* Writes an operation with all its ranks. */
static void json_group(struct jp_json_stream *s, const struct jp_hangs *hangs,
                       const struct hangs_group *group)
{
    const struct hangs_op *op = &hangs->ops[group->first];

    json_stream_object(s, NULL);
    json_stream_text(s, "comm", op->id);
    json_stream_text(s, "name", op->name);
    json_stream_text(s, "func", op->func);
    json_stream_bool(s, "copy_engine", op->kind == JPR_CE);
    json_stream_int(s, "n_ranks", op->n_ranks);
    json_stream_count(s, "seq", op->seq);
    json_stream_count(s, "bytes", op->bytes);
    if (group->start_ns)
        json_stream_int(s, "start_unix_us", group->start_ns / 1000);
    if (group->age_ns >= 0)
        json_stream_int(s, "in_flight_us", group->age_ns / 1000);
    /* Send and Recv have no states of other ranks */
    if (group->n_ranks)
        json_ranks(s, group);
    json_stream_array(s, "places");
    for (size_t i = 0; i < group->n_ops; i++)
        json_place(s, hangs, &op[i]);
    json_stream_end_array(s);
    json_stream_end_object(s);
}

/* Writes the answer and its data. */
void hangshow_put_json(struct jp_json_stream *s, const struct jp_hangs *hangs,
                       const char *answer)
{
    json_stream_count(s, "schema_version", 1);
    json_stream_text(s, "answer", answer);
    /* one recording per process */
    json_stream_count(s, "recordings", hangs->n_processes);
    json_stream_count(s, "in_flight", hangs->n_ops);
    json_stream_count(s, "left_out", hangs->left_out);
    json_stream_array(s, "operations");
    for (size_t i = 0; i < hangs->n_groups; i++)
        json_group(s, hangs, &hangs->groups[i]);
    json_stream_end_array(s);
}

/* Prints everything as JSON. */
static int print_json(const struct jp_hangs *hangs, FILE *out,
                      struct jp_error *err)
{
    struct jp_json_stream s;
    char answer[1024];

    json_stream_open(&s, JSON_LINES, out);
    hangshow_put_json(&s, hangs, hangs_answer(hangs, answer, sizeof(answer)));
    return table_output_end(&s, out, err);
}

/* Adds one file's operations. Returns -1 without memory. */
static int read_file(struct jp_recwalk *walk, struct hangs_file *reading,
                     struct hangs_sum *sum)
{
    struct hangs_evidence evidence;
    struct jpr_record record;
    int rc;

    while (recwalk_record(walk, &record))
        if (hangs_file_add(reading, &walk->file, &record) < 0)
            return -1;
    if (hangs_file_end(reading, &walk->file, &evidence) < 0)
        return -1;
    /* copies what it needs */
    rc = hangs_sum_add(sum, &evidence);
    hangs_evidence_fini(&evidence);
    return rc;
}

/* Reads all files of the walk. Returns 0, or -1 without memory; nothing to free
 * then. */
static int read_all(struct jp_recwalk *walk, struct jp_hangs *hangs,
                    struct jp_error *err)
{
    struct hangs_sum sum = {.hangs = hangs};
    struct hangs_file reading = {0};
    int rc = 0;

    *hangs = (struct jp_hangs){0};
    /* one file at a time: only its evidence is kept */
    while (rc == 0 && recwalk_open(walk))
        rc = read_file(walk, &reading, &sum);
    if (rc == 0)
        rc = hangs_sum_finish(&sum);
    hangs_sum_fini(&sum);
    hangs_file_fini(&reading);
    /* on failure the caller has nothing to free */
    if (rc < 0) {
        hangs_fini(hangs);
        error_set(err, "out of memory");
    }
    return rc;
}

int hangshow_print(struct jp_recwalk *walk, bool json, FILE *out,
                   struct jp_error *err)
{
    struct jp_hangs hangs;
    char answer[1024];
    int rc = read_all(walk, &hangs, err);

    if (rc < 0)
        return -1;
    if (json)
        rc = print_json(&hangs, out, err);
    /* without a recording the caller prints why */
    else if (hangs.n_processes)
        rc = hangshow_print_text(
            &hangs, hangs_answer(&hangs, answer, sizeof(answer)), out, err);
    hangs_fini(&hangs);
    return rc;
}
