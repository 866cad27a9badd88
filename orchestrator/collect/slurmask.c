/* slurmask.c - ask libslurm in a process of its own. */
#include "config.h"

#include "orchestrator/collect/slurmask.h"

#ifdef HAVE_SLURM
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <slurm/slurm.h>

#include "common/child.h"

struct question {
    slurmask_answer *answer;
    const void *arg;
    char *buf;
    size_t len;
};

/* In the child: writes the answer to fd. */
static int ask(void *arg, int fd)
{
    const struct question *q = arg;
    int null = open("/dev/null", O_RDWR);

    if (null >= 0)
        dup2(null, STDERR_FILENO); /* libslurm complains there */
    slurm_init(NULL);
    if (!q->answer(q->arg, q->buf))
        return 1;
    for (size_t at = 0; at < q->len;) {
        ssize_t n = write(fd, q->buf + at, q->len - at);

        if (n <= 0)
            return 1;
        at += (size_t) n;
    }
    return 0;
}

bool slurmask(slurmask_answer *answer, const void *arg, unsigned wait_ms,
              void *out, size_t len)
{
    struct question q = {answer, arg, calloc(1, len), len};
    const struct child child = {
        .work = ask, .arg = &q, .limit_ms = wait_ms, .out = q.buf, .room = len};
    struct child_result r;
    bool whole = q.buf && child_succeeded(child_run(&child, &r), &r) &&
                 r.len == len;

    if (whole)
        memcpy(out, q.buf, len);
    free(q.buf);
    return whole;
}
#else
bool slurmask(slurmask_answer *answer, const void *arg, unsigned wait_ms,
              void *out, size_t len)
{
    (void) answer;
    (void) arg;
    (void) wait_ms;
    (void) out;
    (void) len;
    return false;
}
#endif
