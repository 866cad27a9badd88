/* option.c - the plugstack line, the options and their last values. */
#include "spank/module.h"
#include "common/options.h"
#include "plugins/option_help.h"

/* The manual promises half a second for TELL_MS, after which helper_run waits
 * for up to 200 ms for a program that it has killed. */
enum { CHECK_MS = 1000, TELL_MS = 300 };

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
static char *value[OPTIONS]; /* the last value, owned; NULL: not given */
static const char *config, *mode, *node;
static bool told, asked_history; /* option_tell_user has */
static bool tells_history;       /* the plugstack line has history=tell */
static char help[OPTIONS][512];  /* the help texts with the default */

static bool is_off(const char *s)
{
    return !s || !*s || (strncmp(s, "off", 3) == 0 && (!s[3] || s[3] == ','));
}

static const char *helper_path(const char *verb)
{
    static char path[PATH_MAX];

    if (strcmp(verb, "report") != 0 && strcmp(verb, "history") != 0)
        return node;
    snprintf(path, sizeof(path), "%.*s/jobprof",
             (int) (strrchr(node, '/') - node), node);
    return access(path, X_OK) == 0 ? path : JP_BINDIR "/jobprof";
}

/* In srun users see the helper's messages; in slurmstepd nobody does. */
void option_helper(struct helper *h, const char *verb)
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
    helper_arg(&h, "--config", config);
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
    if (value[val] && strcmp(value[val], arg) == 0)
        return 0;
    if (!remote && (!*arg || memchr(arg, '/', strcspn(arg, ",=")))) {
        slurm_error("jobprof: \"%s\" is not a mode; try %s-profile=%s", arg,
                    rows[val].word, rows[val].try);
        return -1;
    }
    if (!remote && strcmp(arg, "off") != 0 && (rc = check_option(val, arg)) < 0)
        return -1;
    free(value[val]);
    value[val] = strdup(rc ? "off" : arg);
    return 0;
}

void option_init(spank_t sp, int ac, char **av)
{
    config = mode = NULL;
    told = asked_history = tells_history = false;
    node = JP_LIBEXECDIR "/jobprof-node";
    for (int i = 0; i < ac; i++)
        if (strncmp(av[i], "config=/", 8) == 0)
            config = av[i] + 7;
        else if (strncmp(av[i], "node=/", 6) == 0)
            node = av[i] + 5;
        else if (strncmp(av[i], "default=", 8) == 0)
            mode = av[i] + 8;
        else if (strcmp(av[i], "history=tell") == 0)
            tells_history = true;
        else
            slurm_error("jobprof: plugstack: \"%s\" is ignored", av[i]);
    for (int i = 0; i < OPTIONS; i++) {
        free(value[i]);
        value[i] = NULL;
        snprintf(help[i], sizeof(help[i]), "%s%s.", rows[i].help,
                 i != OPTION_NCCL ? "" : mode ?: "off");
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
    helper_arg(&h, "--config", config);
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
void option_tell_user(spank_context_t at)
{
    bool given = false, only_srun = false;
    char nouns[128];

    /* srun in an allocation has no choice of nodes any more */
    if (tells_history && at != S_CTX_REMOTE && !asked_history &&
        option_asked(NULL) && !getenv("SLURM_JOB_ID"))
        tell_history();
    asked_history = true;
    for (int i = 0; i < OPTIONS; i++) {
        given |= value[i] && !is_off(value[i]);
        only_srun |= value[i] && !is_off(value[i]) && *rows[i].only_srun;
    }
    if (at != S_CTX_ALLOCATOR || !given || told)
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

int option_asked(char **env)
{
    int asked = 0;

    for (int i = 0; i < OPTIONS; i++) {
        const char *text = value[i]
                               ?: jobinfo_getenv(env ?: environ, rows[i].env);

        if (!is_off(i == OPTION_NCCL && !(text && *text) ? mode : text))
            asked = rows[i].is_slow || asked == 2 ? 2 : 1;
    }
    return asked;
}

bool option_named(const char *nccl)
{
    for (int i = 0; i < OPTIONS; i++)
        if (value[i])
            return true;
    return !mode || (nccl && *nccl);
}

void option_args(struct helper *h)
{
    helper_arg(h, "--config", config);
    helper_arg(h, "--default", mode);
    for (int i = 0; i < OPTIONS; i++)
        helper_arg(h, rows[i].word, value[i]);
}

const char *option_config(void)
{
    return config;
}
