/* hangs.c - find what is in flight in all processes, which ranks block it, and
 * format this as a sentence.
 *
 * hangs_sum_add collects the evidence of files (hangs_file.c), hangs_sum_finish
 * sorts it and makes a group of the entries of one operation (group_ops).
 * fill_states finds the state of each rank of a group. hangs_answer_of formats
 * a group's sentence. Whether a group is a hang is judged in hung.c. */
#include "orchestrator/ingest/hangs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/figure.h"
#include "common/vector.h"
#include "orchestrator/identity/rankrule.h"
#include "orchestrator/ingest/logwalk.h"

/* ----------------- one operation of many ranks, and each rank's state */

/* Limit of states over all groups, because a file may claim any n_ranks. */
#define MAX_STATES (UINT64_C(16) << 20)

/* The largest number of messages that a rank of a pipeline has in flight: to
 * and from each of two neighbours. With two ranks none is in the middle, so
 * both have the same number. */
enum { NEIGHBOURS = 4, NO_MIDDLE = 2 };

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Entries that are equal here are one collective. */
static int by_group(const struct hangs_op *x, const struct hangs_op *y)
{
    int order = compare_numbers(x->hash, y->hash);

    if (!order)
        order = compare_numbers((uint64_t) x->n_ranks, (uint64_t) y->n_ranks);
    if (!order)
        order = compare_numbers(x->kind, y->kind);
    if (!order)
        order = strcmp(x->func, y->func);
    return order ? order : compare_numbers(x->seq, y->seq);
}

static int by_rank(const void *a, const void *b)
{
    const struct hangs_op *x = a, *y = b;
    int order = by_group(x, y);

    if (!order)
        order = compare_numbers((uint64_t) x->rank, (uint64_t) y->rank);
    return order ? order : compare_numbers(x->process, y->process);
}

/* Raises a rank's state. States are in the order of certainty, so a weaker one
 * changes nothing. */
static void set_state(struct hangs_group *group, int64_t rank, uint32_t process,
                      enum hangs_state state)
{
    /* ranks come from files */
    if (rank < 0 || rank >= group->n_ranks ||
        group->states[rank] >= (uint8_t) state)
        return;
    group->states[rank] = (uint8_t) state;
    group->processes[rank] = process;
}

/* Whether the process should have entered by the end of its data. */
static bool is_evident(const struct jp_hangs *hangs,
                       const struct hangs_group *group, uint32_t process)
{
    const struct hangs_process *p = &hangs->processes[process];
    const struct hangs_process *starter = &hangs->processes[group->starter];
    double apart = HANGS_SAME_HOST_NS +
                   CLOCKMAP_SURE * (p->unc_ns + starter->unc_ns);
    int64_t margin = strcmp(p->host, starter->host)
                         ? (int64_t) fmin(apart, HANGS_OTHER_HOST_NS)
                         : HANGS_SAME_HOST_NS;

    /* a lost block may hold the missing entry */
    if (p->damaged || !group->start_ns)
        return false;
    return p->final || p->counted_ns - margin >= group->start_ns;
}

/* The state of a rank that has not entered, by its process. */
static enum hangs_state absence(const struct jp_hangs *hangs,
                                const struct hangs_group *group,
                                uint32_t process)
{
    if (!is_evident(hangs, group, process))
        return HANGS_UNSURE;
    return hangs->processes[process].busy ? HANGS_HELD : HANGS_MISSING;
}

/* Fills in the state of every rank of the group's operation. */
static void fill_states(const struct jp_hangs *hangs, struct hangs_group *group,
                        const struct progress *progress)
{
    struct hangs_op *op = &hangs->ops[group->first];
    const struct progress_row *row;
    size_t n;

    row =
        progress_find(progress, op->hash, op->n_ranks, JPR_N_OP_KINDS, "", &n);
    for (size_t i = 0; i < n; i++)
        set_state(group, row[i].rank, row[i].process,
                  absence(hangs, group, row[i].process));
    row =
        progress_find(progress, op->hash, op->n_ranks, op->kind, op->func, &n);
    for (size_t i = 0; i < n; i++)
        if (row[i].ended > op->seq)
            set_state(group, row[i].rank, row[i].process, HANGS_DONE);
        else if (row[i].begun > op->seq)
            set_state(group, row[i].rank, row[i].process, HANGS_BEGUN);
    for (size_t i = 0; i < group->n_ops; i++)
        if (op[i].rank >= 0 && op[i].rank < group->n_ranks) {
            op[i].passed = group->states[op[i].rank] == HANGS_DONE &&
                           group->processes[op[i].rank] == op[i].process;
            /* a rank's own snapshot is more reliable than a counter */
            group->states[op[i].rank] = HANGS_NO_FILE;
            set_state(group, op[i].rank, op[i].process, HANGS_IN_FLIGHT);
        }
    for (uint32_t i = 0; i < group->n_ranks; i++)
        group->count[group->states[i]]++;
}

