/* kineto_reader.c - a trace of PyTorch's profiler becomes records.
 *
 * Events come in any order, so the file is read to its end first: kernels of
 * communication (take_kernel), launches, annotations and steps are kept. Then
 * each such kernel gets the launch and the annotation that it belongs to
 * (place_launches), its phase (phasespans.h), its group (place_groups) and its
 * number (number_all), and what has all of these is passed on. All kernels go
 * to a struct tracing as well. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/bandwidth.h"
#include "common/fileio.h"
#include "common/fnv.h"
#include "common/keyed.h"
#include "common/logsource.h"
#include "common/num.h"
#include "common/quote.h"
#include "common/vector.h"
#include "plugins/backend.h"
#include "plugins/kineto/kineto.h"
#include "plugins/phasespans.h"

/* A kernel of NCCL or RCCL. */
struct coll {
    int64_t start_ns, end_ns, launch_ns; /* launch_ns: UNKNOWN */
    int64_t correlation;                 /* UNKNOWN: none */
    int64_t seq;                         /* UNKNOWN: none */
    const char *func;                    /* constant; NULL: unknown */
    uint64_t elements;                   /* of its own input; 0: unknown */
    uint64_t out_elements;
    uint64_t bytes; /* as NCCL counts a message; 0: unknown */
    uint64_t sn;
    uint32_t group;      /* index into groups, or NO_GROUP */
    uint32_t type_bytes; /* of an element; 0: unknown */
    int32_t stream, device;
    uint8_t phase; /* phasespans_find */
    bool uneven;   /* the parts for the ranks differ in size */
    bool joined;
};
#define UNKNOWN INT64_MIN
#define NO_GROUP UINT32_MAX

struct launch {
    int64_t correlation, ns;
    uint64_t thread; /* hash */
};

/* An annotation "nccl:all_reduce". */
struct call {
    uint64_t thread;
    int64_t start_ns, end_ns;
    const char *func;
    uint64_t elements;
    uint32_t type_bytes;
};

struct group {
    uint64_t key; /* hash of its name, ranks and size */
    uint64_t id;  /* the same, and the first step */
    char name[RECORD_MAX_NAME + 1];
    uint32_t n_ranks, place; /* place: of this rank */
    bool placed;             /* place is known */
    uint32_t at;             /* its index, from 0 in order of appearance */
};

/* What reading one file has found. */
struct reading {
    struct kineto_lex lex;
    struct tracing *tracing;
    struct coll *colls;
    size_t n_colls, colls_room;
    struct launch *launches;
    size_t n_launches, launches_room;
    struct call *calls;
    size_t n_calls, calls_room;
    struct keyed groups;
    struct phasespans phases;
    bool main_has_steps;
    uint64_t left_colls, left_launches, left_calls, left_groups;
    int64_t pid;
    uint64_t rank; /* of the job */
    bool has_rank, rank_by_name;
    uint32_t world; /* 0: unknown */
    char host[RECORD_MAX_HOST + 1];
    /* collectives that were not joined, by reason */
    uint64_t unnamed, groupless, outside, assumed, sizeless;
    uint64_t doubled; /* copies of kernels of communication, dropped */
    int64_t first_step;
    bool has_steps;
    bool one_clock; /* times of this rank may be compared with others' */
};

/* Adds a text and its end to a hash. */
static uint64_t add_text(uint64_t hash, const char *text, size_t len)
{
    return fnv_byte(fnv_bytes(hash, text, len), 0xff);
}

static uint64_t hash_thread(const struct kineto_event *e)
{
    return add_text(add_text(FNV_START, e->pid.at, e->pid.len), e->tid.at,
                    e->tid.len);
}

/* --- events --------------------------------------------------------------- */

/* Start and end of an event. False: it has none. */
static bool times_of(const struct kineto_event *e, int64_t *start_ns,
                     int64_t *end_ns)
{
    int64_t length = 0;

    if (!kineto_ns(e->ts, start_ns) || !kineto_ns(e->dur, &length) ||
        length < 0)
        return false;
    *end_ns = *start_ns + length;
    return true;
}

static int64_t number_of(struct kineto_text text)
{
    int64_t number;

    return kineto_number(text, &number) ? number : UNKNOWN;
}

/* A number in the bounds of a record, or 0. */
static uint64_t size_of(struct kineto_text text)
{
    int64_t number = number_of(text);

    return number > 0 && (uint64_t) number <= RECORD_MAX_BYTES
               ? (uint64_t) number
               : 0;
}

