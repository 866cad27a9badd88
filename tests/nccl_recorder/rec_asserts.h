/* rec_asserts.h - assertions of the recorder's tests about a rec_result. */
#ifndef JP_REC_ASSERTS_H
#define JP_REC_ASSERTS_H

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "tests/nccl_recorder/rec_harness.h"

#define assert_ok(r) assert_int_equal((r).status, 0)

/* Returns how often a text is in the lines of all files. */
static inline int has(const struct rec_result *r, const char *text)
{
    return rec_harness_count(r->text, text);
}

#define HAS_ROW(r, comm, func, n_produced, n_written, n_lost)                  \
    do {                                                                       \
        struct rec_counts c = rec_harness_counts((r).text, comm, func);        \
        assert_int_equal(c.produced, n_produced);                              \
        assert_int_equal(c.written, n_written);                                \
        assert_int_equal(c.lost, n_lost);                                      \
        assert_int_equal(c.left_out, 0);                                       \
    } while (0)

#endif
