/* gen_jpr.c - recorder's files for tests: from a script, or from JSON lines.
 *
 * gen_jpr [-0] < SCRIPT > FILE, a command a line; -0: nothing is packed:
 *   header HOST PID TASK [NOTE]
 *   comm INDEX ID NAME RANK RANKS DOMAINS    NAME - is none; ID hexadecimal
 *   op COMM KIND FUNC SEQ BYTES EXEC_US START_US [PEER]     KIND c, p or e (CE)
 *   fly COMM KIND FUNC SEQ BYTES START_US STARTED STOPPED [PEER [unsure]]
 *   cut COMM KIND FUNC SEQ BYTES START_US STARTED STOPPED [PEER [unsure]]
 *                                         a record that finalize or exit ended
 *   unseen COMM FUNC CALLS                   for the next counts
 *   cost EVENTS TIMED TIMED_NS LIFE_NS WRITER_NS    of the counts that follow
 *   snap AT_US                               of the fly lines since the last
 *   counts AT_US FINAL LOST LEFT_OUT
 *
 * Times are us since the header.
 *
 * gen_jpr -l LOG > FILE: the records of an Inspector log, with final counters.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/nccl_inspector/reader.h"
#include "tests/aggregate/jpr_maker.h"

enum { MAX_FLY = 64, MAX_COMMS = 64, WORD = 128 };

struct script {
    struct jpr_maker *maker;
    struct jpr_op fly[MAX_FLY];
    size_t n_fly;
};

/* Names are kept until the program's end. */
static const char *lasting(const char *text)
{
    static char *names[1024];
    static size_t n;

    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], text))
            return names[i];
    if (n == 1024 || !(names[n] = strdup(text)))
        abort();
    return names[n++];
}

static uint64_t mono_ns(uint64_t us)
{
    return JPR_MAKER_MONO_NS + us * 1000;
}

static struct jpr_op make_op(unsigned comm, char kind, const char *func,
                             uint64_t seq, uint64_t bytes, int64_t peer)
{
    return (struct jpr_op){.comm = comm,
                           .kind = kind == 'p'   ? JPR_P2P
                                   : kind == 'e' ? JPR_CE
                                                 : JPR_COLL,
                           .func = lasting(func),
                           .datatype = "ncclFloat32",
                           .algo = kind == 'c' ? "RING" : "",
                           .proto = kind == 'c' ? "LL128" : "",
                           .api_func = "",
                           .api_datatype = "",
                           .count = bytes / 4,
                           .bytes = bytes,
                           .root = kind == 'p' ? -1 : 0,
                           .peer = kind == 'p' ? peer : -1,
                           .n_channels = 2,
                           .seq = seq};
}

static bool take_comm(struct script *s, const char *line)
{
    struct jpr_comm c = {.known = true, .gpu_pci = "", .gpu_uuid = ""};
    char name[WORD];

    if (sscanf(line,
               "comm %" SCNu32 " %" SCNx64 " %127s %" SCNd64 " %" SCNd64
               " %" SCNd64,
               &c.index, &c.id, name, &c.rank, &c.n_ranks, &c.n_nodes) != 6)
        return false;
    c.name = strcmp(name, "-") ? name : "";
    jpr_maker_comm(s->maker, &c);
    return true;
}

static bool take_op(struct script *s, const char *line)
{
    uint64_t seq, bytes, exec_us, start_us;
    int64_t peer = 0;
    unsigned comm;
    char kind, func[WORD];
    struct jpr_op op;

    if (sscanf(line,
               "op %u %c %127s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNd64,
               &comm, &kind, func, &seq, &bytes, &exec_us, &start_us,
               &peer) < 7)
        return false;
    op = make_op(comm, kind, func, seq, bytes, peer);
    jpr_maker_times(&op, mono_ns(start_us), exec_us);
    jpr_maker_op(s->maker, &op);
    return true;
}

/* word: its first four characters. */
static bool take_fly(struct script *s, const char *word, const char *line)
{
    uint64_t seq, bytes, start_us;
    unsigned comm, started, stopped;
    int64_t peer = 0;
    char kind, func[WORD], unsure[WORD] = "";
    struct jpr_op *op = &s->fly[s->n_fly];

    if (s->n_fly == MAX_FLY || strncmp(line, word, 4) != 0 ||
        sscanf(line + 4,
               "%u %c %127s %" SCNu64 " %" SCNu64 " %" SCNu64 " %u %u %" SCNd64
               " %127s",
               &comm, &kind, func, &seq, &bytes, &start_us, &started, &stopped,
               &peer, unsure) < 8)
        return false;
    *op = make_op(comm, kind, func, seq, bytes, peer);
    op->enqueue_start_mono_ns = mono_ns(start_us);
    op->kernel_first_mono_ns = started ? mono_ns(start_us) + 10000 : 0;
    op->channels_started = started;
    op->channels_stopped = stopped;
    op->unsure = !strcmp(unsure, "unsure");
    s->n_fly++;
    return true;
}

static bool take_cut(struct script *s, const char *line)
{
    struct jpr_op op;

    if (!take_fly(s, "cut ", line))
        return false;
    op = s->fly[--s->n_fly];
    op.incomplete = true;
    jpr_maker_op(s->maker, &op);
    return true;
}

