/* test_request.c - the option grammars, knobs, patterns and nearest words. */
#include "common/grammar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/defaults.h"
#include "common/nearest.h"
#include "common/pattern.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

static const struct {
    const char *text;
    const char *error; /* part of the sentence */
} bad_rows[] = {
    {NULL, "needs a value: off, auto"},
    {"", "needs a value: off, auto"},
    {",", "the mode must come first"},
    {"./a.out", "\"./a.out\" looks like the program"},
    {"/usr/bin/python3", "looks like the program"},
    {"xyzzy", "unknown mode \"xyzzy\" (off, auto"},
    {"inspectr", "did you mean \"inspector\"?"},
    {"Auto", "did you mean \"auto\"?"},
    {" auto", "did you mean \"auto\"?"},
    {"auto ", "did you mean \"auto\"?"},
    {"mem=1G", "\"mem=1G\" is in the place of the mode"},
    {"auto,", "an empty word"},
    {"auto,,mem=1G", "an empty word"},
    {"auto,recorder", "a second mode \"recorder\""},
    {"auto,mem", "\"mem\" needs a value"},
    {"auto,mem=", "\"mem\" needs a value"},
    {"auto,=1", "unknown key \"\""},
    {"auto,men=1G", "did you mean \"mem\"?"},
    {"auto,iteration=5", "did you mean \"iterations\"?"},
    {"auto,wibble=5", "unknown key \"wibble\""},
    {"auto,mem=1G,mem=1G", "\"mem\" is given more than once"},
    {"off,mem=1G", "\"mem\" cannot be used with \"off\" (only with auto"},
    {"recorder,ring=64", "(only with inspector, rccl-inspector or plan)"},
    {"example,rate=5", "cannot be used with \"example\""},
    {"recorder,mode=example", "(only with plan)"},
    {"auto,mem=1GB", "mem: \"1GB\" is not a size"},
    {"auto,mem=-1", "mem: \"-1\" is not a size"},
    {"auto,mem=1K", "mem: 1K is out of range (1 MiB to"},
    {"auto,mem=99999999999999999999G", "mem: "},
    {"auto,iterations=0", "iterations: 0 is out of range"},
    {"auto,iterations=1e3", "is not a whole number"},
    {"auto,iterations=18446744073709551616", "is out of range (1 to 10000"},
    {"auto,p2p=no", "p2p: \"no\" is not a whole number"},
    {"auto,rate=5/m", "rate: "},
    {"recorder,tags=forward", "does not name a tag (at most 16 NUMBER:NAME"},
    {"recorder,tags=0:x", "does not name a tag"},
    {"recorder,tags=1:x;2:a/b", "\"2:a/b\" does not name a tag"},
    {"recorder,tags=1:", "does not name a tag"},
    {"recorder,tags=9223372036854775808:x", "does not name a tag"},
    {"recorder,tags=1:x;01:y", "tag 1 has two names"},
    {"recorder,tags=1:x;2:x", "two tags have the name \"x\""},
    {"recorder,tags=1:tag 2", "a name of reports themselves"},
    {"recorder,tags=1:several", "a name of reports themselves"},
    {"inspector,tags=1:x", "(only with"},
    {"recorder,tags=1:forward;2:my step;3:optimizer", NULL},
    {"auto,tags=1:forward", NULL},
    {"inspector,interval=1", NULL},
    {"inspector,interval=0", "interval: 0 is out of range"},
    {"inspector,interval=2h", "is not a time"},
    {"inspector,verbose=2", "verbose: \"2\" is not 0 or 1"},
    {"auto,nccl=2.19", "NCCL 2.19 has no profiler interface (2.23 or"},
    {"auto,nccl=2", "\"2\" is not an NCCL release"},
    {"auto,nccl=2.27.1.1", "is not an NCCL release"},
    {"auto,nccl=v2.27", "is not an NCCL release"},
    {"auto,summary=lin", "did you mean \"line\"?"},
    {"auto,dir=", "\"dir\" needs a value"},
    {"auto,dir=a/../b", "has a \"..\" component"},
    {"auto,dir=..", "has a \"..\" component"},
    {"auto,dir=x%", "is not one of %j"},
    {"auto,dir=%q", "is not one of %j"},
    {"auto,dir=~/x", "~ is not expanded"},
    {"auto,dir=a\nb", "control character"},
    {"auto\x7f", "control character"},
    {"plan,mode=recorde", "did you mean \"recorder\"?"},
};

