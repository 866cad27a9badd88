/* fixture.c - build a report's model by hand. fixture_good is the base of most
 * others: a complete job of 32 ranks, whose figures the tests can compute on
 * their own. */
#include "tests/report/fixture_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "orchestrator/aggregate/ops.h"
#include "plugins/backend.h"

#define START_US UINT64_C(1795251741000000)

void *fixture_keep(struct fixture *f, void *p)
{
    if (!p || f->n_kept == sizeof(f->kept) / sizeof(*f->kept))
        abort();
    return f->kept[f->n_kept++] = p;
}

void *fixture_array(struct fixture *f, size_t n, size_t size)
{
    return fixture_keep(f, calloc(n ? n : 1, size));
}

char *fixture_text(struct fixture *f, const char *s)
{
    return fixture_keep(f, strdup(s));
}

static char *number(struct fixture *f, const char *fmt, unsigned n)
{
    char buf[64];

    snprintf(buf, sizeof(buf), fmt, n);
    return fixture_text(f, buf);
}

static void make_settings(struct fixture *f)
{
    static const struct jp_setting settings[] = {
        {(char *) "mode", (char *) "inspector", (char *) "option", (char *) "",
         (char *) "NVIDIA's library is not named in the site file: the "
                  "recorder writes the same lines"},
        {(char *) "iterations", (char *) "200", (char *) "option", (char *) "",
         (char *) ""},
        {(char *) "interval", (char *) "100ms", (char *) "site file",
         (char *) "/etc/jobprof/jobprof.conf:12", (char *) ""},
        {(char *) "ring", (char *) "16384", (char *) "default", (char *) "",
         (char *) "twice the rate times the interval"},
        {(char *) "min_size", (char *) "0", (char *) "default", (char *) "",
         (char *) "every operation counts for sequence numbers"},
    };
    struct jp_envvar *env = fixture_array(f, 2, sizeof(*env));

    f->conf.settings = fixture_array(f, 5, sizeof(settings[0]));
    memcpy(f->conf.settings, settings, sizeof(settings));
    f->conf.n_settings = 5;
    env[0].name = fixture_text(f, "NCCL_PROFILER_PLUGIN");
    env[0].value =
        fixture_text(f, "/usr/lib/jobprof/libnccl-profiler-jobprof.so");
    env[0].soft = true;
    env[1].name = fixture_text(f, "JOBPROF_RECORDER_DIR");
    env[1].value =
        fixture_text(f, "/scratch/alice/jobprof-48213/step-0/raw/%N");
    f->conf.env = env;
    f->conf.n_env = 2;
}

static void make_job(struct fixture *f, uint32_t nodes, uint32_t tasks)
{
    struct jp_jobconf *c = &f->conf;

    c->schema = 1;
    c->version = fixture_text(f, "0.1.0");
    c->created_us = START_US;
    c->job_id = 48213;
    c->step_id = fixture_text(f, "0");
    c->user = fixture_text(f, "alice");
    c->uid = 1001;
    c->job_name = fixture_text(f, "pretrain-7b");
    c->account = fixture_text(f, "nlp");
    c->partition = fixture_text(f, "gpu");
    c->submit_dir = fixture_text(f, "/scratch/alice");
    c->submit_host = fixture_text(f, "login1");
    c->slurm_version = fixture_text(f, "22.05.8");
    c->nnodes = nodes;
    c->ntasks = tasks;
    c->command = fixture_text(f, "./train");
    c->nccl_request = fixture_text(f, "inspector");
    c->nccl_mode = fixture_text(f, "recorder");
    c->explicit_request = true;
    c->final_dir = fixture_text(f, "");
    /* an option besides --nccl-profile that was not asked for */
    if (backend_beside(NULL) < OPTIONS)
        c->sides[backend_beside(NULL)].request = fixture_text(f, "off");
    make_settings(f);
}

static void make_nodes(struct fixture *f, uint32_t nodes, uint32_t tasks)
{
    struct jp_nodes *all = &f->nodes;

    all->step_nodes = nodes;
    all->step_tasks = tasks;
    all->step_nodelist = number(f, "gpu-node-[0310-%04u]", 309 + nodes);
    all->nodes = fixture_array(f, nodes, sizeof(*all->nodes));
    all->n_nodes = nodes;
    for (uint32_t i = 0; i < nodes; i++) {
        struct jp_node *node = &all->nodes[i];

        node->name = number(f, "gpu-node-%04u", 310 + i);
        node->hostname = node->name;
        node->boot_id = fixture_text(f, "");
        node->topology_addr = fixture_text(f, "");
        node->nodeid = i;
        node->component = 48213;
        node->finished = node->complete = true;
        node->files = FIXTURE_GPUS;
    }
}

