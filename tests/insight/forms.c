/* forms.c - who is named does not depend on who has started the ranks.
 *
 * usage: forms [-o | -t | -f] [-v] [-j PROCESSES] [JOBS [FIRST [FAULT]]]
 *
 * Writes JOBS simulated jobs for each kind of fault as the recorder's files, in
 * four forms (simrec.h): each rank is a task of Slurm; one task a node is a
 * launcher of ranks, which told them their numbers, nothing, or all the same
 * one. Analyses each form and compares what is found with the first one:
 *   told      the same findings, word for word, and the same verdict; of a
 *             crash, the same process and rank (its launcher is told besides)
 *   untold, misled
 *             the same kinds of findings about the same processes, by the same
 *             ranks of the job or none (what all ranks share is no rank)
 * Exit status 1 if a job differs, or if a fault that has a culprit is named in
 * no job.
 *
 *   -o -t -f  shapes of the other families
 *   -v        prints what was said about each job
 */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/insight/insight.h"
#include "orchestrator/insight/plain.h"
#include "orchestrator/insight/verdict.h"
#include "tests/aggregate/jpr_maker.h"
#include "tests/insight/pool.h"
#include "tests/insight/simlog.h"
#include "tests/insight/simrec.h"

/* How the job's processes ended. */
enum end {
    WELL,
    STUCK,   /* ended long after they had stopped */
    CRASHED, /* the one that stopped dies of SIGSEGV; then the others are ended
              */
    CANCELLED
};

static const struct row {
    const char *name;
    enum simjob_fault fault;
    double effect;
    enum end end;
    bool named; /* somebody is to be named in one of the jobs */
} rows[] = {
    {"late-rank", SIMJOB_LATE_RANK, 0.30, WELL, true},
    {"late-layers", SIMJOB_LATE_LAYERS, 0.60, WELL, true},
    {"two-late", SIMJOB_TWO_LATE, 0.30, WELL, true},
    {"onset", SIMJOB_ONSET, 0.30, WELL, true},
    {"comes", SIMJOB_COMES, 0.30, WELL, true},
    {"late-node", SIMJOB_LATE_NODE, 0.30, WELL, true},
    {"node-onset", SIMJOB_NODE_ONSET, 0.30, WELL, true},
    {"slow-stage", SIMJOB_SLOW_STAGE, 0.12, WELL, false},
    {"stalls", SIMJOB_STALLS, 50, WELL, true},
    {"all-stall", SIMJOB_ALL_STALL, 250, WELL, false},
    {"checkpoint", SIMJOB_CHECKPOINT, 250, WELL, true},
    {"slow-link", SIMJOB_SLOW_LINK, 1.00, WELL, true},
    {"drift", SIMJOB_DRIFT, 0.60, WELL, true},
    {"hang", SIMJOB_RECORDED, 0, STUCK, true},
    {"crash", SIMJOB_RECORDED, 0, CRASHED, true},
    {"killed", SIMJOB_KILLED, 0, CANCELLED, false},
    {"clean", SIMJOB_CLEAN, 0, WELL, false},
    {"jitter", SIMJOB_JITTER, 0, WELL, false},
};

static struct simjob_shape (*shape_of)(uint64_t seed) = simjob_random_shape;
static bool verbose;

static void *need(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);

    if (!p)
        abort();
    return p;
}

/* --- what Slurm and the agents know --------------------------------------- */

static struct jp_task end_of(const struct row *row,
                             const struct simjob_truth *truth, uint32_t rank,
                             bool is_launcher)
{
    bool first = !is_launcher && rank == truth->ranks[0];
    int64_t at_ns = (int64_t) truth->end_ns;
    struct jp_task task = {.gtid = rank, .pid = simlog_pid(rank)};

    if (row->end == CRASHED && first)
        task.status = SIGSEGV;
    else if (row->end == CRASHED)
        /* a launcher whose worker has died ends by itself */
        task.status = is_launcher && rank == truth->ranks[0] ? 1 << 8 : SIGTERM;
    else if (row->end != WELL)
        task.status = row->end == STUCK ? SIGKILL : SIGTERM;
    if (row->end == STUCK)
        at_ns += SIMREC_AFTER_NS;
    if (row->end == CRASHED && !first)
        at_ns += is_launcher ? INT64_C(3000000000) : INT64_C(2000000000);
    task.end_us = (int64_t) ((JPR_MAKER_REAL_NS + (uint64_t) at_ns) / 1000);
    task.mono_us = (int64_t) ((JPR_MAKER_MONO_NS + (uint64_t) at_ns) / 1000);
    return task;
}

