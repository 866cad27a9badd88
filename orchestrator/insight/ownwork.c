/* ownwork.c - compares what the ranks' GPUs and hosts did between collectives.
 *
 * For each process: find the peers (is_alike), take the median of their times,
 * then list the names with the largest differences (list_names). */
#include "orchestrator/insight/ownwork.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/sorted.h"
#include "common/vector.h"
#include "orchestrator/insight/finding.h"

/* The names of a process in alphabetical order. */
struct view {
    const struct traced_name **names, **calls;
    uint64_t kernels; /* of all names */
};

static int by_name(const void *a, const void *b)
{
    const struct traced_name *x = *(const struct traced_name *const *) a,
                             *y = *(const struct traced_name *const *) b;

    return strcmp(x->name, y->name);
}

/* NULL: no memory. */
static const struct traced_name **sort_names(const struct traced_name *names,
                                             size_t n)
{
    const struct traced_name **sorted = calloc(n + 1, sizeof(*sorted));

    for (size_t i = 0; sorted && i < n; i++)
        sorted[i] = &names[i];
    if (sorted && n)
        qsort(sorted, n, sizeof(*sorted), by_name);
    return sorted;
}

static const struct traced_name *find_name(const struct traced_name **sorted,
                                           size_t n, const char *name)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(sorted[mid]->name, name);

        if (order == 0)
            return sorted[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

/* The steps of a trace; 1 without steps. */
static double steps_of(const struct traced *t)
{
    return t->n_steps ? (double) t->n_steps + (double) t->left_steps : 1;
}

/* Nanoseconds of a trace as microseconds per step. */
static double each_us(const struct traced *t, double ns)
{
    return ns / 1000 / steps_of(t);
}

/* Whether two processes did mostly the same: the kernels that both have, by
 * name, are most of those of each. */
static bool is_alike(const struct traced *a, const struct traced *b,
                     const struct view *x, const struct view *y)
{
    uint64_t both = 0, most = x->kernels > y->kernels ? x->kernels : y->kernels;
    size_t i = 0, k = 0;

    if (!b->has_times || steps_of(a) != steps_of(b) || a->source != b->source)
        return false;
    /* another cycle of a profiler's schedule, or of the same rank */
    if ((a->rank >= 0 && a->rank == b->rank) || a->n_steps != b->n_steps ||
        (a->n_steps && a->steps->number != b->steps->number))
        return false;
    while (i < a->n_names && k < b->n_names) {
        int order = strcmp(x->names[i]->name, y->names[k]->name);

        if (order == 0)
            both += x->names[i]->n < y->names[k]->n ? x->names[i]->n
                                                    : y->names[k]->n;
        i += order <= 0;
        k += order >= 0;
    }
    return most && (double) both >= JP_OWNWORK_ALIKE * (double) most;
}

static double own_time(const struct traced *t)
{
    return each_us(t, (double) (t->all.length_ns - t->all.exposed_ns));
}

/* The peers of a process while they are compared. */
struct peers {
    const struct traced *list;
    const struct view *views;
    size_t at[JP_OWNWORK_PEERS];
    uint32_t n;
};

/* The nearest processes by rank that are alike; not those on `host`, unless it
 * is NULL. */
static void find_peers(struct peers *p, size_t n, size_t subject,
                       const char *host)
{
    p->n = 0;
    for (size_t d = 1; d < n && p->n < JP_OWNWORK_PEERS && d <= 512; d++)
        for (int side = 0; side < 2 && p->n < JP_OWNWORK_PEERS; side++) {
            size_t i = side ? subject + d : subject - d;

            if ((side ? i < n : d <= subject) &&
                (!host || strcmp(p->list[i].host, host) != 0) &&
                is_alike(&p->list[subject], &p->list[i], &p->views[subject],
                         &p->views[i]))
                p->at[p->n++] = i;
        }
}

/* The median over the peers of what `get` returns. */
static double median_time(const struct peers *p,
                          double get(const struct traced *traced))
{
    double v[JP_OWNWORK_PEERS];

    for (uint32_t i = 0; i < p->n; i++)
        v[i] = get(&p->list[p->at[i]]);
    qsort(v, p->n, sizeof(*v), sorted_ascending);
    return sorted_median(v, p->n);
}

static double own_kernels(const struct traced *t)
{
    return each_us(t, (double) t->all.own_ns);
}

static double idle(const struct traced *t)
{
    return each_us(t, (double) t->all.idle_ns);
}

static int by_more(const void *a, const void *b)
{
    const struct jp_ownwork_row *x = a, *y = b;
    double m = x->us - x->peers_us, n = y->us - y->peers_us;

    if (m != n)
        return m > n ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Fills rows with the names of which the subject has more than its peers'
 * median. Returns how many: the JP_OWNWORK_ROWS largest differences. */
static size_t list_names(const struct peers *p, size_t subject,
                         enum jp_ownwork_kind kind,
                         struct jp_ownwork_row rows[TRACED_NAMES])
{
    bool calls = kind == JP_OWNWORK_CALL;
    const struct traced *t = &p->list[subject];
    size_t n = calls ? t->n_calls : t->n_names, kept = 0;

    for (size_t i = 0; i < n; i++) {
        const struct traced_name *own = calls ? &t->calls[i] : &t->names[i];
        double us[JP_OWNWORK_PEERS], count[JP_OWNWORK_PEERS];
        struct jp_ownwork_row *row = &rows[kept];

        for (uint32_t k = 0; k < p->n; k++) {
            const struct traced *peer = &p->list[p->at[k]];
            const struct view *view = &p->views[p->at[k]];
            const struct traced_name *its =
                find_name(calls ? view->calls : view->names,
                          calls ? peer->n_calls : peer->n_names, own->name);

            us[k] = its ? each_us(peer, (double) its->ns) : 0;
            count[k] = its ? (double) its->n / steps_of(peer) : 0;
        }
        qsort(us, p->n, sizeof(*us), sorted_ascending);
        qsort(count, p->n, sizeof(*count), sorted_ascending);
        *row = (struct jp_ownwork_row){.process = subject,
                                       .kind = kind,
                                       .name = own->name,
                                       .n = (double) own->n / steps_of(t),
                                       .us = each_us(t, (double) own->ns),
                                       .peers_n = sorted_median(count, p->n),
                                       .peers_us = sorted_median(us, p->n)};
        kept += row->us > row->peers_us;
    }
    qsort(rows, kept, sizeof(*rows), by_more);
    return kept < JP_OWNWORK_ROWS ? kept : JP_OWNWORK_ROWS;
}

/* Compares one process. 0, or -1: no memory. */
static int compare_process(struct jp_ownwork *own, struct peers *p,
                           size_t subject)
{
    struct jp_ownwork_process *of = &own->of[subject];
    struct jp_ownwork_row rows[TRACED_NAMES];
    const struct traced *t = &p->list[subject];

    *of = (struct jp_ownwork_process){
        .more_us = NAN, .own_more_us = NAN, .idle_more_us = NAN};
    if (!t->has_times)
        return 0;
    find_peers(p, own->n, subject, NULL);
    of->peers = p->n;
    of->first = own->n_rows;
    if (!p->n)
        return 0;
    of->more_us = own_time(t) - median_time(p, own_time);
    of->own_more_us = own_kernels(t) - median_time(p, own_kernels);
    of->idle_more_us = idle(t) - median_time(p, idle);
    if (vector_resize(&own->rows, own->n_rows + 2 * JP_OWNWORK_ROWS,
                      sizeof(*own->rows)) < 0)
        return -1;
    for (int kind = JP_OWNWORK_KERNEL; kind <= JP_OWNWORK_CALL; kind++) {
        size_t n = list_names(p, subject, (enum jp_ownwork_kind) kind, rows);

        memcpy(own->rows + own->n_rows, rows, n * sizeof(*rows));
        own->n_rows += n;
    }
    of->n = own->n_rows - of->first;
    return 0;
}

static void free_views(struct view *views, size_t n)
{
    for (size_t i = 0; views && i < n; i++) {
        free(views[i].names);
        free(views[i].calls);
    }
    free(views);
}

/* Sorts the names of all processes. NULL: no memory. */
static struct view *make_views(const struct traced_list *list)
{
    struct view *views = calloc(list->n + 1, sizeof(*views));

    for (size_t i = 0; views && i < list->n; i++) {
        const struct traced *t = &list->at[i];

        views[i].names = sort_names(t->names, t->n_names);
        views[i].calls = sort_names(t->calls, t->n_calls);
        if (!views[i].names || !views[i].calls) {
            free_views(views, list->n);
            return NULL;
        }
        for (size_t k = 0; k < t->n_names; k++)
            views[i].kernels += t->names[k].n;
    }
    return views;
}

int ownwork_make(const struct traced_list *list, struct jp_ownwork *out)
{
    struct jp_ownwork own = {.n = list->n, .list = list};
    struct view *views = make_views(list);
    struct peers peers = {.list = list->at, .views = views};
    int rc = 0;

    own.of = calloc(list->n + 1, sizeof(*own.of));
    if (!views || !own.of)
        rc = -1;
    for (size_t i = 0; i < list->n && rc == 0; i++)
        rc = compare_process(&own, &peers, i);
    free_views(views, list->n);
    if (rc == 0)
        *out = own;
    else
        ownwork_fini(&own);
    return rc;
}

void ownwork_fini(struct jp_ownwork *own)
{
    free(own->of);
    free(own->rows);
    *own = (struct jp_ownwork){0};
}

int64_t ownwork_find(const struct jp_ownwork *own, int64_t world_rank,
                     const char *host, int64_t pid)
{
    int64_t found = -1;

    for (size_t i = 0; i < own->n; i++) {
        const struct traced *t = &own->list->at[i];
        bool is = world_rank >= 0 && t->rank >= 0
                      ? t->rank == world_rank
                      : pid > 0 && t->pid == pid && !strcmp(t->host, host);

        if (is && found >= 0)
            return -1;
        if (is)
            found = (int64_t) i;
    }
    return found;
}

/* --- words ---------------------------------------------------------------- */

enum { SHORT_NAME = 64 };

/* The name of a kernel without types and parameters, cut to a word that fits a
 * sentence. Returns buf. */
static char *shorten(const char *name, char buf[SHORT_NAME])
{
    size_t n;

    if (!strncmp(name, "void ", 5))
        name += 5;
    n = strcspn(name, "<(");
    /* a template's own name is at its end: at::native::reduce_kernel */
    for (size_t i = n; i > 2 && n > SHORT_NAME - 1; i--)
        if (name[i - 1] == ':' && name[i - 2] == ':') {
            name += i;
            n -= i;
            break;
        }
    if (!n) {
        n = strlen(name);
    }
    snprintf(buf, SHORT_NAME, "%.*s",
             (int) (n < SHORT_NAME - 1 ? n : SHORT_NAME - 1), name);
    return buf;
}

/* "flash_bwd +1.1 ms (30 % slower at the same count)" */
static void say_row(const struct jp_ownwork_row *row, struct jp_sentence *s)
{
    char name[SHORT_NAME], how[96] = "";
    double more = row->us - row->peers_us;

    if (row->peers_us <= 0)
        snprintf(how, sizeof(how), "the others do not have it");
    else if (row->n == row->peers_n && row->us >= 2 * row->peers_us)
        snprintf(how, sizeof(how), "%s times as long at the same count",
                 FIG_REAL(row->us / row->peers_us));
    else if (row->n == row->peers_n)
        snprintf(how, sizeof(how), "%s slower at the same count",
                 FIG_SHARE(more / row->peers_us));
    else
        snprintf(how, sizeof(how), "%s times instead of %s", FIG_REAL(row->n),
                 FIG_REAL(row->peers_n));
    sentence_add(s, "%s +%s (%s)", shorten(row->name, name), FIG_US(more), how);
}

/* The row of a kind with the largest difference; NULL: none. */
static const struct jp_ownwork_row *
largest(const struct jp_ownwork *own, size_t process, enum jp_ownwork_kind kind)
{
    const struct jp_ownwork_process *of = &own->of[process];

    for (size_t i = of->first; i < of->first + of->n; i++)
        if (own->rows[i].kind == kind)
            return &own->rows[i];
    return NULL;
}

char *ownwork_text(const struct jp_ownwork *own, size_t process,
                   char buf[JP_OWNWORK_TEXT])
{
    const struct jp_ownwork_process *of = &own->of[process];
    const struct traced *t = &own->list->at[process];
    const struct jp_ownwork_row *kernel, *call;
    struct jp_sentence s;

    *buf = '\0';
    if (!of->peers || !(of->more_us > JP_OWNWORK_LEAST * own_time(t)))
        return buf;
    kernel = largest(own, process, JP_OWNWORK_KERNEL);
    call = largest(own, process, JP_OWNWORK_CALL);
    sentence_init(&s, buf, JP_OWNWORK_TEXT);
    sentence_add(&s, "by its trace, its own time is %s%s longer than %s %s %s",
                 FIG_US(of->more_us), t->n_steps ? " a step" : "",
                 of->peers > 1 ? "the median of" : "that of",
                 FIG_COUNT(of->peers),
                 of->peers > 1 ? "ranks with the same kernels"
                               : "rank with the same kernels");
    /* which of the two makes the larger part of it */
    if (of->own_more_us >= of->idle_more_us) {
        if (kernel)
            say_row(kernel, &s);
    } else {
        sentence_add(&s,
                     "its GPU idles %s longer between kernels, so the host "
                     "launches them late",
                     FIG_US(of->idle_more_us));
        if (call)
            say_row(call, &s);
    }
    return buf;
}

/* The names on which each process of a host spent longer, and their sums. */
struct common_rows {
    struct jp_ownwork_row at[JP_OWNWORK_ROWS];
    size_t n;
};

/* Takes the rows of the first process, or keeps those that the next one has
 * too and adds up. */
static void keep_common(struct common_rows *common,
                        const struct jp_ownwork_row *rows, size_t n, bool first)
{
    size_t kept = 0;

    if (first) {
        memcpy(common->at, rows, n * sizeof(*rows));
        common->n = n;
        return;
    }
    for (size_t i = 0; i < common->n; i++)
        for (size_t k = 0; k < n; k++)
            if (!strcmp(common->at[i].name, rows[k].name)) {
                common->at[kept] = common->at[i];
                common->at[kept].n += rows[k].n;
                common->at[kept].us += rows[k].us;
                common->at[kept].peers_n += rows[k].peers_n;
                common->at[kept].peers_us += rows[k].peers_us;
                kept++;
                break;
            }
    common->n = kept;
}

/* Adds the common row of the largest difference, as the mean of n processes. */
static void say_common(struct common_rows *common, double n,
                       struct jp_sentence *s)
{
    struct jp_ownwork_row *row = common->at;

    if (!common->n)
        return;
    qsort(row, common->n, sizeof(*row), by_more);
    row->n /= n;
    row->us /= n;
    row->peers_n /= n;
    row->peers_us /= n;
    say_row(row, s);
}

/* All processes of a host while they are compared with those of others. */
struct host_sums {
    struct common_rows of[JP_OWNWORK_CALL + 1]; /* by kind */
    double least_us, most_us;                   /* more of own time */
    double own_us, idle_us;                     /* sums of more */
    size_t n;                                   /* processes with peers */
    bool each_longer, has_steps;
};

static void add_process(const struct jp_ownwork *own, struct peers *p,
                        size_t subject, struct host_sums *sums)
{
    const struct traced *t = &p->list[subject];
    struct jp_ownwork_row rows[TRACED_NAMES];
    double more;

    find_peers(p, own->n, subject, t->host);
    if (!p->n)
        return;
    more = own_time(t) - median_time(p, own_time);
    sums->each_longer &= more > JP_OWNWORK_LEAST * own_time(t);
    sums->least_us = sums->n ? fmin(sums->least_us, more) : more;
    sums->most_us = sums->n ? fmax(sums->most_us, more) : more;
    sums->own_us += own_kernels(t) - median_time(p, own_kernels);
    sums->idle_us += idle(t) - median_time(p, idle);
    sums->has_steps |= t->n_steps > 0;
    for (int kind = JP_OWNWORK_KERNEL; kind <= JP_OWNWORK_CALL; kind++)
        keep_common(&sums->of[kind], rows,
                    list_names(p, subject, (enum jp_ownwork_kind) kind, rows),
                    sums->n == 0);
    sums->n++;
}

char *ownwork_host_text(const struct jp_ownwork *own, const char *host,
                        char buf[JP_OWNWORK_TEXT])
{
    struct view *views = *host ? make_views(own->list) : NULL;
    struct peers peers = {.list = own->list ? own->list->at : NULL,
                          .views = views};
    struct host_sums sums = {.each_longer = true};
    struct jp_sentence s;
    bool is_one;
    double n;

    *buf = '\0';
    for (size_t i = 0; views && i < own->n; i++)
        if (peers.list[i].has_times && !strcmp(peers.list[i].host, host))
            add_process(own, &peers, i, &sums);
    free_views(views, own->n);
    if (sums.n < 2 || !sums.each_longer)
        return buf;
    n = (double) sums.n;
    is_one = !strcmp(FIG_US(sums.least_us), FIG_US(sums.most_us));
    sentence_init(&s, buf, JP_OWNWORK_TEXT);
    sentence_add(&s,
                 "by the traces of %s of its ranks, the own time of each is "
                 "%s%s%s%s longer than that of ranks with the same kernels on "
                 "other nodes",
                 FIG_COUNT(sums.n), FIG_US(sums.least_us), is_one ? "" : " to ",
                 is_one ? "" : FIG_US(sums.most_us),
                 sums.has_steps ? " a step" : "");
    if (sums.own_us >= sums.idle_us) {
        say_common(&sums.of[JP_OWNWORK_KERNEL], n, &s);
    } else {
        sentence_add(&s,
                     "their GPUs idle %s longer between kernels, so the hosts "
                     "launch them late",
                     FIG_US(sums.idle_us / n));
        say_common(&sums.of[JP_OWNWORK_CALL], n, &s);
    }
    return buf;
}

char *ownwork_summary(const struct jp_ownwork *own,
                      char buf[2 * JP_OWNWORK_TEXT])
{
    double least = INFINITY, most = -INFINITY, worst = 0;
    char text[JP_OWNWORK_TEXT];
    struct jp_sentence s;
    int64_t at = -1;
    size_t known = 0, ranks = 0;
    uint64_t steps = 0, comm = 0;
    char traces[48] = "";

    sentence_init(&s, buf, 2 * JP_OWNWORK_TEXT);
    for (size_t i = 0; i < own->n; i++) {
        const struct traced *t = &own->list->at[i];
        double share;

        if (!t->has_times || !t->all.length_ns)
            continue;
        known++;
        /* they are in the order of ranks; a rank may have several traces */
        ranks += t->rank < 0 || i == 0 || own->list->at[i - 1].rank != t->rank;
        comm += t->comm_kernels;
        if (t->n_steps + t->left_steps > steps)
            steps = t->n_steps + t->left_steps;
        share = (double) t->all.exposed_ns / (double) t->all.length_ns;
        least = fmin(least, share);
        most = fmax(most, share);
        if (own->of[i].peers && own->of[i].more_us > worst) {
            worst = own->of[i].more_us;
            at = (int64_t) i;
        }
    }
    if (!known) {
        sentence_add(&s, "%s process%s, no times of kernels", FIG_COUNT(own->n),
                     own->n == 1 ? "" : "es");
        return buf;
    }
    if (known > ranks)
        snprintf(traces, sizeof(traces), " in %s traces", FIG_COUNT(known));
    sentence_add(&s, "%s rank%s%s%s%s%s%s", FIG_COUNT(ranks), plural(ranks),
                 traces, steps ? ", " : "", steps ? FIG_COUNT(steps) : "",
                 steps == 1 ? " step"
                 : steps    ? " steps"
                            : "",
                 steps && *traces ? " each at most" : "");
    if (!comm)
        sentence_add(&s, "no kernel of NCCL or RCCL");
    else if (strcmp(FIG_SHARE(least), FIG_SHARE(most)) != 0)
        sentence_add(&s,
                     "communication that no kernel hides takes %s to %s of "
                     "the time",
                     FIG_SHARE(least), FIG_SHARE(most));
    else
        sentence_add(&s,
                     "communication that no kernel hides takes %s of the time",
                     FIG_SHARE(least));
    if (at >= 0 && *ownwork_text(own, (size_t) at, text)) {
        const struct traced *t = &own->list->at[at];

        if (t->rank >= 0)
            sentence_add(&s, "rank %s: %s", FIG_COUNT((uint64_t) t->rank),
                         text);
        else
            sentence_add(&s, "process %lld: %s", (long long) t->pid, text);
    }
    return buf;
}
