/* resolve_copper.c - Copper's part of job.conf: how its daemons are started. */
#include "orchestrator/agent/resolve.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"

#define SECOND_US 1000000ULL
#define SETTLE_S 10 /* of KillWait: what else a daemon needs to end */

static const char *site(const struct jp_plan *plan, const char *key)
{
    for (size_t i = 0; i < PLAN_COPPER_KEYS; i++)
        if (!strcmp(plan_copper_keys[i], key))
            return plan->copper_site[i].value;
    return NULL;
}

/* The user's root= goes before the site's cu_fuse. Caller frees; NULL: none is
 * named, or no memory. */
static char *find_daemon(const struct jp_plan *plan)
{
    const struct plan_value *root = plan_find(&plan->copper, "root");
    const char *named = site(plan, "cu_fuse");

    if (root->value && (root->source > PLAN_SITE || !named))
        return fileio_path("%s/build/cu_fuse", root->value);
    return named ? strdup(named) : NULL;
}

/* It uses a daemon that runs already. */
static bool attaches(const struct jp_plan *plan)
{
    return plan_number(&plan->copper, "attach") != 0;
}

const char *resolve_copper_refusal(const struct resolve_input *in,
                                   const struct jp_plan *plan)
{
    char *daemon;

    if (!plan->copper.mode)
        return "it is off";
    if (!in->owner)
        return "only srun can start its daemons";
    if (plan_env(&in->plan, "SLURM_HET_SIZE"))
        return "not in the steps of a heterogeneous job";
    if (attaches(plan))
        return NULL;
    daemon = find_daemon(plan);
    free(daemon);
    return daemon ? NULL
                  : "no cu_fuse is named (root=, or the site's "
                    "copper.cu_fuse or copper.root)";
}

static int add(struct jp_jobconf *conf, const char *key, const char *value,
               const char *source, const char *where, const char *reason,
               struct jp_error *err)
{
    struct jp_setting one = {(char *) key, (char *) value, (char *) source,
                             (char *) where, (char *) reason};

    return resolve_add_setting(&conf->copper_settings, &conf->n_copper_settings,
                               &one, err);
}

static int add_number(struct jp_jobconf *conf, const char *key, uint64_t number,
                      const struct plan_value *from, const char *reason,
                      struct jp_error *err)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, number);
    return add(conf, key, text,
               from ? plan_source_words[from->source] : "Slurm",
               from ? from->where : "", reason, err);
}

/* Copper sleeps through an unmount until its interval is over. */
static int add_interval(const struct jp_plan *plan, uint32_t kill_wait_s,
                        struct jp_jobconf *conf, char **note,
                        struct jp_error *err)
{
    const struct plan_value *from = plan_find(&plan->copper, "interval");
    uint64_t s = plan_number(&plan->copper, "interval") / SECOND_US;
    uint64_t most = kill_wait_s > SETTLE_S ? kill_wait_s - SETTLE_S : 0;
    char reason[160] = "";

    if (!from->value)
        return 0;
    if (s > most) {
        snprintf(reason, sizeof(reason),
                 "%s is more than KillWait (%" PRIu32 " s) - %d s: the "
                 "profile would be lost at the step's end",
                 from->value, kill_wait_s, SETTLE_S);
        if (resolve_note(note, err, "Copper: interval is %" PRIu64 " s%s: %s",
                         most, most ? "" : " (no snapshots)", reason) < 0)
            return -1;
        s = most;
    }
    return add_number(conf, "interval", s, from, reason, err);
}

static int add_variable(struct jp_jobconf *conf, const char *mount,
                        struct jp_error *err)
{
    struct jp_envvar *env =
        reallocarray(conf->env, conf->n_env + 1, sizeof(*env));

    if (!env)
        return error_set(err, "out of memory");
    conf->env = env;
    env += conf->n_env++;
    *env = (struct jp_envvar){
        .name = strdup(JP_COPPER_MOUNT),
        .value = strdup(mount),
        .reason = strdup(*mount ? "where Copper is mounted on the node"
                                : "where the node finds Copper mounted")};
    return env->name && env->value && env->reason
               ? 0
               : error_set(err, "out of memory");
}

/* %N: nodes may share /tmp, and the first to end would take the folder away.
 * Of a Copper that runs already each node finds the mount itself. */
