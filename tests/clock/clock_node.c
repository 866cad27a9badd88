/* clock_node.c - one node's clock module without an agent, with a clock that is
 * shifted by a known amount; and the cost of a bare exchange of packets.
 *
 *     clock_node run DIR NODE NODES SECONDS [NAME=VALUE...]
 *     clock_node relay ADDRESS PORT-FILE TO PORT SECONDS [NAME=VALUE...]
 *     clock_node map DIR NODES
 *     clock_node pingpong ROUNDS
 *
 * run: node NODE ("n0" ...) of NODES; nodes/<node>/ must exist for all of them.
 * Names: offset ppm from step_at step (ns of CLOCK_MONOTONIC, as in struct
 * clock_shift), user (1: without the kernel's stamps), if, cadence (us), window
 * (ms), spacing (us), cpu (thousandths of a processor). Prints a JSON object:
 * the module's own record, the processor time of the process without its start,
 * and its wake-ups.
 *
 * relay: packets from anywhere go to TO:PORT, and packets from there to the
 * last sender. there, back: microseconds that each way takes; queued: packets
 * of a hundred that wait, queue: for how many microseconds on average
 * (exponential); loss: packets of a hundred.
 *
 * map: from the files under DIR, "node t_ns offset_ns unc_ns" a line: the
 * offset of each wall clock from that of n0. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clockmap.h"
#include "common/fileio.h"
#include "common/json_stream.h"
#include "orchestrator/aggregate/clocks.h"
#include "plugins/clock/clock_read.h"
#include "plugins/clock/clock_work.h"

#define SECOND INT64_C(1000000000)
enum { NODES_MAX = 64, NAME = 16 };

static int64_t read_clock(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (int64_t) t.tv_sec * SECOND + t.tv_nsec;
}

static int fail(const char *what)
{
    fprintf(stderr, "clock_node: %s\n", what);
    return 1;
}

/* --- a node --------------------------------------------------------------- */

struct node {
    struct clock_conf conf;
    struct clock_shift shift;
    char names[NODES_MAX][NAME];
    const char *nodes[NODES_MAX];
    struct module_place place;
};

static bool take_setting(struct node *n, const char *text)
{
    const char *value = strchr(text, '=');
    size_t len = value ? (size_t) (value - text) : 0;
    const struct {
        const char *name;
        int64_t *to64;
        uint32_t *to32;
    } names[] = {{"offset", &n->shift.offset_ns, NULL},
                 {"from", &n->shift.from_ns, NULL},
                 {"step_at", &n->shift.step_at_ns, NULL},
                 {"step", &n->shift.step_ns, NULL},
                 {"cadence", NULL, &n->conf.cadence_us},
                 {"window", NULL, &n->conf.window_ms},
                 {"spacing", NULL, &n->conf.spacing_us},
                 {"cpu", NULL, &n->conf.cpu_permille}};

    if (!value++)
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strlen(names[i].name) == len &&
            strncmp(text, names[i].name, len) == 0) {
            if (names[i].to64)
                *names[i].to64 = strtoll(value, NULL, 10);
            else
                *names[i].to32 = (uint32_t) strtoul(value, NULL, 10);
            return true;
        }
    if (strncmp(text, "ppm=", 4) == 0)
        n->shift.ppm = strtod(value, NULL);
    else if (strncmp(text, "user=", 5) == 0)
        n->shift.user_stamps = *value == '1';
    else if (strncmp(text, "if=", 3) == 0)
        snprintf(n->conf.net.interfaces, sizeof(n->conf.net.interfaces), "%s",
                 value);
    else
        return false;
    return true;
}

static void print_cost(struct clock_work *work, int64_t cpu_ns, int64_t ran_ns,
                       uint64_t wakeups)
{
    struct jp_json_stream *s = calloc(1, sizeof(*s));

    if (!s)
        return;
    json_stream_open(s, JSON_FILE, stdout);
    clock_module.record(work, s);
    json_stream_count(s, "cpu_us", (uint64_t) cpu_ns / 1000);
    json_stream_count(s, "ran_us", (uint64_t) ran_ns / 1000);
    json_stream_count(s, "wakeups", wakeups);
    json_stream_close(s, NULL);
    free(s);
}

