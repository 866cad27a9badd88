/* resolve_dir.c - compute the step directory. */
#include "orchestrator/agent/resolve.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"

/* raw/<node>/<host>-pid<pid>-1.jpr has to follow within PATH_MAX. */
#define MAX_DIR 3000

static const char *env_of(const struct plan_input *in, const char *name,
                          const char *old_name)
{
    const char *value = plan_env(in, name);

    return value ? value : plan_env(in, old_name);
}

static uint64_t env_number(const struct plan_input *in, const char *name,
                           uint64_t absent)
{
    const char *text = plan_env(in, name);

    if (text)
        num_parse_u64(text, 0, UINT64_MAX, &absent, NULL);
    return absent;
}

/* The user's name: from the password file, so that srun and nodes agree under
 * any --export. */
static void user_name(const struct plan_input *in, char *buf, size_t len)
{
    const struct passwd *pw = getpwuid(getuid());
    const char *name = pw ? pw->pw_name : env_of(in, "SLURM_JOB_USER", "USER");

    if (name)
        snprintf(buf, len, "%s", name);
    else
        snprintf(buf, len, "%lu", (unsigned long) getuid());
}

int resolve_facts(const struct plan_input *in, struct resolve_facts *out,
                  struct jp_error *err)
{
    const char *job = env_of(in, "SLURM_JOB_ID", "SLURM_JOBID");
    const char *step = env_of(in, "SLURM_STEP_ID", "SLURM_STEPID");
    struct resolve_facts f = {0};
    uint64_t ignored;

    f.submit_dir = plan_env(in, "SLURM_SUBMIT_DIR");
    if (!job || num_parse_u64(job, 1, UINT32_MAX, &f.names.job_id, NULL) < 0)
        return error_set(err, "SLURM_JOB_ID is missing or no number");
    if (!step || num_parse_u64(step, 0, UINT32_MAX, &ignored, NULL) < 0)
        return error_set(err, "SLURM_STEP_ID is missing or no number");
    if (!f.submit_dir || *f.submit_dir != '/')
        return error_set(err, "SLURM_SUBMIT_DIR is missing or not absolute");
    f.names.step_id = step;
    f.names.job_name = plan_env(in, "SLURM_JOB_NAME");
    f.names.array_job_id = env_number(in, "SLURM_ARRAY_JOB_ID", f.names.job_id);
    f.names.array_task_id = env_number(in, "SLURM_ARRAY_TASK_ID", 0);
    f.restart = (uint32_t) env_number(in, "SLURM_RESTART_COUNT", 0);
    user_name(in, f.user, sizeof(f.user));
    *out = f;
    out->names.user = out->user;
    return 0;
}

bool resolve_names_job(const char *pattern)
{
    bool array = false, index = false;

    for (const char *c = pattern; (c = strchr(c, '%')) && c[1]; c += 2) {
        if (c[1] == 'j' || c[1] == 'J')
            return true;
        array = array || c[1] == 'A';
        index = index || c[1] == 'a';
    }
    return array && index;
}

/* What the pattern alone does not tell apart: other jobs in the same place, and
 * a requeued job, which comes again under its id. */
static void make_suffix(const char *pattern, const struct resolve_facts *facts,
                        char *buf, size_t len)
{
    char id[32] = "", run[32] = "";

    if (!resolve_names_job(pattern))
        snprintf(id, sizeof(id), "-%llu",
                 (unsigned long long) facts->names.job_id);
    if (facts->restart)
        snprintf(run, sizeof(run), "_r%u", facts->restart);
    snprintf(buf, len, "%s%s", id, run);
}

/* The job's directory, absolute, without trailing slashes. Caller frees. */
static char *job_dir(const struct jp_plan *plan,
                     const struct resolve_facts *facts, struct jp_error *err)
{
    const struct plan_value *dir = plan_find(&plan->nccl, "dir");
    char *text = pattern_expand(dir->value, &facts->names, err);
    char *path, suffix[64];
    size_t n;

    if (!text)
        return NULL;
    for (n = strlen(text); n > 1 && text[n - 1] == '/'; n--)
        text[n - 1] = '\0';
    make_suffix(dir->value, facts, suffix, sizeof(suffix));
    if (!text[1] && *text == '/')
        path = strdup(text); /* refused by check_path */
    else if (*text == '/')
        path = fileio_path("%s%s", text, suffix);
    else
        path = fileio_path("%s/%s%s", facts->submit_dir, text, suffix);
    free(text);
    if (!path)
        error_set(err, "out of memory");
    return path;
}

static int check_path(const char *path, struct jp_error *err)
{
    if (strlen(path) > MAX_DIR)
        return error_set(err, "the directory's path is longer than %d bytes",
                         MAX_DIR);
    for (const unsigned char *c = (const unsigned char *) path; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            return error_set(err, "%s: a control character in the path", path);
    /* it stands for the node's name in the tasks' variables */
    if (strstr(path, "%N"))
        return error_set(err, "%s: \"%%N\" in the path", path);
    if (!strcmp(path, "/") || path[strlen(path) - 1] == '/')
        return error_set(err, "%s: not a directory for a job", path);
    return 0;
}

/* .../.name instead of .../name. Caller frees. */
static char *hide(const char *path)
{
    const char *base = strrchr(path, '/') + 1;

    return fileio_path("%.*s.%s", (int) (base - path), path, base);
}

int resolve_place(const struct plan_input *in, const struct jp_plan *plan,
                  struct resolve_place *out, struct jp_error *err)
{
    struct resolve_place place = {.hidden = !resolve_is_explicit(plan)};
    struct resolve_facts facts;
    char *shown = NULL;
    int rc = -1;

    if (resolve_facts(in, &facts, err) < 0)
        return -1;
    shown = job_dir(plan, &facts, err);
    if (!shown || check_path(shown, err) < 0)
        goto out;
    place.job_dir = place.hidden ? hide(shown) : strdup(shown);
    place.final_dir =
        place.hidden ? fileio_path("%s/step-%s", shown, facts.names.step_id)
                     : strdup("");
    if (place.job_dir)
        place.step_dir =
            fileio_path("%s/step-%s", place.job_dir, facts.names.step_id);
    if (!place.step_dir || !place.final_dir) {
        error_set(err, "out of memory");
        goto out;
    }
    *out = place;
    place = (struct resolve_place){0};
    rc = 0;
out:
    resolve_place_fini(&place);
    free(shown);
    return rc;
}

void resolve_place_fini(struct resolve_place *place)
{
    free(place->job_dir);
    free(place->step_dir);
    free(place->final_dir);
    *place = (struct resolve_place){0};
}

int resolve_dir(const struct plan_input *in, char **dir, bool *hidden,
                struct jp_error *err)
{
    struct resolve_place place = {0};
    struct jp_plan plan;
    int rc = 0;

    if (plan_make(in, &plan, err) < 0)
        return -1;
    if (resolve_is_profiled(&plan)) {
        rc = resolve_place(in, &plan, &place, err);
        if (rc == 0) {
            *dir = place.step_dir;
            *hidden = place.hidden;
            place.step_dir = NULL;
        }
    } else {
        *dir = NULL;
    }
    resolve_place_fini(&place);
    plan_fini(&plan);
    return rc;
}
