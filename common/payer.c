/* payer.c - uids with and without a name. */
#include "common/payer.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>

/* The size of a range for namespaces, and how many of its uids are looked up if
 * none has a name. */
#define RANGE_MASK ((uid_t) 0xffff)
#define NAMELESS_MAX 256

/* The number of nameless uids below uid. */
static size_t nameless_before(const struct payers *p, uid_t uid)
{
    size_t low = 0, high = p->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (p->nameless[mid] < uid)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Whether uid is known to have no name, or taken to have none. */
static bool is_nameless(const struct payers *p, uid_t uid)
{
    size_t at = nameless_before(p, uid), last;

    if (at < p->n && p->nameless[at] == uid)
        return true;
    last = nameless_before(p, uid | RANGE_MASK);
    return last - nameless_before(p, uid & ~RANGE_MASK) >= NAMELESS_MAX;
}

/* Adds a uid without a name; it is not there yet. */
static void add_nameless(struct payers *p, uid_t uid)
{
    size_t at = nameless_before(p, uid);
    uid_t *more = reallocarray(p->nameless, p->n + 1, sizeof(*more));

    if (!more) {
        p->no_memory = true;
        return;
    }
    p->nameless = more;
    memmove(more + at + 1, more + at, (p->n - at) * sizeof(*more));
    more[at] = uid;
    p->n++;
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
    add_nameless(p, uid);
    return PAYER_NAMELESS;
}

void payers_fini(struct payers *p)
{
    free(p->nameless);
    *p = (struct payers){0};
}