static int run(struct node *n, int64_t for_ns)
{
    struct jp_error err = {""};
    struct clock_work *work = clock_work_create(&n->place, &n->shift, &err);
    int64_t began = read_clock(CLOCK_MONOTONIC), now = began;
    int64_t cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    struct module_time spent = {.module_us = 0};
    uint64_t wakeups = 0;
    struct epoll_event event;
    int epoll = epoll_create1(EPOLL_CLOEXEC);

    if (!work)
        return fail(err.text);
    event = (struct epoll_event){.events = EPOLLIN};
    if (epoll < 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, clock_module.fd(work), &event) < 0)
        return fail(strerror(errno));
    while (now - began < for_ns) {
        epoll_wait(epoll, &event, 1, 1000);
        wakeups++;
        spent.module_us = (uint64_t) read_clock(CLOCK_PROCESS_CPUTIME_ID) /
                          1000;
        if (clock_module.tick(work, &spent, &err) < 0)
            fprintf(stderr, "clock_node: %s\n", err.text);
        now = read_clock(CLOCK_MONOTONIC);
    }
    clock_module.finish(work);
    print_cost(work, read_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu, now - began,
               wakeups);
    clock_module.destroy(work);
    close(epoll);
    return 0;
}

static int run_node(int argc, char **argv)
{
    struct node *n = calloc(1, sizeof(*n));
    size_t n_nodes = strtoul(argv[2], NULL, 10);
    int rc = 2;

    if (!n || n_nodes < 2 || n_nodes > NODES_MAX)
        return fail("how many nodes?");
    n->conf = (struct clock_conf){.cadence_us = 20000,
                                  .window_ms = 4000,
                                  .spacing_us = 100,
                                  .snapshot_ms = 100,
                                  .net.key = {1, 2, 3}};
    for (size_t i = 0; i < n_nodes; i++) {
        snprintf(n->names[i], NAME, "n%zu", i);
        n->nodes[i] = n->names[i];
    }
    n->place = (struct module_place){.dir = argv[0],
                                     .node = argv[1],
                                     .job = 42,
                                     .step = "0",
                                     .disk_bytes = 4 << 20,
                                     .settings[OPTION_CLOCK] = &n->conf,
                                     .nodes = n->nodes,
                                     .n_nodes = n_nodes};
    for (int i = 4; i < argc; i++)
        if (!take_setting(n, argv[i])) {
            fail(argv[i]);
            goto out;
        }
    rc = run(n, (int64_t) (strtod(argv[3], NULL) * 1e9));
out:
    free(n);
    return rc;
}

/* --- a relay -------------------------------------------------------------- */

enum { LYING = 1024 };

struct relay {
    int fd, epoll;
    struct sockaddr_in behind, asker;
    double us[2], queued, queue_us, loss; /* us: there, back */
    uint64_t seed;
    struct lying {
        int64_t due_ns;
        size_t len;
        uint8_t bytes[200];
    } lying[2][LYING]; /* rings */
    size_t first[2], n[2];
    int64_t last_ns[2];
};

static double uniform(struct relay *r)
{
    r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
    return (double) (r->seed >> 11) / 9007199254740992.0;
}

static void relay_take(struct relay *r, int64_t now_ns)
{
    struct sockaddr_in from;
    struct lying in;
    socklen_t len = sizeof(from);
    ssize_t n;

    while ((n = recvfrom(r->fd, in.bytes, sizeof(in.bytes), MSG_DONTWAIT,
                         (struct sockaddr *) &from, &len)) > 0) {
        int back = from.sin_port == r->behind.sin_port &&
                   from.sin_addr.s_addr == r->behind.sin_addr.s_addr;
        double us = r->us[back];

        len = sizeof(from);
        if (!back)
            r->asker = from;
        if (uniform(r) * 100 < r->queued)
            us -= log(1 - uniform(r)) * r->queue_us;
        if (uniform(r) * 100 < r->loss || r->n[back] == LYING)
            continue;
        in.len = (size_t) n;
        in.due_ns = now_ns + (int64_t) (us * 1000);
        if (in.due_ns <
            r->last_ns[back]) /* packets do not overtake each other */
            in.due_ns = r->last_ns[back];
        r->last_ns[back] = in.due_ns;
        r->lying[back][(r->first[back] + r->n[back]++) % LYING] = in;
    }
}

