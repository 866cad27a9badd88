/* test_table.c - one described table, as each writer writes it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "orchestrator/table/table.h"

struct part {
    char name[40];
    const char *note; /* NULL or "": unknown */
    uint64_t bytes;
    double us, share;
    uint64_t waits; /* 0: us is unknown */
    int64_t pid;    /* below 0: JSON has no such member */
    bool odd;
};

JP_GETTER(pid, part, v->type = JP_VALUE_INT; v->number = at->pid;
          if (at->pid < 0) v->type = JP_VALUE_ABSENT)
JP_GETTER(share, part, value_finite(v, at->share))

#define FIELD(member) JP_FIELD(struct part, member)
/* key, kind, flags, places in JSON, on a page and in text */
static const struct jp_column columns[] = {
    {"name", JP_COL_TEXT, JP_CSV, 1, 1, 1, "Name", .width = 10, .cut = 10,
     .raw = 1, JP_CHARS(struct part, name)},
    {"bytes", JP_COL_BYTES, JP_CSV, 2, 2, 2, "bytes", .brief = "size", .raw = 2,
     .width = 8, .drops = 2, FIELD(bytes)},
    {"us", JP_COL_US, JP_CSV | JP_FIXED | JP_OMIT, 3, 3, 3, "us",
     .brief = "time", .raw = 3, .width = 8, .decimals = 1, .json_decimals = 2,
     FIELD(us), JP_IF(struct part, waits)},
    {"share", JP_COL_SHARE, JP_CSV, 4, 4, 4, "share", .raw = 4, .width = 7,
     .decimals = 3, .drops = 1, .get = get_share},
    {"pid", JP_COL_PID, JP_CSV, 5, 0, 0, "pid", .raw = 5, .get = get_pid},
    {"odd", JP_COL_BOOL, JP_CSV, 6, 5, 5, "odd", .zero = "", FIELD(odd)},
    {"note", JP_COL_TEXT, JP_CSV | JP_OPTIONAL, 7, 6, 6, "note", .width = 6,
     FIELD(note), JP_IF(struct part, note)},
};
#undef FIELD
static const struct jp_table table = {.name = "parts",
                                      JP_COLUMNS(columns),
                                      .row_size = sizeof(struct part),
                                      .max_json = 2,
                                      .max_html = 9,
                                      .max_text = 9};

static const struct part parts[] = {
    {"a", "", 2097152, 28.125, 0.25, 1, 7, true},
    {"much too long a name", NULL, 10, 5, NAN, 0, -1, false},
    {"c", "\033[1m<b>", 0, 0, 0, 3, 9, false},
};

/* Runs a writer on the first n parts. Caller frees. */
static char *write_parts(size_t n,
                         int (*write)(const struct table_source *, FILE *))
{
    const struct table_source source = {.rows = parts, .n = n};
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    assert_int_equal(write(&source, out), 0);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void same(size_t n, int (*write)(const struct table_source *, FILE *),
                 const char *want)
{
    char *text = write_parts(n, write);

    assert_string_equal(text, want);
    free(text);
}

static int people(const struct table_source *source, FILE *out)
{
    return table_show(&table, source, TABLE_FOR_PEOPLE, out) ? 0 : -1;
}

static int programs(const struct table_source *source, FILE *out)
{
    return table_show(&table, source, TABLE_FOR_PROGRAMS, out) ? 0 : -1;
}

static int fitted(const struct table_source *source, FILE *out)
{
    struct jp_table wide = table;

    wide.fitted = true;
    wide.indent = 2;
    return table_show(&wide, source, TABLE_FOR_PEOPLE, out) ? 0 : -1;
}

/* Rows on a terminal of some columns. */
static unsigned narrow_to;
static enum table_look narrow_look;
static bool narrow_fits;
static int narrow(const struct table_source *source, FILE *out)
{
    struct jp_table shown = table;
    struct table_view view;

    shown.fitted = narrow_fits;
    shown.indent = narrow_fits ? 2 : 0;
    table_view_init(&view, &shown, source, narrow_look, narrow_to);
    for (size_t i = 0; i <= source->n; i++) {
        table_view_row(&view, i ? i - 1 : SIZE_MAX, out);
        fputc('\n', out);
    }
    return 0;
}

static int csv(const struct table_source *source, FILE *out)
{
    struct jp_csv to;

    table_csv_head(&table, out);
    csv_out_begin(&to, out);
    table_write_csv(&to, &table, source);
    csv_out_flush(&to);
    return 0;
}

static int json(const struct table_source *source, FILE *out)
{
    static struct jp_json_stream s;
    size_t left_out;

    json_stream_open(&s, JSON_LINES, out);
    left_out = table_write_json(&s, "parts", &table, source);
    json_stream_count(&s, "left_out", left_out);
    return json_stream_close(&s, NULL);
}

static int page(const struct table_source *source, FILE *out)
{
    return table_write_html(&table, source, out);
}

/* A figure that is no number is unknown, to programs, too. */
static void no_number(void **state)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY};
    struct part part = parts[0];
    const struct table_source source = {.rows = &part, .n = 1};

    (void) state;
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        char *text = NULL;
        size_t len;
        FILE *out = open_memstream(&text, &len);

        assert_non_null(out);
        part.us = odd[i];
        assert_int_equal(programs(&source, out), 0);
        assert_int_equal(fclose(out), 0);
        assert_non_null(strstr(text, "2097152        -   0.250"));
        free(text);
    }
}