static int add_mount(const struct jp_plan *plan, const char *job,
                     const char *step, struct jp_jobconf *conf,
                     struct jp_error *err)
{
    const struct plan_value *from = plan_find(&plan->copper, "mount");
    char *own = fileio_path("/tmp/jobprof-copper-%lu-%s.%s-%%N",
                            (unsigned long) getuid(), job, step);
    const char *mount = from->value ? from->value : attaches(plan) ? "" : own;
    int rc = mount ? 0 : error_set(err, "out of memory");

    if (rc == 0 && *mount)
        rc = add(conf, "mount", mount, plan_source_words[from->source],
                 from->value ? from->where : "", "", err);
    if (rc == 0)
        rc = add_variable(conf, mount, err);
    free(own);
    return rc;
}

/* A daemon's own flags stand; who gave others is told. */
static int note_idle(const struct jp_plan *plan, char **note,
                     struct jp_error *err)
{
    static const char *const keys[] = {"top", "interval", "ttl", "root"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (plan_find(&plan->copper, keys[i])->source > PLAN_SITE &&
            resolve_note(note, err,
                         "Copper: %s has no effect with attach=1: the daemon "
                         "runs already",
                         keys[i]) < 0)
            return -1;
    return 0;
}

static int add_site(const struct jp_plan *plan, struct jp_jobconf *conf,
                    struct jp_error *err)
{
    char *daemon = find_daemon(plan);
    int rc = daemon ? add(conf, "cu_fuse", daemon, "site file", "", "", err)
                    : error_set(err, "out of memory");

    free(daemon);
    for (size_t i = 0; i < PLAN_COPPER_KEYS && rc == 0; i++) {
        const struct plan_value *from = &plan->copper_site[i];

        if (from->value && strcmp(plan_copper_keys[i], "cu_fuse") != 0)
            rc = add(conf, plan_copper_keys[i], from->value,
                     plan_source_words[from->source], from->where, "", err);
    }
    return rc;
}

/* The knobs but for those that are worked out here. */
static int add_knobs(const struct plan_side *side, struct jp_jobconf *conf,
                     struct jp_error *err)
{
    struct jp_setting *knobs = NULL;
    size_t n = 0;
    int rc = resolve_settings(side, &knobs, &n, err);

    for (size_t i = 0; i < n && rc == 0; i++)
        if (strcmp(knobs[i].key, "interval") != 0 &&
            strcmp(knobs[i].key, "mount") != 0)
            rc = resolve_add_setting(&conf->copper_settings,
                                     &conf->n_copper_settings, &knobs[i], err);
    resolve_free_settings(knobs, n);
    return rc;
}

static int add_mode(const struct plan_side *side, const char *refusal,
                    struct jp_jobconf *conf, struct jp_error *err)
{
    const char *mode = refusal ? "off" : side->grammar->modes[side->mode].name;

    return add(conf, "mode", mode, plan_source_words[side->mode_source],
               side->mode_where, refusal ? refusal : "", err);
}

int resolve_copper(const struct resolve_input *in, const struct jp_plan *plan,
                   struct jp_jobconf *conf, char **note, struct jp_error *err)
{
    const struct plan_side *side = &plan->copper;
    const char *refusal = resolve_copper_refusal(in, plan);
    uint32_t kill_wait_s = in->kill_wait_s ? in->kill_wait_s
                                           : JP_DEF_KILL_WAIT_S;
    char job[24];

    conf->copper_request = strdup(side->grammar->modes[side->mode].name);
    if (!conf->copper_request)
        return error_set(err, "out of memory");
    if (!side->mode)
        return 0;
    if (add_mode(side, refusal, conf, err) < 0 ||
        add_knobs(side, conf, err) < 0)
        return -1;
    if (refusal)
        return resolve_note(note, err, "Copper does not run: %s", refusal);
    snprintf(job, sizeof(job), "%" PRIu64, conf->job_id);
    if (add_mount(plan, job, conf->step_id, conf, err) < 0 ||
        (attaches(plan)
             ? note_idle(plan, note, err)
             : add_interval(plan, kill_wait_s, conf, note, err) < 0 ||
                   add_site(plan, conf, err) < 0))
        return -1;
    return add_number(conf, "kill_wait", kill_wait_s, NULL,
                      in->kill_wait_s ? "KillWait in seconds"
                                      : "Slurm's default: it did not answer",
                      err);
}
