/* plugstack.c - read Slurm's plugstack.conf and what it includes, and check
 * jobprof's line in it.
 *
 * The first half is the reader (plugstack_read), the second half the check
 * (doctor_plugstack): where the file is, whether a line loads the module, and
 * whether the module's file fits to this Slurm and to the programs.
 */
#include "config.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/quote.h"
#include "common/grammar.h"
#include "common/vector.h"
#include "orchestrator/collect/slurmask.h"
#include "orchestrator/doctor/doctor.h"

/* Limits of the reader: bytes of a file, files, lines, depth of includes. */
#define FILE_MAX_BYTES (256 * 1024)
#define FILES_MAX 64
#define LINES_MAX 1024
#define DEPTH_MAX 8

static const char blanks[] = " \t\r\n";

static int read_file(struct plugstack *s, const char *path, int depth,
                     struct jp_error *err);

/* Stores the first problem as a sentence; later ones are dropped. */
static void complain(struct plugstack *s, const char *where, const char *what,
                     const char *word)
{
    if (!s->trouble)
        s->trouble = text_format("%s: %s%s%s", where, what, *word ? " " : "",
                                 *word ? QUOTE(word) : "");
}

/* The pattern of an include, relative to the folder of the file that contains
 * it. Caller frees; NULL: no memory. */
static char *absolute(const char *pattern, const char *file)
{
    const char *slash = strrchr(file, '/');

    if (*pattern == '/' || !slash)
        return strdup(pattern);
    return text_format("%.*s/%s", (int) (slash - file), file, pattern);
}

/* Reads all files that match an include's pattern. No match is no error, as in
 * Slurm. */
