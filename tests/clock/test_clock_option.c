/* test_clock_option.c - --clock-profile: its words and sources, and what
 * reaches job.conf and the agent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "common/plan.h"
#include "plugins/clock/clock_launch.h"
#include "tests/common/tempdir.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

/* --- the option's words --------------------------------------------------- */

static const struct {
    const char *text, *error;
} bad_rows[] = {
    {"", "needs a value: off, auto, default, accurate, light, debug"},
    {"on", "unknown mode \"on\"; did you mean \"auto\"?"},
    {"./train", "looks like the program"},
    {"acurate", "did you mean \"accurate\"?"},
    {"20000", "unknown mode \"20000\""},
    {"auto,probe_cadance_us=800", "did you mean \"probe_cadence_us\"?"},
    {"auto,probe_cadence_us=99", "out of range"},
    {"auto,probe_cadence_us=800us", "probe_cadence_us"},
    {"auto,probe_cadence_us=-1", "probe_cadence_us"},
    {"auto,probe_cadence_us=99999999999999999999", "probe_cadence_us"},
    {"auto,probe_window_s=0", "out of range"},
    {"auto,probe_window_s=61", "out of range"},
    {"auto,packet_spacing_us=1001", "out of range"},
    {"auto,snapshot_period_ms=9", "out of range"},
    {"auto,output_dir=here", "output_dir"},
    {"auto,if=", "needs a value"},
    {"auto,config=", "needs a value"},
    {"auto,xla=maybe", "xla"},
    {"auto,enabled=2", "enabled"},
    {"auto,xla=1,xla=1", "given more than once"},
    {"off,enabled=1", "cannot be used with \"off\""},
    {"off,probe_window_s=4", "cannot be used with \"off\""},
    {"auto,iterations=3", "is a key of --nccl-profile"},
};

static void test_refused(void **state)
{
    for (size_t i = 0; i < N(bad_rows); i++) {
        struct jp_request request;
        struct jp_error err = {""};
        int rc = request_parse(grammar_of(OPTION_CLOCK), bad_rows[i].text,
                               &request, &err);

        if (rc != -1 || !strstr(err.text, bad_rows[i].error))
            fail_msg("%s: %d \"%s\" lacks \"%s\"", bad_rows[i].text, rc,
                     err.text, bad_rows[i].error);
    }
}

/* --- sources -------------------------------------------------------------- */

struct row {
    const char *site, *user;  /* text of the files */
    const char *json;         /* XLA_DIST_PROF_CONFIG's; NULL: none */
    const char *xla, *enable; /* the cadence's variable, and the switch */
    const char *env, *option; /* of ours */
    const char *nccl;
    uint32_t nodes;
    uint32_t cadence_us;     /* 0: no probes */
    enum plan_source source; /* of the cadence */
    const char *word;        /* the mode in effect */
};

static const struct row *current;
static const char *home;
static char *json_path;
static const char *ifname;

static const char *row_env(void *arg, const char *name)
{
    if (!strcmp(name, "JOBPROF_CLOCK"))
        return current->env;
    if (!strcmp(name, "XLA_PROBE_CADENCE_US"))
        return current->xla;
    if (!strcmp(name, "XLA_ENABLE_DISTRIBUTED_PROFILING"))
        return current->enable;
    if (!strcmp(name, "XLA_DIST_PROF_CONFIG"))
        return current->json ? json_path : NULL;
    if (!strcmp(name, "NCCL_SOCKET_IFNAME"))
        return ifname;
    return strcmp(name, "HOME") ? NULL : home;
}

static int try_make(const struct row *row, const char *dir,
                    struct jp_plan *plan, struct jp_error *err)
{
    char *site =
        tempdir_file(dir, "site.conf", 0600, row->site ? row->site : "");
    struct plan_input in = {.config = site,
                            .given[OPTION_CLOCK] = row->option,
                            .given[OPTION_NCCL] = row->nccl,
                            .env = row_env};
    int rc;

    free(tempdir_file(dir, ".config/jobprof/jobprof.conf", 0600,
                      row->user ? row->user : ""));
    free(json_path);
    json_path =
        tempdir_file(dir, "dist.json", 0600, row->json ? row->json : "");
    current = row;
    home = dir;
    rc = plan_make(&in, plan, err);
    free(site);
    return rc;
}

