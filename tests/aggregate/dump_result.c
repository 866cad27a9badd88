/* dump_result.c - print an aggregation as CSV for the tests' comparisons.
 *
 * dump_result [-t THREADS] [-m BYTES] [-p BYTES] [-P PARTIALS] stat|join|all
 *     INPUT...
 * PARTIALS holds <node>/partial.jpp of the folders of the first input; on
 * stderr, how many were used and why others were not.
 * stat and join have the columns of shared/samples/inspector/golden; all prints
 * every figure of the result, so equal results give equal bytes.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orchestrator/aggregate/ops.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/timeline.h"

static void print_stat(const struct jp_result *r)
{
    printf("comm_type,coll,msg,n,mean,p50,p95,p99,mn,mx\n");
    for (size_t i = 0; i < r->n_cells; i++) {
        const struct jp_cell *c = &r->cells[i];
        const struct jp_dist *d = &c->busbw;

        printf("%s,%s,%" PRIu64 ",%" PRIu64
               ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n",
               comm_type_name(c->type), c->coll, c->bytes, c->ops, d->mean,
               d->p50, d->p95, d->p99, d->min, d->max);
    }
}

static void print_join(const struct jp_result *r)
{
    struct ops_reader reader = {.ops = r->ops};

    printf("comm_type,id,coll,coll_sn,msg,mean_bw,min_bw,max_bw,n,t0,t1\n");
    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(&reader, i);
        const struct jp_comm *c = &r->comms[op->comm];

        printf("%s,%s,%s,%" PRIu64 ",%" PRIu64 ",%.17g,%.17g,%.17g,%" PRIu32
               ",%" PRIu64 ",%" PRIu64 "\n",
               comm_type_name(c->type), c->id, r->coll_names[op->coll], op->sn,
               op->bytes,
               op->n_busbw
                   ? (double) op->busbw_sum_micro / ((double) op->n_busbw * 1e6)
                   : 0,
               (double) op->busbw_min_micro / 1e6,
               (double) op->busbw_max_micro / 1e6, op->n, op->dump_min_us,
               op->dump_max_us);
    }
}

static void print_dist(const char *name, const struct jp_dist *d)
{
    printf(" %s %" PRIu64 " %.12g %.12g %.12g %.12g %.12g %.12g", name, d->n,
           d->mean, d->min, d->p50, d->p95, d->p99, d->max);
}

static void print_comms(const struct jp_result *r)
{
    for (size_t i = 0; i < r->n_comms; i++) {
        const struct jp_comm *c = &r->comms[i];

        printf("comm %s \"%s\" %" PRIu32 "/%" PRIu32 " %s seen %" PRIu32
               " ops %" PRIu64 " complete %" PRIu64 " records %" PRIu64
               " p2p %" PRIu64 " bytes %" PRIu64 " time %" PRIu64 " %s: %s;",
               c->id, c->name, c->n_ranks, c->nnodes, comm_type_name(c->type),
               c->ranks_seen, c->ops, c->ops_complete, c->records,
               c->p2p_records, c->bytes, c->time_us, c->evidence, c->why);
        for (size_t k = 0; k < c->n_hosts; k++)
            printf(" %s", c->hosts[k]);
        putchar('\n');
    }
}

static void print_ranks(const struct jp_result *r)
{
    for (size_t i = 0; i < r->n_ranks; i++) {
        const struct jp_rank *k = &r->ranks[i];
        double stalled = 0;

        for (int s = 0; k->stalled_us && s < JP_SLICES; s++)
            stalled += isfinite(k->stalled_us[s]) ? (double) k->stalled_us[s]
                                                  : 0;
        printf("rank %zu.%" PRIu32 " %s %" PRId64 " records %" PRIu64
               " p2p %" PRIu64 " timed %" PRIu64 " last %" PRIu64
               " %.12g exec %" PRIu64 " wait %" PRIu64 " caused %" PRIu64
               " stalled %" PRIu64 " %.12g fast %.12g",
               k->comm, k->rank, k->host, k->pid, k->records, k->p2p_records,
               k->timed_ops, k->last_ops, k->last_share, k->exec_us, k->wait_us,
               k->caused_us, k->stalled_ops, stalled, k->p2p_fast_gbs);
        for (uint32_t n = 0; n < k->n_message_us; n++)
            printf(" m%" PRIu32, k->message_us[n]);
        if (k->n_message_us)
            printf(" of %" PRIu64 ", %" PRIu64, k->part_messages,
                   k->last_message);
        for (size_t n = 0; n < k->n_kernels; n++)
            if (k->kernel_us[n] == JP_NO_KERNEL)
                printf(" -");
            else
                printf(" k%" PRIu32, k->kernel_us[n]);
        putchar('\n');
    }
}

static void print_tables(const struct jp_result *r)
{
    for (size_t i = 0; i < r->n_cells; i++) {
        const struct jp_cell *c = &r->cells[i];

        printf("cell %s %s %" PRIu64 " ops %" PRIu64 " records %" PRIu64
               " weighted %.12g",
               comm_type_name(c->type), c->coll, c->bytes, c->ops, c->records,
               c->time_weighted_gbs);
        print_dist("busbw", &c->busbw);
        print_dist("exec", &c->exec);
        print_dist("net", &c->net_busbw);
        putchar('\n');
    }
    for (size_t i = 0; i < r->n_p2p; i++) {
        const struct jp_p2p *p = &r->p2p[i];

        printf("p2p %zu %" PRIu32 ">%" PRIu32 " %s %" PRIu64 " %" PRIu64
               " %" PRIu64 " %.12g %.12g\n",
               p->comm, p->src, p->dst, p->func, p->count, p->bytes, p->exec_us,
               p->busbw_mean, p->fast_gbs);
    }
    for (size_t i = 0; i < r->n_p2p_nodes; i++) {
        const struct jp_p2p_node *p = &r->p2p_nodes[i];

        printf("p2p hosts \"%s\">\"%s\" %s %" PRIu64 " %" PRIu64 " %" PRIu64
               " %" PRIu64 " %" PRIu64 " %.12g\n",
               p->src_host, p->dst_host, p->func, p->pairs, p->count, p->bytes,
               p->exec_us, p->n_busbw, p->busbw_mean);
    }
    for (size_t i = 0; i < r->n_windows; i++) {
        const struct jp_window *w = &r->windows[i];

        printf("window %" PRIu64 "-%" PRIu64 " %zu %s %" PRIu64 " %" PRIu64
               " %" PRIu64 " %.12g\n",
               w->t0_us, w->t1_us, w->comm, w->coll, w->ops, w->bytes,
               w->time_us, w->busbw_mean);
    }
}

static void print_ops(const struct jp_result *r)
{
    struct ops_reader reader = {.ops = r->ops};

    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *o = ops_at(&reader, i);

        printf("op %" PRIu32 " %s %" PRIu64 " %" PRIu64 " n %" PRIu32
               "/%" PRIu32 "/%" PRIu32 " first %" PRId64 " exec %" PRIu64
               " %" PRIu64 " %" PRIu64 " busbw %" PRIu64 " %" PRIu64 " %" PRIu64
               " dump %" PRIu64 " %" PRIu64 " second %" PRIu64 " start %" PRIu32
               " %" PRIu64 " %" PRIu64 " end %" PRIu64 "%s%s\n",
               o->comm, r->coll_names[o->coll], o->sn, o->bytes, o->n,
               o->n_busbw, o->n_exec,
               o->min_rank == UINT32_MAX ? -1 : (int64_t) o->min_rank,
               o->exec_min_us, o->exec_max_us, o->exec_sum_us,
               o->busbw_sum_micro, o->busbw_min_micro, o->busbw_max_micro,
               o->dump_min_us, o->dump_max_us, o->exec_second_us, o->n_start,
               o->start_min_us, o->start_max_us, o->end_max_us,
               o->phase ? " phase " : "", result_phase(r, o->phase));
    }
}

/* Figures that only the recorder's files have. */
static void print_recordings(const struct jp_result *r)
{
    const struct jp_quality *q = &r->quality;

    if (!q->recordings)
        return;
    printf("quality recordings %" PRIu64 " cut %" PRIu64 " unbounded %" PRIu64
           " since %" PRIu64 " damaged %" PRIu64 " capped %" PRIu64
           " in flight %" PRIu64 " lost steps %" PRIu64
           " unseen calls %" PRIu64,
           q->recordings, q->cut_recordings, q->unbounded_recordings,
           q->unbounded_since_us, q->damaged_blocks, q->capped, q->in_flight,
           q->lost_steps, q->unseen_calls);
    for (size_t i = 0; i < q->n_unseen; i++)
        printf(" %s %" PRIu64, q->unseen[i].func, q->unseen[i].calls);
    putchar('\n');
    for (size_t i = 0; i < r->n_comms; i++)
        if (r->comms[i].counted)
            printf("quality comm %zu produced %" PRIu64 " lost %" PRIu64
                   " capped %" PRIu64 "\n",
                   i, r->comms[i].produced, r->comms[i].lost,
                   r->comms[i].capped);
    printf("quality hang %" PRIu64 " age %" PRIu64 ": %s\n", r->hang.operations,
           r->hang.age_us, r->hang.text);
}

