/* test_wrong.c - wrong values: each refusal contains the value and what is
 * valid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/grammar.h"
#include "common/pattern.h"
#include "common/quote.h"
#include "common/sitefile.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

#define BIG "99999999999999999999999999" /* more than 2^64 */

struct row {
    const char *text;  /* the option's value */
    const char *value; /* as the message shows it */
    const char *valid; /* the range, the word, or what to write instead */
};

static const struct row nccl_rows[] = {
    /* whole numbers */
    {"auto,iterations=0", "0 is out of range", "(1 to 1000000000)"},
    {"auto,iterations=1000000001", "1000000001 is out", "(1 to 1000000000)"},
    {"auto,iterations=18446744073709551616", "18446744073709551616 is out",
     "(1 to 1000000000)"},
    {"auto,iterations=" BIG, BIG " is out", "(1 to 1000000000)"},
    {"auto,iterations=-5", "\"-5\"", "(1 to 1000000000)"},
    {"auto,iterations=+5", "\"+5\"", "(1 to 1000000000)"},
    {"auto,iterations= 5", "\" 5\"", "(1 to 1000000000)"},
    {"auto,iterations=5 ", "\"5 \"", "(1 to 1000000000)"},
    {"auto,iterations=0x10", "\"0x10\"", "(1 to 1000000000)"},
    {"auto,iterations=1e3", "\"1e3\"", "(1 to 1000000000)"},
    {"auto,iterations=1.5", "\"1.5\"", "(1 to 1000000000)"},
    {"auto,iterations=1_000", "\"1_000\"", "(1 to 1000000000)"},
    {"auto,iterations=x5", "\"x5\"", "(1 to 1000000000)"},
    {"auto,iterations=", "\"iterations\"", "(1 to 1000000000)"},
    {"auto,iterations", "\"iterations\"", "(1 to 1000000000)"},
    {"auto,colls=1000001", "1000001", "(1 to 1000000)"},
    {"auto,comms=0", "0 is out", "(1 to 4096)"},
    {"auto,comms=4097", "4097", "(1 to 4096)"},
    {"auto,p2p=on", "\"on\"", "(0 to 1000000)"},
    {"auto,p2p=1000001", "1000001", "(0 to 1000000)"},
    {"auto,rate=0", "0 is out", "(1 to 10000000)"},
    {"auto,rate=5/m", "\"5/m\"", "(1 to 10000000)"},
    {"auto,rate=/s", "\"/s\"", "(1 to 10000000)"},
    {"inspector,ring=15", "15 is out", "(16 to 16777216)"},
    /* sizes */
    {"auto,mem=1K", "1K is out of range", "(1 MiB to 1 TiB)"},
    {"auto,mem=2T", "2T is out of range", "(1 MiB to 1 TiB)"},
    {"auto,mem=1GB", "\"1GB\"", "K, M, G or T"},
    {"auto,mem=1GiB", "\"1GiB\"", "1 MiB to 1 TiB"},
    {"auto,mem=1g", "\"1g\"", "1 MiB to 1 TiB"},
    {"auto,mem=1.5", "\"1.5\"", "1 MiB to 1 TiB"},
    {"auto,mem=.5G", "\".5G\"", "1 MiB to 1 TiB"},
    {"auto,mem=1.G", "\"1.G\"", "1 MiB to 1 TiB"},
    {"auto,mem=-1G", "\"-1G\"", "1 MiB to 1 TiB"},
    {"auto,mem=G", "\"G\"", "1 MiB to 1 TiB"},
    {"auto,mem=" BIG, BIG " is out of range", "(1 MiB to 1 TiB)"},
    {"auto,mem=17592186044416T", "17592186044416T is out", "(1 MiB to 1 TiB)"},
    {"auto,disk=1025T", "1025T is out", "(1 MiB to 1024 TiB)"},
    {"auto,min_free=-1", "\"-1\"", "(0 B to 1024 TiB;"},
    {"inspector,min_size=1025G", "1025G is out", "(0 B to 1 TiB)"},
    /* times */
    {"inspector,interval=0", "0 is out of range", "(500 us to 60 m)"},
    {"inspector,interval=61m", "61m is out of range", "(500 us to 60 m)"},
    {"inspector,interval=2h", "\"2h\"", "us, ms, s or m"},
    {"inspector,interval=1 s", "\"1 s\"", "500 us to 60 m"},
    {"inspector,interval=1.5us", "\"1.5us\"", "500 us to 60 m"},
    {"inspector,interval=" BIG "s", BIG "s is out", "(500 us to 60 m)"},
    {"inspector,interval=-1s", "\"-1s\"", "500 us to 60 m"},
    /* switches, words, releases */
    {"inspector,verbose=2", "\"2\"", "is not 0 or 1"},
    {"auto,force=TRUE", "\"TRUE\"", "is not 0 or 1"},
    {"auto,summary=lin", "\"lin\"", "auto|off|line|card"},
    {"auto,summary=Card", "\"Card\"", "\"card\""},
    {"recorder,kernels=2", "\"2\"", "auto|1|0"},
    {"recorder,kernels=on", "\"on\"", "auto|1|0"},
    {"recorder,kernels=", "\"kernels\"", "auto|1|0"},
    {"recorder,kernels=aut", "\"aut\"", "\"auto\""},
    {"plan,mode=auto", "\"auto\"", "inspector|rccl-inspector|example|recorder"},
    {"auto,nccl=2", "\"2\"", "2.23 or later"},
    {"auto,nccl=2.22", "2.22", "2.23 or later"},
    {"auto,nccl=2.27.1.1", "\"2.27.1.1\"", "2.23 or later"},
    {"auto,nccl=v2.27", "\"v2.27\"", "like 2.27"},
    {"auto,nccl=2.27.", "\"2.27.\"", "like 2.27"},
    {"auto,nccl=" BIG "." BIG, BIG, "like 2.27"},
    /* directories */
    {"auto,dir=$HOME/x", "\"$HOME/x\"", "write the whole path"},
    {"auto,dir=/a/${USER}", "\"/a/${USER}\"", "write the whole path"},
    {"auto,dir=~/x", "\"~/x\"", "write the whole path"},
    {"auto,dir=a/../b", "\"a/../b\"", "\"..\" component"},
    {"auto,dir=/x-%q", "\"%q\"", "not one of %j %J %s %u %x %A %a %%"},
    {"auto,dir=/x-%", "\"/x-%\"", "not one of %j %J %s %u %x %A %a %%"},
    /* keys and modes that do not go together */
    {"off,mem=1G", "\"mem\" cannot be used with \"off\"", "only with auto"},
    {"recorder,ring=64", "\"ring\"",
     "(only with inspector, rccl-inspector or plan)"},
    {"inspector,kernels=1", "\"kernels\"",
     "(only with auto, recorder or plan)"},
    {"example,kernels=0", "\"kernels\"", "(only with auto, recorder or plan)"},
    {"off,kernels=auto", "\"kernels\"", "(only with auto, recorder or plan)"},
    {"example,rate=5", "\"rate\"",
     "auto, inspector, rccl-inspector, recorder or plan"},
    {"recorder,interval=1", "\"interval\"",
     "(only with inspector, rccl-inspector or plan)"},
    {"auto,mode=example", "\"mode\"", "(only with plan)"},
    {"auto,mem=1G,mem=2G", "\"mem\" is given more than once", "1G and 2G"},
    {"auto,top=5", "\"top\"", "is a key of --copper-profile"},
    {"auto,example=1", "\"example\" is a mode", "write it first"},
    {"auto,recorder", "\"recorder\"", "a second mode"},
    {"auto,men=1G", "\"men\"", "\"mem\""},
    {"auto,,mem=1G", "\"auto,,mem=1G\"", "an empty word"},
    {"auto,dir=a,b", "\"b\"", "a value cannot contain a comma"},
    {"mem=1G", "\"mem=1G\"", "off, auto, inspector"},
    {"offline", "\"offline\"", "\"off\""},
    {"aggregate", "\"aggregate\"", "is a mode of --copper-profile"},
    {"./train", "\"./train\"", "off, auto, inspector"},
    /* characters that could harm a terminal */
    {"auto,iterations=\xff\xfe", "\"\\xff\\xfe\"", "(1 to 1000000000)"},
    {"auto,iterations=\xc0\xaf", "\"\\xc0\\xaf\"", "(1 to 1000000000)"},
    {"auto,iterations=\xc2\x9b"
     "2J",
     "\"\\xc2\\x9b2J\"", "(1 to 1000000000)"},
    {"auto,iterations=\xe2\x80\xae", "\"\\xe2\\x80\\xae\"",
     "(1 to 1000000000)"},
    {"auto,iterations=\xd9\xa5", "\"\xd9\xa5\"", "(1 to 1000000000)"},
    {"auto,mem=\xef\xbc\x91G", "\"\xef\xbc\x91G\"", "1 MiB to 1 TiB"},
    {"auto\x1b[2J", "\"auto\\x1b[2J\"", "control character"},
    {"auto,dir=a\x1b[2J", "\"auto,dir=a\\x1b[2J\"", "control character"},
};

