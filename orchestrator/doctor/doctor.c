/* doctor.c - run all checks; the checks that look at this machine alone.
 *
 * doctor_run calls the checks in the order of its table; each adds lines by
 * doctor_add. A check stores in struct doctor what later ones need: the site
 * file that counts, the plugin folders, the profiler's library. Larger checks
 * have files of their own.
 */
#include "config.h"

#include "orchestrator/doctor/doctor.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/figure.h"
#include "common/fileio.h"
#include "common/grammar.h"
#include "common/knob.h"
#include "common/knownbad.h"
#include "common/num.h"
#include "common/ownplace.h"
#include "common/pattern.h"
#include "common/plan.h"
#include "common/sitefile.h"
#include "orchestrator/agent/plan_view.h"

/* --- check: owner and contents of the settings files --------------------- */

/* The receiver of errors in a settings file: which check they belong to. */
struct report {
    struct doctor *doctor;
    const char *check;
};

/* Adds one error of a settings file (sitefile_report, knownbad_report). */
static void note(void *arg, const char *text)
{
    struct report *r = arg;

    doctor_add(r->doctor, DOCTOR_FAIL, r->check,
               "jobprof config check lists all mistakes", "%s", text);
}

/* Checks who can change the site file: its owner controls the settings of all
 * users. */
static void check_root(struct doctor *d, const char *path)
{
    struct jp_error err;
    struct stat st;

    if (stat(path, &st) == 0 && st.st_uid != 0)
        doctor_add(d, DOCTOR_WARN, "site file", "chown root",
                   "%s: owned by uid %ld; jobs of other users ignore it", path,
                   (long) st.st_uid);
    else if (ownplace_check_folders(path, &err) < 0)
        doctor_add(d, DOCTOR_WARN, "site file",
                   "chown root and chmod go-w: its writers control the "
                   "settings of all users",
                   "%s", err.text);
    else
        doctor_add(d, DOCTOR_OK, "site file", "", "%s", path);
}

/* Checks the site file: it exists (or may be missing, unless named), has no
 * errors, and belongs to root. */
static void check_site(struct doctor *d, const char *path, bool named)
{
    struct report report = {d, "site file"};
    struct jp_sitefile file;

    /* Only a file that was named must exist. */
    if (sitefile_load(path, SITEFILE_SITE, named, note, &report, &file, NULL) <
        0)
        return;
    if (!file.n_files)
        doctor_add(d, DOCTOR_OK, "site file", "",
                   "%s does not exist: the defaults apply", path);
    for (size_t i = 0; i < file.n_files; i++)
        check_root(d, file.files[i]);
    sitefile_fini(&file);
}

/* Checks the calling user's file, if there is one. */
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

/* Checks that need all files together: locks, and the list of known problems.
 * Also stores the settings that later checks need. */
static void check_together(struct doctor *d, const struct plan_input *in)
{
    struct report report = {d, "known bad"};
    struct jp_knownbad list;
    struct jp_plan plan;
    struct jp_error err;
    const char *path, *named, *binds, *mounts;

    /* Merging finds what no single file shows, such as a value against a
     * lock. */
    if (plan_make(in, &plan, &err) < 0) {
        doctor_add(d, DOCTOR_FAIL, "settings", "", "%s", err.text);
        return;
    }
    named = plan_site(&plan, "nccl.known_bad");
    path = named ? named : JP_DEF_KNOWN_BAD;
    if (knownbad_load(path, named != NULL, note, &report, &list, NULL) == 0) {
        doctor_add(d, list.n ? DOCTOR_OK : DOCTOR_WARN, "known bad",
                   list.n ? ""
                          : "install examples/nccl-known-bad.conf: without it "
                            "no NCCL release is warned about",
                   "%s: %zu entr%s", path, list.n, list.n == 1 ? "y" : "ies");
        knownbad_fini(&list);
    }
    binds = plan_site(&plan, "container_binds");
    mounts = plan_site(&plan, "container_paths");
    /* Copies, because the plan owns the strings. */
    d->binds = binds ? strdup(binds) : NULL;
    d->mounts = mounts ? strdup(mounts) : NULL;
    plan_fini(&plan);
}

