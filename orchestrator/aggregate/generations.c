/* generations.c - attempts of which no launcher has told: a script that starts
 * its program again after a death, a supervisor, Ray; and programs that tasks
 * run one after the other.
 *
 * Processes that share a communicator are of one generation, and so are
 * processes of different communicators whose times overlap. A later generation
 * is a new attempt if
 * - all of its operations began after all of those of the one before,
 * - the one before did not end properly: the recording of one of its processes
 *   has no final block, because the process died or was killed; or each of its
 *   processes is of a task that had one in the attempt before, as where a
 *   script runs two programs (numbered as attempts, as each has all ranks),
 * - both have a process on the same host, and
 * - the operations' times of all processes are known.
 * Otherwise all are one attempt: jobs one after the other of which each has
 * tasks of its own are none. Where launchers have told counts that differ
 * (TORCHELASTIC_RESTART_COUNT), these are right, and nothing is looked for.
 * Processes that live on and make new communicators are one generation.
 */
#include "orchestrator/aggregate/result_build.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A process that wrote a recording. */
struct writer {
    size_t file;      /* its first one by number */
    size_t group;     /* another writer of its generation, or itself */
    uint64_t from_us; /* 0: unknown */
    uint64_t to_us;
    bool cut; /* it did not end properly */
    int64_t attempt;
};

struct generations {
    const struct build *b;
    struct writer *writers; /* sorted by host, pid and instance */
    size_t n;
    size_t *by_time; /* groups' first writers, by from_us */
};

static const struct recfile_process *process_of(const struct generations *g,
                                                size_t i)
{
    return source_process(&g->b->files[g->writers[i].file]);
}

static int compare_processes(const char *host_x, int64_t pid_x, uint64_t in_x,
                             const char *host_y, int64_t pid_y, uint64_t in_y)
{
    int order = strcmp(host_x, host_y);

    if (order || pid_x != pid_y)
        return order ? order : pid_x < pid_y ? -1 : 1;
    return (in_x > in_y) - (in_x < in_y);
}

static int by_process(const void *a, const void *b, void *arg)
{
    const struct source_facts *files = arg;
    const struct writer *v = a, *w = b;
    const struct recfile_process *x = source_process(&files[v->file]);
    const struct recfile_process *y = source_process(&files[w->file]);
    int order = compare_processes(
        x->host, x->pid, process_instance(x->pid_namespace, x->start), y->host,
        y->pid, process_instance(y->pid_namespace, y->start));

    return order ? order : (v->file > w->file) - (v->file < w->file);
}

/* Returns the writer; SIZE_MAX: none is known. */
static size_t find_writer(const struct generations *g, const char *host,
                          int64_t pid, uint64_t instance)
{
    size_t low = 0, high = g->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct recfile_process *p = process_of(g, mid);
        int order = compare_processes(
            p->host, p->pid, process_instance(p->pid_namespace, p->start), host,
            pid, instance);

        if (order == 0)
            return mid;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return SIZE_MAX;
}

/* Whether nothing of the launchers' tells attempts apart. */
static bool is_untold(const struct build *b)
{
    const struct recfile_process *first = NULL;

    for (size_t i = 0; i < b->walk->n_logs; i++) {
        const struct recfile_process *p = source_process(&b->files[i]);

        if (b->files[i].foreign)
            continue;
        if (!p->known ||
            (first && p->launched.restarts != first->launched.restarts))
            return false;
        first = p;
    }
    return first != NULL;
}

