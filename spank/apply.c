/* apply.c - requests and helpers' answers become environment variables. */
#include "spank/module.h"
#include "common/options.h"
#include "plugins/option_help.h"

#define NAME "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789"
enum { LINES = 256, RESOLVE_MS = 3000, MOUNT_MS = 70000, BEGIN_MS = 2000 };

/* Settings that srun passes to the nodes. SLURM_ names survive --export=NONE.
 */
static const char carried[] =
    "SLURM_JOBPROF_REQ,SLURM_JOBPROF_DIR,SLURM_JOBPROF_HASH,"
    "SLURM_JOBPROF_LIMIT,SLURM_JOBPROF_NCCL,SLURM_JOBPROF_HOME";

/* Sets (value NULL: unsets) a variable of the job, or of srun (sp NULL). */
static bool set_variable(spank_t sp, const char *name, const char *value,
                         bool force)
{
    if (sp)
        return (value ? spank_setenv(sp, name, value, force)
                      : spank_unsetenv(sp, name)) == ESPANK_SUCCESS;
    return (value ? setenv(name, value, force) : unsetenv(name)) == 0;
}

/* Any user can write JOBPROF_SET, so only names that we set ourselves count. */
#define ROW(up, low) JP_VARIABLES_##up
static const char *const ours[] = {"JOBPROF_", "SLURM_JOBPROF_",
                                   "APPTAINER_BIND", "SINGULARITY_BIND",
                                   JP_OPTIONS(ROW)};
#undef ROW

/* The variable WAS + name keeps what a list had before our value was appended.
 */
#define WAS "JOBPROF_WAS_"
enum { ROOM = 16384, FULL = 64 };

/* Gives a variable back the value that it had before ours, or unsets it. */
static void restore_variable(spank_t sp, const char *name)
{
    char was[128], old[ROOM];
    bool had;

    snprintf(was, sizeof(was), WAS "%s", name);
    had = sp ? spank_getenv(sp, was, old, ROOM) == ESPANK_SUCCESS
             : getenv(was) && snprintf(old, ROOM, "%s", getenv(was)) < ROOM;
    set_variable(sp, name, had ? old : NULL, true);
    set_variable(sp, was, NULL, true);
}

/* Appends to a list. Without room the list stays, and `full` gets its name. */
static bool append_to_list(spank_t sp, const char *name, const char *value,
                           char full[static FULL])
{
    char was[128], both[ROOM];
    int rc = spank_getenv(sp, name, both, ROOM);
    size_t n = rc == ESPANK_SUCCESS ? strlen(both) : 0;

    if (rc == ESPANK_NOSPACE || (n && n + strlen(value) + 2 > ROOM) ||
        strlen(name) >= FULL) {
        snprintf(full, FULL, "%s", name);
        return false;
    }
    if (n) {
        snprintf(was, sizeof(was), WAS "%s", name);
        set_variable(sp, was, both, true);
        snprintf(both + n, ROOM - n, ",%s", value);
        value = both;
    }
    return set_variable(sp, name, value, true);
}

/* Restores those of the names, "A,B", that this module sets itself. */
static void unset_variables(spank_t sp, const char *names)
{
    char *copy = names ? strdup(names) : NULL, *rest = copy, *name;

    while ((name = strsep(&rest, ",")) != NULL)
        for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
            if (strncmp(name, ours[i], strlen(ours[i])) == 0)
                restore_variable(sp, name);
    free(copy);
}

/* Whether a variable is set to nothing, which counts as not set. */
static bool is_empty(spank_t sp, const char *name)
{
    char value[2];

    if (sp)
        return spank_getenv(sp, name, value, sizeof(value)) == ESPANK_SUCCESS &&
               !*value;
    return getenv(name) && !*getenv(name);
}

/* Applies all lines of an answer up to the dot, or none if one of them is bad:
 *     NAME=VALUE   set
 *     ?NAME=VALUE  set unless it has a value
 *     -NAME        unset
 *     +NAME=VALUE  on a node: appended to the list NAME, after a comma
 * On a node JOBPROF_SET lists the names of what was set. The list is built in
 * place, over the lines that were read. full: gets the name of a list without
 * room; otherwise it is left as it is. */