static void make(const struct row *row, const char *dir, struct jp_plan *plan)
{
    struct jp_error err = {""};

    if (try_make(row, dir, plan, &err) < 0)
        fail_msg("%s %s: %s", row->site, row->option, err.text);
}

/* Does what resolve does with a plan. The caller frees conf. */
static void fill(const struct jp_plan *plan, uint32_t nodes, char **note,
                 struct jp_jobconf *conf)
{
    const struct plan_input in = {.env = row_env};
    const struct launch_facts facts = {.env = &in};
    const struct side_step step = {&facts, plan, "/step"};
    struct jp_error err = {""};

    *conf = (struct jp_jobconf){.schema = 1, .nnodes = nodes};
    conf->policy = plan->policy;
    if (clock_side.fill(&step, conf, note, &err) < 0)
        fail_msg("%s", err.text);
}

static int teardown(void **state)
{
    free(json_path);
    json_path = NULL;
    return tempdir_drop(state);
}

#define SITE(n) "clock = { probe_cadence_us = " #n "; };"
#define ON "clock = { default = \"auto\"; };"
#define OFF "clock = { default = \"off\"; };"
#define LIGHT "clock = { default = \"light\"; };"
#define JSON(n) "{\"probe_cadence_us\": " #n "}"
#define YES "{\"enabled\": true}"
#define NO "{\"enabled\": false}"

static const struct row rows[] = {
    /* no request */
    {.nodes = 2},
    {.option = "off", .nodes = 2},
    {.site = SITE(3000), .nodes = 2},
    /* the option alone, also on one node and on an unknown number of nodes */
    {.option = "auto", .nodes = 2, .cadence_us = 20000, .word = "auto"},
    {.option = "auto", .nodes = 4, .cadence_us = 33000, .word = "auto"},
    {.option = "auto", .nodes = 1000, .cadence_us = 66000, .word = "auto"},
    {.option = "auto", .nodes = 0, .cadence_us = 66000, .word = "auto"},
    {.option = "auto", .nodes = 1, .cadence_us = 20000, .word = "auto"},
    {.option = "auto,enabled=0", .nodes = 2},
    {.option = "auto,enabled=1",
     .nodes = 2,
     .cadence_us = 20000,
     .word = "auto"},
    {.option = "accurate",
     .nodes = 9,
     .cadence_us = 400,
     .source = PLAN_OPTION,
     .word = "accurate"},
    {.option = "accurate,probe_cadence_us=700",
     .nodes = 2,
     .cadence_us = 700,
     .source = PLAN_OPTION,
     .word = "accurate"},
    /* with an NCCL profile that the user requests, on several nodes */
    {.nccl = "recorder", .nodes = 2, .cadence_us = 20000, .word = "auto"},
    {.nccl = "recorder", .nodes = 1},
    {.nccl = "plan", .nodes = 2, .cadence_us = 20000, .word = "auto"},
    {.nccl = "recorder", .nodes = 2, .option = "off"},
    {.nccl = "recorder", .nodes = 2, .env = "off"},
    {.nccl = "recorder", .nodes = 2, .site = OFF},
    {.nccl = "recorder", .nodes = 2, .user = OFF},
    {.nccl = "recorder",
     .nodes = 2,
     .site = OFF,
     .user = ON,
     .cadence_us = 20000,
     .word = "auto"},
    {.nccl = "recorder", .nodes = 2, .enable = "0"},
    {.nccl = "recorder", .nodes = 2, .json = NO},
    {.nccl = "recorder",
     .nodes = 2,
     .xla = "2000",
     .cadence_us = 2000,
     .source = PLAN_ENV,
     .word = "auto"},
    {.site = "nccl = { default = \"auto\"; };", .nodes = 2},
    {.site = "nccl = { default = \"auto\"; };" ON,
     .nodes = 2,
     .cadence_us = 20000,
     .word = "auto"},
    {.site = ON, .nodes = 1},
    {.site = LIGHT,
     .nodes = 2,
     .cadence_us = 2000,
     .source = PLAN_SITE,
     .word = "light"},
    /* XLA's switch: its own numbers are the defaults then */
    {.enable = "1", .nodes = 2, .cadence_us = 800, .word = "default"},
    {.json = YES, .nodes = 2, .cadence_us = 800, .word = "default"},
    {.json = YES, .enable = "0", .nodes = 2},
    {.json = NO,
     .enable = "1",
     .nodes = 2,
     .cadence_us = 800,
     .word = "default"},
    {.json = YES, .env = "off", .nodes = 2},
    {.enable = "1", .env = "off", .nodes = 2},
    {.enable = "0",
     .env = "auto",
     .nodes = 2,
     .cadence_us = 20000,
     .word = "auto"},
    {.enable = "0",
     .option = "auto",
     .nodes = 2,
     .cadence_us = 20000,
     .word = "auto"},
    {.json = NO,
     .option = "auto",
     .nodes = 2,
     .cadence_us = 20000,
     .word = "auto"},
    {.json = NO, .site = ON, .nodes = 2},
    {.json = YES,
     .site = OFF,
     .nodes = 2,
     .cadence_us = 800,
     .word = "default"},
    {.enable = "1",
     .user = SITE(5000),
     .nodes = 2,
     .cadence_us = 5000,
     .source = PLAN_USER,
     .word = "default"},
    {.site = "clock = { enabled = true; };",
     .nodes = 2,
     .cadence_us = 800,
     .word = "default"},
    {.site = "clock = { enabled = false; };", .nodes = 2, .nccl = "auto"},
    {.user = "clock = { enabled = false; };", .nodes = 2, .site = ON},
    /* the numbers of a word have the source of the word */
    {.site = LIGHT,
     .user = SITE(5000),
     .nodes = 2,
     .cadence_us = 5000,
     .source = PLAN_USER,
     .word = "light"},
    {.site = SITE(5000),
     .user = LIGHT,
     .nodes = 2,
     .cadence_us = 2000,
     .source = PLAN_USER,
     .word = "light"},
    {.xla = "2000",
     .option = "sync",
     .nodes = 2,
     .cadence_us = 200,
     .source = PLAN_OPTION,
     .word = "sync"},
    {.xla = "2000",
     .env = "debug",
     .nodes = 2,
     .cadence_us = 1000,
     .source = PLAN_ENV,
     .word = "debug"},
    {.env = "debug",
     .option = "auto",
     .nodes = 2,
     .cadence_us = 1000,
     .source = PLAN_ENV,
     .word = "auto"},
};