/* Copies a text for the report: printable ASCII. */
static size_t copy_text(char *into, size_t size, struct kineto_text text)
{
    size_t n = text.len < size - 1 ? text.len : size - 1;

    for (size_t i = 0; i < n; i++)
        into[i] = text.at[i] >= 0x20 && text.at[i] < 0x7f ? text.at[i] : '?';
    into[n] = '\0';
    return n;
}

/* The group that a kernel names; NO_GROUP: it names none, or there are too
 * many. -1 in *rc: no memory. */
static uint32_t find_group(struct reading *r, const struct kineto_event *e,
                           int *rc)
{
    uint64_t key = FNV_START;
    struct group *group;
    uint32_t listed = 0;
    int64_t size = number_of(e->group_size);

    if (!e->group_name.len && !e->group_ranks.len)
        return NO_GROUP;
    key = add_text(key, e->group_name.at, e->group_name.len);
    key = add_text(key, e->group_ranks.at, e->group_ranks.len);
    key = add_text(key, e->group_size.at, e->group_size.len);
    group = keyed_find(&r->groups, key);
    if (group)
        return group->at;
    if (r->groups.n == KINETO_GROUPS) {
        r->left_groups++;
        return NO_GROUP;
    }
    group = keyed_add(&r->groups, key);
    if (!group) {
        *rc = -1;
        return NO_GROUP;
    }
    group->at = (uint32_t) r->groups.n - 1;
    group->n_ranks = size > 0 && size <= RECORD_MAX_RANKS ? (uint32_t) size : 0;
    group->placed = r->has_rank &&
                    kineto_place(e->group_ranks, r->rank, group->n_ranks,
                                 &group->place, &listed);
    /* a list of other ranks than its size says is not to be trusted */
    if (group->placed && group->n_ranks && listed != group->n_ranks)
        group->placed = false;
    else if (group->placed && !group->n_ranks)
        group->n_ranks = listed;
    copy_text(group->name, sizeof(group->name),
              e->group_desc.len &&
                      memcmp(e->group_desc.at, "undefined",
                             e->group_desc.len < 9 ? e->group_desc.len : 9) != 0
                  ? e->group_desc
                  : e->group_name);
    return group->at;
}

/* Keeps a kernel of communication. 0, or -1: no memory. */
static int keep_coll(struct reading *r, const struct kineto_event *e,
                     int64_t start_ns, int64_t end_ns)
{
    const char *func = kineto_func(e->coll);
    int64_t stream = number_of(e->stream), device = number_of(e->device);
    int rc = 0;

    if (r->n_colls == KINETO_COLLS) {
        r->left_colls++;
        return 0;
    }
    if (VECTOR_ROOM(r->colls, r->n_colls + 1, r->colls_room) < 0)
        return -1;
    if (!func && !e->coll.len)
        func = tracing_func(e->name.at, e->name.len);
    /* no collective, unless an annotation says more */
    if (func && !strcmp(func, "SendRecv"))
        func = NULL;
    r->colls[r->n_colls++] = (struct coll){
        .start_ns = start_ns,
        .end_ns = end_ns,
        .launch_ns = UNKNOWN,
        .correlation = number_of(e->correlation),
        .seq = number_of(e->seq),
        .func = func,
        .elements = size_of(e->in_nelems),
        .out_elements = size_of(e->out_nelems),
        .type_bytes = kineto_type_bytes(e->dtype),
        /* "[]": all parts are equal */
        .uneven = e->split.len > 2 && memchr(e->split.at, ',', e->split.len),
        .group = find_group(r, e, &rc),
        .stream = stream >= 0 && stream <= INT32_MAX ? (int32_t) stream : -1,
        .device = device >= 0 && device <= INT32_MAX ? (int32_t) device : -1,
    };
    return rc;
}

static int take_kernel(struct reading *r, const struct kineto_event *e)
{
    struct tracing_kernel kernel = {
        .name = e->name.at, .len = e->name.len, .device = number_of(e->device)};

    if (!times_of(e, &kernel.start_ns, &kernel.end_ns))
        return 1;
    kernel.is_comm = tracing_is_comm(e->name.at, e->name.len);
    if (e->correlation.len)
        kernel.mark = (uint32_t) add_text(
            add_text(FNV_START, e->correlation.at, e->correlation.len),
            e->stream.at, e->stream.len);
    if (kernel.is_comm && keep_coll(r, e, kernel.start_ns, kernel.end_ns) < 0)
        return -1;
    return tracing_kernel(r->tracing, &kernel);
}