static const struct row copper_rows[] = {
    {"auto", "\"auto\" is a mode of --nccl-profile",
     "off, aggregate, top or full"},
    {"agregate", "\"agregate\"", "\"aggregate\""},
    {"aggregate,top=3", "\"top\"", "(only with top or full)"},
    {"top,top=0", "0 is out", "(1 to 1000000)"},
    {"top,top=x", "\"x\"", "(1 to 1000000)"},
    {"top,interval=0.5", "0.5 is out", "(1 s to 60 m)"},
    {"top,interval=100000m", "100000m is out", "(1 s to 60 m)"},
    {"top,attach=maybe", "\"maybe\"", "is not 0 or 1"},
    {"top,mount=tmp", "\"tmp\"", "is not an absolute path"},
    {"top,mount=/a/../b", "\"/a/../b\"", "\"..\" component"},
    {"top,root=$COPPER", "\"$COPPER\"", "write the whole path"},
    {"top,ttl=5s", "\"5s\"", "(0 to 3600000)"},
    {"top,ttl=3600001", "3600001 is out", "(0 to 3600000)"},
    {"top,mem=1G", "\"mem\"", "is a key of --nccl-profile"},
    {"top,mode=top", "\"mode\"", "is a key of --nccl-profile"},
};

static void check_row(const struct jp_grammar *grammar, const struct row *row)
{
    struct jp_request request;
    struct jp_error err = {""};

    if (request_parse(grammar, row->text, &request, &err) != -1)
        fail_msg("%s is accepted", row->text);
    if (!strstr(err.text, row->value))
        fail_msg("%s: \"%s\" lacks the value %s", row->text, err.text,
                 row->value);
    if (!strstr(err.text, row->valid))
        fail_msg("%s: \"%s\" lacks %s", row->text, err.text, row->valid);
}

