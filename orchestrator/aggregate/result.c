/* result.c - the rows of a result: communicators, ranks, pairs of ranks and of
 * hosts.
 *
 * result_build closes the join's communicators and then makes the tables one
 * after the other. The join's numbers of communicators and functions are not
 * those of the result, which sorts them: comm_at and func_at map them. Cells
 * and windows are in result_cells.c, quality in result_quality.c, busy times in
 * busy.c. */
#include "orchestrator/aggregate/result_build.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/knob.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/comm_type.h"
#include "orchestrator/aggregate/intervals.h"
#include "orchestrator/aggregate/join.h"
#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/aggregate/clocks.h"
#include "orchestrator/aggregate/timeline.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Makes the sorted list of functions, and func_at. It has collectives only, as
 * Send and Recv have no series. */
static int make_funcs(struct build *b)
{
    struct jp_result *r = b->result;
    struct join *join = b->join;
    bool used[JOIN_MAX_FUNCS] = {false};

    /* closed communicators keep their series */
    for (uint32_t i = 0; i < join->n_comms; i++)
        for (uint32_t k = 0; k < join->comms[i]->n_series; k++)
            used[join->comms[i]->series[k]->func] = true;
    r->coll_names = calloc(join->n_funcs + 1, sizeof(*r->coll_names));
    b->func_at = calloc(join->n_funcs + 1, sizeof(*b->func_at));
    if (!r->coll_names || !b->func_at)
        return -1;
    for (uint32_t i = 0; i < join->n_funcs; i++)
        if (used[i] &&
            !(r->coll_names[r->n_coll_names++] = strdup(join->funcs[i])))
            return -1;
    if (r->n_coll_names)
        qsort(r->coll_names, r->n_coll_names, sizeof(char *), by_name);
    for (uint32_t i = 0; i < join->n_funcs; i++)
        for (uint32_t k = 0; k < r->n_coll_names; k++)
            if (!strcmp(join->funcs[i], r->coll_names[k]))
                b->func_at[i] = k;
    return 0;
}

/* A copy of a phase's name; "tag 2" becomes the tag's own name. */
static char *name_phase(const char *name, const char *tags)
{
    char buf[USERTAGS_NAME + 1];
    uint64_t tag;

    return strdup(!strncmp(name, "tag ", 4) &&
                          num_parse_u64(name + 4, 1, UINT64_MAX, &tag, NULL) ==
                              0
                      ? usertags_name(tags, tag, buf)
                      : name);
}

/* Makes the sorted list of phases, and what their numbers in the join become.
 */
static int take_phases(struct build *b)
{
    struct jp_result *r = b->result;
    const char *names[JP_PHASES];

    for (size_t i = 0; i < JP_PHASES; i++) {
        names[i] = atomic_load(&b->join->budget->phases[i]);
        if (!names[i])
            break;
        r->phases[i] = name_phase(names[i], b->options->tags);
        if (!r->phases[i])
            return -1;
        r->n_phases++;
        names[i] = r->phases[i];
    }
    if (r->n_phases)
        qsort(r->phases, r->n_phases, sizeof(char *), by_name);
    for (uint32_t i = 0; i < r->n_phases; i++)
        for (uint32_t k = 0; k < r->n_phases; k++)
            if (!strcmp(names[i], r->phases[k]))
                b->phase_at[i + 1] = k + 1;
    return 0;
}