int64_t hangs_age_ns(const struct hangs_op *op)
{
    return op->start_ns && op->until_ns >= op->start_ns
               ? op->until_ns - op->start_ns
               : -1;
}

/* Computes the group's start and its age by the ranks that are in it. */
static void begin_group(const struct jp_hangs *hangs, struct hangs_group *group)
{
    const struct hangs_op *op = &hangs->ops[group->first];

    group->age_ns = -1;
    /* the earliest start, and the longest time of one rank */
    for (size_t i = 0; i < group->n_ops; i++) {
        if (op[i].start_ns &&
            (!group->start_ns || op[i].start_ns < group->start_ns)) {
            group->start_ns = op[i].start_ns;
            group->starter = op[i].process;
        }
        if (hangs_age_ns(&op[i]) > group->age_ns)
            group->age_ns = hangs_age_ns(&op[i]);
    }
}

/* The process of a rank of a group; NULL: unknown. */
static const struct hangs_process *process_of(const struct jp_hangs *hangs,
                                              const struct hangs_group *group,
                                              uint32_t rank)
{
    uint32_t process = rank < group->n_ranks ? group->processes[rank]
                                             : UINT32_MAX;

    return process < hangs->n_processes ? &hangs->processes[process] : NULL;
}

/* Extends the group's age: the counters of a missing rank prove that the others
 * still wait, even if their own files end early. A process that ended normally
 * proves nothing about later times. */
static void add_waiting(const struct jp_hangs *hangs, struct hangs_group *group)
{
    for (uint32_t i = 0; i < group->n_ranks; i++) {
        const struct hangs_process *p = process_of(hangs, group, i);

        if ((group->states[i] == HANGS_MISSING ||
             group->states[i] == HANGS_HELD) &&
            p && !p->final && p->counted_ns - group->start_ns > group->age_ns)
            group->age_ns = p->counted_ns - group->start_ns;
    }
}

static int by_process(const void *a, const void *b)
{
    const struct hangs_op *x = a, *y = b;
    int order = compare_numbers(x->process, y->process);

    if (!order)
        order = compare_numbers(x->hash, y->hash);
    if (!order)
        order = compare_numbers((uint64_t) x->n_ranks, (uint64_t) y->n_ranks);
    return order ? order : compare_numbers(x->kind, y->kind);
}

/* Marks the messages of a process that has as many in flight as an exchange of
 * the communicator may have (messages of zero bytes are not sent). A rank of a
 * pipeline has two neighbours and fewer messages. */
static void mark_many(struct jp_hangs *hangs)
{
    size_t end;

    qsort(hangs->ops, hangs->n_ops, sizeof(*hangs->ops), by_process);
    /* the messages of one process in one communicator follow each other */
    for (size_t i = 0; i < hangs->n_ops; i = end) {
        struct hangs_op *op = &hangs->ops[i];

        end = i + 1;
        while (end < hangs->n_ops && by_process(op, &hangs->ops[end]) == 0)
            end++;
        for (size_t k = i; k < end; k++)
            hangs->ops[k].many =
                op->kind == JPR_P2P && end - i >= (uint64_t) op->n_ranks &&
                (op->n_ranks <= NO_MIDDLE || end - i > NEIGHBOURS);
    }
}

/* Whether the ranks exchange messages: they have begun about the same number of
 * Sends and Recvs. */
static bool is_exchange(const struct progress *progress,
                        const struct hangs_op *op)
{
    const struct progress_row *row;
    uint64_t most = 0, few = 4 * (uint64_t) op->n_ranks;
    size_t n, n_most = 0;

    row = progress_find(progress, op->hash, op->n_ranks, JPR_P2P, "", &n);
    /* some ranks may have begun one exchange less, but no more */
    for (size_t i = 0; i < n; i++)
        if (row[i].begun > most)
            most = row[i].begun;
    for (size_t i = 0; i < n; i++) {
        if (row[i].begun + few < most)
            return false;
        n_most += row[i].begun == most;
    }
    /* at least half of the ranks are in the last exchange */
    return 2 * n_most >= (uint64_t) op->n_ranks;
}

/* Whether a group has a state for each rank: collectives, and exchanges of
 * which the ends are not recorded. */
static bool has_states(const struct hangs_op *op,
                       const struct progress *progress)
{
    return op->n_ranks >= 1 && op->n_ranks <= RECORD_MAX_RANKS &&
           (op->kind != JPR_P2P ||
            (op->unsure && op->many && is_exchange(progress, op)));
}

/* Fills a group. *n_states counts the states of all groups. 0, or -1: no
 * memory. */
