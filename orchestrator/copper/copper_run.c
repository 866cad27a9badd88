/* copper_run.c - run all parts, from the folders to the result. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orchestrator/copper/copper_build.h"

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Lists the log directories and the kinds of files in them. */
static int list_roots(struct copper_build *b)
{
    struct jp_copper *c = b->copper;
    size_t kept = 0;

    c->roots = calloc(b->found.n, sizeof(*c->roots));
    if (!c->roots)
        return -1;
    for (size_t i = 0; i < b->found.n; i++) {
        const struct copper_file *file = &b->found.files[i];

        b->bytes_all += file->size;
        /* lists of nodes may be outside of the log directories */
        if (!*file->name.host)
            continue;
        if (c->n_roots && file->root_len == file[-1].root_len &&
            !memcmp(file->path, file[-1].path, file->root_len))
            continue;
        c->roots[c->n_roots] =
            file->root_len ? strndup(file->path, file->root_len) : strdup(".");
        if (!c->roots[c->n_roots++])
            return -1;
    }
    qsort(c->roots, c->n_roots, sizeof(*c->roots), by_text);
    for (size_t i = 0; i < c->n_roots; i++) {
        if (kept && !strcmp(c->roots[kept - 1], c->roots[i]))
            free(c->roots[i]);
        else
            c->roots[kept++] = c->roots[i];
    }
    c->n_roots = kept;
    return 0;
}

static void sum_caches(struct jp_copper *c)
{
    static const char *const names[JP_COPPER_N_CACHES] = {
        "data", "tree", "metadata", "combined"};

    for (unsigned k = 0; k < JP_COPPER_N_CACHES; k++) {
        c->cache[k].table = names[k];
        for (size_t i = 0; i < c->n_ranks; i++) {
            c->cache[k].files_found += c->ranks[i].has_cache[k];
            c->cache[k].used_bytes += c->ranks[i].cache[k].bytes;
            c->cache[k].entries += c->ranks[i].cache[k].entries;
        }
    }
}

static int run(struct copper_build *b)
{
    static int (*const parts[])(struct copper_build *) = {
        list_roots,    copper_daemons, copper_launches, copper_roster,
        copper_ranks,  copper_totals,  copper_outliers, copper_paths,
        copper_usage,  copper_vain,    copper_findings, copper_answers,
        copper_advice,
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (parts[i](b) < 0)
            return -1;
    sum_caches(b->copper);
    return 0;
}

static void build_fini(struct copper_build *b)
{
    for (size_t i = 0; i < b->n_roster; i++)
        free(b->roster[i]);
    free(b->roster);
    free(b->daemons);
    copper_pathset_destroy(b->paths);
    copper_found_fini(&b->found);
}

int copper_run(const char *const *inputs, size_t n_inputs,
               const struct jp_copper_options *options, struct jp_copper **out,
               struct jp_error *err)
{
    struct jp_error own = {""};
    struct copper_build b = {.options = options, .err = err ? err : &own};
    int rc = -1;

    *out = NULL;
    if (copper_find(inputs, n_inputs, &b.found, b.err) < 0)
        return -1;
    if (!b.found.profiles && !b.found.logs &&
        !(options->expected && b.found.lists)) {
        copper_found_fini(&b.found);
        return 0;
    }
    *b.err->text = '\0';
    b.guarded = b.found.foreign || geteuid() == 0;
    b.copper = calloc(1, sizeof(*b.copper));
    if (b.copper)
        rc = run(&b);
    if (rc < 0 && !*b.err->text)
        error_set(b.err, "out of memory");
    build_fini(&b);
    if (rc < 0)
        copper_destroy(b.copper);
    else
        *out = b.copper;
    return rc;
}

static void free_ranks(struct jp_copper *c)
{
    for (size_t i = 0; i < c->n_ranks; i++) {
        free(c->ranks[i].host);
        free(c->ranks[i].why);
    }
    free(c->ranks);
}

static void free_words(struct jp_copper *c)
{
    for (size_t i = 0; i < JP_COPPER_QUESTIONS; i++)
        free(c->answers[i].answer);
    for (size_t i = 0; i < c->n_advice; i++) {
        for (size_t k = 0; k < c->advice[i].n_paths; k++)
            free(c->advice[i].paths[k]);
        free(c->advice[i].paths);
        free(c->advice[i].text);
    }
    free(c->advice);
    for (size_t i = 0; i < c->n_findings; i++)
        free(c->findings[i].text);
    free(c->findings);
    for (size_t i = 0; i < c->n_notes; i++) {
        free(c->notes[i].path);
        free(c->notes[i].what);
    }
    free(c->notes);
}

void copper_destroy(struct jp_copper *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n_roots; i++)
        free(c->roots[i]);
    free(c->roots);
    free_ranks(c);
    free_words(c);
    for (size_t i = 0; i < JP_COPPER_N_CLASSES; i++) {
        free(c->classes[i].top_example);
        free(c->classes[i].example);
    }
    for (size_t i = 0; i < c->n_used_roots; i++)
        free(c->used_roots[i].path);
    free(c->used_roots);
    free(c->used);
    for (size_t i = 0; i < c->n_vain; i++) {
        free(c->vain[i].folder);
        free(c->vain[i].example);
    }
    free(c->vain);
    free(c->launches);
    free(c->outliers);
    free(c->points);
    free(c->paths);
    copper_pathset_free(c->memory);
    copper_pathset_free(c->used_memory);
    free(c);
}