static void print_busy(const struct jp_result *r)
{
    const struct jp_overhead *o = &r->quality.overhead;

    if (r->n_busy)
        printf("busy slices %zu of %" PRIu64 " from %" PRIu64 "\n",
               r->n_busy_slices, r->busy_slice_us, r->busy_from_us);
    for (size_t i = 0; i < r->n_busy; i++) {
        const struct jp_busy *b = &r->busy[i];

        printf("busy %s %" PRId64 " %d timed %" PRIu64 " untimed %" PRIu64
               " %" PRIu64 "-%" PRIu64 " %" PRIu64 ":",
               b->host, b->pid, (int) b->state, b->timed, b->untimed,
               b->from_us, b->to_us, b->busy_us);
        for (size_t k = 0; k < r->n_busy_slices; k++)
            printf(" %" PRIu64, b->slice_us[k]);
        putchar('\n');
    }
    if (o->recordings)
        printf("overhead %" PRIu64 " events %" PRIu64
               " %.17g %.17g %.17g %.17g worst %.17g bytes %" PRIu64 "\n",
               o->recordings, o->events, o->callbacks_ns, o->life_ns,
               o->writer_ns, o->wall_ns, o->worst_share, o->bytes);
}

static void print_quality(const struct jp_result *r)
{
    const struct jp_quality *q = &r->quality;

    printf("quality files %" PRIu64 " cut %" PRIu64 " skipped %" PRIu64
           " bytes %" PRIu64 " records %" PRIu64 " = %" PRIu64 " + %" PRIu64
           " bad %" PRIu64 " duplicate %" PRIu64 " unknown %" PRIu64
           " nan %" PRIu64 " expected %d %" PRIu64 " unseen %" PRIu64
           " lost %" PRIu64 " ranks %" PRIu32 "/%" PRIu32 " left_out %" PRIu64
           " shared %" PRIu32 " waits %d\n",
           q->files, q->cut_files, q->skipped_files, q->bytes_read, q->records,
           q->coll_records, q->p2p_records, q->bad_lines, q->duplicate_records,
           q->unknown_lines, q->nan_busbw, (int) q->expected_kind, q->expected,
           q->unseen_records, q->lost, q->ranks_seen, q->ranks_expected,
           q->left_out_records, q->shared_ranks, !q->waits_unknown);
    if (q->notes_left_out)
        printf("notes left out %" PRIu64 "\n", q->notes_left_out);
    printf("untimed %" PRIu64 " partly %" PRIu64 " traces %" PRIu64
           " overflow %" PRIu64 " most",
           q->untimed_records, q->partly_timed, q->traces, q->overflow_records);
    for (unsigned i = 0; i < JP_TRACE_POOLS; i++)
        printf(" %" PRIu64, q->trace_most[i]);
    putchar('\n');
    for (size_t i = 0; i < q->n_notes; i++)
        printf("note %s: %s\n",
               strrchr(q->notes[i].path, '/')
                   ? strrchr(q->notes[i].path, '/') + 1
                   : q->notes[i].path,
               q->notes[i].what);
}

