/* gen_logs.c - Inspector logs of a made-up training run, for tests and bench.
 *
 * gen_logs -o DIR [-n NODES] [-r RANKS_PER_NODE] [-i ITERATIONS] [-c CHANNELS]
 *          [-l LATE_RANK] [-s SEED] [-k NODE]
 * NODE, from 0: only this one's files. One file a rank, as the plugin names it. Communicators: world, tp (the ranks
 * of a node), dp (equal ranks of all nodes), one of a single rank. An iteration
 * is 6 AllGather and 6 ReduceScatter in tp, 2 AllReduce in dp, 1 in world, 1
 * alone. CHANNELS > 0 writes verbose traces. LATE_RANK comes 200 us late to
 * every collective of world and dp: it has the shortest time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct shape {
    unsigned nodes, per_node, iterations, channels;
    long late, only;
    uint64_t seed;
    const char *dir;
};

struct comm {
    uint64_t id;
    const char *name;
    unsigned rank, n_ranks, nnodes;
    bool late_hits;
};

struct op {
    const char *coll;
    uint64_t sn, bytes;
    double factor; /* busbw = factor * bytes / time */
    unsigned base_us;
};

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static void print_channels(FILE *f, unsigned channels, const char *what,
                           uint64_t first, unsigned step)
{
    fprintf(f,
            ",\"event_trace_%s\":{\"coll_start_%s\":%" PRIu64
            ",\"coll_stop_%s\":%" PRIu64 ",\"kernel_events\":[",
            what, what, first, what, first + step);
    for (unsigned i = 0; i < channels; i++)
        fprintf(f,
                "%s{\"channel_id\":%u,\"kernel_start_%s\":%" PRIu64
                ",\"kernel_stop_%s\":%" PRIu64 ",\"kernel_record_%s\":%" PRIu64
                "}",
                i ? "," : "", i, what, first + i, what, first + i + 2, what,
                first + i + 1);
    fputs("]}", f);
}

static void print_record(FILE *f, const struct shape *s, unsigned world_rank,
                         const struct comm *c, const struct op *op,
                         uint64_t now)
{
    uint64_t shared =
        mix(c->id ^ op->sn * 31 ^ (uint64_t) op->coll[3] << 40 ^ s->seed);
    uint64_t own = mix(shared + world_rank);
    uint64_t exec = op->base_us + shared % 7 + own % 3;
    double algbw;

    if (c->late_hits && s->late == (long) world_rank && exec > 201)
        exec -= 200;
    algbw = (double) op->bytes / (double) exec / 1e3;
    if (!strncmp(op->coll, "All", 3) ? op->coll[3] == 'G' : true)
        algbw *= c->n_ranks;
    fprintf(f,
            "{\"header\":{\"id\":\"0x%014" PRIx64 "\",\"comm_name\":\"%s\","
            "\"rank\":%u,\"n_ranks\":%u,\"nnodes\":%u},\"metadata\":{"
            "\"inspector_output_format_version\":\"v4.0\",\"git_rev\":"
            "\"unknown\",\"rec_mechanism\":\"nccl_profiler_interface\","
            "\"dump_timestamp_us\":%" PRIu64 ",\"hostname\":\"node%04u\","
            "\"pid\":%u},\"coll_perf\":{\"coll\":\"%s\",\"coll_sn\":%" PRIu64
            ",\"coll_msg_size_bytes\":%" PRIu64
            ",\"coll_exec_time_us\":%" PRIu64
            ",\"coll_timing_source\":\"kernel_gpu\","
            "\"coll_algobw_gbs\":%f,\"coll_busbw_gbs\":%f",
            c->id, c->name, c->rank, c->n_ranks, c->nnodes, now,
            world_rank / s->per_node + 1, 30000 + world_rank, op->coll, op->sn,
            op->bytes, exec, algbw, algbw * op->factor);
    if (s->channels) {
        print_channels(f, s->channels, "sn", 4 * op->sn + 1, 1);
        print_channels(f, s->channels, "ts", now - exec, 2);
    }
    fputs("}}\n", f);
}