static void test_refused(void **state)
{
    (void) state;
    for (size_t i = 0; i < N(bad_rows); i++) {
        struct jp_request request, before;
        struct jp_error err = {""};
        int rc;

        memset(&request, 0x5a, sizeof(request));
        before = request;
        rc = request_parse(grammar_nccl(), bad_rows[i].text, &request, &err);
        if (!bad_rows[i].error) {
            assert_int_equal(rc, 0);
            request_fini(&request);
            continue;
        }
        if (rc != -1 || !strstr(err.text, bad_rows[i].error))
            fail_msg("%s: %d \"%s\" lacks \"%s\"", bad_rows[i].text, rc,
                     err.text, bad_rows[i].error);
        assert_memory_equal(&request, &before, sizeof(before));
        assert_int_equal(
            request_parse(grammar_nccl(), bad_rows[i].text, &request, NULL),
            -1);
    }
}

static void test_too_long(void **state)
{
    struct jp_request request;
    struct jp_error err;
    char *text = malloc(JP_OPTION_MAX + 8);

    (void) state;
    memset(text, 'a', JP_OPTION_MAX + 1);
    text[JP_OPTION_MAX + 1] = '\0';
    assert_int_equal(request_parse(grammar_nccl(), text, &request, &err), -1);
    assert_non_null(strstr(err.text, "longer than 4096"));
    memcpy(text, "auto,dir=/", 10);
    text[10 + JP_PATTERN_MAX] = '\0';
    assert_int_equal(request_parse(grammar_nccl(), text, &request, &err), -1);
    assert_non_null(strstr(err.text, "longer than 1024"));
    free(text);
}

static const char *value_of(const struct jp_request *r, const char *key)
{
    return r->values[grammar_find_knob(r->grammar, key)];
}

static void test_accepted(void **state)
{
    struct jp_request r;

    (void) state;
    assert_int_equal(
        request_parse(
            grammar_nccl(),
            "inspector,iterations=500,colls=128,comms=8,p2p=off,rate=6000/s,"
            "interval=50ms,ring=4096,mem=1.5G,disk=10G,min_free=0,nccl=2.27.3,"
            "verbose=1,min_size=8K,dir=/s/%u/a=b-%j,summary=off,force=1",
            &r, NULL),
        0);
    assert_int_equal(r.mode, grammar_find_mode(r.grammar, "inspector"));
    assert_string_equal(value_of(&r, "dir"), "/s/%u/a=b-%j");
    assert_string_equal(value_of(&r, "mem"), "1.5G");
    assert_null(value_of(&r, "mode"));
    request_fini(&r);
    request_fini(&r);
    request_fini(NULL);
    assert_int_equal(request_parse(grammar_nccl(), "off", &r, NULL), 0);
    assert_int_equal(r.mode, 0);
    request_fini(&r);
    assert_int_equal(
        request_parse(
            grammar_of(OPTION_COPPER),
            "full,top=20,interval=5,attach=1,mount=/tmp/m,ttl=100,root=/opt/c",
            &r, NULL),
        0);
    request_fini(&r);
}

static void test_copper_refused(void **state)
{
    static const char *const rows[][2] = {
        {"auto", "\"auto\" is a mode of --nccl-profile"},
        {"aggregate,top=3", "(only with top or full)"},
        {"top,top=0", "out of range"},
        {"top,mount=tmp", "is not an absolute path"},
        {"top,root=/a/../b", "\"..\" component"},
        {"top,ttl=5s", "is not a whole number"},
        {"ful", "did you mean \"full\"?"},
    };
    struct jp_request r;
    struct jp_error err;

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        assert_int_equal(
            request_parse(grammar_of(OPTION_COPPER), rows[i][0], &r, &err), -1);
        if (!strstr(err.text, rows[i][1]))
            fail_msg("%s: %s", rows[i][0], err.text);
    }
}

/* Every default is a valid value of its knob, and every knob has a help
 * text. */
static void test_tables(void **state)
{
    const struct jp_grammar *const grammars[] = {grammar_nccl(),
                                                 grammar_of(OPTION_COPPER)};

    (void) state;
    for (size_t g = 0; g < N(grammars); g++) {
        const struct jp_grammar *grammar = grammars[g];

        for (size_t i = 0; i < grammar->n_knobs; i++) {
            const struct jp_knob *knob = &grammar->knobs[i];
            char range[64];

            assert_true(*knob->help && knob->modes);
            assert_false(knob->modes & 1);
            assert_true(*knob_format_range(knob, range, sizeof(range)));
            if (knob->def)
                assert_int_equal(knob_check(knob, knob->def, NULL), 0);
            assert_int_equal(knob_check(knob, NULL, NULL), -1);
            assert_int_equal(knob_check(knob, "", NULL), -1);
        }
        assert_string_equal(grammar->modes[0].name, "off");
    }
}