/* Finds mistyped variables of jobprof in the environment of this command. */
static void check_names(struct doctor *d)
{
    const char *meant;
    char name[128];

    for (char **pair = environ; pair && *pair; pair++)
        if (ownvars_is_unknown(*pair, name, sizeof(name), &meant))
            doctor_add(d, DOCTOR_WARN, "variables",
                       "remove it: it has no effect",
                       "%s is not a jobprof variable%s%s%s", name,
                       meant ? "; did you mean " : "", meant ? meant : "",
                       meant ? "?" : "");
}

/* The site file that counts is that of --config, else that of the plugstack
 * line, else the installed one. */
static void doctor_site(struct doctor *d)
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
    /* A broken file would only give the same errors again. */
    if (d->count[DOCTOR_FAIL] == before)
        check_together(d, &in);
}

/* --- check: jobprof's and Slurm's programs, their places and releases ---- */

/* How long a program may take to print its version. */
#define VERSION_MS 5000

/* The folder of a program's path. Caller frees. NULL: the path has none, or no
 * memory. */
static char *own_folder(const char *self)
{
    const char *slash = self ? strrchr(self, '/') : NULL;

    return slash ? strndup(self, (size_t) (slash - self)) : NULL;
}

/* The path of jobprof-node: beside this program (a build folder), else where it
 * is installed. Caller frees. */
static char *find_node_program(const struct doctor *d)
{
    char *folder = own_folder(d->options->self);
    char *path = folder ? text_format("%s/jobprof-node", folder) : NULL;

    if (!path || access(path, X_OK) < 0) {
        free(path);
        path = strdup(JP_LIBEXECDIR "/jobprof-node");
    }
    free(folder);
    return path;
}

/* Whether nobody but root and us can change the file itself. Its folder is that
 * of this program, which runs already. */
static bool others_only_read(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
           (st.st_uid == 0 || st.st_uid == geteuid());
}

/* Checks that jobprof-node is there and from the same release. It is run only
 * if it cannot be somebody else's program. */
static void check_node_program(struct doctor *d)
{
    char *argv[] = {d->node_program, (char *) "--version", NULL};
    char *said = NULL;
    struct jp_error err;

    /* Before it is run: it exists, and nobody else can have changed it. */
    if (access(d->node_program, X_OK) < 0) {
        doctor_add(d, DOCTOR_FAIL, "programs", "install jobprof as a whole",
                   "%s: %s", d->node_program, strerror(errno));
        return;
    }
    if (!doctor_trusts(d, "programs", d->node_program))
        return;
    if (!others_only_read(d->node_program)) {
        doctor_add(d, DOCTOR_SKIP, "programs", "",
                   "%s was not run, because other users can change it",
                   d->node_program);
        return;
    }
    if (doctor_command(argv, VERSION_MS, false, &said, &err) != 0)
        doctor_add(d, DOCTOR_FAIL, "programs", "", "%s --version fails: %s",
                   d->node_program, said ? "exit status" : err.text);
    else if (strcmp(said, "jobprof-node " PACKAGE_VERSION "\n") != 0)
        doctor_add(d, DOCTOR_FAIL, "programs",
                   "install both programs from one release",
                   "%s is not from release " PACKAGE_VERSION, d->node_program);
    else
        doctor_add(d, DOCTOR_OK, "programs", "",
                   "jobprof and %s are from release " PACKAGE_VERSION,
                   d->node_program);
    free(said);
}

/* Finds the release of srun, which loads the module: "slurm-wlm 22.05.8". */
static void check_srun(struct doctor *d)
{
    static char *const argv[] = {(char *) "srun", (char *) "--version", NULL};
    char *said = NULL, *at;
    struct jp_error err;
    uint64_t major, minor;

    if (doctor_command(argv, VERSION_MS, false, &said, &err) != 0) {
        doctor_add(d, DOCTOR_SKIP, "slurm", "", "srun cannot be run: %s",
                   said ? "srun --version fails" : err.text);
        free(said);
        return;
    }
    said[strcspn(said, "\n")] = '\0';
    at = strchr(said, ' ');
    at = at ? at + 1 : said;
    /* "23.11.4": two digits each. */
    if (strlen(at) < 5 || at[2] != '.' ||
        num_parse_u64(strndupa(at, 2), 0, 99, &major, NULL) < 0 ||
        num_parse_u64(strndupa(at + 3, 2), 0, 99, &minor, NULL) < 0) {
        doctor_add(d, DOCTOR_WARN, "slurm", "",
                   "srun --version prints \"%s\", which is not a Slurm release",
                   said);
    } else {
        d->srun_major = (unsigned) major;
        d->srun_minor = (unsigned) minor;
        doctor_add(d, DOCTOR_OK, "slurm", "", "srun is from Slurm %s", at);
    }
    free(said);
}