/* The strip: times by bin. */
static void print_strip(const struct strip *s)
{
    printf("strip shift %u first %" PRIu64 " bins %u left %" PRIu64 "\n",
           s->shift, s->first, s->n, s->left);
    for (unsigned k = 0; k < s->n_keys; k++) {
        const struct strip_key *key = &s->keys[k];
        uint64_t sum = 0;

        for (unsigned i = 0; i < s->n; i++)
            sum = (sum ^ key->us[i]) * UINT64_C(0x100000001B3);
        printf("strip %s %s %d %d sum %" PRIx64 "\n", key->id, key->func,
               (int) key->size, key->p2p, sum);
    }
}

/* A line for each process: host and pid, how much it did, and a sum over all of
 * it. */
static void print_timelines(const struct jp_result *r)
{
    for (size_t i = 0; i < r->n_timelines; i++) {
        const struct timeline *t = r->timelines[i];
        struct timeline_reader reader;
        struct timeline_event e;
        uint64_t sum = 0, low = 0;

        if (timeline_reader_init(&reader, t) < 0)
            exit(5);
        while (timeline_next(&reader, &e)) {
            const struct timeline_series *s = &t->series[e.series];
            const uint64_t words[] = {e.series, e.peer,     e.sn,
                                      e.bytes,  e.start_us, e.time_us};

            for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++)
                sum = (sum ^ words[k]) * UINT64_C(0x100000001B3);
            for (const char *c = s->id; *c; c++)
                sum = (sum ^ (uint64_t) *c) * UINT64_C(0x100000001B3);
            sum ^= (uint64_t) s->func[0] << 32 ^ s->rank ^ s->p2p;
        }
        timeline_reader_fini(&reader);
        for (uint32_t k = 0; k < t->n_series; k++)
            low += t->series[k].low ^ t->series[k].high ^ t->series[k].n_ranks ^
                   t->series[k].nnodes;
        printf("timeline %s %" PRId64 " %" PRIu64 " left %" PRIu64 " mixed %d "
               "series %" PRIu32 " %" PRIu64 " from %" PRIu64 " to %" PRIu64
               " sum %" PRIx64 "\n",
               t->host, t->pid, t->n, t->left, t->mixed, t->n_series, low,
               t->first_us, t->last_us, sum);
        if (t->strip)
            print_strip(t->strip);
    }
}

