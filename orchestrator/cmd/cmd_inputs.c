/* cmd_inputs.c - find the steps and files that a command's argument means.
 *
 * The argument is a path or JOBID[.STEP]. A path is taken as it is. For a job
 * id, the directory is searched by the dir setting, then by the default names:
 * first relative to the current folder, then to the job's working directory as
 * Slurm knows it. find_job does this; cmd_inputs_steps is the way in. */
#include "orchestrator/cmd/cmd_inputs.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/plan.h"
#include "common/quote.h"
#include "common/vector.h"
#include "orchestrator/agent/launch.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/slurmask.h"
#include "orchestrator/collect/stepdir.h"

/* --- find step directories --- */

/* The job that a word names. */
struct job_name {
    uint64_t id;    /* of an array's task: the array's */
    char array[48]; /* "12_1": the task of an array; "": it is none */
};

/* Writes pattern as a glob. Codes that follow from the id are filled in, other
 * codes match anything, and the glob's special characters are quoted. */
static void print_glob(FILE *out, const char *pattern,
                       const struct job_name *job)
{
    const struct passwd *me = getpwuid(getuid());

    for (const char *c = pattern; *c; c++) {
        if (*c == '%' && c[1]) {
            c++;
            /* the id and the user are known; node names, dates and so on are
             * not */
            if (*c == 'j' && !*job->array)
                fprintf(out, "%llu", (unsigned long long) job->id);
            else if (*c == 'u' && me)
                fputs(me->pw_name, out); /* raw: a glob */
            else
                fputc(*c == '%' ? '%' : '*', out);
        } else {
            if (strchr("*?[]\\", *c))
                fputc('\\', out);
            fputc(*c, out);
        }
    }
}

/* Returns root/pattern as a glob, followed by tail, which is a glob already.
 * Caller frees; NULL without memory. */
static char *make_glob(const char *root, const char *pattern,
                       const struct job_name *job, const char *tail)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return NULL;
    /* a relative pattern without root is searched in the current folder */
    if (pattern[0] != '/' && root)
        fprintf(out, "%s/", root); /* raw: a glob */
    print_glob(out, pattern, job);
    fputs(tail, out); /* raw: a glob */
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* A filter for scandir: names of steps. A directory that was renamed to make
 * room for a new one (.old-) does not count. */
static int is_step(const struct dirent *entry)
{
    return strncmp(entry->d_name, "step-", 5) == 0 &&
           !strstr(entry->d_name, ".old-");
}

/* Whether the directory's job.conf belongs to the job. */
static bool is_step_of(const char *step_dir, const struct job_name *job)
{
    struct jp_jobconf conf;
    bool same = false;

    if (stepdir_is_folder(step_dir) &&
        jobconf_read_step(step_dir, NULL, &conf, NULL) == 0) {
        same = *job->array ? !strcmp(conf.array, job->array)
                           : conf.job_id == job->id;
        jobconf_fini(&conf);
    }
    return same;
}

/* Checks the directory: a code that became a wildcard also matches other
 * jobs. */
static bool is_of_job(const char *dir, const struct job_name *job)
{
    struct dirent **entries = NULL;
    int n = stepdir_is_folder(dir) ? scandir(dir, &entries, is_step, NULL) : 0;
    bool found = false;

    for (int i = 0; i < n; i++) {
        char *step = text_format("%s/%s", dir, entries[i]->d_name);

        found = found || (step && is_step_of(step, job));
        free(step);
        free(entries[i]);
    }
    free(entries);
    return found;
}

/* The last folder that matches. glob sorts, so _r2 comes after _r1. */
static char *match(const char *root, const char *pattern,
                   const struct job_name *job, const char *tail)
{
    char *text = make_glob(root, pattern, job, tail);
    glob_t found = {0};
    char *dir = NULL;

    if (text && glob(text, 0, NULL, &found) == 0) {
        for (size_t i = found.gl_pathc; i-- > 0 && !dir;)
            if (is_of_job(found.gl_pathv[i], job))
                dir = strdup(found.gl_pathv[i]);
        globfree(&found);
    }
    free(text);
    return dir;
}