/* Keeps the launch of a kernel, whichever it is. */
static int take_runtime(struct reading *r, const struct kineto_event *e)
{
    int64_t start_ns, correlation = number_of(e->correlation);

    if (correlation == UNKNOWN || !memmem(e->name.at, e->name.len, "Launch", 6))
        return 0;
    if (!kineto_ns(e->ts, &start_ns))
        return 1;
    if (r->n_launches == KINETO_LAUNCHES) {
        r->left_launches++;
        return 0;
    }
    if (VECTOR_ROOM(r->launches, r->n_launches + 1, r->launches_room) < 0)
        return -1;
    r->launches[r->n_launches++] =
        (struct launch){correlation, start_ns, hash_thread(e)};
    return 0;
}

static bool begins(struct kineto_text text, const char *with)
{
    return text.len >= strlen(with) && !memcmp(text.at, with, strlen(with));
}

/* The first word of a list of types, [ "float", "int" ]. */
static struct kineto_text first_type(struct kineto_text types)
{
    const char *from = types.len ? memchr(types.at, '"', types.len) : NULL;
    const char *to =
        from ? memchr(from + 1, '"', types.len - (size_t) (from + 1 - types.at))
             : NULL;

    return to ? (struct kineto_text){from + 1, (size_t) (to - from - 1)}
              : (struct kineto_text){NULL, 0};
}

/* Takes what may name a phase. 0, or -1: no memory. */
static int take_phase(struct reading *r, const struct kineto_event *e,
                      int64_t start_ns, int64_t end_ns)
{
    struct phasespans_range range = {.thread = hash_thread(e),
                                     .start_ns = start_ns,
                                     .end_ns = end_ns,
                                     .name = e->name.at,
                                     .len = e->name.len,
                                     .is_annotation = e->cat ==
                                                      KINETO_ANNOTATION};

    /* the first annotation's thread, unless steps show another one */
    if (range.is_annotation && !r->phases.has_main)
        phasespans_main(&r->phases, range.thread);
    return phasespans_add(&r->phases, &range);
}

/* Takes "ProfilerStep#3", "nccl:all_reduce", and what names a phase. */
static int take_annotation(struct reading *r, const struct kineto_event *e)
{
    static const char step[] = "ProfilerStep#", call[] = "nccl:";
    struct kineto_text rest;
    int64_t start_ns, end_ns, number;

    if (begins(e->name, step)) {
        rest = (struct kineto_text){e->name.at + strlen(step),
                                    e->name.len - strlen(step)};
        if (!kineto_number(rest, &number) || !times_of(e, &start_ns, &end_ns))
            return 1;
        if (!r->main_has_steps)
            phasespans_main(&r->phases, hash_thread(e));
        r->main_has_steps = true;
        return tracing_step(r->tracing, number, start_ns, end_ns);
    }
    if (!begins(e->name, call))
        return times_of(e, &start_ns, &end_ns)
                   ? take_phase(r, e, start_ns, end_ns)
                   : 1;
    if (!times_of(e, &start_ns, &end_ns))
        return 1;
    if (r->n_calls == KINETO_CALLS) {
        r->left_calls++;
        return 0;
    }
    if (VECTOR_ROOM(r->calls, r->n_calls + 1, r->calls_room) < 0)
        return -1;
    rest = (struct kineto_text){e->name.at + strlen(call),
                                e->name.len - strlen(call)};
    /* "all_reduce, op_id = 3" */
    if (rest.len && memchr(rest.at, ',', rest.len))
        rest.len =
            (size_t) ((const char *) memchr(rest.at, ',', rest.len) - rest.at);
    r->calls[r->n_calls] = (struct call){
        .thread = hash_thread(e),
        .start_ns = start_ns,
        .end_ns = end_ns,
        .func = kineto_func(rest),
        .type_bytes = kineto_type_bytes(first_type(e->types)),
    };
    if (!kineto_elements(e->dims, &r->calls[r->n_calls].elements))
        r->calls[r->n_calls].elements = 0;
    r->n_calls++;
    return 0;
}

/* Adds a call on the host. A step is no call, and what waits for communication
 * on the host is told by the kernels. */
static int take_call(struct reading *r, const struct kineto_event *e)
{
    int64_t ns;

    if (begins(e->name, "ProfilerStep#") || begins(e->name, "nccl:") ||
        !kineto_ns(e->dur, &ns) || ns < 0)
        return 0;
    return tracing_call(r->tracing, e->name.at, e->name.len, (uint64_t) ns);
}

