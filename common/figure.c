/* figure.c - format counts, sizes, times, bandwidths and shares for people.
 * Every number in texts, tables and pages goes through here, so that they
 * agree. */
#include "common/figure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/decimal.h"
#include "common/num.h"

/* Replaces a locale's decimal comma by a point. */
static char *use_point(char *buf)
{
    char *comma = strchr(buf, ',');

    if (comma)
        *comma = '.';
    return buf;
}

char *figure_count(uint64_t n, char *buf)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);
    char *out = buf;

    for (int i = 0; i < len; i++) {
        /* A comma before each group of three digits. */
        if (i && (len - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return buf;
}

char *figure_bytes(uint64_t n, char *buf)
{
    return num_format_size(n, buf, JP_FIGURE_LEN);
}

/* Formats a number with three significant digits, two below 0.001; at most
 * seven characters below 1e7. The limits are those at which rounding would add
 * a digit. */
static char *three_digits(double value, char *buf)
{
    double size = fabs(value);

    if (!isfinite(value))
        snprintf(buf, JP_FIGURE_LEN, "-");
    else if (size >= 99.95 || size == 0)
        snprintf(buf, JP_FIGURE_LEN, size < 1e15 ? "%.0f" : "%.3g", value);
    else if (size >= 9.995)
        snprintf(buf, JP_FIGURE_LEN, "%.1f", value);
    else if (size >= 0.9995)
        snprintf(buf, JP_FIGURE_LEN, "%.2f", value);
    else
        snprintf(buf, JP_FIGURE_LEN, size < 0.001 ? "%.2g" : "%.3g", value);
    return use_point(buf);
}

char *figure_us(double us, char *buf)
{
    /* Each unit is used up to its bound, which leaves three digits. */
    static const struct {
        double below, unit;
        const char *name;
    } units[] = {{999.5, 1, " us"},
                 {999.5e3, 1e3, " ms"},
                 {7200e6, 1e6, " s"},
                 {INFINITY, 3600e6, " h"}};
    size_t i = 0, len;

    if (!isfinite(us))
        return three_digits(us, buf);
    /* The last bound is infinite. */
    while (fabs(us) >= units[i].below)
        i++;
    len = strlen(three_digits(us / units[i].unit, buf));
    snprintf(buf + len, JP_FIGURE_LEN - len, "%s", units[i].name);
    return buf;
}

char *figure_gbs(double gbs, char *buf)
{
    return three_digits(gbs, buf);
}

char *figure_real(double v, char *buf)
{
    if (!isfinite(v) || fabs(v) >= 1e15)
        return three_digits(v, buf);
    /* Small numbers have three digits, large ones are whole with commas. */
    if (fabs(v) < 999.5) {
        snprintf(buf, JP_FIGURE_LEN, "%.3g", v);
        return use_point(buf);
    }
    /* Overwritten unless v is negative. */
    buf[0] = '-';
    figure_count((uint64_t) (fabs(v) + 0.5), buf + (v < 0));
    return buf;
}

char *figure_share(double share, char *buf)
{
    double percent = share * 100;

    /* Rounding must not turn a part into all or nothing. */
    if (percent < 100 && percent > 99.9)
        percent = 99.9;
    if (!isfinite(share))
        snprintf(buf, JP_FIGURE_LEN, "-");
    else if (percent > 0 && percent < 0.1)
        snprintf(buf, JP_FIGURE_LEN, "<0.1 %%");
    else if (percent == 0 || percent == 100)
        snprintf(buf, JP_FIGURE_LEN, "%.0f %%", percent);
    else
        snprintf(buf, JP_FIGURE_LEN, "%.1f %%", percent);
    return use_point(buf);
}

char *figure_utc(uint64_t us, char *buf)
{
    time_t seconds = (time_t) (us / 1000000);
    struct tm tm;

    /* Times after the year 9999 do not fit into the buffer. */
    if (us == 0 || !gmtime_r(&seconds, &tm) || tm.tm_year > 8099 ||
        !strftime(buf, JP_FIGURE_LEN, "%Y-%m-%d %H:%M:%S UTC", &tm))
        snprintf(buf, JP_FIGURE_LEN, "-");
    return buf;
}

/* For CSV and JSON, not for people: nothing of the value is lost. */
char *figure_exact(double value, char *buf)
{
    char *end;

    buf[0] = '\0';
    if (!isfinite(value))
        return buf;
    if (fabs(value) < 1e15 && value == trunc(value)) { /* usual */
        char *p = buf;

        if (value < 0)
            *p++ = '-';
        *decimal_count((uint64_t) fabs(value), p) = '\0';
        return buf;
    }
    end = decimal_exact(value, buf);
    if (end) {
        *end = '\0';
        return buf;
    }
    /* The fewest digits that read back as the same double. */
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buf, JP_FIGURE_LEN, "%.*g", digits, value);
        if (strtod(buf, NULL) == value)
            break;
    }
    return use_point(buf);
}
