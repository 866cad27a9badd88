/* traced.c - sums up the kernels of one process: how long its GPU communicated,
 * worked and idled, over all and in each step, and which own kernels ran. */
#include "plugins/traced.h"

#include <stdlib.h>
#include <string.h>

#include "common/fnv.h"
#include "common/keyed.h"
#include "common/vector.h"

/* A kernel that was seen. */
struct seen {
    int64_t start_ns, end_ns;
    uint32_t name; /* index into names.at; COMM: communication */
    uint32_t mark; /* as in struct tracing_kernel */
};
#define COMM UINT32_MAX

struct named {
    uint64_t hash; /* the key */
    uint32_t at;   /* index into sums.at */
};

struct step {
    int64_t number, start_ns, end_ns;
};

/* Names and their sums. */
struct sums {
    struct keyed by_name; /* of struct named */
    struct traced_name *at;
    size_t n, room;
};

struct tracing {
    struct seen *seen;
    size_t n, room;
    uint64_t kernels, comm_kernels, left;
    struct sums names, calls;
    struct step steps[TRACED_STEPS];
    size_t n_steps;
    uint64_t left_steps;
    struct step whole; /* of all steps; the number is that of the first one */
    int64_t device;
    bool several;
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* --- names --------------------------------------------------------------- */

/* Whether the text is at the start of a name, after "void " where the compiler
 * put that. */
static bool name_begins(const char *name, size_t len, const char *with)
{
    size_t n = strlen(with);

    if (len > 5 && !memcmp(name, "void ", 5)) {
        name += 5;
        len -= 5;
    }
    return len >= n && !memcmp(name, with, n);
}

bool tracing_is_comm(const char *name, size_t len)
{
    static const char *const begins[] = {
        "ncclKernel",    /* NCCL to 2.18, RCCL */
        "ncclDevKernel", /* NCCL from 2.19 on, RCCL */
        "ncclSymDevKernel",
        "ncclSymkDevKernel", /* symmetric memory */
        "rccl",
        "mscclKernel",
        "mscclppKernel", /* AMD */
        "nccl:",
        "ncclMain",
    };

    for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
        if (name_begins(name, len, begins[i]))
            return true;
    return false;
}

const char *tracing_func(const char *name, size_t len)
{
    static const char *const funcs[] = {"AllReduce",     "AllGather",
                                        "ReduceScatter", "Broadcast",
                                        "SendRecv",      "Reduce"};

    /* what follows the parenthesis are types */
    const char *end = memchr(name, '(', len);

    len = end ? (size_t) (end - name) : len;
    for (size_t i = 0; i < sizeof(funcs) / sizeof(*funcs); i++)
        if (memmem(name, len, funcs[i], strlen(funcs[i])))
            return funcs[i];
    return NULL;
}

/* The index of a name, which is added if it is new. COMM: no memory. */
static uint32_t find_name(struct sums *sums, const char *name, size_t len)
{
    /* two names of one hash would be added up */
    uint64_t hash = fnv_bytes(FNV_START, name, len);
    struct named *named = keyed_find(&sums->by_name, hash);

    if (named)
        return named->at;
    /* the last name stands for all further ones */
    if (sums->n == TRACING_NAMES)
        return TRACING_NAMES - 1;
    if (VECTOR_ROOM(sums->at, sums->n + 1, sums->room) < 0)
        return COMM;
    named = keyed_add(&sums->by_name, hash);
    if (!named)
        return COMM;
    named->at = (uint32_t) sums->n++;
    sums->at[named->at] = (struct traced_name){.n = 0};
    if (named->at == TRACING_NAMES - 1) {
        name = "<others>";
        len = strlen(name);
    }
    /* A name may come from a hostile file; it is shown as text. */
    len = len < TRACED_NAME - 1 ? len : TRACED_NAME - 1;
    for (size_t i = 0; i < len; i++)
        sums->at[named->at].name[i] =
            name[i] >= 0x20 && name[i] < 0x7f ? name[i] : '?';
    return named->at;
}

/* --- add ----------------------------------------------------------------- */

struct tracing *tracing_create(void)
{
    struct tracing *t = calloc(1, sizeof(*t));