/* Returns the directory of the job's last run, or NULL. A job that was requeued
 * has the suffix _r<count>. Larger counts are tried first. */
static char *match_pattern(const char *root, const char *pattern,
                           const struct job_name *job)
{
    static const char *const tails[] = {"_r[0-9][0-9]", "_r[0-9]", ""};
    char *dir = NULL;

    for (size_t i = 0; !dir && i < sizeof(tails) / sizeof(tails[0]); i++)
        dir = match(root, pattern, job, tails[i]);
    return dir;
}

/* Returns the pattern of the current settings (site, user, environment) for a
 * job's directory. Caller frees; NULL if the settings are wrong or have none.
 */
static char *settings_pattern(const char *config)
{
    const struct plan_input in = {.config = config};
    struct jp_plan plan;
    const char *value;
    char *pattern = NULL;

    if (plan_make(&in, &plan, NULL) < 0)
        return NULL;
    value = plan_get(&plan.sides[OPTION_NCCL], "dir");
    if (value)
        pattern = place_pattern(value);
    plan_fini(&plan);
    return pattern;
}

/* The job's working directory as Slurm knows it, or NULL. Caller frees. */
static char *work_dir(uint32_t job_id)
{
    struct slurmjob job;

    if (!slurmjob_get(job_id, JP_SLURMJOB_WAIT_MS, &job) ||
        job.work_dir[0] != '/')
        return NULL;
    return strdup(job.work_dir);
}

/* Returns the job's directory, or NULL. Caller frees. */
static char *find_job(const struct job_name *job, const char *config)
{
    char *pattern = settings_pattern(config);
    char *root = NULL;
    char *dir = NULL;

    /* Slurm is asked only if nothing is found here: it may be slow or forget
     * old jobs. */
    for (int slurm = 0; slurm < 2 && !dir; slurm++) {
        if (slurm &&
            (job->id > UINT32_MAX || !(root = work_dir((uint32_t) job->id))))
            break;
        if (pattern)
            dir = match_pattern(root, pattern, job);
        if (!dir)
            dir = match_pattern(root, JP_DEF_DIR, job);
        if (!dir)
            /* a step that only a site default profiles is hidden until it has
             * records */
            dir = match_pattern(root, "." JP_DEF_DIR, job);
    }
    free(root);
    free(pattern);
    return dir;
}