/* Checks the programs of jobprof and Slurm. */
static void doctor_programs(struct doctor *d)
{
    d->node_program = find_node_program(d);
    if (!d->node_program) {
        d->failed = true;
        return;
    }
    check_node_program(d);
    check_srun(d);
}

/* --- check: can stuck processes be looked at? ---------------------------- */

#define EVIDENCE "evidence"
#define YAMA "/proc/sys/kernel/yama/ptrace_scope"

/* Whether PATH has an executable of that name. */
static bool is_in_path(const char *name)
{
    const char *path = getenv("PATH");
    char *folders = strdup(path ? path : ""), *rest = folders, *folder;
    bool found = false;

    while (rest && !found && (folder = strsep(&rest, ":"))) {
        char *file = *folder ? text_format("%s/%s", folder, name) : NULL;

        found = file && access(file, X_OK) == 0;
        free(file);
    }
    free(folders);
    return found;
}

/* Whether a process of a user may trace another one. Without the Yama module,
 * it may. */
static bool may_trace(void)
{
    FILE *file = fopen(YAMA, "re");
    int c = file ? fgetc(file) : '0';

    if (file)
        fclose(file);
    return c == '0' || c == EOF;
}

/* Checks the programs that record stacks of stuck processes. This host may not
 * be a compute node, so what is missing is no failure. */
static void doctor_evidence(struct doctor *d)
{
    bool stacks = is_in_path("eu-stack");

    if (!may_trace())
        doctor_add(d, DOCTOR_WARN, EVIDENCE,
                   "set it to 0 on the nodes: users cannot read stacks of "
                   "their stuck processes",
                   YAMA " is not 0");
    if (stacks)
        doctor_add(d, DOCTOR_OK, EVIDENCE, "", "eu-stack%s",
                   is_in_path("py-spy") ? ", py-spy" : "; no py-spy in PATH");
    else
        doctor_add(d, DOCTOR_SKIP, EVIDENCE, "",
                   "no eu-stack in PATH (package elfutils): nodes without it "
                   "record no stacks of stuck processes");
}

/* --- check: will containers see the profiler's library? ------------------ */

#define CONTAINER "container"
#define FSTAB_MAX_BYTES (64 * 1024)
#define MOUNTS "/etc/enroot/mounts.d/*.fstab"
#define MOUNTS_FILE "/etc/enroot/mounts.d/50-jobprof.fstab"
#define HOOKS "/etc/enroot/hooks.d/*jobprof*.sh"
#define BINDS "JOBPROF_BINDS"
#define BINDS_LINE "container_binds = [ \"" BINDS "\" ];"
#define HOOK_LINE                                                              \
    "install -m 755 examples/enroot/50-jobprof.sh /etc/enroot/hooks.d/"

/* Whether a line "SOURCE TARGET ..." of an fstab mounts path, or a folder above
 * it, at the same place. Writes to line. */
static bool line_has(char *line, const char *path)
{
    char *rest = line, *source = strsep(&rest, " \t"), *target;
    size_t n;

    while (rest && (*rest == ' ' || *rest == '\t'))
        rest++;
    target = strsep(&rest, " \t");
    if (*source != '/' || !target || strcmp(source, target) != 0)
        return false;
    n = strlen(source);
    /* Compare whole components: "/opt" does not contain "/opt2". */
    return strncmp(path, source, n) == 0 &&
           (path[n] == '/' || path[n] == '\0' || source[n - 1] == '/');
}

/* Whether a line of the fstab file mounts path. */
static bool file_has(const char *file, const char *path)
{
    char *text, *rest, *line;
    bool found = false;

    if (fileio_read(file, true, FSTAB_MAX_BYTES, &text, NULL, NULL) < 0)
        return false;
    rest = text;
    while (!found && (line = strsep(&rest, "\n")))
        found = line_has(line, path);
    free(text);
    return found;
}

