/* util_gpu.c - query the drivers' libraries for samples, in a child process.
 *
 * A driver may hang or crash inside its library. The parent sends the step's
 * processes over a socket pair and the child answers with one row a GPU;
 * util_gpus_take kills a child that takes too long. serve is the child's
 * side. */
#include "plugins/util/util_gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/owncost.h"

/* A whole message of the child for each question (SOCK_SEQPACKET). */
struct answer {
    uint32_t n;               /* number of rows */
    char why[200];            /* n is 0: there will be no more */
    uint64_t cpu_us, max_rss; /* of the child so far */
    struct util_row rows[UTIL_GPUS_MAX];
};

struct util_gpus_child {
    pid_t pid;
    bool asked, first; /* an answer is due; it is the first one */
    uint64_t asked_ms;
    struct answer answer;
};

/* Both parts are one allocation, so free(gpus) frees them. */
struct whole {
    struct util_gpus gpus;
    struct util_gpus_child child;
};

/* Size of a message with n rows: the unused ones are not sent. */
static size_t answer_bytes(uint32_t n)
{
    return offsetof(struct answer, rows) + n * sizeof(struct util_row);
}

/* Microseconds. */
static uint64_t read_clock(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t) t.tv_sec * 1000000 + (uint64_t) t.tv_nsec / 1000;
}

/* Size of a question. A list that is not whole is sent without its
 * processes. */
static size_t pids_bytes(uint32_t n)
{
    return offsetof(struct procfs_pids, pid) +
           (n <= PROCFS_PIDS_MAX ? n : 0) * sizeof(uint32_t);
}

/* Adds what the child has cost so far, which the parent cannot see. */
static void tell_cost(struct answer *answer)
{
    answer->max_rss = owncost_peak_bytes();
    /* drivers have threads of their own */
    answer->cpu_us = owncost_process_us();
}

/* What the child has loaded; a node may have GPUs of both makers. */
struct drivers {
    struct util_nvml *nvml;
    struct util_rsmi *rsmi;
    char why[200]; /* why there is neither */
};

/* Loads both libraries. Where AMD's library does not exist, its error is empty
 * and NVIDIA's is reported. */
static void load_drivers(const char *nvml, const char *rsmi,
                         const char *numbers, struct drivers *out)
{
    struct jp_error err = {""}, why = {""};

    *out = (struct drivers){.nvml = util_nvml_open(nvml, numbers, &err),
                            .rsmi = util_rsmi_open(rsmi, numbers, &why)};
    snprintf(out->why, sizeof(out->why), "%.199s",
             *why.text ? why.text : err.text);
}

/* NVIDIA's rows come before AMD's. Returns their number. */
static size_t read_drivers(const struct drivers *drivers,
                           const struct procfs_pids *pids,
                           struct util_row *rows)
{
    uint64_t mono_us = read_clock(CLOCK_MONOTONIC);
    size_t n = 0;

    if (drivers->nvml)
        n = util_nvml_read(drivers->nvml, read_clock(CLOCK_REALTIME), mono_us,
                           pids, rows);
    if (drivers->rsmi)
        n += util_rsmi_read(drivers->rsmi, mono_us, pids, rows + n,
                            UTIL_GPUS_MAX - n);
    return n;
}

/* The child: answers questions until the parent closes the socket. Loading
 * waits for the driver, so it happens here and not before the fork. */
static void __attribute__((noreturn))
serve(int fd, const char *nvml, const char *rsmi, const char *numbers)
{
    struct answer *answer = calloc(1, sizeof(*answer));
    struct procfs_pids *pids = calloc(1, sizeof(*pids));
    struct drivers drivers = {NULL, NULL, "out of memory"};
    bool any;

    if (answer && pids)
        load_drivers(nvml, rsmi, numbers, &drivers);
    any = drivers.nvml || drivers.rsmi;
    /* without a GPU, the first answer says why and the child ends */
    while (answer && pids && recv(fd, pids, sizeof(*pids), 0) > 0) {
        if (any)
            answer->n = (uint32_t) read_drivers(&drivers, pids, answer->rows);
        else
            memcpy(answer->why, drivers.why, sizeof(answer->why));
        tell_cost(answer);
        if (send(fd, answer, answer_bytes(answer->n), MSG_NOSIGNAL) < 0 || !any)
            break;
    }
    _exit(0);
}

