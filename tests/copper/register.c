/* register.c - the start of many daemons, with a filtered book and without.
 *
 *   register [NODES [LINES]]
 *
 * NODES (256) processes, each the network part of the stand-in for cu_fuse,
 * start at once with a site's book of LINES lines (9408): first with the book
 * that copper_book_prepare filters, then with the site's own, as Copper reads
 * it. Prints a line for each: the time of filtering, the times to "registered",
 * and the number of flushed lines that the daemons wrote to the file they
 * share. Copper's daemons share it on a parallel file system. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"
#include "contrib/fakecopper/fake_net.h"
#include "plugins/copper/copper_work.h"

enum { NODES_MAX = 256 }; /* a stand-in's address has two digits for them */

struct daemon {
    volatile uint64_t us; /* 0: not registered */
    uint64_t lines;
};

struct bench {
    uint64_t nodes, lines;
    char *dir, *site, *list, *step_book, *shared;
    char device[5]; /* a network that no other test uses */
    char *names[NODES_MAX];
    struct daemon *daemons; /* shared with the processes */
};

static void __attribute__((noreturn)) fail(const char *what)
{
    fprintf(stderr, "register: %s\n", what);
    exit(1);
}

static uint64_t now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

static FILE *open_file(const char *path)
{
    FILE *f = fopen(path, "we");

    if (!f)
        fail(path);
    return f;
}

/* The nodes are spread over the site's book. */
static void write_inputs(struct bench *b)
{
    FILE *site = open_file(b->site), *list = open_file(b->list);
    uint64_t each = b->lines / b->nodes;

    for (uint64_t i = 0; i < b->lines; i++)
        if (i % each == 0 && i / each < b->nodes)
            fprintf(site, "n%" PRIu64 " ofi+cxi://0x%s%02" PRIx64 "00\n",
                    i / each, b->device, i / each);
        else
            fprintf(site, "other%" PRIu64 " ofi+cxi://0x%08" PRIx64 "\n", i, i);
    for (uint64_t i = 0; i < b->nodes; i++) {
        if (asprintf(&b->names[i], "n%" PRIu64, i) < 0)
            fail("out of memory");
        fprintf(list, "%s\n", b->names[i]);
    }
    if (fclose(site) != 0 || fclose(list) != 0)
        fail("a full disk");
}

/* One daemon, which lives until all are registered. */
static void __attribute__((noreturn))
be_daemon(const struct bench *b, uint64_t node, bool filtered, int start)
{
    const struct fake_net net = {.type = "cxi",
                                 .nodes = b->list,
                                 .book = filtered ? b->step_book : b->site,
                                 .own = b->shared,
                                 .host = b->names[node],
                                 .prefiltered = filtered,
                                 .device = b->device};
    uint64_t from;
    char byte;

    if (read(start, &byte, 1) < 0)
        _exit(1);
    from = now_us();
    if (!fake_net_start(&net))
        _exit(1);
    b->daemons[node].lines = fake_net_shared_lines();
    b->daemons[node].us = now_us() - from + 1;
    pause();
    _exit(0);
}

static bool is_registered(const struct bench *b)
{
    for (uint64_t i = 0; i < b->nodes; i++)
        if (!b->daemons[i].us)
            return false;
    return true;
}

static int by_time(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

    return (x > y) - (x < y);
}

static void print_way(const struct bench *b, bool filtered, uint64_t cut_us)
{
    uint64_t us[NODES_MAX], lines = 0, sum = 0;

    for (uint64_t i = 0; i < b->nodes; i++) {
        us[i] = b->daemons[i].us;
        lines += b->daemons[i].lines;
        sum += us[i];
    }
    qsort(us, b->nodes, sizeof(*us), by_time);
    printf("%s nodes=%" PRIu64 " cut_us=%" PRIu64 " min_us=%" PRIu64
           " mean_us=%" PRIu64 " max_us=%" PRIu64 " shared_lines=%" PRIu64 "\n",
           filtered ? "filtered" : "unfiltered", b->nodes, cut_us, us[0],
           sum / b->nodes, us[b->nodes - 1], lines);
}

static void run_way(struct bench *b, bool filtered)
{
    struct jp_error err = {""};
    pid_t pids[NODES_MAX];
    uint64_t cut_us = 0, from = now_us();
    int start[2];

    if (filtered &&
        copper_book_prepare(b->site, b->dir, b->names, b->nodes, &err) < 0)
        fail(err.text);
    if (filtered)
        cut_us = now_us() - from;
    memset(b->daemons, 0, NODES_MAX * sizeof(*b->daemons));
    if (pipe(start) < 0)
        fail("no pipe");
    for (uint64_t i = 0; i < b->nodes; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            close(start[1]);
            be_daemon(b, i, filtered, start[0]);
        }
        if (pids[i] < 0)
            fail("no process");
    }
    close(start[1]); /* all start */
    close(start[0]);
    while (!is_registered(b)) {
        if (waitpid(-1, NULL, WNOHANG) != 0)
            fail("a daemon ended");
        usleep(1000);
    }
    print_way(b, filtered, cut_us);
    for (uint64_t i = 0; i < b->nodes; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
}

static void make_places(struct bench *b, char *dir)
{
    char *raw;

    if (!mkdtemp(dir))
        fail(dir);
    b->dir = dir;
    raw = text_format("%s/raw", dir);
    b->site = text_format("%s/site", dir);
    b->list = text_format("%s/nodes", dir);
    b->shared = text_format("%s/shared", dir);
    b->step_book = text_format("%s/raw/" COPPER_BOOK_NAME, dir);
    if (!raw || fileio_mkdir(raw, NULL) < 0 || !b->site || !b->list ||
        !b->shared || !b->step_book)
        fail(dir);
    free(raw);
    snprintf(b->device, sizeof(b->device), "%04x",
             (unsigned) getpid() & 0xffff);
    b->daemons = mmap(NULL, NODES_MAX * sizeof(*b->daemons),
                      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                      0);
    if (b->daemons == MAP_FAILED)
        fail("out of memory");
}

int main(int argc, char **argv)
{
    struct bench b = {.nodes = NODES_MAX, .lines = 9408};
    char dir[] = "/tmp/jobprof-register.XXXXXX";
    struct jp_error err = {""};

    if ((argc > 1 && num_parse_u64(argv[1], 1, NODES_MAX, &b.nodes, &err)) ||
        (argc > 2 && num_parse_u64(argv[2], b.nodes, 10000000, &b.lines, &err)))
        fail(err.text);
    make_places(&b, dir);
    write_inputs(&b);
    fflush(NULL);
    run_way(&b, true);
    fflush(NULL);
    run_way(&b, false);
    for (uint64_t i = 0; i < b.nodes; i++)
        free(b.names[i]);
    free(b.site);
    free(b.list);
    free(b.shared);
    free(b.step_book);
    munmap(b.daemons, NODES_MAX * sizeof(*b.daemons));
    return fileio_remove_tree(dir, &err) < 0;
}
