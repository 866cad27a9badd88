/* doctor_programs.c - jobprof's programs and Slurm's, their place and release.
 */
#include "config.h"

#include "orchestrator/doctor/doctor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"

#define VERSION_MS 5000

/* This program's folder, or NULL. Caller frees. */
static char *own_folder(const char *self)
{
    const char *slash = self ? strrchr(self, '/') : NULL;

    return slash ? strndup(self, (size_t) (slash - self)) : NULL;
}

/* Beside this program (a build folder), else where it was installed to. */
static char *find_node_program(const struct doctor *d)
{
    char *folder = own_folder(d->options->self);
    char *path = folder ? fileio_path("%s/jobprof-node", folder) : NULL;

    if (!path || access(path, X_OK) < 0) {
        free(path);
        path = strdup(JP_LIBEXECDIR "/jobprof-node");
    }
    free(folder);
    return path;
}

/* Only root and we can change the file itself; its folder is this program's. */
static bool others_only_read(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
           (st.st_uid == 0 || st.st_uid == geteuid());
}

static void check_node_program(struct doctor *d)
{
    char *argv[] = {d->node_program, (char *) "--version", NULL};
    char *said = NULL;
    struct jp_error err;

    if (access(d->node_program, X_OK) < 0) {
        doctor_add(d, DOCTOR_FAIL, "programs", "install jobprof as a whole",
                   "%s: %s", d->node_program, strerror(errno));
        return;
    }
    if (!doctor_trusts(d, "programs", d->node_program))
        return;
    if (!others_only_read(d->node_program)) {
        doctor_add(d, DOCTOR_SKIP, "programs", "",
                   "%s is not run: others can change it", d->node_program);
        return;
    }
    if (doctor_command(argv, VERSION_MS, false, &said, &err) != 0)
        doctor_add(d, DOCTOR_FAIL, "programs", "", "%s --version fails: %s",
                   d->node_program, said ? "exit status" : err.text);
    else if (strcmp(said, "jobprof-node " PACKAGE_VERSION "\n") != 0)
        doctor_add(d, DOCTOR_FAIL, "programs",
                   "both programs must be of one release",
                   "%s is not of release " PACKAGE_VERSION, d->node_program);
    else
        doctor_add(d, DOCTOR_OK, "programs", "",
                   "jobprof and %s are of release " PACKAGE_VERSION,
                   d->node_program);
    free(said);
}

/* "slurm-wlm 22.05.8": the release of srun, which loads the module. */
static void check_srun(struct doctor *d)
{
    static char *const argv[] = {(char *) "srun", (char *) "--version", NULL};
    char *said = NULL, *at;
    struct jp_error err;
    uint64_t major, minor;

    if (doctor_command(argv, VERSION_MS, false, &said, &err) != 0) {
        doctor_add(d, DOCTOR_SKIP, "slurm", "", "srun cannot be asked: %s",
                   said ? "srun --version fails" : err.text);
        free(said);
        return;
    }
    said[strcspn(said, "\n")] = '\0';
    at = strchr(said, ' ');
    at = at ? at + 1 : said;
    if (strlen(at) < 5 || at[2] != '.' ||
        num_parse_u64(strndupa(at, 2), 0, 99, &major, NULL) < 0 ||
        num_parse_u64(strndupa(at + 3, 2), 0, 99, &minor, NULL) < 0) {
        doctor_add(d, DOCTOR_WARN, "slurm", "",
                   "srun --version says \"%s\": no release of Slurm", said);
    } else {
        d->srun_major = (unsigned) major;
        d->srun_minor = (unsigned) minor;
        doctor_add(d, DOCTOR_OK, "slurm", "", "srun is of Slurm %s", at);
    }
    free(said);
}

void doctor_programs(struct doctor *d)
{
    d->node_program = find_node_program(d);
    if (!d->node_program) {
        d->failed = true;
        return;
    }
    check_node_program(d);
    check_srun(d);
}
