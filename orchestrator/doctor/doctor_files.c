/* doctor_files.c - check files in the site's settings other than the profilers:
 * peaks, baseline, topologies, the vendors' libraries, where metrics go, and
 * what commands check of theirs. */
#include "orchestrator/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/peaks.h"
#include "common/quote.h"
#include "common/sitefile.h"
#include "orchestrator/metrics/metrics.h"

/* Entries of the spool that are named, and age of a collection that is late. */
enum { SPOOL_NAMES = 5, COLLECT_LATE_S = 300 };

/* One row for each key: what is lost without the file, and how to correct
 * it. */
static const struct named {
    const char *key, *lost, *advice;
    bool on_nodes; /* this host need not have it */
} rows[] = {
    {"peaks_file", "bandwidth is compared only within the step",
     "write it (peaks.conf(5)), or remove the key", false},
    {"baseline_file", "bandwidth is not compared with earlier steps",
     "write it with jobprof baseline (jobprof-baseline(1)), or remove the key",
     false},
    {"nvml_library", "NVLinks and NVIDIA GPUs are not read",
     "name the driver's libnvidia-ml.so.1, or remove the key", true},
    {"rsmi_library", "AMD GPUs are not read",
     "name ROCm's librocm_smi64.so, or remove the key", true},
};

/* Adds one error in a file (peaks_report). */
static void note(void *arg, const char *text)
{
    doctor_add(arg, DOCTOR_FAIL, "site files",
               "jobprof config check lists all mistakes", "%s", text);
}

/* Checks one file. The nodes' libraries need not exist on this host. */
static void check_named(struct doctor *d, const struct named *row,
                        const char *path)
{
    struct jp_peaks peaks = {0};
    struct jp_error err;

    /* From the simplest mistake to the one in the file itself. */
    if (access(path, R_OK) < 0)
        doctor_add(d, row->on_nodes ? DOCTOR_WARN : DOCTOR_FAIL, "site files",
                   row->advice, "%s: %s: %s (%s)", row->key, path,
                   strerror(errno), row->lost);
    else if (!row->on_nodes && fileio_check_site(path, &err) < 0)
        doctor_add(d, DOCTOR_FAIL, "site files",
                   "chown root and chmod go-w, also the folders above it",
                   "%s: %s", row->key, err.text);
    else if (!strcmp(row->key, "peaks_file") &&
             peaks_load(path, note, d, &peaks, &err) < 0)
        return; /* each error was added by note() */
    else
        doctor_add(d, DOCTOR_OK, "site files", "", "%s: %s", row->key, path);
    peaks_fini(&peaks);
}

/* A path with "%N" as a glob pattern that matches any node's name. Caller
 * frees; NULL: no memory. */
static char *pattern_of(const char *path)
{
    const char *at = strstr(path, "%N");

    return at ? text_format("%.*s*%s", (int) (at - path), path, at + 2)
              : strdup(path);
}

/* Checks the topology files of all nodes that exist here. */
static void check_topologies(struct doctor *d, const char *path)
{
    char *pattern = pattern_of(path);
    glob_t found = {0};
    struct jp_error err;
    size_t n;

    n = pattern && glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    for (size_t i = 0; i < n; i++)
        if (fileio_check_site(found.gl_pathv[i], &err) < 0)
            doctor_add(d, DOCTOR_FAIL, "site files",
                       "chown root and chmod go-w, also the folders above it",
                       "topology_file: %s", err.text);
    if (n)
        doctor_add(d, DOCTOR_OK, "site files", "",
                   "topology_file: %s: %zu file%s here", path, n,
                   n == 1 ? "" : "s");
    else
        doctor_add(d, DOCTOR_WARN, "site files",
                   "write one on a node with lstopo --whole-io NAME.xml, or "
                   "remove the key",
                   "topology_file: %s: no such file on this host; each job "
                   "examines its nodes itself",
                   path);
    globfree(&found);
    free(pattern);
}

/* Adds what a command found out about its keys (doctor_add_site). */
static void add_site(void *arg, bool good, const char *check,
                     const char *advice, const char *line)
{
    doctor_add(arg, good ? DOCTOR_OK : DOCTOR_FAIL, check, good ? "" : advice,
               "%s", line);
}

/* What lies in the spool and does not belong there. */
struct spool_look {
    struct doctor *d;
    size_t n;
};

/* Names the first entries that are no step's files. A callback of
 * metricsfile_each. */
static int look_at_entry(void *arg, const struct metricsfile_entry *entry)
{
    struct spool_look *look = arg;
    char name[80];

    if (entry->state == METRICSFILE_GOOD || entry->state == METRICSFILE_TEMP ||
        entry->state == METRICSFILE_GONE || entry->state == METRICSFILE_STALE)
        return 0;
    if (++look->n <= SPOOL_NAMES)
        doctor_add(look->d, DOCTOR_WARN, "metrics",
                   "jobprof metrics collect removes it, unless it is a folder "
                   "with content",
                   "metrics.spool_dir: %s of uid %lu: %s",
                   clean_text(entry->name, JP_CLEAN_UTF8, name, sizeof(name)),
                   (unsigned long) entry->st.st_uid,
                   metricsfile_words[entry->state]);
    return 0;
}

/* Checks the spool, in which agents write as the users of their jobs. This host
 * need not have it. */