static void test_sources(void **state)
{
    for (size_t i = 0; i < N(rows); i++) {
        struct jp_plan plan;
        struct jp_jobconf conf;
        char *note = NULL, text[128];
        const char *word;

        make(&rows[i], *state, &plan);
        fill(&plan, rows[i].nodes, &note, &conf);
        word = jobconf_side_find(&conf, OPTION_CLOCK, "mode");
        if (conf.sides[OPTION_CLOCK].numbers[CLOCK_CADENCE_US] !=
                rows[i].cadence_us ||
            (rows[i].cadence_us &&
             plan_find(&plan.sides[OPTION_CLOCK], "probe_cadence_us")->source !=
                 rows[i].source) ||
            strcmp(word ? word : "", rows[i].word ? rows[i].word : "") != 0 ||
            (note && !strstr(note, "XLA's guide recommends")) ||
            strlen(conf.sides[OPTION_CLOCK].texts[CLOCK_SECRET]) !=
                (rows[i].cadence_us ? 64 : 0))
            fail_msg("row %zu: every %u us, mode %s, %s", i,
                     conf.sides[OPTION_CLOCK].numbers[CLOCK_CADENCE_US], word,
                     note ? note : "");
        clock_side.describe(&conf, text, sizeof(text));
        assert_true((strstr(text, "no probes") == NULL) ==
                    (rows[i].cadence_us > 0));
        free(note);
        jobconf_fini(&conf);
        plan_fini(&plan);
    }
}

/* Beyond the ranges of XLA's guide a value of the user is obeyed, and a line
 * says so; within them, and for a preset's own value, there is none. */