    if (t)
        t->names.by_name = t->calls.by_name =
            (struct keyed) KEYED(struct named);
    return t;
}

void tracing_destroy(struct tracing *t)
{
    if (!t)
        return;
    keyed_fini(&t->names.by_name);
    keyed_fini(&t->calls.by_name);
    free(t->names.at);
    free(t->calls.at);
    free(t->seen);
    free(t);
}

int tracing_kernel(struct tracing *t, const struct tracing_kernel *kernel)
{
    uint32_t name = COMM;

    if (t->kernels++ == 0)
        t->device = kernel->device;
    t->several |= t->device != kernel->device;
    t->comm_kernels += kernel->is_comm;
    if (t->n == TRACING_KERNELS) {
        t->left++;
        return 0;
    }
    if (VECTOR_ROOM(t->seen, t->n + 1, t->room) < 0)
        return -1;
    if (!kernel->is_comm &&
        (name = find_name(&t->names, kernel->name, kernel->len)) == COMM)
        return -1;
    t->seen[t->n++] =
        (struct seen){kernel->start_ns, kernel->end_ns, name, kernel->mark};
    return 0;
}

int tracing_call(struct tracing *t, const char *name, size_t len, uint64_t ns)
{
    uint32_t at = find_name(&t->calls, name, len);

    if (at == COMM)
        return -1;
    t->calls.at[at].n++;
    t->calls.at[at].ns += ns;
    return 0;
}

int tracing_step(struct tracing *t, int64_t number, int64_t start_ns,
                 int64_t end_ns)
{
    if (!t->n_steps)
        t->whole = (struct step){number, start_ns, end_ns};
    if (start_ns < t->whole.start_ns) {
        t->whole.start_ns = start_ns;
        t->whole.number = number;
    }
    t->whole.end_ns = larger(t->whole.end_ns, end_ns);
    if (t->n_steps == TRACED_STEPS)
        t->left_steps++;
    else
        t->steps[t->n_steps++] = (struct step){number, start_ns, end_ns};
    return 0;
}

static int by_step(const void *a, const void *b)
{
    const struct step *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

bool tracing_first_step(const struct tracing *t, int64_t *number,
                        int64_t *start_ns, int64_t *end_ns)
{
    if (!t->n_steps)
        return false;
    *number = t->whole.number;
    *start_ns = t->whole.start_ns;
    *end_ns = t->whole.end_ns;
    return true;
}

/* --- sum up -------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return (x->mark > y->mark) - (x->mark < y->mark);
}

/* Sorts the kernels by their start, and keeps one of each: tools that merge
 * traces write events twice. Returns how many copies there were. */
static uint64_t sort_once(struct tracing *t)
{
    size_t kept = 0;
    uint64_t copies;

    qsort(t->seen, t->n, sizeof(*t->seen), by_start);
    for (size_t i = 0; i < t->n; i++) {
        if (kept && t->seen[i].mark &&
            !by_start(&t->seen[kept - 1], &t->seen[i])) {
            t->comm_kernels -= t->seen[i].name == COMM;
            continue;
        }
        t->seen[kept++] = t->seen[i];
    }
    copies = t->n - kept;
    t->kernels -= copies;
    t->n = kept;
    return copies;
}

/* Adds the stretch from `from` to `to` to the time that it belongs to. */
static void add_stretch(struct traced_time *time, int64_t from, int64_t to,
                        bool own, bool comm)
{
    uint64_t ns = to > from ? (uint64_t) to - (uint64_t) from : 0;

    time->length_ns += ns;
    time->own_ns += own ? ns : 0;
    time->comm_ns += comm ? ns : 0;
    time->exposed_ns += comm && !own ? ns : 0;
    time->idle_ns += !comm && !own ? ns : 0;
}

/* Sums up the time from `from` to `to`. Kernels are sorted by their start. The
 * state (is an own kernel running until own_end, is communication running until
 * comm_end) is the same between two events. */
static struct traced_time sum_time(const struct tracing *t, int64_t from,
                                   int64_t to)
{
    struct traced_time time = {0};
    int64_t at = from, own_end = INT64_MIN, comm_end = INT64_MIN;

    for (size_t i = 0; i <= t->n && at < to; i++) {
        int64_t next = i < t->n ? smaller(t->seen[i].start_ns, to) : to;

        while (at < next) {
            int64_t end = next;

            if (own_end > at)
                end = smaller(end, own_end);
            if (comm_end > at)
                end = smaller(end, comm_end);
            add_stretch(&time, at, end, own_end > at, comm_end > at);
            at = end;
        }
        if (i < t->n && t->seen[i].name == COMM)
            comm_end = larger(comm_end, t->seen[i].end_ns);
        else if (i < t->n)
            own_end = larger(own_end, t->seen[i].end_ns);
    }
    return time;
}

static int by_time(const void *a, const void *b)
{
    const struct traced_name *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Adds up the names of own kernels that began in the stretch. */
static void sum_names(struct tracing *t, int64_t from, int64_t to)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct seen *seen = &t->seen[i];

        if (seen->name == COMM || seen->start_ns < from || seen->start_ns >= to)
            continue;
        t->names.at[seen->name].n++;
        t->names.at[seen->name].ns += (uint64_t) seen->end_ns -
                                      (uint64_t) seen->start_ns;
    }
}

/* The time since 1970 of a time of the file; 0 if that is before it. */
static uint64_t real_ns(int64_t base_ns, int64_t ns)
{
    int64_t sum;

    return __builtin_add_overflow(base_ns, ns, &sum) || sum < 0
               ? 0
               : (uint64_t) sum;
}

/* The longest of the names, as an array of its own. others may be NULL. NULL:
 * no memory. */
static struct traced_name *make_names(struct sums *sums, size_t *n,
                                      struct traced_name *others)
{
    size_t most = sums->n < TRACED_NAMES ? sums->n : TRACED_NAMES;
    struct traced_name *names = calloc(most + 1, sizeof(*names));