struct util_gpus *util_gpus_start(const char *nvml, const char *rsmi,
                                  const char *numbers, struct jp_error *err)
{
    struct whole *whole = calloc(1, sizeof(*whole));
    int fd[2] = {-1, -1};
    pid_t parent = getpid();
    struct util_gpus_child *child;
    struct util_gpus *gpus;

    if (!whole ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0) {
        error_set(err, "no GPU: %s", strerror(errno));
        free(whole);
        return NULL;
    }
    gpus = &whole->gpus;
    child = gpus->child = &whole->child;
    child->first = true;
    child->pid = fork();
    if (child->pid == 0) {
        close(fd[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* the parent may have died before prctl() */
        if (getppid() == parent)
            serve(fd[1], nvml, rsmi, numbers);
        _exit(0);
    }
    close(fd[1]);
    gpus->fd = fd[0];
    /* the parent's side only: the child may wait */
    fcntl(gpus->fd, F_SETFL, O_NONBLOCK);
    if (child->pid > 0)
        return gpus;
    error_set(err, "no GPU: %s", strerror(errno));
    util_gpus_stop(gpus);
    return NULL;
}

/* A second question while the first is open would make the child fall
 * behind. */
void util_gpus_ask(struct util_gpus *gpus, uint64_t now_ms,
                   const struct procfs_pids *pids)
{
    if (gpus->fd < 0 || gpus->child->asked ||
        send(gpus->fd, pids, pids_bytes(pids->n), MSG_NOSIGNAL) < 0)
        return;
    gpus->child->asked = true;
    gpus->child->asked_ms = now_ms;
}

/* Kills the child. One that does not die, because it is stuck in a driver, is
 * left to init after 50 ms. */
static void end_child(struct util_gpus *gpus)
{
    if (gpus->fd >= 0)
        close(gpus->fd);
    gpus->fd = -1;
    if (gpus->child->pid <= 0)
        return;
    kill(gpus->child->pid, SIGKILL);
    for (int i = 0; i < 50 && waitpid(gpus->child->pid, NULL, WNOHANG) == 0;
         i++)
        usleep(1000);
    gpus->child->pid = 0;
}

int util_gpus_take(struct util_gpus *gpus, uint64_t now_ms,
                   struct util_row *out, struct jp_error *err)
{
    uint64_t limit = gpus->child->first ? UTIL_GPU_FIRST_MS : UTIL_GPU_LIMIT_MS;
    struct answer *a = &gpus->child->answer;
    ssize_t n;

    if (gpus->fd < 0)
        return 0;
    n = recv(gpus->fd, a, sizeof(*a), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        /* nothing to read: is the child too slow? */
        if (!gpus->child->asked || now_ms - gpus->child->asked_ms < limit)
            return 0;
        end_child(gpus);
        return error_set(err,
                         "GPUs are no longer sampled: their driver did not "
                         "answer within %u s",
                         (unsigned) (limit / 1000));
    }
    gpus->child->asked = gpus->child->first = false;
    /* n is 0 when the child has ended; other sizes are not trusted */
    if (n < (ssize_t) answer_bytes(0) || a->n > UTIL_GPUS_MAX ||
        (size_t) n != answer_bytes(a->n)) {
        end_child(gpus);
        return error_set(err, "GPUs are no longer sampled: the process that "
                              "queried their driver ended");
    }
    gpus->cpu_us = a->cpu_us;
    gpus->max_rss = a->max_rss;
    if (a->n == 0) {
        a->why[sizeof(a->why) - 1] = '\0';
        end_child(gpus);
        return error_set(err, "%s", a->why);
    }
    for (uint32_t i = 0; i < a->n; i++) {
        out[i] = a->rows[i];
        /* the row comes from another process */
        out[i].id[UTIL_ID_MAX - 1] = '\0';
    }
    return (int) a->n;
}

void util_gpus_stop(struct util_gpus *gpus)
{
    if (gpus)
        end_child(gpus);
    free(gpus);
}