static bool apply_answer(spank_t sp, char *answer, char full[static FULL])
{
    char *list = answer, *end = answer, *line, *name[LINES], *value[LINES];
    char mark[LINES]; /* '?', '-', '+'; 0: none */
    int n;

    for (n = 0; strcmp(line = strsep(&answer, "\n"), ".") != 0; n++) {
        bool is_marked = *line == '?' || *line == '-' || *line == '+';

        if (n == LINES || (!strchr(line, '=') && *line != '-'))
            return false;
        mark[n] = is_marked ? *line : '\0';
        name[n] = is_marked ? line + 1 : line;
        value[n] = mark[n] == '-' ? NULL : name[n];
        strsep(&value[n], "="); /* ends the name there */
        if (!*name[n] || name[n][strspn(name[n], NAME)])
            return false;
    }
    for (int i = 0; i < n; i++) {
        bool done;

        if (mark[i] == '+' && sp)
            done = append_to_list(sp, name[i], value[i], full);
        else if (mark[i] == '?' && !is_empty(sp, name[i]))
            done = set_variable(sp, name[i], value[i], false);
        else
            done = set_variable(sp, name[i], value[i], true);
        /* SLURM_ names are for the nodes only */
        if (!done || !value[i] || strncmp(name[i], "SLURM_", 6) == 0)
            continue;
        memmove(end + 1, name[i], strlen(name[i]) + 1);
        *end = ',';
        end += strlen(end);
    }
    if (sp && end > list)
        set_variable(sp, "JOBPROF_SET", list + 1, true);
    return true;
}

static char *kept; /* a copy of begin's answer, for apply_again */

/* Whether the list of names, "A,B", has this one. */
static bool list_has(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = list; at && (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ',') && (!at[n] || at[n] == ','))
            return true;
    return false;
}

/* Sets the variables again that user_init has set, in the process that becomes
 * a task: other modules may have replaced them. Lists are left as they are. */
void apply_again(spank_t sp)
{
    static char list[ROOM];
    char *line, *value;

    if (!kept || spank_getenv(sp, "JOBPROF_SET", list, ROOM) != ESPANK_SUCCESS)
        return;
    while (kept && (line = strsep(&kept, "\n")) && strcmp(line, ".") != 0) {
        if (*line == '+' || *line == '-')
            continue;
        if (*line == '?')
            line++;
        value = line;
        strsep(&value, "="); /* ends the name there */
        if (value && list_has(list, line))
            set_variable(sp, line, value, true);
    }
}

/* Variables of an outer profiled step (JOBPROF_SET) are not valid here. */
void apply_request(void)
{
    unset_variables(NULL, getenv("JOBPROF_SET"));
    unset_variables(NULL, "JOBPROF_SET");
    unset_variables(NULL, carried);
    if (!option_asked(NULL))
        return;
    set_variable(NULL, "SLURM_JOBPROF_REQ", "1", true);
    set_variable(NULL, "SLURM_JOBPROF_NCCL", getenv("JOBPROF_NCCL"), true);
    set_variable(NULL, "SLURM_JOBPROF_HOME", getenv("HOME"), true);
}

void apply_resolve(spank_t sp)
{
    char *answer = NULL, full[FULL];
    struct jobinfo j;
    struct helper h;
    bool named;
    int rc;

    if (!option_asked(NULL) || jobinfo_get(sp, &j) < 0)
        return;
    option_helper(&h, "resolve");
    option_args(&h);
    helper_arg(&h, "--nodes", j.nodes);
    helper_arg(&h, "--tasks", j.tasks);
    helper_arg(&h, "--command", j.command);
    helper_arg(&h, "--script", j.script);
    rc =
        helper_run(&h, option_asked(NULL) > 1 ? MOUNT_MS : RESOLVE_MS, &answer);
    named = option_named(getenv("JOBPROF_NCCL"));
    if (*h.said)
        (named ? slurm_spank_log : sitelog)("jobprof: %s", h.said);
    else if (rc != 3 && (rc != 0 || !apply_answer(NULL, answer, full)))
        (named ? slurm_spank_log : sitelog)(
            "jobprof: job %s: %s resolve failed or took over %d s", j.job,
            h.argv[0], option_asked(NULL) > 1 ? MOUNT_MS / 1000 : 3);
    finish_expect(getenv("SLURM_JOBPROF_DIR"), getenv("SLURM_JOBPROF_HASH"),
                  NULL, named);
    set_variable(NULL, "SLURM_JOBPROF_DIR", "-", false);
}