/* Orders step-2 before step-10. */
static int by_step(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

/* Lists the steps of a job's directory in order. Returns -1 and err if there is
 * none. */
static int list_steps(const char *job, char ***dirs, size_t *n,
                      struct jp_error *err)
{
    struct dirent **entries = NULL;
    int count = scandir(job, &entries, is_step, by_step);
    char **out = count > 0 ? calloc((size_t) count, sizeof(*out)) : NULL;
    size_t kept = 0;

    for (int i = 0; i < count; i++) {
        char *path = text_format("%s/%s", job, entries[i]->d_name);

        /* a file or link with such a name is no step */
        if (out && path && stepdir_is_folder(path))
            out[kept++] = path;
        else
            free(path);
        free(entries[i]);
    }
    free(entries);
    /* also if the folder cannot be read */
    if (kept == 0) {
        free(out);
        return error_set(err, "%s: contains no step", job);
    }
    *dirs = out;
    *n = kept;
    return 0;
}

/* Makes a list of one directory. Takes ownership of dir, which may be NULL
 * without memory. */
static int list_one(char *dir, char ***dirs, size_t *n, struct jp_error *err)
{
    char **out = calloc(1, sizeof(*out));

    if (!out || !dir) {
        free(out);
        free(dir);
        return error_set(err, "out of memory");
    }
    out[0] = dir;
    *dirs = out;
    *n = 1;
    return 0;
}

/* Whether the folder contains steps, so that it is a job's directory. */
static bool has_steps(const char *dir)
{
    char **steps = NULL;
    size_t n = 0;

    if (list_steps(dir, &steps, &n, NULL) < 0)
        return false;
    nodelist_free(steps, n);
    return true;
}

/* The most steps of a range. */
#define STEPS_MAX 4096

/* Parses JOBID or JOBID.STEP, where a task of an array is JOBID_TASK. *step
 * points into word, or is NULL. */
static bool parse_job(const char *word, struct job_name *job, const char **step)
{
    char digits[24];
    size_t n = strspn(word, "0123456789"), all = n;

    if (n && word[n] == '_')
        all = n + 1 + strspn(word + n + 1, "0123456789");
    if (n == 0 || n >= sizeof(digits) || all >= sizeof(job->array) ||
        word[all - 1] == '_' || (word[all] && word[all] != '.'))
        return false;
    memcpy(digits, word, n);
    digits[n] = '\0';
    memcpy(job->array, word, all);
    job->array[all > n ? all : 0] = '\0';
    *step = word[all] ? word + all + 1 : NULL;
    return num_parse_u64(digits, 1, INT64_MAX, &job->id, NULL) == 0;
}

/* Appends a step's directory. Takes ownership of dir. */
static int add_step(char *dir, char ***dirs, size_t *n, struct jp_error *err)
{
    if (!dir || vector_resize(dirs, *n + 1, sizeof(**dirs)) < 0) {
        free(dir);
        return error_set(err, "out of memory");
    }
    (*dirs)[(*n)++] = dir;
    return 0;
}

/* Adds the steps of a word: "0", or "0-3" where no step has that name. */
static int add_steps(const char *job, const char *word, char ***dirs, size_t *n,
                     struct jp_error *err)
{
    const char *dash = strchr(word, '-');
    char *first = dash ? strndup(word, (size_t) (dash - word)) : NULL;
    uint64_t from = 0, to = 0;
    int rc = 0;

    if (!first || num_parse_u64(first, 0, UINT32_MAX, &from, NULL) < 0 ||
        num_parse_u64(dash + 1, from, from + STEPS_MAX, &to, NULL) < 0) {
        /* the word becomes part of a path */
        rc = stepdir_name_ok(word)
                 ? add_step(text_format("%s/step-%s", job, word), dirs, n, err)
                 : error_set(err, "\"%s\" is no step", word);
        free(first);
        return rc;
    }
    free(first);
    for (; rc == 0 && from <= to; from++)
        rc = add_step(text_format("%s/step-%" PRIu64, job, from), dirs, n, err);
    return rc;
}

/* Lists the steps that a text names: "0", "batch", or those of a job's report,
 * "0-3+batch". */
static int list_named(const char *job, const char *text, char ***dirs,
                      size_t *n, struct jp_error *err)
{
    char *copy = strdup(text), *rest = copy, *word;
    char **out = NULL;
    size_t count = 0;
    int rc = copy ? 0 : error_set(err, "out of memory");

    while (rc == 0 && (word = strsep(&rest, "+")))
        rc = add_steps(job, word, &out, &count, err);
    free(copy);
    if (rc < 0) {
        nodelist_free(out, count);
        return -1;
    }
    *dirs = out;
    *n = count;
    return 0;
}

int cmd_inputs_steps(const char *word, const char *config, char ***dirs,
                     size_t *n, struct jp_error *err)
{
    struct job_name name;
    const char *step = NULL;
    char *job;
    int rc;

    if (access(word, F_OK) == 0) {
        /* a step may contain folders called step-..., so job.conf decides */
        if (!stepdir_has(word, JP_JOBCONF_NAME) && has_steps(word))
            return list_steps(word, dirs, n, err);
        return list_one(strdup(word), dirs, n, err);
    }
    /* ENOENT and ENOTDIR mean that the word may be a job id */
    if (errno != ENOENT && errno != ENOTDIR)
        return error_set(err, "%s: %s", word, strerror(errno));
    if (!parse_job(word, &name, &step))
        return error_set(err, "%s: not a folder and not JOBID[.STEP]", word);
    job = find_job(&name, config);
    if (!job)
        return error_set(
            err,
            "job %s: no directory found by the settings, in this folder or in "
            "the job's working directory; name the directory",
            word);
    rc = step ? list_named(job, step, dirs, n, err)
              : list_steps(job, dirs, n, err);
    free(job);
    return rc;
}

/* A filter for scandir: folders that are not hidden. */
static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Appends the steps of a job's directory that have a job.conf. Returns -1
 * without memory. */
static int add_job_steps(const char *job, char ***dirs, size_t *n)
{
    char **steps = NULL;
    size_t count = 0;
    int rc = 0;

    if (list_steps(job, &steps, &count, NULL) < 0)
        return 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (!stepdir_has(steps[i], JP_JOBCONF_NAME))
            continue;
        rc = vector_resize(dirs, *n + 1, sizeof(**dirs));
        if (rc < 0)
            break;
        (*dirs)[(*n)++] = steps[i];
        steps[i] = NULL; /* taken over */
    }
    nodelist_free(steps, count);
    return rc;
}

