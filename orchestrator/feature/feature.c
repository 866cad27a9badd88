/* feature.c - walks over the features of the registry. */
#include "orchestrator/feature/feature.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/vector.h"

void feature_read(const struct feature_input *in, struct feature_set *set)
{
    *set = (struct feature_set){.data = {NULL}};
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->read &&
            feature_registry[i]->read(in, &set->data[i], &set->trouble[i]) == 0)
            set->trouble[i] = (struct jp_error){""};
}

void feature_fini(struct feature_set *set)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->destroy)
            feature_registry[i]->destroy(set->data[i]);
    *set = (struct feature_set){.data = {NULL}};
}

const void *feature_data(const struct feature_set *set,
                         const struct feature *feature)
{
    for (size_t i = 0; set && feature_registry[i]; i++)
        if (feature_registry[i] == feature)
            return set->data[i];
    return NULL;
}

const void *feature_data_of(const struct feature_set *set, const char *name)
{
    for (size_t i = 0; set && feature_registry[i]; i++)
        if (!strcmp(feature_registry[i]->name, name))
            return set->data[i];
    return NULL;
}

bool feature_coincides(const struct feature_set *set, size_t finding,
                       struct feature_coincidence *out)
{
    for (size_t i = 0; set && feature_registry[i]; i++)
        if (feature_registry[i]->coincides && set->data[i] &&
            feature_registry[i]->coincides(set->data[i], finding, out))
            return true;
    return false;
}

const struct feature *feature_named(const char *name)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (!strcmp(feature_registry[i]->name, name))
            return feature_registry[i];
    return NULL;
}

const struct feature *feature_sampler(void)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->samples)
            return feature_registry[i];
    return NULL;
}

void feature_lend(struct feature_set *set, const struct feature *feature,
                  void *data)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i] == feature)
            set->data[i] = data;
}

uint32_t feature_known(const struct feature_set *set)
{
    uint32_t known = 0;

    for (size_t i = 0; set && feature_registry[i]; i++)
        if (set->data[i] && feature_registry[i]->role == FEATURE_PROFILE)
            known |= UINT32_C(1) << i;
    return known;
}

uint32_t feature_reported(const json_t *root)
{
    uint32_t known = 0;

    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->role == FEATURE_PROFILE &&
            json_object_size(json_object_get(root, feature_registry[i]->name)))
            known |= UINT32_C(1) << i;
    return known;
}

bool feature_asked(const struct jp_jobconf *conf)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->asked && feature_registry[i]->asked(conf))
            return true;
    return false;
}

const struct feature *feature_first(const struct feature_set *set)
{
    for (size_t i = 0; set && feature_registry[i]; i++)
        if (set->data[i] && feature_registry[i]->role == FEATURE_PROFILE)
            return feature_registry[i];
    return NULL;
}

int feature_read_found(const struct filekinds *found,
                       const struct feature_input *in, struct feature_set *set,
                       struct jp_error *err)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->read_found &&
            feature_registry[i]->read_found(found, in, &set->data[i], err) < 0)
            return -1;
    return 0;
}

/* Paths of collected files. */
struct paths {
    char **at;
    size_t n;
};

/* A callback of collected. */
static int add_path(void *arg, const char *path)
{
    struct paths *paths = arg;
    char **slot = VECTOR_DOUBLE_ADD(paths->at, paths->n);

    return slot && (*slot = strdup(path)) ? 0 : -1;
}

static void free_paths(struct paths *paths)
{
    for (size_t i = 0; i < paths->n; i++)
        free(paths->at[i]);
    free(paths->at);
}

/* Reads what features have collected in dir for the feature i. Returns -1 and
 * err. */
static int read_collected(size_t i, const char *dir, struct feature_set *set,
                          struct jp_error *err)
{
    const struct feature *reader = feature_registry[i];
    struct paths paths = {0};
    int rc = 0;

    for (size_t k = 0; feature_registry[k] && rc == 0; k++)
        if (feature_registry[k]->collected && set->data[k])
            rc = feature_registry[k]->collected(
                set->data[k], dir, reader->collected_kind, add_path, &paths);
    rc = rc ? error_set(err, "out of memory")
            : reader->read_collected((const char *const *) paths.at, paths.n,
                                     &set->data[i], err);
    free_paths(&paths);
    return rc;
}

void feature_read_hang(const char *const *dirs, size_t n, const char *dir,
                       struct feature_set *set)
{
    for (size_t i = 0; feature_registry[i]; i++)
        for (size_t k = 0;
             feature_registry[i]->read_hang && k < n && !set->data[i]; k++)
            if (feature_registry[i]->read_hang(dirs[k], &set->data[i],
                                               &set->trouble[i]) == 0)
                set->trouble[i] = (struct jp_error){""};
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->read_collected &&
            read_collected(i, dir, set, &set->trouble[i]) == 0)
            set->trouble[i] = (struct jp_error){""};
}

void feature_read_nodes(const char *dir, const struct jp_nodes *nodes,
                        struct feature_set *set)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->read_nodes &&
            feature_registry[i]->read_nodes(dir, nodes, &set->data[i],
                                            &set->trouble[i]) == 0)
            set->trouble[i] = (struct jp_error){""};
}

void feature_explain_all(const struct feature_explain *in,
                         struct feature_set *set)
{
    struct jp_error err;

    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->explain &&
            feature_registry[i]->explain(in, &set->data[i], &err) < 0)
            in->failed(in->arg, feature_registry[i]->title, err.text);
}

void feature_notes(const struct feature_set *set,
                   void (*note)(void *arg, const char *path, const char *why),
                   void *arg)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (set->data[i] && feature_registry[i]->notes)
            feature_registry[i]->notes(set->data[i], note, arg);
}

bool feature_claims(const char *path)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->claims && feature_registry[i]->claims(path))
            return true;
    return false;
}

bool feature_owns(const char *name)
{
    for (size_t i = 0; feature_registry[i]; i++) {
        const char *const *own = feature_registry[i]->own_files;

        for (; own && *own; own++)
            if (!strcmp(name, *own))
                return true;
    }
    return false;
}

const char *feature_operations_file(const struct feature_set *set, size_t i,
                                    size_t k)
{
    return set->data[i] && feature_registry[i]->operations_file
               ? feature_registry[i]->operations_file(set->data[i], k)
               : NULL;
}

void feature_readers(const struct backend *readers[FEATURES_MAX + 1])
{
    size_t n = 0;

    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->reader)
            readers[n++] = feature_registry[i]->reader;
    readers[n] = NULL;
}

int feature_write_formats(uint32_t formats, const char *dir,
                          const struct feature **failed, struct jp_error *err)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (formats & UINT32_C(1) << i) {
            *failed = feature_registry[i];
            if (feature_registry[i]->format->write(dir, err) < 0)
                return -1;
        }
    return 0;
}

int feature_write_logs(const char *const *inputs, size_t n, const char *dir,
                       struct jp_error *err)
{
    for (size_t i = 0; feature_registry[i]; i++) {
        const struct feature_format *format = feature_registry[i]->format;

        if (format && format->write_logs &&
            format->write_logs(inputs, n, dir, err) < 0)
            return -1;
    }
    return 0;
}

void feature_judge_operations(const struct feature_set *set,
                              struct jp_result *result,
                              struct jp_insight *insight)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->judge_operations)
            feature_registry[i]->judge_operations(set->data[i], result,
                                                  insight);
}
