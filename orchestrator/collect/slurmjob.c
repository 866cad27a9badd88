/* slurmjob.c - ask the controller for a job's working directory. */
#include "config.h"

#include "orchestrator/collect/slurmjob.h"

#include <stddef.h>

#ifdef HAVE_SLURM
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <slurm/slurm.h>

#include "orchestrator/collect/clock.h"

static int load_job(job_info_msg_t **jobs, uint32_t job_id)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
    slurm_step_id_t id = {
        .job_id = job_id, .step_id = NO_VAL, .step_het_comp = NO_VAL};

    return slurm_load_job(jobs, id, SHOW_ALL);
#else
    return slurm_load_job(jobs, job_id, SHOW_ALL);
#endif
}

/* In the child: writes the directory to fd. Never returns. */
static void answer(int fd, uint32_t job_id)
{
    job_info_msg_t *jobs = NULL;
    int null = open("/dev/null", O_RDWR);
    const char *dir = NULL;

    if (null >= 0)
        dup2(null, STDERR_FILENO); /* libslurm complains there */
    slurm_init(NULL);
    if (load_job(&jobs, job_id) == 0 && jobs->record_count > 0)
        dir = jobs->job_array[0].work_dir;
    if (dir && strlen(dir) < PATH_MAX)
        _exit(write(fd, dir, strlen(dir)) < 0);
    _exit(1);
}

/* Reads until end of file, a full buffer or the deadline. */
static size_t read_answer(int fd, char *buf, size_t max)
{
    uint64_t deadline = clock_mono_ms() + JP_SLURMJOB_WAIT_MS;
    struct pollfd end = {.fd = fd, .events = POLLIN};
    size_t len = 0;

    while (len < max) {
        uint64_t now = clock_mono_ms();
        ssize_t n;

        if (now >= deadline || poll(&end, 1, (int) (deadline - now)) == 0)
            return 0;
        n = read(fd, buf + len, max - len);
        if (n == 0)
            return len;
        if (n < 0 && errno != EINTR)
            return 0;
        len += n > 0 ? (size_t) n : 0;
    }
    return len;
}

char *slurmjob_work_dir(uint32_t job_id)
{
    char dir[PATH_MAX];
    int ends[2];
    size_t len = 0;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return NULL;
    pid = fork();
    if (pid == 0)
        answer(ends[1], job_id);
    close(ends[1]);
    if (pid > 0) {
        len = read_answer(ends[0], dir, sizeof(dir) - 1);
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
    return len > 0 && dir[0] == '/' ? strndup(dir, len) : NULL;
}
#else
char *slurmjob_work_dir(uint32_t job_id)
{
    (void) job_id;
    return NULL;
}
#endif