static void include(struct plugstack *s, const char *pattern, const char *file,
                    const char *where, int depth)
{
    char *path = absolute(pattern, file);
    glob_t found = {0};
    struct jp_error err;

    /* A file may include itself. */
    if (depth >= DEPTH_MAX)
        complain(s, where, "includes too deep", "");
    else if (path && glob(path, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            if (read_file(s, found.gl_pathv[i], depth + 1, &err) < 0)
                complain(s, where, err.text, "");
    globfree(&found);
    free(path);
}

static void free_line(struct plugstack_line *line)
{
    free(line->plugin);
    for (size_t i = 0; i < line->n_args && i < PLUGSTACK_ARGS_MAX; i++)
        free(line->args[i]);
    free(line->where);
}

/* Adds a line that loads a plugin. rest: its arguments, which are split in
 * place. */
static void add_line(struct plugstack *s, bool required, const char *plugin,
                     char *rest, const char *where)
{
    struct plugstack_line line = {
        .required = required, .plugin = strdup(plugin), .where = strdup(where)};
    bool has_room = s->n_lines < LINES_MAX &&
                    VECTOR_DOUBLE(s->lines, s->n_lines) == 0;
    char *word;

    /* Several blanks in a row give empty words. */
    while ((word = strsep(&rest, blanks)) && line.n_args < PLUGSTACK_ARGS_MAX)
        if (*word && (line.args[line.n_args] = strdup(word)))
            line.n_args++;
    if (!has_room || !line.plugin || !line.where) {
        complain(s, where, "too many lines", "");
        free_line(&line);
        return;
    }
    s->lines[s->n_lines++] = line;
}

/* The next word of *rest, which moves past it; NULL: there is none. */
static char *next_word(char **rest)
{
    char *word;

    while ((word = strsep(rest, blanks)))
        if (*word)
            return word;
    return NULL;
}

/* Handles one line of a file. */
static void read_line(struct plugstack *s, char *text, const char *file,
                      unsigned number, int depth)
{
    char *where = text_format("%s:%u", file, number);
    char *rest = text, *type, *path;

    /* Slurm's loader knows no quotes, so every '#' starts a comment. */
    text[strcspn(text, "#")] = '\0';
    type = next_word(&rest);
    path = type ? next_word(&rest) : NULL;
    if (!where || !type)
        ; /* an empty line or a comment */
    else if (strcmp(type, "required") && strcmp(type, "optional") &&
             strcmp(type, "include"))
        complain(s, where, "not optional, required or include:", type);
    else if (!path)
        complain(s, where, "no plugin is named", "");
    else if (!strcmp(type, "include"))
        include(s, path, file, where, depth);
    else
        add_line(s, *type == 'r', path, rest, where);
    free(where);
}

/* Reads one file and, recursively, what it includes. -1: it cannot be read. */
static int read_file(struct plugstack *s, const char *path, int depth,
                     struct jp_error *err)
{
    char *text, *rest, *line;
    unsigned number = 0;

    if (s->n_files >= FILES_MAX || VECTOR_DOUBLE(s->files, s->n_files) < 0)
        return error_set(err, "%s: too many files", path);
    if (fileio_read(path, true, FILE_MAX_BYTES, &text, NULL, err) < 0)
        return -1;
    s->files[s->n_files] = strdup(path);
    if (s->files[s->n_files])
        s->n_files++;
    rest = text;
    while ((line = strsep(&rest, "\n")))
        read_line(s, line, path, ++number, depth);
    free(text);
    return 0;
}

int plugstack_read(const char *path, struct plugstack *out,
                   struct jp_error *err)
{
    struct plugstack s = {0};

    if (read_file(&s, path, 0, err) < 0) {
        plugstack_fini(&s);
        return -1;
    }
    *out = s;
    return 0;
}

void plugstack_fini(struct plugstack *stack)
{
    if (!stack)
        return;
    for (size_t i = 0; i < stack->n_lines; i++)
        free_line(&stack->lines[i]);
    for (size_t i = 0; i < stack->n_files; i++)
        free(stack->files[i]);
    free(stack->lines);
    free(stack->files);
    free(stack->trouble);
    *stack = (struct plugstack){0};
}

bool plugstack_is(const struct plugstack_line *line, const char *name)
{
    const char *slash = strrchr(line->plugin, '/');

    return strcmp(slash ? slash + 1 : line->plugin, name) == 0;
}

const char *plugstack_arg(const struct plugstack_line *line, const char *key)
{
    size_t n = strlen(key);

    for (size_t i = 0; i < line->n_args; i++)
        if (strncmp(line->args[i], key, n) == 0 && line->args[i][n] == '=')
            return line->args[i] + n + 1;
    return NULL;
}

/* --- check: does Slurm load the module, and was it built for this Slurm? ---
 */

#define CONTROLLER_MS 5000
#define MODULE "spank_jobprof.so"
#define CHECK "plugstack"
#define VARIABLE "NCCL_PROFILER_PLUGIN"

static const char line_advice[] = "add the line: optional " MODULE
                                  " (spank_jobprof(8))";

/* --- the module ----------------------------------------------------------- */

/* Compares the module's plugin_version, the Slurm release of its headers, with
 * that of srun. Slurm's loader does the same with the first two of the three
 * numbers and refuses other modules. */
static void check_release(struct doctor *d, const char *path, uint32_t number)
{
    unsigned major = number >> 16 & 255, minor = number >> 8 & 255;

    if (!d->srun_major)
        doctor_add(
            d, DOCTOR_SKIP, "module", "",
            "%s was built for Slurm %u.%02u; there is no srun to compare with",
            path, major, minor);
    else if (major != d->srun_major || minor != d->srun_minor)
        doctor_add(d, DOCTOR_FAIL, "module",
                   "build jobprof against the headers of this srun's Slurm",
                   "%s was built for Slurm %u.%02u, srun is from %u.%02u: it "
                   "is not loaded",
                   path, major, minor, d->srun_major, d->srun_minor);
    else
        doctor_add(d, DOCTOR_OK, "module", "",
                   "%s was built for Slurm %u.%02u, as srun", path, major,
                   minor);
}

/* Compares the module's release with that of the programs. They are installed
 * separately, so an upgrade may have replaced only one of them. */
static void check_own_release(struct doctor *d, const char *path,
                              const char *release)
{
    if (!release || strcmp(release, PACKAGE_VERSION) != 0)
        doctor_add(
            d, DOCTOR_WARN, "module",
            "install both from one release, also on the nodes",
            "%s is from jobprof %s, the programs are from " PACKAGE_VERSION,
            path, release ? release : "before 0.2.0");
}

#define RELEASE_BYTES 48

/* The release of jobprof in a module's file, "jobprof 0.3.0", into buf. Returns
 * buf. */
static const char *release_of(const char *path, char buf[RELEASE_BYTES])
{
    const char *release = NULL;
    struct elfview view;

    /* The answer if the file cannot be read. */
    snprintf(buf, RELEASE_BYTES, "release unknown");
    if (elfview_open(path, &view, NULL) < 0)
        return buf;
    release = elfview_after(&view, "jobprof module ");
    snprintf(buf, RELEASE_BYTES, "jobprof %s",
             release ? release : "before 0.2.0");
    elfview_close(&view);
    return buf;
}

/* Whether release a is newer than b. A module before 0.2.0 does not contain its
 * release and counts as older. */
static bool is_newer(const char *a, const char *b)
{
    static const char *const known = "jobprof ";
    bool has_a = !strncmp(a, known, 8) && a[8] >= '0' && a[8] <= '9';
    bool has_b = !strncmp(b, known, 8) && b[8] >= '0' && b[8] <= '9';

    return has_a && (!has_b || strverscmp(a, b) > 0);
}

/* Whether both paths lead to the same file. */
static bool is_same(const char *a, const char *b)
{
    struct stat one, other;

    return stat(a, &one) == 0 && stat(b, &other) == 0 &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* Reports another module file besides that of the line, and which of them to
 * remove. */
static void check_twin(struct doctor *d, const struct plugstack_line *line,
                       const char *path, const char *twin)
{
    char mine[RELEASE_BYTES], other[RELEASE_BYTES];
    /* The older one of the two is to be removed. */
    bool newer = is_newer(release_of(twin, other), release_of(path, mine));

    doctor_add(d, DOCTOR_WARN, "module", "",
               "%s (%s) exists in addition to %s (%s), which %s loads", twin,
               other, path, mine, line->where);
    if (newer)
        doctor_advise(d, "rm %s, which is older; %s must name %s", path,
                      line->where, twin);
    else
        doctor_advise(d, "rm %s", twin);
}

/* Looks for other module files in Slurm's folders and in ours, which an earlier
 * installation has left. Such a file is loaded as soon as a line names it, or
 * the right file is gone. */
static void check_twins(struct doctor *d, const struct plugstack_line *line,
                        const char *path)
{
    char *dirs = text_format("%s:" JP_SLURM_PLUGINDIR,
                             d->plugin_dirs ? d->plugin_dirs : "");
    char *rest = dirs, *dir, *last = NULL;

    /* A folder may be listed twice in a row. */
    while (dirs && (dir = strsep(&rest, ":"))) {
        char *twin = *dir ? text_format("%s/" MODULE, dir) : NULL;

        if (twin && access(twin, F_OK) == 0 && !is_same(twin, path) &&
            !(last && !strcmp(last, twin))) {
            check_twin(d, line, path, twin);
            free(last);
            last = twin;
            twin = NULL;
        }
        free(twin);
    }
    free(last);
    free(dirs);
}

/* Checks the module's file: owner, type, releases. */
static void check_module(struct doctor *d, const char *path)
{
    struct elfview view;
    struct jp_error err;
    uint32_t number;

    if (!doctor_trusts(d, "module", path))
        return;
    if (elfview_open(path, &view, &err) < 0) {
        doctor_add(d, DOCTOR_FAIL, "module", "", "%s", err.text);
        return;
    }
    /* Every SPANK module has both. */
    if (!elfview_exports(&view, "slurm_spank_init") ||
        elfview_number(&view, "plugin_version", &number, &err) < 0)
        doctor_add(d, DOCTOR_FAIL, "module", "", "%s: not a SPANK module",
                   path);
    else
        check_release(d, path, number);
    check_own_release(d, path, elfview_after(&view, "jobprof module "));
    elfview_close(&view);
}

/* The path of a plugin: as written if absolute, else in the first of Slurm's
 * folders that has it. Caller frees; NULL: not found. */
static char *find_module(const struct doctor *d, const char *plugin)
{
    char *dirs = strdup(d->plugin_dirs ? d->plugin_dirs : ""), *rest = dirs;
    char *dir, *path = *plugin == '/' ? strdup(plugin) : NULL;

    while (*plugin != '/' && !path && (dir = strsep(&rest, ":"))) {
        path = *dir ? text_format("%s/%s", dir, plugin) : NULL;
        if (path && access(path, F_OK) < 0) {
            free(path);
            path = NULL;
        }
    }
    free(dirs);
    return path;
}

/* --- the line ------------------------------------------------------------- */

/* Checks the arguments of the line that loads the module. */
static void check_args(struct doctor *d, const struct plugstack_line *line)
{
    /* what ends with '=' or '/' goes on, the rest is the whole word */
    static const char *const known[] = {"config=/", "node=/",
                                        "default=", "history=tell"};
    const char *mode = plugstack_arg(line, "default");
    struct jp_request request = {0};
    struct jp_error err;

    for (size_t i = 0; i < line->n_args; i++) {
        bool ours = false;

        for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++) {
            size_t len = strlen(known[k]);

            ours = ours ||
                   (!strncmp(line->args[i], known[k], len) &&
                    (strchr("=/", known[k][len - 1]) || !line->args[i][len]));
        }
        if (!ours)
            doctor_add(d, DOCTOR_WARN, CHECK,
                       "remove it, because it is ignored: known are "
                       "config=/FILE, node=/FILE, default=MODE, "
                       "history=tell",
                       "%s: %s", line->where, line->args[i]);
    }
    /* default= is parsed like the option, because the module treats it so. */
    if (mode && request_parse(grammar_nccl(), mode, &request, &err) < 0)
        doctor_add(d, DOCTOR_WARN, CHECK,
                   "correct the mode (jobprof config --help lists them): steps "
                   "without the option run unprofiled",
                   "%s: default=%s: %s", line->where, mode, err.text);
    else if (mode)
        request_fini(&request);
}

/* Checks the line that loads the module, and stores its arguments for later
 * checks. */
static void take_line(struct doctor *d, const struct plugstack_line *line)
{
    const char *config = plugstack_arg(line, "config");
    const char *node = plugstack_arg(line, "node");
    const char *mode = plugstack_arg(line, "default");
    char *path = find_module(d, line->plugin);

    d->loaded = true;
    /* slurmd takes a failing required plugin as an error of the node. */
    if (line->required)
        doctor_add(d, DOCTOR_WARN, CHECK,
                   "write optional: as required, an error of the module stops "
                   "every step and drains nodes",
                   "%s: required", line->where);
    else
        doctor_add(d, DOCTOR_OK, CHECK, "", "%s loads the module", line->where);
    check_args(d, line);
    if (config && *config == '/')
        d->site = strdup(config);
    if (mode)
        d->default_mode = strdup(mode);
    if (node && *node == '/' && access(node, X_OK) < 0)
        doctor_add(d, DOCTOR_FAIL, CHECK, "correct node=: steps run unprofiled",
                   "%s: node=%s cannot be run", line->where, node);
    else if (node && *node == '/')
        doctor_trusts(d, CHECK, node);
    /* Now the file that the line names. */
    if (path) {
        check_module(d, path);
        check_twins(d, line, path);
    } else {
        doctor_add(d, DOCTOR_FAIL, "module", "install the module there",
                   "%s: no %s in %s", line->where, line->plugin,
                   d->plugin_dirs ? d->plugin_dirs : "Slurm's plugin folder");
    }
    free(path);
}

/* Reports a second line that loads the module. If the lines name two files,
 * Slurm runs both, and the option is that of the first one. */
static void check_again(struct doctor *d, const struct plugstack_line *first,
                        const struct plugstack_line *again)
{
    char *path = find_module(d, first->plugin);
    char *other = find_module(d, again->plugin);
    char one[RELEASE_BYTES], two[RELEASE_BYTES];
    /* Remove the line of the older file; of equal files, the second line. */
    const struct plugstack_line *old = again;

    if (path && other && !is_same(path, other)) {
        if (is_newer(release_of(other, two), release_of(path, one)))
            old = first;
        doctor_add(d, DOCTOR_WARN, CHECK, "",
                   "%s loads %s (%s), and %s loads another module, %s (%s)",
                   first->where, path, one, again->where, other, two);
    } else {
        doctor_add(d, DOCTOR_WARN, CHECK, "", "%s loads the module again",
                   again->where);
    }
    doctor_advise(d, "remove the line %s: %s %s", old->where,
                  old->required ? "required" : "optional", old->plugin);
    free(path);
    free(other);
}

/* Reports another module that knows the variable: after ours, it may set
 * another profiler for the tasks. */
static void check_other(struct doctor *d, const struct plugstack_line *line,
                        bool after)
{
    char *path = find_module(d, line->plugin);
    struct elfview view;
    bool knows = false;

    if (after && path && elfview_open(path, &view, NULL) == 0) {
        knows = elfview_after(&view, VARIABLE) != NULL;
        elfview_close(&view);
    }
    if (knows)
        doctor_add(
            d, DOCTOR_WARN, "override",
            "if steps record nothing, move jobprof's line behind its "
            "line",
            "%s loads %s after jobprof's module, and it may set " VARIABLE,
            line->where, path);
    free(path);
}

/* Looks for the module's lines and that of pyxis. pyxis moves the tasks into
 * their container, so a module after it would be too late for the mounts. */
static void take_lines(struct doctor *d, const struct plugstack *stack)
{
    const struct plugstack_line *first = NULL;
    bool behind = false;

    for (size_t i = 0; i < stack->n_lines; i++) {
        const struct plugstack_line *line = &stack->lines[i];

        /* The lines are in the order of loading. */
        if (plugstack_is(line, "spank_pyxis.so")) {
            d->pyxis = true;
        } else if (plugstack_is(line, MODULE) && first) {
            check_again(d, first, line);
        } else if (plugstack_is(line, MODULE)) {
            first = line;
            behind = d->pyxis;
            take_line(d, line);
        } else {
            check_other(d, line, first != NULL);
        }
    }
    if (behind)
        doctor_add(d, DOCTOR_WARN, CHECK,
                   "move its line before the line of pyxis",
                   "the module is loaded after pyxis");
}

/* Checks a plugstack.conf and everything that it includes. */
static void check_stack(struct doctor *d, const char *path)
{
    struct plugstack stack;
    struct jp_error err;

    if (plugstack_read(path, &stack, &err) < 0) {
        doctor_add(d, DOCTOR_FAIL, CHECK, line_advice, "%s", err.text);
        return;
    }
    for (size_t i = 0; i < stack.n_files; i++)
        doctor_trusts(d, CHECK, stack.files[i]);
    if (stack.trouble)
        doctor_add(d, DOCTOR_WARN, CHECK,
                   "correct it: Slurm cannot read it either", "%s",
                   stack.trouble);
    take_lines(d, &stack);
    if (!d->loaded)
        doctor_add(d, DOCTOR_FAIL, CHECK, line_advice,
                   "%s: no line loads " MODULE, path);
    plugstack_fini(&stack);
}

/* The path of plugstack.conf, where Slurm's programs on this host look for it:
 * beside the slurm.conf that SLURM_CONF names, else beside the installed one,
 * else, on a host without files of its own ("configless"), where slurmd or
 * sackd keeps what the controller has sent. installed: the controller's
 * slurm.conf; NULL: unknown. Caller frees; NULL: there is no slurm.conf. */
static char *beside_conf(const char *installed)
{
    const char *own = getenv("SLURM_CONF");
    const char *confs[] = {installed, "/etc/slurm/slurm.conf",
                           "/run/slurm/conf/slurm.conf"};
    const char *conf = own, *slash;

    for (size_t i = 0; !conf && i < sizeof(confs) / sizeof(*confs); i++)
        if (confs[i] && access(confs[i], F_OK) == 0)
            conf = confs[i];
    slash = conf ? strrchr(conf, '/') : NULL;
    return slash
               ? text_format("%.*s/plugstack.conf", (int) (slash - conf), conf)
               : NULL;
}

/* The value of a key ("PluginDir=") of slurm.conf, if the controller does not
 * answer. Caller frees; NULL: it is not set. */
static char *value_of_conf(const char *key)
{
    const char *conf = getenv("SLURM_CONF");
    size_t n = strlen(key);
    char *text, *rest, *line, *found = NULL;

    if (!conf || fileio_read(conf, true, FILE_MAX_BYTES, &text, NULL, NULL) < 0)
        return NULL;
    rest = text;
    while (!found && (line = strsep(&rest, "\n"))) {
        /* Keys of slurm.conf ignore case. */
        line += strspn(line, blanks);
        if (!strncasecmp(line, key, n))
            found = strndup(line + n, strcspn(line + n, " \t\r#"));
    }
    free(text);
    return found;
}

/* Asks the controller for its configuration. Without a readable slurm.conf,
 * libslurm would first look for a controller in the DNS, which takes long. */
static bool ask_controller(struct doctor *d, struct slurmconf *conf)
{
    const char *path = getenv("SLURM_CONF");

    if (!path || access(path, R_OK) == 0)
        return slurmconf_get(CONTROLLER_MS, conf);
    doctor_add(d, DOCTOR_WARN, "slurm", "", "SLURM_CONF=%s: %s", path,
               strerror(errno));
    memset(conf, 0, sizeof(*conf));
    return false;
}

#define PROLOG_MAX_BYTES (1 << 20)

/* Looks at Slurm's TaskProlog: it runs after all modules, and what it prints
 * replaces what they have set. A file that cannot be read from here, or that
 * calls another one, shows nothing. */
static void check_task_prolog(struct doctor *d, const char *path)
{
    char *text = NULL, *rest, *line;
    struct jp_error err;
    unsigned number = 0;
    bool found = false;

    if (!*path)
        return;
    if (fileio_read(path, true, PROLOG_MAX_BYTES, &text, NULL, &err) < 0) {
        doctor_add(d, DOCTOR_SKIP, "override",
                   "look for NCCL_PROFILER_PLUGIN in it: it runs after all "
                   "SPANK modules",
                   "TaskProlog %s", err.text);
        return;
    }
    for (rest = text; (line = strsep(&rest, "\n"));) {
        number++;
        line += strspn(line, blanks);
        if (found || *line == '#' || !strstr(line, VARIABLE) ||
            strstr(line, "[ -n") || strstr(line, "[ -z"))
            continue;
        found = true;
        doctor_add(d, DOCTOR_WARN, "override", "",
                   "TaskProlog %s:%u sets " VARIABLE
                   " after jobprof, whose steps then record nothing: %.120s",
                   path, number, line);
        doctor_advise(d, "write in %s:%u: [ -n \"$" VARIABLE "\" ] || %.120s",
                      path, number, line);
    }
    if (!found)
        doctor_add(d, DOCTOR_OK, "override", "",
                   "TaskProlog %s leaves " VARIABLE " as it is", path);
    free(text);
}

/* Steps: ask the controller, find the plugin folders, find plugstack.conf,
 * check it. Each of them has a fallback for hosts without a controller. */
void doctor_plugstack(struct doctor *d)
{
    struct slurmconf conf;
    bool known = ask_controller(d, &conf);
    char *path = NULL;

    if (known)
        doctor_add(d, DOCTOR_OK, "slurm", "",
                   "the controller answers: Slurm %s, %s", conf.version,
                   conf.path);
    else if (d->srun_major)
        doctor_add(d, DOCTOR_WARN, "slurm",
                   "start slurmctld, or set SLURM_CONF; until then "
                   "plugstack.conf is looked up beside slurm.conf",
                   "the controller does not answer");
    /* The controller knows best, then slurm.conf, then the build. */
    d->plugin_dirs = known ? strdup(conf.plugin_dirs)
                           : value_of_conf("PluginDir=");
    if (!d->plugin_dirs || !*d->plugin_dirs) {
        free(d->plugin_dirs);
        d->plugin_dirs = strdup(JP_SLURM_PLUGINDIR);
    }
    /* The user's choice, then the controller's, then the usual place. */
    if (d->options->plugstack)
        path = strdup(d->options->plugstack);
    else if (known && *conf.plugstack)
        path = strdup(conf.plugstack);
    else
        path = beside_conf(known ? conf.path : NULL);
    if (path)
        check_stack(d, path);
    else
        doctor_add(d, DOCTOR_SKIP, CHECK, "name it with --plugstack FILE",
                   "no plugstack.conf found on this host");
    free(path);
    path = known ? strdup(conf.task_prolog) : value_of_conf("TaskProlog=");
    if (path)
        check_task_prolog(d, path);
    free(path);
}
