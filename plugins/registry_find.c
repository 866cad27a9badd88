/* registry_find.c - looks up backends: by name, by a library, by a raw file;
 * and what backends share, variables of the tasks and facts about a file.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clockwindows.h"
#include "common/fileio.h"
#include "common/logsource.h"
#include "plugins/backend.h"
#include "plugins/reader.h"

/* A backend built for another ABI is as if it were not there. */
const struct backend *backend_find(const char *name)
{
    for (const struct backend *const *b = backend_registry; name && *b; b++)
        if ((*b)->abi == BACKEND_ABI && !strcmp((*b)->about.name, name))
            return *b;
    return NULL;
}

/* --- by an option --------------------------------------------------------- */

const struct backend *backend_of_option(enum jp_option option)
{
    for (const struct backend *const *b = backend_registry; *b; b++)
        if ((*b)->abi == BACKEND_ABI && (*b)->about.option == option &&
            (*b)->side)
            return *b;
    return NULL;
}

const struct launch_side *backend_side(enum jp_option option)
{
    static const struct launch_side none;
    const struct backend *backend = backend_of_option(option);

    return backend ? backend->side : &none;
}

enum jp_option backend_beside(const struct jp_jobconf *conf)
{
    for (enum jp_option i = OPTION_NCCL + 1; i < OPTIONS; i++) {
        const struct backend *backend = backend_of_option(i);
        const char *mode = conf ? jobconf_side_find(conf, i, "mode") : "";

        if (backend && backend->runner && mode && strcmp(mode, "off") != 0)
            return i;
    }
    return OPTIONS;
}

bool side_takes_cupti(const struct jp_jobconf *conf, const char **title)
{
    for (enum jp_option i = OPTION_NCCL + 1; i < OPTIONS; i++) {
        const struct backend *backend = backend_of_option(i);

        if (backend && backend->side->takes_cupti &&
            backend->side->takes_cupti(conf)) {
            *title = backend->about.title;
            return true;
        }
    }
    return false;
}

int backend_clocks(const char *nodes, struct clockprobes *probes)
{
    *probes = (struct clockprobes){.files = NULL};
    for (size_t i = 0; backend_registry[i]; i++)
        if (backend_registry[i]->clocks)
            return backend_registry[i]->clocks(nodes, probes);
    return 0;
}

/* --- by a library -------------------------------------------------------- */

/* The names that NCCL looks up in a plugin begin like this. */
#define INTERFACE "ncclProfiler_v"

/* Returns whether the bytes contain the text. */
static bool holds(const char *bytes, size_t len, const char *text)
{
    return memmem(bytes, len, text, strlen(text)) != NULL;
}

/* Searches the bytes instead of loading: a foreign library must not run here.
 */
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

/* --- variables ----------------------------------------------------------- */

uint32_t backend_release(const struct backend_input *in)
{
    return in->release ? in->release : (uint32_t) plan_number(in->side, "nccl");
}

const char *backend_user_value(const struct backend_input *in, const char *name)
{
    /* variables that an outer profiled step has set are not the user's */
    const char *ours = in->user ? plan_env(in->user, "JOBPROF_SET") : NULL;

    if (!in->user || plan_number(in->side, "force") ||
        (ours && knob_list_has(ours, name)))
        return NULL;
    return plan_env(in->user, name);
}

/* On failure nothing has changed. */
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
    /* a variable that is set twice is a mistake of the planner */
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

/* Leaves an empty list. */
void backend_env_fini(struct backend_env *env)
{
    for (size_t i = 0; i < env->n; i++) {
        free(env->vars[i].name);
        free(env->vars[i].value);
        free(env->vars[i].reason);
    }
    *env = (struct backend_env){0};
}

/* --- the reader of a file, and what readers share ------------------------ */

#define BACKENDS_MAX 32

struct reader_states {
    void *of[BACKENDS_MAX]; /* in the registry's order; NULL: not made yet */
};

/* A file may have millions of bad lines: only the first of each kind is kept.
 */
struct source_recording *reader_recording(struct source_facts *facts)
{
    if (!facts->recording)
        facts->recording = calloc(1, sizeof(*facts->recording));
    return facts->recording;
}

