/* fixture_parts.h - what the makers of fixtures share; for fixture*.c only. */
#ifndef JP_TESTS_REPORT_FIXTURE_PARTS_H
#define JP_TESTS_REPORT_FIXTURE_PARTS_H

#include <stdbool.h>

#include "tests/report/fixture.h"

#define FIXTURE_NODES 4
#define FIXTURE_GPUS 8

/* Takes p over until fixture_fini. None of these returns NULL. */
void *fixture_keep(struct fixture *f, void *p);
/* Zeroed. */
void *fixture_array(struct fixture *f, size_t n, size_t size);
char *fixture_text(struct fixture *f, const char *s);

/* Finds the processes anew, after a change of the result. */
void fixture_processes(struct fixture *f);
/* hostile: the first one's indices point nowhere. */
void fixture_ops(struct fixture *f, bool hostile);
/* n ranks, each to the eighth behind it. */
void fixture_p2p(struct fixture *f, uint32_t n);
/* Every host to the next; the first also to one that is not known, without a
 * bandwidth. */
void fixture_p2p_nodes(struct fixture *f);

#endif
