/* copper_target.c - find the daemon that is mounted on this node already. */
#include "plugins/copper/copper_target.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "plugins/copper/copper_mount.h"

#define CMDLINE_MAX (1024 * 1024)
#define HOST_MAX 256

/* --- the mount ------------------------------------------------------------ */

struct search {
    const char *wanted; /* NULL: any of Copper's */
    char **found;       /* the first, and one more */
};

static bool take(char **slot, const char *path)
{
    *slot = strdup(path);
    return !*slot;
}

/* Mounts of our own steps end with them. */
static bool is_ours(const char *path)
{
    static const char prefix[] = "/tmp/jobprof-copper-";

    return !strncmp(path, prefix, sizeof(prefix) - 1);
}

static bool see(const void *arg, const struct copper_mountinfo *mount)
{
    const struct search *search = arg;

    if (!copper_mountinfo_is_users(mount, geteuid()))
        return false;
    if (search->wanted
            ? strcmp(mount->point, search->wanted) != 0
            : strcmp(mount->type, "fuse.cu_fuse") != 0 || is_ours(mount->point))
        return false;
    return take(&search->found[search->found[0] != NULL], mount->point) ||
           search->wanted || search->found[1];
}

static int find_mount(const char *wanted, char **mount, struct jp_error *err)
{
    char *found[2] = {NULL, NULL};
    struct search search = {wanted, found};
    int rc = 0;

    copper_mount_each(see, &search);
    if (!found[0])
        rc = error_set(err, "%s%sno Copper of yours is mounted on this node",
                       wanted ? wanted : "", wanted ? ": " : "");
    else if (found[1])
        rc = error_set(err,
                       "Copper is mounted at %s and at %s: mount= says "
                       "which one",
                       found[0], found[1]);
    free(found[1]);
    if (rc < 0)
        free(found[0]);
    else
        *mount = found[0];
    return rc;
}

/* --- its daemon ----------------------------------------------------------- */

int copper_cmdline_parse(const char *text, size_t len,
                         struct copper_cmdline *out)
{
    const char *name = len ? strrchr(text, '/') : NULL;

    *out = (struct copper_cmdline){NULL, NULL, NULL};
    if (!len || strcmp(name ? name + 1 : text, "cu_fuse") != 0)
        return -1;
    for (size_t at = strlen(text) + 1, next; at < len; at = next) {
        next = at + strlen(text + at) + 1;
        out->last = text + at;
        if (next < len && !strcmp(text + at, "-log_output_dir"))
            out->logs = text + next;
        else if (next < len && !strcmp(text + at, "-vpath"))
            out->view = text + next;
    }
    return 0;
}

static bool is_at(const char *said, const char *mount)
{
    size_t n = said ? strlen(said) : 0;

    while (n > 1 && said[n - 1] == '/')
        n--;
    return n && n == strlen(mount) && !memcmp(said, mount, n);
}

/* A path is told as the daemon sees it. Caller frees. */
static char *absolute(const char *pid, const char *path)
{
    char cwd[PATH_MAX], *link = fileio_path("/proc/%s/cwd", pid);
    ssize_t n = -1;

    if (*path == '/') {
        free(link);
        return strdup(path);
    }
    if (link)
        n = readlink(link, cwd, sizeof(cwd) - 1);
    free(link);
    return n > 0 ? fileio_path("%.*s/%s", (int) n, cwd, path) : NULL;
}

/* Is that process the one? 1 and its name and log directory; 0: no. */
static int look_at(const char *pid, const char *mount,
                   struct copper_target *out)
{
    char *path = fileio_path("/proc/%s/cmdline", pid), *text = NULL;
    struct copper_cmdline line;
    char host[HOST_MAX] = "";
    size_t len = 0;
    int rc = 0;

    if (path && fileio_read(path, false, CMDLINE_MAX, &text, &len, NULL) == 0 &&
        copper_cmdline_parse(text, len, &line) == 0 && line.logs &&
        (is_at(line.view, mount) || is_at(line.last, mount)) &&
        gethostname(host, sizeof(host) - 1) == 0) {
        out->logs = absolute(pid, line.logs);
        out->name = fileio_path("%s-%s", host, pid);
        rc = out->logs && out->name;
    }
    free(text);
    free(path);
    return rc;
}

static bool is_users(const char *pid)
{
    char *path = fileio_path("/proc/%s", pid);
    struct stat st;
    bool yes = path && lstat(path, &st) == 0 && st.st_uid == geteuid();

    free(path);
    return yes;
}

static int find_daemon(struct copper_target *out, struct jp_error *err)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    int rc = 0;

    while (proc && !rc && (entry = readdir(proc)))
        if (isdigit((unsigned char) entry->d_name[0]) &&
            is_users(entry->d_name)) {
            rc = look_at(entry->d_name, out->mount, out);
            if (!rc) { /* no memory for one of two */
                free(out->logs);
                free(out->name);
                out->logs = out->name = NULL;
            }
        }
    if (proc)
        closedir(proc);
    return rc ? 0
              : error_set(err,
                          "%s: no cu_fuse with that -vpath and a "
                          "-log_output_dir runs here",
                          out->mount);
}

int copper_target_find(const char *mount, struct copper_target *out,
                       struct jp_error *err)
{
    struct copper_target target = {NULL, NULL, NULL};

    if (find_mount(mount, &target.mount, err) < 0)
        return -1;
    if (find_daemon(&target, err) < 0) {
        copper_target_fini(&target);
        return -1;
    }
    *out = target;
    return 0;
}

void copper_target_fini(struct copper_target *target)
{
    free(target->mount);
    free(target->logs);
    free(target->name);
    *target = (struct copper_target){NULL, NULL, NULL};
}
