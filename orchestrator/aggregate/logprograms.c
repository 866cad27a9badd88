/* logprograms.c - programs that tasks ran one after the other, in logs.
 *
 * Recordings tell of which task a process is, and how it ended (generations.c).
 * Logs of NCCL Inspector have the host and the pid only, and as a rule when a
 * record was written, not when its operation began. Here processes are of one
 * program if they share a communicator, or if their times overlap. There are
 * several programs only if
 * - all operations of one began after all of those of the one before,
 * - each has processes on the same hosts, and on each host as many,
 * - each has at least as many processes as the step has tasks, and
 * - the times of all processes are known.
 * Logs do not show whether it is another program, the same one started anew, or
 * another run whose logs are in the same folder. Each has all ranks, so they
 * are numbered as attempts are.
 *
 * A record is written some time after its operation, with others. How long
 * after is not known, but no longer than the longest time between two writes of
 * the communicator with most operations. Programs that write seldom, or each
 * communicator once when it ends, are not told apart.
 */
#include "orchestrator/aggregate/result_build.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/ops.h"

/* The run is cut into so many parts; those with a write are marked. */
#define SLOTS 4096
/* With fewer writes the time between two of them is not known. */
#define WRITES_LEAST 3
/* More groups of processes are no programs one after the other. */
#define GROUPS_MAX 256

struct process {
    size_t rank;  /* the first of its ranks in the result */
    size_t group; /* another process of its group, or itself */
};

/* Processes that share communicators. */
struct group {
    size_t root; /* its process */
    uint64_t from_us, to_us;
    uint64_t dump_us; /* of its first write */
    bool stamped;     /* all of its operations have a start and an end */
    size_t most;      /* its communicator with most operations ... */
    uint64_t n_most;  /* ... and how many; 0: it has none */
    int64_t program;
    uint64_t slots[SLOTS / 64];
};

struct search {
    struct jp_result *r;
    struct process *processes; /* by host and pid */
    size_t n;
    size_t *of_rank;  /* process of each of the result's ranks */
    size_t *group_at; /* of each process that is a root */
    size_t *group_of; /* of each communicator; SIZE_MAX: it has no rank */
    struct group *list;
    size_t n_groups;
};

static int by_host_and_pid(const void *a, const void *b, void *arg)
{
    const struct jp_rank *ranks = arg;
    const struct jp_rank *x = &ranks[((const struct process *) a)->rank];
    const struct jp_rank *y = &ranks[((const struct process *) b)->rank];
    int order = strcmp(x->host ? x->host : "", y->host ? y->host : "");

    if (order || x->pid != y->pid)
        return order ? order : x->pid < y->pid ? -1 : 1;
    return x->instance < y->instance ? -1 : x->instance > y->instance;
}

static size_t root_of(const struct search *s, size_t i)
{
    while (s->processes[i].group != i)
        i = s->processes[i].group = s->processes[s->processes[i].group].group;
    return i;
}

/* Lists the processes, and joins those of each communicator. */
static void list_processes(struct search *s)
{
    struct jp_result *r = s->r;
    size_t n = 0, last = SIZE_MAX;

    for (size_t i = 0; i < r->n_ranks; i++)
        s->processes[i].rank = i;
    qsort_r(s->processes, r->n_ranks, sizeof(*s->processes), by_host_and_pid,
            r->ranks);
    for (size_t i = 0; i < r->n_ranks; i++) {
        struct process own = s->processes[i];

        if (!n || by_host_and_pid(&s->processes[n - 1], &own, r->ranks))
            s->processes[n++] = own;
        s->of_rank[own.rank] = n - 1;
    }
    s->n = n;
    for (size_t i = 0; i < n; i++)
        s->processes[i].group = i;
    for (size_t i = 0; i < r->n_ranks; i++) {
        size_t at = s->of_rank[i];

        if (i && r->ranks[i].comm == r->ranks[i - 1].comm)
            s->processes[root_of(s, at)].group = root_of(s, last);
        last = at;
    }
}

/* Lists the groups. False: there is one, or there are too many. */
static bool list_groups(struct search *s)
{
    for (size_t i = 0; i < s->n; i++)
        s->n_groups += root_of(s, i) == i;
    if (s->n_groups < 2 || s->n_groups > GROUPS_MAX)
        return false;
    s->list = calloc(s->n_groups, sizeof(*s->list));
    if (!s->list)
        return false;
    s->n_groups = 0;
    for (size_t i = 0; i < s->n; i++)
        if (root_of(s, i) == i) {
            s->group_at[i] = s->n_groups;
            s->list[s->n_groups++] =
                (struct group){.root = i, .stamped = true, .program = -1};
        }
    for (size_t i = 0; i < s->r->n_comms; i++)
        s->group_of[i] = SIZE_MAX;
    for (size_t i = 0; i < s->r->n_ranks; i++)
        s->group_of[s->r->ranks[i].comm] =
            s->group_at[root_of(s, s->of_rank[i])];
    return true;
}

static uint64_t longest_empty(const struct group *g, unsigned *marked)
{
    uint64_t longest = 0, last = UINT64_MAX;

    *marked = 0;
    for (uint64_t i = 0; i < SLOTS; i++) {
        if (!(g->slots[i / 64] >> i % 64 & 1))
            continue;
        if (last != UINT64_MAX && i - last > longest)
            longest = i - last;
        last = i;
        ++*marked;
    }
    return longest;
}

