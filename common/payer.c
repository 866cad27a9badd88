/* payer.c - uids with and without a name. */
#include "common/payer.h"

#include <pwd.h>
#include <stdint.h>

/* The size of a range for namespaces, and how many of its uids are looked up if
 * none has a name. */
#define RANGE_MASK ((uid_t) 0xffff)
#define NAMELESS_MAX 256

/* Whether uid is known to have no name, or taken to have none. */
static bool is_nameless(const struct payers *p, uid_t uid)
{
    const struct keyed *table = &p->nameless;

    return keyed_find(table, uid) ||
           keyed_place(table, uid | RANGE_MASK) -
                   keyed_place(table, uid & ~RANGE_MASK) >=
               NAMELESS_MAX;
}

uid_t payers_find(struct payers *p, uid_t uid)
{
    if (p->has_last && p->last == uid)
        return uid;
    if (is_nameless(p, uid))
        return PAYER_NAMELESS;
    if (getpwuid(uid)) {
        p->has_last = true;
        p->last = uid;
        return uid;
    }
    p->nameless.size = sizeof(uint64_t);
    if (!keyed_add(&p->nameless, uid))
        p->no_memory = true;
    return PAYER_NAMELESS;
}

void payers_fini(struct payers *p)
{
    keyed_fini(&p->nameless);
    *p = (struct payers){0};
}