/* Takes an event. 0; 1: it is bad; -1: no memory. */
static int take_event(struct reading *r, const struct kineto_event *e)
{
    int64_t pid;
    int rc = 0;

    if (r->pid < 0 && (e->cat == KINETO_RUNTIME || e->cat == KINETO_CPU) &&
        kineto_number(e->pid, &pid) && pid > 0 && pid <= INT32_MAX)
        r->pid = pid;
    switch (e->cat) {
    case KINETO_KERNEL:
        return take_kernel(r, e);
    case KINETO_RUNTIME:
        rc = take_runtime(r, e);
        break;
    case KINETO_ANNOTATION:
    case KINETO_CPU:
        rc = take_annotation(r, e);
        break;
    case KINETO_OTHER:
        return 0;
    }
    return rc == 0 ? take_call(r, e) : rc;
}

/* --- whose file it is ----------------------------------------------------- */

/* Takes the host from "<host>_<pid>.<time>.pt.trace.json", the name that
 * tensorboard_trace_handler gives. */
static void name_host(struct reading *r, const char *name)
{
    const char *tail = strstr(name, ".pt.trace.json"), *p = tail;
    size_t digits = 0;

    if (!tail)
        return;
    /* the time, then the process */
    for (int part = 0; part < 2; part++) {
        for (digits = 0; p > name && p[-1] >= '0' && p[-1] <= '9'; digits++)
            p--;
        if (!digits || p == name || p[-1] != (part ? '_' : '.'))
            return;
        p--;
    }
    if (record_is_word(name, (size_t) (p - name), RECORD_MAX_HOST)) {
        memcpy(r->host, name, (size_t) (p - name));
        r->host[p - name] = '\0';
    }
}

/* Takes the rank from a name like "trace_rank3.json", "rank-3", "rank_3". */
static void name_rank(struct reading *r, const char *name)
{
    for (const char *p = name; *p; p++) {
        uint64_t rank = 0;
        size_t n = 0;
        const char *d = p + 4;

        if (strncasecmp(p, "rank", 4) != 0)
            continue;
        d += *d == '-' || *d == '_' || *d == '=' || *d == '.';
        for (; d[n] >= '0' && d[n] <= '9' && n < 8; n++)
            rank = rank * 10 + (uint64_t) (d[n] - '0');
        if (!n || rank >= RECORD_MAX_RANKS)
            continue;
        r->has_rank = r->rank_by_name = true;
        r->rank = rank;
    }
}

/* Before the events: what the name says counts where the file says nothing. Its
 * members may come after the events, so this is done again at the end. */
static void find_owner(struct reading *r, const char *path)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const struct kineto_head *head = &r->lex.head;

    r->has_rank = head->has_rank && head->rank < RECORD_MAX_RANKS;
    r->rank = r->has_rank ? head->rank : 0;
    r->rank_by_name = false;
    if (!head->has_rank)
        name_rank(r, name);
    r->world = head->has_world && head->world <= RECORD_MAX_RANKS &&
                       (!r->has_rank || r->rank < head->world)
                   ? (uint32_t) head->world
                   : 0;
    r->host[0] = '\0';
    if (head->host[0])
        memcpy(r->host, head->host, sizeof(r->host));
    else
        name_host(r, name);
}

/* --- launches and annotations --------------------------------------------- */

static int by_correlation(const void *a, const void *b)
{
    const struct launch *x = a, *y = b;

    return (x->correlation > y->correlation) -
           (x->correlation < y->correlation);
}

static int by_thread(const void *a, const void *b)
{
    const struct call *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* The annotation of a thread around a time. NULL: none. */
static const struct call *find_call(const struct reading *r, uint64_t thread,
                                    int64_t ns)
{
    size_t low = 0, high = r->n_calls;

    /* the number of calls that start up to then */
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct call *c = &r->calls[mid];

        if (c->thread < thread || (c->thread == thread && c->start_ns <= ns))
            low = mid + 1;
        else
            high = mid;
    }
    if (!low || r->calls[low - 1].thread != thread ||
        r->calls[low - 1].end_ns < ns)
        return NULL;
    return &r->calls[low - 1];
}

/* Gives each kernel its launch, and what the annotation around that says. */
static void place_launches(struct reading *r)
{
    if (r->n_launches)
        qsort(r->launches, r->n_launches, sizeof(*r->launches), by_correlation);
    if (r->n_calls)
        qsort(r->calls, r->n_calls, sizeof(*r->calls), by_thread);
    phasespans_end(&r->phases);
    for (size_t i = 0; i < r->n_colls && r->n_launches; i++) {
        struct coll *coll = &r->colls[i];
        const struct launch key = {coll->correlation, 0, 0}, *launch;
        const struct call *call;

        if (coll->correlation == UNKNOWN)
            continue;
        launch = bsearch(&key, r->launches, r->n_launches, sizeof(key),
                         by_correlation);
        if (!launch)
            continue;
        coll->launch_ns = launch->ns;
        coll->phase = phasespans_find(&r->phases, launch->thread, launch->ns);
        call = find_call(r, launch->thread, launch->ns);
        if (!call)
            continue;
        if (!coll->func)
            coll->func = call->func;
        /* a size is of the same operation only */
        if (!coll->elements && coll->func && call->func &&
            !strcmp(coll->func, call->func)) {
            coll->elements = call->elements;
            coll->type_bytes = call->type_bytes;
        }
    }
}

