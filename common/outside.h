/* outside.h - the environment of a process outside of the job's cgroups.
 *
 * finish and the watcher leave the job's cgroups, so the end of the job does
 * not end them. They must obey no variable of the job: many variables name a
 * program or a library to run (PATH, LD_PRELOAD, GCONV_PATH,
 * HWLOC_PLUGINS_PATH), a folder that has such names (HOME, XDG_CONFIG_HOME), or
 * where files and connections go (TMPDIR, HTTPS_PROXY, SSLKEYLOGFILE). New ones
 * appear with each release of a library, so there is no list of bad ones. The
 * table below is the whole environment.
 *
 * The SPANK module makes it for the start of finish. The programs make it once
 * more in their first lines, for starts by others (a site's epilog).
 */
#ifndef JP_COMMON_OUTSIDE_H
#define JP_COMMON_OUTSIDE_H

/* Calls ROW(name, value, who, why) for each variable. value NULL: kept as it
 * is, or absent. who: who may set it. */
#define JP_OUTSIDE_VARIABLES(ROW)                                              \
    ROW("PATH", "/usr/local/bin:/usr/bin:/bin", "jobprof",                     \
        "finish looks for fusermount, to unmount what a daemon left")          \
    ROW("LC_ALL", "C", "jobprof", "the libraries' messages and numbers")       \
    ROW("SLURM_CONF", NULL, "slurmstepd, or root's epilog",                    \
        "libslurm asks slurmctld how a job ended, and loads Slurm's plugins")

#endif