int cmd_inputs_jobs(const char *folder, char ***dirs, size_t *n)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_visible, by_step);
    int rc = 0;

    *dirs = NULL;
    *n = 0;
    for (int i = 0; i < count; i++) {
        char *job = text_format("%s/%s", folder, entries[i]->d_name);

        if (!job)
            rc = -1;
        else if (rc == 0 && stepdir_is_folder(job))
            rc = add_job_steps(job, dirs, n);
        free(job);
        free(entries[i]);
    }
    free(entries);
    if (rc < 0) {
        nodelist_free(*dirs, *n);
        *dirs = NULL;
        *n = 0;
    }
    return rc;
}

/* --- the recorder's files --- */

/* Number of errors printed one by one; further ones are only counted. */
#define TROUBLES_SAID 20

/* Prints a message about a file, unless there were too many. */
static void print_message(void *arg, const char *text)
{
    const struct cmd_inputs *inputs = arg;

    if (!inputs->quiet && inputs->walk.troubles <= TROUBLES_SAID)
        quote_printf(stderr, "jobprof: %s\n", text);
}

/* Prints the error. Returns status. */
static int failed(const struct cmd_inputs *inputs, const struct jp_error *err,
                  int status)
{
    quote_printf(stderr, "jobprof: %s: %s\n", inputs->command, err->text);
    return status;
}

/* Returns the folder of the step's profiler files, raw/, or dir itself if there
 * is none. Takes ownership of dir; caller frees the result. */
static char *raw_of(char *dir)
{
    char *raw = dir ? text_format("%s/raw", dir) : NULL;

    if (raw && stepdir_is_folder(raw)) {
        free(dir);
        return raw;
    }
    free(raw);
    return dir;
}

char *cmd_inputs_nodes(const char *folder)
{
    size_t len = strlen(folder);
    /* the length of the step's directory within folder */
    int step = len >= 4 && strcmp(folder + len - 4, "/raw") == 0 ? (int) len - 4
                                                                 : (int) len;
    char *nodes = text_format("%.*s/nodes", step, folder);

    if (nodes && stepdir_is_folder(nodes))
        return nodes;
    free(nodes);
    return NULL;
}

/* Frees a list that may be NULL, or have NULL in it. */
static void free_list(char ***list, size_t n)
{
    if (*list)
        nodelist_free(*list, n);
    *list = NULL;
}

/* Frees the lists of folders. */
static void free_folders(struct cmd_inputs *inputs)
{
    free_list(&inputs->folders, inputs->n);
    free_list(&inputs->dirs, inputs->n);
    free_list(&inputs->names, inputs->n);
}

