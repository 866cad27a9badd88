/* proof.c - which picture proves a verdict; the pictures of a step's end.
 *
 * proof_write is the start: the first finding that made the verdict and has a
 * picture draws it (by_kind), else the verdict's word chooses one (by_word). A
 * picture returns 1 if it has nothing to draw, and then the next candidate is
 * tried. */
#include "orchestrator/report/proof.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/plain.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/picture.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/report/table.h"

#define CHIPS 128    /* ranks of an operation drawn one by one */
#define CHIPS_FEW 16 /* ... also where it only waits for another operation */
#define OPS_DRAWN 6  /* operations */
#define BARS_DRAWN 12
#define TICKS 400 /* of a group of tasks */

/* --- operations that hang ------------------------------------------------- */

/* Each colour also has a sign, because colour alone is not accessible. */
static const struct {
    const char *class, *sign, *words;
} states[JP_HANG_STATES] = {
    [JP_HANG_IN] = {"in", "", "waits in it"},
    [JP_HANG_ABSENT] = {"absent", "\xc3\x97", "never entered it"},
    [JP_HANG_ELSEWHERE] = {"elsewhere", "\xe2\x86\xb7", "is in another one"},
    [JP_HANG_DONE] = {"done", "\xe2\x9c\x93", "has ended it"},
    [JP_HANG_UNKNOWN] = {"unknown", "?", "is not known"},
};

/* Draws the ranks of an operation, each with the sign of its state. */
static void put_chips(FILE *out, const struct jp_hang_op *op)
{
    uint32_t shown = 0;

    fputs("<div class=\"chips\">", out);
    for (uint32_t i = 0; i < op->n_ranks; i++) {
        unsigned s = op->states[i];

        /* if there are many ranks, draw only those that do not wait */
        if (op->n_ranks > CHIPS && s == JP_HANG_IN)
            continue;
        if (++shown > CHIPS)
            break;
        fprintf(out, "<span class=\"chip %s\"><i>%s</i>%" PRId64 "</span>",
                states[s].class, states[s].sign, op->ranks[i]);
    }
    fputs("</div>\n", out);
}

/* Writes which ranks wait for which: "0-2, 4-6 wait for 3". Nothing if one side
 * is unknown. */
static void put_arrow(FILE *out, const struct jp_hang_op *op)
{
    char ranks[JP_HANG_STATES][120];
    enum jp_hang_state whom = JP_HANG_ABSENT;

    for (unsigned s = 0; s < JP_HANG_STATES; s++)
        plain_hang_ranks(op, (enum jp_hang_state) s, 6, ranks[s],
                         sizeof(ranks[s]));
    /* none is absent: they wait for those elsewhere, else for the unknown ones
     */
    if (!*ranks[JP_HANG_ABSENT])
        whom = *ranks[JP_HANG_ELSEWHERE] ? JP_HANG_ELSEWHERE : JP_HANG_UNKNOWN;
    if (!*ranks[JP_HANG_IN] || !*ranks[whom])
        return;
    fprintf(out,
            "<p class=\"arrow\"><strong>%s</strong> <span class=\"line\">wait "
            "for</span> <strong class=\"%s\">%s</strong>",
            ranks[JP_HANG_IN], states[whom].class, ranks[whom]);
    /* some are absent and others elsewhere: name both */
    if (whom == JP_HANG_ABSENT && *ranks[JP_HANG_ELSEWHERE])
        fprintf(out,
                " and <strong class=\"elsewhere\">%s</strong>, in another one",
                ranks[JP_HANG_ELSEWHERE]);
    fputs("</p>\n", out);
}

/* Returns true if some rank never entered the operation. Then the other
 * operations that hang wait for this one. */
static bool is_cause(const struct jp_hang_op *op)
{
    for (uint32_t i = 0; i < op->n_ranks; i++)
        if (op->states[i] == JP_HANG_ABSENT)
            return true;
    return false;
}

/* Writes one operation that hangs. One that only waits for another shows its
 * ranks only if they are few. */
