/* test_trial.c - tests of orchestrator/trial: options into configurations, the
 * srun and sbatch lines, the order and judgement of runs, and trial.json. The
 * statistics have their own test, test_trial_stats.c. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/grammar.h"
#include "orchestrator/trial/trial.h"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* An empty trial. */
static struct trial *new_trial(void)
{
    struct trial *t = trial_new();

    assert_non_null(t);
    return t;
}

/* --- axes ------------------------------------------------------------------
 */

static const struct {
    enum trial_kind kind;
    const char *text;
    const char *values; /* separated by blanks; NULL: refused */
} axes[] = {
    /* what is refused comes first */
    {TRIAL_DISTRIBUTION, "", NULL},
    {TRIAL_DISTRIBUTION, "block,", NULL},
    {TRIAL_DISTRIBUTION, ",block", NULL},
    {TRIAL_DISTRIBUTION, "block,block", NULL},
    {TRIAL_DISTRIBUTION, "bl\nock", NULL},
    {TRIAL_ENV, "A", NULL},
    {TRIAL_ENV, "=1", NULL},
    {TRIAL_ENV, "1A=1", NULL},
    {TRIAL_ENV, "A-B=1", NULL},
    {TRIAL_ENV, "A=", NULL},
    {TRIAL_SRUN, "--mem=1,2", NULL},
    {TRIAL_SRUN, "Mem=1", NULL},
    {TRIAL_DISTRIBUTION, "block,cyclic,plane=4", "block cyclic plane=4"},
    {TRIAL_DISTRIBUTION, "block:cyclic,NoPack,block,Pack",
     "block:cyclic,NoPack block,Pack"},
    {TRIAL_NODELIST, "n[1-2,5]:n3,n4:-", "n[1-2,5] n3,n4 -"},
    {TRIAL_GPU_BIND, "none,map_gpu:0,1,2,closest",
     "none map_gpu:0,1,2 closest"},
    {TRIAL_CPU_BIND, "mask_cpu:0x3,0xc,cores", "mask_cpu:0x3,0xc cores"},
    {TRIAL_ENV, "NCCL_ALGO=Ring,Tree,-", "Ring Tree -"},
    {TRIAL_ENV, "N=1,2,3", "1 2 3"},
    {TRIAL_ENV, "NCCL_IB_HCA=mlx5_0\\,mlx5_1,mlx5_0", "mlx5_0,mlx5_1 mlx5_0"},
    {TRIAL_SRUN, "cpus-per-task=4,8", "4 8"},
    {TRIAL_SRUN, "hint=nomultithread,-", "nomultithread -"},
};

/* Each kind has its own rule for commas within a value: "block,NoPack" is one
 * distribution, "map_gpu:0,1,2" one binding, and a backslash keeps a comma in a
 * variable's value. */
static void test_axes(void **state)
{
    (void) state;
    for (size_t i = 0; i < COUNT(axes); i++) {
        struct trial *t = new_trial();
        struct jp_error err = {""};
        char values[200] = "";
        int rc = trial_add_axis(t, axes[i].kind, axes[i].text, &err);

        if (!axes[i].values) {
            if (rc == 0)
                fail_msg("\"%s\" is taken", axes[i].text);
            assert_true(*err.text);
        } else {
            if (rc < 0)
                fail_msg("\"%s\": %s", axes[i].text, err.text);
            for (size_t k = 0; k < t->axes[0].n; k++)
                snprintf(values + strlen(values),
                         sizeof(values) - strlen(values), "%s%s", k ? " " : "",
                         t->axes[0].values[k]);
            assert_string_equal(values, axes[i].values);
        }
        trial_free(t);
    }
}

/* The same variable in a second --env adds values to its axis; a value given
 * twice is an error. */