/* Whether one of enroot's fstab files mounts path. NULL: no. */
static bool is_mounted(const char *path)
{
    glob_t files = {0};
    bool found = false;

    if (path && glob(MOUNTS, 0, NULL, &files) == 0)
        for (size_t i = 0; i < files.gl_pathc && !found; i++)
            found = file_has(files.gl_pathv[i], path);
    globfree(&files);
    return found;
}

/* Whether jobprof's hook for enroot is installed. enroot ignores hooks that are
 * not executable. */
static bool has_hook(void)
{
    glob_t files = {0};
    bool found = false;

    if (glob(HOOKS, 0, NULL, &files) == 0)
        for (size_t i = 0; i < files.gl_pathc && !found; i++)
            found = access(files.gl_pathv[i], X_OK) == 0;
    globfree(&files);
    return found;
}

/* Whether this Slurm can put a program before that of a task, which needs
 * 23.11. */
static bool may_wrap(const struct doctor *d)
{
    return d->srun_major > 23 || (d->srun_major == 23 && d->srun_minor >= 11);
}

/* Checks whether a backend's program can be started in containers. PATH is that
 * of the image, and the program that goes before it is neither the library nor
 * in the step's folder, which are the only paths that the hook mounts. */
static void check_wrapper(struct doctor *d, const struct backend *backend)
{
    const char *option = grammar_of(backend->about.option)->option;
    const char *title = backend->about.title;
    char *folder = own_folder(d->node_program);
    char *wrap = folder ? text_format("%s/%s", folder, backend->side->wrapper)
                        : NULL;
    char *inside = wrap ? mountmap_inside(d->mounts, wrap) : NULL;

    if (!inside) {
        d->failed = true;
    } else if (is_mounted(wrap) || strcmp(inside, wrap) != 0) {
        doctor_add(d, DOCTOR_OK, CONTAINER, "",
                   "PATH is the image's: %s starts the image's %s by %s",
                   option, title, inside);
    } else {
        doctor_add(
            d, DOCTOR_SKIP, CONTAINER, "",
            "PATH is the image's: %s needs %s in the image and %s, which "
            "is not mounted; ranks run without %s",
            option, title, wrap, title);
        doctor_advise(d,
                      "add a line to " MOUNTS_FILE ": %s %s none "
                      "x-create=file,bind,ro,nosuid,nodev,nofail",
                      wrap, wrap);
    }
    free(inside);
    free(wrap);
    free(folder);
}

/* Checks the programs that go before those of the tasks. */
static void check_wrappers(struct doctor *d)
{
    for (enum jp_option i = OPTION_NCCL + 1; i < OPTIONS; i++)
        if (backend_side(i)->wrapper)
            check_wrapper(d, backend_of_option(i));
}

/* Checks that containers of pyxis get the mounts. There are three ways: the
 * hook with container_binds, fstab files of enroot, or container_paths. */
static void check_pyxis(struct doctor *d)
{
    const char *library = d->library ? d->library : "the profiler";
    bool told = d->binds && knob_list_has(d->binds, BINDS), hook = has_hook();

    /* The hook reads the list of mounts from a variable that container_binds
     * must name: one without the other has no effect. */
    if (hook && told)
        doctor_add(d, DOCTOR_OK, CONTAINER, "",
                   HOOKS " mounts the paths in " BINDS);
    else if (hook || told)
        doctor_add(
            d, DOCTOR_WARN, CONTAINER,
            hook ? "in jobprof.conf: " BINDS_LINE : HOOK_LINE,
            hook ? HOOKS " exists, but container_binds does not name " BINDS
                 : "container_binds names " BINDS ", but there is no " HOOKS);
    else if (is_mounted(d->library))
        doctor_add(d, DOCTOR_OK, CONTAINER, "", "%s is mounted by " MOUNTS,
                   library);
    else if (d->mounts)
        doctor_add(d, DOCTOR_OK, CONTAINER, "",
                   "container_paths maps the paths: %s", d->mounts);
    else
        doctor_add(d, DOCTOR_WARN, CONTAINER,
                   HOOK_LINE " and in jobprof.conf: " BINDS_LINE
                             ", or mount both for all users (" MOUNTS ")",
                   "containers see neither %s nor the reports' folder",
                   library);
}

