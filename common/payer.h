/* payer.h - which user is charged for files of a uid.
 *
 * Whoever divides a budget among users needs this: a user may have tens of
 * thousands of uids without a name (/etc/subuid, user namespaces), and all of
 * these share one part. A directory service is queried once for each uid, and
 * not for all uids of a range, because whoever owns the range could make us
 * query it for hours.
 */
#ifndef JP_COMMON_PAYER_H
#define JP_COMMON_PAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/keyed.h"

/* Stands for all uids without a name. */
#define PAYER_NAMELESS ((uid_t) -1)

/* Zeros: nobody was looked up yet. */
struct payers {
    struct keyed nameless; /* of the keys alone */
    bool no_memory;
    bool has_last; /* the last uid with a name */
    uid_t last;
};

/* Returns uid if it has a name, else PAYER_NAMELESS. Looks it up unless it is
 * known to have none, or was the last one with a name. If 256 uids of a
 * range of 65,536 have no name, the others of the range count as nameless
 * without a query. */
uid_t payers_find(struct payers *payers, uid_t uid);

void payers_fini(struct payers *payers);

#endif