void reader_facts_fini(struct source_facts *facts)
{
    free(facts->notes);
    facts->notes = NULL;
    free(facts->recording);
    facts->recording = NULL;
    traced_list_fini(&facts->traced);
}

void reader_note_bad(struct source_facts *facts, uint64_t line,
                     enum jp_bad kind, const char *why)
{
    if (!facts->bad[kind].n++)
        facts->bad[kind].line = line;
    if (!facts->bad_lines++) {
        facts->bad_line = line;
        snprintf(facts->why, sizeof(facts->why), "%s", why);
    }
}

int reader_refuse(struct source_facts *facts, const char *path,
                  const struct jp_error *err)
{
    size_t skip = strlen(path) + 2; /* "path: " */

    facts->unreadable = true;
    snprintf(facts->trouble, sizeof(facts->trouble), "%.150s",
             strlen(err->text) > skip ? err->text + skip : err->text);
    return 0;
}

void reader_note_damage(struct source_facts *facts, const char *damage)
{
    if (damage && !facts->trouble[0])
        snprintf(facts->trouble, sizeof(facts->trouble), "%.150s", damage);
}

/* Reads the first bytes of a file, unpacked. Returns how many, or -1 and err.
 */
static ssize_t read_head(const char *path, char head[READER_HEAD],
                         struct jp_error *err)
{
    struct jp_logsource *source = logsource_open(path, err);
    ssize_t n = 0, got = 1;

    if (!source)
        return -1;
    while (n < READER_HEAD && got > 0) {
        got = logsource_read(source, head + n, (size_t) (READER_HEAD - n), err);
        n += got > 0 ? got : 0;
    }
    logsource_close(source);
    return got < 0 ? -1 : n;
}

const struct backend *reader_probe(const char *name, const void *head, size_t n)
{
    for (size_t i = 0; backend_registry[i]; i++) {
        const struct backend_reader *reader = backend_registry[i]->reader;

        if (reader && reader->probe && reader->probe(name, head, n))
            return backend_registry[i];
    }
    return NULL;
}

/* The backend whose reader takes what no probe accepts, or NULL. */
static const struct backend *reader_of_rest(void)
{
    const struct backend *last = NULL;

    for (size_t i = 0; backend_registry[i]; i++)
        if (backend_registry[i]->reader &&
            backend_registry[i]->reader->takes_rest)
            last = backend_registry[i];
    return last;
}

const struct backend *reader_find(const char *path, bool rest,
                                  struct jp_error *err)
{
    return reader_find_with(path, rest, NULL, err);
}

const struct backend *reader_find_with(const char *path, bool rest,
                                       const struct backend *const *more,
                                       struct jp_error *err)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const struct backend *found;
    char head[READER_HEAD];
    ssize_t n;

    err->text[0] = '\0'; /* so that the caller sees which of the two it was */
    n = read_head(path, head, err);
    if (n < 0)
        return NULL;
    found = reader_probe(name, head, (size_t) n);
    for (; !found && more && *more; more++)
        if ((*more)->reader->probe(name, head, (size_t) n))
            found = *more;
    return found || !rest ? found : reader_of_rest();
}

struct reader_states *reader_states_create(void)
{
    return calloc(1, sizeof(struct reader_states));
}

void reader_states_destroy(struct reader_states *states)
{
    for (size_t i = 0; states && backend_registry[i] && i < BACKENDS_MAX; i++)
        if (states->of[i])
            backend_registry[i]->reader->destroy(states->of[i]);
    free(states);
}

int reader_read(struct reader_states *states, const struct backend *backend,
                const struct reader_input *in, const struct reader_sink *sink,
                struct source_facts *facts)
{
    const struct backend_reader *reader = backend->reader;
    size_t i = 0;

    while (backend_registry[i] && backend_registry[i] != backend)
        i++;
    if (i >= BACKENDS_MAX) /* more backends than places */
        return -1;
    /* what a reader keeps is made with its first file */
    if (reader->create && !states->of[i] && !(states->of[i] = reader->create()))
        return -1;
    return reader->read(states->of[i], in, sink, facts);
}
