/* resolve_known.c - what is known of the NCCL release's trouble with profilers.
 */
#include "orchestrator/agent/resolve.h"

#include <stdlib.h>

#include "common/defaults.h"
#include "common/knownbad.h"

/* Collects the sentences about one backend. */
struct telling {
    char *warnings, *remarks;
    struct jp_error worst; /* the first fallback's sentence */
    bool no_memory;
};

static void tell(void *arg, const struct knownbad_row *row,
                 const char *sentence)
{
    struct telling *t = arg;
    char **list = row->action == KNOWNBAD_NOTE ? &t->remarks : &t->warnings;

    if (row->action == KNOWNBAD_FALLBACK && !*t->worst.text)
        error_set(&t->worst, "%s", sentence);
    if (resolve_note(list, NULL, "%s", sentence) < 0)
        t->no_memory = true;
}

/* A mistake in the list is the site's to mend; the step goes on. */
static void complain(void *arg, const char *sentence)
{
    struct telling *t = arg;

    if (resolve_note(&t->remarks, NULL, "%s", sentence) < 0)
        t->no_memory = true;
}

int resolve_known(const struct jp_plan *plan, struct resolve_choice *choice,
                  struct jp_error *err)
{
    const char *path = plan->known_bad ? plan->known_bad : JP_DEF_KNOWN_BAD;
    const char *release = plan_get(&plan->nccl, "nccl");
    struct jp_knownbad list = {0};
    struct telling t = {0};
    enum knownbad_action action = KNOWNBAD_NONE;
    struct jp_error bad;

    if (knownbad_load(path, plan->known_bad != NULL, complain, &t, &list,
                      &bad) == 0)
        action = knownbad_check(&list, choice->backend->name, release,
                                plan_number(&plan->nccl, "nccl"), tell, &t);
    knownbad_fini(&list);
    free(choice->warnings);
    free(choice->remarks);
    choice->warnings = t.warnings;
    choice->remarks = t.remarks;
    if (t.no_memory)
        return error_set(err, "out of memory");
    if (action == KNOWNBAD_FALLBACK && !plan_number(&plan->nccl, "force"))
        return error_set(err, "%s", t.worst.text);
    return 0;
}