static void test_rows(void **state)
{
    (void) state;
    for (size_t i = 0; i < N(nccl_rows); i++)
        check_row(grammar_nccl(), &nccl_rows[i]);
    for (size_t i = 0; i < N(copper_rows); i++)
        check_row(grammar_of(OPTION_COPPER), &copper_rows[i]);
}

/* A value of 3,000 bytes for each knob: one readable line. */
static void check_long(const struct jp_grammar *grammar, size_t k, int fill)
{
    const struct jp_knob *knob = &grammar->knobs[k];
    struct jp_request request;
    struct jp_error err = {""};
    char text[3100];
    int mode = 1, used;

    while (!(knob->modes >> mode & 1))
        mode++;
    used = snprintf(text, sizeof(text), "%s,%s=", grammar->modes[mode].name,
                    knob->name);
    memset(text + used, fill, 3000);
    text[used + 3000] = '\0';
    assert_int_equal(request_parse(grammar, text, &request, &err), -1);
    if (!strstr(err.text, "...") || !strstr(err.text, knob->name) ||
        strlen(err.text) > 400)
        fail_msg("%s: %s", knob->name, err.text);
}

static void test_long(void **state)
{
    static const int fills[] = {'9', 'a', '%', '/', 0xff};
    const struct jp_grammar *const grammars[] = {grammar_nccl(),
                                                 grammar_of(OPTION_COPPER)};

    (void) state;
    for (size_t g = 0; g < N(grammars); g++)
        for (size_t k = 0; k < grammars[g]->n_knobs; k++)
            for (size_t f = 0; f < N(fills); f++)
                check_long(grammars[g], k, fills[f]);
}

/* An option of 10 kB. */
static void test_very_long(void **state)
{
    static const char *const starts[] = {"", "auto,", "auto,mem=", "auto,dir=/",
                                         "\x1b["};
    size_t n = 10240;
    char *text = malloc(n + 1);

    (void) state;
    for (size_t i = 0; i < N(starts); i++) {
        struct jp_request request;
        struct jp_error err = {""};

        memset(text, '7', n);
        text[n] = '\0';
        memcpy(text, starts[i], strlen(starts[i]));
        assert_int_equal(request_parse(grammar_nccl(), text, &request, &err),
                         -1);
        if (!strstr(err.text, "777...\" is longer than 4096 bytes") ||
            strlen(err.text) > 200)
            fail_msg("%s", err.text);
    }
    free(text);
}

