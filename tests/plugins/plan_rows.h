/* plan_rows.h - the table of expected plans, which test_plans.c checks. */
#ifndef JP_TEST_PLAN_ROWS_H
#define JP_TEST_PLAN_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "common/jobshape.h"

struct plan_row {
    const char *name;
    const char *backend, *option;
    struct jp_jobshape shape;
    const char *refused; /* a part of the error; NULL: it fits */
    struct {
        uint64_t memory, reserved, disk, planned, kept;
        const char *lost; /* a part of the sentence; NULL: nothing is lost */
    } forecast;
    struct {
        const char *name;
        uint64_t value; /* UINT64_MAX: not set */
    } env[4];
    uint32_t release; /* of the library; 0: nccl= */
};

extern const struct plan_row plan_rows[];
extern const size_t plan_n_rows;

#endif
