/* resolve_known.c - what is known of the NCCL release's trouble with profilers.
 */
#include "orchestrator/agent/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/knownbad.h"

/* Rows on any profiler are NCCL's own trouble. */
#define ANY_MODE (~0u)

/* Collects the sentences about one backend. */
struct telling {
    bool of_nccl; /* rows on NCCL itself are told now, else the others */
    char *warnings, *remarks;
    struct jp_error worst; /* the first fallback's sentence */
    bool no_memory;
};

static void tell(void *arg, const struct knownbad_row *row,
                 const char *sentence)
{
    struct telling *t = arg;
    char **list = row->action == KNOWNBAD_NOTE ? &t->remarks : &t->warnings;

    if ((row->modes == ANY_MODE) != t->of_nccl)
        return;
    if (row->action == KNOWNBAD_FALLBACK && !*t->worst.text)
        error_set(&t->worst, "%s [%s]", sentence, row->where);
    if (resolve_note(list, NULL, "%s [%s]", sentence, row->where) < 0)
        t->no_memory = true;
}

/* A mistake in the list is the site's to mend; the step goes on. */
static void complain(void *arg, const char *sentence)
{
    struct telling *t = arg;

    if (resolve_note(&t->remarks, NULL, "%s", sentence) < 0)
        t->no_memory = true;
}

/* The release of the profiler's library, as the site or nccl= says it. */
static const char *library_release(const struct jp_plan *plan,
                                   const struct resolve_choice *choice)
{
    if (!choice->input.release)
        return plan_get(&plan->nccl, "nccl");
    return !strcmp(choice->backend->name, "inspector") ? plan->inspector_release
                                                       : plan->example_release;
}

/* The library's trouble goes by its release, NCCL's by the program's. */
static void tell_all(const struct jp_plan *plan,
                     const struct resolve_choice *choice,
                     const struct jp_knownbad *list, struct telling *t)
{
    const char *name = choice->backend->name;

    knownbad_check(list, name, library_release(plan, choice),
                   backend_release(&choice->input), tell, t);
    t->of_nccl = true;
    knownbad_check(list, name, plan_get(&plan->nccl, "nccl"),
                   plan_number(&plan->nccl, "nccl"), tell, t);
}

int resolve_known(const struct jp_plan *plan, struct resolve_choice *choice,
                  struct jp_error *err)
{
    const char *path = plan->known_bad ? plan->known_bad : JP_DEF_KNOWN_BAD;
    struct jp_knownbad list = {0};
    struct telling t = {0};
    struct jp_error bad;

    if (knownbad_load(path, plan->known_bad != NULL, complain, &t, &list,
                      &bad) == 0)
        tell_all(plan, choice, &list, &t);
    knownbad_ranges(&list, choice->backend->name, choice->declined,
                    sizeof(choice->declined));
    knownbad_fini(&list);
    free(choice->warnings);
    free(choice->remarks);
    choice->warnings = t.warnings;
    choice->remarks = t.remarks;
    if (t.no_memory)
        return error_set(err, "out of memory");
    if (*t.worst.text)
        return error_set(err, "%s", t.worst.text);
    return 0;
}