/* The site's own keys also have lists and large times. */
static void test_site_keys(void **state)
{
    static const struct row rows[] = {
        {"", "empty", "separated by commas"},
        {",", "\",\"", "separated by commas"},
        {"a,", "\"a,\"", "separated by commas"},
        {"a,,b", "\"a,,b\"", "separated by commas"},
        {"a b", "\"a b\"", "separated by commas"},
        {"gpu:2", "\"gpu:2\"", "separated by commas"},
        {"a/b", "\"a/b\"", "separated by commas"},
        {"\xc3\xa9", "\"\xc3\xa9\"", "separated by commas"},
    };
    char long_text[257], bad_text[] = "a\x01"
                                      "b";
    struct sitekey keys[SITEKEYS_MAX];
    size_t n = sitekeys_all(keys), lists = 0, texts = 0;

    (void) state;
    memset(long_text, 'x', 256);
    long_text[256] = '\0';
    for (size_t i = 0; i < n; i++) {
        struct jp_error err;

        if (keys[i].knob->kind == JP_KNOB_TEXT) {
            texts++;
            assert_int_equal(knob_check(keys[i].knob, long_text, &err), -1);
            assert_non_null(strstr(err.text, "255"));
            assert_int_equal(knob_check(keys[i].knob, bad_text, &err), -1);
            assert_int_equal(knob_check(keys[i].knob, long_text + 1, NULL), 0);
            assert_int_equal(knob_check(keys[i].knob, "-a 1 -b", NULL), 0);
        }
        if (keys[i].knob->kind != JP_KNOB_LIST)
            continue;
        lists++;
        for (size_t r = 0; r < N(rows); r++) {
            assert_int_equal(knob_check(keys[i].knob, rows[r].text, &err), -1);
            if (!strstr(err.text, rows[r].value) ||
                !strstr(err.text, rows[r].valid))
                fail_msg("%s: %s", rows[r].text, err.text);
        }
        assert_int_equal(knob_check(keys[i].knob, "a", NULL), 0);
        assert_int_equal(knob_check(keys[i].knob, "a-1,B_2,c.3", NULL), 0);
    }
    assert_true(lists >= 5);
    assert_true(texts >= 2);
    assert_true(knob_list_has("ab,c", "c"));
    assert_false(knob_list_has("ab,c", "a"));
    assert_false(knob_list_has("", ""));
}

static void test_mounts(void **state)
{
    static const struct jp_knob mounts = {.kind = JP_KNOB_MOUNTS};
    static const char *const bad[] = {
        "",        "a",      "/a",       "/a=",   "=/a",      "/a=b",
        "a=/b",    "/a=/b,", ",/a=/b",   "/=/=/", "/a=/b=/c", "/a=/b,,/c=/d",
        "/a\n=/b", "~=/a",   "/a=/../b", NULL};
    static const struct {
        const char *map, *path, *inside;
    } rows[] = {
        {NULL, "/a/b", "/a/b"},
        {"", "/a/b", "/a/b"},
        {"/x=/y", "/a/b", "/a/b"},
        {"/a=/x", "/a/b/c", "/x/b/c"},
        {"/a/=/x/", "/a/b", "/x/b"},
        {"/a=/x", "/a", "/x"},
        {"/a=/x", "/ab/c", "/ab/c"},
        {"/a=/x,/a/b=/y", "/a/b/c", "/y/c"},
        {"/a/b=/y,/a=/x", "/a/b/c", "/y/c"},
        {"/a/b=/y,/a=/x", "/a/bc", "/x/bc"},
        {"/=/host", "/a/b", "/host/a/b"},
        {"/host=/", "/host/a", "/a"},
        {"/host=/", "/host", "/"},
        {"/a=/x", "/a/raw/%N", "/x/raw/%N"},
    };
    struct jp_error err;

    (void) state;
    for (size_t i = 0; bad[i]; i++)
        if (knob_check(&mounts, bad[i], &err) == 0)
            fail_msg("\"%s\" is taken", bad[i]);
    for (size_t i = 0; i < N(rows); i++) {
        char *inside = mountmap_inside(rows[i].map, rows[i].path);

        if (rows[i].map && *rows[i].map)
            assert_int_equal(knob_check(&mounts, rows[i].map, NULL), 0);
        assert_string_equal(inside, rows[i].inside);
        free(inside);
    }
}

