/* ownvars.c - tell a mistyped variable from one of jobprof's. */
#include "common/ownvars.h"

#include <stdio.h>
#include <string.h>

#include "common/grammar.h"
#include "common/nearest.h"
#include "common/profiler.h"

#define NAMES_MAX 64

/* Set by jobprof, the site's containers or contrib/minicluster. */
static const char *const others[] = {"JOBPROF_SET", "JOBPROF_BINDS",
                                     "JOBPROF_MINICLUSTER"};

static size_t list_names(const char *names[NAMES_MAX])
{
    size_t n = 0;

    for (enum jp_option i = 0; i < OPTIONS; i++)
        names[n++] = grammar_of(i)->env;
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        names[n++] = others[i];
    for (size_t i = 0; profiler_registry[i]; i++) {
        const char *const *own = profiler_registry[i]->variables;

        for (; own && *own && n < NAMES_MAX; own++)
            names[n++] = *own;
    }
    return n;
}

int ownvars_is_unknown(const char *pair, char *name, unsigned len,
                       const char **meant)
{
    const char *names[NAMES_MAX];
    size_t n;

    if (strncmp(pair, OWNVARS_PREFIX, strlen(OWNVARS_PREFIX)) != 0)
        return 0;
    snprintf(name, len, "%.*s", (int) strcspn(pair, "="), pair);
    n = list_names(names);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, names[i]))
            return 0;
    *meant = nearest_find(name, names, n);
    return 1;
}