static void put_op(FILE *out, const struct jp_hang_op *op)
{
    fputs("<div class=\"op\"><h3>", out);
    /* "AllReduce 17 of TP1" */
    html_out_text(out, op->coll);
    fprintf(out, " %" PRIu64 " of ", op->sn);
    html_out_text(out, op->name);
    fputs("</h3><span class=\"soft\">", out);
    if (op->since_us > 0)
        /* + 11: without the date */
        fprintf(out, "since %s%s", FIG_UTC((uint64_t) op->since_us) + 11,
                op->age_us ? ", " : "");
    /* dumps of PyTorch may not show for how long */
    if (op->age_us)
        fprintf(out, "for at least %s", FIG_US((double) op->age_us));
    fputs("</span>\n", out);
    if (op->n_ranks <= CHIPS_FEW || is_cause(op))
        put_chips(out, op);
    put_arrow(out, op);
    fputs("</div>\n", out);
}

/* Explains the signs that occur. */
static void put_states(FILE *out, const struct jp_hang *hang)
{
    bool used[JP_HANG_STATES] = {false};

    for (size_t i = 0; i < hang->n_ops; i++)
        for (uint32_t k = 0; k < hang->ops[i].n_ranks; k++)
            used[hang->ops[i].states[k]] = true;
    fputs("<p class=\"key\">A number is a rank:", out);
    for (unsigned s = 0; s < JP_HANG_STATES; s++)
        if (used[s])
            fprintf(out, " <span class=\"chip %s\"><i>%s</i>n</span>&nbsp;%s",
                    states[s].class, states[s].sign, states[s].words);
    fputs("</p>\n", out);
}

/* --- without recordings: how far each communicator came ------------------- */

static int by_ops(const void *a, const void *b, void *arg)
{
    const struct jp_result *r = arg;
    size_t x = *(const size_t *) a, y = *(const size_t *) b;
    uint64_t nx = r->comms[x].ops, ny = r->comms[y].ops;

    if (nx != ny)
        return nx < ny ? -1 : 1;
    return x < y ? -1 : 1;
}

/* Logs contain only operations that ended, so a hang shows as a communicator
 * that came less far than its peers. Returns as a proof_picture. */
static int put_progress(const struct jp_result *r, const struct jp_finding *f,
                        FILE *out)
{
    size_t *list = calloc(r->n_comms + 1, sizeof(*list)), n = 0;
    const struct jp_comm *like = rows_comm(r, (size_t) f->comm);
    uint64_t from, most;
    char note[160] = "";

    if (!list)
        return -1;
    for (size_t c = 0; c < r->n_comms; c++)
        /* only communicators that should do the same number of operations */
        if (r->comms[c].n_ranks == like->n_ranks &&
            r->comms[c].type == like->type && r->comms[c].ops)
            list[n++] = c;
    /* nothing to compare with */
    if (n < 2) {
        free(list);
        return 1;
    }
    qsort_r(list, n, sizeof(*list), by_ops, (void *) r);
    /* show only the last operations: a difference of two would be invisible
     * among thousands */
    most = r->comms[list[n - 1]].ops;
    from = most - r->comms[list[0]].ops;
    from = from && most > 8 * from ? most - 8 * from : 0;
    html_out_proof(out, "bars",
                   "Progress of each communicator: its operations");
    for (size_t i = 0; i < n && i < BARS_DRAWN; i++) {
        const struct jp_comm *c = &r->comms[list[i]];
        bool hit = list[i] == (size_t) f->comm;

        fprintf(out, "<div class=\"row%s\"><span class=\"who\"><strong>",
                hit ? " hit" : "");
        html_out_short(out, *c->name ? c->name : c->id, 24);
        fputs("</strong> ", out);
        if (c->n_hosts)
            html_out_short(out, c->hosts[0], 32);
        fprintf(out, "%s</span>", c->n_hosts > 1 ? ", ..." : "");
        picture_bar(out, (double) (c->ops - from) / (double) (most - from),
                    hit ? "hit" : "");
        fprintf(out, "<span class=\"num\">%s</span></div>\n",
                FIG_COUNT(c->ops));
    }
    if (n > BARS_DRAWN)
        snprintf(note, sizeof(note), "%s more, up to %s operations. ",
                 FIG_COUNT(n - BARS_DRAWN), FIG_COUNT(most));
    if (from)
        snprintf(note + strlen(note), sizeof(note) - strlen(note),
                 "Bars begin at %s.", FIG_COUNT(from));
    html_out_proof_end(out, note);
    free(list);
    return 0;
}

