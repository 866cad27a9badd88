/* copper_attach.c - attach=1: counters of a daemon that runs already, before
 * the step and after it.
 *
 * Nothing is started or stopped but a child each time, as a file system that
 * hangs must not hang the supervisor. The child tells by a pipe where the mount
 * is, or what went wrong.
 */
#include "plugins/copper/copper_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fileio.h"
#include "plugins/copper/copper_face.h"
#include "plugins/copper/copper_snap.h"

#define TEXT_MAX 4096 /* of a pipe's one write */

enum phase { BEFORE, DURING, AFTER, OVER };

struct attach {
    char *mount, *raw; /* mount NULL: to be found */
    enum phase phase;
    bool lost; /* what came after the step, and text says why */
    pid_t child;
    int from_child;
    char text[TEXT_MAX];
};

static void __attribute__((noreturn))
child(const struct attach *a, const char *to, int out)
{
    struct copper_target target;
    struct jp_error err = {""};
    const char *text;
    int rc;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    rc = copper_target_find(a->mount, &target, &err);
    if (rc == 0)
        rc = copper_snap(&target, to, &err);
    text = rc == 0 ? target.mount : err.text;
    if (write(out, text, strnlen(text, TEXT_MAX - 1)) < 0)
        rc = -1;
    _exit(rc < 0);
}

static int start_child(struct attach *a, const char *folder,
                       struct jp_error *err)
{
    char *to = fileio_path("%s/tables/%s", a->raw, folder);
    int ends[2];

    if (!to)
        return error_set(err, "out of memory");
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        free(to);
        return error_set(err, "no pipe: %s", strerror(errno));
    }
    a->child = fork();
    if (a->child == 0)
        child(a, to, ends[1]);
    close(ends[1]);
    free(to);
    if (a->child > 0) {
        a->from_child = ends[0];
        return 0;
    }
    close(ends[0]);
    return error_set(err, "no process: %s", strerror(errno));
}

/* 0: the child is at work; 1: done; -1: failed. a->text is what it said. */
static int poll_child(struct attach *a)
{
    int status = 0;
    ssize_t n;

    if (waitpid(a->child, &status, WNOHANG) == 0)
        return 0;
    a->child = 0;
    n = read(a->from_child, a->text, TEXT_MAX - 1);
    a->text[n > 0 ? n : 0] = '\0';
    close(a->from_child);
    a->from_child = -1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && n > 0)
        return 1;
    if (n <= 0)
        strncpy(a->text, "the process that asks Copper was killed",
                TEXT_MAX - 1);
    return -1;
}

static void end_child(struct attach *a)
{
    if (a->child > 0)
        kill(a->child, SIGKILL);
    if (a->from_child >= 0)
        close(a->from_child);
    a->child = 0;
    a->from_child = -1;
}

static void destroy(void *state)
{
    struct attach *a = state;

    if (!a)
        return;
    end_child(a);
    free(a->mount);
    free(a->raw);
    free(a);
}

static int start(const struct jp_jobconf *conf, const char *step_dir,
                 const char *node, void **state, struct jp_error *err)
{
    const char *mount = jobconf_copper(conf, "mount");
    struct attach *a = calloc(1, sizeof(*a));

    if (a) {
        a->from_child = -1;
        a->raw = fileio_path("%s/raw/%s", step_dir, node);
        a->mount = mount ? copper_face_expand(mount, node) : NULL;
    }
    if (!a || !a->raw || (mount && !a->mount))
        error_set(err, "out of memory");
    else if (start_child(a, "before", err) == 0) {
        *state = a;
        return 0;
    }
    destroy(a);
    return -1;
}

static int ready(void *state, struct jp_error *err)
{
    struct attach *a = state;
    int rc = a->phase == BEFORE ? poll_child(a) : 1;

    if (rc < 0) {
        a->phase = OVER;
        return error_set(err, "%s", a->text);
    }
    if (rc > 0 && a->phase == BEFORE) {
        a->phase = DURING;
        if (!a->mount)
            a->mount = strdup(a->text);
    }
    return rc;
}

static const char *place(void *state)
{
    return ((struct attach *) state)->mount;
}

/* What was counted before alone tells nothing of the step. */
static void lose(struct attach *a, const char *why)
{
    end_child(a);
    a->phase = OVER;
    a->lost = true;
    strncpy(a->text, why, TEXT_MAX - 1);
}

static int stop(void *state, bool force)
{
    struct attach *a = state;
    struct jp_error err;
    int rc;

    if (a->phase == BEFORE) {
        end_child(a);
        a->phase = OVER;
    }
    if (a->phase == DURING) {
        a->phase = AFTER;
        if (start_child(a, "final", &err) < 0)
            lose(a, err.text);
    }
    if (a->phase == AFTER && force)
        lose(a, "Copper does not answer");
    if (a->phase == AFTER && (rc = poll_child(a)) != 0) {
        a->phase = OVER;
        a->lost = rc < 0;
    }
    return a->phase == OVER;
}

static int collect(void *state, struct jp_error *err)
{
    const struct attach *a = state;

    return a->lost ? error_set(err, "no counters after the step: %s", a->text)
                   : 0;
}

const struct backend_runner copper_attach = {
    .start = start,
    .ready = ready,
    .place = place,
    .stop = stop,
    .collect = collect,
    .destroy = destroy,
};