static void test_axis_again(void **state)
{
    struct trial *t = new_trial();

    (void) state;
    assert_int_equal(trial_add_axis(t, TRIAL_ENV, "A=1", NULL), 0);
    assert_int_equal(trial_add_axis(t, TRIAL_ENV, "B=1", NULL), 0);
    assert_int_equal(trial_add_axis(t, TRIAL_ENV, "A=2,3", NULL), 0);
    assert_int_equal(trial_add_axis(t, TRIAL_ENV, "A=2", NULL), -1);
    assert_int_equal(t->n_axes, 2);
    assert_int_equal(t->axes[0].n, 3);
    trial_free(t);
}

/* The configurations are all combinations, at most 64; the last axis changes
 * fastest. */
static void test_count(void **state)
{
    struct trial *t = new_trial();
    struct jp_error err = {""};
    char label[200];

    (void) state;
    assert_int_equal(trial_count(t, &err), -1);
    trial_add_axis(t, TRIAL_DISTRIBUTION, "block,cyclic", NULL);
    trial_add_axis(t, TRIAL_ENV, "A=1,2,-", NULL);
    assert_int_equal(trial_count(t, &err), 0);
    assert_int_equal(t->n_configs, 6);
    assert_string_equal(trial_label(t, 4, label, sizeof(label)),
                        "--distribution=cyclic A=2");
    assert_string_equal(trial_label(t, 5, label, sizeof(label)),
                        "--distribution=cyclic (A as is)");
    assert_string_equal(trial_label(t, 4, label, 8), "--distr");
    trial_add_axis(t, TRIAL_ENV, "B=1,2,3,4,5,6,7,8,9,10,11", NULL);
    assert_int_equal(trial_count(t, &err), -1); /* 66 */
    trial_free(t);
}

/* Each round has each configuration once, in random order, so that a cluster
 * that gets slower during the trial does not favour the first. The order
 * depends only on seed and round: --continue must find the same one. */
static void test_order(void **state)
{
    struct trial *t = new_trial();
    size_t order[TRIAL_ARMS_MAX], again[TRIAL_ARMS_MAX];
    size_t first[TRIAL_ARMS_MAX] = {0};

    (void) state;
    trial_add_axis(t, TRIAL_ENV, "A=1,2,3,4,5,6", NULL);
    assert_int_equal(trial_count(t, NULL), 0);
    for (size_t round = 0; round < 600; round++) {
        unsigned seen = 0;

        trial_order(t, round, order);
        trial_order(t, round, again);
        for (size_t i = 0; i < 6; i++) {
            seen |= 1U << order[i];
            assert_int_equal(order[i], again[i]);
        }
        assert_int_equal(seen, 63);
        first[order[0]]++;
    }
    /* 100 expected; 40 are over four standard deviations (9) */
    for (size_t i = 0; i < 6; i++)
        assert_true(first[i] > 60 && first[i] < 140);
    trial_free(t);
}

/* --- srun's line -----------------------------------------------------------
 */

static const struct {
    const char *line;
    /* of the first configuration, with -m=x for --distribution=x; NULL:
     * refused */
    const char *words;
} lines[] = {
    {"", NULL},
    {"mpirun ./a", NULL},
    {"srun", NULL},
    {"srun -n 4", NULL},
    {"srun -n 4 --", NULL},
    {"srun --nccl-profile=off ./a", NULL},
    {"srun --nccl-profile=plan,mode=inspector ./a", NULL},
    {"srun ./a",
     "env A=1 srun -m=x --nccl-profile=recorder,dir=D,summary=off ./a"},
    {"srun -n 4 ./a -n 3",
     "env A=1 srun -n 4 -m=x --nccl-profile=recorder,dir=D,summary=off ./a -n "
     "3"},
    {"srun -n4 -ul --exclusive --mem 4G --gres=gpu:4 python -m torch",
     "env A=1 srun -n4 -ul --exclusive --mem 4G --gres=gpu:4 -m=x "
     "--nccl-profile=recorder,dir=D,summary=off python -m torch"},
    {"srun -lN 2 --label ./a", "env A=1 srun -lN 2 --label -m=x "
                               "--nccl-profile=recorder,dir=D,summary=off ./a"},
    /* an option of jobprof's has its value after a "=": ./a is the program */
    {"srun --nsys-profile ./a 3",
     "env A=1 srun --nsys-profile -m=x "
     "--nccl-profile=recorder,dir=D,summary=off ./a 3"},
    {"/usr/bin/srun --nccl-profile=inspector,dir=x,interval=1s -- ./a",
     "env A=1 /usr/bin/srun -m=x "
     "--nccl-profile=inspector,interval=1s,dir=D,summary=off -- ./a"},
    {"srun ./a --nccl-profile=off",
     "env A=1 srun -m=x --nccl-profile=recorder,dir=D,summary=off ./a "
     "--nccl-profile=off"},
};

