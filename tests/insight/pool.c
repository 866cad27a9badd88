/* pool.c - simulate jobs in several processes at once.
 *
 * Worker k of n runs the seeds first + k, first + k + n, ... and writes its
 * answers into its own pipe. The parent reads the pipes in turn, so it gets the
 * answers in order of the seeds.
 */
#include "tests/insight/pool.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_BYTES 256

struct worker {
    pid_t pid;
    FILE *from; /* its answers, in order of its seeds */
    char dir[PATH_BYTES];
};

struct pool {
    unsigned n, next; /* workers; whose turn it is */
    uint64_t seed;    /* the next one */
    pool_job *job;
    const void *arg;
    struct worker *workers;
};

/* What precedes the text of an answer in a worker's pipe. */
struct head {
    struct pool_answer answer;
    size_t text_len;
};

unsigned pool_processors(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0
               ? (unsigned) CPU_COUNT(&set)
               : 1;
}

static void stop(const char *what)
{
    perror(what);
    abort();
}

/* Runs every n-th seed until nobody reads the pipe any more. */
static void work(const struct pool *pool, unsigned own, FILE *to)
{
    for (uint64_t seed = pool->seed + own;; seed += pool->n) {
        char *text = NULL;
        struct head head = {.text_len = 0};
        FILE *out = open_memstream(&text, &head.text_len);

        if (!out)
            stop("memory");
        head.answer = pool->job(pool->arg, seed, pool->workers[own].dir, out);
        if (fclose(out) != 0 || fwrite(&head, sizeof(head), 1, to) != 1 ||
            fwrite(text, 1, head.text_len, to) != head.text_len ||
            fflush(to) != 0)
            _exit(1);
        free(text);
    }
}

static void start(struct pool *pool, unsigned own)
{
    struct worker *w = &pool->workers[own];
    pid_t parent = getpid();
    int ends[2];

    if (pipe(ends) < 0)
        stop("pipe");
    fflush(NULL);
    w->pid = fork();
    if (w->pid < 0)
        stop("fork");
    if (w->pid == 0) {
        FILE *to = fdopen(ends[1], "w");

        /* If the parent is killed, its workers end as well. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!to || getppid() != parent)
            _exit(1);
        close(ends[0]);
        for (unsigned i = 0; i < own; i++)
            close(fileno(pool->workers[i].from));
        work(pool, own, to);
    }
    close(ends[1]);
    w->from = fdopen(ends[0], "r");
    if (!w->from)
        stop("pipe");
}

struct pool *pool_start(unsigned workers, uint64_t first, const char *dir,
                        pool_job *job, const void *arg)
{
    struct pool *pool = calloc(1, sizeof(*pool));

    if (!pool)
        stop("memory");
    *pool = (struct pool){
        .n = workers ? workers : 1, .seed = first, .job = job, .arg = arg};
    pool->workers = calloc(pool->n, sizeof(*pool->workers));
    if (!pool->workers)
        stop("memory");
    for (unsigned i = 0; i < pool->n; i++) {
        snprintf(pool->workers[i].dir, PATH_BYTES, "%s/%u", dir, i);
        if (mkdir(pool->workers[i].dir, 0700) < 0)
            stop(pool->workers[i].dir);
    }
    for (unsigned i = 0; pool->n > 1 && i < pool->n; i++)
        start(pool, i);
    return pool;
}

struct pool_answer pool_next(struct pool *pool)
{
    struct worker *w = &pool->workers[pool->next];
    struct head head;

    pool->next = (pool->next + 1) % pool->n;
    if (pool->n == 1)
        return pool->job(pool->arg, pool->seed++, w->dir, stdout);
    if (fread(&head, sizeof(head), 1, w->from) != 1) {
        fprintf(stderr, "a worker has died\n");
        pool_end(pool);
        abort();
    }
    while (head.text_len) {
        char part[4096];
        size_t want = head.text_len < sizeof(part) ? head.text_len
                                                   : sizeof(part);

        if (fread(part, 1, want, w->from) != want)
            stop("a worker");
        fwrite(part, 1, want, stdout);
        head.text_len -= want;
    }
    return head.answer;
}

/* Removes what a stopped worker has left. */
static void empty(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *e;

    while (dir && (e = readdir(dir)))
        if (e->d_name[0] != '.')
            unlinkat(dirfd(dir), e->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(path);
}

void pool_end(struct pool *pool)
{
    for (unsigned i = 0; i < pool->n; i++) {
        struct worker *w = &pool->workers[i];

        if (w->pid > 0) {
            kill(w->pid, SIGKILL);
            while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
                ;
            fclose(w->from);
        }
        empty(w->dir);
    }
    free(pool->workers);
    free(pool);
}
