/* decimal.h - numbers as decimal digits, fast: tables of millions of rows are
 * written with these; printf takes five times as long.
 */
#ifndef JP_COMMON_DECIMAL_H
#define JP_COMMON_DECIMAL_H

#include <stdint.h>

/* What each of these may write; the text is shorter, and has no NUL. */
#define JP_DECIMAL_ROOM 40

/* The digits of value; returns their end. */
char *decimal_count(uint64_t value, char *out);

/* value / 1e6, without zeros at its end. */
char *decimal_micro(uint64_t micro, char *out);

/* The shortest decimal of at least 15 digits, its zeros at the end left out,
 * that reads back as the same double, as "%.15g" to "%.17g" give it. Only
 * numbers from 1e-4 to below 1e15; NULL: another one, or one that printf must
 * decide. */
char *decimal_exact(double value, char *out);

#endif
