/* copper_roots.c - infer environments' folders from observed paths. */
#include "orchestrator/copper/copper_roots.h"

#include <stdlib.h>
#include <string.h>

bool copper_is_below(const char *path, const char *root)
{
    size_t n = strlen(root);

    return !strncmp(path, root, n) && (!path[n] || path[n] == '/');
}

/* Adds path[0..len) unless it lies below a root or there are too many; roots
 * below it go. */
static int add(struct jp_copper *c, const char *path, size_t len)
{
    size_t kept = 0;
    char *root;

    while (len > 1 && path[len - 1] == '/')
        len--;
    if (len < 2 || path[0] != '/')
        return 0;
    root = strndup(path, len);
    if (!root)
        return -1;
    for (size_t i = 0; i < c->n_used_roots; i++)
        if (copper_is_below(root, c->used_roots[i].path)) {
            free(root);
            return 0;
        }
    for (size_t i = 0; i < c->n_used_roots; i++) {
        if (copper_is_below(c->used_roots[i].path, root))
            free(c->used_roots[i].path);
        else
            c->used_roots[kept++] = c->used_roots[i];
    }
    c->n_used_roots = kept;
    if (kept == COPPER_MAX_ROOTS) {
        free(root);
        return 0;
    }
    c->used_roots[c->n_used_roots++] = (struct jp_copper_root){.path = root};
    return 0;
}

/* Length of the part that ends in the component conda_env; 0: none. */
static size_t conda_part(const char *path)
{
    static const char word[] = "/conda_env";

    for (const char *at = strstr(path, word); at; at = strstr(at + 1, word))
        if (!at[sizeof(word) - 1] || at[sizeof(word) - 1] == '/')
            return (size_t) (at - path) + sizeof(word) - 1;
    return 0;
}

/* Length of the part before /lib/python<digit>; 0: none, or the system's own,
 * which is no environment to prune. */
static size_t python_part(const char *path)
{
    static const char word[] = "/lib/python";
    const char *at = strstr(path, word);
    size_t n = at ? (size_t) (at - path) : 0;

    if (!n || at[sizeof(word) - 1] < '0' || at[sizeof(word) - 1] > '9' ||
        (n == 4 && !strncmp(path, "/usr", n)) ||
        (n == 10 && !strncmp(path, "/usr/local", n)))
        return 0;
    return n;
}

/* Length of <home>/<child>; 0: not below home. */
static size_t home_part(const char *path, const char *home)
{
    size_t n = home ? strlen(home) : 0;

    while (n > 1 && home[n - 1] == '/')
        n--;
    if (n < 2 || strncmp(path, home, n) || path[n] != '/' || !path[n + 1])
        return 0;
    return n + 1 + strcspn(path + n + 1, "/");
}

static int by_path(const void *a, const void *b)
{
    const struct jp_copper_root *x = a, *y = b;

    return strcmp(x->path, y->path);
}

int copper_roots(struct copper_build *b)
{
    const struct jp_copper_options *o = b->options;
    struct jp_copper *c = b->copper;

    c->used_roots = calloc(COPPER_MAX_ROOTS, sizeof(*c->used_roots));
    if (!c->used_roots)
        return -1;
    for (size_t i = 0; i < o->n_usage_roots; i++)
        if (add(c, o->usage_roots[i], strlen(o->usage_roots[i])) < 0)
            return -1;
    for (size_t i = 0; i < c->n_paths; i++) {
        const struct jp_copper_path *p = &c->paths[i];

        if (!p->full)
            continue;
        if (add(c, p->path, conda_part(p->path)) < 0 ||
            (p->category == COPPER_DATA &&
             add(c, p->path, python_part(p->path)) < 0) ||
            (p->category != COPPER_TTL &&
             add(c, p->path, home_part(p->path, o->home)) < 0))
            return -1;
    }
    if (c->n_used_roots)
        qsort(c->used_roots, c->n_used_roots, sizeof(*c->used_roots), by_path);
    return 0;
}