static int make_group(const struct jp_hangs *hangs, struct hangs_group *group,
                      const struct progress *progress, uint64_t *n_states)
{
    const struct hangs_op *op = &hangs->ops[group->first];

    begin_group(hangs, group);
    if (!has_states(op, progress) ||
        *n_states + (uint64_t) op->n_ranks > MAX_STATES)
        return 0;
    *n_states += (uint64_t) op->n_ranks;
    group->states = calloc((size_t) op->n_ranks, sizeof(*group->states));
    group->processes = calloc((size_t) op->n_ranks, sizeof(*group->processes));
    if (!group->states || !group->processes)
        return -1;
    group->n_ranks = (uint32_t) op->n_ranks;
    /* UINT32_MAX: no process */
    memset(group->processes, 0xff, group->n_ranks * sizeof(uint32_t));
    fill_states(hangs, group, progress);
    add_waiting(hangs, group);
    return 0;
}

/* The order of groups in struct jp_hangs. */
static int worst_first(const void *a, const void *b)
{
    const struct hangs_group *x = a, *y = b;
    int order =
        compare_numbers(!x->count[HANGS_MISSING], !y->count[HANGS_MISSING]);

    if (!order)
        order = compare_numbers(!x->count[HANGS_HELD], !y->count[HANGS_HELD]);
    if (!order)
        order =
            compare_numbers(!x->count[HANGS_UNSURE], !y->count[HANGS_UNSURE]);
    if (!order) /* unknown comes last */
        order = compare_numbers((uint64_t) x->start_ns - 1,
                                (uint64_t) y->start_ns - 1);
    return order ? order : compare_numbers(x->first, y->first);
}

/* Sorts the operations and makes the groups. 0, or -1: no memory. */
static int group_ops(struct jp_hangs *hangs, const struct progress *progress)
{
    uint64_t n_states = 0;

    if (!hangs->n_ops)
        return 0;
    mark_many(hangs);
    qsort(hangs->ops, hangs->n_ops, sizeof(*hangs->ops), by_rank);
    hangs->groups = calloc(hangs->n_ops, sizeof(*hangs->groups));
    if (!hangs->groups)
        return -1;
    for (size_t i = 0; i < hangs->n_ops;) {
        struct hangs_group *group = &hangs->groups[hangs->n_groups++];
        const struct hangs_op *op = &hangs->ops[i];

        group->first = i++;
        /* each Send and Recv is a group of its own */
        while (i < hangs->n_ops && op->kind != JPR_P2P &&
               by_group(op, &hangs->ops[i]) == 0)
            i++;
        group->n_ops = i - group->first;
        if (make_group(hangs, group, progress, &n_states) < 0)
            return -1;
    }
    qsort(hangs->groups, hangs->n_groups, sizeof(*hangs->groups), worst_first);
    return 0;
}

/* ------------------------------------------ the evidence of all files */

/* Limit of operations in flight over all files, about 350 B each. */
#define MAX_OPS 65536

/* Limit of progress rows over all files, about 350 MB. */
#define MAX_ROWS (1u << 22)

/* Appends a process. 0, or -1: no memory. */
static int add_process(struct jp_hangs *hangs,
                       const struct hangs_process *process)
{
    if (VECTOR_DOUBLE(hangs->processes, hangs->n_processes) < 0)
        return -1;
    hangs->processes[hangs->n_processes++] = *process;
    return 0;
}

/* Appends an operation of the last process. Beyond the limit it is counted. 0,
 * or -1: no memory. */
static int add_op(struct jp_hangs *hangs, const struct hangs_op *op)
{

    if (hangs->n_ops == MAX_OPS) {
        hangs->left_out++;
        return 0;
    }
    if (VECTOR_DOUBLE(hangs->ops, hangs->n_ops) < 0)
        return -1;
    hangs->ops[hangs->n_ops] = *op;
    hangs->ops[hangs->n_ops++].process = (uint32_t) hangs->n_processes - 1;
    return 0;
}

bool hangs_has_gpus(const struct hangs_evidence *evidence)
{
    uint64_t first = 0;

    for (size_t i = 0; i < evidence->progress.n; i++) {
        uint64_t device = evidence->progress.rows[i].device;

        if (first && device && device != first)
            return true;
        first = first ? first : device;
    }
    return false;
}

/* Adds what the process did on one GPU, or on all of them (device NULL). What
 * is of no known GPU belongs to none. */