static struct jp_dist dist(uint64_t n, double middle, double spread)
{
    return (struct jp_dist){.n = n,
                            .mean = middle * 0.99,
                            .min = middle * (1 - 3 * spread),
                            .p5 = middle * (1 - 2 * spread),
                            .p50 = middle,
                            .p95 = middle * (1 + spread),
                            .p99 = middle * (1 + 1.5 * spread),
                            .max = middle * (1 + 2 * spread)};
}

static void make_comm(struct fixture *f, size_t at, enum jp_comm_type type,
                      const char *name, uint32_t n_ranks, uint32_t nodes)
{
    struct jp_comm *c = &f->result.comms[at];

    snprintf(c->id, sizeof(c->id), "0x%016llx",
             0x5f3a9c0000000000ULL + at * 0x9e3779b97f4aULL);
    c->name = fixture_text(f, name);
    c->type = type;
    c->n_ranks = c->ranks_seen = n_ranks;
    c->nnodes = nodes;
    c->hosts = fixture_array(f, FIXTURE_NODES, sizeof(char *));
    c->n_hosts = nodes;
    for (uint32_t i = 0; i < nodes; i++)
        c->hosts[i] = f->nodes.nodes[(at + i) % FIXTURE_NODES].name;
    c->ops = c->ops_complete = 400;
    c->records = 400 * n_ranks;
    c->bytes = 400ULL * (64 << 20);
    c->time_us = 400 * (type == JP_COMM_NVLINK_ONLY ? 440 : 11800);
    c->evidence = "records+hosts";
    c->why = fixture_text(f,
                          "NCCL reported its number of NVLink domains and the "
                          "hosts seen agree with it");
}

static void make_comms(struct fixture *f)
{
    char name[16];

    f->result.n_comms = FIXTURE_NODES + FIXTURE_GPUS + 1;
    f->result.comms =
        fixture_array(f, f->result.n_comms, sizeof(struct jp_comm));
    for (unsigned i = 0; i < FIXTURE_NODES; i++) {
        snprintf(name, sizeof(name), "TP%u", i);
        make_comm(f, i, JP_COMM_NVLINK_ONLY, name, FIXTURE_GPUS, 1);
    }
    for (unsigned i = 0; i < FIXTURE_GPUS; i++) {
        snprintf(name, sizeof(name), "DP%u", i);
        make_comm(f, FIXTURE_NODES + i, JP_COMM_HCA_ONLY, name, FIXTURE_NODES,
                  FIXTURE_NODES);
    }
    make_comm(f, FIXTURE_NODES + FIXTURE_GPUS, JP_COMM_MIXED, "",
              FIXTURE_NODES * FIXTURE_GPUS, FIXTURE_NODES);
}

/* Returns the pid: a process has one rank in TP, one in DP and one in the
 * communicator of all processes. */
static int64_t pid_of(size_t comm, uint32_t rank)
{
    if (comm < FIXTURE_NODES)
        return 4000 + rank;
    return 4000 + (comm < FIXTURE_NODES + FIXTURE_GPUS
                       ? (int64_t) comm - FIXTURE_NODES
                       : rank / FIXTURE_NODES);
}

static void make_ranks(struct fixture *f)
{
    struct jp_result *r = &f->result;
    size_t n = 0;

    r->ranks = fixture_array(f, 1024, sizeof(*r->ranks));
    for (size_t c = 0; c < r->n_comms; c++)
        for (uint32_t k = 0; k < r->comms[c].n_ranks; k++) {
            struct jp_rank *rank = &r->ranks[n++];
            bool late = c == FIXTURE_NODES + 3 && k == 2;

            rank->comm = c;
            rank->rank = k;
            rank->host = r->comms[c].hosts[k % r->comms[c].n_hosts];
            rank->pid = pid_of(c, k);
            rank->records = rank->timed_ops = 400;
            rank->last_ops = late ? 284 : 17 + (c * 7 + k * 3) % 23;
            rank->last_share = (double) rank->last_ops / 400;
            rank->exec_us = late ? 1900000 : 4700000 - 9000 * k;
            rank->wait_us = late ? 30000 : 900000 + 7000 * ((k * 5) % 11);
            rank->caused_us = late ? 8350000 : 20000 * ((c + 3 * k) % 13);
        }
    r->n_ranks = n;
}