static void test_ranges(void **state)
{
    static const struct {
        const char *key;
        unsigned least, most; /* recommended */
    } keys[] = {
        {"probe_cadence_us", 400, 2000},
        {"probe_window_s", 2, 10},
        {"packet_spacing_us", 50, 200},
        {"snapshot_period_ms", 50, 200},
    };

    for (size_t i = 0; i < 4 * N(keys); i++) {
        unsigned least = keys[i / 4].least, most = keys[i / 4].most;
        unsigned values[] = {least - 1, least, most, most + 1};
        bool beyond = i % 4 == 0 || i % 4 == 3;
        char option[64], wanted[160];
        struct row row = {.option = option, .nodes = 2};
        struct jp_plan plan;
        struct jp_jobconf conf;
        char *note = NULL;

        snprintf(option, sizeof(option), "auto,%s=%u", keys[i / 4].key,
                 values[i % 4]);
        snprintf(wanted, sizeof(wanted),
                 "%s=%u is outside of the range of %u to %u that XLA's guide "
                 "recommends",
                 keys[i / 4].key, values[i % 4], least, most);
        make(&row, *state, &plan);
        fill(&plan, 2, &note, &conf);
        if ((note && strstr(note, wanted)) != beyond)
            fail_msg("%s: %s", option, note ? note : "no line");
        free(note);
        jobconf_fini(&conf);
        plan_fini(&plan);
    }
}

/* Each source against each other: the value of the higher one is in effect. */
static void test_precedence(void **state)
{
    static const enum plan_source sources[] = {
        PLAN_DEFAULT, PLAN_SITE, PLAN_USER,  PLAN_JSON,
        PLAN_ENV,     PLAN_ENV,  PLAN_OPTION};

    for (unsigned set = 0; set < 64; set++) {
        struct row row = {.option = "auto"};
        unsigned top = 0;
        struct jp_plan plan;
        const struct plan_value *value;
        char want[16];

        row.site = set & 1 ? SITE(1001) : NULL;
        row.user = set & 2 ? SITE(1002) : NULL;
        row.json = set & 4 ? JSON(1003) : NULL;
        row.xla = set & 8 ? "1004" : NULL;
        row.env = set & 16 ? "auto,probe_cadence_us=1005" : NULL;
        if (set & 32)
            row.option = "auto,probe_cadence_us=1006";
        for (unsigned i = 0; i < 6; i++)
            if (set >> i & 1)
                top = i + 1;
        make(&row, *state, &plan);
        value = plan_find(&plan.sides[OPTION_CLOCK], "probe_cadence_us");
        snprintf(want, sizeof(want), "%u", top ? 1000 + top : 20000);
        if (strcmp(value->value, want) != 0 || value->source != sources[top])
            fail_msg("%x: %s (%s)", set, value->value,
                     plan_source_words[value->source]);
        assert_int_equal(plan_side_is_asked(&plan.sides[OPTION_CLOCK]), true);
        plan_fini(&plan);
    }
}

/* Without a request to jobprof, there is no directory. */
static void test_asked(void **state)
{
    static const struct {
        struct row row;
        bool asked;
    } cases[] = {
        {{.option = "auto"}, true},
        {{.env = "light"}, true},
        {{.option = "off"}, false},
        {{.enable = "1"}, false},
        {{.json = YES}, false},
        {{.site = ON}, false},
        {{.user = ON}, false},
        {{.nccl = "auto"}, false},
        {{.env = "auto", .option = "off"}, false},
        {{.option = "auto", .xla = "x"}, false},
    };

    for (size_t i = 0; i < N(cases); i++) {
        struct jp_plan plan;

        make(&cases[i].row, *state, &plan);
        if (plan_side_is_asked(&plan.sides[OPTION_CLOCK]) != cases[i].asked)
            fail_msg("case %zu", i);
        plan_fini(&plan);
    }
}