static void fill_node(struct jp_node *node, const struct row *row,
                      const struct simjob_shape *shape,
                      const struct simjob_truth *truth, uint32_t at)
{
    uint32_t n = simjob_ranks(shape), per = shape->per_node;
    struct jp_task *ranks = need(per, sizeof(*ranks));
    size_t n_ranks = 0;

    node->nodeid = at;
    node->name = need(1, 16);
    simlog_host(at, node->name);
    node->hostname = node->name;
    node->finished = node->complete = true;
    for (uint32_t r = at * per; r < n && r < (at + 1) * per; r++) {
        ranks[n_ranks] = end_of(row, truth, r, false);
        ranks[n_ranks++].ltid = r - at * per;
    }
    if (simrec_form == SIMREC_TASKS) {
        node->tasks = ranks;
        node->n_tasks = n_ranks;
    } else {
        bool has = truth->ranks[0] / per == at;

        node->workers = ranks;
        node->n_workers = n_ranks;
        for (size_t i = 0; i < n_ranks; i++) {
            ranks[i].is_worker = true;
            ranks[i].gtid = at;
        }
        node->tasks = need(1, sizeof(*node->tasks));
        node->n_tasks = 1;
        node->tasks[0] =
            end_of(row, truth, has ? truth->ranks[0] : UINT32_MAX, true);
        node->tasks[0].gtid = at;
        node->tasks[0].pid = simrec_launcher(at);
    }
    node->finish_us = (uint64_t) node->tasks[0].end_us + 500000;
}

static struct jp_nodes *make_nodes(const struct row *row,
                                   const struct simjob_shape *shape,
                                   const struct simjob_truth *truth)
{
    uint32_t n = simjob_ranks(shape), per = shape->per_node;
    struct jp_nodes *nodes = need(1, sizeof(*nodes));

    nodes->n_nodes = (n + per - 1) / per;
    nodes->n_steps = 1;
    nodes->nodes = need(nodes->n_nodes, sizeof(*nodes->nodes));
    nodes->step_nodes = (uint32_t) nodes->n_nodes;
    nodes->step_tasks = simrec_form == SIMREC_TASKS ? n : nodes->step_nodes;
    nodes->over = true;
    nodes->job_state = row->end == WELL        ? SLURMJOB_COMPLETED
                       : row->end == CANCELLED ? SLURMJOB_CANCELLED
                                               : SLURMJOB_FAILED;
    for (uint32_t i = 0; i < nodes->n_nodes; i++)
        fill_node(&nodes->nodes[i], row, shape, truth, i);
    for (uint32_t i = 0; i < nodes->n_nodes; i++)
        for (size_t k = 0; k < nodes->nodes[i].n_tasks; k++)
            nodes->tasks_failed += nodes->nodes[i].tasks[k].status != 0;
    return nodes;
}

static void free_nodes(struct jp_nodes *nodes)
{
    for (size_t i = 0; i < nodes->n_nodes; i++) {
        free(nodes->nodes[i].name);
        free(nodes->nodes[i].tasks);
        free(nodes->nodes[i].workers);
    }
    free(nodes->nodes);
    free(nodes);
}

/* --- one form of a job ---------------------------------------------------- */

struct said {
    struct jp_nodes *nodes;
    struct jp_result *result;
    struct jp_insight *insight;
    struct jp_verdict verdict;
    char plain[JP_PLAIN_TEXT];
};

static void analyse(const struct row *row, const struct simjob_shape *shape,
                    uint64_t seed, const char *dir, struct simjob_truth *truth,
                    struct said *said)
{
    const struct jp_aggregate_options options = {.threads = 1};
    struct verdict_input in = {.analysed = true};
    struct jp_error err = {0};

    if (simrec_write(shape, row->fault, row->effect, seed, dir, truth) < 0) {
        perror(dir);
        exit(1);
    }
    said->result = aggregate_run(&dir, 1, &options, &err);
    simrec_remove(shape, dir);
    said->nodes = make_nodes(row, shape, truth);
    said->insight = said->result
                        ? insight_run(NULL, said->nodes, said->result, NULL)
                        : NULL;
    if (!said->insight) {
        fprintf(stderr, "%s\n", said->result ? "out of memory" : err.text);
        exit(1);
    }
    in.nodes = said->nodes;
    in.result = said->result;
    in.insight = said->insight;
    in.hypotheses = &said->insight->hypotheses;
    verdict_make(&in, &said->verdict);
    plain_verdict(&said->verdict, said->result, said->insight, said->plain);
}

static void forget(struct said *said)
{
    insight_destroy(said->insight);
    result_destroy(said->result);
    free_nodes(said->nodes);
}

static void tell(const struct said *said, const char *form, FILE *out)
{
    fprintf(out, "#   %s: %s: %s (%s)\n", form,
            verdict_word_name(said->verdict.word), said->plain,
            said->verdict.text);
    for (size_t i = 0; i < said->insight->findings.n && i < 4; i++)
        fprintf(out, "#     %s, rank %" PRId64 " of %s pid %" PRId64 ": %s\n",
                finding_kind_name(said->insight->findings.at[i].kind),
                said->insight->findings.at[i].world_rank,
                said->insight->findings.at[i].host,
                said->insight->findings.at[i].pid,
                said->insight->findings.at[i].text);
}