/* The operations in flight, or without recordings the progress. */
static int proof_hang(const struct jp_report *report,
                      const struct jp_finding *f, FILE *out)
{
    const struct jp_hang *hang = report->result ? &report->result->hang : NULL;
    char note[120] = "";

    if (!hang)
        return 1;
    /* recordings without operations in flight, or logs */
    if (!hang->n_ops || !hang->ops[0].n_ranks)
        return f && f->comm >= 0 ? put_progress(report->result, f, out) : 1;
    html_out_proof(out, "hang", "Which ranks wait where, and for which ranks");
    for (size_t i = 0; i < hang->n_ops && i < OPS_DRAWN; i++)
        put_op(out, &hang->ops[i]);
    put_states(out, hang);
    if (hang->table && hang->n_ops > OPS_DRAWN)
        snprintf(note, sizeof(note), "%s more: csv/%s.csv.",
                 FIG_COUNT(hang->n_ops - OPS_DRAWN), hang->table);
    else if (hang->operations > OPS_DRAWN)
        snprintf(note, sizeof(note),
                 "%s more operations hang: jobprof show --pending.",
                 FIG_COUNT(hang->operations - OPS_DRAWN));
    html_out_proof_end(out, note);
    return 0;
}

/* --- the task that ended first -------------------------------------------- */

static const char *const ways[] = {
    [JP_CRASH_WELL] = "ended well",
    [JP_CRASH_SELF] = "ended by themselves, with an error",
    [JP_CRASH_KILL] = "were ended from outside",
    [JP_CRASH_UNTOLD] = "left no status",
};

/* What is compared with the first one: the node's tasks, or its workers. */
struct ended {
    const struct jp_task *at;
    size_t n;
};

static struct ended ended_of(const struct jp_node *node,
                             const struct jp_task *first)
{
    return first->is_worker ? (struct ended){node->workers, node->n_workers}
                            : (struct ended){node->tasks, node->n_tasks};
}

/* Writes when the tasks ended that ended in one way, without the first task.
 * Returns their number. ticks NULL: only counts. */
static uint32_t put_ends(struct jp_json_stream *ticks,
                         const struct jp_nodes *nodes,
                         const struct jp_task *first, enum jp_crash_way way,
                         int64_t from_us)
{
    uint32_t n = 0;

    for (size_t i = 0; i < nodes->n_nodes; i++)
        for (size_t k = 0; k < ended_of(&nodes->nodes[i], first).n; k++) {
            const struct jp_task *t = &ended_of(&nodes->nodes[i], first).at[k];

            if (t == first || crash_way_of(t) != way)
                continue;
            if (n++ < TICKS && t->end_us && ticks)
                json_stream_int(ticks, NULL, t->end_us - from_us);
        }
    return n;
}

/* Opens a row of ticks whose end is the last task's. */
static void begin_ticks(struct jp_json_stream *ticks, int64_t span_us,
                        const char *look, FILE *out)
{
    picture_begin(ticks, "ticks", out);
    json_stream_int(ticks, "most", span_us);
    json_stream_text(ticks, "look", look);
    json_stream_array(ticks, "at");
}

static void end_ticks(struct jp_json_stream *ticks)
{
    json_stream_end_array(ticks);
    picture_end(ticks);
}

/* Draws when the tasks ended: the first one by itself, the others by the way in
 * which they ended. */
