/* spank_jobprof.c - what the module does in a step: the map of its callbacks,
 * and below it each action in the order of a step. helper.c runs programs as
 * the user, jobinfo.c reads the facts of the step. */
#pragma GCC visibility push(default)
#include "spank/module.h"

SPANK_PLUGIN(jobprof, 1)
#pragma GCC visibility pop
#include <time.h>

#include "common/options.h"
#include "plugins/option_help.h"

__attribute__((used)) static const char release[] = /* for jobprof doctor */
    "jobprof module " JP_RELEASE;

/* --- the map: which callback does what, and in which program -------------- */

static void option_init(spank_t sp, int ac, char **av);
static void option_tell_user(spank_context_t at);
static void apply_request(void);
static void apply_resolve(spank_t sp);
static void apply_begin(spank_t sp);
static void apply_again(spank_t sp);
static void finish_start(spank_t sp);
static void finish_task(spank_t sp);
static void finish_exit(spank_t sp);

/* From Slurm 25.05 on any other result than 0 counts as a failure. */
#define CALLBACK(name, action)                                                 \
    int slurm_spank_##name(spank_t sp, int ac, char *argv[])                   \
    {                                                                          \
        spank_context_t at = spank_context();                                  \
        if (at == S_CTX_LOCAL || at == S_CTX_ALLOCATOR ||                      \
            at == S_CTX_REMOTE) {                                              \
            action;                                                            \
        }                                                                      \
        return 0;                                                              \
    }

/* everywhere; then in srun, sbatch and salloc the options: resolve --check */
CALLBACK(init, option_init(sp, ac, argv))
/* srun: the request, then resolve; sbatch and salloc: what is not profiled */
CALLBACK(init_post_opt, option_tell_user(at);
         if (at == S_CTX_LOCAL) apply_request())
CALLBACK(local_user_init, apply_resolve(sp))
/* slurmstepd, also that of a batch script: begin, a program in front of the
 * task's, task records, task lines, finish; srun: report */
CALLBACK(user_init, apply_begin(sp))
CALLBACK(task_init, apply_again(sp); finish_start(sp))
CALLBACK(task_exit, finish_task(sp))
CALLBACK(exit, finish_exit(sp))

/* Time limits of helpers. The manual promises half a second for TELL_MS, after
 * which helper_run waits for up to 200 ms for a program that it has killed. */
enum {
    CHECK_MS = 1000,
    TELL_MS = 300,
    RESOLVE_MS = 3000,
    MOUNT_MS = 70000,
    BEGIN_MS = 2000,
    TASK_MS = 500,
    FINISH_MS = 6000,
    REPORT_S = 30,
    REPORT_MAX_S = 3600
};

/* --- the plugstack line, the options and their last values ---------------- */