static int add_part(struct hangs_sum *sum,
                    const struct hangs_evidence *evidence,
                    const struct hangs_process *process,
                    const struct clockmap_node *clock, const uint64_t *device)
{
    struct jp_hangs *hangs = sum->hangs;
    const struct progress *from = &evidence->progress;
    struct hangs_process part = *process;

    if (device) {
        part.device = *device;
        part.has_peers = true;
        part.busy = false;
    }
    for (size_t i = 0; device && i < evidence->n_ops; i++)
        part.busy |= evidence->ops[i].device == *device &&
                     !evidence->ops[i].unsure;
    if (add_process(hangs, &part) < 0)
        return -1;
    for (size_t i = 0; i < evidence->n_ops; i++) {
        struct hangs_op op = evidence->ops[i];

        if (device && op.device != *device)
            continue;
        op.start_ns = (int64_t) clockmap_ns(clock, (uint64_t) op.start_ns);
        op.until_ns = (int64_t) clockmap_ns(clock, (uint64_t) op.until_ns);
        if (add_op(hangs, &op) < 0)
            return -1;
    }
    for (size_t i = 0; i < from->n && sum->progress.n < MAX_ROWS; i++) {
        struct progress_row row = from->rows[i];

        if (device && row.device != *device)
            continue;
        row.process = (uint32_t) hangs->n_processes - 1;
        if (progress_add(&sum->progress, &row) < 0)
            return -1;
    }
    return 0;
}

static int by_value(const void *a, const void *b)
{
    return compare_numbers(*(const uint64_t *) a, *(const uint64_t *) b);
}

/* No machine has more GPUs; each costs a walk over all rows of the file. */
#define GPUS_MAX 256

/* Adds a part for each GPU, in any order that is always the same. More than
 * GPUS_MAX are not believed: they are one part. */
static int add_parts(struct hangs_sum *sum,
                     const struct hangs_evidence *evidence,
                     const struct hangs_process *process,
                     const struct clockmap_node *clock)
{
    uint64_t *devices = calloc(evidence->progress.n + 1, sizeof(*devices));
    size_t n = 0;
    int rc = 0;

    if (!devices)
        return -1;
    for (size_t i = 0; i < evidence->progress.n; i++)
        devices[i] = evidence->progress.rows[i].device;
    qsort(devices, evidence->progress.n, sizeof(*devices), by_value);
    for (size_t i = 0; i < evidence->progress.n; i++)
        if (devices[i] && (!n || devices[i] != devices[n - 1]))
            devices[n++] = devices[i];
    if (n > GPUS_MAX)
        rc = add_part(sum, evidence, process, clock, NULL);
    for (size_t i = 0; rc == 0 && n <= GPUS_MAX && i < n; i++)
        rc = add_part(sum, evidence, process, clock, &devices[i]);
    free(devices);
    return rc;
}

int hangs_sum_add(struct hangs_sum *sum, const struct hangs_evidence *evidence)
{
    struct hangs_process process = evidence->process;
    const struct clockmap_node *clock =
        clockmap_find(sum->clocks, process.host, strlen(process.host));

    /* times of other hosts compare only as well as the clocks are known */
    process.unc_ns = clock ? clockmap_unc_ns(clock, process.counted_ns)
                           : INFINITY;
    process.counted_ns =
        (int64_t) clockmap_ns(clock, (uint64_t) process.counted_ns);
    process.last_ns = (int64_t) clockmap_ns(clock, (uint64_t) process.last_ns);
    sum->hangs->left_out += evidence->left_out;
    return hangs_has_gpus(evidence)
               ? add_parts(sum, evidence, &process, clock)
               : add_part(sum, evidence, &process, clock, NULL);
}

/* Whether two rows, sorted by progress_sort, are of one communicator. */
static bool is_same_comm(const struct progress_row *a,
                         const struct progress_row *b)
{
    return a->hash == b->hash && a->n_ranks == b->n_ranks;
}

static int by_member(const void *a, const void *b)
{
    const struct rankrule_member *x = a, *y = b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->process > y->process) - (x->process < y->process);
}

/* Fills the members of the communicator of rows[0 .. n), each rank once. */
static void fill_comm(const struct progress_row *rows, size_t n,
                      struct rankrule_member *members,
                      struct rankrule_comm *comm)
{
    size_t found = 0, kept = 0;

    for (size_t i = 0; i < n; i++)
        if (rows[i].rank >= 0 && rows[i].rank <= UINT32_MAX)
            members[found++] = (struct rankrule_member){
                rows[i].process, (uint32_t) rows[i].rank};
    if (found)
        qsort(members, found, sizeof(*members), by_member);
    for (size_t i = 0; i < found; i++)
        if (!kept || members[i].rank != members[kept - 1].rank)
            members[kept++] = members[i];
    *comm = (struct rankrule_comm){
        .n_ranks = rows->n_ranks > 0 && rows->n_ranks <= UINT32_MAX
                       ? (uint32_t) rows->n_ranks
                       : 0,
        .members = members,
        .n = kept};
}