static int proof_tasks(const struct jp_report *report,
                       const struct jp_finding *f, FILE *out)
{
    const struct jp_nodes *nodes = report->nodes;
    const struct jp_crash *crash = report->insight ? &report->insight->crash
                                                   : NULL;
    int64_t from = INT64_MAX, to = 0;
    struct jp_json_stream ticks;
    char whom[JP_CRASH_WHOM];

    (void) f;
    if (!nodes || !crash || !crash->task)
        return 1;
    /* the range of the axis; an end of 0 is unknown */
    for (size_t i = 0; i < nodes->n_nodes; i++)
        for (size_t k = 0; k < ended_of(&nodes->nodes[i], crash->task).n; k++) {
            int64_t end = ended_of(&nodes->nodes[i], crash->task).at[k].end_us;

            from = end && end < from ? end : from;
            to = end > to ? end : to;
        }
    html_out_proof(out, "tasks",
                   crash->task->is_worker ? "When the processes ended"
                                          : "When the tasks ended");
    /* the task that ended first has a row of its own */
    fprintf(out,
            "<div class=\"row hit\"><span class=\"who\"><strong>%s</strong> ",
            crash_whom(crash, whom));
    html_out_short(out, crash->node->name, 32);
    fprintf(out, "%s</span>",
            crash->earlier ? ", failed"
            : crash->sure  ? ", the first"
                           : "");
    begin_ticks(&ticks, to - from, "hit", out);
    if (crash->task->end_us)
        json_stream_int(&ticks, NULL, crash->task->end_us - from);
    end_ticks(&ticks);
    fprintf(out, "<span class=\"num\">%s</span></div>\n",
            crash->signal ? crash_signal_name(crash->signal) : "exit");
    /* count first: a row without tasks is left out */
    for (unsigned way = 0; way < 4; way++) {
        uint32_t n =
            put_ends(NULL, nodes, crash->task, (enum jp_crash_way) way, 0);

        if (!n)
            continue;
        fprintf(
            out,
            "<div class=\"row\"><span class=\"who\"><strong>%s %s%s</strong> "
            "%s</span>",
            FIG_COUNT(n), crash->task->is_worker ? "process" : "task",
            n == 1                   ? ""
            : crash->task->is_worker ? "es"
                                     : "s",
            ways[way]);
        begin_ticks(&ticks, to - from, "", out);
        put_ends(&ticks, nodes, crash->task, (enum jp_crash_way) way, from);
        end_ticks(&ticks);
        fputs("<span class=\"num\"></span></div>\n", out);
    }
    if (to)
        fprintf(out,
                "<div class=\"scale\"><span>%s</span><span>+%s</span></div>\n",
                FIG_UTC((uint64_t) from) + 11, FIG_US((double) (to - from)));
    html_out_proof_end(out, NULL);
    return 0;
}

/* --- which picture proves a verdict --- */

/* By kind of finding; NULL: it has none. */
static proof_picture *const by_kind[] = {
    [JP_FINDING_HANG] = proof_hang,
    [JP_FINDING_CRASH] = proof_tasks,
    [JP_FINDING_LATE_RANK] = proof_strips,
    [JP_FINDING_LATE_NODE] = proof_strips,
    [JP_FINDING_STALL] = proof_strips,
    [JP_FINDING_LONG_WAIT] = proof_strips,
    [JP_FINDING_SLOW_NETWORK] = proof_network,
    [JP_FINDING_DRIFT] = proof_network,
    [JP_FINDING_UNEVEN] = proof_records,
};

/* Returns the picture for a verdict without a finding that has one; NULL: the
 * verdict has none. */
static proof_picture *by_word(enum jp_verdict_word word)
{
    switch (word) {
    case JP_VERDICT_HANG:
        return proof_hang;
    case JP_VERDICT_FAILED:
        return proof_tasks;
    case JP_VERDICT_INCOMPLETE:
    case JP_VERDICT_UNJUDGED:
        return proof_records;
    case JP_VERDICT_OK:
    case JP_VERDICT_DEGRADED:
        return proof_excess;
    default:
        return NULL;
    }
}

int proof_write(const struct jp_report *report, FILE *out)
{
    const struct jp_insight *x = report->insight;
    enum jp_verdict_word word = report->verdict->word;
    proof_picture *picture;
    bool made = false; /* by a finding on NCCL */
    int rc = 1;

    for (size_t i = 0; rc == 1 && x && i < x->findings.n; i++) {
        const struct jp_finding *f = &x->findings.at[i];

        proof_picture *own = f->kind < sizeof(by_kind) / sizeof(*by_kind)
                                 ? by_kind[f->kind]
                                 : NULL;

        /* so a feature's picture does not replace one of NCCL's findings */
        made |= finding_verdict(f) == word;
        if (finding_verdict(f) == word && own)
            rc = own(report, f, out);
    }
    for (size_t i = 0; rc == 1 && feature_registry[i]; i++)
        if (report_has(report, feature_registry[i]) &&
            feature_registry[i]->proof &&
            (!quality_has_nccl(report) ||
             (word == JP_VERDICT_DEGRADED && !made)))
            rc = feature_registry[i]->proof(report, out);
    picture = by_word(word);
    if (rc == 1 && picture)
        rc = picture(report, NULL, out);
    return rc < 0 ? -1 : 0;
}