/* Splits LINE in place at blanks; returns the number of words. */
static size_t split(char *line, char **words)
{
    size_t n = 0;

    for (char *p = line, *end; *p; p = end) {
        end = p + strcspn(p, " ");
        words[n++] = p;
        if (*end)
            *end++ = '\0';
    }
    return n;
}

/* The words with blanks between; none: "". */
static char *join(char **words, char *buf, size_t size)
{
    buf[0] = '\0';
    for (size_t i = 0; words && words[i]; i++)
        snprintf(buf + strlen(buf), size - strlen(buf), "%s%s", i ? " " : "",
                 words[i]);
    return buf;
}

/* Whether the build has each option --NAME-profile of the line: features can be
 * taken out (contrib/checks/removed.sh). */
static bool has_options(const char *line)
{
    for (const char *at = line; (at = strstr(at, "--")); at += 2) {
        size_t n = strcspn(at, " =");
        bool found = n < 8 || strncmp(at + n - 8, "-profile", 8) != 0;

        for (enum jp_option i = 0; i < OPTIONS && !found; i++)
            found = strlen(grammar_of(i)->option) == n &&
                    strncmp(grammar_of(i)->option, at, n) == 0;
        if (!found)
            return false;
    }
    return true;
}

/* The options of a trial go in front of the program, and its own options, even
 * if they look like srun's, stay untouched. The profile of the line is kept
 * except for its folder and summary. */
static void test_lines(void **state)
{
    (void) state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct trial *t;
        struct jp_error err = {""};
        char line[300], *words[64], all[600], *at, **list;
        int rc;

        if (!has_options(lines[i].line))
            continue;
        t = new_trial();
        snprintf(line, sizeof(line), "%s", lines[i].line);
        rc = trial_set_command(t, words, split(line, words), &err);
        if (!lines[i].words) {
            if (rc == 0)
                fail_msg("\"%s\" is taken", lines[i].line);
            assert_true(*err.text);
            trial_free(t);
            continue;
        }
        if (rc < 0)
            fail_msg("\"%s\": %s", lines[i].line, err.text);
        trial_add_axis(t, TRIAL_DISTRIBUTION, "x,-", NULL);
        trial_add_axis(t, TRIAL_ENV, "A=1,-", NULL);
        assert_int_equal(trial_count(t, NULL), 0);
        list = trial_words(t, 0, "D");
        join(list, all, sizeof(all));
        at = strstr(all, "--distribution=x"); /* the table has the short -m=x */
        assert_non_null(at);
        memmove(at + 4, at + 16, strlen(at + 16) + 1);
        memcpy(at, "-m=x", 4);
        assert_string_equal(all, lines[i].words);
        trial_free_words(list);
        list = trial_words(t, 3, NULL); /* the last: both as they are */
        assert_null(strstr(join(list, all, sizeof(all)), "distribution"));
        assert_null(strstr(all, "A="));
        trial_free_words(list);
        trial_free(t);
    }
}

/* The job of a trial gets those options of the line that sbatch knows, before
 * the program; srun's own (--mpi, -l) are left out. */