/* Returns whether a list of nodes, "n[1-4,7]" or "n1,m2", begins with this one,
 * or there is no list. Each het component has a node 0 of its own. */
static bool begins_with(const char *list, const char *name)
{
    if (!list)
        return true;
    for (; *name; name++, list++) {
        if (*list == '[')
            list++;
        if (*list != *name)
            return false;
    }
    return strchr(",-]", *list) != NULL; /* the end of the list, too */
}

static void run_begin(spank_t sp, struct jobinfo *j)
{
    static struct helper h;
    const char *nccl = jobinfo_getenv(j->env, "SLURM_JOBPROF_NCCL");
    bool ok, named = option_named(nccl);
    bool first = strcmp(j->nodeid, "0") == 0 &&
                 begins_with(jobinfo_getenv(j->env, "SLURM_STEP_NODELIST"),
                             getenv("SLURMD_NODENAME") ?: "");
    /* one node speaks to the user; if only a default asks for the profile, each
     * node writes to its site's log */
    void (*say)(const char *, ...) = !named  ? sitelog
                                     : first ? slurm_spank_log
                                             : slurm_info;
    char *answer = NULL, full[FULL] = "";

    option_helper(&h, "begin");
    option_args(&h);
    helper_arg(&h, "--dir", jobinfo_getenv(j->env, "SLURM_JOBPROF_DIR"));
    jobinfo_node_args(j, &h);
    h.orphan = true;
    h.fd[2] = memfd_create("said", MFD_CLOEXEC);
    ok = helper_run(&h, BEGIN_MS, &answer) == 0;
    if (ok && strstr(answer, "JOBPROF_TASK_ENV=last\n"))
        kept = strdup(answer); /* apply writes to it */
    ok = ok && apply_answer(sp, answer, full);
    if (!ok)
        helper_end(&h);
    if (*h.said || !ok)
        say("jobprof: %s: %s", getenv("SLURMD_NODENAME"),
            *h.said ? h.said : "jobprof-node begin failed or took over 2 s");
    if (*full)
        say("jobprof: %s: %s is too long for jobprof's mounts and stays "
            "unchanged: containers do not see the profiler's files",
            getenv("SLURMD_NODENAME"), full);
    /* the environment has moved, and may have a new SLURM_JOBPROF_DIR */
    spank_get_item(sp, S_JOB_ENV, &j->env);
    finish_expect(h.pid ? jobinfo_getenv(j->env, "SLURM_JOBPROF_DIR") : NULL,
                  jobinfo_getenv(j->env, "SLURM_JOBPROF_HASH"), &h, named);
}

/* Whether this step is to be profiled. srun asks for its own step. A batch
 * script is started by no srun, so the script's options and variables decide;
 * carried variables are those of the job in which sbatch ran. */
static bool is_asked(spank_t sp, struct jobinfo *j)
{
    const char *dir;

    if (j->script && strcmp(j->script, "batch") == 0) {
        unset_variables(sp, carried);
        spank_get_item(sp, S_JOB_ENV, &j->env);
        return option_asked(j->env);
    }
    dir = jobinfo_getenv(j->env, "SLURM_JOBPROF_DIR");
    return jobinfo_getenv(j->env, "SLURM_JOBPROF_REQ") && (!dir || *dir == '/');
}

void apply_begin(spank_t sp)
{
    struct jobinfo j;

    if (jobinfo_get(sp, &j) < 0)
        return;
    unset_variables(sp, jobinfo_getenv(j.env, "JOBPROF_SET"));
    unset_variables(sp, "JOBPROF_SET");
    spank_get_item(sp, S_JOB_ENV, &j.env);
    if (is_asked(sp, &j))
        run_begin(sp, &j);
    unset_variables(sp, carried);
}