/* Lists the writers, each once. */
static void list_writers(struct generations *g)
{
    size_t n = 0;

    for (size_t i = 0; i < g->b->walk->n_logs; i++)
        if (source_process(&g->b->files[i])->known)
            g->writers[g->n++] =
                (struct writer){.file = i, .cut = g->b->files[i].cut};
    if (g->n)
        qsort_r(g->writers, g->n, sizeof(*g->writers), by_process, g->b->files);
    for (size_t i = 0; i < g->n; i++) {
        const struct recfile_process *p = process_of(g, i);
        const struct recfile_process *last = n ? process_of(g, n - 1) : NULL;

        if (last &&
            compare_processes(
                last->host, last->pid,
                process_instance(last->pid_namespace, last->start), p->host,
                p->pid, process_instance(p->pid_namespace, p->start)) == 0)
            g->writers[n - 1].cut |= g->writers[i].cut;
        else
            g->writers[n++] = g->writers[i];
    }
    g->n = n;
    for (size_t i = 0; i < n; i++)
        g->writers[i].group = i;
}

static size_t group_of(const struct generations *g, size_t i)
{
    while (g->writers[i].group != i)
        i = g->writers[i].group = g->writers[g->writers[i].group].group;
    return i;
}

/* Joins the groups of two writers. */
static void join_groups(struct generations *g, size_t i, size_t k)
{
    struct writer *a = &g->writers[group_of(g, i)];
    struct writer *b = &g->writers[group_of(g, k)];

    if (a == b)
        return;
    b->group = (size_t) (a - g->writers);
    a->cut |= b->cut;
    if (b->from_us < a->from_us)
        a->from_us = b->from_us;
    if (b->to_us > a->to_us)
        a->to_us = b->to_us;
}

/* Sets the times of all writers. False: one is unknown. */
static bool take_times(struct generations *g)
{
    const struct jp_result *r = g->b->result;

    for (size_t i = 0; i < r->n_busy; i++) {
        const struct jp_busy *row = &r->busy[i];
        size_t at = find_writer(g, row->host, row->pid, row->instance);

        if (at == SIZE_MAX || row->state != JP_BUSY_TOLD)
            continue;
        g->writers[at].from_us = row->from_us;
        g->writers[at].to_us = row->to_us;
    }
    for (size_t i = 0; i < g->n; i++)
        if (!g->writers[i].from_us)
            return false;
    return true;
}

/* Joins the processes of each communicator. */
static void join_by_comms(struct generations *g)
{
    const struct jp_result *r = g->b->result;
    size_t last = SIZE_MAX;

    for (size_t i = 0; i < r->n_ranks; i++) {
        const struct jp_rank *rank = &r->ranks[i];
        size_t at = find_writer(g, rank->host ? rank->host : "", rank->pid,
                                rank->instance);

        if (i && rank->comm != rank[-1].comm)
            last = SIZE_MAX;
        if (at != SIZE_MAX && last != SIZE_MAX)
            join_groups(g, last, at);
        if (at != SIZE_MAX)
            last = at;
    }
}

static int by_start(const void *a, const void *b, void *arg)
{
    const struct writer *writers = arg;
    const struct writer *x = &writers[*(const size_t *) a];
    const struct writer *y = &writers[*(const size_t *) b];

    if (x->from_us != y->from_us)
        return x->from_us < y->from_us ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int64_t attempt_of(const struct generations *g, size_t i)
{
    return g->writers[group_of(g, i)].attempt;
}

/* Whether an attempt and the next one have processes on one host. The writers
 * are sorted by host. */
static bool share_host(const struct generations *g, int64_t attempt)
{
    bool of_attempt = false, of_next = false;

    for (size_t i = 0; i < g->n; i++) {
        if (!i || strcmp(process_of(g, i - 1)->host, process_of(g, i)->host))
            of_attempt = of_next = false;
        of_attempt |= attempt_of(g, i) == attempt;
        of_next |= attempt_of(g, i) == attempt + 1;
        if (of_attempt && of_next)
            return true;
    }
    return false;
}

/* Whether a process of the attempt was of the same task of Slurm as this
 * writer. The writers are sorted by host. */
static bool has_task(const struct generations *g, int64_t attempt, size_t of)
{
    const struct recfile_process *p = process_of(g, of);
    size_t i = of;

    while (i && !strcmp(process_of(g, i - 1)->host, p->host))
        i--;
    for (; i < g->n && !strcmp(process_of(g, i)->host, p->host); i++)
        if (attempt_of(g, i) == attempt &&
            process_of(g, i)->procid == p->procid)
            return true;
    return false;
}

/* Whether each process of the attempt after this one is of a task that had a
 * process in this one, too. */
static bool has_same_tasks(const struct generations *g, int64_t attempt)
{
    for (size_t i = 0; i < g->n; i++)
        if (attempt_of(g, i) == attempt + 1 &&
            (process_of(g, i)->procid < 0 || !has_task(g, attempt, i)))
            return false;
    return true;
}

/* Whether a process of the attempt did not end properly. */
static bool is_cut(const struct generations *g, int64_t attempt)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->writers[i].cut && attempt_of(g, i) == attempt)
            return true;
    return false;
}