/* The numbers of XLA's guide, copied from its JSON blocks. */
static void test_presets(void **state)
{
    static const struct {
        const char *word;
        uint32_t cadence_us, window_s, spacing_us, snapshot_ms;
    } presets[] = {
        {"default", 800, 4, 100, 100},     {"accurate", 400, 2, 50, 50},
        {"light", 2000, 10, 200, 200},     {"debug", 1000, 2, 100, 100},
        {"training", 1000, 5, 100, 100},   {"inference", 500, 3, 75, 75},
        {"benchmark", 5000, 20, 200, 500}, {"sync", 200, 1, 50, 25},
    };

    assert_int_equal(grammar_of(OPTION_CLOCK)->n_modes, N(presets) + 2);
    for (size_t i = 0; i < N(presets); i++) {
        struct row row = {.option = presets[i].word};
        struct jp_plan plan;
        struct jp_jobconf conf;
        char *note = NULL;

        make(&row, *state, &plan);
        fill(&plan, 2, &note, &conf);
        assert_int_equal(conf.sides[OPTION_CLOCK].numbers[CLOCK_CADENCE_US],
                         presets[i].cadence_us);
        assert_int_equal(conf.sides[OPTION_CLOCK].numbers[CLOCK_WINDOW_MS],
                         presets[i].window_s * 1000);
        assert_int_equal(conf.sides[OPTION_CLOCK].numbers[CLOCK_SPACING_US],
                         presets[i].spacing_us);
        assert_int_equal(conf.sides[OPTION_CLOCK].numbers[CLOCK_SNAPSHOT_MS],
                         presets[i].snapshot_ms);
        assert_string_equal(conf.sides[OPTION_CLOCK].request, presets[i].word);
        jobconf_fini(&conf);
        plan_fini(&plan);
    }
}

/* A mistake in XLA's settings prevents only the probes, and is reported only if
 * there would have been probes. */
static void test_trouble(void **state)
{
    static const struct {
        struct row row;
        const char *note; /* NULL: none */
    } cases[] = {
        {{.nccl = "auto", .nodes = 2, .xla = "12"}, "XLA_PROBE_CADENCE_US: 12"},
        {{.nccl = "auto", .nodes = 2, .enable = "flase"},
         "XLA_ENABLE_DISTRIBUTED_PROFILING: "},
        {{.nccl = "auto", .nodes = 2, .json = "{"}, "dist.json:1:1: "},
        {{.nccl = "auto", .nodes = 1, .json = "{"}, NULL},
        {{.option = "auto", .nodes = 1, .json = "{"}, "dist.json:1:1: "},
        {{.nodes = 2, .json = "{"}, NULL},
        {{.nccl = "auto", .option = "off", .nodes = 2, .json = "{"}, NULL},
        {{.nccl = "auto",
          .nodes = 2,
          .xla = "900",
          .site = ON SITE(5000) "lock = [ \"clock.probe_cadence_us\" ];"},
         NULL},
    };

    for (size_t i = 0; i < N(cases) - 1; i++) {
        struct jp_plan plan;
        struct jp_jobconf conf;
        char *note = NULL;

        make(&cases[i].row, *state, &plan);
        assert_non_null(plan.sides[OPTION_CLOCK].trouble);
        fill(&plan, cases[i].row.nodes, &note, &conf);
        assert_int_equal(conf.sides[OPTION_CLOCK].numbers[CLOCK_CADENCE_US], 0);
        if ((note != NULL) != (cases[i].note != NULL) ||
            (note && (!strstr(note, cases[i].note) ||
                      !strstr(note, "(the clocks are not probed)"))))
            fail_msg("case %zu: %s", i, note);
        free(note);
        jobconf_fini(&conf);
        plan_fini(&plan);
    }
}

