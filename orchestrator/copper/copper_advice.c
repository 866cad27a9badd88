/* copper_advice.c - what could be pruned or set, each with its paths. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/num.h"
#include "orchestrator/copper/copper_build.h"
#include "orchestrator/copper/copper_words.h"

#define MAX_ADVICE 16
#define MAX_PATHS 10

/* Takes text over; -1: it is NULL. */
static struct jp_copper_advice *add(struct jp_copper *c, char *text)
{
    struct jp_copper_advice *a = &c->advice[c->n_advice];

    if (!text)
        return NULL;
    c->n_advice++;
    *a = (struct jp_copper_advice){
        .text = text, .paths = calloc(MAX_PATHS, sizeof(*a->paths))};
    return a->paths ? a : NULL;
}

static int add_path(struct jp_copper_advice *a, const char *path)
{
    if (a->n_paths == MAX_PATHS)
        return 0;
    a->paths[a->n_paths] = strdup(path);
    return a->paths[a->n_paths++] ? 0 : -1;
}

static bool is_library(const struct jp_copper_vain *v)
{
    return v->class == JP_COPPER_MISSING_LIBRARY_PROBE ||
           v->class == JP_COPPER_GLIBC_HWCAPS_PROBE;
}

/* Folders that were only ever searched in vain: libraries' or others'. */
static int vain_folders(struct jp_copper *c, bool libraries)
{
    struct copper_words w;
    struct jp_copper_advice *a;
    uint64_t events = 0, n = 0;

    for (size_t i = 0; i < c->n_vain; i++)
        if (c->vain[i].wholly && is_library(&c->vain[i]) == libraries) {
            events = num_add(events, c->vain[i].events);
            n++;
        }
    if (!n)
        return 0;
    if (!copper_words_begin(&w))
        return -1;
    fprintf(w.out,
            "%s folder%s searched for %s %s lookups and gave nothing: take "
            "what is stale or twice out of %s.",
            FIG_COUNT(n), n == 1 ? " was" : "s were",
            libraries ? "shared libraries in" : "modules and settings in",
            FIG_COUNT(events),
            libraries ? "LD_LIBRARY_PATH" : "PYTHONPATH and PATH");
    a = add(c, copper_words_end(&w));
    if (!a)
        return -1;
    for (size_t i = 0; i < c->n_vain; i++)
        if (c->vain[i].wholly && is_library(&c->vain[i]) == libraries &&
            add_path(a, c->vain[i].folder) < 0)
            return -1;
    return 0;
}

static int vain_libraries(struct jp_copper *c)
{
    return vain_folders(c, true);
}

static int vain_modules(struct jp_copper *c)
{
    return vain_folders(c, false);
}

/* Folders in use that were also searched for what lies elsewhere; without full
 * tables nothing tells which are in use. */
static int order(struct jp_copper *c)
{
    struct copper_words w;
    struct jp_copper_advice *a;
    uint64_t events = 0;

    for (size_t i = 0; i < c->n_vain; i++)
        if (!c->vain[i].wholly)
            events = num_add(events, c->vain[i].events);
    if (!events)
        return 0;
    if (!copper_words_begin(&w))
        return -1;
    if (c->vain_known)
        fprintf(w.out,
                "%s lookups ended in ENOENT in folders that are in use, too. "
                "Python's zip, pyvenv.cfg, suffix and hwcaps probes are "
                "normal; what remains shrinks when the folder that holds most "
                "comes first in the search path.",
                FIG_COUNT(events));
    else
        fprintf(w.out,
                "At least %s lookups ended in ENOENT. Full tables "
                "(--copper-profile=full) would tell which of these folders "
                "gave nothing and can leave the search paths.",
                FIG_COUNT(events));
    a = add(c, copper_words_end(&w));
    if (!a)
        return -1;
    for (size_t i = 0; i < c->n_vain; i++)
        if (!c->vain[i].wholly && add_path(a, c->vain[i].folder) < 0)
            return -1;
    return 0;
}