    if (!names)
        return NULL;
    if (sums->n)
        qsort(sums->at, sums->n, sizeof(*sums->at), by_time);
    for (*n = 0; *n < most && sums->at[*n].n; ++*n)
        names[*n] = sums->at[*n];
    for (size_t i = *n; others && i < sums->n; i++) {
        others->n += sums->at[i].n;
        others->ns += sums->at[i].ns;
    }
    return names;
}

/* Makes the steps and the names of *out. 0, or -1: no memory. */
static int make_lists(struct tracing *t, int64_t base_ns, struct traced *out)
{
    out->steps = calloc(t->n_steps + 1, sizeof(*out->steps));
    out->names = make_names(&t->names, &out->n_names, &out->others);
    out->calls = make_names(&t->calls, &out->n_calls, NULL);
    if (!out->steps || !out->names || !out->calls)
        return -1;
    /* how often the calls were written is not known */
    if (out->doubled)
        out->n_calls = 0;
    if (t->n_steps)
        qsort(t->steps, t->n_steps, sizeof(*t->steps), by_step);
    for (size_t i = 0; i < t->n_steps; i++) {
        const struct step *step = &t->steps[i];

        if (i && step->number == step[-1].number && !by_step(step - 1, step))
            continue;

        out->steps[out->n_steps++] =
            (struct traced_step){step->number, real_ns(base_ns, step->start_ns),
                                 sum_time(t, step->start_ns, step->end_ns)};
    }
    return 0;
}

int tracing_end(struct tracing *t, int64_t base_ns, struct traced *out)
{
    uint64_t copies = t->n ? sort_once(t) : 0;
    struct traced made = {.pid = -1,
                          .rank = -1,
                          .kernels = t->kernels,
                          .comm_kernels = t->comm_kernels,
                          .doubled = copies,
                          .left = t->left,
                          .several = t->several,
                          .left_steps = t->left_steps};
    int64_t number, from = 0, to = 0;

    made.has_times = t->n && !t->left && !t->several;
    if (!made.has_times) {
        *out = made;
        return 0;
    }
    made.first_ns = real_ns(base_ns, t->seen[0].start_ns);
    if (!tracing_first_step(t, &number, &from, &to)) {
        from = t->seen[0].start_ns;
        to = t->seen[0].end_ns;
        for (size_t i = 1; i < t->n; i++)
            to = larger(to, t->seen[i].end_ns);
    }
    made.all = sum_time(t, from, to);
    sum_names(t, from, to);
    if (make_lists(t, base_ns, &made) < 0) {
        traced_fini(&made);
        return -1;
    }
    *out = made;
    return 0;
}

/* --- results ------------------------------------------------------------- */

void traced_fini(struct traced *traced)
{
    free(traced->steps);
    free(traced->names);
    free(traced->calls);
    *traced = (struct traced){.pid = -1};
}

int traced_list_add(struct traced_list *list, struct traced *traced)
{
    if (VECTOR_DOUBLE(list->at, list->n) < 0)
        return -1;
    list->at[list->n++] = *traced;
    *traced = (struct traced){.pid = -1};
    return 0;
}

void traced_list_fini(struct traced_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        traced_fini(&list->at[i]);
    free(list->at);
    *list = (struct traced_list){0};
}