/* Whether two rows, sorted by progress_sort, are of one series. */
static bool is_same_series(const struct progress_row *a,
                           const struct progress_row *b)
{
    return is_same_comm(a, b) && a->kind == b->kind &&
           !strcmp(a->func, b->func);
}

/* Marks processes with two ranks in one communicator, of which the GPUs are not
 * known. The rows are sorted. 0, or -1: no memory. */
static int mark_peers(struct jp_hangs *hangs, const struct progress *progress)
{
    /* 1 + the row of the process that came last; it may be another series' */
    size_t *last = calloc(hangs->n_processes + 1, sizeof(*last));

    for (size_t i = 0; last && i < progress->n; i++) {
        const struct progress_row *row = &progress->rows[i];
        size_t *before = &last[row->process];

        if (*before && is_same_series(row, &progress->rows[*before - 1]) &&
            progress->rows[*before - 1].rank != row->rank)
            hangs->processes[row->process].has_peers = true;
        *before = i + 1;
    }
    if (!last)
        return -1;
    free(last);
    return 0;
}

/* Decides which rank of the job each process is. 0, or -1: no memory. */
static int decide_ranks(struct jp_hangs *hangs, const struct progress *progress)
{
    struct rankrule_process *processes =
        calloc(hangs->n_processes + 1, sizeof(*processes));
    struct rankrule_member *members = calloc(progress->n + 1, sizeof(*members));
    struct rankrule_comm *comms = calloc(progress->n + 1, sizeof(*comms));
    struct rankrule rule = {.processes = processes,
                            .n_processes = hangs->n_processes,
                            .comms = comms};
    int rc = processes && members && comms ? 0 : -1;

    if (rc == 0)
        rc = mark_peers(hangs, progress);
    for (size_t i = 0; rc == 0 && i < hangs->n_processes; i++) {
        const struct hangs_process *p = &hangs->processes[i];

        /* all of its ranks have one number, which is none of a rank */
        processes[i].task = -1;
        if (p->has_peers)
            continue;
        processes[i] = (struct rankrule_process){
            .launched = &p->launched,
            .task = p->pid >= 0 && p->launched.task_pid == p->pid ? p->task
                                                                  : -1};
    }
    for (size_t i = 0, next; rc == 0 && i < progress->n; i = next) {
        for (next = i + 1;
             next < progress->n &&
             is_same_comm(&progress->rows[i], &progress->rows[next]);)
            next++;
        fill_comm(&progress->rows[i], next - i, &members[i],
                  &comms[rule.n_comms++]);
    }
    if (rc == 0)
        rc = rankrule_decide(&rule);
    for (size_t i = 0; rc == 0 && i < hangs->n_processes; i++)
        hangs->processes[i].rank = processes[i].rank;
    free(processes);
    free(members);
    free(comms);
    return rc;
}

int hangs_sum_finish(struct hangs_sum *sum)
{
    progress_sort(&sum->progress);
    return decide_ranks(sum->hangs, &sum->progress) < 0
               ? -1
               : group_ops(sum->hangs, &sum->progress);
}

void hangs_sum_fini(struct hangs_sum *sum)
{
    free(sum->progress.rows); /* a sum needs no slots */
    sum->progress = (struct progress){0};
}

void hangs_fini(struct jp_hangs *hangs)
{
    for (size_t i = 0; i < hangs->n_groups; i++) {
        free(hangs->groups[i].states);
        free(hangs->groups[i].processes);
    }
    free(hangs->groups);
    free(hangs->ops);
    free(hangs->processes);
    *hangs = (struct jp_hangs){0};
}

/* ----------------------------------- the sentence: which ranks are missing */

/* Number of ranges of ranks before "...". */
enum { RANGES = 8 };

/* Ranges of numbers as text, "3, 5-7, ...". */
struct ranges {
    char *buf;
    size_t size, len;
    unsigned n;
    int64_t from, to; /* the last range; from < 0: none yet */
};

static void put_range(struct ranges *r)
{
    if (r->from < 0 || r->n > RANGES || r->len >= r->size)
        return;
    /* "..." once, then stop */
    if (r->n == RANGES)
        snprintf(r->buf + r->len, r->size - r->len, ", ...");
    if (r->n++ == RANGES)
        return;
    r->len += (size_t) snprintf(r->buf + r->len, r->size - r->len,
                                r->from == r->to ? "%s%" PRId64
                                                 : "%s%" PRId64 "-%" PRId64,
                                r->n > 1 ? ", " : "", r->from, r->to);
}

static void add_number(struct ranges *r, int64_t number)
{
    if (r->from >= 0 && number == r->to + 1) {
        r->to = number;
        return;
    }
    put_range(r);
    r->from = r->to = number;
}