static void test_sbatch(void **state)
{
    struct trial *t = new_trial();
    char line[] = "srun -N2 -n 8 --mpi=pmix -l --partition gpu -t 30 ./a -N9";
    char *words[32], all[400], **list;

    (void) state;
    assert_int_equal(trial_set_command(t, words, split(line, words), NULL), 0);
    trial_add_axis(t, TRIAL_DISTRIBUTION, "x,y", NULL);
    trial_count(t, NULL);
    list = trial_sbatch_words(t, 12, "o");
    assert_string_equal(join(list, all, sizeof(all)),
                        "sbatch --parsable --output=o -N2 -n 8 "
                        "--partition gpu -t 30 --job-name=jobprof-trial");
    trial_free_words(list);
    /* with node lists, the job needs all nodes of all lists, and numbers of
     * nodes and tasks in the line are left out */
    trial_add_axis(t, TRIAL_NODELIST, "n1,n2:n2,n3", NULL);
    trial_count(t, NULL);
    list = trial_sbatch_words(t, 12, "o");
    assert_string_equal(join(list, all, sizeof(all)),
                        "sbatch --parsable --output=o --partition gpu -t 30 "
                        "--job-name=jobprof-trial --nodelist=n1,n2,n2,n3 "
                        "--nodes=3 --exclusive");
    trial_free_words(list);
    trial_free(t);
}

/* Only words that a shell would change are quoted. */
static void test_quote(void **state)
{
    static const char *const rows[][2] = {
        {"", "''"},       {"a-b=1,2", "a-b=1,2"},
        {"a b", "'a b'"}, {"it's", "'it'\\''s'"},
        {"$x", "'$x'"},
    };

    (void) state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *quoted = trial_quote(rows[i][0]);

        assert_string_equal(quoted, rows[i][1]);
        free(quoted);
    }
}

/* --- runs ------------------------------------------------------------------
 */

/* A trial of four configurations: block or cyclic, Ring or Tree. */
static struct trial *example(uint64_t rounds)
{
    char line[] = "srun -n8 ./a --steps 50";
    struct trial *t = new_trial();
    char *words[16];

    assert_int_equal(trial_set_command(t, words, split(line, words), NULL), 0);
    trial_add_axis(t, TRIAL_DISTRIBUTION, "block,cyclic", NULL);
    trial_add_axis(t, TRIAL_ENV, "NCCL_ALGO=Ring,Tree", NULL);
    assert_int_equal(trial_count(t, NULL), 0);
    t->rounds = rounds;
    t->seed = 7;
    t->limit_us = 60000000;
    return t;
}

/* Adds a run of US per iteration that went well. */
static struct trial_run *add(struct trial *t, size_t config, size_t round,
                             double us)
{
    struct trial_run *run = &t->runs[t->n_runs++];

    *run = (struct trial_run){.config = config,
                              .round = round,
                              .wall_s = 2,
                              .iteration_us = us,
                              .iteration_ops = 12,
                              .operation_us = us / 12,
                              .dir = strdup("steps/x/step-0"),
                              .verdict = strdup("OK"),
                              .over = strdup("n[1-2]; world 8 ranks"),
                              .why = strdup("")};
    return run;
}

/* Adds rounds FROM to TO - 1, in which configuration 2 takes 10 ms and all
 * others 11, each with up to 0.4 % of noise. */
static void add_rounds(struct trial *t, size_t from, size_t to)
{
    for (size_t round = from; round < to; round++)
        for (size_t i = 0; i < t->n_configs; i++)
            if (trial_goes_on(t, i))
                add(t, i, round,
                    (i == 2 ? 10000 : 11000) *
                        (1 + 0.002 * (double) ((i + round) % 3)));
}

/* Appends a line to the text ARG. */
static void collect(void *arg, const char *line)
{
    char *all = arg;

    snprintf(all + strlen(all), 300 - strlen(all), "%s|", line);
}

/* A clear winner is named after the second round, the others get no more runs,
 * and its lines for the script are printed. */
