/* doctor_plugstack.c - does Slurm load the module, and is it of this Slurm? */
#include "config.h"

#include "orchestrator/doctor/doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/request.h"
#include "orchestrator/collect/slurmconf.h"
#include "orchestrator/doctor/elfview.h"
#include "orchestrator/doctor/plugstack.h"

#define CONTROLLER_MS 5000
#define MODULE "spank_jobprof.so"
#define CHECK "plugstack"

static const char line_advice[] = "add the line: optional " MODULE
                                  " (spank_jobprof(8))";

/* --- the module ----------------------------------------------------------- */

/* Its plugin_version is Slurm's when it was built; the loader compares the
 * first two of the three numbers with its own. */
static void check_release(struct doctor *d, const char *path, uint32_t number)
{
    unsigned major = number >> 16 & 255, minor = number >> 8 & 255;

    if (!d->srun_major)
        doctor_add(d, DOCTOR_SKIP, "module", "",
                   "%s is of Slurm %u.%02u; no srun to compare with", path,
                   major, minor);
    else if (major != d->srun_major || minor != d->srun_minor)
        doctor_add(d, DOCTOR_FAIL, "module",
                   "build jobprof against the headers of the Slurm that loads "
                   "it",
                   "%s is of Slurm %u.%02u, srun of %u.%02u: it is not loaded",
                   path, major, minor, d->srun_major, d->srun_minor);
    else
        doctor_add(d, DOCTOR_OK, "module", "", "%s is of Slurm %u.%02u as srun",
                   path, major, minor);
}

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
    if (!elfview_exports(&view, "slurm_spank_init") ||
        elfview_number(&view, "plugin_version", &number, &err) < 0)
        doctor_add(d, DOCTOR_FAIL, "module", "", "%s: no SPANK module", path);
    else
        check_release(d, path, number);
    elfview_close(&view);
}

/* As written, else the first of Slurm's folders that has it. Caller frees. */
static char *find_module(const struct doctor *d, const char *plugin)
{
    char *dirs = strdup(d->plugin_dirs ? d->plugin_dirs : ""), *rest = dirs;
    char *dir, *path = *plugin == '/' ? strdup(plugin) : NULL;

    while (*plugin != '/' && !path && (dir = strsep(&rest, ":"))) {
        path = *dir ? fileio_path("%s/%s", dir, plugin) : NULL;
        if (path && access(path, F_OK) < 0) {
            free(path);
            path = NULL;
        }
    }
    free(dirs);
    return path;
}

/* --- the line ------------------------------------------------------------- */

static void check_args(struct doctor *d, const struct plugstack_line *line)
{
    static const char *const known[] = {"config=/", "node=/", "default="};
    const char *mode = plugstack_arg(line, "default");
    struct jp_request request = {0};
    struct jp_error err;

    for (size_t i = 0; i < line->n_args; i++) {
        bool ours = false;

        for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++)
            ours = ours || !strncmp(line->args[i], known[k], strlen(known[k]));
        if (!ours)
            doctor_add(d, DOCTOR_WARN, CHECK,
                       "it is ignored: config=/FILE, node=/FILE, default=MODE",
                       "%s: %s", line->where, line->args[i]);
    }
    if (mode && request_parse(grammar_nccl(), mode, &request, &err) < 0)
        doctor_add(d, DOCTOR_WARN, CHECK,
                   "steps that do not ask run unprofiled: jobprof config "
                   "--help names the modes",
                   "%s: default=%s: %s", line->where, mode, err.text);
    else if (mode)
        request_fini(&request);
}

static void take_line(struct doctor *d, const struct plugstack_line *line)
{
    const char *config = plugstack_arg(line, "config");
    const char *node = plugstack_arg(line, "node");
    const char *mode = plugstack_arg(line, "default");
    char *path = find_module(d, line->plugin);

    d->loaded = true;
    if (line->required)
        doctor_add(d, DOCTOR_WARN, CHECK,
                   "an error of it would stop every step and drain nodes: "
                   "write optional",
                   "%s: required", line->where);
    else
        doctor_add(d, DOCTOR_OK, CHECK, "", "%s loads the module", line->where);
    check_args(d, line);
    if (config && *config == '/')
        d->site = strdup(config);
    if (mode)
        d->default_mode = strdup(mode);
    if (node && *node == '/' && access(node, X_OK) < 0)
        doctor_add(d, DOCTOR_FAIL, CHECK, "steps run unprofiled",
                   "%s: node=%s cannot be run", line->where, node);
    else if (node && *node == '/')
        doctor_trusts(d, CHECK, node);
    if (path)
        check_module(d, path);
    else
        doctor_add(d, DOCTOR_FAIL, "module", "install it there",
                   "%s: no %s in %s", line->where, line->plugin,
                   d->plugin_dirs ? d->plugin_dirs : "Slurm's plugin folder");
    free(path);
}

/* pyxis takes the tasks into their container: what comes behind it would be
 * late for the mounts. */
static void take_lines(struct doctor *d, const struct plugstack *stack)
{
    bool behind = false;

    for (size_t i = 0; i < stack->n_lines; i++) {
        const struct plugstack_line *line = &stack->lines[i];

        if (plugstack_is(line, "spank_pyxis.so")) {
            d->pyxis = true;
        } else if (plugstack_is(line, MODULE) && d->loaded) {
            doctor_add(d, DOCTOR_WARN, CHECK, "remove one of the lines",
                       "%s loads the module again", line->where);
        } else if (plugstack_is(line, MODULE)) {
            behind = d->pyxis;
            take_line(d, line);
        }
    }
    if (behind)
        doctor_add(d, DOCTOR_WARN, CHECK, "put its line before pyxis'",
                   "the module is loaded behind pyxis");
}

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
        doctor_add(d, DOCTOR_WARN, CHECK, "Slurm stumbles over it too", "%s",
                   stack.trouble);
    take_lines(d, &stack);
    if (!d->loaded)
        doctor_add(d, DOCTOR_FAIL, CHECK, line_advice,
                   "%s: no line loads " MODULE, path);
    plugstack_fini(&stack);
}

/* plugstack.conf beside slurm.conf, where the controller does not answer. */
static char *beside_conf(void)
{
    const char *conf = getenv("SLURM_CONF");
    const char *slash = conf ? strrchr(conf, '/') : NULL;

    return slash
               ? fileio_path("%.*s/plugstack.conf", (int) (slash - conf), conf)
               : NULL;
}

/* libslurm would look for a controller in the DNS first. */
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
                   "settings are looked up beside slurm.conf",
                   "the controller does not answer");
    d->plugin_dirs = strdup(known && *conf.plugin_dirs ? conf.plugin_dirs
                                                       : JP_SLURM_PLUGINDIR);
    if (d->options->plugstack)
        path = strdup(d->options->plugstack);
    else if (known && *conf.plugstack)
        path = strdup(conf.plugstack);
    else
        path = beside_conf();
    if (path)
        check_stack(d, path);
    else
        doctor_add(d, DOCTOR_SKIP, CHECK, "name it with --plugstack FILE",
                   "no plugstack.conf is known here");
    free(path);
}