static bool take_unseen(struct script *s, const char *line)
{
    char func[WORD];
    uint64_t calls;
    unsigned comm;

    if (sscanf(line, "unseen %u %127s %" SCNu64, &comm, func, &calls) != 3)
        return false;
    jpr_maker_unseen(s->maker, comm, lasting(func), calls);
    return true;
}

static bool take_cost(struct script *s, const char *line)
{
    struct jpr_cost cost = {.told = true};

    if (sscanf(line,
               "cost %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &cost.events, &cost.timed, &cost.timed_ns, &cost.life_ns,
               &cost.writer_ns) != 5)
        return false;
    s->maker->counters.cost = cost;
    return true;
}

static bool take_line(struct script *s, const char *line)
{
    char host[WORD], note[WORD] = "";
    uint64_t pid, at, lost, left;
    int64_t task;
    unsigned final;

    if (sscanf(line, "header %127s %" SCNu64 " %" SCNd64 " %127[^\n]", host,
               &pid, &task, note) >= 3) {
        jpr_maker_header(s->maker, host, pid, task, *note ? note : NULL);
        return true;
    }
    if (sscanf(line, "snap %" SCNu64, &at) == 1) {
        jpr_maker_snapshot(s->maker, mono_ns(at), s->fly, s->n_fly);
        s->n_fly = 0;
        return true;
    }
    if (sscanf(line, "counts %" SCNu64 " %u %" SCNu64 " %" SCNu64, &at, &final,
               &lost, &left) == 4) {
        jpr_maker_counters(s->maker, mono_ns(at), final, lost, left);
        return true;
    }
    return take_comm(s, line) || take_op(s, line) ||
           take_fly(s, "fly ", line) || take_cut(s, line) ||
           take_unseen(s, line) || take_cost(s, line) ||
           line[strspn(line, " \n")] == '\0' || line[0] == '#';
}

/* The file's index of a record's communicator, which is written when it is new.
 */
static uint32_t comm_of(struct jpr_maker *maker, const struct record *r)
{
    static struct jpr_comm comms[MAX_COMMS];
    static uint32_t n;
    char id[32], name[WORD] = "";
    uint64_t hash;

    snprintf(id, sizeof(id), "%.*s", (int) r->id.len, r->id.text);
    if (r->name.len)
        snprintf(name, sizeof(name), "%.*s", (int) r->name.len, r->name.text);
    hash = strtoull(id, NULL, 16);
    for (uint32_t i = 0; i < n; i++)
        if (comms[i].id == hash && comms[i].rank == r->rank &&
            comms[i].n_ranks == r->n_ranks && comms[i].n_nodes == r->nnodes)
            return i;
    if (n == MAX_COMMS)
        abort();
    comms[n] = (struct jpr_comm){.index = n,
                                 .known = true,
                                 .id = hash,
                                 .name = lasting(name),
                                 .rank = r->rank,
                                 .n_ranks = r->n_ranks,
                                 .n_nodes = r->nnodes,
                                 .gpu_pci = "",
                                 .gpu_uuid = ""};
    jpr_maker_comm(maker, &comms[n]);
    return n++;
}

static void take_record(struct jpr_maker *maker, const struct record *r)
{
    char func[WORD];
    struct jpr_op op;
    uint64_t end = r->dump_us * 1000 - JPR_MAKER_REAL_NS + JPR_MAKER_MONO_NS;

    snprintf(func, sizeof(func), "%.*s", (int) r->func.len, r->func.text);
    op = make_op(comm_of(maker, r), r->p2p ? 'p' : 'c', func, r->sn, r->bytes,
                 r->peer);
    jpr_maker_times(&op, end - r->exec_us * 1000 - 10500, r->exec_us);
    jpr_maker_op(maker, &op);
}

/* The header gets host and process of the first good record. */
static int from_log(const char *path, struct jpr_maker *maker)
{
    struct inspector_reader reader = {.why = ""};
    struct record r;
    char *line = NULL, host[256];
    size_t cap = 0;
    ssize_t n;
    bool begun = false;
    FILE *in = fopen(path, "r");

    if (!in)
        return -1;
    while ((n = getline(&line, &cap, in)) > 0) {
        if (inspector_read_line(&reader, line, (size_t) n, &r) !=
            INSPECTOR_RECORD)
            continue;
        snprintf(host, sizeof(host), "%.*s", (int) r.host.len, r.host.text);
        if (!begun)
            jpr_maker_header(maker, host, (uint64_t) r.pid, -1, NULL);
        begun = true;
        take_record(maker, &r);
    }
    jpr_maker_counters(maker, JPR_MAKER_MONO_NS, true, 0, 0);
    free(line);
    fclose(in);
    return 0;
}

int main(int argc, char **argv)
{
    struct script s = {.maker = jpr_maker_create(stdout)};
    unsigned long number = 0;
    char line[1024];
    int rc = 0;

    if (argc == 3 && !strcmp(argv[1], "-l")) {
        rc = from_log(argv[2], s.maker) < 0 ? 5 : 0;
    } else {
        if (argc == 2 && !strcmp(argv[1], "-0"))
            jpr_maker_store(s.maker);
        while (rc == 0 && fgets(line, sizeof(line), stdin)) {
            number++;
            if (!take_line(&s, line)) {
                fprintf(stderr, "gen_jpr: line %lu: %s", number, line);
                rc = 2;
            }
        }
    }
    jpr_maker_destroy(s.maker);
    return rc;
}
