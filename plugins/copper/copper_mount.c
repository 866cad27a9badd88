/* copper_mount.c - make, look at and end a FUSE mount point. */
#include "plugins/copper/copper_mount.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"

#define CLEAR_TRIES 200 /* of 10 ms */
#define SWEEP_TRIES 300
#define PROBE_S 10

bool copper_mount_each(bool (*see)(const void *arg,
                                   const struct copper_mountinfo *mount),
                       const void *arg)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    struct copper_mountinfo mount;
    bool seen = false;
    char *line = NULL;
    size_t room = 0;

    while (file && !seen && getline(&line, &room, file) > 0)
        if (copper_mountinfo_parse(line, &mount))
            seen = see(arg, &mount);
    free(line);
    if (file)
        fclose(file);
    return seen;
}

static bool is_same(const void *arg, const struct copper_mountinfo *mount)
{
    return !strcmp(arg, mount->point);
}

bool copper_mount_there(const char *path)
{
    return copper_mount_each(is_same, path);
}

/* In a child: what we wait for is blocked, an unmounter may be ended. */
static void unblock(void)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

pid_t copper_mount_probe(const char *path)
{
    pid_t pid = fork();
    DIR *dir;

    if (pid != 0)
        return pid;
    unblock();
    alarm(PROBE_S);
    dir = opendir(path);
    errno = 0;
    _exit(!dir || (!readdir(dir) && errno));
}

/* Not in the session of the daemon: a terminal's end is not ours. */
pid_t copper_mount_end(const char *path, bool lazy)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    unblock();
    execlp("fusermount3", "fusermount3", lazy ? "-uz" : "-u", path,
           (char *) NULL);
    execlp("fusermount", "fusermount", lazy ? "-uz" : "-u", path,
           (char *) NULL);
    _exit(127);
}

int copper_mount_reap(pid_t *pid)
{
    int status = 0;
    pid_t got = *pid > 0 ? waitpid(*pid, &status, WNOHANG) : -1;

    if (got == 0)
        return 0;
    *pid = 0;
    return got > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : -1;
}

/* Bounded: an unmounter of a dead connection does not wait. */
static void clear_dead(const char *path)
{
    const struct timespec tick = {0, 10000000};
    pid_t pid = copper_mount_end(path, true);

    for (int i = 0; i < CLEAR_TRIES && copper_mount_reap(&pid) == 0; i++)
        nanosleep(&tick, NULL);
    if (pid > 0)
        kill(pid, SIGKILL);
}

struct sweep {
    const char *prefix;
    bool *found;
};

/* A living one answers, or another user's refuses. */
static bool sweep_one(const void *arg, const struct copper_mountinfo *mount)
{
    const struct sweep *sweep = arg;
    const char *path = mount->point;
    struct stat st;

    if (!strncmp(path, sweep->prefix, strlen(sweep->prefix)) &&
        lstat(path, &st) < 0 && errno == ENOTCONN) {
        *sweep->found = true;
        clear_dead(path);
        rmdir(path);
    }
    return false;
}

/* In a child: one that hangs does not answer at all. */
static pid_t start_sweep(const char *prefix)
{
    bool found = false;
    const struct sweep sweep = {prefix, &found};
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    unblock();
    copper_mount_each(sweep_one, &sweep);
    _exit(!found);
}

bool copper_mount_sweep(const char *prefix)
{
    const struct timespec tick = {0, 10000000};
    pid_t pid = start_sweep(prefix);
    int rc = 0;

    for (int i = 0; i < SWEEP_TRIES && (rc = copper_mount_reap(&pid)) == 0; i++)
        nanosleep(&tick, NULL);
    if (pid > 0)
        kill(pid, SIGKILL);
    return rc > 0;
}

static int check_folder(const char *path, struct jp_error *err)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return error_set(err, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return error_set(err, "%s: not a folder (links are refused)", path);
    if (st.st_uid != geteuid())
        return error_set(err, "%s: belongs to uid %lu, not to you", path,
                         (unsigned long) st.st_uid);
    return 0;
}

int copper_mount_prepare(const char *path, bool *made, struct jp_error *err)
{
    struct stat st;

    *made = false;
    if (lstat(path, &st) < 0 && errno == ENOTCONN)
        clear_dead(path);
    else if (copper_mount_there(path))
        return error_set(err, "%s: something is mounted there", path);
    if (lstat(path, &st) < 0 && errno == ENOENT) {
        if (fileio_mkdirs(path, err) < 0)
            return -1;
        *made = true;
    }
    return check_folder(path, err);
}
