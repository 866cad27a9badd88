/* sim_toil.c - work that a rank really does: it computes, reads, writes,
 * touches memory. */
#include "contrib/ncclsim/sim_toil.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "contrib/ncclsim/sim_pace.h"

/* How much less nice the rival is than the rank, if that may be set: the rank
 * has about a tenth of the processor. Of two processes with equal niceness, the
 * one that sleeps most of the time hardly waits. The rival begins when the rank
 * first computes. */
enum { RIVAL_NICE = -10 };
enum { FILE_BYTES = 64 << 20, CHUNK = 1 << 20, PAGE = 4096 };

struct jp_sim_toil {
    int fd;
    char *chunk;
    char *map;
    size_t at; /* position in the file */
    pid_t rival;
    int rival_in; /* pipe to the rival, which begins after a line; -1: no rival,
                     or it has begun */
};

/* Returns the processor time of this thread. */
static int64_t used_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* Starts the rival. Its environment is empty, so that nothing shows that it
 * belongs to the step. It ends with this process. */
static int start_rival(struct jp_sim_toil *toil, struct jp_error *err)
{
    static const char *const argv[] = {"sh", "-c",
                                       "read go; while :; do :; done", NULL};
    static char *const env[] = {NULL};
    int work[2];

    if (pipe2(work, O_CLOEXEC) < 0)
        return error_set(err, "no pipe: %s", strerror(errno));
    signal(SIGCHLD,
           SIG_IGN); /* otherwise its processor time would count as ours */
    toil->rival = fork();
    toil->rival_in = work[1];
    fcntl(work[1], F_SETFL, O_NONBLOCK);
    if (toil->rival < 0)
        error_set(err, "no process: %s", strerror(errno));
    if (toil->rival == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(work[0], STDIN_FILENO);
        /* no session of its own, because kernels with autogroup give each
         * session an equal share */
        setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + RIVAL_NICE);
        execve("/bin/sh", (char **) argv, env);
        _exit(127);
    }
    close(work[0]);
    return toil->rival < 0 ? -1 : 0;
}

/* Makes the file and maps it. Returns -1 and err on failure. */
static int make_file(struct jp_sim_toil *toil, struct jp_error *err)
{
    char name[] = ".ncclsim-XXXXXX";
    size_t done;

    toil->chunk = aligned_alloc(PAGE, CHUNK);
    if (!toil->chunk)
        return error_set(err, "no memory");
    memset(toil->chunk, 0x5A, CHUNK);
    toil->fd = mkostemp(name, O_CLOEXEC);
    if (toil->fd < 0)
        return error_set(err, "no file: %s", strerror(errno));
    unlink(name);
    for (done = 0; done < FILE_BYTES; done += CHUNK) {
        if (pwrite(toil->fd, toil->chunk, CHUNK, (off_t) done) != CHUNK)
            return error_set(err, "no file: %s", strerror(errno));
    }
    fdatasync(toil->fd); /* only clean pages can be dropped from memory */
    toil->map = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, toil->fd, 0);
    if (toil->map == MAP_FAILED)
        return error_set(err, "no memory: %s", strerror(errno));
    /* no read-ahead, so that each page is a fault */
    madvise(toil->map, FILE_BYTES, MADV_RANDOM);
    return 0;
}

struct jp_sim_toil *sim_toil_create(unsigned needs, struct jp_error *err)
{
    struct jp_sim_toil *toil = calloc(1, sizeof(*toil));

    if (!toil) {
        error_set(err, "no memory");
        return NULL;
    }
    toil->fd = toil->rival_in = -1;
    toil->map = MAP_FAILED;
    if ((!(needs & SIM_TOIL_RIVAL) || start_rival(toil, err) == 0) &&
        (!(needs & SIM_TOIL_FILE) || make_file(toil, err) == 0))
        return toil;
    sim_toil_destroy(toil);
    return NULL;
}