/* Checks the names in container_binds: a variable with an invalid name would
 * leave all nodes unprofiled. */
static void check_container_names(struct doctor *d)
{
    char *copy = d->binds ? strdup(d->binds) : NULL, *rest = copy, *name;

    while ((name = strsep(&rest, ",")))
        if (strpbrk(name, ".-") || (*name >= '0' && *name <= '9'))
            doctor_add(d, DOCTOR_FAIL, CONTAINER,
                       "correct the name: steps run unprofiled",
                       "container_binds: %s is not a variable name", name);
    free(copy);
}

/* Checks container_paths: a mapping of a path that does not exist has no
 * effect. */
static void check_paths(struct doctor *d)
{
    char *copy = d->mounts ? strdup(d->mounts) : NULL, *rest = copy, *pair;

    while ((pair = strsep(&rest, ","))) {
        char *host = strsep(&pair, "=");

        if (access(host, F_OK) < 0)
            doctor_add(d, DOCTOR_WARN, CONTAINER,
                       "correct the path: this entry maps nothing",
                       "container_paths: %s does not exist on this host", host);
    }
    free(copy);
}

/* Checks the settings for containers. */
static void doctor_container(struct doctor *d)
{
    check_container_names(d);
    check_paths(d);
    /* Without pyxis, only the site's own keys can be checked. */
    if (d->pyxis)
        check_pyxis(d);
    if (d->pyxis && may_wrap(d))
        check_wrappers(d);
    if (d->pyxis)
        return;
    if (d->binds || d->mounts)
        doctor_add(d, DOCTOR_OK, CONTAINER, "", "by %s%s%s%s%s",
                   d->binds ? "container_binds " : "", d->binds ? d->binds : "",
                   d->binds && d->mounts ? ", " : "",
                   d->mounts ? "container_paths " : "",
                   d->mounts ? d->mounts : "");
    else
        doctor_add(d, DOCTOR_SKIP, CONTAINER, "",
                   "no pyxis in the plugin stack, and no container_ keys");
}

/* --- check: are memory and disk enough for a profile of N ranks? --------- */

/* Compares the memory of all ranks of a node with the part of the step's memory
 * that profilers may take. */
static void check_memory(struct doctor *d, const struct plan_view *view)
{
    const struct jp_jobshape *shape = &view->shape;
    uint64_t one = view->forecast.memory_bytes;
    uint64_t all = plan_view_node(view, one);
    uint64_t room = shape->step_memory_bytes;
    /* The same share of the step's memory that the planners use. */
    bool tight = room && all > room / JP_STEP_MEMORY_PARTS;

    if (!one)
        doctor_add(d, DOCTOR_SKIP, "memory", "", "%s: no forecast",
                   profiler_title(view->runs));
    else
        doctor_add(d, tight ? DOCTOR_WARN : DOCTOR_OK, "memory",
                   tight ? "run jobprof plan to see which settings need it"
                         : "",
                   "%s: %s for each rank, %s for the %u on a node%s%s",
                   profiler_title(view->runs), FIG_BYTES(one), FIG_BYTES(all),
                   jobshape_ranks(shape), room ? ", of " : "",
                   room ? FIG_BYTES(room) : "");
}

/* The agent looks for hangs of so many processes of a node. */
static void check_watched(struct doctor *d, const struct plan_view *view)
{
    uint32_t ranks = jobshape_ranks(&view->shape);

    if (ranks > JP_WATCHED_PROCESSES)
        doctor_add(d, DOCTOR_WARN, "hangs",
                   "the report names the ranks that were not watched",
                   "%u of the %u ranks of a node would not be watched for "
                   "hangs while the step runs",
                   ranks - JP_WATCHED_PROCESSES, ranks);
}

/* Compares the files of the step with the free space. */
static void check_disk(struct doctor *d, const struct plan_view *view)
{
    uint64_t one = view->forecast.disk_bytes;
    bool full = plan_view_is_full(view);

    if (!one)
        doctor_add(d, DOCTOR_SKIP, "disk", "", "%s: no forecast",
                   profiler_title(view->runs));
    else
        doctor_add(d, full ? DOCTOR_WARN : DOCTOR_OK, "disk",
                   full ? "less would be recorded: change iterations= or "
                          "disk=, or set another dir="
                        : "",
                   "%u rank%s about %s; %s are free", d->options->tasks,
                   d->options->tasks == 1 ? " writes" : "s write",
                   FIG_BYTES(plan_view_step(view, one)),
                   view->shape.disk_free_bytes
                       ? FIG_BYTES(view->shape.disk_free_bytes)
                       : "an unknown number");
}

