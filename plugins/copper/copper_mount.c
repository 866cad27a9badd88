/* copper_mount.c - make, examine and end a FUSE mount point.
 *
 * Anything that touches a mounted path may hang with its daemon. So whether a
 * path is mounted is read from /proc/self/mountinfo, and everything else is
 * done by children, with a limit or a caller that polls (copper_mount_reap).
 * The first part parses mountinfo. */
#include "plugins/copper/copper_mount.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/fileio.h"
#include "common/lines.h"
#include "common/ownplace.h"

#define POINT 4     /* fields before the mount point */
#define SEPARATOR 6 /* at least as many fields before the " - " */

/* Three octal digits up to \377. */
static bool is_octal(const char *text)
{
    return text[0] >= '0' && text[0] <= '3' && text[1] >= '0' &&
           text[1] <= '7' && text[2] >= '0' && text[2] <= '7';
}

/* The kernel writes blank, tab, newline and backslash as \ooo. In place. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *c = text; *c; to++) {
        /* a NUL would cut the path */
        if (*c == '\\' && is_octal(c + 1) && memcmp(c + 1, "000", 3) != 0) {
            *to = (char) ((c[1] - '0') * 64 + (c[2] - '0') * 8 + c[3] - '0');
            c += 4;
        } else {
            *to = *c++;
        }
    }
    *to = '\0';
}

/* The next field, which may not be empty; NULL: there is none. */
static char *field(char **rest)
{
    char *word = strsep(rest, " ");

    return word && *word ? word : NULL;
}

bool copper_mountinfo_parse(char *line, struct copper_mountinfo *out)
{
    char *rest = line, *point = NULL, *type, *source, *word;

    line[strcspn(line, "\n")] = '\0';
    /* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw": the
     * number of optional fields before the dash varies
     * (proc_pid_mountinfo(5)) */
    for (unsigned i = 0; (word = field(&rest)); i++) {
        if (i == POINT)
            point = word;
        if (i >= SEPARATOR && !strcmp(word, "-"))
            break;
    }
    type = word ? field(&rest) : NULL;
    source = type ? field(&rest) : NULL;
    if (!point || !source)
        return false;
    unescape(point);
    *out = (struct copper_mountinfo){
        .point = point, .type = type, .options = rest ? rest : ""};
    return true;
}

bool copper_mountinfo_is_users(const struct copper_mountinfo *mount,
                               unsigned long uid)
{
    static const char key[] = "user_id=";
    const char *at = mount->options;

    while ((at = strstr(at, key))) {
        bool begins = at == mount->options || at[-1] == ',';
        unsigned long id = 0;
        unsigned digits = 0;

        /* at most ten digits, so the number cannot overflow */
        for (at += sizeof(key) - 1; *at >= '0' && *at <= '9' && digits < 10;
             at++, digits++)
            id = id * 10 + (unsigned long) (*at - '0');
        if (begins && digits && (!*at || *at == ','))
            return id == uid;
    }
    return false;
}

/* --- make, look at and end a FUSE mount point --- */

#define CLEAR_MS 2000 /* limit for unmounting what a dead daemon left */
#define SWEEP_MS 3000 /* limit for all mounts of a sweep */
#define SWEEP_STEP_MS 50
#define PROBE_S 10 /* after this, a probe is killed by SIGALRM */

