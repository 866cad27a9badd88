/* fixture.h - reports made by hand for the tests of the writers. */
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

/* Foreign text: quotes, tags, newlines, a shell command, a formula, bytes that
 * are not UTF-8, a bidirectional override. */
#define FIXTURE_HOSTILE                                                        \
    "=x\"'<script>alert(1)</script>&\n\r\t\x1b[31m`touch /tmp/no`\xff\xfe"     \
    "\xe2\x80\xae,;end"

/* 32 ranks on four nodes: four communicators of 8 ranks within a node, eight of
 * four ranks across nodes, and one of all ranks. Rank 19 arrives late. No
 * record is missing. */
void fixture_good(struct fixture *f);
/* As fixture_good, but every name is FIXTURE_HOSTILE or very long, numbers are
 * NaN, infinite or the largest possible, and indices are out of range. */
void fixture_hostile(struct fixture *f);
/* A job of 8 tasks without any output. */
void fixture_nodata(struct fixture *f);
/* As fixture_good with n more ranks and pairs, for long tables. */
void fixture_many(struct fixture *f, size_t n);
/* As fixture_good, with a finding of each kind but hang and crash. Some
 * findings name no rank. */
void fixture_slow(struct fixture *f);
/* As fixture_good; task 3 died of SIGSEGV, and the other 31 were killed 4 s
 * later. */
void fixture_failed(struct fixture *f);
/* Ranks and nodes are missing, and files are cut. */
void fixture_incomplete(struct fixture *f);
/* Computes the verdict again after a change. */
void fixture_judge(struct fixture *f, bool analysed);
void fixture_fini(struct fixture *f);

#endif