/* Units for people, digits for programs; what is unknown; what all rows lack.
 */
static void looks(void **state)
{
    (void) state;
    same(2, people,
         "Name           size     time   share odd \n"
         "a             2 MiB  28.1 us  25.0 % yes \n"
         "much too l     10 B        -       -     \n");
    same(2, programs,
         "Name          bytes       us   share      pid\n"
         "a           2097152     28.1   0.250        7\n"
         "much too l       10        -       -        -\n");
    same(2, fitted,
         "  Name         size     time   share  odd\n"
         "  a           2 MiB  28.1 us  25.0 %  yes\n"
         "  much too l   10 B        -       -  \n");
}

/* A longer text moves all rows of the columns behind it. */
static void long_texts(void **state)
{
    static const struct jp_column two[] = {
        {"name", JP_COL_TEXT, 0, 0, 0, 1, "Name", .width = 6, .raw = 1,
         JP_CHARS(struct part, name)},
        {"bytes", JP_COL_BYTES, 0, 0, 0, 2, "bytes", .width = 8, .raw = 2,
         JP_FIELD(struct part, bytes)},
    };
    static const struct jp_table names = {JP_COLUMNS(two),
                                          .row_size = sizeof(struct part)};
    const struct table_source source = {.rows = parts, .n = 2};
    static const enum table_look looks[] = {TABLE_FOR_PEOPLE,
                                            TABLE_FOR_PROGRAMS};
    static const char *const want[] = {"Name                    bytes\n"
                                       "a                       2 MiB\n"
                                       "much too long a name     10 B\n",
                                       "Name                    bytes\n"
                                       "a                     2097152\n"
                                       "much too long a name       10\n"};

    (void) state;
    for (size_t i = 0; i < 2; i++) {
        char *text = NULL;
        size_t len;
        FILE *out = open_memstream(&text, &len);

        assert_non_null(out);
        table_show(&names, &source, looks[i], out);
        assert_int_equal(fclose(out), 0);
        assert_string_equal(text, want[i]);
        free(text);
    }
}

/* A terminal has the columns that fit; foreign text does no harm. */
static void terminals(void **state)
{
    (void) state;
    narrow_look = TABLE_FOR_PEOPLE;
    narrow_to = 24;
    same(2, narrow,
         "Name          time odd\n"
         "a          28.1 us yes\n"
         "much too l       -  \n");
    narrow_look = TABLE_ON_SCREEN;
    narrow_to = 32;
    same(3, narrow,
         "Name           time odd  note  \n"
         "a           28.1 us yes  -     \n"
         "much too ~        -      -     \n"
         "c              0 us      ?[1m<~\n");
    /* blanks before and between the columns are a part of the width */
    narrow_fits = true;
    narrow_look = TABLE_FOR_PEOPLE;
    narrow_to = 38;
    same(2, narrow,
         "  Name         size     time  odd\n"
         "  a           2 MiB  28.1 us  yes\n"
         "  much too l   10 B        -  \n");
    /* its last column is as wide as its texts: nothing is cut */
    narrow_look = TABLE_ON_SCREEN;
    narrow_to = 0;
    same(2, narrow,
         "  Name         size     time   share  odd\n"
         "  a           2 MiB  28.1 us  25.0 %  yes\n"
         "  much too ~   10 B        -       -  \n");
    narrow_fits = false;
}

/* Unknown is an empty field, null, or no member. */
static void programs_read(void **state)
{
    char *text;

    (void) state;
    same(3, csv,
         "name,bytes,us,share,pid,odd,note\n"
         "a,2097152,28.125,0.25,7,yes,\n"
         "much too long a name,10,,,,no,\n"
         "c,0,0,0,9,no,?[1m<b>\n");
    text = write_parts(3, json);
    assert_non_null(strstr(text, "\"us\":28.12,"));
    assert_non_null(strstr(text, "\"bytes\":10,\"share\":null,\"odd\":false"));
    assert_non_null(strstr(text, "\"left_out\":1"));
    free(text);
}

static void pages(void **state)
{
    char *text = write_parts(3, page);

    (void) state;
    assert_non_null(strstr(text, "<td class=\"n\" data-v=\"2097152\">2 MiB<"));
    assert_non_null(strstr(text, "&lt;b&gt;"));
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, "pid"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_number),
        cmocka_unit_test(looks),
        cmocka_unit_test(long_texts),
        cmocka_unit_test(terminals),
        cmocka_unit_test(programs_read),
        cmocka_unit_test(pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