/* Sends what is due. Returns when the next packet is due. */
static int64_t relay_send(struct relay *r)
{
    int64_t next = INT64_MAX;

    for (int back = 0; back < 2; back++)
        while (r->n[back]) {
            const struct lying *l = &r->lying[back][r->first[back] % LYING];

            if (l->due_ns > read_clock(CLOCK_MONOTONIC)) {
                next = l->due_ns < next ? l->due_ns : next;
                break;
            }
            (void) !sendto(r->fd, l->bytes, l->len, MSG_DONTWAIT,
                           (struct sockaddr *) (back ? &r->asker : &r->behind),
                           sizeof(r->behind));
            r->first[back]++;
            r->n[back]--;
        }
    return next;
}

static int relay_open(struct relay *r, char **argv)
{
    struct sockaddr_in own = {.sin_family = AF_INET};
    struct epoll_event event = {.events = EPOLLIN};
    socklen_t len = sizeof(own);
    FILE *out;

    r->behind.sin_family = AF_INET;
    r->behind.sin_port = htons((uint16_t) strtoul(argv[3], NULL, 10));
    r->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (inet_pton(AF_INET, argv[0], &own.sin_addr) != 1 ||
        inet_pton(AF_INET, argv[2], &r->behind.sin_addr) != 1 || r->fd < 0 ||
        bind(r->fd, (struct sockaddr *) &own, sizeof(own)) < 0 ||
        getsockname(r->fd, (struct sockaddr *) &own, &len) < 0 ||
        epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->fd, &event) < 0)
        return fail(strerror(errno));
    out = fopen(argv[1], "w");
    if (!out)
        return fail(strerror(errno));
    fprintf(out, "%u\n", ntohs(own.sin_port));
    fclose(out);
    return 0;
}

static int relay(int argc, char **argv)
{
    static struct relay r;
    const struct {
        const char *name;
        double *to;
    } names[] = {{"there=", &r.us[0]},
                 {"back=", &r.us[1]},
                 {"queued=", &r.queued},
                 {"queue=", &r.queue_us},
                 {"loss=", &r.loss}};
    int64_t end = read_clock(CLOCK_MONOTONIC) +
                  (int64_t) (strtod(argv[4], NULL) * 1e9);

    for (int i = 5; i < argc; i++)
        for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
            if (strncmp(argv[i], names[k].name, strlen(names[k].name)) == 0)
                *names[k].to = strtod(argv[i] + strlen(names[k].name), NULL);
    r.seed = (uint64_t) getpid();
    if (relay_open(&r, argv))
        return 1;
    for (int64_t now = 0; now < end; now = read_clock(CLOCK_MONOTONIC)) {
        int64_t wait = relay_send(&r) - read_clock(CLOCK_MONOTONIC);
        struct epoll_event event;
        struct timespec t;

        wait = wait < 0 ? 0 : wait > SECOND / 5 ? SECOND / 5 : wait;
        t = (struct timespec){.tv_nsec = wait};
        if (wait < SECOND / 5)
            nanosleep(&t, NULL); /* a millisecond is too long for a packet */
        else
            epoll_wait(r.epoll, &event, 1, 200);
        relay_take(&r, read_clock(CLOCK_MONOTONIC));
    }
    return 0;
}

/* --- the map -------------------------------------------------------------- */