/* The steps of all jobs in the folder, in place of the folder itself, if it is
 * one of jobs' directories. Returns -1 without memory. */
static int take_jobs(struct cmd_inputs *inputs)
{
    char **steps = NULL;
    size_t n = 0;
    int rc = 0;

    if (!inputs->jobs || inputs->n != 1 ||
        !stepdir_is_folder(inputs->dirs[0]) ||
        stepdir_has(inputs->dirs[0], JP_JOBCONF_NAME))
        return 0;
    rc = cmd_inputs_jobs(inputs->dirs[0], &steps, &n);
    if (rc < 0 || !n) {
        free_list(&steps, n);
        return rc;
    }
    free_list(&inputs->dirs, inputs->n);
    inputs->dirs = steps;
    inputs->n = n;
    return 0;
}

/* "53.0" or "53_1.0" of a step's directory; without a job.conf its path. Caller
 * frees; NULL without memory. */
static char *name_of(const char *dir)
{
    struct jp_jobconf conf;
    char buf[JP_JOBCONF_NAME_LEN], *name;

    if (stepdir_has(dir, JP_JOBCONF_NAME) &&
        jobconf_read_step(dir, NULL, &conf, NULL) == 0) {
        name = strdup(jobconf_step_name(&conf, buf));
        jobconf_fini(&conf);
    } else {
        name = strdup(dir);
    }
    return name;
}

/* Lists raw/ and the name of each step. Returns -1 without memory. */
static int list_folders(struct cmd_inputs *inputs)
{
    inputs->folders = calloc(inputs->n, sizeof(*inputs->folders));
    inputs->names = calloc(inputs->n, sizeof(*inputs->names));
    if (!inputs->folders || !inputs->names)
        return -1;
    for (size_t i = 0; i < inputs->n; i++) {
        /* only the raw/ of a step has recordings */
        inputs->folders[i] = raw_of(strdup(inputs->dirs[i]));
        inputs->names[i] = name_of(inputs->dirs[i]);
        if (!inputs->folders[i] || !inputs->names[i])
            return -1;
    }
    return 0;
}

int cmd_inputs_init(struct cmd_inputs *inputs, const char *word,
                    const char *config)
{
    struct jp_error err = {"out of memory"};

    if (cmd_inputs_steps(word, config, &inputs->dirs, &inputs->n, &err) < 0)
        return failed(inputs, &err, JP_EXIT_USAGE);
    if (take_jobs(inputs) < 0 || list_folders(inputs) < 0 ||
        recwalk_init(&inputs->walk, (const char *const *) inputs->folders,
                     inputs->n, &err) < 0) {
        free_folders(inputs);
        return failed(inputs, &err, JP_EXIT_IO);
    }
    inputs->walk.say = print_message;
    inputs->walk.arg = inputs;
    return JP_EXIT_OK;
}

void cmd_inputs_fini(struct cmd_inputs *inputs)
{
    recwalk_fini(&inputs->walk);
    free_folders(inputs);
}

int cmd_inputs_judge(const struct cmd_inputs *inputs)
{
    const struct jp_recwalk *walk = &inputs->walk;

    if (walk->troubles > TROUBLES_SAID && !inputs->quiet)
        fprintf(stderr, "jobprof: and %" PRIu64 " more\n",
                walk->troubles - TROUBLES_SAID);
    if (walk->others && !inputs->quiet)
        quote_printf(stderr,
                     "jobprof: %" PRIu64 " file%s not the recorder's%s\n",
                     walk->others, walk->others == 1 ? " is" : "s are",
                     walk->files ? "" : ": nothing to read");
    /* problems take precedence over a lack of files: the data is incomplete */
    if (walk->troubles)
        return JP_EXIT_INCOMPLETE;
    if (!walk->files) {
        if (!walk->others && !inputs->quiet)
            fprintf(stderr, "jobprof: no recorder file (.jpr) found\n");
        return JP_EXIT_NODATA;
    }
    return JP_EXIT_OK;
}