static void test_winner(void **state)
{
    struct trial *t = example(3);
    char all[300] = "";

    (void) state;
    trial_judge(t);
    assert_int_equal(t->look.finding, TRIAL_TOO_LITTLE);
    add_rounds(t, 0, 1);
    trial_judge(t);
    assert_int_equal(t->look.finding, TRIAL_TOO_LITTLE);
    add_rounds(t, 1, 2);
    trial_judge(t); /* 10 % are clear after two rounds */
    assert_int_equal(t->look.finding, TRIAL_WINNER);
    assert_true(trial_goes_on(t, 2));
    assert_false(trial_goes_on(t, 0));
    assert_int_equal(trial_choice(t), 2);
    assert_string_equal(trial_standing(t, 2), "fastest");
    assert_string_equal(trial_standing(t, 3), "slower");
    trial_lines(t, collect, all);
    assert_string_equal(all,
                        "#SBATCH --distribution=cyclic|export NCCL_ALGO=Ring|");
    assert_non_null(
        strstr(t->text, "--distribution=cyclic NCCL_ALGO=Ring is the fastest"));
    trial_free(t);
}

/* A round that is not complete is not compared, since the order alone decides
 * who has already run. Only the end of the trial makes it count. */
static void test_half_round(void **state)
{
    struct trial *t = example(3);

    (void) state;
    add_rounds(t, 0, 1);
    add(t, 2, 1, 5000);
    add(t, 1, 1, 11000);
    trial_judge(t);
    assert_int_equal(t->look.finding, TRIAL_TOO_LITTLE);
    t->end = TRIAL_INTERRUPTED; /* now it counts */
    trial_judge(t);
    assert_int_equal(t->arms[2].n, 2);
    assert_int_equal(t->arms[0].n, 1);
    assert_true(t->look.level > 0);
    trial_free(t);
}

/* A run that failed makes its configuration fail, even the fastest, and it gets
 * no more runs. Its missing time does not change the measure of the others. */
static void test_failure(void **state)
{
    struct trial *t = example(2);
    char verdicts[100];

    (void) state;
    add_rounds(t, 0, 2);
    for (size_t i = 0; i < t->n_runs; i++) {
        if (t->runs[i].config == 2 && t->runs[i].round == 1) {
            t->runs[i].status = TRIAL_LATE;
            t->runs[i].iteration_us = NAN; /* decides nothing: it failed */
        }
    }
    t->end = TRIAL_DONE;
    trial_judge(t);
    assert_int_equal(t->measure, TRIAL_BY_ITERATION);
    assert_int_equal(t->look.finding, TRIAL_NO_DIFFERENCE);
    assert_string_equal(trial_standing(t, 2), "failed");
    assert_string_equal(trial_standing(t, 0), "as good");
    assert_false(trial_goes_on(t, 2));
    assert_int_equal(trial_choice(t), t->n_configs);
    assert_string_equal(trial_verdicts(t, 2, verdicts, sizeof(verdicts)),
                        "OK late");
    trial_free(t);
}

/* Times of iterations can be compared only if all have the same number of
 * operations, else jobprof found different loops. Then all are compared by the
 * time of an operation, also if one run has no iteration. */
static void test_measure(void **state)
{
    struct trial *t = example(2);

    (void) state;
    add_rounds(t, 0, 2);
    t->end = TRIAL_DONE;
    t->runs[3].iteration_us *= 2;
    t->runs[3].iteration_ops = 24;
    trial_judge(t);
    assert_int_equal(t->measure, TRIAL_BY_OPERATION);
    assert_int_equal(t->look.finding, TRIAL_WINNER);
    assert_int_equal(trial_choice(t), 2);
    assert_non_null(strstr(trial_measure_text(t), "divided by the number"));
    t->runs[3].iteration_ops = 12;
    t->runs[3].iteration_us = NAN;
    trial_judge(t);
    assert_int_equal(t->measure, TRIAL_BY_OPERATION);
    trial_free(t);
}

/* --- trial.json ------------------------------------------------------------
 */

/* trial.json of T; the caller frees it. */
static char *text_of(const struct trial *t, size_t *len)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, len);

    assert_int_equal(trial_write(t, out, NULL), 0);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* What is read from trial.json and written again is the same text. Control
 * characters are escaped. */