/* --- groups --------------------------------------------------------------- */

/* How many streams the collectives have that name no group; at most
 * KINETO_STREAMS + 1. */
static unsigned count_streams(const struct reading *r)
{
    int32_t streams[KINETO_STREAMS];
    unsigned n = 0;

    for (size_t i = 0; i < r->n_colls && n < KINETO_STREAMS; i++) {
        unsigned k = 0;

        if (r->colls[i].group != NO_GROUP)
            continue;
        while (k < n && streams[k] != r->colls[i].stream)
            k++;
        if (k == n)
            streams[n++] = r->colls[i].stream;
    }
    return n;
}

/* The group in order of appearance. */
static struct group *group_at(struct reading *r, uint32_t at)
{
    struct group *groups = r->groups.items;

    for (size_t i = 0; i < r->groups.n; i++)
        if (groups[i].at == at)
            return &groups[i];
    return NULL;
}

/* Makes the ids of the groups: the same for all ranks, another one for another
 * first step. */
static void name_groups(struct reading *r)
{
    struct group *groups = r->groups.items;

    for (size_t i = 0; i < r->groups.n; i++) {
        char step[32] = "";

        if (r->has_steps)
            snprintf(step, sizeof(step), "%" PRId64, r->first_step);
        groups[i].id = add_text(groups[i].key, step, strlen(step));
        /* the ranks are in another order than the list, or it is abbreviated:
         * all ranks are in the order of the job */
        if (!groups[i].placed && r->has_rank && r->world &&
            groups[i].n_ranks == r->world) {
            groups[i].place = (uint32_t) r->rank;
            groups[i].placed = true;
        }
        if (groups[i].placed && groups[i].n_ranks &&
            groups[i].place >= groups[i].n_ranks)
            groups[i].placed = false;
    }
}

/* Gives collectives that name no group the one of all ranks, where that can
 * only be wrong in a job with a single kind of other groups. 0, or -1. */
static int place_groups(struct reading *r)
{
    unsigned streams = count_streams(r);
    struct group *all;

    if (streams && (streams == 1 || r->world == 2) && r->has_rank &&
        r->world > 1) {
        /* no text has this hash */
        all = keyed_add(&r->groups, FNV_START);
        if (!all)
            return -1;
        all->at = (uint32_t) r->groups.n - 1;
        all->n_ranks = r->world;
        all->place = (uint32_t) r->rank;
        all->placed = true;
        snprintf(all->name, sizeof(all->name), "all ranks (assumed)");
        for (size_t i = 0; i < r->n_colls; i++)
            if (r->colls[i].group == NO_GROUP) {
                r->colls[i].group = all->at;
                r->assumed++;
            }
    }
    name_groups(r);
    return 0;
}

/* --- numbers -------------------------------------------------------------- */