/* Formats the ranks of a state as "3, 5-7, ..." to buf. Returns buf. */
static char *format_ranks(const struct hangs_group *group,
                          enum hangs_state state, char *buf, size_t size)
{
    struct ranges r = {.buf = buf, .size = size, .from = -1};

    buf[0] = '\0';
    for (uint32_t i = 0; i < group->n_ranks; i++)
        if (group->states[i] == state)
            add_number(&r, i);
    put_range(&r);
    return buf;
}

int64_t hangs_job_rank(const struct jp_hangs *hangs, uint32_t process)
{
    return process < hangs->n_processes ? hangs->processes[process].rank : -1;
}

char *hangs_name(const struct jp_hangs *hangs, uint32_t process, int64_t rank,
                 char buf[HANGS_NAME_LEN])
{
    const struct hangs_process *p =
        process < hangs->n_processes ? &hangs->processes[process] : NULL;
    int64_t of_job = hangs_job_rank(hangs, process);
    int64_t shown = of_job >= 0 ? of_job : rank;
    char inner[64] = "";
    size_t len = 0;

    if (rank >= 0 && shown != rank)
        snprintf(inner, sizeof(inner), "rank %" PRId64 " of the communicator",
                 rank);
    if (shown >= 0)
        len = (size_t) snprintf(buf, HANGS_NAME_LEN, "rank %" PRId64, shown);
    if (p && shown >= 0)
        snprintf(buf + len, HANGS_NAME_LEN - len,
                 " (%.48s pid %" PRId64 "%s%s%s%s)", p->host, p->pid,
                 *p->gpu ? ", GPU " : "", p->gpu, *inner ? ", " : "", inner);
    else if (p)
        snprintf(buf, HANGS_NAME_LEN, "%.64s pid %" PRId64 "%s%s", p->host,
                 p->pid, *p->gpu ? ", GPU " : "", p->gpu);
    else if (shown < 0)
        snprintf(buf, HANGS_NAME_LEN, "a rank");
    return buf;
}

/* "2026-11-21 21:42:03.120" in UTC; "?": unknown. */
static char *format_time(int64_t ns, char *buf, size_t size)
{
    time_t seconds = (time_t) (ns / 1000000000);
    char when[32];
    struct tm tm;

    if (ns > 0 && gmtime_r(&seconds, &tm) &&
        strftime(when, sizeof(when), "%F %T", &tm))
        snprintf(buf, size, "%s.%03d", when, (int) (ns / 1000000 % 1000));
    else
        snprintf(buf, size, "?");
    return buf;
}

char *hangs_format_since(const struct hangs_group *group, char *buf,
                         size_t size)
{
    char when[48];

    format_time(group->start_ns, when, sizeof(when));
    /* whole seconds */
    when[strcspn(when, ".")] = '\0';
    if (!group->start_ns)
        snprintf(buf, size, "%s", "");
    else if (group->age_ns < 0)
        snprintf(buf, size, " since %s UTC", when);
    else
        snprintf(buf, size, " since %s UTC (at least %.3f s)", when,
                 (double) group->age_ns / 1e9);
    return buf;
}

char *hangs_format_op(const struct hangs_op *op, char *buf, size_t size)
{
    int n = snprintf(buf, size, "%s%s %" PRIu64 " of %s%s%s%s", op->func,
                     op->kind == JPR_CE ? RECORD_CE : "", op->seq, op->name,
                     op->name[0] ? " (" : "", op->id, op->name[0] ? ")" : "");

    /* a message has a peer */
    if (op->kind == JPR_P2P && n > 0 && (size_t) n < size)
        snprintf(buf + n, size - (size_t) n, " %s rank %" PRId64,
                 strcmp(op->func, "Send") ? "from" : "to", op->peer);
    return buf;
}

/* The operation in which the first of those ranks waits. */
static const struct hangs_op *find_elsewhere(const struct jp_hangs *hangs,
                                             const struct hangs_group *group,
                                             enum hangs_state state)
{
    uint32_t rank = 0;

    while (rank < group->n_ranks && group->states[rank] != state)
        rank++;
    if (!process_of(hangs, group, rank))
        return NULL;
    /* one of the operations of its process */
    for (size_t i = 0; i < hangs->n_ops; i++)
        if (hangs->ops[i].process == group->processes[rank])
            return &hangs->ops[i];
    return NULL;
}

/* Formats the numbers in the job of the ranks of a state. Returns false where
 * they are those of the communicator, or one of them is unknown. */
static bool format_job_ranks(const struct jp_hangs *hangs,
                             const struct hangs_group *group,
                             enum hangs_state state, char *buf, size_t size)
{
    struct ranges r = {.buf = buf, .size = size, .from = -1};
    bool differ = false;