/* A communicator while they are sorted. */
struct sortable {
    const struct join_comm *comm;
    uint32_t from; /* its number in the join */
    bool seen;     /* it has members */
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_type_and_id(const void *a, const void *b)
{
    const struct sortable *sx = a, *sy = b;
    const struct join_comm *x = sx->comm, *y = sy->comm;
    /* those without members come last, so that the result can leave them out */
    int order = compare_numbers(!sx->seen, !sy->seen);

    if (!order)
        order = compare_numbers(comm_type_of(x->n_ranks, x->nnodes),
                                comm_type_of(y->n_ranks, y->nnodes));
    if (!order)
        order = strcmp(x->id, y->id);
    if (!order)
        order = strcmp(x->name ? x->name : "", y->name ? y->name : "");
    if (!order)
        order = compare_numbers(x->n_ranks, y->n_ranks);
    if (!order)
        order = compare_numbers(x->nnodes, y->nnodes);
    /* the same id has its shape recorded in one place and guessed in another */
    return order ? order : compare_numbers(x->guessed, y->guessed);
}

/* Sorts the communicators and fills comm_at and comm_from. Those with counters
 * and without records come last, and the result does not include them. */
static int make_order(struct build *b)
{
    uint32_t n = b->join->n_comms;
    struct sortable *sorted = calloc(n + 1, sizeof(*sorted));

    b->comm_at = calloc(n + 1, sizeof(*b->comm_at));
    b->comm_from = calloc(n + 1, sizeof(*b->comm_from));
    if (!sorted || !b->comm_at || !b->comm_from) {
        free(sorted);
        return -1;
    }
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = (struct sortable){b->join->comms[i], i, false};
    for (uint32_t i = 0; i < b->join->n_members; i++)
        sorted[b->join->members[i]->comm].seen = true;
    qsort(sorted, n, sizeof(*sorted), by_type_and_id);
    for (uint32_t i = 0; i < n; i++) {
        b->comm_at[sorted[i].from] = i;
        b->comm_from[i] = sorted[i].from;
        b->result->n_comms += sorted[i].seen; /* only these */
    }
    free(sorted);
    return 0;
}

/* Counts members and collects their hosts, with repetitions for now. */
static int collect_hosts(struct build *b)
{
    struct join *join = b->join;

    for (uint32_t i = 0; i < join->n_members; i++)
        b->result->comms[b->comm_at[join->members[i]->comm]].ranks_seen++;
    for (uint32_t i = 0; i < join->n_members; i++) {
        const struct join_member *member = join->members[i];
        struct jp_comm *comm = &b->result->comms[b->comm_at[member->comm]];

        if (!comm->hosts)
            comm->hosts = calloc(comm->ranks_seen, sizeof(char *));
        if (!comm->hosts)
            return -1;
        /* "": its records name no host */
        if (!*member->host)
            continue;
        comm->hosts[comm->n_hosts] = strdup(member->host);
        if (!comm->hosts[comm->n_hosts])
            return -1;
        comm->n_hosts++;
    }
    return 0;
}

/* Sorts a communicator's hosts and keeps each once. */
static void unique_hosts(struct jp_comm *comm)
{
    size_t kept = 0;

    if (!comm->n_hosts)
        return;
    qsort(comm->hosts, comm->n_hosts, sizeof(char *), by_name);
    for (size_t i = 0; i < comm->n_hosts; i++) {
        if (kept && !strcmp(comm->hosts[kept - 1], comm->hosts[i]))
            free(comm->hosts[i]);
        else
            comm->hosts[kept++] = comm->hosts[i];
    }
    comm->n_hosts = kept;
}

/* Copies a communicator's figures. 0, or -1: no memory. */
static int fill_comm(struct jp_comm *comm, const struct join_comm *from)
{
    memcpy(comm->id, from->id, sizeof(comm->id));
    comm->name = strdup(from->name ? from->name : "");
    comm->n_ranks = from->n_ranks;
    comm->nnodes = from->nnodes;
    comm->guessed = from->guessed;
    comm->type = comm_type_of(from->n_ranks, from->nnodes);
    comm->records = from->records;
    comm->p2p_records = from->p2p_records;
    comm->counted = from->counted;
    comm->produced = from->counts.produced;
    comm->lost = from->counts.lost;
    comm->capped = from->counts.left_out;
    /* sums of the closed communicator */
    comm->ops = from->sums.ops;
    comm->ops_complete = from->sums.ops_complete;
    comm->bytes = from->sums.bytes;
    comm->sizeless = from->sums.sizeless;
    comm->time_us = from->sums.time_us;
    return comm->name ? 0 : -1;
}

/* --- how a communicator got its type --- */

static const char *const type_rules[JP_COMM_N_TYPES] = {
    "one rank", "all ranks in one NVLink domain",
    "every rank in an NVLink domain of its own",
    "several ranks share each of several NVLink domains"};

/* The sentence and the evidence for sizes that were guessed. */
static const char *judge_guess(const struct jp_comm *comm,
                               const char **evidence)
{
    *evidence = comm->n_hosts ? "hosts" : "ranks";
    if (!comm->n_hosts)
        return "the records have neither sizes nor hosts: one NVLink domain "
               "with all ranks is assumed";
    return "sizes are derived from ranks and hosts, as records of NCCL before "
           "2.27 and of the example plugin have none; NVLink may span hosts";
}

/* The sentence on whether the hosts of the records agree with nnodes, and the
 * word of evidence. NVIDIA's nnodes counts NVLink domains, which may span
 * hosts. */
static const char *judge_hosts(const struct jp_comm *comm,
                               const char **evidence)
{
    *evidence = "records";
    if (comm->guessed)
        return judge_guess(comm, evidence);
    if (comm->ranks_seen < comm->n_ranks)
        return "hosts are no evidence, because ranks are missing";
    if (!comm->n_hosts)
        return "the records have no host names";
    if (comm->n_hosts < comm->nnodes) {
        *evidence = "contradicted";
        return "fewer hosts than domains: host names are not distinct, or "
               "records of different jobs are mixed";
    }
    if (comm->n_hosts > comm->nnodes)
        return "more hosts than domains: NVLink spans hosts there (as in an "
               "NVL72 rack), which the records alone cannot confirm";
    *evidence = "records+hosts";
    return "as many hosts as domains";
}

/* Sets evidence and why of a communicator. 0, or -1: no memory. */
static int explain_type(struct jp_comm *comm)
{
    const char *verdict = judge_hosts(comm, &comm->evidence);

    /* rule, numbers, and what the hosts show */
    comm->why = text_format(
        "%s: %s (n_ranks %" PRIu32 ", nnodes %" PRIu32 "); %" PRIu32
        " of %" PRIu32 " ranks seen on %zu host%s, %s",
        comm_type_name(comm->type), type_rules[comm->type], comm->n_ranks,
        comm->nnodes, comm->ranks_seen, comm->n_ranks, comm->n_hosts,
        plural(comm->n_hosts), verdict);
    return comm->why ? 0 : -1;
}

/* Closes the join and makes the communicators, with hosts and types. 0, or -1:
 * no memory. */
static int make_comms(struct build *b)
{
    struct jp_result *r = b->result;

    if (join_close_all(b->join, b->threads) < 0 || make_funcs(b) < 0 ||
        take_phases(b) < 0 || make_order(b) < 0)
        return -1;
    r->comms = calloc(r->n_comms + 1, sizeof(*r->comms));
    if (!r->comms) {
        r->n_comms = 0;
        return -1;
    }
    for (size_t i = 0; i < r->n_comms; i++) {
        const struct join_comm *from = b->join->comms[b->comm_from[i]];

        if (fill_comm(&r->comms[i], from) < 0)
            return -1;
        b->expected = num_add(b->expected, from->sums.expected);
        b->unseen = num_add(b->unseen, from->sums.unseen);
        b->before = num_add(b->before, from->sums.before);
        b->overflow = num_add(b->overflow, from->sums.overflow);
        b->ragged |= from->sums.ragged;
    }
    /* the type's reason needs the hosts */
    if (collect_hosts(b) < 0)
        return -1;
    for (size_t i = 0; i < r->n_comms; i++) {
        unique_hosts(&r->comms[i]);
        if (explain_type(&r->comms[i]) < 0)
            return -1;
    }
    return 0;
}

/* --- ranks and their waits --- */

static int by_comm_and_rank(const void *a, const void *b)
{
    const struct jp_rank *x = a, *y = b;

    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Moves the rank's slices from the join to the result: to `row` and the one
 * after it. What it has none of is `none`, zeros. Returns the next free row. */
static float *take_slices(struct jp_rank *rank, struct join_member *member,
                          const float *none, float *row)
{
    rank->slice_us = rank->stalled_us = none;
    if (member->slices) {
        memcpy(row, member->slices, JP_SLICES * sizeof(*row));
        rank->slice_us = row;
        row += JP_SLICES;
    }
    if (member->slices && member->stalled_ops) {
        memcpy(row, member->slices + JP_SLICES, JP_SLICES * sizeof(*row));
        rank->stalled_us = row;
        row += JP_SLICES;
    }
    free(member->slices);
    member->slices = NULL;
    return row;
}

/* Moves the rank's times of messages from the join to the result. */
static void take_messages(struct jp_rank *rank, struct join_member *member)
{
    const struct join_messages *messages = &join_traffic_of(member)->messages;

    rank->n_message_us = join_messages_parts(messages);
    rank->part_messages = UINT64_C(1) << messages->shift;
    rank->last_message = member->p2p_last;
    rank->message_us = messages->us;
    if (member->traffic)
        member->traffic->messages.us = NULL; /* it is the rank's now */
}

/* Fills a rank's row, but for its slices. journal: times were kept. 0, or -1:
 * no memory. */
static int fill_rank(struct build *b, struct jp_rank *rank,
                     struct join_member *member, bool journal)
{
    const struct join_sums *sums = &b->join->comms[member->comm]->sums;

    double fast = join_rates_fast(&join_traffic_of(member)->rates);

    *rank = (struct jp_rank){.comm = b->comm_at[member->comm],
                             .rank = member->rank,
                             .host = strdup(member->host),
                             .pid = member->pid,
                             .instance = member->instance,
                             .device = member->device,
                             .restarts = -1,
                             .records = member->records,
                             .p2p_records = member->p2p_records,
                             .kernel_cpu = member->kernel_cpu,
                             .call_cpu = member->call_cpu,
                             .p2p_fast_gbs = fast,
                             .timed_ops = sums->timed_ops,
                             .last_ops = member->last_ops,
                             .exec_us = journal ? member->exec_us : 0,
                             .caused_us = member->caused_us,
                             .stalled_ops = member->stalled_ops};
    take_messages(rank, member);
    /* else there is no share */
    if (sums->timed_ops)
        rank->last_share = (double) rank->last_ops / (double) sums->timed_ops;
    /* all ranks have the same timed operations, so the sum of the shortest
     * times is what none of them waits for */
    if (rank->exec_us > sums->shortest_us)
        rank->wait_us = rank->exec_us - sums->shortest_us;
    return rank->host ? 0 : -1;
}

/* The number of a member's AlltoAlls up to the last complete one. 0: most are
 * not complete, so its messages do not form AlltoAlls. */
static size_t count_kernels(const struct blockmap *blocks, unsigned per)
{
    uint64_t last = 0, whole = 0;

    for (size_t i = 0; i < blockmap_slots(blocks); i++) {
        const struct join_kernel_block *b = (void *) blocks->slots[i];

        for (unsigned k = 0; b && k < JOIN_KERNEL_BLOCK; k++)
            if (b->n[k] == per) {
                uint64_t at = b->number * JOIN_KERNEL_BLOCK + k + 1;

                whole++;
                last = at > last ? at : last;
            }
    }
    /* at least half are complete */
    return last / 2 < whole ? (size_t) last : 0;
}

/* Fills us[n] with the times of complete AlltoAlls, others with JP_NO_KERNEL.
 */
static void fill_kernels(const struct blockmap *blocks, unsigned per,
                         uint32_t *us, size_t n)
{
    for (size_t i = 0; i < n; i++)
        us[i] = JP_NO_KERNEL;
    for (size_t i = 0; i < blockmap_slots(blocks); i++) {
        const struct join_kernel_block *b = (void *) blocks->slots[i];

        for (unsigned k = 0; b && k < JOIN_KERNEL_BLOCK; k++)
            if (b->n[k] == per && b->us[k] != JP_NO_KERNEL) /* complete */
                us[b->number * JOIN_KERNEL_BLOCK + k] = b->us[k];
    }
}

/* Adds the times of AlltoAlls to the ranks. Called before ranks are sorted, so
 * ranks are in the order of members. */
static int result_kernels(struct build *b)
{
    struct jp_result *r = b->result;
    size_t all = 0, at = 0;
    unsigned per;

    for (size_t i = 0; i < r->n_ranks; i++) {
        const struct blockmap *blocks =
            join_kernels_of(b->join, b->join->members[i], &per);

        /* count first, so that all ranks share one array */
        r->ranks[i].n_kernels = blocks ? count_kernels(blocks, per) : 0;
        all += r->ranks[i].n_kernels;
    }
    if (!all)
        return 0;
    r->kernels = calloc(all, sizeof(*r->kernels));
    for (size_t i = 0; r->kernels && i < r->n_ranks; i++) {
        struct jp_rank *rank = &r->ranks[i];
        const struct blockmap *blocks =
            join_kernels_of(b->join, b->join->members[i], &per);

        if (!rank->n_kernels)
            continue;
        fill_kernels(blocks, per, r->kernels + at, rank->n_kernels);
        rank->kernel_us = r->kernels + at;
        at += rank->n_kernels;
    }
    return r->kernels ? 0 : -1;
}

/* Makes the ranks, sorted by communicator and rank. 0, or -1: no memory. */
static int make_ranks(struct build *b)
{
    struct join *join = b->join;
    struct jp_result *r = b->result;
    bool journal = !atomic_load(&join->budget->journal_off);
    size_t rows = 1; /* the first one is of zeros */
    float *row;

    for (uint32_t i = 0; i < join->n_members; i++)
        if (join->members[i]->slices)
            rows += join->members[i]->stalled_ops ? 2 : 1;
    r->ranks = calloc(join->n_members + 1, sizeof(*r->ranks));
    r->slices = journal ? calloc(rows, JP_SLICES * sizeof(*r->slices)) : NULL;
    if (!r->ranks || (journal && !r->slices))
        return -1;
    row = r->slices ? r->slices + JP_SLICES : NULL;
    for (uint32_t i = 0; i < join->n_members; i++) {
        struct join_member *member = join->members[i];
        struct jp_rank *rank = &r->ranks[r->n_ranks++];

        r->quality.shared_ranks += member->shared;
        if (fill_rank(b, rank, member, journal) < 0)
            return -1;
        if (journal)
            row = take_slices(rank, member, r->slices, row);
    }
    if (result_kernels(b) < 0)
        return -1;
    if (r->n_ranks)
        qsort(r->ranks, r->n_ranks, sizeof(*r->ranks), by_comm_and_rank);
    r->quality.waits_unknown = !journal;
    return 0;
}

/* --- the closed communicators' operations, in their final order --- */

/* Takes over the packed operations and gives them the result's numbers. */
static int make_ops(struct build *b)
{
    struct jp_result *r = b->result;

    r->ops = b->join->ops;
    b->join->ops = NULL; /* now owned by the other one */
    ops_renumber(r->ops, b->comm_at, b->func_at);
    memcpy(r->ops->phase_at, b->phase_at, sizeof(r->ops->phase_at));
    r->n_ops = r->ops->n;
    return 0;
}

/* --- Send and Recv between pairs of ranks --- */

/* Recv comes before Send. */
static int by_pair(const void *a, const void *b)
{
    const struct jp_p2p *x = a, *y = b;
    int order = compare_numbers(x->comm, y->comm);

    if (!order)
        order = compare_numbers(x->src, y->src);
    if (!order)
        order = compare_numbers(x->dst, y->dst);
    return order ? order : strcmp(x->func, y->func);
}

/* Counts the gaps in the ranks' numbers of Send and Recv. No other rank has
 * such a record, so a gap is lost or filtered. If the two sides of a pair
 * differ in number it is lost, because a filter on sizes treats both alike. */
static void expect_records(struct build *b)
{
    const struct jp_result *r = b->result;

    for (uint32_t i = 0; i < b->join->n_members; i++) {
        const struct join_member *m = b->join->members[i];

        /* numbers count from 1 */
        if (m->p2p_last > m->p2p_records)
            b->unseen = num_add(b->unseen, m->p2p_last - m->p2p_records);
    }
    for (size_t i = 0; i < r->n_p2p; i++) {
        const struct jp_p2p *one = &r->p2p[i], *other = one + 1;
        bool paired = i + 1 < r->n_p2p && one->comm == other->comm &&
                      one->src == other->src && one->dst == other->dst;

        b->ragged |= !paired || one->count != other->count;
        /* a pair's Recv and Send are neighbours */
        i += paired;
    }
}

/* Makes the pairs of ranks. 0, or -1: no memory. */
static int make_p2p(struct build *b)
{
    struct jp_result *r = b->result;

    double fast;

    r->p2p = calloc((size_t) b->join->n_p2p + 1, sizeof(*r->p2p));
    if (!r->p2p)
        return -1;
    for (uint32_t i = 0; i < b->join->n_p2p; i++) {
        const struct join_p2p *p = b->join->p2p[i];
        double mean = p->n_busbw ? (double) p->busbw_sum /
                                       ((double) p->n_busbw * 1e6) /* GB/s */
                                 : 0;

        fast = join_p2p_has_rates(b->join, p) ? join_rates_fast(&p->rates)
                                              : NAN;
        r->p2p[r->n_p2p++] = (struct jp_p2p){.comm = b->comm_at[p->comm],
                                             .src = p->src,
                                             .dst = p->dst,
                                             .func = p->recv ? "Recv" : "Send",
                                             .count = p->count,
                                             .bytes = p->bytes,
                                             .exec_us = p->exec_us,
                                             .busbw_mean = mean,
                                             .fast_gbs = fast};
    }
    if (r->n_p2p)
        qsort(r->p2p, r->n_p2p, sizeof(*r->p2p), by_pair);
    expect_records(b);
    return 0;
}

/* --- algorithms and protocols --- */

static int by_algo(const void *a, const void *b)
{
    const struct jp_algo *x = a, *y = b;
    int order;

    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    order = strcmp(x->func, y->func);
    if (order)
        return order;
    return x->algo != y->algo ? x->algo - y->algo : x->proto - y->proto;
}

static int make_algos(struct build *b)
{
    struct jp_result *r = b->result;
    const struct join *join = b->join;
    size_t n = 0;

    for (uint32_t i = 0; i < join->n_comms; i++)
        n += join->comms[i]->n_paths;
    r->algos = calloc(n + 1, sizeof(*r->algos));
    if (!r->algos)
        return -1;
    for (uint32_t i = 0; i < join->n_comms; i++)
        for (uint32_t k = 0; k < join->comms[i]->n_paths; k++) {
            const struct join_path *path = &join->comms[i]->paths[k];

            if (b->comm_at[i] >= r->n_comms) /* without a record */
                continue;
            r->algos[r->n_algos++] =
                (struct jp_algo){.comm = b->comm_at[i],
                                 .func = r->coll_names[b->func_at[path->func]],
                                 .algo = path->algo,
                                 .proto = path->proto,
                                 .records = path->records,
                                 .bytes_min = path->bytes_min,
                                 .bytes_max = path->bytes_max};
        }
    if (r->n_algos)
        qsort(r->algos, r->n_algos, sizeof(*r->algos), by_algo);
    return 0;
}

/* --- Send and Recv between hosts --- */

/* Work space of the pairs of hosts. */
struct nodes {
    const struct join *join;
    struct jp_result *r; /* gets the rows */
    struct keymap map;   /* (source, destination; Recv) -> row */
    uint64_t *busbw_sum; /* of a row, 1e-6 GB/s */
};

/* The sorted names that differ, copied to the result. */
static int keep_hosts(struct jp_result *r, const char **all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i && !strcmp(all[i], all[i - 1]))
            continue;
        r->hosts[r->n_hosts] = strdup(all[i]);
        if (!r->hosts[r->n_hosts])
            return -1;
        r->n_hosts++;
    }
    return 0;
}

