/* doctor_container.c - will containers see the profiler's library? */
#include "orchestrator/doctor/doctor.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/knob.h"

#define CHECK "container"
#define FSTAB_MAX_BYTES (64 * 1024)
#define MOUNTS "/etc/enroot/mounts.d/*.fstab"
#define HOOKS "/etc/enroot/hooks.d/*jobprof*.sh"
#define BINDS "JOBPROF_BINDS"

/* Does a line "SOURCE TARGET ..." mount path, or a folder above it, where it
 * is? */
static bool line_has(char *line, const char *path)
{
    char *rest = line, *source = strsep(&rest, " \t"), *target;
    size_t n;

    while (rest && (*rest == ' ' || *rest == '\t'))
        rest++;
    target = strsep(&rest, " \t");
    if (*source != '/' || !target || strcmp(source, target) != 0)
        return false;
    n = strlen(source);
    return strncmp(path, source, n) == 0 &&
           (path[n] == '/' || path[n] == '\0' || source[n - 1] == '/');
}

static bool file_has(const char *file, const char *path)
{
    char *text, *rest, *line;
    bool found = false;

    if (fileio_read(file, true, FSTAB_MAX_BYTES, &text, NULL, NULL) < 0)
        return false;
    rest = text;
    while (!found && (line = strsep(&rest, "\n")))
        found = line_has(line, path);
    free(text);
    return found;
}

static bool is_mounted(const char *path)
{
    glob_t files = {0};
    bool found = false;

    if (path && glob(MOUNTS, 0, NULL, &files) == 0)
        for (size_t i = 0; i < files.gl_pathc && !found; i++)
            found = file_has(files.gl_pathv[i], path);
    globfree(&files);
    return found;
}

/* enroot passes over hooks that it may not run. */
static bool has_hook(void)
{
    glob_t files = {0};
    bool found = false;

    if (glob(HOOKS, 0, NULL, &files) == 0)
        for (size_t i = 0; i < files.gl_pathc && !found; i++)
            found = access(files.gl_pathv[i], X_OK) == 0;
    globfree(&files);
    return found;
}

static void check_pyxis(struct doctor *d)
{
    const char *library = d->library ? d->library : "the profiler";
    bool told = d->binds && knob_list_has(d->binds, BINDS), hook = has_hook();

    if (hook && told)
        doctor_add(d, DOCTOR_OK, CHECK, "",
                   HOOKS " mounts what " BINDS " says");
    else if (hook || told)
        doctor_add(d, DOCTOR_WARN, CHECK,
                   "one without the other mounts nothing (jobprof.conf(5))",
                   hook ? HOOKS " is there, container_binds has no " BINDS
                        : "container_binds has " BINDS ", there is no " HOOKS);
    else if (is_mounted(d->library))
        doctor_add(d, DOCTOR_OK, CHECK, "", "%s is mounted by " MOUNTS,
                   library);
    else if (d->mounts)
        doctor_add(d, DOCTOR_OK, CHECK, "",
                   "containers are said to show other paths: %s", d->mounts);
    else
        doctor_add(d, DOCTOR_WARN, CHECK,
                   "install the hook for enroot and set container_binds "
                   "(jobprof.conf(5)), or mount both for all (" MOUNTS ")",
                   "nothing makes %s and the reports' folder visible in "
                   "containers",
                   library);
}

/* A variable that no shell takes would leave all nodes unprofiled. */
static void check_names(struct doctor *d)
{
    char *copy = d->binds ? strdup(d->binds) : NULL, *rest = copy, *name;

    while ((name = strsep(&rest, ",")))
        if (strpbrk(name, ".-") || (*name >= '0' && *name <= '9'))
            doctor_add(d, DOCTOR_FAIL, CHECK, "steps run unprofiled",
                       "container_binds: %s is no variable's name", name);
    free(copy);
}

/* What is mapped but not there is mapped for nobody. */
static void check_paths(struct doctor *d)
{
    char *copy = d->mounts ? strdup(d->mounts) : NULL, *rest = copy, *pair;

    while ((pair = strsep(&rest, ","))) {
        char *host = strsep(&pair, "=");

        if (access(host, F_OK) < 0)
            doctor_add(d, DOCTOR_WARN, CHECK, "tasks' paths stay as they are",
                       "container_paths: %s is not here", host);
    }
    free(copy);
}

void doctor_container(struct doctor *d)
{
    check_names(d);
    check_paths(d);
    if (d->pyxis)
        check_pyxis(d);
    else if (d->binds || d->mounts)
        doctor_add(d, DOCTOR_OK, CHECK, "", "by %s%s%s%s%s",
                   d->binds ? "container_binds " : "", d->binds ? d->binds : "",
                   d->binds && d->mounts ? ", " : "",
                   d->mounts ? "container_paths " : "",
                   d->mounts ? d->mounts : "");
    else
        doctor_add(d, DOCTOR_SKIP, CHECK, "",
                   "no pyxis in the plugin stack, no container_ keys");
}
