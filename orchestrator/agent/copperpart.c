/* copperpart.c - Copper's part of job.conf: how its daemons are started. */
#include "orchestrator/agent/launch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "orchestrator/agent/settings.h"
#include "plugins/copper/copper_flags.h"

#define SECOND_US 1000000ULL
/* Seconds of KillWait that a daemon needs for its other work at the end. */
#define SETTLE_S 10

/* The path of Copper's daemon: the user's root= takes precedence over the
 * site's cu_fuse. Caller frees. NULL: no daemon is named, or no memory. */
static char *find_daemon(const struct jp_plan *plan)
{
    const struct plan_value *root = plan_find(&plan->copper, "root");
    const char *named = plan_site(plan, "copper.cu_fuse");

    if (root->value && (root->source > PLAN_SITE || !named))
        return text_format("%s/build/cu_fuse", root->value);
    return named ? strdup(named) : NULL;
}

/* Whether the step uses a daemon that already runs. */
static bool attaches(const struct jp_plan *plan)
{
    return plan_number(&plan->copper, "attach") != 0;
}

const char *copperpart_refusal(const struct launch_facts *facts,
                               const struct jp_plan *plan)
{
    char *daemon;

    if (!plan->copper.mode)
        return "it is off";
    if (!facts->owner)
        return "only srun can start its daemons";
    if (facts->het)
        return "it does not run in steps of a heterogeneous job";
    /* An attached daemon is neither started nor configured here. */
    if (attaches(plan))
        return NULL;
    daemon = find_daemon(plan);
    free(daemon);
    return daemon ? NULL
                  : "cu_fuse is not set (root=, or the site's copper.cu_fuse "
                    "or copper.root)";
}

/* Appends one setting (copied) to job.conf's copper.settings. */
static int add(struct jp_jobconf *conf, const char *key, const char *value,
               const char *source, const char *where, const char *reason,
               struct jp_error *err)
{
    struct jp_setting one = {(char *) key, (char *) value, (char *) source,
                             (char *) where, (char *) reason};

    return settings_add(&conf->copper_settings, &conf->n_copper_settings, &one,
                        err);
}

/* The same for a number. from: the plan's value that it derives from; NULL:
 * Slurm. */
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

/* Adds the interval of snapshots. It must be shorter than KillWait, because
 * Copper sleeps through an unmount until its interval is over, and Slurm would
 * kill it before it writes its profile. */
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
    /* Shorten the interval, or use no snapshots at all. */
    if (s > most) {
        snprintf(reason, sizeof(reason),
                 "%s is more than KillWait (%" PRIu32 " s) - %d s: the "
                 "profile would be lost at the step's end",
                 from->value, kill_wait_s, SETTLE_S);
        if (lines_add(note, err, "Copper: interval is %" PRIu64 " s%s: %s",
                      most, most ? "" : " (no snapshots)", reason) < 0)
            return -1;
        s = most;
    }
    return add_number(conf, "interval", s, from, reason, err);
}

/* Adds COPPER_MOUNT for the tasks. mount "": each node fills it in. */
static int add_variable(struct jp_jobconf *conf, const char *mount,
                        struct jp_error *err)
{
    return jobconf_add_env(conf, JP_COPPER_MOUNT, strdup(mount),
                           *mount ? "where Copper is mounted on the node"
                                  : "where the node finds Copper mounted",
                           false, err);
}

/* Adds the mount's path, which is the same on all nodes: Copper prevents a
 * recursive view by comparing paths of any node with the view of this node.
 * With attach=1, each node finds the mount of the running daemon itself. */
static int add_mount(const struct jp_plan *plan, const char *job,
                     const char *step, struct jp_jobconf *conf, char **note,
                     struct jp_error *err)
{
    const struct plan_value *from = plan_find(&plan->copper, "mount");
    /* The default is in /tmp, which every node has, and unique for user, job
     * and step. */
    char *own = text_format("/tmp/jobprof-copper-%lu-%s.%s/mnt",
                            (unsigned long) getuid(), job, step);
    const char *mount = from->value ? from->value : attaches(plan) ? "" : own;
    int rc = mount ? 0 : error_set(err, "out of memory");

    /* Different paths per node defeat Copper's own check. */
    if (rc == 0 && !attaches(plan) && strstr(mount, "%N"))
        rc = lines_add(
            note, err,
            "Copper: mount= with %%N: a program that walks one node's mount "
            "finds the mount of another node and may hang; one path is safer");
    if (rc == 0 && *mount)
        rc = add(conf, "mount", mount, plan_source_words[from->source],
                 from->value ? from->where : "", "", err);
    if (rc == 0)
        rc = add_variable(conf, mount, err);
    free(own);
    return rc;
}