static void make_cells(struct fixture *f)
{
    static const struct {
        enum jp_comm_type type;
        unsigned coll;
        unsigned first, n; /* sizes 2^first, 4 times as large each */
        double peak;
    } rows[] = {
        {JP_COMM_NVLINK_ONLY, 0, 16, 6, 361},
        {JP_COMM_NVLINK_ONLY, 3, 16, 6, 340},
        {JP_COMM_HCA_ONLY, 1, 18, 6, 38},
        {JP_COMM_MIXED, 1, 3, 6, 1.7},
        {JP_COMM_MIXED, 2, 10, 2, 2.1},
    };
    struct jp_result *r = &f->result;
    size_t n = 0;

    r->cells = fixture_array(f, 64, sizeof(*r->cells));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (unsigned k = 0; k < rows[i].n; k++) {
            struct jp_cell *c = &r->cells[n++];
            double size = (double) (1ULL << (rows[i].first + 2 * k));
            double us = 18 + size / (rows[i].peak * 600);
            double busbw = size * 1.75 / us / 1000;

            c->type = rows[i].type;
            c->coll = r->coll_names[rows[i].coll];
            c->bytes = (uint64_t) size;
            c->ops = 200;
            c->records = c->ops * 8;
            c->busbw = dist(200, busbw, 0.08);
            c->exec = dist(200, us, 0.2);
            if (rows[i].coll != 2)
                c->net_busbw = dist(200, busbw * 1.2, 0.05);
            c->time_weighted_gbs = busbw * 0.97;
        }
    r->n_cells = n;
}

void fixture_ops(struct fixture *f, bool hostile)
{
    struct jp_result *r = &f->result;

    ops_destroy(r->ops);
    r->ops = ops_create();
    for (size_t i = 0; i < 5600; i++) {
        struct jp_op op = {0}, *o = &op;

        o->comm = (uint32_t) (i / 432);
        o->coll = 1;
        o->sn = i % 432;
        o->bytes = 64 << 20;
        o->n = o->n_busbw = o->n_exec = r->comms[o->comm].n_ranks;
        o->min_rank = i % 9 ? (uint32_t) i % o->n : UINT32_MAX;
        o->exec_min_us = 400;
        o->exec_second_us = 405;
        o->exec_max_us = 440 + i % 17;
        o->exec_sum_us = 420ULL * o->n;
        o->busbw_sum_micro = 38000001ULL * o->n;
        o->busbw_min_micro = 37000000;
        o->busbw_max_micro = 39000000;
        o->dump_min_us = START_US + i * 21000;
        o->dump_max_us = o->dump_min_us + 90;
        if (hostile && !i)
            *o = (struct jp_op){.comm = UINT32_MAX, .coll = UINT32_MAX};
        if (!r->ops || ops_add(r->ops, o) < 0)
            abort();
    }
    r->n_ops = 5600;
    if (ops_end(r->ops) < 0)
        abort();
}

static void make_windows(struct fixture *f)
{
    struct jp_result *r = &f->result;
    size_t n = 0;

    r->windows = fixture_array(f, 600, sizeof(*r->windows));
    for (size_t t = 0; t < 60; t++)
        for (size_t c = 0; c < 6; c++) {
            struct jp_window *w = &r->windows[n++];
            double peak = c < FIXTURE_NODES ? 350 : 38;

            w->t0_us = START_US + t * 2000000;
            w->t1_us = w->t0_us + 2000000;
            w->comm = c;
            w->coll = r->coll_names[c < FIXTURE_NODES ? 0 : 1];
            w->ops = 7;
            w->bytes = 7 * 64 << 20;
            w->time_us = 7 * 440 + c;
            w->busbw_mean = peak * (t > 40 && c == 5 ? 0.6 : 1) *
                            (1 + 0.03 * sin((double) (t * (c + 1))));
        }
    r->n_windows = n;
}

static void make_quality(struct fixture *f)
{
    struct jp_quality *q = &f->result.quality;

    q->files = 32;
    q->bytes_read = 25840000;
    q->coll_records = 57600;
    q->p2p_records = 51200;
    q->records = q->expected = q->coll_records + q->p2p_records;
    q->expected_kind = JP_EXPECT_COUNTED;
    q->ranks_seen = q->ranks_expected = FIXTURE_NODES * FIXTURE_GPUS;
}

void fixture_processes(struct fixture *f)
{
    processes_fini(&f->processes);
    if (processes_init_nodes(&f->processes, &f->result, &f->nodes) < 0)
        abort();
}

/* Answers the question on late ranks; most other questions are not judged. */
static void answer(struct fixture *f)
{
    struct jp_hypotheses *h = &f->insight.hypotheses;

    hypothesis_set(h, JP_HYPOTHESIS_LATE_RANK, JP_HYPOTHESIS_NOT_FOUND, 0.012,
                   NULL);
    hypothesis_set(h, JP_HYPOTHESIS_DRIFT, JP_HYPOTHESIS_NOT_JUDGED, 0,
                   "run of 40 s");
}