/* Makes the sorted list of the hosts of all ranks, with "" for an unknown host.
 */
static int make_hosts(const struct join *join, struct jp_result *r)
{
    size_t n = (size_t) join->n_members + 1;
    const char **all = calloc(n, sizeof(*all));
    int rc = -1;

    r->hosts = calloc(n, sizeof(*r->hosts));
    if (all && r->hosts) {
        all[0] = "";
        for (uint32_t i = 0; i < join->n_members; i++)
            all[i + 1] = join->members[i]->host;
        qsort(all, n, sizeof(*all), by_name);
        rc = keep_hosts(r, all, n);
    }
    free(all);
    return rc;
}

/* The index of the host that the rank's own records name. */
static uint32_t host_of(const struct nodes *w, uint32_t comm, uint32_t rank)
{
    uint64_t key = (uint64_t) comm << 32 | rank;
    uint32_t at = keymap_find(&w->join->member_map, key, 0);
    /* a rank without records */
    const char *host = at == KEYMAP_NONE ? "" : w->join->members[at]->host;
    char **found = bsearch(&host, w->r->hosts, w->r->n_hosts,
                           sizeof(*w->r->hosts), by_name);

    return (uint32_t) (found - w->r->hosts);
}

/* The row of two hosts; KEYMAP_NONE: no memory. */
static uint32_t row_of(struct nodes *w, uint32_t src, uint32_t dst, bool recv)
{
    uint64_t key = (uint64_t) src << 32 | dst;
    uint32_t at = keymap_find(&w->map, key, recv);

    if (at != KEYMAP_NONE)
        return at;
    /* a new row, in the order of arrival; they are sorted at the end */
    at = (uint32_t) w->r->n_p2p_nodes;
    if (keymap_add(&w->map, key, recv, at) < 0)
        return KEYMAP_NONE;
    w->r->p2p_nodes[w->r->n_p2p_nodes++] =
        (struct jp_p2p_node){.src_host = w->r->hosts[src],
                             .dst_host = w->r->hosts[dst],
                             .func = recv ? "Recv" : "Send"};
    return at;
}