/* With attach=1, the daemon's own flags apply. Reports the options of the user
 * that have no effect. */
static int note_idle(const struct jp_plan *plan, char **note,
                     struct jp_error *err)
{
    static const char *const keys[] = {"top", "interval", "ttl", "root"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (plan_find(&plan->copper, keys[i])->source > PLAN_SITE &&
            lines_add(note, err,
                      "Copper: %s has no effect with attach=1, because the "
                      "daemon is already running",
                      keys[i]) < 0)
            return -1;
    return 0;
}

/* Adds the daemon's path and the site's other keys for Copper. The daemon's
 * path may be the user's, so cu_fuse itself is not copied. */
static int add_site(const struct jp_plan *plan, struct jp_jobconf *conf,
                    struct jp_error *err)
{
    char *daemon = find_daemon(plan);
    const struct jp_knob *key;
    int rc = daemon ? add(conf, "cu_fuse", daemon, "site file", "", "", err)
                    : error_set(err, "out of memory");

    free(daemon);
    for (key = plan->copper.grammar->modes[1].of->site_keys;
         key->name && rc == 0; key++) {
        const struct sitefile_value *from =
            plan_site_value(plan, plan->copper.grammar->group, key->name);

        /* Written above, with the path that is really used. */
        if (from && strcmp(key->name, "cu_fuse") != 0)
            rc = add(conf, key->name, from->value, plan_source_words[PLAN_SITE],
                     from->where, "", err);
    }
    return rc;
}

/* Adds the knobs, except those computed here. */
static int add_knobs(const struct plan_side *side, struct jp_jobconf *conf,
                     struct jp_error *err)
{
    struct jp_setting *knobs = NULL;
    size_t n = 0;
    int rc = settings_list(side, &knobs, &n, err);

    for (size_t i = 0; i < n && rc == 0; i++)
        if (strcmp(knobs[i].key, "interval") != 0 &&
            strcmp(knobs[i].key, "mount") != 0)
            rc = settings_add(&conf->copper_settings, &conf->n_copper_settings,
                              &knobs[i], err);
    settings_free(knobs, n);
    return rc;
}

/* Adds the row "mode"; refusal: why Copper does not run, or NULL. */
static int add_mode(const struct plan_side *side, const char *refusal,
                    struct jp_jobconf *conf, struct jp_error *err)
{
    const char *mode = refusal ? "off" : side->grammar->modes[side->mode].name;

    return add(conf, "mode", mode, plan_source_words[side->mode_source],
               side->mode_where, refusal ? refusal : "", err);
}

/* Steps: the request, the mode with its refusal, the knobs, then mount,
 * interval and the site's keys. */
int copperpart_fill(const struct launch_facts *facts,
                    const struct jp_plan *plan, struct jp_jobconf *conf,
                    char **note, struct jp_error *err)
{
    const struct plan_side *side = &plan->copper;
    const char *refusal = copperpart_refusal(facts, plan);
    uint32_t kill_wait_s = facts->kill_wait_s ? facts->kill_wait_s
                                              : JP_DEF_KILL_WAIT_S;
    char job[24];

    conf->copper_request = strdup(side->grammar->modes[side->mode].name);
    if (!conf->copper_request)
        return error_set(err, "out of memory");
    /* Off needs no settings. Otherwise the settings are written even if Copper
     * is refused, so that the report can show what was requested. */
    if (!side->mode)
        return 0;
    if (add_mode(side, refusal, conf, err) < 0 ||
        add_knobs(side, conf, err) < 0)
        return -1;
    if (refusal)
        return lines_add(note, err, "Copper does not run: %s", refusal);
    snprintf(job, sizeof(job), "%" PRIu64, conf->job_id);
    if (add_mount(plan, job, conf->step_id, conf, note, err) < 0 ||
        (attaches(plan)
             ? note_idle(plan, note, err)
             : add_interval(plan, kill_wait_s, conf, note, err) < 0 ||
                   add_site(plan, conf, err) < 0))
        return -1;
    return add_number(conf, "kill_wait", kill_wait_s, NULL,
                      facts->kill_wait_s ? "KillWait in seconds"
                                         : "Slurm's default: it did not answer",
                      err);
}