/* Like printf for harmless texts; other texts become harmless. */
static void test_quote_printf(void **state)
{
    char want[400], *got = NULL;
    size_t len;
    FILE *out = open_memstream(&got, &len);
    int n;

    (void) state;
#define FORMAT                                                                 \
    "%s|%-8s|%8s|%.2s|%-*.*s|%d|%5u|%05d|%+d|%lld|%ju|%zu|%td|%x|%3.1f|%g|%c|" \
    "%%|%*s|%hu\n"
#define VALUES                                                                 \
    "abc", "ab", "ab", "abc", 5, 3, "abcdef", -7, 9u, 42, 3, (long long) -1,   \
        (uintmax_t) 7, (size_t) 8, (ptrdiff_t) -9, 255u, 2.25, 0.5, 'x', 3,    \
        "", (unsigned short) 4
    n = quote_printf(out, FORMAT, VALUES);
    fclose(out);
    assert_int_equal(snprintf(want, sizeof(want), FORMAT, VALUES), n);
    assert_string_equal(got, want);
    free(got);
    out = open_memstream(&got, &len);
    n = quote_printf(out, "%s|%8s|%.4s|%-9s|%s\n",
                     "\x1b[2J\n\xc2\x9b\xe2\x80\xae\x9b", "\x7f\xc3\xa9",
                     "\xe2\x80\xae"
                     "xyz",
                     "\t", "");
    fclose(out);
    assert_string_equal(
        got, "\\x1b[2J\\x0a\\xc2\\x9b\\xe2\\x80\\xae\\x9b|  \\x7f\xc3\xa9|"
             "\\xe2\\x80\\xaex|\\x09     |\n");
    assert_int_equal(n, strlen(got));
    free(got);
}

static char *filtered(const char *const *pieces)
{
    char *text = NULL;
    size_t len;
    FILE *memory = open_memstream(&text, &len), *out = quote_json_open(memory);

    assert_non_null(out);
    for (; *pieces; pieces++) {
        assert_true(fputs(*pieces, out) >= 0);
        assert_int_equal(fflush(out), 0);
    }
    assert_int_equal(fclose(out), 0);
    fclose(memory);
    return text;
}

static void test_quote_json(void **state)
{
    static const struct {
        const char *in[4], *out;
    } rows[] = {
        {{"{\"a\":\t1,\r\n\"b\":\"caf\xc3\xa9\"}\n"},
         "{\"a\": 1, \n\"b\":\"caf\xc3\xa9\"}\n"},
        {{"\"\x1b\x7f\xc2\x9b\xe2\x80\xae\""},
         "\"\\u001b\\u007f\\u009b\\u202e\""},
        {{"\xe2", "\x80", "\xae"}, "\\u202e"},
        {{"x\xe2\x80", "y"}, "x\\ufffd\\ufffdy"},
        {{"\x9b\xff\xc3"}, "\\ufffd\\ufffd\\ufffd"},
        {{"\xf0\x9f\x98\x80"}, "\xf0\x9f\x98\x80"},
        {{"\xf0\x9f\xbf\xbe"}, "\\ud83f\\udffe"},
    };
    char buf[16], *text;

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        text = filtered(rows[i].in);
        assert_string_equal(text, rows[i].out);
        free(text);
    }
    assert_int_equal(quote_json_escape("a/\x1bxxxxx", true, buf, sizeof(buf)),
                     14);
    assert_string_equal(buf, "a\\/\\u001bxxxxx");
    assert_int_equal(quote_json_escape("12345678901\x1b", true, buf, 16), 11);
}

static void test_quote(void **state)
{
    char buf[JP_QUOTE_LEN], text[128], small[16];

    (void) state;
    assert_string_equal(quote_text(NULL, buf), "");
    assert_string_equal(quote_text("caf\xc3\xa9 \t\x7f", buf),
                        "caf\xc3\xa9 \\x09\\x7f");
    memset(text, 'a', sizeof(text));
    text[60] = '\0';
    assert_string_equal(quote_text(text, buf), text);
    memcpy(text + 59, "\xc3\xa9", 3); /* not cut in the middle */
    assert_int_equal(strlen(quote_text(text, buf)), 62);
    memset(text, 0xff, sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(strlen(quote_text(text, buf)), JP_QUOTE_LEN - 1);
    quote_shorten("/etc/jobprof.conf:12", small, sizeof(small));
    assert_string_equal(small, "...prof.conf:12");
    quote_shorten("short", small, sizeof(small));
    assert_string_equal(small, "short");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),         cmocka_unit_test(test_long),
        cmocka_unit_test(test_very_long),    cmocka_unit_test(test_site_keys),
        cmocka_unit_test(test_mounts),       cmocka_unit_test(test_quote),
        cmocka_unit_test(test_quote_printf), cmocka_unit_test(test_quote_json),
    };

    return cmocka_run_group_tests_name("wrong", tests, NULL, NULL);
}