static int by_launch(const void *a, const void *b)
{
    const struct coll *x = a, *y = b;
    int64_t m = x->launch_ns != UNKNOWN && y->launch_ns != UNKNOWN
                    ? x->launch_ns
                    : x->start_ns,
            n = x->launch_ns != UNKNOWN && y->launch_ns != UNKNOWN
                    ? y->launch_ns
                    : y->start_ns;

    if (x->joined != y->joined)
        return x->joined ? -1 : 1;
    if (!x->joined)
        return 0;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->func != y->func) {
        int order = strcmp(x->func, y->func);

        if (order)
            return order;
    }
    if (x->seq != y->seq && x->seq != UNKNOWN && y->seq != UNKNOWN)
        return x->seq < y->seq ? -1 : 1;
    if (m != n)
        return m < n ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int by_start(const void *a, const void *b)
{
    const struct coll *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

/* Whether two are the same kernel. */
static bool is_copy(const struct coll *x, const struct coll *y)
{
    return x->start_ns == y->start_ns && x->end_ns == y->end_ns &&
           x->correlation == y->correlation && x->correlation != UNKNOWN &&
           x->stream == y->stream && x->device == y->device;
}

/* Keeps one of kernels that the file has several times. Those of one time are
 * few: two streams, and their copies. */
static void drop_copies(struct reading *r)
{
    size_t kept = 0;

    if (r->n_colls)
        qsort(r->colls, r->n_colls, sizeof(*r->colls), by_start);
    for (size_t i = 0; i < r->n_colls; i++) {
        const struct coll *coll = &r->colls[i];
        bool copy = false;

        for (size_t k = kept;
             k > 0 && !copy && !by_start(&r->colls[k - 1], coll) &&
             kept - k < KINETO_STREAMS;
             k--)
            copy = is_copy(&r->colls[k - 1], coll);
        r->doubled += copy;
        if (!copy)
            r->colls[kept++] = *coll;
    }
    r->n_colls = kept;
}

/* The bytes of a message as NCCL counts them: of AllGather and AlltoAll what a
 * rank gives each other one, of ReduceScatter what a rank gets. */
static uint64_t message_bytes(const struct coll *coll, uint32_t n_ranks)
{
    uint64_t elements = coll->elements, bytes;

    if (!strcmp(coll->func, "ReduceScatter"))
        elements = coll->out_elements                   ? coll->out_elements
                   : n_ranks && elements % n_ranks == 0 ? elements / n_ranks
                                                        : 0;
    else if (!strcmp(coll->func, "AlltoAll"))
        elements = !coll->uneven && n_ranks && elements % n_ranks == 0
                       ? elements / n_ranks
                       : 0;
    bytes = num_mul(elements, coll->type_bytes);
    return bytes <= RECORD_MAX_BYTES ? bytes : 0;
}

/* Decides which collectives are joined, and counts why others are not. */
static void choose(struct reading *r, int64_t from_ns, int64_t to_ns)
{
    for (size_t i = 0; i < r->n_colls; i++) {
        struct coll *coll = &r->colls[i];
        const struct group *group =
            coll->group == NO_GROUP ? NULL : group_at(r, coll->group);

        if (!coll->func || !strcmp(coll->func, "Send") ||
            !strcmp(coll->func, "Recv"))
            r->unnamed++;
        else if (!group || !group->placed)
            r->groupless++;
        else if (r->has_steps && r->n_launches && !r->left_launches &&
                 (coll->launch_ns == UNKNOWN || coll->launch_ns < from_ns ||
                  coll->launch_ns > to_ns))
            r->outside++;
        else
            coll->joined = true;
        if (!coll->joined)
            continue;
        coll->bytes = message_bytes(coll, group->n_ranks);
        r->sizeless += !coll->bytes;
    }
}

/* Numbers the collectives of each group and function from 0 on, then puts all
 * in order of time. */
static void number_all(struct reading *r)
{
    if (r->n_colls)
        qsort(r->colls, r->n_colls, sizeof(*r->colls), by_launch);
    for (size_t i = 1; i < r->n_colls && r->colls[i].joined; i++) {
        struct coll *coll = &r->colls[i];
        const struct coll *before = coll - 1;

        if (coll->group == before->group && !strcmp(coll->func, before->func))
            coll->sn = before->sn + 1;
    }
    if (r->n_colls)
        qsort(r->colls, r->n_colls, sizeof(*r->colls), by_start);
}

/* --- what is passed on ---------------------------------------------------- */

/* Whether the times of two ranks can be compared: of a known host, or where the
 * machine has a GPU for each rank of the job and this rank uses its own. */
static void find_clock(struct reading *r)
{
    r->one_clock = r->host[0] ||
                   (r->world && r->has_rank &&
                    r->lex.head.devices >= r->world && r->n_colls &&
                    r->colls[0].device == (int32_t) r->rank);
}

static uint64_t wall_us(const struct reading *r, int64_t ns)
{
    int64_t sum;

    return __builtin_add_overflow(r->lex.head.base_ns, ns, &sum) || sum <= 0
               ? 0
               : (uint64_t) sum / 1000;
}

/* Makes the record of a collective. */
static void make_record(struct reading *r, const struct coll *coll,
                        const struct group *group, char id[RECORD_MAX_ID + 1],
                        struct record *out)
{
    uint64_t exec_us = (uint64_t) (coll->end_ns - coll->start_ns) / 1000;
    enum bandwidth_rule rule = bandwidth_find(coll->func);

    recfile_id(group->id, id);
    *out = (struct record){
        .id = {id, strlen(id)},
        .name = {group->name, strlen(group->name)},
        .host = {r->host, strlen(r->host)},
        .func = {coll->func, strlen(coll->func)},
        .pid = r->pid,
        .device = coll->device >= 0 ? (uint64_t) coll->device + 1 : 0,
        .sn = coll->sn,
        .has_sn = true,
        .gaps_lost = true,
        .bytes = coll->bytes,
        .exec_us = exec_us <= RECORD_MAX_TIME_US ? exec_us : 0,
        .rank = group->place,
        .n_ranks = group->n_ranks,
        .clock = RECORD_CLOCK_GPU};
    out->phase = phasespans_name(&r->phases, coll->phase);
    out->exec_unknown = !out->exec_us;
    out->busbw_nan = out->exec_unknown || !out->bytes || rule == BANDWIDTH_NONE;
    if (!out->busbw_nan)
        out->busbw_micro = bandwidth_micro(
            bandwidth_of(rule, group->n_ranks, out->bytes, out->exec_us)
                .bus_gbs);
    if (out->busbw_micro > RECORD_MAX_BUSBW_MICRO) {
        out->busbw_micro = 0;
        out->busbw_nan = true;
    }
    out->dump_us = wall_us(r, coll->end_ns);
    if (r->one_clock) {
        out->start_us = wall_us(r, coll->start_ns);
        out->end_us = wall_us(r, coll->end_ns);
    }
}

/* Passes all records on. 0, -1, or the sink's result. */
static int pass(struct reading *r, const struct reader_sink *sink,
                struct source_facts *facts)
{
    const struct group *group = NULL;
    char id[RECORD_MAX_ID + 1];
    struct record record;
    int rc = 0;

    for (size_t i = 0; i < r->n_colls && rc == 0; i++) {
        const struct coll *coll = &r->colls[i];

        if (!coll->joined)
            continue;
        if (!group || group->at != coll->group)
            group = group_at(r, coll->group);
        make_record(r, coll, group, id, &record);
        facts->records++;
        facts->untimed += record.exec_unknown;
        rc = sink->take(sink->arg, &record, 1);
    }
    return rc;
}

/* Appends a clause to the notes of the file, after "; ". */
static void add_note(FILE *out, bool *any, uint64_t n, const char *text)
{
    if (!n)
        return;
    fprintf(out, "%s%" PRIu64 " %s", *any ? "; " : "", n, text);
    *any = true;
}

/* The same without a number. */
static void say_that(FILE *out, bool *any, bool is, const char *text)
{
    if (!is)
        return;
    fprintf(out, "%s%s", *any ? "; " : "", text);
    *any = true;
}

/* Tells what the file does not say, and what was done without it. Without
 * memory there are no notes. */
static void make_notes(const struct reading *r, const struct reader_input *in,
                       const struct traced *traced, struct source_facts *facts)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    bool any = false;

    if (!out)
        return;
    if (in->only_facts)
        add_note(
            out, &any, r->n_colls + r->left_colls,
            "kernels of communication are not counted: the input has files of "
            "an NCCL profiler, which count");
    else if (!r->has_rank)
        add_note(out, &any, r->n_colls + r->left_colls,
                 "kernels of communication are not joined: the trace has no "
                 "distributedInfo, and its name no rank");
    else if (r->rank_by_name)
        add_note(
            out, &any, r->n_colls + r->left_colls,
            "kernels of communication are of the rank in the file's name: the "
            "trace has no distributedInfo");
    if (in->only_facts)
        goto rest;
    add_note(
        out, &any, r->assumed,
        "collectives name no process group and are taken to be of all ranks");
    add_note(
        out, &any, r->has_rank ? r->groupless : 0,
        "collectives are not joined: their process group, or this rank's place "
        "in it, is not in the trace");
    add_note(
        out, &any, r->unnamed,
        "kernels of communication are not joined: nothing says that they are "
        "collectives (SendRecv, or a kernel for several functions)");
    add_note(out, &any, r->outside,
             "collectives are not joined: they were not launched within a "
             "ProfilerStep of the trace");
    add_note(out, &any, r->sizeless,
             "collectives have no size in the trace (0 B stands for it)");
    say_that(out, &any, r->n_colls && !r->one_clock,
             "the trace names no host: its times are not compared with those "
             "of other ranks");
rest:
    say_that(out, &any, !traced->kernels && traced->pid < 0,
             "the trace has no event of a program");
    add_note(out, &any, traced->doubled,
             "kernels are copies of others in the trace, and do not count");
    add_note(out, &any, traced->left,
             "kernels are beyond the limit of a file: no times of the GPU");
    say_that(out, &any, traced->several,
             "the process used several GPUs: no times of the GPU");
    add_note(out, &any,
             r->left_colls + r->left_launches + r->left_calls + r->left_groups +
                 r->phases.left,
             "events are beyond the limits of a file and were not used");
    if (fclose(out) != 0 || !any) {
        free(text);
        return;
    }
    facts->notes = text;
}