/* Numbers the generations. Returns how many there are; 1 if any two that follow
 * each other are no attempts. *cuts: how many of them did not end properly, of
 * those that another one followed. */
static int64_t number_groups(struct generations *g, int64_t *cuts)
{
    size_t n = 0;
    int64_t last = 0;
    uint64_t end_us = UINT64_MAX;

    for (size_t i = 0; i < g->n; i++) {
        g->writers[i].attempt = -1;
        if (group_of(g, i) == i)
            g->by_time[n++] = i;
    }
    qsort_r(g->by_time, n, sizeof(*g->by_time), by_start, g->writers);
    for (size_t i = 0; i < n; i++) {
        struct writer *w = &g->writers[g->by_time[i]];

        last += w->from_us > end_us;
        w->attempt = last;
        if (!i || w->to_us > end_us)
            end_us = w->to_us;
    }
    for (int64_t attempt = 0; attempt < last; attempt++) {
        bool cut = is_cut(g, attempt);

        if (cut ? !share_host(g, attempt) : !has_same_tasks(g, attempt))
            return 1;
        *cuts += cut;
    }
    return last + 1;
}

/* Looks for generations, and sets the attempts of the files' processes if there
 * are any. */
static void find_untold(struct generations *g)
{
    struct source_facts *files = g->b->files;
    int64_t n, cuts = 0;

    if (g->n < 2 || !take_times(g))
        return;
    join_by_comms(g);
    n = number_groups(g, &cuts);
    if (n < 2)
        return;
    g->b->result->quality.programs = cuts ? 0 : (uint32_t) n;
    for (size_t i = 0; i < g->b->walk->n_logs; i++) {
        const struct recfile_process *p = source_process(&files[i]);
        size_t at =
            p->known ? find_writer(g, p->host, p->pid,
                                   process_instance(p->pid_namespace, p->start))
                     : SIZE_MAX;

        if (at != SIZE_MAX)
            files[i].recording->process.launched.restarts =
                g->writers[group_of(g, at)].attempt;
    }
}

/* Sets the attempt of each rank to that of its process. */
static void tell_ranks(const struct generations *g)
{
    struct jp_result *r = g->b->result;

    for (size_t i = 0; i < r->n_ranks; i++) {
        struct jp_rank *rank = &r->ranks[i];
        size_t at = find_writer(g, rank->host ? rank->host : "", rank->pid,
                                rank->instance);

        if (at != SIZE_MAX)
            rank->restarts = process_of(g, at)->launched.restarts;
    }
}

int generations_find(struct build *b)
{
    struct generations g = {.b = b};
    int rc = 0;

    g.writers = calloc(b->walk->n_logs + 1, sizeof(*g.writers));
    g.by_time = calloc(b->walk->n_logs + 1, sizeof(*g.by_time));
    if (!g.writers || !g.by_time) {
        rc = -1;
        goto out;
    }
    list_writers(&g);
    if (is_untold(b))
        find_untold(&g);
    tell_ranks(&g);
out:
    free(g.writers);
    free(g.by_time);
    return rc;
}
