/* print_plain.c - print each sentence that a reader sees first, one per line:
 * of each kind of finding, of each verdict, what to check, and the next
 * command. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "orchestrator/copper/copper_feature.h"
#include "orchestrator/insight/plain.h"

static char comm_name[] = "tp";
static struct jp_comm comms[] = {{.name = comm_name, .n_ranks = 8}};
static uint8_t world[] = {JP_HANG_IN, JP_HANG_ABSENT, JP_HANG_IN,
                          JP_HANG_ELSEWHERE};
static uint8_t dp[] = {JP_HANG_ABSENT, JP_HANG_IN};
static uint8_t held[] = {JP_HANG_IN, JP_HANG_ELSEWHERE};
static uint8_t all[] = {JP_HANG_IN, JP_HANG_IN};
static uint8_t unknown[] = {JP_HANG_IN, JP_HANG_UNKNOWN};
static int64_t world_ranks[] = {0, 1, 2, 3}, dp_ranks[] = {1, 3},
               in_comm[] = {0, 1};
static struct jp_result result = {.comms = comms, .n_comms = 1, .n_ops = 1200};

static void put(const char *what, const char *text)
{
    printf("%-16s %s\n", what, text);
}

static struct jp_finding *add(struct jp_findings *list,
                              enum jp_finding_kind kind, const char *host)
{
    struct jp_finding *f = findings_add(list, kind);

    snprintf(f->host, sizeof(f->host), "%s", host);
    snprintf(f->text, sizeof(f->text), "the clause; with its figures");
    f->share = 0.2904;
    f->cost_us = 1.66e6;
    return f;
}

static void put_finding(const struct jp_findings *list)
{
    const struct jp_finding *f = &list->at[list->n - 1];
    char text[JP_PLAIN_TEXT];

    put(finding_kind_name(f->kind), plain_finding(f, &result, text));
}

static void put_late(struct jp_findings *list)
{
    struct jp_finding *f = add(list, JP_FINDING_LATE_RANK, "n2");

    f->comm = 0;
    f->rank = 1;
    f->pid = 22600;
    f->by_us = 315;
    f->times = f->of = 1200;
    put_finding(list);
    f->world_rank = 3;
    put_finding(list);
    f->times = 900;
    f->from_us = 1.795251741e15;
    f->share = 0.034;
    f->cost_us = 9.4e9;
    put_finding(list);
    snprintf(f->phase, sizeof(f->phase), "backward");
    f->phase_us = 2010;
    f->phase_times = 399;
    f->phase_of = 400;
    f->phase_share = 0.971;
    put_finding(list);
    f->phase[0] = '\0';
    f->of = 0;
    f->cost_us = NAN;
    put_finding(list);
    f->comm = f->rank = f->world_rank = -1;
    put_finding(list);
    f = add(list, JP_FINDING_LATE_NODE, "n5");
    f->by_us = 3810;
    f->times = f->of = 4;
    f->cost_us = 136e6;
    put_finding(list);
    f = add(list, JP_FINDING_STALL, "n2");
    f->world_rank = 6;
    f->pid = 77;
    f->by_us = 20000;
    f->times = 17;
    f->of = 226;
    put_finding(list);
}

/* One wait; waits by turns; a stage, which may be a node, and a node, which may
 * be a stage. */
static void put_waits(struct jp_findings *list)
{
    struct jp_finding *f = add(list, JP_FINDING_LONG_WAIT, "n2");

    f->world_rank = 6;
    f->pid = 77;
    f->by_us = 8e6;
    f->others = 7;
    f->from_us = 1.795251741e15;
    f->of_run = 0.12;
    put_finding(list);
    f = add(list, JP_FINDING_TURNS, "");
    f->times = 31;
    f->of = 1200;
    f->of_run = 0.085;
    put_finding(list);
    f = add(list, JP_FINDING_IMBALANCE, "");
    f->stage = 4;
    f->stages = 4;
    f->by_us = 10.3e6;
    f->of_run = 0.099;
    put_finding(list);
    snprintf(f->host, sizeof(f->host), "n5");
    put_finding(list);
    f = add(list, JP_FINDING_LATE_NODE, "n5");
    f->stage = 4;
    f->stages = 4;
    f->of_run = 0.099;
    put_finding(list);
}

static void put_network(struct jp_findings *list)
{
    struct jp_finding *f = add(list, JP_FINDING_SLOW_NETWORK, "");

    f->comm = 0;
    f->comms = 8;
    f->ratio = 1.8;
    f->against = JP_AGAINST_OWN;
    f->from_us = 1.795251741e15;
    put_finding(list);
    f->nodes = 32;
    f->of_nodes = 1024;
    put_finding(list);
    f->nodes = 0;
    for (int k = JP_AGAINST_PEAKS; k <= JP_AGAINST_LIKES; k++) {
        f->against = (enum jp_against) k;
        snprintf(f->host, sizeof(f->host), "n7");
        put_finding(list);
    }
    f->messages = true;
    f->comms = 1;
    put_finding(list);
    f->host[0] = '\0';
    snprintf(f->between, sizeof(f->between), "n4 and n0");
    put_finding(list);
    f->ratio = NAN;
    put_finding(list);
    f = add(list, JP_FINDING_DRIFT, "");
    f->comms = 1;
    f->ratio = 1.84;
    put_finding(list);
}