/* Joins what the file has. 0, -1, or the sink's result. */
static int join_file(struct reading *r, const struct reader_input *in,
                     const struct reader_sink *sink, struct source_facts *facts)
{
    struct traced traced = {.pid = -1};
    int64_t from_ns = 0, to_ns = 0;
    int rc;

    r->has_steps =
        tracing_first_step(r->tracing, &r->first_step, &from_ns, &to_ns);
    drop_copies(r);
    place_launches(r);
    find_clock(r);
    if (place_groups(r) < 0)
        return -1;
    choose(r, from_ns, to_ns);
    number_all(r);
    rc = in->only_facts ? 0 : pass(r, sink, facts);
    if (rc != 0)
        return rc;
    if (tracing_end(r->tracing, r->lex.head.base_ns, &traced) < 0)
        return -1;
    memcpy(traced.host, r->host, sizeof(traced.host));
    traced.pid = r->pid;
    traced.rank = r->has_rank ? (int64_t) r->rank : -1;
    traced.source = "Kineto";
    if (r->lex.head.has_world && r->lex.head.world <= UINT32_MAX)
        traced.world = (uint32_t) r->lex.head.world;
    make_notes(r, in, &traced, facts);
    /* without a kernel, too: that is what is known of its process */
    rc = traced_list_add(&facts->traced, &traced);
    traced_fini(&traced);
    return rc;
}