bool copper_mount_each(bool (*see)(const void *arg,
                                   const struct copper_mountinfo *mount),
                       const void *arg)
{
    struct jp_lines *lines =
        lines_open("/proc/self/mountinfo", &lines_limits[LINES_KERNEL], NULL);
    struct copper_mountinfo mount;
    bool seen = false;
    char *line;
    size_t len;

    while (lines && !seen && lines_next(lines, &line, &len, NULL) > 0)
        if (copper_mountinfo_parse(line, &mount))
            seen = see(arg, &mount);
    lines_close(lines);
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

/* Child: reads the folder, which asks the daemon. Exit status 0: it
 * answered. */
static int look_into(void *path, int out)
{
    DIR *dir;

    (void) out;
    alarm(PROBE_S);
    dir = opendir(path);
    errno = 0;
    return !dir || (!readdir(dir) && errno);
}

/* Of fuse3 and fuse2. They are set-uid, so the user may unmount. */
static const char *const programs[] = {"fusermount3", "fusermount"};

/* Relative folders are skipped: the working directory may be anybody's. */
char *copper_mount_program(const char *dirs)
{
    char *copy = strdup(dirs ? dirs : ""), *rest = copy, *dir, *found = NULL;

    while (!found && (dir = strsep(&rest, ":")))
        for (size_t i = 0; i < sizeof(programs) / sizeof(*programs) && !found;
             i++) {
            found = text_format("%s/%s", dir, programs[i]);
            if (found && (*dir != '/' || access(found, X_OK) < 0)) {
                free(found);
                found = NULL;
            }
        }
    free(copy);
    return found;
}

/* Child: becomes the program. */
static int unmount(void *path, int out)
{
    (void) out;
    for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
        execlp(programs[i], programs[i], "-u", path, (char *) NULL);
    return 127;
}

/* Child: a mount in use is detached at once and ends with its last user. */
static int unmount_lazily(void *path, int out)
{
    (void) out;
    for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
        execlp(programs[i], programs[i], "-uz", path, (char *) NULL);
    return 127;
}

/* The child stays in the supervisor's session. The daemon has a session of its
 * own (copper_runner.c), so the end of a terminal does not reach the daemon. */
pid_t copper_mount_start(const char *path, enum copper_mount_work work)
{
    static int (*const works[])(void *, int) = {
        [COPPER_MOUNT_LOOK] = look_into,
        [COPPER_MOUNT_END] = unmount,
        [COPPER_MOUNT_END_LAZILY] = unmount_lazily};

    return child_start(
        &(struct child){.work = works[work], .arg = (char *) path});
}

int copper_mount_reap(pid_t *pid)
{
    int status = 0;
    int rc = *pid > 0 ? child_await(*pid, 0, &status) : -1;

    if (rc == 0)
        return 0;
    *pid = 0;
    return rc > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : -1;
}

/* Unmounts what a dead daemon left. Bounded, although an unmount of a dead
 * connection does not wait. */
static void clear_dead(const char *path)
{
    child_run(&(struct child){.work = unmount_lazily,
                              .arg = (char *) path,
                              .limit_ms = CLEAR_MS,
                              .dies_with_us = true},
              NULL);
}

/* A sweep examines each mount in a process of its own, so that one that hangs
 * does not hold up the others. */
enum { SWEEP_MAX = 32 };
struct sweep {
    const char *prefix;
    pid_t pid[SWEEP_MAX];
    size_t n;
};

/* Child: unmounts the path if its daemon is dead (ENOTCONN). A living daemon
 * answers, and another user's refuses. The folder stays: removing it would also
 * end the mounts of other nodes that share its file system. */
static int clear_if_dead(void *path, int out)
{
    struct stat st;

    (void) out;
    if (ownplace_check_parent(path, NULL) != 0 || lstat(path, &st) == 0 ||
        errno != ENOTCONN)
        return 1;
    clear_dead(path);
    return 0;
}

/* Starts a child for a mount whose path begins with the prefix. Returns true
 * when there is no place for more. */
static bool sweep_one(const void *arg, const struct copper_mountinfo *mount)
{
    struct sweep *sweep = (struct sweep *) arg;
    const struct child child = {.work = clear_if_dead,
                                .arg = (char *) mount->point,
                                .dies_with_us = true};

    if (strncmp(mount->point, sweep->prefix, strlen(sweep->prefix)) == 0)
        sweep->pid[sweep->n++] = child_start(&child);
    return sweep->n == SWEEP_MAX;
}

bool copper_mount_sweep(const char *prefix)
{
    struct sweep sweep = {.prefix = prefix};
    uint32_t left_ms = SWEEP_MS;
    bool found = false;

    copper_mount_each(sweep_one, &sweep);
    for (size_t i = 0; i < sweep.n; i++) {
        int status = 1, rc = -1;

        /* wait in short steps, because the limit is for all children
         * together */
        while (sweep.pid[i] > 0 &&
               (rc = child_await(sweep.pid[i], left_ms ? SWEEP_STEP_MS : 0,
                                 &status)) == 0 &&
               left_ms)
            left_ms -= SWEEP_STEP_MS;
        found |= rc > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (rc == 0) {
            kill(sweep.pid[i], SIGKILL);
            child_await(sweep.pid[i], SWEEP_STEP_MS, &status);
        }
    }
    return found;
}

/* The mount point must be a folder of ours, and no link. */
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

char *copper_mount_real(const char *path, struct jp_error *err)
{
    char *copy = strdup(path), *slash, *real = NULL, *out = NULL;
    size_t n = copy ? strlen(copy) : 0;
    int fd;

    /* mountinfo has paths without slashes at the end */
    while (n > 1 && copy[n - 1] == '/')
        copy[--n] = '\0';
    slash = copy ? strrchr(copy, '/') : NULL;
    if (!slash || !slash[1]) {
        error_set(err, "%s: not a mount point", path);
        free(copy);
        return NULL;
    }
    /* only the parent is resolved: the last component may be a mount that
     * hangs */
    *slash = '\0';
    if (!*copy)
        out = text_format("/%s", slash + 1);
    else if ((fd = ownplace_make(copy, OWNPLACE_ANY, err)) >= 0) {
        close(fd);
        if ((real = ownplace_real(copy, OWNPLACE_ANY, err)) &&
            !(out = text_format("%s/%s", real, slash + 1)))
            error_set(err, "out of memory");
    }
    free(real);
    free(copy);
    return out;
}

int copper_mount_prepare(const char *path, bool *made, struct jp_error *err)
{
    struct stat st;
    int why = lstat(path, &st) < 0 ? errno : 0;

    *made = false;
    /* root's helper will end this mount by its path, so nobody else may be able
     * to move it */
    if (why != ENOENT && ownplace_check_parent(path, err) < 0)
        return -1;
    /* the daemon of an earlier step died here */
    if (why == ENOTCONN)
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
