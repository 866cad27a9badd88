/* fixture_parts.h - what the makers of fixtures share. */
#ifndef JP_TESTS_REPORT_FIXTURE_PARTS_H
#define JP_TESTS_REPORT_FIXTURE_PARTS_H

#include <stdbool.h>

#include "tests/report/fixture.h"

/* All of these are freed by fixture_fini; none returns NULL. */
void *fixture_keep(struct fixture *f, void *p);
void *fixture_keep_array(struct fixture *f, size_t n, size_t size);
char *fixture_text(struct fixture *f, const char *s);

/* hostile: the first one's indices point nowhere. */
void fixture_ops(struct fixture *f, bool hostile);

#endif
