/* pairs.c - format the tasks' variables for the SPANK module. */
#include "orchestrator/agent/pairs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"

static bool is_name(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz_0123456789";

    return name && *name && (*name < '0' || *name > '9') &&
           strspn(name, letters) == strlen(name);
}

static void print_expanded(FILE *out, const char *value, const char *node)
{
    const char *hit;

    while ((hit = strstr(value, "%N"))) {
        fwrite(value, 1, (size_t) (hit - value), out);
        fputs(node, out);
        value = hit + 2;
    }
    fputs(value, out);
}

static int print_pairs(FILE *out, const struct jp_jobconf *conf,
                       const char *node, struct jp_error *err)
{
    if (conf->n_env > JP_PAIRS_MAX - 1)
        return error_set(err, "%zu variables are too many", conf->n_env);
    for (size_t i = 0; i < conf->n_env; i++) {
        const struct jp_envvar *var = &conf->env[i];

        if (!is_name(var->name) || !var->value || strchr(var->value, '\n'))
            return error_set(err, "variable \"%s\" cannot be handed on",
                             var->name ? var->name : "");
        fprintf(out, "%s%s=", var->soft ? "?" : "", var->name);
        print_expanded(out, var->value, node);
        fputc('\n', out);
    }
    fputs(".\n", out);
    return 0;
}

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
        fd = fileio_open_regular(var->value, true, err);
        if (fd < 0)
            return error_wrap(err, "the profiler is not on this node");
        close(fd);
    }
    return 0;
}
