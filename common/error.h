/* error.h - errors as values: a sentence that grows outwards.
 *
 * A fallible function takes `struct jp_error *err` last and returns -1 (or
 * NULL) on failure. Inner functions say what went wrong, outer ones add where:
 *
 *     nccl-inspector: run.log:118: bad "coll_exec_time_us" "1x"
 *
 * err may be NULL everywhere. errno is kept by both functions. Libraries never
 * print; only cmd/ and spank/ turn an error into a line.
 */
#ifndef JP_COMMON_ERROR_H
#define JP_COMMON_ERROR_H

struct jp_error {
    char text[512]; /* NUL-terminated, one line, harmless (quote.h) */
};

/* Sets err to the formatted sentence. Returns -1, so that a caller can write
 * `return error_set(err, ...)`. Characters that could harm a terminal become
 * '?'. */
int error_set(struct jp_error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts "<formatted>: " before the sentence in err. Returns -1. */
int error_wrap(struct jp_error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