/* Is it the same, with the same rank or, if it may be unknown, none? */
static bool is_same(const struct jp_finding *a, const struct jp_finding *b,
                    bool word_for_word)
{
    if (a->kind != b->kind || a->pid != b->pid || strcmp(a->host, b->host) ||
        a->comm != b->comm || a->rank != b->rank ||
        fabs(a->cost_us - b->cost_us) > 0.5)
        return false;
    if (a->world_rank != b->world_rank && (word_for_word || b->world_rank >= 0))
        return false;
    return !word_for_word || a->kind == JP_FINDING_CRASH ||
           !strcmp(a->text, b->text);
}

/* What differs between a job of tasks and the same one of workers; NULL:
 * nothing. */
static const char *difference(const struct row *row, const struct said *a,
                              const struct said *b, bool word_for_word)
{
    const struct jp_findings *x = &a->insight->findings;
    const struct jp_findings *y = &b->insight->findings;
    /* it counts the tasks that were ended */
    bool text_counts = row->end != WELL;
    bool plain_counts = row->end == CRASHED || row->end == CANCELLED;

    if (a->verdict.word != b->verdict.word)
        return "the verdict";
    if (x->n != y->n)
        return "the number of findings";
    for (size_t i = 0; i < x->n; i++)
        if (!is_same(&x->at[i], &y->at[i], word_for_word))
            return "a finding";
    if (fabs(a->verdict.coverage - b->verdict.coverage) > 1e-9)
        return "the coverage";
    if (word_for_word && !plain_counts && strcmp(a->plain, b->plain))
        return "the sentence";
    if (word_for_word && !text_counts &&
        strcmp(a->verdict.text, b->verdict.text))
        return "the verdict's sentence";
    return NULL;
}

enum answer { SAME, SAME_AND_NAMED, DIFFERS };

static struct pool_answer run_one(const void *arg, uint64_t seed,
                                  const char *dir, FILE *out)
{
    static const char *const names[SIMREC_FORMS] = {"tasks", "told", "untold",
                                                    "misled"};
    const struct row *row = arg;
    const struct simjob_shape shape = shape_of(seed);
    struct said said[SIMREC_FORMS];
    struct simjob_truth truth;
    struct pool_answer one = {.answer = SAME};

    for (int form = 0; form < SIMREC_FORMS; form++) {
        const char *what = NULL;

        simrec_form = (enum simrec_form) form;
        analyse(row, &shape, seed, dir, &truth, &said[form]);
        if (form)
            what =
                difference(row, &said[0], &said[form], form == SIMREC_WORKERS);
        if (what) {
            fprintf(out, "# %s, seed %" PRIu64 ": %s: %s differs\n", row->name,
                    seed, names[form], what);
            tell(&said[0], names[0], out);
            tell(&said[form], names[form], out);
            one.answer = DIFFERS;
        }
    }
    if (one.answer == SAME && verbose)
        tell(&said[0], row->name, out);
    for (size_t i = 0; one.answer == SAME && i < said[0].insight->findings.n;
         i++)
        if (*said[0].insight->findings.at[i].host || row->end == WELL)
            one.answer = SAME_AND_NAMED;
    for (int form = 0; form < SIMREC_FORMS; form++)
        forget(&said[form]);
    return one;
}

int main(int argc, char **argv)
{
    unsigned jobs = 1, workers = pool_processors();
    char dir[] = "/dev/shm/jobprof-forms.XXXXXX";
    char other[] = "/tmp/jobprof-forms.XXXXXX", *made;
    const char *only = NULL;
    uint64_t first = 1;
    bool good = true;
    int option;

    while ((option = getopt(argc, argv, "otfvj:")) != -1) {
        if (option == 'o')
            shape_of = simjob_other_shape;
        else if (option == 't')
            shape_of = simjob_third_shape;
        else if (option == 'f')
            shape_of = simjob_fourth_shape;
        else if (option == 'v')
            verbose = true;
        else if (option == 'j')
            workers = (unsigned) strtoul(optarg, NULL, 10);
        else
            return 2;
    }
    if (argc > optind)
        jobs = (unsigned) strtoul(argv[optind], NULL, 10);
    if (argc > optind + 1)
        first = strtoull(argv[optind + 1], NULL, 10);
    if (argc > optind + 2)
        only = argv[optind + 2];
    made = mkdtemp(dir);
    if (!made && !(made = mkdtemp(other))) {
        perror(other);
        return 1;
    }
    printf("%-12s %5s %5s %7s\n", "fault", "jobs", "named", "differ");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        unsigned n[3] = {0};
        struct pool *pool;

        if (only && strcmp(only, rows[i].name))
            continue;
        pool = pool_start(jobs < workers ? jobs : workers,
                          first * 1000003 + i * 1000000007, made, run_one,
                          &rows[i]);
        for (unsigned k = 0; k < jobs; k++)
            n[pool_next(pool).answer]++;
        pool_end(pool);
        printf("%-12s %5u %5u %7u\n", rows[i].name, jobs, n[SAME_AND_NAMED],
               n[DIFFERS]);
        fflush(stdout);
        good = good && !n[DIFFERS] && (n[SAME_AND_NAMED] || !rows[i].named);
    }
    rmdir(made);
    return good ? 0 : 1;
}