static void test_locks(void **state)
{
    static const char text[] =
        "clock = { default = \"light\"; probe_cadence_us = 5000; };"
        "lock = [ \"clock.probe_cadence_us\", \"clock.default\" ];";
    struct row row = {.site = text, .nccl = "auto", .xla = "900", .nodes = 2};
    char *site = tempdir_file(*state, "lock.conf", 0600, text);
    struct jp_sitefile file = {0};
    struct jp_error err = {""};
    struct jp_plan plan;

    assert_int_equal(plan_load_site(site, &file, &err), 0);
    assert_int_equal(plan_check(grammar_of(OPTION_CLOCK),
                                "light,probe_cadence_us=900", &file, &err),
                     -1);
    assert_non_null(strstr(err.text, "is locked to 5000 by "));
    assert_int_equal(
        plan_check(grammar_of(OPTION_CLOCK), "accurate", &file, &err), -1);
    assert_non_null(strstr(err.text, "is locked to \"light\" by "));
    assert_int_equal(plan_check(grammar_of(OPTION_CLOCK), "off", &file, &err),
                     -1);
    assert_int_equal(plan_check(grammar_of(OPTION_CLOCK), "light", &file, &err),
                     0);
    sitefile_fini(&file);
    /* a variable that another program reads as well is no reason to refuse */
    make(&row, *state, &plan);
    assert_non_null(
        strstr(plan.sides[OPTION_CLOCK].trouble, "is locked to 5000 by "));
    assert_int_not_equal(plan.sides[OPTION_NCCL].mode, 0);
    plan_fini(&plan);
    /* the option's file is read before anything is allocated */
    row.json = "{\"probe_cadance_us\": 1}";
    make(&row, *state, &plan);
    plan_fini(&plan);
    {
        char *named = text_format("light,config=%s", json_path);

        assert_int_equal(
            plan_check(grammar_of(OPTION_CLOCK), named, &file, &err), -1);
        assert_non_null(strstr(err.text, "did you mean"));
        free(named);
    }
    free(site);
}

/* --- the block, the agent, xla=1 ------------------------------------------ */

static void test_block(void **state)
{
    static const char want[] =
        "=== Distributed Profiling Configuration ===\n"
        "  enabled: YES (option; mode debug)\n"
        "  probe_cadence_us: 1000 (option; at best: a node begins at 50000 and "
        "gets as near as probe_cpu_permille allows)\n"
        "  probe_window_s: 9 (option)\n"
        "  packet_spacing_us: 100 (option)\n"
        "  snapshot_period_ms: 100 (option)\n"
        "  probe_cpu_permille: 5 (option)\n"
        "  output_dir: /step/nodes/%N (default)\n"
        "  if: eth0,ib (environment NCCL_SOCKET_IFNAME)\n"
        "===========================================";
    const struct row row = {.option = "debug,probe_window_s=9"},
                     off = {.option = "off"};
    struct jp_plan plan;
    struct jp_jobconf conf;
    char *note = NULL, *block = NULL;

    ifname = "eth0,ib";
    make(&row, *state, &plan);
    fill(&plan, 2, &note, &conf);
    assert_int_equal(clock_side.block(&conf, &block, NULL), 0);
    assert_string_equal(block, want);
    assert_null(strstr(block, conf.sides[OPTION_CLOCK].texts[CLOCK_SECRET]));
    assert_string_equal(conf.sides[OPTION_CLOCK].texts[CLOCK_INTERFACES],
                        "eth0,ib");
    free(block);
    jobconf_fini(&conf);
    plan_fini(&plan);
    make(&off, *state, &plan);
    fill(&plan, 2, &note, &conf);
    assert_int_equal(clock_side.block(&conf, &block, NULL), 0);
    assert_null(block);
    jobconf_fini(&conf);
    plan_fini(&plan);
    ifname = NULL;
}

/* The settings reach job.conf and the agent. Each step has its own key, which
 * no setting shows. */