/* --- the reader ----------------------------------------------------------- */

static ssize_t fill_buffer(void *arg, char *buf, size_t cap)
{
    return logsource_read(arg, buf, cap, NULL);
}

/* Reads all events. 0, or -1: no memory. */
static int read_events(struct reading *r, const struct reader_input *in,
                       struct source_facts *facts, enum kineto_token *token)
{
    struct kineto_event event;
    int rc = 0;

    while (rc >= 0 && !atomic_load_explicit(in->stop, memory_order_relaxed) &&
           (*token = kineto_next(&r->lex, &event)) < KINETO_END) {
        if (*token == KINETO_BROKEN) {
            reader_note_bad(facts, r->lex.events, r->lex.bad, r->lex.why);
            continue;
        }
        /* groups need the rank; it is mostly known before the first event */
        if (*token == KINETO_EVENT_X && r->lex.events <= 1)
            find_owner(r, in->path);
        rc = *token == KINETO_EVENT_X ? take_event(r, &event) : 0;
        if (rc > 0)
            reader_note_bad(facts, r->lex.events, JP_BAD_VALUE,
                            "event without a time");
    }
    return rc < 0 ? -1 : 0;
}

static void reading_fini(struct reading *r)
{
    kineto_lex_fini(&r->lex);
    tracing_destroy(r->tracing);
    keyed_fini(&r->groups);
    free(r->colls);
    free(r->launches);
    free(r->calls);
    phasespans_fini(&r->phases);
    free(r);
}

static bool probe(const char *name, const void *head, size_t len)
{
    (void) name;
    return kineto_begins(head, len);
}

static int read_file(void *state, const struct reader_input *in,
                     const struct reader_sink *sink, struct source_facts *facts)
{
    struct jp_error err = {""};
    struct jp_logsource *source =
        in->data ? logsource_open_memory(in->data, in->len, &err)
                 : logsource_open(in->path, &err);
    struct reading *r = source ? calloc(1, sizeof(*r)) : NULL;
    enum kineto_token token = KINETO_END;
    const char *damage;
    int rc = -1;

    (void) state;
    if (!source)
        return reader_refuse(facts, in->path, &err);
    if (!r) {
        logsource_close(source);
        return -1;
    }
    r->pid = -1;
    r->groups = (struct keyed) KEYED(struct group);
    r->tracing = tracing_create();
    facts->unit = "event";
    if (kineto_lex_init(&r->lex, fill_buffer, source) == 0 && r->tracing &&
        read_events(r, in, facts, &token) == 0) {
        find_owner(r, in->path);
        rc = join_file(r, in, sink, facts);
    }
    damage = logsource_damage(source);
    facts->bytes = r->lex.bytes;
    facts->lines = r->lex.events;
    facts->cut = r->lex.cut || damage || token == KINETO_FAILED;
    reader_note_damage(facts, damage ? damage
                              : token == KINETO_FAILED
                                  ? "cannot be read to its end"
                              : r->lex.cut ? r->lex.why
                                           : NULL);
    reading_fini(r);
    logsource_close(source);
    return rc;
}

static const struct backend_reader reader = {
    .probe = probe, .is_second = true, .read = read_file};

extern const struct backend backend_kineto;
const struct backend backend_kineto = {
    .abi = BACKEND_ABI,
    .about = {.name = "kineto",
              .title = "PyTorch's profiler",
              /* no option starts it: the program does */
              .option = OPTIONS},
    .reader = &reader,
};