static void on_note(void *arg, const char *node, const char *why)
{
    (void) arg;
    fprintf(stderr, "%s: %s\n", node, why);
}

int main(int argc, char **argv)
{
    struct jp_aggregate_options options = {.note = on_note};
    struct jp_result *r;
    struct jp_error err = {""};
    const char *what;
    int opt;

    while ((opt = getopt(argc, argv, "rt:m:p:P:")) != -1) {
        if (opt == 't')
            options.threads = (unsigned) strtoul(optarg, NULL, 10);
        else if (opt == 'm')
            options.memory_bytes = strtoull(optarg, NULL, 10);
        else if (opt == 'r')
            options.as_recorded = true;
        else if (opt == 'p')
            options.piece_bytes = strtoull(optarg, NULL, 10);
        else if (opt == 'P')
            options.partials = optarg;
        else
            return 2;
    }
    if (argc - optind < 2)
        return 2;
    what = argv[optind++];
    r = aggregate_run((const char *const *) argv + optind,
                      (size_t) (argc - optind), &options, &err);
    if (!r) {
        fprintf(stderr, "dump_result: %s\n", err.text);
        return 5;
    }
    if (options.partials)
        fprintf(stderr, "%" PRIu64 " partials\n", r->quality.partial_nodes);
    if (!strcmp(what, "stat")) {
        print_stat(r);
    } else if (!strcmp(what, "join")) {
        print_join(r);
    } else if (!strcmp(what, "all")) {
        print_busy(r);
        print_timelines(r);
        print_quality(r);
        print_recordings(r);
        print_comms(r);
        print_ranks(r);
        print_tables(r);
        print_ops(r);
    }
    result_destroy(r);
    return 0;
}