static int print_map(const char *dir, size_t n)
{
    char names[NODES_MAX][NAME];
    const char *hosts[NODES_MAX];
    char *nodes = text_format("%s/nodes", dir);
    struct clockprobes probes = {0};
    struct clockmap map = {0};
    int rc = 1;

    for (size_t i = 0; i < n && i < NODES_MAX; i++) {
        snprintf(names[i], NAME, "n%zu", i);
        hosts[i] = names[i];
    }
    if (!nodes || n > NODES_MAX || clock_probes_read(nodes, &probes) < 0 ||
        clockprobes_map(&probes, hosts, n, 0, &map) < 0) {
        fail("no map");
        goto out;
    }
    for (size_t i = 0; i < map.n_nodes; i++)
        for (size_t k = 0; k < map.nodes[i].n_points; k++) {
            const struct clockmap_point *p = &map.nodes[i].points[k];

            printf("%s %" PRId64 " %" PRId64 " %.1f\n", map.nodes[i].host,
                   p->t_ns, p->offset_ns, p->unc_ns);
        }
    rc = 0;
out:
    clockmap_fini(&map);
    clockprobes_fini(&probes);
    free(nodes);
    return rc;
}

/* --- bare packets ---------------------------------------------------------
 */

/* Packets of the same size in both directions, between two processes that wait
 * for them as the agent does. Prints the processor time of a round trip, of
 * both processes. */
static int echo(int fd, uint64_t rounds, const struct sockaddr_in *to)
{
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    char bytes[CLOCK_PACKET_BYTES] = "";
    struct iovec iov = {bytes, sizeof(bytes)};

    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        return 1;
    for (uint64_t i = 0; i < rounds; i++) {
        struct sockaddr_in from;
        struct msghdr m = {.msg_name = &from,
                           .msg_namelen = sizeof(from),
                           .msg_iov = &iov,
                           .msg_iovlen = 1};

        if (to)
            (void) !sendto(fd, bytes, sizeof(bytes), 0,
                           (const struct sockaddr *) to, sizeof(*to));
        epoll_wait(epoll, &event, 1, 1000);
        if (recvmsg(fd, &m, MSG_DONTWAIT) >= 0 && !to)
            (void) !sendto(fd, bytes, sizeof(bytes), 0,
                           (const struct sockaddr *) &from, sizeof(from));
    }
    close(epoll);
    return 0;
}

static int pingpong(uint64_t rounds)
{
    struct sockaddr_in at[2];
    struct rusage child;
    int fds[2], status = 1;
    int64_t cpu;
    pid_t pid;

    for (int i = 0; i < 2; i++) {
        socklen_t len = sizeof(at[i]);

        at[i] = (struct sockaddr_in){.sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        fds[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fds[i] < 0 ||
            bind(fds[i], (struct sockaddr *) &at[i], sizeof(at[i])) < 0 ||
            getsockname(fds[i], (struct sockaddr *) &at[i], &len) < 0)
            return fail(strerror(errno));
    }
    fflush(stdout);
    pid = fork();
    if (pid == 0)
        _exit(echo(fds[1], rounds, NULL));
    cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    if (pid < 0 || echo(fds[0], rounds, &at[1]) != 0 ||
        wait4(pid, &status, 0, &child) < 0 || status)
        return fail("no packets");
    cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    cpu += ((int64_t) child.ru_utime.tv_sec + child.ru_stime.tv_sec) * SECOND +
           ((int64_t) child.ru_utime.tv_usec + child.ru_stime.tv_usec) * 1000;
    printf("{\"round_trip_ns\": %" PRIu64 "}\n", (uint64_t) cpu / rounds);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc >= 6 && strcmp(argv[1], "run") == 0)
        return run_node(argc - 2, argv + 2);
    if (argc >= 7 && strcmp(argv[1], "relay") == 0)
        return relay(argc - 2, argv + 2);
    if (argc == 4 && strcmp(argv[1], "map") == 0)
        return print_map(argv[2], strtoul(argv[3], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "pingpong") == 0)
        return pingpong(strtoul(argv[2], NULL, 10));
    fprintf(stderr, "usage: clock_node run DIR NODE NODES SECONDS "
                    "[NAME=VALUE...] | relay ADDRESS PORT-FILE TO PORT "
                    "SECONDS [NAME=VALUE...] | map DIR NODES | pingpong "
                    "ROUNDS\n");
    return 2;
}