static void point(struct fixture *f)
{
    answer(f);
    fixture_processes(f);
    f->report = (struct jp_report){.conf = &f->conf,
                                   .nodes = &f->nodes,
                                   .result = &f->result,
                                   .processes = &f->processes,
                                   .insight = &f->insight,
                                   .verdict = &f->verdict,
                                   .reporter = "srun",
                                   .duration_us = 412000};
}

void fixture_judge(struct fixture *f, bool analysed)
{
    verdict_decide(f->report.conf, f->report.nodes, f->report.result,
                   f->report.insight, analysed, &f->verdict);
}

void fixture_good(struct fixture *f)
{
    static const char *const names[] = {"AllGather", "AllReduce", "Broadcast",
                                        "ReduceScatter"};

    memset(f, 0, sizeof(*f));
    make_job(f, FIXTURE_NODES, FIXTURE_NODES * FIXTURE_GPUS);
    make_nodes(f, FIXTURE_NODES, FIXTURE_NODES * FIXTURE_GPUS);
    f->result.coll_names = fixture_array(f, 4, sizeof(char *));
    f->result.n_coll_names = 4;
    for (size_t i = 0; i < 4; i++)
        f->result.coll_names[i] = fixture_text(f, names[i]);
    make_comms(f);
    make_ranks(f);
    make_cells(f);
    fixture_ops(f, false);
    fixture_p2p(f, FIXTURE_NODES * FIXTURE_GPUS);
    fixture_p2p_nodes(f);
    make_windows(f);
    make_quality(f);
    point(f);
    fixture_judge(f, true);
}

void fixture_nodata(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    make_job(f, 2, 8);
    make_nodes(f, 2, 8);
    point(f);
    f->report.result = NULL;
    fixture_judge(f, true);
}

void fixture_incomplete(struct fixture *f)
{
    struct jp_quality *q;
    size_t kept = 0;

    fixture_good(f);
    q = &f->result.quality;
    for (size_t i = 0; i < f->result.n_ranks; i++) {
        struct jp_rank *k = &f->result.ranks[i];

        if (k->comm != f->result.n_comms - 1 || k->rank % 8 < 6)
            f->result.ranks[kept++] = *k;
    }
    f->result.n_ranks = kept;
    f->result.comms[f->result.n_comms - 1].ranks_seen = 24;
    q->ranks_seen = 24;
    q->records = q->records * 83 / 100;
    q->cut_files = 2;
    q->bad_lines = 3;
    q->bad[JP_BAD_MISSING] = (struct jp_bad_lines){
        2, 118, fixture_text(f, "raw/gpu-node-0312/gpu-node-0312-pid4011.log")};
    q->bad[JP_BAD_LONG] = (struct jp_bad_lines){
        1, 7, fixture_text(f, "raw/gpu-node-0312/gpu-node-0312-pid4012.log")};
    q->notes = fixture_array(f, 2, sizeof(*q->notes));
    q->n_notes = 2;
    for (size_t i = 0; i < 2; i++) {
        q->notes[i].path = number(f,
                                  "raw/gpu-node-0312/gpu-node-0312-pid%u.log",
                                  4011 + (unsigned) i);
        q->notes[i].what = fixture_text(f, "cut last line");
    }
    f->nodes.n_nodes = 3;
    f->nodes.missing = fixture_array(f, 1, sizeof(char *));
    f->nodes.missing[0] = fixture_text(f, "gpu-node-0313");
    f->nodes.n_missing = 1;
    f->nodes.tasks_failed = 8;
    fixture_processes(f);
    fixture_judge(f, true);
}

void fixture_many(struct fixture *f, size_t n)
{
    struct jp_result *r = &f->result;
    struct jp_rank *ranks;

    fixture_good(f);
    ranks = fixture_array(f, r->n_ranks + n, sizeof(*ranks));
    memcpy(ranks, r->ranks, r->n_ranks * sizeof(*ranks));
    for (size_t i = 0; i < n; i++) {
        ranks[r->n_ranks + i] = r->ranks[r->n_ranks - 1];
        ranks[r->n_ranks + i].rank += (uint32_t) i + 1;
        ranks[r->n_ranks + i].caused_us = i;
    }
    r->ranks = ranks;
    r->n_ranks += n;
    fixture_processes(f);
    fixture_p2p(f, (uint32_t) n);
}

void fixture_fini(struct fixture *f)
{
    findings_fini(&f->insight.findings);
    free(f->insight.lateness);
    processes_fini(&f->processes);
    ops_destroy(f->result.ops);
    for (size_t i = 0; i < f->n_kept; i++)
        free(f->kept[i]);
    memset(f, 0, sizeof(*f));
}
