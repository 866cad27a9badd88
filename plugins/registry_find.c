/* registry_find.c - find a backend, by name or by its library, and collect its
 * variables. */
#include "plugins/backend.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"

const struct backend *backend_find(const char *name)
{
    for (const struct backend *const *b = backend_registry; name && *b; b++)
        if ((*b)->abi == BACKEND_ABI && !strcmp((*b)->about.name, name))
            return *b;
    return NULL;
}

/* --- by a library ----------------------------------------------------------
 */

/* What NCCL looks for in each plugin begins so. */
#define INTERFACE "ncclProfiler_v"

static bool holds(const char *bytes, size_t len, const char *text)
{
    return memmem(bytes, len, text, strlen(text)) != NULL;
}

const struct backend *backend_of_library(const char *path)
{
    const struct backend *found = NULL;
    char *bytes = NULL;
    size_t len = 0;

    if (fileio_read(path, true, LIBRARY_MAX_BYTES, &bytes, &len, NULL) < 0)
        return NULL;
    for (size_t i = 0; backend_registry[i] && !found; i++) {
        const struct jp_profiler *about = &backend_registry[i]->about;

        if (about->mark && holds(bytes, len, INTERFACE) &&
            holds(bytes, len, about->mark))
            found = backend_find(about->name);
    }
    free(bytes);
    return found;
}

/* --- variables --------------------------------------------------------------
 */

uint32_t backend_release(const struct backend_input *in)
{
    return in->release ? in->release : (uint32_t) plan_number(in->side, "nccl");
}

const char *backend_user_value(const struct backend_input *in, const char *name)
{
    const char *ours = in->user ? plan_env(in->user, "JOBPROF_SET") : NULL;

    if (!in->user || plan_number(in->side, "force") ||
        (ours && knob_list_has(ours, name)))
        return NULL;
    return plan_env(in->user, name);
}

int backend_env_add(struct backend_env *env, struct jp_error *err,
                    const char *name, const char *fmt, ...)
{
    bool soft = env->soft && !strncmp(name, "NCCL_", 5);
    struct jp_envvar var = {strdup(name), NULL, soft, NULL};
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&var.value, fmt, ap) < 0)
        var.value = NULL;
    va_end(ap);
    if (!var.name || !var.value) {
        error_set(err, "out of memory");
        goto fail;
    }
    for (size_t i = 0; i < env->n; i++)
        if (!strcmp(env->vars[i].name, name)) {
            error_set(err, "%s is set twice", name);
            goto fail;
        }
    if (env->n == BACKEND_ENV_MAX) {
        error_set(err, "more than %d variables", BACKEND_ENV_MAX);
        goto fail;
    }
    env->vars[env->n++] = var;
    return 0;
fail:
    free(var.name);
    free(var.value);
    return -1;
}

int backend_env_number(struct backend_env *env, struct jp_error *err,
                       const char *name, uint64_t number, const char *reason)
{
    char *copy = strdup(reason);

    if (!copy)
        return error_set(err, "out of memory");
    if (backend_env_add(env, err, name, "%" PRIu64, number) < 0) {
        free(copy);
        return -1;
    }
    env->vars[env->n - 1].reason = copy;
    return 0;
}

void backend_env_fini(struct backend_env *env)
{
    for (size_t i = 0; i < env->n; i++) {
        free(env->vars[i].name);
        free(env->vars[i].value);
        free(env->vars[i].reason);
    }
    *env = (struct backend_env){0};
}