    buf[0] = '\0';
    for (uint32_t i = 0; i < group->n_ranks && r.n <= RANGES; i++) {
        int64_t rank;

        if (group->states[i] != state)
            continue;
        rank = hangs_job_rank(hangs, group->processes[i]);
        if (rank < 0)
            return false;
        differ = differ || rank != i;
        add_number(&r, rank);
    }
    put_range(&r);
    return differ;
}

char *hangs_whom(const struct jp_hangs *hangs, const struct hangs_group *group,
                 enum hangs_state state, char *buf, size_t size)
{
    char ranks[160], of_job[160], name[HANGS_NAME_LEN];
    uint32_t first = 0;

    /* one rank is named with its process, several by their numbers */
    while (first < group->n_ranks && group->states[first] != state)
        first++;
    format_ranks(group, state, ranks, sizeof(ranks));
    if (group->count[state] == 1 && process_of(hangs, group, first))
        snprintf(buf, size, "%s",
                 hangs_name(hangs, group->processes[first], first, name));
    else if (format_job_ranks(hangs, group, state, of_job, sizeof(of_job)))
        snprintf(buf, size, "rank%s %s (%s of the communicator)",
                 plural(group->count[state]), of_job, ranks);
    else
        snprintf(buf, size, "rank%s %s", plural(group->count[state]), ranks);
    return buf;
}

/* " until finalize or exit ended it", if that holds for all of them. */
static const char *format_end(const struct jp_hangs *hangs,
                              const struct hangs_group *group)
{
    for (size_t i = 0; i < group->n_ops; i++)
        if (!hangs->ops[group->first + i].cut_short)
            return "";
    return ", until finalize or exit ended it";
}

/* Formats "; 3 of 4 ranks are in it since ..." to buf. */
static char *format_in_it(const struct jp_hangs *hangs,
                          const struct hangs_group *group, char *buf,
                          size_t size)
{
    const char *end = format_end(hangs, group);
    uint32_t n = group->count[HANGS_IN_FLIGHT];
    char since[96];

    /* each rank has its own messages */
    if (hangs->ops[group->first].kind == JPR_P2P)
        n += group->count[HANGS_BEGUN];
    snprintf(buf, size, "; %" PRIu32 " of %" PRIu32 " ranks %s in it%s%s", n,
             group->n_ranks, *end ? "were" : "are",
             hangs_format_since(group, since, sizeof(since)), end);
    return buf;
}

/* Formats what the ranks enter together. An exchange has no common operation,
 * because its messages differ by rank. */
static char *format_common(const struct hangs_op *op, char *buf, size_t size)
{
    struct hangs_op both = *op;

    if (op->kind == JPR_P2P) {
        both.kind = JPR_COLL;
        snprintf(both.func, sizeof(both.func), "Send and Recv");
    }
    return hangs_format_op(&both, buf, size);
}

/* Formats which ranks never entered: the idle ranks, otherwise those held up
 * elsewhere. */
static void answer_missing(const struct jp_hangs *hangs,
                           const struct hangs_group *group, char *buf,
                           size_t size)
{
    bool idle = group->count[HANGS_MISSING];
    enum hangs_state who = idle ? HANGS_MISSING : HANGS_HELD;
    const struct hangs_op *other;
    char whom[512], what[256], in_it[224];
    int len =
        snprintf(buf, size, "%s never entered %s%s",
                 hangs_whom(hangs, group, who, whom, sizeof(whom)),
                 format_common(&hangs->ops[group->first], what, sizeof(what)),
                 format_in_it(hangs, group, in_it, sizeof(in_it)));

    /* where a rank is that is held up */
    other = group->count[HANGS_HELD] ? find_elsewhere(hangs, group, HANGS_HELD)
                                     : NULL;
    if (other && len > 0 && (size_t) len < size)
        snprintf(buf + len, size - (size_t) len, "; %s%s in flight: %s",
                 idle ? hangs_whom(hangs, group, HANGS_HELD, whom, sizeof(whom))
                      : "there",
                 idle ? " neither; there" : " is",
                 hangs_format_op(other, what, sizeof(what)));
}

/* The time of the latest counters among the processes of unsure ranks. */
static int64_t last_counted(const struct jp_hangs *hangs,
                            const struct hangs_group *group)
{
    int64_t last = 0;

    for (uint32_t i = 0; i < group->n_ranks; i++) {
        const struct hangs_process *p = process_of(hangs, group, i);

        if (group->states[i] == HANGS_UNSURE && p && p->counted_ns > last)
            last = p->counted_ns;
    }
    return last;
}

/* Whether the recording of an unsure rank is damaged. */
static bool has_damage(const struct jp_hangs *hangs,
                       const struct hangs_group *group)
{
    for (uint32_t i = 0; i < group->n_ranks; i++) {
        const struct hangs_process *p = process_of(hangs, group, i);

        if (group->states[i] == HANGS_UNSURE && p && p->damaged)
            return true;
    }
    return false;
}

