/* fixture.h - reports made by hand for the tests of their writers. */
#ifndef JP_TESTS_REPORT_FIXTURE_H
#define JP_TESTS_REPORT_FIXTURE_H

#include "orchestrator/report/report.h"

struct fixture {
    struct jp_jobconf conf;
    struct jp_nodes nodes;
    struct jp_result result;
    struct jp_verdict verdict;
    struct jp_insight insight; /* answers; findings of fixture_slow */
    struct jp_processes processes;
    struct jp_report report; /* points at the parts above */
    void *kept[8192];        /* what fixture_fini frees */
    size_t n_kept;
};

/* Quotes, tags, newlines, a shell command, a formula, bytes that are no UTF-8,
 * a bidirectional override. */
#define FIXTURE_HOSTILE                                                        \
    "=x\"'<script>alert(1)</script>&\n\r\t\x1b[31m`touch /tmp/no`\xff\xfe"     \
    "\xe2\x80\xae,;end"

/* 32 ranks on four nodes: four communicators of 8 ranks in a node, eight of
 * four ranks across nodes, one of all; rank 19 arrives late. Complete. */
void fixture_good(struct fixture *f);
/* As fixture_good, but every name is FIXTURE_HOSTILE or very long, numbers are
 * NaN, infinite or the largest, indices point nowhere. */
void fixture_hostile(struct fixture *f);
/* A job of 8 tasks without any output. */
void fixture_nodata(struct fixture *f);
/* n more ranks and pairs than fixture_good (long tables). */
void fixture_many(struct fixture *f, size_t n);
/* As fixture_good, with findings of each kind but hang and crash, some about
 * nobody. */
void fixture_slow(struct fixture *f);
/* As fixture_good; task 3 died of SIGSEGV, the other 31 were killed 4 s later.
 */
void fixture_failed(struct fixture *f);
/* Ranks and nodes missing, files cut. */
void fixture_incomplete(struct fixture *f);
/* Decides the verdict anew after a change. */
void fixture_judge(struct fixture *f, bool analysed);
void fixture_fini(struct fixture *f);

#endif
