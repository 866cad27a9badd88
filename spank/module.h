/* module.h - what the files of the SPANK module share.
 * In srun and slurmstepd the module does no work itself: it runs helper
 * programs as the user, bounded in time, and copies their answers into the
 * environment. Contract: docs/dev/contracts.md. No function here fails a step.
 */
#ifndef JP_SPANK_MODULE_H
#define JP_SPANK_MODULE_H

#include "config.h"
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <slurm/spank.h>
#include "common/sitelog.h" /* for the site: failures under its default */
/* helper.c: a program that is run as the user */
struct helper {
    const char *argv[32]; /* path, verb, options; the words are borrowed */
    int argc;
    /* unfiltered, borrowed; helper_run picks what a helper may see. Not used
     * with leave: then common/outside.h has the whole environment */
    char **env;
    const struct jobinfo *user; /* in slurmstepd: who to become; else NULL */
    /* The program's parent ends at once, so that the host's wait3() and
     * proctrack/linuxproc do not see it. It may go on after its answer; its
     * exit status is lost. */
    bool orphan;
    /* The program leaves the job's cgroups, if the host is root. When it has
     * ended, what is left in its group is killed. */
    bool leave;
    int fd[3];  /* the program's 0..2; -1: /dev/null; helper_run closes them */
    pid_t pid;  /* its process group; 0: not started */
    pid_t self; /* the orphan's own pid */
    int seen;   /* the orphan's folder in /proc; -1: not opened yet */
    char said[256]; /* first line of stderr, if fd[2] is a memfd */
};
void helper_arg(struct helper *h, const char *name, const char *value);
/* Runs the program, and returns its exit status (0..255). Below 0: it did not
 * start, gave no answer, died by a signal, or was not done after ms; then its
 * group is killed. *answer (answer may be NULL) gets its stdout, which ends in
 * a line of a single dot, and is valid until the next call. */
int helper_run(struct helper *h, int ms, char **answer);
void helper_end(struct helper *h); /* an orphan, or NULL: SIGTERM, SIGKILL */
/* jobinfo.c: facts of the step for a helper; pointers are the host's */
struct jobinfo {
    uid_t uid;
    gid_t gid, *gids;
    int ngids;
    char job[12], nodeid[12], nodes[12], tasks[12]; /* job: the component's */
    const char *script;  /* "batch", "interactive"; NULL: a step of srun */
    const char *command; /* argv[0] or NULL */
    char **env;          /* the job's environment, in slurmstepd */
};
/* -1, silently: an extern step, or an item is missing. */
int jobinfo_get(spank_t sp, struct jobinfo *j);
const char *jobinfo_getenv(char **env, const char *name);
void jobinfo_node_args(const struct jobinfo *j, struct helper *h);
#endif
