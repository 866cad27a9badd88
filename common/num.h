/* num.h - checked numbers: integers, sizes and durations from foreign text.
 *
 * Each function takes the whole string (no blanks, no sign if unsigned, no
 * trailing characters), checks the range and overflow, names the value and the
 * range in the error, and leaves *out unchanged on failure. Returns 0 or -1.
 */
#ifndef JP_COMMON_NUM_H
#define JP_COMMON_NUM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

/* a + b and a x b; UINT64_MAX if the result does not fit. */
static inline uint64_t num_add(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t num_mul(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Decimal integer, min <= value <= max. */
int num_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out,
                  struct jp_error *err);
int num_parse_i64(const char *text, int64_t min, int64_t max, int64_t *out,
                  struct jp_error *err);

/* SIZE: bytes, or a number with K, M, G, T (1024^n; "KB", "KiB" are refused);
 * a decimal fraction is allowed with a suffix ("1.5G"). min, max in bytes. */
int num_parse_size(const char *text, uint64_t min, uint64_t max,
                   uint64_t *out_bytes, struct jp_error *err);

/* TIME: seconds, or a number with us, ms, s, m; a fraction is allowed ("0.5s",
 * "2.5"). min, max and the result in microseconds. */
int num_parse_time_us(const char *text, uint64_t min, uint64_t max,
                      uint64_t *out_us, struct jp_error *err);

/* The whole number that another text was probably meant to be ("5k": 5000),
 * into buf, if it is from min to max; otherwise NULL. */
char *num_suggest_count(const char *text, uint64_t min, uint64_t max, char *buf,
                        unsigned len);

/* 0|1|on|off|yes|no|true|false. */
int num_parse_bool(const char *text, bool *out, struct jp_error *err);

/* "1.5 GiB", "100 B"; "100 ms", "2 m" into buf. Returns buf. */
char *num_format_size(uint64_t bytes, char *buf, unsigned buf_len);
char *num_format_time_us(uint64_t us, char *buf, unsigned buf_len);

#endif
