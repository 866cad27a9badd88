/* likeness.c - how waits are distributed, in real jobs and in simulated ones.
 *
 * usage: likeness [-n JOBS] [-s SEED] [FOLDER...]
 *
 * Prints a row for each folder with logs or recordings of a real job, and one
 * for each of JOBS clean realistic jobs (simreal.h) of each kind, from SEED on
 * (plain logs); then of each kind the range of the middle 80 % of its jobs.
 * Where real jobs are within that range, the simulator is like them.
 *
 * Columns, over the collectives of which every member has a record:
 *   wait    time in communication that is waiting: duration less the shortest
 *           of the operation
 *   skew    how long the first rank of an operation waits for the last one: its
 *           median, the 90th and the 99th of hundred, as multiples of the mean
 *   top     share of operations in which the most frequent last rank is last
 *   share   ranks that share in coming last: e to the entropy of the last
 *           ranks, over the ranks
 *   again   share of operations in which the last rank is that of the
 *           communicator's operation before; by luck: one over the ranks
 *   first   longest wait in the first operation of any communicator, ms
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/stats.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/identity/operations.h"
#include "tests/insight/simfeed.h"

enum { WAIT, SKEW_50, SKEW_90, SKEW_99, TOP, SHARE, AGAIN, FIRST, FIGURES };
static const char *const heads[FIGURES] = {
    "wait", "skew50", "skew90", "skew99", "top", "share", "again", "first ms"};

/* A member of an operation. */
struct member {
    uint32_t comm, func;
    uint64_t sn;
    size_t process;
    double us;
};

struct members {
    struct member *at;
    size_t n, room;
};

struct figures {
    size_t ranks, ops;
    double at[FIGURES];
};

static void *need(void *p)
{
    if (!p)
        abort();
    return p;
}

static int by_operation(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    if (x->func != y->func)
        return x->func < y->func ? -1 : 1;
    if (x->sn != y->sn)
        return x->sn < y->sn ? -1 : 1;
    return (x->process > y->process) - (x->process < y->process);
}

/* All collectives, as members sorted by operation. */
static struct members read_members(const struct jp_result *r,
                                   const struct jp_processes *p)
{
    struct members m = {0};
    struct operations all;

    if (operations_init(&all, r, p, true) < 0)
        abort();
    for (size_t i = 0; i < all.n_sources; i++) {
        struct operations_reader reader;
        struct operation next;

        if (operations_open(&reader, &all.sources[i]) < 0)
            abort();
        while (operations_next(&reader, &next)) {
            if (next.p2p || all.sources[i].process == SIZE_MAX)
                continue;
            if (m.n == m.room) {
                m.room = m.room ? 2 * m.room : 1 << 16;
                m.at = need(reallocarray(m.at, m.room, sizeof(*m.at)));
            }
            m.at[m.n++] = (struct member){next.comm, next.func, next.sn,
                                          all.sources[i].process,
                                          (double) next.time_us};
        }
        operations_close(&reader);
    }
    operations_fini(&all);
    if (m.n)
        qsort(m.at, m.n, sizeof(*m.at), by_operation);
    return m;
}

static bool is_same(const struct member *a, const struct member *b)
{
    return a->comm == b->comm && a->func == b->func && a->sn == b->sn;
}

/* Sums over a job's operations. */
struct sums {
    double spent_us, wait_us, first_us;
    double *skew;
    double *last; /* [process] operations in which it is last */
    size_t n, again, pairs;
    uint32_t comm; /* of the operation before */
    size_t before; /* its last rank */
};

/* Adds an operation of n members. */
static void add(struct sums *s, const struct member *m, size_t n)
{
    const struct member *last = m;
    double most = 0;

    for (size_t i = 0; i < n; i++) {
        if (m[i].us < last->us)
            last = &m[i];
        most = fmax(most, m[i].us);
        s->spent_us += m[i].us;
    }
    for (size_t i = 0; i < n; i++)
        s->wait_us += m[i].us - last->us;
    if (!s->n || s->comm != m->comm)
        s->first_us = fmax(s->first_us, most - last->us);
    else
        s->skew[s->n] = most - last->us;
    if (s->n && s->comm == m->comm) {
        s->pairs++;
        s->again += s->before == last->process;
    }
    s->last[last->process]++;
    s->comm = m->comm;
    s->before = last->process;
    s->n++;
}

static struct figures take(const struct sums *s, size_t ranks)
{
    struct figures f = {.ranks = ranks, .ops = s->n};
    double mean = stats_mean(s->skew, 0, s->n), entropy = 0, top = 0;

