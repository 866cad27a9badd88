/* mountmap.c - check a list of mounts and follow it. */
#include "common/mountmap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/pattern.h"
#include "common/quote.h"

static int check_one(char *pair, struct jp_error *err)
{
    char *inside = strchr(pair, '=');

    if (!inside || strchr(inside + 1, '='))
        return error_set(err, "\"%s\" is not HOST=INSIDE", QUOTE(pair));
    *inside++ = '\0';
    return pattern_check_path(pair, err) < 0 ||
                   pattern_check_path(inside, err) < 0
               ? -1
               : 0;
}

int mountmap_check(const char *text, struct jp_error *err)
{
    char *copy = strdup(text), *rest = copy, *pair;
    int rc = copy ? 0 : error_set(err, "out of memory");

    while (rc == 0 && (pair = strsep(&rest, ",")))
        rc = check_one(pair, err);
    free(copy);
    return rc;
}

/* Length without slashes at the end. "/" holds everything and is 0 long. */
static size_t trim(const char *path, size_t n)
{
    while (n && path[n - 1] == '/')
        n--;
    return n;
}

char *mountmap_inside(const char *map, const char *path)
{
    const char *to = path;
    size_t n_to = 0, n_from = 0;
    bool found = false;

    while (map && *map) {
        size_t n = strcspn(map, ","), host = strcspn(map, "="), from;

        from = trim(map, host);
        if (host < n && !strncmp(path, map, from) &&
            (path[from] == '/' || !path[from]) && (!found || from > n_from)) {
            found = true;
            n_from = from;
            to = map + host + 1;
            n_to = trim(to, n - host - 1);
        }
        map += n + (map[n] == ',');
    }
    if (!found)
        return strdup(path);
    return fileio_path("%.*s%s", (int) n_to, to,
                       n_to || path[n_from] ? path + n_from : "/");
}