/* Reads that went past the cache, by file. */
static int passed_by(struct jp_copper *c)
{
    const struct copper_op *read = copper_op_of(c, "read");
    struct jp_copper_advice *a;
    struct copper_words w;

    if (read->negatives * 20 < read->calls || !read->negatives)
        return 0;
    if (!copper_words_begin(&w))
        return -1;
    fprintf(w.out,
            "%s of %s reads went past the cache: files of "
            "-max_cacheable_byte_size and above are not kept. If memory "
            "allows, raise it above the size of these.",
            FIG_COUNT(read->negatives), FIG_COUNT(read->calls));
    a = add(c, copper_words_end(&w));
    if (!a)
        return -1;
    for (size_t i = c->path_from[COPPER_DATA]; i < c->path_from[COPPER_TREE];
         i++)
        if (2 * c->paths[i].count[COPPER_ROW_NEGATIVES] > c->paths[i].events &&
            add_path(a, c->paths[i].path) < 0)
            return -1;
    return 0;
}

/* ENOENT that is forgotten before it is asked for again. */
static int short_ttl(struct jp_copper *c)
{
    uint64_t stores = c->total[COPPER_TTL_STORES];
    uint64_t expires = c->total[COPPER_TTL_EXPIRES];
    struct copper_words w;

    if (!expires || expires * 5 < stores)
        return 0;
    if (!copper_words_begin(&w))
        return -1;
    fprintf(w.out,
            "%s of %s remembered ENOENT answers ran out of time and were "
            "asked for again: a longer -md_enoent_ttl_ms",
            FIG_COUNT(expires), FIG_COUNT(stores));
    if (c->settings.ttl_ms >= 0)
        fprintf(w.out, " (now %" PRId64 ")", c->settings.ttl_ms);
    fputs(" would keep them, unless files appear during the run.", w.out);
    return add(c, copper_words_end(&w)) ? 0 : -1;
}

/* What exists below the roots and was not asked for, if all ranks tell. */
static int unused(struct jp_copper *c)
{
    struct jp_copper_advice *a;
    struct copper_words w;
    uint64_t n = 0;

    for (size_t i = 0; i < c->n_used; i++)
        n += c->used[i].walked && !c->used[i].observed && !c->used[i].is_dir;
    if (!n || !c->vain_known)
        return 0;
    if (!copper_words_begin(&w))
        return -1;
    fprintf(w.out,
            "%s files below the environment were not asked for in this run "
            "(copper_paths/"
            "same_run_candidate_not_observed_existing_paths.txt). Try a "
            "reduced copy, never the original: another run may need them.",
            FIG_COUNT(n));
    a = add(c, copper_words_end(&w));
    if (!a)
        return -1;
    for (size_t i = 0; i < c->n_used_roots; i++)
        if (add_path(a, c->used_roots[i].path) < 0)
            return -1;
    return 0;
}

/* What must stay, whatever else goes. */
static int keep(struct jp_copper *c)
{
    static const enum jp_copper_class core[] = {
        JP_COPPER_STDLIB, JP_COPPER_SITE_PACKAGES, JP_COPPER_TORCH_PACKAGE,
        JP_COPPER_TORCH_LIBRARY};
    struct jp_copper_advice *a = NULL;

    for (size_t i = 0; i < sizeof(core) / sizeof(*core); i++)
        for (size_t k = 0; k < JP_COPPER_N_CLASSES; k++) {
            const struct jp_copper_class_sum *s = &c->classes[k];
            const char *example = s->example ? s->example : s->top_example;

            if (s->class != core[i] || !example)
                continue;
            if (!a)
                a = add(c, strdup("Keep what is in use: the interpreter's "
                                  "library, site-packages and the native "
                                  "libraries that are hot. Remove doubled "
                                  "entries of search paths first, then absent "
                                  "ones, then stale ones."));
            if (!a || add_path(a, example) < 0)
                return -1;
        }
    return 0;
}

int copper_advice(struct copper_build *b)
{
    static int (*const rules[])(struct jp_copper *) = {
        vain_libraries, vain_modules, order, passed_by,
        short_ttl,      unused,       keep};
    struct jp_copper *c = b->copper;

    _Static_assert(sizeof(rules) / sizeof(*rules) <= MAX_ADVICE, "room");
    c->advice = calloc(MAX_ADVICE, sizeof(*c->advice));
    if (!c->advice)
        return -1;
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        if (rules[i](c) < 0)
            return -1;
    return 0;
}