/* Adds a pair of ranks to the row of its hosts. 0, or -1: no memory. */
static int add_pair(struct nodes *w, const struct join_p2p *p)
{
    uint32_t at = row_of(w, host_of(w, p->comm, p->src),
                         host_of(w, p->comm, p->dst), p->recv);
    struct jp_p2p_node *row;

    if (at == KEYMAP_NONE)
        return -1;
    row = &w->r->p2p_nodes[at];
    row->pairs++;
    row->count = num_add(row->count, p->count);
    row->bytes = num_add(row->bytes, p->bytes);
    row->exec_us = num_add(row->exec_us, p->exec_us);
    row->n_busbw = num_add(row->n_busbw, p->n_busbw);
    w->busbw_sum[at] = num_add(w->busbw_sum[at], p->busbw_sum);
    return 0;
}

static int by_hosts(const void *a, const void *b)
{
    const struct jp_p2p_node *x = a, *y = b;
    int order = strcmp(x->src_host, y->src_host);

    if (!order)
        order = strcmp(x->dst_host, y->dst_host);
    return order ? order : strcmp(x->func, y->func);
}

static int make_p2p_nodes(struct build *b)
{
    struct jp_result *r = b->result;
    struct nodes w = {.join = b->join, .r = r};
    uint32_t n = b->join->n_p2p;
    int rc = -1;

    if (!n)
        return 0;
    /* there are no more pairs of hosts than pairs of ranks */
    r->p2p_nodes = calloc(n, sizeof(*r->p2p_nodes));
    w.busbw_sum = calloc(n, sizeof(*w.busbw_sum));
    if (!r->p2p_nodes || !w.busbw_sum || make_hosts(b->join, r) < 0)
        goto out;
    for (uint32_t i = 0; i < n; i++)
        if (add_pair(&w, b->join->p2p[i]) < 0)
            goto out;
    for (size_t i = 0; i < r->n_p2p_nodes; i++)
        if (r->p2p_nodes[i].n_busbw)
            r->p2p_nodes[i].busbw_mean =
                (double) w.busbw_sum[i] /
                ((double) r->p2p_nodes[i].n_busbw * 1e6);
    qsort(r->p2p_nodes, r->n_p2p_nodes, sizeof(*r->p2p_nodes), by_hosts);
    rc = 0;
out:
    keymap_fini(&w.map);
    free(w.busbw_sum);
    return rc;
}