static void test_conf(void **state)
{
    const struct row row = {.option = "inference,if=^lo;=eth1:0"};
    char *path = tempdir_path(*state, "job.conf"), first[65] = "", *note = NULL;
    struct jp_jobconf conf, back;
    struct clock_conf clock;
    struct jp_plan plan;
    struct stat st;

    make(&row, *state, &plan);
    for (int i = 0; i < 2; i++) {
        fill(&plan, 2, &note, &conf);
        assert_string_not_equal(conf.sides[OPTION_CLOCK].texts[CLOCK_SECRET],
                                first);
        snprintf(first, sizeof(first), "%s",
                 conf.sides[OPTION_CLOCK].texts[CLOCK_SECRET]);
        for (size_t k = 0; k < conf.sides[OPTION_CLOCK].n_settings; k++)
            assert_null(strstr(conf.sides[OPTION_CLOCK].settings[k].value,
                               conf.sides[OPTION_CLOCK].texts[CLOCK_SECRET]));
        if (i == 0)
            jobconf_fini(&conf);
    }
    assert_int_equal(jobconf_write(path, &conf, NULL), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(jobconf_read(path, &back, NULL), 0);
    assert_string_equal(back.sides[OPTION_CLOCK].request, "inference");
    assert_string_equal(
        jobconf_side_find(&back, OPTION_CLOCK, "probe_window_s"), "3");
    assert_true(clock_launch_read(&back, &clock));
    assert_int_equal(clock.cadence_us, 500);
    assert_int_equal(clock.window_ms, 3000);
    assert_int_equal(clock.spacing_us, 75);
    assert_int_equal(clock.snapshot_ms, 75);
    assert_string_equal(clock.net.interfaces, "^lo,=eth1:0");
    for (size_t i = 0; i < MODULE_KEY_BYTES; i++) {
        char two[3];

        snprintf(two, sizeof(two), "%02x", clock.net.key[i]);
        assert_memory_equal(two, first + 2 * i, 2);
    }
    /* changes by the user: no key means no probes, and values stay in range */
    back.sides[OPTION_CLOCK].texts[CLOCK_SECRET][3] = 'G';
    assert_false(clock_launch_read(&back, &clock));
    back.sides[OPTION_CLOCK].texts[CLOCK_SECRET][3] = '0';
    back.sides[OPTION_CLOCK].numbers[CLOCK_CADENCE_US] = 1;
    back.sides[OPTION_CLOCK].numbers[CLOCK_WINDOW_MS] = UINT32_MAX;
    back.sides[OPTION_CLOCK].numbers[CLOCK_SNAPSHOT_MS] = 0;
    assert_true(clock_launch_read(&back, &clock));
    assert_int_equal(clock.cadence_us, 100);
    assert_int_equal(clock.window_ms, 60000);
    assert_int_equal(clock.snapshot_ms, 10);
    back.sides[OPTION_CLOCK].texts[CLOCK_SECRET][63] = '\0';
    assert_false(clock_launch_read(&back, &clock));
    jobconf_fini(&back);
    jobconf_fini(&conf);
    plan_fini(&plan);
    free(path);
}

static const char *env_value(const struct jp_jobconf *conf, const char *name,
                             bool *soft)
{
    for (size_t i = 0; i < conf->n_env; i++)
        if (!strcmp(conf->env[i].name, name)) {
            *soft = conf->env[i].soft;
            return conf->env[i].value;
        }
    return "";
}

static void test_xla(void **state)
{
    const struct row row = {.option = "auto,xla=1,probe_cadence_us=5000",
                            .xla = "900",
                            .enable = "1"};
    char *path = tempdir_path(*state, CLOCK_XLA_FILE), *note = NULL;
    struct jp_jobconf conf;
    struct jp_request read;
    struct jp_plan plan;
    bool soft;

    make(&row, *state, &plan);
    fill(&plan, 2, &note, &conf);
    assert_string_equal(env_value(&conf, "XLA_PROBE_CADENCE_US", &soft),
                        "5000");
    assert_false(soft);
    assert_string_equal(
        env_value(&conf, "XLA_ENABLE_DISTRIBUTED_PROFILING", &soft), "1");
    assert_true(soft);
    assert_string_equal(env_value(&conf, "XLA_DIST_PROF_OUTPUT_DIR", &soft),
                        "/step/raw/%N");
    assert_string_equal(env_value(&conf, "XLA_DIST_PROF_CONFIG", &soft),
                        "/step/" CLOCK_XLA_FILE);
    assert_int_equal(clock_side.write(&conf, *state, NULL), 0);
    assert_int_equal(
        request_read(grammar_of(OPTION_CLOCK), path, NULL, &read, NULL), 0);
    assert_string_equal(read.values[1], "5000");
    request_fini(&read);
    free(note);
    jobconf_fini(&conf);
    plan_fini(&plan);
    free(path);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, tempdir_make_home, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        TEST(test_sources), TEST(test_ranges),
        TEST(test_precedence),
        TEST(test_asked),
        TEST(test_presets),
        TEST(test_trouble),
        TEST(test_locks),
        TEST(test_block),
        TEST(test_conf),
        TEST(test_xla),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
