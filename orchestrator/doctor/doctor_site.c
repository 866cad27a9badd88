/* doctor_site.c - the settings files: whose, and whether they can be read. */
#include "orchestrator/doctor/doctor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/knownbad.h"
#include "common/ownvars.h"
#include "common/plan.h"
#include "common/sitefile.h"

struct report {
    struct doctor *doctor;
    const char *check;
};

static void note(void *arg, const char *text)
{
    struct report *r = arg;

    doctor_add(r->doctor, DOCTOR_FAIL, r->check,
               "jobprof config check tells all", "%s", text);
}

/* Whoever owns it decides for everybody. */
static void check_root(struct doctor *d, const char *path)
{
    struct jp_error err;
    struct stat st;

    if (stat(path, &st) == 0 && st.st_uid != 0)
        doctor_add(d, DOCTOR_WARN, "site file", "chown root",
                   "%s: owned by uid %ld; others' jobs do not take it", path,
                   (long) st.st_uid);
    else if (fileio_check_folders(path, &err) < 0)
        doctor_add(d, DOCTOR_WARN, "site file",
                   "who can write there decides for everybody", "%s", err.text);
    else
        doctor_add(d, DOCTOR_OK, "site file", "", "%s", path);
}

static void check_site(struct doctor *d, const char *path, bool named)
{
    struct report report = {d, "site file"};
    struct jp_sitefile file;

    if (access(path, F_OK) < 0 && !named) {
        doctor_add(d, DOCTOR_OK, "site file", "",
                   "%s is not there: the defaults hold", path);
        return;
    }
    if (sitefile_load(path, SITEFILE_SITE, true, note, &report, &file, NULL) <
        0)
        return;
    check_root(d, path);
    sitefile_fini(&file);
}

static void check_user(struct doctor *d, const struct plan_input *in)
{
    struct report report = {d, "user file"};
    char *path = plan_user_path(in);
    struct jp_sitefile file;

    if (path && access(path, F_OK) == 0 &&
        sitefile_load(path, SITEFILE_USER, true, note, &report, &file, NULL) ==
            0) {
        doctor_add(d, DOCTOR_OK, "user file", "", "%s", path);
        sitefile_fini(&file);
    }
    free(path);
}

/* What only shows when all meet: locks, and the list of known trouble. */
static void check_together(struct doctor *d, const struct plan_input *in)
{
    struct report report = {d, "known bad"};
    struct jp_knownbad list;
    struct jp_plan plan;
    struct jp_error err;
    const char *path, *named, *binds, *mounts, *cu_fuse, *root;

    if (plan_make(in, &plan, &err) < 0) {
        doctor_add(d, DOCTOR_FAIL, "settings", "", "%s", err.text);
        return;
    }
    named = plan_site(&plan, "nccl.known_bad");
    path = named ? named : JP_DEF_KNOWN_BAD;
    if (knownbad_load(path, named != NULL, note, &report, &list, NULL) == 0) {
        doctor_add(d, list.n ? DOCTOR_OK : DOCTOR_WARN, "known bad",
                   list.n ? "" : "no release of NCCL is warned of",
                   "%s: %zu entries", path, list.n);
        knownbad_fini(&list);
    }
    binds = plan_site(&plan, "container_binds");
    mounts = plan_site(&plan, "container_paths");
    d->binds = binds ? strdup(binds) : NULL;
    d->mounts = mounts ? strdup(mounts) : NULL;
    cu_fuse = plan_site(&plan, "copper.cu_fuse");
    root = plan_site(&plan, "copper.root");
    d->cu_fuse = cu_fuse ? strdup(cu_fuse)
                 : root  ? fileio_path("%s/build/cu_fuse", root)
                         : NULL;
    plan_fini(&plan);
}

static void check_names(struct doctor *d)
{
    const char *meant;
    char name[128];

    for (char **pair = environ; pair && *pair; pair++)
        if (ownvars_is_unknown(*pair, name, sizeof(name), &meant))
            doctor_add(d, DOCTOR_WARN, "variables", "it has no effect",
                       "%s is no variable of jobprof's%s%s%s", name,
                       meant ? "; did you mean " : "", meant ? meant : "",
                       meant ? "?" : "");
}

void doctor_site(struct doctor *d)
{
    bool named = d->options->config || d->site;
    struct plan_input in = {.default_mode = d->default_mode, .settled = true};
    unsigned before = d->count[DOCTOR_FAIL];

    if (d->options->config) {
        free(d->site);
        d->site = strdup(d->options->config);
    } else if (!d->site) {
        d->site = strdup(JP_DEF_SITE_FILE);
    }
    if (!d->site) {
        d->failed = true;
        return;
    }
    in.config = named ? d->site : NULL;
    check_site(d, d->site, named);
    check_user(d, &in);
    check_names(d);
    if (d->count[DOCTOR_FAIL] == before)
        check_together(d, &in);
}