static void set_hang(size_t i, const char *coll, const char *name, uint64_t sn,
                     uint8_t *states, int64_t *ranks, uint32_t n)
{
    struct jp_hang_op *op = &result.hang.ops[i];

    *op = (struct jp_hang_op){
        .comm = -1, .sn = sn, .n_ranks = n, .states = states, .ranks = ranks};
    snprintf(op->coll, sizeof(op->coll), "%s", coll);
    snprintf(op->name, sizeof(op->name), "%s", name);
    result.hang.n_ops = i + 1;
}

static void put_hangs(struct jp_findings *list)
{
    add(list, JP_FINDING_HANG, "");
    put_finding(list);
    result.hang.operations = 2;
    result.hang.age_us = 10600000;
    result.hang.since_us = INT64_C(1795251741000000);
    snprintf(result.hang.host, sizeof(result.hang.host), "n3");
    set_hang(0, "AllReduce", "world", 48, world, world_ranks, 4);
    set_hang(1, "AllReduce", "dp", 51, dp, dp_ranks, 2);
    put_finding(list);
    result.hang.since_us = 0;
    set_hang(0, "AllGather", "0xab", 7, held, in_comm, 2);
    put_finding(list);
    set_hang(0, "AllGather", "0xab", 7, all, in_comm, 2);
    put_finding(list);
    set_hang(0, "AllGather", "0xab", 7, unknown, in_comm, 2);
    put_finding(list);
    result.hang = (struct jp_hang){0};
}

/* Adds the kinds without a plain sentence, which show their clause. */
static void put_others(struct jp_findings *list)
{
    struct jp_finding *f;

    for (int k = 0; k < JP_N_FINDINGS; k++) {
        add(list, (enum jp_finding_kind) k, "n1");
        put_finding(list);
    }
    /* too long: cut at its colon */
    f = add(list, JP_FINDING_UNEVEN, "n1");
    snprintf(f->text, sizeof(f->text),
             "rank 6 of dp (n1, pid 4024) stopped first: the last 16 of 225 "
             "records of communicator 0xf5ba4eb728dd632 (tp) (4 ranks, n1) "
             "are missing only from it");
    put_finding(list);
}

static void put_reason(enum jp_verdict_word word, enum jp_reason why,
                       double coverage, const char *clause,
                       const struct jp_result *r, const struct jp_insight *x)
{
    struct jp_verdict v = {.word = word, .coverage = coverage};
    char text[JP_PLAIN_TEXT];

    reasons_add(&v.why, why);
    snprintf(v.text, sizeof(v.text), "%s", clause);
    put(verdict_word_name(word), plain_verdict(&v, r, x, text));
}

/* A report by hand while the step runs. */
static void put_running(void)
{
    const struct jp_verdict v = {.word = JP_VERDICT_OK, .runs = true};
    char text[JP_PLAIN_TEXT];

    put("OK", plain_verdict(&v, &result, NULL, text));
}

/* The same, where nobody says whether it runs. */
static void put_may_run(void)
{
    const struct jp_verdict v = {.word = JP_VERDICT_OK, .may_run = true};
    char text[JP_PLAIN_TEXT];

    put("OK", plain_verdict(&v, &result, NULL, text));
}

static void put_verdict(enum jp_verdict_word word, double coverage,
                        const char *clause, const struct jp_result *r,
                        const struct jp_insight *x)
{
    put_reason(word, JP_REASONS, coverage, clause, r, x);
}

static void put_crash(struct jp_insight *x, enum jp_crash_cause cause,
                      int signal, int code, bool sure)
{
    static char name[] = "n4";
    static const struct jp_node node = {.name = name};
    static const struct jp_task task = {.gtid = 3, .pid = 77};

    x->crash = (struct jp_crash){.cause = cause,
                                 .sure = sure,
                                 .node = &node,
                                 .task = &task,
                                 .world_rank = sure ? 3 : -1,
                                 .signal = signal,
                                 .code = code,
                                 .before_us = sure ? 4000000 : -1};
    if (sure)
        snprintf(x->crash.in, sizeof(x->crash.in), "AllReduce 9 of dp");
    put_verdict(JP_VERDICT_FAILED, -1, "", &result, x);
}