/* --- all rows --- */

int result_build(struct build *b)
{
    /* busy times first, as it frees much; operations before cells, pairs and
     * attempts before quality */
    static int (*const steps[])(struct build *) = {
        busy_result,
        make_comms,
        make_ranks,
        make_ops,
        result_cells_and_windows,
        make_p2p,
        make_p2p_nodes,
        make_algos,
        generations_find,
        logprograms_find,
        result_quality,
    };

    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
        if (steps[i](b) < 0)
            return -1;
    return 0;
}

/* --- the end --- */

static void free_comm(struct jp_comm *comm)
{
    for (size_t i = 0; i < comm->n_hosts; i++)
        free(comm->hosts[i]);
    for (size_t i = 0; i < comm->n_warnings; i++)
        free(comm->warnings[i]);
    free(comm->warnings);
    free(comm->hosts);
    free(comm->name);
    free(comm->why);
}

const char *result_phase(const struct jp_result *result, uint32_t phase)
{
    if (phase == JP_PHASE_SEVERAL)
        return "several";
    return phase && phase <= result->n_phases ? result->phases[phase - 1] : "";
}

void result_drop_intervals(struct jp_result *r)
{
    for (size_t i = 0; i < r->n_timelines; i++) {
        intervals_destroy(r->timelines[i]->intervals);
        r->timelines[i]->intervals = NULL;
    }
    result_give_back();
}

