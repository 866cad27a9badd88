/* container.c - say paths as containers have them, and what to mount there. */
#include "orchestrator/agent/container.h"

#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/mountmap.h"

/* Adds "PATH:INSIDE" and suffix to *list. -1: no memory; 1: it has a byte that
 * parts the list. */
static int add_bind(char **list, const char *map, const char *path,
                    const char *suffix)
{
    char *inside = mountmap_inside(map, path), *longer = NULL;
    int rc = inside ? 0 : -1;

    if (rc == 0 &&
        (path[strcspn(path, ",: \t\\")] || inside[strcspn(inside, ",: \t\\")]))
        rc = 1;
    if (rc == 0) {
        longer = fileio_path("%s%s%s:%s%s", *list ? *list : "",
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

/* The library, unless the program's own search finds it, and the folder. */
static int list_binds(const struct jp_jobconf *conf, const char *dir,
                      const char *node, char **list)
{
    char *raw = fileio_path("%s/raw/%s", dir, node);
    int rc = raw ? add_bind(list, conf->container_paths, raw, "") : -1;

    for (size_t i = 0; i < conf->n_env && rc == 0; i++)
        if (!strcmp(conf->env[i].name, "NCCL_PROFILER_PLUGIN") &&
            conf->env[i].value[0] == '/')
            rc = add_bind(list, conf->container_paths, conf->env[i].value,
                          ":ro");
    free(raw);
    return rc;
}

static int add_variables(struct jp_jobconf *conf, const char *binds,
                         struct jp_error *err)
{
    char *names = strdup(conf->container_binds), *rest = names, *name;
    int rc = names ? 0 : error_set(err, "out of memory");

    while (rc == 0 && (name = strsep(&rest, ","))) {
        struct jp_envvar *more =
            reallocarray(conf->env, conf->n_env + 1, sizeof(*more));
        struct jp_envvar one = {strdup(name), strdup(binds), true, NULL};

        if (more)
            conf->env = more;
        if (more && one.name && one.value) {
            conf->env[conf->n_env++] = one;
        } else {
            free(one.name);
            free(one.value);
            rc = error_set(err, "out of memory");
        }
    }
    free(names);
    return rc;
}

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

int container_apply(struct jp_jobconf *conf, const char *dir, const char *node,
                    struct jp_error *err)
{
    char *binds = NULL;
    int listed = 1, rc;

    if (conf->container_binds && *conf->container_binds) {
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