static void check_spool(struct doctor *d, const char *folder)
{
    struct spool_look look = {d, 0};
    struct jp_error err;
    struct stat st;
    /* The same check that the agents make. */
    int fd = metricsfile_open(folder, &err);

    if (fd < 0 && access(folder, F_OK) < 0)
        doctor_add(d, DOCTOR_WARN, "metrics",
                   "run on the nodes: install -d -m 1777 FOLDER",
                   "metrics.spool_dir: %s: %s", folder, strerror(errno));
    else if (fd < 0)
        doctor_add(
            d, DOCTOR_FAIL, "metrics",
            "chown root and chmod 1777: it must belong to root and be sticky",
            "metrics.spool_dir: %s", err.text);
    else if (fstat(fd, &st) < 0 || !(st.st_mode & (S_IWGRP | S_IWOTH)))
        doctor_add(d, DOCTOR_FAIL, "metrics",
                   "chmod 1777, or 3770 with a group of all users: users must "
                   "be able to write there",
                   "metrics.spool_dir: %s", folder);
    else
        doctor_add(d, DOCTOR_OK, "metrics", "", "metrics.spool_dir: %s%s",
                   folder,
                   st.st_mode & S_IWOTH ? "" : " (only users in its group)");
    if (fd < 0)
        return;
    close(fd);
    if (metricsfile_each(folder, look_at_entry, &look, NULL) == 0 &&
        look.n > SPOOL_NAMES)
        doctor_add(d, DOCTOR_WARN, "metrics", "",
                   "metrics.spool_dir: %zu more of these",
                   look.n - SPOOL_NAMES);
}

/* Checks the folder that node_exporter reads. This host need not have it. */
static void check_textfile(struct doctor *d, const char *folder)
{
    char *path = text_format("%s/" METRICSCOLLECT_NAME, folder);
    struct jp_error err;
    struct stat st;
    int fd = metricsfile_open(folder, &err);
    time_t now = time(NULL);

    if (fd < 0 && access(folder, F_OK) < 0)
        doctor_add(d, DOCTOR_WARN, "metrics",
                   "run on the nodes: install -d -m 755 FOLDER",
                   "metrics.textfile_dir: %s: %s", folder, strerror(errno));
    else if (fd < 0 || fstat(fd, &st) < 0 || (st.st_mode & (S_IWGRP | S_IWOTH)))
        doctor_add(d, DOCTOR_FAIL, "metrics",
                   "chown root and chmod 755, remove what users have put "
                   "there, and let root run jobprof metrics collect "
                   "(docs/metrics.md)",
                   "metrics.textfile_dir: %s: users can write to the folder "
                   "that node_exporter reads, and stop or flood it",
                   folder);
    else if (path && stat(path, &st) < 0)
        doctor_add(d, DOCTOR_WARN, "metrics",
                   "run on the nodes: systemctl enable --now "
                   "jobprof-metrics.timer",
                   "metrics.textfile_dir: %s: nothing was collected yet",
                   folder);
    else if (path && now - st.st_mtime > COLLECT_LATE_S)
        doctor_add(d, DOCTOR_WARN, "metrics",
                   "see journalctl -u jobprof-metrics",
                   "metrics.textfile_dir: %s: collected %lld s ago", folder,
                   (long long) (now - st.st_mtime));
    else
        doctor_add(d, DOCTOR_OK, "metrics", "", "metrics.textfile_dir: %s",
                   folder);
    if (fd >= 0)
        close(fd);
    free(path);
}

/* Checks both folders, if the site wants metrics. */
static void check_metrics(struct doctor *d, const struct jp_sitefile *file)
{
    struct jp_site_metrics site;

    sitefile_metrics(file, &site);
    if (site.spool)
        check_spool(d, site.spool);
    if (site.textfile)
        check_textfile(d, site.textfile);
    else if (site.spool)
        doctor_add(d, DOCTOR_WARN, "metrics",
                   "set metrics.textfile_dir (jobprof.conf(5))",
                   "metrics.spool_dir is set, but nothing collects from it");
}

/* Loads the site file; its errors were reported by an earlier check. */
static bool ignore_errors(struct jp_sitefile *site, const char *path)
{
    return sitefile_load(path, SITEFILE_SITE, false, NULL, NULL, site, NULL) ==
           0;
}

/* Checks each key that the site file has. */
static void check_files(struct doctor *d)
{
    struct jp_sitefile site = {0};
    const struct sitefile_value *value;
    size_t lines = d->n_lines;

    /* Without a site file there is nothing to check. */
    if (!d->site || access(d->site, F_OK) < 0 || !ignore_errors(&site, d->site))
        return;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        value = sitefile_find(&site, rows[i].key);
        if (value)
            check_named(d, &rows[i], value->value);
    }
    value = sitefile_find(&site, "topology_file");
    if (value)
        check_topologies(d, value->value);
    if (d->options->check_site)
        d->options->check_site(&site, add_site, d);
    /* No key was set: mention the most useful one. */
    if (d->n_lines == lines)
        doctor_add(d, DOCTOR_SKIP, "site files", "",
                   "no peaks_file: bandwidth is compared only within the step "
                   "(peaks.conf(5))");
    check_metrics(d, &site);
    sitefile_fini(&site);
}

void doctor_files(struct doctor *d)
{
    check_files(d);
}