void sim_toil_destroy(struct jp_sim_toil *toil)
{
    if (!toil)
        return;
    if (toil->rival > 0)
        kill(toil->rival, SIGKILL);
    if (toil->rival_in >= 0)
        close(toil->rival_in);
    if (toil->map != MAP_FAILED)
        munmap(toil->map, FILE_BYTES);
    if (toil->fd >= 0)
        close(toil->fd);
    free(toil->chunk);
    free(toil);
}

/* Uses the processor for ns of this thread's time. */
static void compute(int64_t ns)
{
    int64_t until = used_ns() + ns;
    volatile unsigned n;

    while (used_ns() < until)
        for (n = 0; n < 20000; n++)
            ;
}

int64_t sim_toil_compute(struct jp_sim_toil *toil, int64_t ns)
{
    int64_t began = sim_pace_now_ns();

    (void) toil;
    compute(ns);
    return sim_pace_now_ns() - began;
}

/* Binds this thread and the rival to one processor and lets the rival begin. */
static void begin_rival(struct jp_sim_toil *toil)
{
    cpu_set_t set;
    int cpu = sched_getcpu();

    CPU_ZERO(&set);
    CPU_SET(cpu < 0 ? 0 : (size_t) cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) == 0 &&
        sched_setaffinity(toil->rival, sizeof(set), &set) == 0)
        /* only if both are bound: otherwise it would disturb others */
        (void) !write(toil->rival_in, "go\n", 3);
    close(toil->rival_in);
    toil->rival_in = -1;
}

int64_t sim_toil_share(struct jp_sim_toil *toil, int64_t ns)
{
    int64_t late;

    if (toil->rival_in >= 0)
        begin_rival(toil);
    late = sim_toil_compute(toil, ns) - ns;
    return late > 0 ? late : 0;
}

/* Begins at the start of the file again, and drops its pages from memory. */
static void rewind_file(struct jp_sim_toil *toil)
{
    toil->at = 0;
    madvise(toil->map, FILE_BYTES, MADV_DONTNEED);
    posix_fadvise(toil->fd, 0, FILE_BYTES, POSIX_FADV_DONTNEED);
}

/* Calls `some` until the time is over. Returns the time that it took. */
static int64_t work_for(struct jp_sim_toil *toil, int64_t ns,
                        void (*some)(struct jp_sim_toil *toil))
{
    int64_t began = sim_pace_now_ns();
    int64_t now = began;

    while (now < began + ns) {
        if (toil->at >= FILE_BYTES)
            rewind_file(toil);
        some(toil);
        now = sim_pace_now_ns();
    }
    return now - began;
}

/* Reads a piece of the file. */
static void read_some(struct jp_sim_toil *toil)
{
    if (toil->at == 0)
        rewind_file(toil);
    if (pread(toil->fd, toil->chunk, CHUNK, (off_t) toil->at) < 0)
        return;
    toil->at += CHUNK;
}

/* Writes a piece of the file to the disk. */
static void write_some(struct jp_sim_toil *toil)
{
    if (pwrite(toil->fd, toil->chunk, CHUNK, (off_t) toil->at) < 0)
        return;
    fdatasync(toil->fd);
    toil->at += CHUNK;
}

/* Touches a page that is not in memory. */
static void touch_some(struct jp_sim_toil *toil)
{
    if (toil->at == 0)
        rewind_file(toil);
    (void) *(volatile char *) (toil->map + toil->at);
    toil->at += PAGE;
}

int64_t sim_toil_read(struct jp_sim_toil *toil, int64_t ns)
{
    return work_for(toil, ns, read_some);
}

int64_t sim_toil_write(struct jp_sim_toil *toil, int64_t ns)
{
    return work_for(toil, ns, write_some);
}

int64_t sim_toil_fault(struct jp_sim_toil *toil, int64_t ns)
{
    return work_for(toil, ns, touch_some);
}