static void test_equal(void **state)
{
    static const struct {
        const char *knob, *a, *b;
        bool equal;
    } rows[] = {
        {"mem", "1G", "1024M", true},
        {"mem", "1G", "1025M", false},
        {"p2p", "off", "0", true},
        {"force", "yes", "1", true},
        {"interval", "0.1", "100ms", true},
        {"nccl", "2.27", "2.27.3", false},
        {"nccl", "2.27.3", "2.27.03", true},
        {"dir", "a", "a", true},
        {"dir", "a", "b", false},
        {"rate", "5/s", "5", true},
    };

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        int k = grammar_find_knob(grammar_nccl(), rows[i].knob);

        assert_int_equal(
            knob_equal(&grammar_nccl()->knobs[k], rows[i].a, rows[i].b),
            rows[i].equal);
    }
}

static void test_pattern(void **state)
{
    static const struct pattern_facts facts = {12,     "0", "al/ice",
                                               ".. x", 10,  3};
    static const char *const rows[][2] = {
        {"jobprof-%j", "jobprof-12"}, {"/s/%u/%x/%J", "/s/al_ice/_._x/12.0"},
        {"%A_%a-%s", "10_3-0"},       {"%%j", "%j"},
        {"a..b/...", "a..b/..."},
    };
    static const char *const nodes[][2] = {{"/x/%N/%N", "/x/n%N/n%N"},
                                           {"%%%n%", "%%%n%"},
                                           {"%N", "n%N"},
                                           {"", ""}};

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        char *path = pattern_expand(rows[i][0], &facts, NULL);

        assert_non_null(path);
        assert_string_equal(path, rows[i][1]);
        free(path);
    }
    for (size_t i = 0; i < N(nodes); i++) {
        char *path = pattern_expand_node(nodes[i][0], "n%N");

        assert_string_equal(path, nodes[i][1]);
        free(path);
    }
    assert_null(pattern_expand("%", &facts, NULL));
    assert_null(pattern_expand("", &facts, NULL));
    assert_int_equal(pattern_check(NULL, NULL), -1);
}

static void test_nearest(void **state)
{
    static const char *const words[] = {"inspector", "example", NULL, "off"};
    char longer[80];

    (void) state;
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(nearest_distance("", ""), 0);
    assert_int_equal(nearest_distance("abcd", ""), 4);
    assert_int_equal(nearest_distance("abcd", "abdc"), 1);
    assert_int_equal(nearest_distance("kitten", "sitting"), 3);
    assert_true(nearest_distance(longer, longer) > 100);
    assert_string_equal(nearest_find("exampel", words, 4), "example");
    assert_string_equal(nearest_find("OF", words, 4), "off");
    assert_null(nearest_find("on", words, 4));
    assert_null(nearest_find("", words, 4));
    assert_null(nearest_find("off", NULL, 0));
}

static void test_list_modes(void **state)
{
    char buf[128], tiny[4];

    (void) state;
    assert_string_equal(
        grammar_list_modes(grammar_of(OPTION_COPPER), ~0u, buf, sizeof(buf)),
        "off, aggregate, top or full");
    assert_string_equal(
        grammar_list_modes(grammar_of(OPTION_COPPER), 8, buf, sizeof(buf)),
        "full");
    assert_string_equal(
        grammar_list_modes(grammar_of(OPTION_COPPER), ~0u, tiny, sizeof(tiny)),
        "off");
}

static void test_tag_names(void **state)
{
    static const char tags[] = "3:my step;12:x";
    char buf[USERTAGS_NAME + 1];

    (void) state;
    assert_string_equal(usertags_name(tags, 3, buf), "my step");
    assert_string_equal(usertags_name(tags, 12, buf), "x");
    assert_string_equal(usertags_name(tags, 1, buf), "tag 1");
    assert_string_equal(usertags_name(NULL, UINT64_MAX, buf),
                        "tag 18446744073709551615");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_accepted),  cmocka_unit_test(test_copper_refused),
        cmocka_unit_test(test_tables),    cmocka_unit_test(test_equal),
        cmocka_unit_test(test_tag_names), cmocka_unit_test(test_pattern),
        cmocka_unit_test(test_nearest),   cmocka_unit_test(test_list_modes),
    };

    return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
