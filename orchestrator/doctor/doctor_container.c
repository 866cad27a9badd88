/* doctor_container.c - do pyxis' containers see the profiler's library? */
#include "orchestrator/doctor/doctor.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"

#define FSTAB_MAX_BYTES (64 * 1024)
#define MOUNTS "/etc/enroot/mounts.d/*.fstab"

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

void doctor_container(struct doctor *d)
{
    glob_t files = {0};
    bool found = false;

    if (!d->pyxis) {
        doctor_add(d, DOCTOR_SKIP, "container", "",
                   "no pyxis in the plugin stack");
        return;
    }
    if (glob(MOUNTS, 0, NULL, &files) == 0)
        for (size_t i = 0; i < files.gl_pathc && !found && d->recorder; i++)
            found = file_has(files.gl_pathv[i], d->recorder);
    globfree(&files);
    if (found)
        doctor_add(d, DOCTOR_OK, "container", "", "%s is mounted by " MOUNTS,
                   d->recorder);
    else
        doctor_add(d, DOCTOR_WARN, "container",
                   "mount its folder for all (" MOUNTS
                   ") or by --container-mounts; so the folder of the reports",
                   "no mount makes %s visible in containers",
                   d->recorder ? d->recorder : "the recorder");
}