/* Why nothing was recorded, with how the tasks ended if that is known. */
static void put_nodata(void)
{
    static const struct {
        enum jp_reason why;
        const char *text;
    } rows[] = {
        {JP_REASON_NO_OUTPUT, "no profiler output of 8 tasks; more"},
        {JP_REASON_OWN_PLUGIN,
         "no profiler output of 8 tasks; NCCL_PROFILER_PLUGIN=/a.so was set in "
         "the environment and stayed in place of jobprof's profiler"},
        {JP_REASON_OTHER_PLUGIN,
         "no profiler output: the program had another profiler than the one "
         "that was set for it; Slurm's TaskProlog, a SPANK module as the tasks "
         "began, or the program's own script set NCCL_PROFILER_PLUGIN=/a.so; "
         "more"},
        {JP_REASON_NOT_ANALYSED, "not yet analysed: more"},
        {JP_REASON_NOT_ANALYSED,
         "not yet analysed: the report's budget ran out; finish with: jobprof "
         "report 42.0"},
        {JP_REASON_UNREADABLE,
         "2 files hold no record (1 bad line; first: a.log); more"},
        {JP_REASON_EMPTY, "2 files hold no record; more"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        put_reason(JP_VERDICT_NODATA, rows[i].why, -1, rows[i].text, NULL,
                   NULL);
}

static void put_verdicts(void)
{
    static struct jp_insight x;

    result.quality.ranks_seen = 8;
    put_verdict(JP_VERDICT_OK, 1, "8 of 8 ranks; more", &result, NULL);
    hypothesis_set(&x.hypotheses, JP_HYPOTHESIS_LATE_RANK,
                   JP_HYPOTHESIS_NOT_FOUND, 0.012, NULL);
    put_verdict(JP_VERDICT_OK, 1, "8 of 8 ranks; more", &result, &x);
    hypothesis_set(&x.hypotheses, JP_HYPOTHESIS_LATE_RANK,
                   JP_HYPOTHESIS_NOT_JUDGED, NAN, "too few operations");
    put_verdict(JP_VERDICT_UNJUDGED, 1, "", &result, &x);
    hypothesis_set(&x.hypotheses, JP_HYPOTHESIS_LATE_RANK,
                   JP_HYPOTHESIS_NOT_FOUND, 0.154, NULL);
    put_verdict(JP_VERDICT_UNJUDGED, 1, "", &result, &x);
    hypothesis_set(&x.hypotheses, JP_HYPOTHESIS_LATE_RANK,
                   JP_HYPOTHESIS_NOT_FOUND, NAN, NULL);
    put_verdict(JP_VERDICT_UNJUDGED, 1, "", &result, &x);
    put_verdict(JP_VERDICT_INCOMPLETE, 0.652, "", &result, NULL);
    put_verdict(JP_VERDICT_INCOMPLETE, -1, "3 of 8 recordings cut; more",
                &result, NULL);
    put_nodata();
    put_verdict(JP_VERDICT_DEGRADED, 1, "a GPU of n1 has 11 NVLinks; more",
                &result, NULL);
    put_verdict(JP_VERDICT_HANG, 1, "", &result, NULL);
    put_crash(&x, JP_CRASH_SIGNAL, 11, -1, true);
    x.crash.ignored = true;
    put_verdict(JP_VERDICT_FAILED, -1, "", &result, &x);
    put_crash(&x, JP_CRASH_EXIT, 0, 7, false);
    put_crash(&x, JP_CRASH_MEMORY, 9, -1, true);
    x.crash.cause = JP_CRASH_EXIT;
    x.crash.signal = 0;
    x.crash.code = 1;
    x.crash.before_us = -1;
    x.crash.earlier = 3;
    x.crash.in[0] = '\0';
    put_verdict(JP_VERDICT_FAILED, -1, "", &result, &x);
    x.crash = (struct jp_crash){.cause = JP_CRASH_NODE};
    snprintf(x.crash.text, sizeof(x.crash.text), "node n4 is gone; more");
    put_verdict(JP_VERDICT_FAILED, -1, "", &result, &x);
    x.crash = (struct jp_crash){.cause = JP_CRASH_EXIT, .alike = true};
    snprintf(x.crash.text, sizeof(x.crash.text),
             "all 4 tasks ended with exit status 2");
    put_verdict(JP_VERDICT_FAILED, -1, "", &result, &x);
    put_reason(JP_VERDICT_NODATA, JP_REASON_TASKS_FAILED, -1,
               "all 4 tasks ended with exit status 2; no profiler output", NULL,
               &x);
    put_running();
    put_may_run();
    /* who ended the step is a fact beside what was found */
    for (int cause = JP_CRASH_CANCELLED; cause < JP_CRASH_UNKNOWN; cause++) {
        x.crash = (struct jp_crash){.cause = (enum jp_crash_cause) cause};
        if (cause == JP_CRASH_PROCESSES)
            snprintf(
                x.crash.text, sizeof(x.crash.text),
                "1 of 4 processes was ended from outside, though all tasks "
                "ended with status 0; more");
        put_verdict(JP_VERDICT_OK, 1, "", &result, &x);
    }
    x.crash = (struct jp_crash){.cause = JP_CRASH_ENDED};
    snprintf(x.crash.text, sizeof(x.crash.text),
             "cancelled: 8 of 8 tasks by SIGTERM");
    put_reason(JP_VERDICT_NODATA, JP_REASON_TASKS_ENDED, -1,
               "cancelled: 8 of 8 tasks by SIGTERM; no profiler output", NULL,
               &x);
}

/* What a report can have: everything, or nothing. */
static const struct jp_plain_has whole = {true, true, true, "jobprof topo", true},
                                 nothing;

static void put_row_checks(const struct jp_reason_row *row)
{
    for (int k = 0; k < JP_PLAIN_CHECKS && row->checks[k]; k++)
        put(row->key, row->checks[k]);
}

static void put_checks(void)
{
    for (int word = 0; word <= JP_VERDICT_OK; word++)
        for (int copper = 0; copper < 2; copper++) {
            const struct jp_verdict v = {.word = (enum jp_verdict_word) word};
            const char *const *checks = copper ? feature_copper.checks
                                               : plain_checks(&v, &whole);

            for (int i = 0; checks && i < JP_PLAIN_CHECKS && checks[i]; i++)
                if (!copper || word == JP_VERDICT_OK)
                    put(copper ? "Copper"
                               : verdict_word_name((enum jp_verdict_word) word),
                        checks[i]);
        }
    for (int i = 0; i < 3; i++) { /* a hang: it goes on; it is over */
        const struct jp_verdict v = {.word = JP_VERDICT_HANG, .runs = i == 0};
        const struct jp_plain_has has = {.recordings = i < 2};
        const char *const *checks = plain_checks(&v, &has);

        for (int k = 0; k < JP_PLAIN_CHECKS && checks[k]; k++)
            put(i == 0   ? "HANG, runs"
                : i == 1 ? "HANG, recorded"
                         : "HANG, logs",
                checks[k]);
    }
    for (int i = 0; i < JP_REASONS; i++)
        put_row_checks(&reasons_table[i]);
    for (size_t i = 0; feature_registry[i]; i++)
        for (const struct jp_reason_row *row = feature_registry[i]->reasons;
             row && row->key; row++)
            put_row_checks(row);
}

static void put_row_command(const struct jp_reason_row *row)
{
    const struct jp_verdict v = {.word = row->word,
                                 .why = {.of = {row}, .n = 1}};
    struct jp_plain_command c = plain_command(&v, -1, &nothing);

    if (v.word == JP_VERDICT_NODATA)
        printf("%-16s %s%s\n", row->key, c.text, c.job ? " JOB" : "");
}

static void put_commands(void)
{
    for (int word = 0; word <= JP_VERDICT_OK; word++)
        for (int kind = -1; kind < JP_N_FINDINGS; kind++) {
            const struct jp_verdict v = {.word = (enum jp_verdict_word) word};
            struct jp_plain_command c = plain_command(&v, kind, &whole);

            if (kind < 0 || (int) findings_about[kind].verdict == word)
                printf("%-16s %s%s%s\n",
                       kind < 0
                           ? verdict_word_name((enum jp_verdict_word) word)
                           : finding_kind_name((enum jp_finding_kind) kind),
                       c.text, c.rank ? " RANK" : "", c.job ? " JOB" : "");
        }
    /* a report without records: only what always works */
    for (int word = 0; word <= JP_VERDICT_OK; word++)
        for (int kind = -1; kind < JP_N_FINDINGS; kind++) {
            const struct jp_verdict v = {.word = (enum jp_verdict_word) word};
            struct jp_plain_command c = plain_command(&v, kind, &nothing);

            if (strcmp(c.text, "jobprof show") && word != JP_VERDICT_NODATA)
                printf("%-16s without records: %s\n",
                       verdict_word_name((enum jp_verdict_word) word), c.text);
        }
    for (int i = 0; i < JP_REASONS; i++)
        put_row_command(&reasons_table[i]);
    for (size_t i = 0; feature_registry[i]; i++)
        for (const struct jp_reason_row *row = feature_registry[i]->reasons;
             row && row->key; row++)
            put_row_command(row);
}

int main(void)
{
    struct jp_findings list = {0};

    puts("# findings");
    put_late(&list);
    put_waits(&list);
    put_network(&list);
    put_hangs(&list);
    put_others(&list);
    findings_fini(&list);
    puts("# verdicts");
    put_verdicts();
    puts("# what to check");
    put_checks();
    puts("# the next command");
    put_commands();
    return 0;
}