/* Adds the first warning of the plan; jobprof plan prints all of them. */
static void check_warnings(struct doctor *d, const struct plan_view *view)
{
    if (*view->warnings)
        doctor_add(d, DOCTOR_WARN, "plan",
                   "run jobprof plan to see all warnings", "%.*s",
                   (int) strcspn(view->warnings, "\n"), view->warnings);
}

/* Checks the cost of a launch by the same view that jobprof plan prints. */
static void check_launch(struct doctor *d, const struct launch *launch)
{
    struct plan_view view;
    struct jp_error err;

    if (plan_view_make(launch, &view, &err) < 0) {
        doctor_add(d, DOCTOR_SKIP, "plan", "", "%s", err.text);
        return;
    }
    check_memory(d, &view);
    check_watched(d, &view);
    check_disk(d, &view);
    check_warnings(d, &view);
    doctor_backends_step(d, &launch->conf);
    plan_view_fini(&view);
}

/* Makes the launch of an imagined step in the directory of the user, and checks
 * it. */
static void doctor_forecast(struct doctor *d)
{
    const struct plan_input in = {
        .config = d->site && !access(d->site, F_OK) ? d->site : NULL,
        .default_mode = d->default_mode,
        .settled = true};
    /* The step is imagined: facts of a job around this command must not be
     * used. */
    struct launch_facts facts = {.nnodes = d->options->nodes ? d->options->nodes
                                                             : 1,
                                 .ntasks = d->options->tasks,
                                 .size.imagined = true};
    struct launch launch;
    struct jp_plan plan;
    struct jp_error err;

    if (plan_make(&in, &plan, &err) < 0) {
        doctor_add(d, DOCTOR_SKIP, "plan", "", "%s", err.text);
        return;
    }
    if (!plan.sides[OPTION_NCCL]
             .mode) { /* no profile is requested: assume auto */
        plan.sides[OPTION_NCCL].mode =
            grammar_find_mode(grammar_nccl(), "auto");
        plan.sides[OPTION_NCCL].mode_source = PLAN_DEFAULT;
    }
    facts_get(&in, &facts);
    if (launch_make(&facts, &plan, d->options->dir, &launch, &err) < 0) {
        doctor_add(d, DOCTOR_FAIL, "plan",
                   "change the settings: such steps run unprofiled", "%s",
                   err.text);
    } else {
        check_launch(d, &launch);
        launch_fini(&launch);
    }
    plan_fini(&plan);
}

/* --- all checks ---------------------------------------------------------- */

int doctor_run(const struct doctor_options *options, struct doctor *out,
               struct jp_error *err)
{
    /* The order matters: later checks use what earlier ones have stored. */
    static void (*const checks[])(struct doctor *) = {
        doctor_programs, doctor_plugstack, doctor_site,     doctor_files,
        doctor_nccl,     doctor_container, doctor_backends, doctor_evidence,
        doctor_place,    doctor_forecast,  doctor_nodes};
    /* All checks run even if an earlier one has failed. */
    struct doctor d = {.options = options};

    for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
        checks[i](&d);
    if (d.failed) {
        doctor_fini(&d);
        return error_set(err, "out of memory");
    }
    *out = d;
    return 0;
}

void doctor_fini(struct doctor *doctor)
{
    if (!doctor)
        return;
    for (size_t i = 0; i < doctor->n_lines; i++) {
        free(doctor->lines[i].text);
        free(doctor->lines[i].made);
    }
    free(doctor->lines);
    free(doctor->site);
    free(doctor->default_mode);
    free(doctor->node_program);
    free(doctor->plugin_dirs);
    free(doctor->library);
    free(doctor->binds);
    free(doctor->mounts);
    free(doctor->place);
    for (size_t i = 0; i < doctor->n_needed; i++)
        free(doctor->needed[i]);
    *doctor = (struct doctor){0};
}
