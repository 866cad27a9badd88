/* pairs.c - the tasks' variables for the SPANK module, adapted to the tasks'
 * containers and formatted. */
#include "orchestrator/agent/agent.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/pattern.h"

/* --- containers --------------------------------------------------------- */

/* Adds "PATH:INSIDE" and suffix to the mounts in *list, where INSIDE is the
 * path inside the container (map: container_paths). Returns -1 without memory,
 * 1 if a path contains a separator of the list, which cannot be escaped. */
static int add_bind(char **list, const char *map, const char *path,
                    const char *suffix)
{
    char *inside = mountmap_inside(map, path), *longer = NULL;
    int rc = inside ? 0 : -1;

    if (rc == 0 &&
        (path[strcspn(path, ",: \t\\")] || inside[strcspn(inside, ",: \t\\")]))
        rc = 1;
    if (rc == 0) {
        longer = text_format("%s%s%s:%s%s", *list ? *list : "",
                             *list ? "," : "", path, inside, suffix);
        rc = longer ? 0 : -1;
    }
    free(inside);
    if (longer) {
        free(*list);
        *list = longer;
    }
    return rc;
}

/* Lists the mounts that a container needs: the node's folder in raw/, writable,
 * and the libraries, read-only, unless the dynamic linker searches for it.
 * Returns like add_bind. */
static int list_binds(const struct jp_jobconf *conf, const char *dir,
                      const char *node, char **list)
{
    char *raw = text_format("%s/raw/%s", dir, node);
    int rc = raw ? add_bind(list, conf->container_paths, raw, "") : -1;

    for (size_t i = 0; i < conf->n_env && rc == 0; i++) {
        const char *value = conf->env[i].value;

        /* a container does not start if a mount's source is not there: that of
         * the profiler was checked, that of a chained library is the user's */
        if (*value == '/' &&
            (!strcmp(conf->env[i].name, "NCCL_PROFILER_PLUGIN") ||
             (!strcmp(conf->env[i].name, "JOBPROF_RECORDER_CHAIN") &&
              access(value, R_OK) == 0)))
            rc = add_bind(list, conf->container_paths, value, ":ro");
    }
    free(raw);
    return rc;
}

/* Whether the variable is a list of Apptainer or its predecessor. Sites set
 * these lists as well, so ours is appended to them. */
static bool is_list(const char *name)
{
    static const char *const names[] = {"APPTAINER_BIND", "APPTAINER_BINDPATH",
                                        "SINGULARITY_BIND",
                                        "SINGULARITY_BINDPATH"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

/* Adds each variable of container_binds with the same list. They are soft: a
 * user who has set one of them keeps it. */
static int add_variables(struct jp_jobconf *conf, const char *binds,
                         struct jp_error *err)
{
    char *names = strdup(conf->container_binds), *rest = names, *name;
    int rc = names ? 0 : error_set(err, "out of memory");

    while (rc == 0 && (name = strsep(&rest, ",")))
        rc = jobconf_add_env(conf, name, strdup(binds), "", true, err);
    free(names);
    return rc;
}

/* Maps every value that is an absolute path to its path inside the
 * container. */
static int map_values(struct jp_jobconf *conf, struct jp_error *err)
{
    for (size_t i = 0; i < conf->n_env; i++) {
        char *inside =
            conf->env[i].value[0] == '/'
                ? mountmap_inside(conf->container_paths, conf->env[i].value)
                : strdup(conf->env[i].value);

        if (!inside)
            return error_set(err, "out of memory");
        free(conf->env[i].value);
        conf->env[i].value = inside;
    }
    return 0;
}

/* Steps: list the mounts with the host's paths, map the values, then add the
 * list. A path that cannot be listed only leaves out the list. */
int pairs_contain(struct jp_jobconf *conf, const char *dir, const char *node,
                  struct jp_error *err)
{
    char *binds = NULL;
    int listed = 1, rc;

    if (conf->container_binds && *conf->container_binds) {
        /* Before map_values: the list has the host's paths as sources. */
        listed = list_binds(conf, dir, node, &binds);
        if (listed < 0) {
            free(binds);
            return error_set(err, "out of memory");
        }
    }
    rc = map_values(conf, err);
    if (rc == 0 && listed == 0)
        rc = add_variables(conf, binds, err);
    free(binds);
    return rc;
}

/* --- the answer --------------------------------------------------------- */

/* Whether a shell and the SPANK module accept this name of a variable. */
static bool is_name(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz_0123456789";

    return name && *name && (*name < '0' || *name > '9') &&
           strspn(name, letters) == strlen(name);
}

/* Prints one line for each variable, then the dot that ends the list. The
 * module ignores an answer without the dot, because begin may have been
 * killed. */
static int print_pairs(FILE *out, const struct jp_jobconf *conf,
                       const char *node, struct jp_error *err)
{
    if (conf->n_env > JP_PAIRS_MAX - 1)
        return error_set(err, "%zu variables are too many", conf->n_env);
    for (size_t i = 0; i < conf->n_env; i++) {
        const struct jp_envvar *var = &conf->env[i];
        char *value;

        if (!is_name(var->name) || !var->value || strchr(var->value, '\n'))
            return error_set(err, "variable \"%s\" cannot be passed on",
                             var->name ? var->name : "");
        value = pattern_expand_node(var->value, node);
        if (!value)
            return error_set(err, "out of memory");
        /* The user's own value wins over a soft one; lists are extended. */
        fprintf(out, "%s%s=%s\n",
                !var->soft           ? ""
                : is_list(var->name) ? "+"
                                     : "?",
                var->name, value);
        free(value);
    }
    fputs(".\n", out);
    return 0;
}

/* The limits are those of the SPANK module, which would ignore a larger
 * answer. */
char *pairs_format(const struct jp_jobconf *conf, const char *node,
                   struct jp_error *err)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    int rc;

    if (!out) {
        error_set(err, "out of memory");
        return NULL;
    }
    rc = print_pairs(out, conf, node, err);
    if (fclose(out) != 0)
        rc = error_set(err, "out of memory");
    if (rc == 0 && len > JP_PAIRS_MAX_BYTES)
        rc = error_set(err, "%zu bytes of variables are too many", len);
    if (rc == 0)
        return text;
    free(text);
    return NULL;
}

int pairs_check_plugin(const struct jp_jobconf *conf, struct jp_error *err)
{
    for (size_t i = 0; i < conf->n_env; i++) {
        const struct jp_envvar *var = &conf->env[i];
        int fd;

        if (strcmp(var->name, "NCCL_PROFILER_PLUGIN") != 0 ||
            var->value[0] != '/')
            continue;
        /* NCCL would silently run without a profiler. Opening the file also
         * detects one that the user cannot read. */
        fd = fileio_open_regular(var->value, true, err);
        if (fd < 0)
            return error_wrap(err, "the profiler is not on this node");
        close(fd);
    }
    return 0;
}
