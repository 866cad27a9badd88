/* fixture_parts.h - shared by the makers of fixtures; only for fixture*.c. */
#ifndef JP_TESTS_REPORT_FIXTURE_PARTS_H
#define JP_TESTS_REPORT_FIXTURE_PARTS_H

#include <stdbool.h>

#include "tests/report/fixture.h"

#define FIXTURE_NODES 4
#define FIXTURE_GPUS 8

/* Takes over p until fixture_fini. None of these functions returns NULL: they
 * abort. */
void *fixture_keep(struct fixture *f, void *p);
/* Returns an array of zeros. */
void *fixture_array(struct fixture *f, size_t n, size_t size);
char *fixture_text(struct fixture *f, const char *s);

/* Finds the processes again, after a change of the result. */
void fixture_processes(struct fixture *f);
/* hostile: the indices of the first operation are out of range. */
void fixture_ops(struct fixture *f, bool hostile);
/* Adds pairs of n ranks: each sends to the rank eight places after it. */
void fixture_p2p(struct fixture *f, uint32_t n);
/* Adds pairs of hosts: each sends to the next. The first also sends to an
 * unknown host, without a bandwidth. */
void fixture_p2p_nodes(struct fixture *f);

#endif