/* The options, by enum jp_option. */
#define ROW(up, low)                                                           \
    {                                                                          \
        "--" #low,      #low "-profile",                                       \
        "JOBPROF_" #up, "[jobprof] " JP_HELP_##up,                             \
        JP_TRY_##up,    JP_ONLY_SRUN_##up,                                     \
        JP_IS_SLOW_##up},
static const struct {
    const char *word, *name, *env, *help; /* for the helper, for Slurm, its
                                             variable */
    const char *try, *only_srun;
    bool is_slow;
} rows[OPTIONS] = {JP_OPTIONS(ROW)};
#undef ROW
static char *given[OPTIONS]; /* the last value, owned; NULL: not given */
static const char *site_file, *default_mode, *node_program;
static bool told, asked_history; /* option_tell_user has */
static bool tells_history;       /* the plugstack line has history=tell */
static char help[OPTIONS][512];  /* the help texts with the default */

static bool is_off(const char *s)
{
    return !s || !*s || (strncmp(s, "off", 3) == 0 && (!s[3] || s[3] == ','));
}

/* Whether a profile is wanted. 0: none; 1: yes; 2: yes, and resolve may take a
 * minute. env: NULL for the host's own. */
static int option_asked(char **env)
{
    int asked = 0;

    for (int i = 0; i < OPTIONS; i++) {
        const char *text = given[i]
                               ?: jobinfo_getenv(env ?: environ, rows[i].env);

        if (!is_off(i == OPTION_NCCL && !(text && *text) ? default_mode : text))
            asked = rows[i].is_slow || asked == 2 ? 2 : 1;
    }
    return asked;
}

/* Whether the user asks for it, and not only a default of the site. nccl: the
 * variable of NCCL's option, or NULL. */
static bool option_named(const char *nccl)
{
    for (int i = 0; i < OPTIONS; i++)
        if (given[i])
            return true;
    return !default_mode || (nccl && *nccl);
}

static const char *helper_path(const char *verb)
{
    static char path[PATH_MAX];

    if (strcmp(verb, "report") != 0 && strcmp(verb, "history") != 0)
        return node_program;
    snprintf(path, sizeof(path), "%.*s/jobprof",
             (int) (strrchr(node_program, '/') - node_program), node_program);
    return access(path, X_OK) == 0 ? path : JP_BINDIR "/jobprof";
}

/* Initialises h for `jobprof-node verb`, or `jobprof verb`. In srun users see
 * the helper's messages; in slurmstepd nobody does. */
static void option_helper(struct helper *h, const char *verb)
{
    *h = (struct helper){
        .argc = 2, .env = environ, .fd = {-1, -1, -1}, .seen = -1};
    h->argv[0] = helper_path(verb);
    h->argv[1] = verb;
    if (spank_context() != S_CTX_REMOTE)
        h->fd[2] = STDERR_FILENO;
}

/* 0: accepted. -1: refused, and jobprof-node printed why. 1: it could not run;
 * that must not stop a job, so the option counts as off. */
static int check_option(int val, const char *arg)
{
    struct helper h;
    int rc;

    option_helper(&h, "resolve");
    h.argv[h.argc++] = "--check";
    helper_arg(&h, "--config", site_file);
    helper_arg(&h, rows[val].word, arg);
    rc = helper_run(&h, CHECK_MS, NULL);
    if (rc != 0 && rc != 64)
        slurm_spank_log("jobprof: %s-profile is off: %s%s", rows[val].word,
                        *h.said ? h.said : h.argv[0],
                        *h.said ? "" : " failed or took over 1 s");
    return rc == 64 ? -1 : rc != 0;
}

/* Called for each source of a value and each component; the last call wins. */
static int option_callback(int val, const char *arg, int remote)
{
    int rc = 0;

    if (val < 0 || val >= OPTIONS || !arg)
        return remote ? 0 : -1;
    if (given[val] && strcmp(given[val], arg) == 0)
        return 0;
    if (!remote && (!*arg || memchr(arg, '/', strcspn(arg, ",=")))) {
        slurm_error("jobprof: \"%s\" is not a mode; try %s-profile=%s", arg,
                    rows[val].word, rows[val].try);
        return -1;
    }
    if (!remote && strcmp(arg, "off") != 0 && (rc = check_option(val, arg)) < 0)
        return -1;
    free(given[val]);
    given[val] = strdup(rc ? "off" : arg);
    return 0;
}

/* Reads the plugstack line, which is borrowed for good, and registers the
 * options. */
static void option_init(spank_t sp, int ac, char **av)
{
    site_file = default_mode = NULL;
    told = asked_history = tells_history = false;
    node_program = JP_LIBEXECDIR "/jobprof-node";
    for (int i = 0; i < ac; i++)
        if (strncmp(av[i], "config=/", 8) == 0)
            site_file = av[i] + 7;
        else if (strncmp(av[i], "node=/", 6) == 0)
            node_program = av[i] + 5;
        else if (strncmp(av[i], "default=", 8) == 0)
            default_mode = av[i] + 8;
        else if (strcmp(av[i], "history=tell") == 0)
            tells_history = true;
        else
            slurm_error("jobprof: plugstack: \"%s\" is ignored", av[i]);
    for (int i = 0; i < OPTIONS; i++) {
        free(given[i]);
        given[i] = NULL;
        snprintf(help[i], sizeof(help[i]), "%s%s.", rows[i].help,
                 i != OPTION_NCCL ? "" : default_mode ?: "off");
        spank_option_register(
            sp, &(struct spank_option){(char *) rows[i].name,
                                       (char *) "MODE[,KEY=VALUE...]", help[i],
                                       1, i, option_callback});
    }
}

/* Where the site wants it, prints one line about nodes that slowed earlier jobs
 * of the user, for a new job that is to be profiled. Errors are not printed. */
static void tell_history(void)
{
    struct helper h;

    option_helper(&h, "history");
    h.argv[h.argc++] = "--tell";
    helper_arg(&h, "--config", site_file);
    helper_run(&h, TELL_MS, NULL);
}

/* Lists what only steps of srun can have: "A, B and C". Returns buf. */
static const char *list_only_srun(char *buf, size_t len)
{
    size_t left = 0, used = 0;
    bool first = true;

    for (int i = 0; i < OPTIONS; i++)
        left += *rows[i].only_srun != '\0';
    buf[0] = '\0';
    for (int i = 0; i < OPTIONS && used < len; i++) {
        const char *before = first ? "" : left > 1 ? ", " : " and ";

        if (!*rows[i].only_srun)
            continue;
        used += (size_t) snprintf(buf + used, len - used, "%s%s", before,
                                  rows[i].only_srun);
        first = false;
        left--;
    }
    return buf;
}

/* At submission, prints one line on what sbatch or salloc was asked for and
 * this job cannot have. A batch script is profiled like a step. The program of
 * salloc itself starts on this host, which has no slurmstepd. */
static void option_tell_user(spank_context_t at)
{
    bool any = false, only_srun = false;
    char nouns[128];

    /* srun in an allocation has no choice of nodes any more */
    if (tells_history && at != S_CTX_REMOTE && !asked_history &&
        option_asked(NULL) && !getenv("SLURM_JOB_ID"))
        tell_history();
    asked_history = true;
    for (int i = 0; i < OPTIONS; i++) {
        any |= given[i] && !is_off(given[i]);
        only_srun |= given[i] && !is_off(given[i]) && *rows[i].only_srun;
    }
    if (at != S_CTX_ALLOCATOR || !any || told)
        return;
    told = true; /* a heterogeneous job has a call for each component */
    if (strcmp(program_invocation_short_name, "salloc") == 0)
        slurm_spank_log("jobprof: the steps that srun starts in this job are "
                        "profiled; a program that salloc runs on this host is "
                        "not");
    else if (only_srun)
        slurm_spank_log("jobprof: %s are for the steps that srun starts in "
                        "this job; the script itself runs without them",
                        list_only_srun(nouns, sizeof(nouns)));
}

/* Adds --config ... --clock. */
static void option_args(struct helper *h)
{
    helper_arg(h, "--config", site_file);
    helper_arg(h, "--default", default_mode);
    for (int i = 0; i < OPTIONS; i++)
        helper_arg(h, rows[i].word, given[i]);
}

/* --- helpers' answers become environment variables ------------------------ */

#define NAME "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789"
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
/* Bytes of a list, and of the name of one; lines of an answer. */
enum { ROOM = 16384, FULL = 64, LINES = 256 };

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

/* --- what is left for the end of the step --------------------------------- */

static char step_dir[PATH_MAX]; /* "": nothing to do */
static char conf_hash[72];   /* checksum of job.conf, out of the tasks' reach */
static pid_t srun_pid;       /* srun itself, not a fork of it */
static struct helper *begun; /* begin's helper, on a node */
static bool is_users_wish;   /* who is told what fails: the user, or the site */
/* A line for each task that has ended. They are kept in memory, because with
 * contain_spank (Slurm 24.05) descriptors are not shared. */
static FILE *task_lines;
static char *task_text;
static size_t task_bytes;

/* Keeps what finish_exit needs. Each of step, sum and begin may be NULL.
 * by_user: the user asks for the profile, and is told what fails. */
static void finish_expect(const char *step, const char *sum,
                          struct helper *begin, bool by_user)
{
    is_users_wish = by_user;
    snprintf(conf_hash, sizeof(conf_hash), "%s", sum ? sum : "");
    snprintf(step_dir, sizeof(step_dir), "%s",
             step && *step == '/' ? step : "");
    srun_pid = getpid();
    begun = begin;
    if (begun && !task_lines)
        task_lines = open_memstream(&task_text, &task_bytes);
}

/* --- in srun: the request, and resolve ------------------------------------ */

/* Variables of an outer profiled step (JOBPROF_SET) are not valid here. */
static void apply_request(void)
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

static void apply_resolve(spank_t sp)
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

/* --- on a node: begin ----------------------------------------------------- */

static char *kept; /* a copy of begin's answer, for apply_again */

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

static void apply_begin(spank_t sp)
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

/* --- in a task, and when it has ended ------------------------------------- */

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
static void apply_again(spank_t sp)
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

/* Puts the program that begin has named before the task's. Before Slurm 23.11
 * resolve refuses that. In a container its path may be missing: then the task
 * runs without it. */
static void wrap_task(spank_t sp, const struct jobinfo *j)
{
#if HAVE_DECL_SPANK_PREPEND_TASK_ARGV
    static const char guard[] =
        "[ -x \"$0\" ] && exec \"$0\" \"$@\"; "
        "echo \"jobprof: $JOBPROF_WRAP_TITLE does not run: $0 is not in the "
        "container\" >&2; "
        "[ \"$JOBPROF_WRAP_REQUIRED\" = 1 ] && exit 125; exec \"$@\"";
    const char *argv[] = {"/bin/sh", "-c", guard,
                          jobinfo_getenv(j->env, "JOBPROF_WRAP")};

    if (argv[3] && *argv[3] == '/')
        spank_prepend_task_argv(sp, 4, argv);
#endif
}

/* Runs in the process that becomes the task. Only that process can try which
 * GPUs the task may open. */
static void finish_start(spank_t sp)
{
    struct jobinfo j;
    struct helper h;

    if (!*step_dir || !begun || jobinfo_get(sp, &j) < 0)
        return;
    wrap_task(sp, &j);
    if (!jobinfo_getenv(j.env, "CUDA_VISIBLE_DEVICES")) /* it has all GPUs */
        return;
    option_helper(&h, "task");
    helper_arg(&h, "--dir", step_dir);
    jobinfo_node_args(&j, &h);
    helper_run(&h, TASK_MS, NULL);
}

static long long now_us(clockid_t clock)
{
    struct timespec t = {0};

    clock_gettime(clock, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static void finish_task(spank_t sp)
{
    long long mono_us = now_us(CLOCK_MONOTONIC), us = now_us(CLOCK_REALTIME);
    uint32_t global;
    int local, status = -1;
    pid_t pid;

    if (!task_lines ||
        spank_get_item(sp, S_TASK_ID, &local) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_TASK_GLOBAL_ID, &global) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_TASK_PID, &pid) != ESPANK_SUCCESS)
        return;
    spank_get_item(sp, S_TASK_EXIT_STATUS, &status);
    fprintf(task_lines, "%u %d %d %d %lld %lld\n", global, local, pid, status,
            mono_us, us);
}

/* --- the end: finish on a node, the report in srun ------------------------ */

/* On a node: runs jobprof-node finish, which gets the tasks' lines. Returns as
 * helper_run. */
static int run_finish(spank_t sp)
{
    struct jobinfo j;
    struct helper h;

    if (!*step_dir || jobinfo_get(sp, &j) < 0)
        return 0;
    option_helper(&h, "finish");
    helper_arg(&h, "--dir", step_dir);
    helper_arg(&h, "--hash", *conf_hash ? conf_hash : NULL);
    helper_arg(&h, "--config", site_file);
    jobinfo_node_args(&j, &h);
    h.orphan = h.leave = true; /* it must survive the end of the job */
    h.fd[0] = memfd_create("tasks", MFD_CLOEXEC);
    if (task_text && write(h.fd[0], task_text, task_bytes) >= 0)
        lseek(h.fd[0], 0, SEEK_SET);
    return helper_run(&h, FINISH_MS, NULL);
}

/* In srun: runs jobprof report. Returns as helper_run. */
static int run_report(void)
{
    int limit_s = (int) strtoul(getenv("SLURM_JOBPROF_LIMIT") ?: "", NULL, 10);
    struct helper h;

    if (!*step_dir || getpid() != srun_pid)
        return 0;
    if (limit_s <= 0 || limit_s > REPORT_MAX_S)
        limit_s = REPORT_S;
    option_helper(&h, "report");
    helper_arg(&h, "--at-exit", step_dir);
    helper_arg(&h, "--hash", *conf_hash ? conf_hash : NULL);
    helper_arg(&h, "--site", site_file);
    /* the report ends by itself at its limit */
    return helper_run(&h, (limit_s + 5) * 1000, NULL);
}

static void finish_exit(spank_t sp)
{
    int rc;

    helper_end(begun);
    if (task_lines)
        fclose(task_lines);
    rc = begun ? run_finish(sp) : run_report();
    /* the path is the user's, and goes to a log */
    for (char *c = step_dir; begun && *c; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
    /* for other results the program has printed the reason */
    if (rc < 0 || rc > 125)
        (is_users_wish ? slurm_spank_log : sitelog)(
            "jobprof: %s failed or hung; later: jobprof report %s",
            begun ? "finish" : "the report", step_dir);
    task_lines = NULL;
    finish_expect(NULL, NULL, NULL, false);
}