/* Formats that files end too early to show which rank is missing. */
static void answer_unsure(const struct jp_hangs *hangs,
                          const struct hangs_group *group, char *buf,
                          size_t size)
{
    bool one = group->count[HANGS_UNSURE] == 1;
    char whom[512], what[256], in_it[224], until[48], start[48];

    format_time(last_counted(hangs, group), until, sizeof(until));
    snprintf(buf, size,
             "it is unknown whether a rank is missing in %s: %s %s recorded%s "
             "until %s%s, the operation began %s UTC%s",
             hangs_format_op(&hangs->ops[group->first], what, sizeof(what)),
             hangs_whom(hangs, group, HANGS_UNSURE, whom, sizeof(whom)),
             one ? "is" : "are", has_damage(hangs, group) ? " with damage" : "",
             until, one ? "" : " at the latest",
             format_time(group->start_ns, start, sizeof(start)),
             format_in_it(hangs, group, in_it, sizeof(in_it)));
}

char *hangs_answer_of(const struct jp_hangs *hangs,
                      const struct hangs_group *group, char *buf, size_t size)
{
    const struct hangs_op *op = &hangs->ops[group->first];
    char what[256], since[96], ranks[160], name[HANGS_NAME_LEN];

    hangs_format_op(op, what, sizeof(what));
    hangs_format_since(group, since, sizeof(since));
    /* the strongest evidence first */
    if (group->count[HANGS_MISSING] || group->count[HANGS_HELD])
        answer_missing(hangs, group, buf, size);
    else if (group->count[HANGS_UNSURE])
        answer_unsure(hangs, group, buf, size);
    else if (group->count[HANGS_NO_FILE])
        snprintf(buf, size,
                 "no recording of rank%s %s; all others have entered %s, the "
                 "oldest in flight%s%s",
                 plural(group->count[HANGS_NO_FILE]),
                 format_ranks(group, HANGS_NO_FILE, ranks, sizeof(ranks)), what,
                 since, format_end(hangs, group));
    else if (group->n_ranks)
        snprintf(buf, size,
                 "no rank is missing: all %" PRIu32 " have entered %s, the "
                 "oldest in flight%s%s, and %" PRIu32 " have ended it",
                 group->n_ranks, what, since, format_end(hangs, group),
                 group->count[HANGS_DONE]);
    else
        snprintf(buf, size, "the oldest in flight is %s by %s%s%s", what,
                 hangs_name(hangs, op->process, op->rank, name), since,
                 format_end(hangs, group));
    return buf;
}

char *hangs_answer(const struct jp_hangs *hangs, char *buf, size_t size)
{
    if (hangs->n_groups)
        return hangs_answer_of(hangs, hangs->groups, buf, size);
    snprintf(buf, size, "nothing was in flight in %zu recording%s",
             hangs->n_processes, plural(hangs->n_processes));
    return buf;
}

/* --- the operation of one task -------------------------------------------- */

/* Whether it is that process's recording. */
static bool is_of(const struct jp_recfile *file, int64_t pid, uint64_t instance)
{
    return file->pid == pid &&
           (!instance ||
            process_instance(file->pid_namespace, file->start) == instance);
}

/* The latest operation in flight of the open file, if it is the process's. */
static void last_op(struct jp_recwalk *walk, const struct jp_recfile *file,
                    int64_t pid, uint64_t instance, char *buf, size_t size)
{
    const struct hangs_op *last = NULL;
    struct hangs_file reading = {0};
    struct hangs_evidence evidence;
    struct jpr_record record;
    int rc = 0;

    while (rc == 0 && recwalk_record(walk, &record))
        rc = is_of(file, pid, instance)
                 ? hangs_file_add(&reading, file, &record)
                 : 1;
    if (rc == 0 && hangs_file_end(&reading, file, &evidence) == 0) {
        for (size_t i = 0; i < evidence.n_ops; i++)
            if (!last || evidence.ops[i].start_ns > last->start_ns)
                last = &evidence.ops[i];
        if (last)
            hangs_format_op(last, buf, size);
        hangs_evidence_fini(&evidence);
    }
    hangs_file_fini(&reading);
}

void hangs_process_op(const char *folder, int64_t pid, uint64_t instance,
                      char *buf, size_t size)
{
    const char *inputs[] = {folder};
    const struct jp_recfile *file;
    struct jp_recwalk walk;

    *buf = '\0';
    if (recwalk_init(&walk, inputs, 1, NULL) < 0)
        return;
    while (!*buf && (file = recwalk_open(&walk)))
        last_op(&walk, file, pid, instance, buf, size);
    recwalk_fini(&walk);
}