    for (size_t i = 0; i < ranks; i++) {
        double share = s->last[i] / (double) s->n;

        top = fmax(top, share);
        entropy -= share > 0 ? share * log(share) : 0;
    }
    stats_sort(s->skew, s->n);
    f.at[WAIT] = s->spent_us > 0 ? s->wait_us / s->spent_us : 0;
    f.at[SKEW_50] = s->skew[s->n / 2] / mean;
    f.at[SKEW_90] = s->skew[s->n * 9 / 10] / mean;
    f.at[SKEW_99] = s->skew[s->n * 99 / 100] / mean;
    f.at[TOP] = top;
    f.at[SHARE] = exp(entropy) / (double) ranks;
    f.at[AGAIN] = s->pairs ? (double) s->again / (double) s->pairs : 0;
    f.at[FIRST] = s->first_us / 1e3;
    return f;
}

/* Reads a folder. False: it has no operation with all members. */
static bool measure(const char *dir, struct figures *f)
{
    const struct jp_aggregate_options options = {.threads = 1};
    struct jp_error err;
    struct jp_result *r = aggregate_run(&dir, 1, &options, &err);
    struct jp_processes p;
    struct members m;
    struct sums s = {0};

    if (!r) {
        fprintf(stderr, "%s: %s\n", dir, err.text);
        exit(1);
    }
    if (processes_init_nodes(&p, r, NULL) < 0)
        abort();
    m = read_members(r, &p);
    s.skew = need(calloc(m.n + 1, sizeof(*s.skew)));
    s.last = need(calloc(p.n + 1, sizeof(*s.last)));
    for (size_t i = 0, end; i < m.n; i = end) {
        for (end = i + 1; end < m.n && is_same(&m.at[i], &m.at[end]); end++)
            ;
        if (end - i == r->comms[m.at[i].comm].n_ranks && end - i > 1)
            add(&s, m.at + i, end - i);
    }
    if (s.n)
        *f = take(&s, p.n);
    free(s.skew);
    free(s.last);
    free(m.at);
    processes_fini(&p);
    result_destroy(r);
    return s.n > 0;
}

static void print(const char *name, const struct figures *f)
{
    printf("%-28s %5zu %6zu", name, f->ranks, f->ops);
    for (int i = 0; i < FIGURES; i++)
        printf(i == FIRST ? " %8.0f" : " %8.2f", f->at[i]);
    puts("");
    fflush(stdout);
}

/* Clean jobs of a kind, and the range of their figures. */
static void print_kind(enum simreal_kind kind, unsigned jobs, uint64_t seed,
                       const char *dir)
{
    static const char *const names[SIMREAL_KINDS] = {"replicas", "pipeline",
                                                     "experts"};
    double *all = need(calloc((size_t) FIGURES * jobs, sizeof(*all)));
    unsigned n = 0;

    while (n < jobs) {
        struct simjob_shape shape = simjob_real_shape(++seed);
        struct simjob_truth truth;
        struct figures f;
        char name[64];

        if (shape.real.kind != kind)
            continue;
        if (simfeed_write(&shape, SIMJOB_CLEAN, 0, seed, dir, &truth) < 0)
            abort();
        if (measure(dir, &f)) {
            snprintf(name, sizeof(name), "%s, seed %" PRIu64, names[kind],
                     seed);
            print(name, &f);
            for (int i = 0; i < FIGURES; i++)
                all[i * jobs + n] = f.at[i];
            n++;
        }
        simfeed_remove(&shape, dir);
    }
    for (int side = 0; side < 2; side++) {
        printf("%-28s %5s %6s", names[kind], side ? "to" : "from", "");
        for (int i = 0; i < FIGURES; i++) {
            double *at = all + i * jobs;

            stats_sort(at, jobs);
            printf(i == FIRST ? " %8.0f" : " %8.2f",
                   side ? at[jobs - 1 - jobs / 10] : at[jobs / 10]);
        }
        puts("");
    }
    free(all);
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/jobprof-likeness.XXXXXX";
    unsigned jobs = 10;
    uint64_t seed = 1;
    int c;

    while ((c = getopt(argc, argv, "n:s:")) != -1) {
        if (c == 'n')
            jobs = (unsigned) strtoul(optarg, NULL, 10);
        else if (c == 's')
            seed = strtoull(optarg, NULL, 10);
        else
            return 2;
    }
    printf("%-28s %5s %6s", "job", "ranks", "ops");
    for (int i = 0; i < FIGURES; i++)
        printf(" %8s", heads[i]);
    puts("");
    for (int i = optind; i < argc; i++) {
        const char *name = strlen(argv[i]) > 28 ? argv[i] + strlen(argv[i]) - 28
                                                : argv[i];
        struct figures f;

        if (measure(argv[i], &f))
            print(name, &f);
        else
            printf("%-28s no collective with all members\n", name);
    }
    if (!mkdtemp(dir)) {
        perror(dir);
        return 1;
    }
    for (int kind = 0; jobs && kind < SIMREAL_KINDS; kind++)
        print_kind(kind, jobs, seed, dir);
    rmdir(dir);
    return 0;
}
