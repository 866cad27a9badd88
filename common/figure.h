/* figure.h - numbers for people.
 *
 * Each function writes into buf of JP_FIGURE_LEN bytes and returns it. The FIG_
 * macros provide a buffer that lives until the end of the enclosing block. NaN
 * and infinity become "-". The decimal point is always '.'.
 */
#ifndef JP_COMMON_FIGURE_H
#define JP_COMMON_FIGURE_H

#include <stdint.h>

#define JP_FIGURE_LEN 48

char *figure_count(uint64_t n, char *buf);   /* 5,600 */
char *figure_bytes(uint64_t n, char *buf);   /* 256 MiB */
char *figure_us(double us, char *buf);       /* 412 us, 11.2 ms, 3.05 s */
char *figure_gbs(double gbs, char *buf);     /* 361, 38.2, 0.0123 */
char *figure_real(double v, char *buf);      /* 0.0123, 8, 38.2, 4,880 */
char *figure_share(double share, char *buf); /* 71.3 %; 100 % only if all */
char *figure_utc(uint64_t us, char *buf);    /* 2026-11-21 11:02:03 UTC */
/* Shortest decimal that reads back as the same double; "" if not finite. */
char *figure_exact(double value, char *buf);

/* The plural "s" for n things: "rank%s". */
static inline const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

#define FIG_COUNT(n) figure_count((n), (char[JP_FIGURE_LEN]){0})
#define FIG_BYTES(n) figure_bytes((n), (char[JP_FIGURE_LEN]){0})
#define FIG_US(us) figure_us((us), (char[JP_FIGURE_LEN]){0})
#define FIG_GBS(gbs) figure_gbs((gbs), (char[JP_FIGURE_LEN]){0})
#define FIG_REAL(v) figure_real((v), (char[JP_FIGURE_LEN]){0})
#define FIG_SHARE(share) figure_share((share), (char[JP_FIGURE_LEN]){0})
#define FIG_UTC(us) figure_utc((us), (char[JP_FIGURE_LEN]){0})
#define FIG_EXACT(value) figure_exact((value), (char[JP_FIGURE_LEN]){0})

#endif
