/* copper_launch.c - what --copper-profile adds to a step: how its daemons are
 * started, and where tasks find their mount. */
#include "plugins/copper/copper_launch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/settings.h"

#define SECOND_US 1000000ULL
/* Seconds of KillWait that a daemon needs for its other work at the end. */
#define SETTLE_S 10

/* The path of Copper's daemon: the user's root= takes precedence over the
 * site's cu_fuse. Caller frees. NULL: no daemon is named, or no memory. */
static char *find_daemon(const struct jp_plan *plan)
{
    const struct plan_value *root =
        plan_find(&plan->sides[OPTION_COPPER], "root");
    const char *named = plan_site(plan, "copper.cu_fuse");

    if (root->value && (root->source > PLAN_SITE || !named))
        return text_format("%s/build/cu_fuse", root->value);
    return named ? strdup(named) : NULL;
}

/* Whether the step uses a daemon that already runs. */
static bool attaches(const struct jp_plan *plan)
{
    return plan_number(&plan->sides[OPTION_COPPER], "attach") != 0;
}

/* Why Copper does not run in this step; NULL: it runs. */
static const char *find_refusal(const struct launch_facts *facts,
                                const struct jp_plan *plan)
{
    char *daemon;

    if (!plan->sides[OPTION_COPPER].mode)
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
static int add_setting(struct jp_jobconf *conf, const char *key,
                       const char *value, const char *source, const char *where,
                       const char *reason, struct jp_error *err)
{
    struct jp_setting one = {(char *) key, (char *) value, (char *) source,
                             (char *) where, (char *) reason};

    struct jobconf_side *side = &conf->sides[OPTION_COPPER];

    return settings_add(&side->settings, &side->n_settings, &one, err);
}

/* The same for a number. from: the plan's value that it derives from; NULL:
 * Slurm. */
static int add_number(struct jp_jobconf *conf, const char *key, uint64_t number,
                      const struct plan_value *from, const char *reason,
                      struct jp_error *err)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, number);
    return add_setting(conf, key, text,
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
    const struct plan_value *from =
        plan_find(&plan->sides[OPTION_COPPER], "interval");
    uint64_t s = plan_number(&plan->sides[OPTION_COPPER], "interval") /
                 SECOND_US;
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
    return jobconf_add_env(conf, COPPER_MOUNT, strdup(mount),
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
    const struct plan_value *from =
        plan_find(&plan->sides[OPTION_COPPER], "mount");
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
        rc = add_setting(conf, "mount", mount, plan_source_words[from->source],
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
        if (plan_find(&plan->sides[OPTION_COPPER], keys[i])->source >
                PLAN_SITE &&
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
    int rc =
        daemon ? add_setting(conf, "cu_fuse", daemon, "site file", "", "", err)
               : error_set(err, "out of memory");

    free(daemon);
    for (key = plan->sides[OPTION_COPPER].grammar->modes[1].of->site_keys;
         key->name && rc == 0; key++) {
        const struct sitefile_value *from = plan_site_value(
            plan, plan->sides[OPTION_COPPER].grammar->group, key->name);

        /* Written above, with the path that is really used. */
        if (from && strcmp(key->name, "cu_fuse") != 0)
            rc = add_setting(conf, key->name, from->value,
                             plan_source_words[PLAN_SITE], from->where, "",
                             err);
    }
    return rc;
}

/* Adds the knobs, except those computed here. */
static int add_knobs(const struct plan_side *side, struct jp_jobconf *conf,
                     struct jp_error *err)
{
    struct jobconf_side *to = &conf->sides[OPTION_COPPER];
    struct jp_setting *knobs = NULL;
    size_t n = 0;
    int rc = settings_list(side, &knobs, &n, err);

    for (size_t i = 0; i < n && rc == 0; i++)
        if (strcmp(knobs[i].key, "interval") != 0 &&
            strcmp(knobs[i].key, "mount") != 0)
            rc = settings_add(&to->settings, &to->n_settings, &knobs[i], err);
    settings_free(knobs, n);
    return rc;
}

/* Steps: the request, the mode with its refusal, the knobs, then mount,
 * interval and the site's keys. */
static int fill_conf(const struct side_step *step, struct jp_jobconf *conf,
                     char **note, struct jp_error *err)
{
    const struct launch_facts *facts = step->facts;
    const struct jp_plan *plan = step->plan;
    const struct plan_side *side = &plan->sides[OPTION_COPPER];
    const char *refusal = find_refusal(facts, plan);
    uint32_t kill_wait_s = facts->kill_wait_s ? facts->kill_wait_s
                                              : JP_DEF_KILL_WAIT_S;
    char job[24];

    if (settings_request(conf, side, err) < 0)
        return -1;
    /* Off needs no settings. Otherwise the settings are written even if Copper
     * is refused, so that the report can show what was requested. */
    if (!side->mode)
        return 0;
    if (settings_add_mode(&conf->sides[OPTION_COPPER], side,
                          refusal ? "off"
                                  : side->grammar->modes[side->mode].name,
                          refusal ? refusal : "", err) < 0 ||
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

static bool runs(const struct launch_facts *facts, const struct jp_plan *plan)
{
    return find_refusal(facts, plan) == NULL;
}

static int refuse_idle(const struct launch_facts *facts,
                       const struct jp_plan *plan, char **note,
                       struct jp_error *err)
{
    (void) note;
    return plan_side_is_asked(&plan->sides[OPTION_COPPER])
               ? error_set(err, "Copper does not run: %s",
                           find_refusal(facts, plan))
               : 0;
}

/* Sets COPPER_MOUNT to the path where the node has it. Removes the variable if
 * Copper is not mounted on this node. */
static void set_mount(struct jp_jobconf *conf, const char *ready, char *line,
                      size_t len)
{
    size_t kept = 0;

    (void) line;
    (void) len;
    /* Compact the list in place. */
    for (size_t i = 0; i < conf->n_env; i++) {
        struct jp_envvar *var = &conf->env[i];
        bool is_mount = strcmp(var->name, COPPER_MOUNT) == 0;
        char *place = is_mount && ready && *ready == '/' ? strdup(ready) : NULL;

        if (is_mount && !place) {
            free(var->name);
            free(var->value);
            free(var->reason);
            continue;
        }
        if (is_mount) {
            free(var->value);
            var->value = place;
        }
        conf->env[kept++] = *var;
    }
    conf->n_env = kept;
}

const struct launch_side copper_side = {
    .runs = runs,
    .idle = refuse_idle,
    .fill = fill_conf,
    .adapt = set_mount,
};