void result_destroy(struct jp_result *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n_comms; i++)
        free_comm(&r->comms[i]);
    for (size_t i = 0; i < r->n_ranks; i++) {
        free(r->ranks[i].message_us);
        free(r->ranks[i].host);
    }
    for (size_t i = 0; i < r->n_coll_names; i++)
        free(r->coll_names[i]);
    for (size_t i = 0; i < r->n_phases; i++)
        free(r->phases[i]);
    for (size_t i = 0; i < r->quality.n_notes; i++) {
        free(r->quality.notes[i].path);
        free(r->quality.notes[i].what);
    }
    for (unsigned i = 0; i < JP_BAD_KINDS; i++)
        free(r->quality.bad[i].path);
    free(r->quality.notes);
    free(r->coll_names);
    free(r->comms);
    free(r->ranks);
    free(r->slices);
    free(r->kernels);
    free(r->cells);
    ops_destroy(r->ops);
    free(r->p2p);
    free(r->algos);
    for (size_t i = 0; i < r->n_hosts; i++)
        free(r->hosts[i]);
    free(r->hosts);
    free(r->p2p_nodes);
    free(r->windows);
    for (size_t i = 0; i < r->n_busy; i++)
        free(r->busy[i].host);
    free(r->busy);
    free(r->busy_slices);
    traced_list_fini(&r->traced);
    for (size_t i = 0; i < r->n_timelines; i++)
        timeline_destroy(r->timelines[i]);
    free(r->timelines);
    for (size_t i = 0; i < r->n_sequences; i++)
        timeline_destroy(r->sequences[i]);
    free(r->sequences);
    for (size_t i = 0; i < r->n_recorded; i++)
        free(r->recorded[i].host);
    free(r->recorded);
    clocks_destroy(r->clocks);
    for (size_t i = 0; i < r->hang.n_ops; i++) {
        free(r->hang.ops[i].states);
        free(r->hang.ops[i].ranks);
    }
    free(r);
}