static void test_read_back(void **state)
{
    struct trial *t = example(3), *u;
    struct jp_error err = {""};
    char *text, *again;
    size_t len, n;

    (void) state;
    add_rounds(t, 0, 2);
    free(t->runs[1].why);
    t->runs[1].why = strdup("a\nb \"c\" \x1b[2J");
    t->runs[1].status = TRIAL_FAILED;
    t->runs[1].exit_status = 137;
    t->end = TRIAL_TIME_UP;
    trial_judge(t);
    text = text_of(t, &len);
    assert_null(strchr(text, '\x1b'));
    u = trial_parse(text, len, "x", &err);
    if (!u)
        fail_msg("%s", err.text);
    again = text_of(u, &n);
    assert_string_equal(text, again);
    free(text);
    free(again);
    trial_free(t);
    trial_free(u);
}

/* A trial.json that someone edited is refused with a message, not run:
 * --continue takes its commands from there. */
static void test_bad_json(void **state)
{
    static const char *const rows[][2] = {
        /* what is replaced, by what */
        {"\"schema_version\":1", "\"schema_version\":2"},
        {"\"rounds\":3", "\"rounds\":0"},
        {"\"rounds\":3", "\"rounds\":21"},
        {"\"seed\":7", "\"seed\":-7"},
        {"\"kind\":\"env\"", "\"kind\":\"xyz\""},
        {"\"name\":\"NCCL_ALGO\"", "\"name\":\"A=B\""},
        {"\"name\":\"distribution\"", "\"name\":\"mem\""},
        {"[\"Ring\",\"Tree\"]", "[\"Ring\",\"Ring\"]"},
        {"[\"Ring\",\"Tree\"]", "[]"},
        {"[\"Ring\",\"Tree\"]", "[\"Ring\",7]"},
        {"\"srun\",", "\"sh\","},
        {"\"./a\",\"--steps\",\"50\"", "7"},
        {"\"configuration\":1,", "\"configuration\":4,"},
        {"\"configuration\":1,", "\"configuration\":0,"},
        {"\"round\":1,", "\"round\":3,"},
        {"\"status\":\"ok\"", "\"status\":\"good\""},
        {"\"end\":\"open\"", "\"end\":\"\""},
    };
    struct trial *t = example(3);
    size_t len;
    char *text;

    (void) state;
    add_rounds(t, 0, 2);
    trial_judge(t);
    text = text_of(t, &len);
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *at = strstr(text, rows[i][0]), *bad = malloc(len + 100);
        struct jp_error err = {""};

        if (!at)
            fail_msg("no %s in %s", rows[i][0], text);
        snprintf(bad, len + 100, "%.*s%s%s", (int) (at - text), text,
                 rows[i][1], at + strlen(rows[i][0]));
        if (trial_parse(bad, strlen(bad), "x", &err))
            fail_msg("%s is taken", rows[i][1]);
        assert_true(!strncmp(err.text, "x:", 2));
        free(bad);
    }
    free(text);
    trial_free(t);
}

/* Table and page can be printed in every state (no run, one round, two rounds,
 * a failed run), and unknown figures never appear as "nan". */
static void test_show(void **state)
{
    (void) state;
    for (int kind = 0; kind < 4; kind++) {
        struct trial *t = example(3);
        char *text = NULL;
        size_t len;
        FILE *out = open_memstream(&text, &len);

        if (kind)
            add_rounds(t, 0, (size_t) kind);
        if (kind == 3)
            t->runs[0].status = TRIAL_FAILED;
        trial_judge(t);
        trial_print(t, out);
        trial_page(t, out);
        assert_int_equal(fclose(out), 0);
        assert_non_null(strstr(text, "Configuration"));
        assert_non_null(strstr(text, "</html>"));
        assert_null(strstr(text, "nan"));
        free(text);
        trial_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_axes),       cmocka_unit_test(test_axis_again),
        cmocka_unit_test(test_count),      cmocka_unit_test(test_order),
        cmocka_unit_test(test_lines),      cmocka_unit_test(test_sbatch),
        cmocka_unit_test(test_quote),      cmocka_unit_test(test_winner),
        cmocka_unit_test(test_half_round), cmocka_unit_test(test_failure),
        cmocka_unit_test(test_measure),    cmocka_unit_test(test_read_back),
        cmocka_unit_test(test_bad_json),   cmocka_unit_test(test_show),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