/* Sets when the groups ran. False: of one it is not known. */
static bool take_times(struct search *s)
{
    struct ops_reader reader = {.ops = s->r->ops};
    size_t comm = 0;
    uint64_t first = UINT64_MAX, last = 0, slot, n = 0;

    ops_want(&reader, OPS_COUNTS | OPS_DUMP_MIN | OPS_DUMP_MAX | OPS_STARTS);
    for (size_t i = 0; i < s->r->n_ops; i++) {
        const struct jp_op *op = ops_at(&reader, i);
        size_t at = s->group_of[op->comm];
        struct group *g = at == SIZE_MAX ? NULL : &s->list[at];

        first = op->dump_min_us < first ? op->dump_min_us : first;
        last = op->dump_max_us > last ? op->dump_max_us : last;
        /* sorted by communicator */
        n = i && comm == op->comm ? n + 1 : 1;
        comm = op->comm;
        if (g && n > g->n_most) {
            g->n_most = n;
            g->most = comm;
        }
    }
    slot = last > first ? (last - first) / SLOTS + 1 : 1;
    for (size_t i = 0; i < s->r->n_ops; i++) {
        const struct jp_op *op = ops_at(&reader, i);
        size_t at = s->group_of[op->comm];
        struct group *g = at == SIZE_MAX ? NULL : &s->list[at];
        bool stamped = op->n_start == op->n && op->n_exec == op->n &&
                       op->start_min_us && op->end_max_us;
        uint64_t to_us = stamped ? op->end_max_us : op->dump_max_us;

        if (!g)
            continue;
        if (!op->dump_min_us)
            return false;
        if (!g->dump_us || op->dump_min_us < g->dump_us)
            g->dump_us = op->dump_min_us;
        if (stamped && (!g->from_us || op->start_min_us < g->from_us))
            g->from_us = op->start_min_us;
        if (to_us > g->to_us)
            g->to_us = to_us;
        g->stamped &= stamped;
        for (int k = 0; op->comm == g->most && k < 2; k++) {
            uint64_t in = ((k ? op->dump_max_us : op->dump_min_us) - first) /
                          slot;

            g->slots[in / 64] |= UINT64_C(1) << in % 64;
        }
    }
    for (size_t i = 0; i < s->n_groups; i++) {
        struct group *g = &s->list[i];
        unsigned marked;
        uint64_t late_us = (longest_empty(g, &marked) + 1) * slot;

        if (!g->n_most || (!g->stamped && marked < WRITES_LEAST))
            return false;
        if (!g->stamped)
            g->from_us = g->dump_us > late_us ? g->dump_us - late_us : 1;
    }
    return true;
}

static int by_start(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    return (x->from_us > y->from_us) - (x->from_us < y->from_us);
}

/* Numbers the programs. Returns how many there are. */
static int64_t number_programs(struct search *s)
{
    int64_t program = 0;
    uint64_t end_us;

    qsort(s->list, s->n_groups, sizeof(*s->list), by_start);
    end_us = s->list[0].to_us;
    for (size_t i = 0; i < s->n_groups; i++) {
        s->group_at[s->list[i].root] = i;
        program += s->list[i].from_us > end_us;
        s->list[i].program = program;
        if (s->list[i].to_us > end_us)
            end_us = s->list[i].to_us;
    }
    return program + 1;
}

static int64_t program_of(const struct search *s, size_t process)
{
    return s->list[s->group_at[root_of(s, process)]].program;
}

/* Whether each program has as many processes on each host, and at least as many
 * as the step has tasks (0: unknown): with fewer, it may be of other tasks. */
static bool are_alike(const struct search *s, int64_t programs, uint32_t tasks)
{
    uint32_t *here = calloc((size_t) programs, sizeof(*here));
    bool alike = here && s->n / (size_t) programs >= tasks;

    for (size_t i = 0; alike && i < s->n; i++) {
        const char *host = s->r->ranks[s->processes[i].rank].host;
        const char *next =
            i + 1 < s->n ? s->r->ranks[s->processes[i + 1].rank].host : NULL;

        alike = host && *host;
        here[program_of(s, i)]++;
        if (!alike || (next && !strcmp(host, next)))
            continue;
        for (int64_t k = 1; k < programs; k++)
            alike &= here[k] == here[0];
        memset(here, 0, (size_t) programs * sizeof(*here));
    }
    free(here);
    return alike;
}

int logprograms_find(struct build *b)
{
    struct search s = {.r = b->result};
    int64_t n = 1;
    int rc = 0;

    for (size_t i = 0; i < b->walk->n_logs; i++)
        if (source_process(&b->files[i])->known || b->files[i].traced.n ||
            b->files[i].no_clock)
            return 0; /* recordings, and traces by clocks of their own */
    if (s.r->n_ranks < 2 || !s.r->n_ops)
        return 0;
    s.processes = calloc(s.r->n_ranks, sizeof(*s.processes));
    s.of_rank = calloc(s.r->n_ranks, sizeof(*s.of_rank));
    s.group_at = calloc(s.r->n_ranks, sizeof(*s.group_at));
    s.group_of = calloc(s.r->n_comms + 1, sizeof(*s.group_of));
    if (!s.processes || !s.of_rank || !s.group_at || !s.group_of) {
        rc = -1;
        goto out;
    }
    list_processes(&s);
    if (list_groups(&s) && take_times(&s))
        n = number_programs(&s);
    if (n > 1 && are_alike(&s, n, b->options->processes)) {
        s.r->quality.programs = (uint32_t) n;
        for (size_t i = 0; i < s.r->n_ranks; i++)
            s.r->ranks[i].restarts = program_of(&s, s.of_rank[i]);
    }
out:
    free(s.processes);
    free(s.of_rank);
    free(s.group_at);
    free(s.group_of);
    free(s.list);
    return rc;
}