static double share(unsigned n)
{
    return (double) (n - 1) / n;
}

static void write_rank(FILE *f, const struct shape *s, unsigned rank)
{
    unsigned node = rank / s->per_node, local = rank % s->per_node;
    unsigned ranks = s->nodes * s->per_node;
    uint64_t now = UINT64_C(1795251741000000) + mix(rank) % 1000;
    const struct comm world = {mix(1) >> 8, "world",  rank,
                               ranks,       s->nodes, true};
    const struct comm tp = {mix(1000 + node) >> 8, "tp", local,
                            s->per_node,           1,    false};
    const struct comm dp = {
        mix(900000 + local) >> 8, "dp", node, s->nodes, s->nodes, true};
    const struct comm own = {
        mix(2000000 + rank) >> 8, "unknown", 0, 1, 1, false};

    for (uint64_t i = 0; i < s->iterations; i++) {
        for (uint64_t k = 0; k < 6; k++) {
            uint64_t bytes = UINT64_C(2097152) << k % 3;
            unsigned us = 20 << k % 3;

            print_record(f, s, rank, &tp,
                         &(struct op){"AllGather", 6 * i + k, bytes,
                                      share(s->per_node), us},
                         now += 60);
            print_record(f, s, rank, &tp,
                         &(struct op){"ReduceScatter", 6 * i + k, bytes,
                                      share(s->per_node), us},
                         now += 60);
        }
        for (uint64_t k = 0; k < 2; k++)
            print_record(f, s, rank, &dp,
                         &(struct op){"AllReduce", 2 * i + k, 67108864,
                                      2 * share(s->nodes), 1500},
                         now += 1600);
        print_record(
            f, s, rank, &world,
            &(struct op){"AllReduce", i, 134217728, 2 * share(ranks), 1900},
            now += 2000);
        print_record(f, s, rank, &own,
                     &(struct op){"AllReduce", i, 2097152, 0, 14}, now += 20);
    }
}

static int write_file(const struct shape *s, unsigned rank)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof(path), "%s/node%04u-pid%u.log", s->dir,
             rank / s->per_node + 1, 30000 + rank);
    f = fopen(path, "w");
    if (!f) {
        perror(path);
        return -1;
    }
    write_rank(f, s, rank);
    if (fclose(f)) {
        perror(path);
        return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct shape s = {.nodes = 2, .per_node = 4, .iterations = 10, .late = -1, .only = -1};
    int opt;

    while ((opt = getopt(argc, argv, "o:n:r:i:c:l:s:k:")) != -1) {
        unsigned long v = optarg ? strtoul(optarg, NULL, 10) : 0;

        switch (opt) {
        case 'o':
            s.dir = optarg;
            break;
        case 'n':
            s.nodes = (unsigned) v;
            break;
        case 'r':
            s.per_node = (unsigned) v;
            break;
        case 'i':
            s.iterations = (unsigned) v;
            break;
        case 'c':
            s.channels = (unsigned) v;
            break;
        case 'l':
            s.late = (long) v;
            break;
        case 'k':
            s.only = (long) v;
            break;
        case 's':
            s.seed = v;
            break;
        default:
            return 2;
        }
    }
    if (!s.dir || !s.nodes || !s.per_node || optind < argc) {
        fprintf(stderr,
                "usage: gen_logs -o DIR [-n NODES] [-r RANKS_PER_NODE] "
                "[-i ITERATIONS] [-c CHANNELS] [-l LATE_RANK] [-s SEED] "
                "[-k NODE]\n");
        return 2;
    }
    if (mkdir(s.dir, 0700) < 0 && errno != EEXIST) {
        perror(s.dir);
        return 5;
    }
    for (unsigned rank = 0; rank < s.nodes * s.per_node; rank++)
        if ((s.only < 0 || (unsigned long) s.only == rank / s.per_node) &&
            write_file(&s, rank) < 0)
            return 5;
    return 0;
}
