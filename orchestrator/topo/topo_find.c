/* topo_find.c - the topologies that a user's path means. */
#include "orchestrator/topo/topo_find.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fileio.h"

#define MAX_ENTRIES 100000

/* Names in a folder, sorted. */
struct names {
    char **name;
    size_t n, room;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->name[i]);
    free(names->name);
}

static int add_name(struct names *names, const char *name)
{
    if (names->n == names->room) {
        char **more =
            realloc(names->name, (names->room * 2 + 64) * sizeof(*more));

        if (!more)
            return -1;
        names->name = more;
        names->room = names->room * 2 + 64;
    }
    names->name[names->n] = strdup(name);
    return names->name[names->n] ? (names->n++, 0) : -1;
}

/* -1 with errno: not a folder that can be read. */
static int list(const char *folder, struct names *names)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int rc = 0;

    memset(names, 0, sizeof(*names));
    if (!dir)
        return -1;
    while (rc == 0 && names->n < MAX_ENTRIES && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            rc = add_name(names, entry->d_name);
    closedir(dir);
    if (names->n)
        qsort(names->name, names->n, sizeof(*names->name), by_name);
    return rc;
}

static bool is_folder(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_xml(const char *name)
{
    size_t len = strlen(name);

    return len > 4 && strcmp(name + len - 4, ".xml") == 0;
}

/* A file is a node of its base name. */
static int add_file(struct jp_shapes *shapes, const char *path,
                    struct jp_error *err)
{
    const char *slash = strrchr(path, '/');
    char *name = strdup(slash ? slash + 1 : path), *xml = NULL;
    struct jp_error why = {""};
    size_t len = 0;
    int rc;

    if (!name)
        return error_set(err, "out of memory");
    if (is_xml(name))
        name[strlen(name) - 4] = '\0';
    fileio_read(path, true, SHAPES_MAX_XML, &xml, &len, &why);
    rc = shapes_add(shapes, name, xml, len, NULL, why.text, err);
    free(name);
    return rc;
}

/* 1: added, 0: not one. */
static int add_entry(struct jp_shapes *shapes, const char *folder,
                     const char *name, struct jp_error *err)
{
    char *path = fileio_path("%s/%s", folder, name);
    char *xml = path ? fileio_path("%s/topology.xml", path) : NULL;
    char *json = path ? fileio_path("%s/hardware.json", path) : NULL;
    struct stat st;
    int rc = 0;

    if (!path || !xml || !json)
        rc = error_set(err, "out of memory");
    else if (is_folder(path) && (lstat(xml, &st) == 0 || lstat(json, &st) == 0))
        rc = shapes_add_folder(shapes, name, path, err) < 0 ? -1 : 1;
    else if (is_xml(name) && lstat(path, &st) == 0 && S_ISREG(st.st_mode))
        rc = add_file(shapes, path, err) < 0 ? -1 : 1;
    free(path);
    free(xml);
    free(json);
    return rc;
}

static long add_folder(struct jp_shapes *shapes, const char *folder,
                       struct jp_error *err)
{
    struct names names;
    long added = 0;
    int rc = list(folder, &names);

    if (rc < 0)
        error_set(err, "%s: %s", folder, strerror(errno));
    for (size_t i = 0; rc >= 0 && i < names.n; i++) {
        rc = add_entry(shapes, folder, names.name[i], err);
        added += rc > 0;
    }
    free_names(&names);
    return rc < 0 ? -1 : added;
}

long topo_find(const char *path, struct jp_shapes *shapes, struct jp_error *err)
{
    static const char *const places[] = {"nodes", "../nodes"};
    struct stat st;
    long added = 0;

    if (stat(path, &st) < 0)
        return error_set(err, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return add_file(shapes, path, err) < 0 ? -1 : 1;
    for (size_t i = 0; added == 0 && i < 2; i++) {
        char *nodes = fileio_path("%s/%s", path, places[i]);

        if (!nodes)
            return error_set(err, "out of memory");
        if (is_folder(nodes))
            added = add_folder(shapes, nodes, err);
        free(nodes);
    }
    return added ? added : add_folder(shapes, path, err);
}
