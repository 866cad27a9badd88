/* test_plans.c - each planner against the table of plan_rows.c. */
#include "plugins/backend.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/common/tempdir.h"
#include "tests/plugins/plan_rows.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

static const char *no_env(void *arg, const char *name)
{
    (void) arg;
    (void) name;
    return NULL;
}

static uint64_t env_number(const struct backend_env *env, const char *name)
{
    for (size_t i = 0; i < env->n; i++)
        if (!strcmp(env->vars[i].name, name))
            return strtoull(env->vars[i].value, NULL, 10);
    return UINT64_MAX;
}

static unsigned differs(const char *row, const char *what, uint64_t is,
                        uint64_t wanted)
{
    if (is == wanted)
        return 0;
    print_error("%s: %s is %" PRIu64 ", not %" PRIu64 "\n", row, what, is,
                wanted);
    return 1;
}

static unsigned check_forecast(const struct plan_row *row,
                               const struct backend_forecast *f)
{
    unsigned bad = 0;

    bad += differs(row->name, "memory", f->memory_bytes, row->forecast.memory);
    if (row->forecast.reserved)
        bad += differs(row->name, "reserved", f->reserved_bytes,
                       row->forecast.reserved);
    if (row->forecast.disk)
        bad += differs(row->name, "disk", f->disk_bytes, row->forecast.disk);
    bad += differs(row->name, "planned", f->planned_ops, row->forecast.planned);
    bad += differs(row->name, "kept", f->kept_ops, row->forecast.kept);
    if (row->forecast.lost ? !strstr(f->lost, row->forecast.lost)
                           : *f->lost != '\0') {
        print_error("%s: lost: %s\n", row->name, f->lost);
        bad++;
    }
    return bad;
}

static unsigned check_row(const struct plan_row *row, const char *dir)
{
    const struct backend_planner *planner = backend_find(row->backend)->planner;
    char *site = tempdir_file(dir, "site.conf", 0600, "");
    struct plan_input from = {
        .config = site, .given[OPTION_NCCL] = row->option, .env = no_env};
    struct backend_input in = {.step_dir = "/s",
                               .library = "/x.so",
                               .library_exists = true,
                               .release = row->release,
                               .shape = row->shape};
    struct backend_forecast f = {0};
    struct backend_env env = {0};
    struct jp_error err = {""};
    struct jp_plan plan;
    unsigned bad = 0;

    assert_int_equal(plan_make(&from, &plan, &err), 0);
    in.side = &plan.sides[OPTION_NCCL];
    if (planner->size(&in, &f, &err) < 0) {
        if (!row->refused || !strstr(err.text, row->refused)) {
            print_error("%s: refused: %s\n", row->name, err.text);
            bad++;
        }
        assert_int_equal(planner->env(&in, &env, NULL), -1);
    } else if (row->refused) {
        bad += differs(row->name, "refusal", 0, 1);
    } else {
        bad += check_forecast(row, &f);
        assert_int_equal(planner->env(&in, &env, &err), 0);
        for (size_t i = 0; i < N(row->env) && row->env[i].name; i++)
            bad += differs(row->name, row->env[i].name,
                           env_number(&env, row->env[i].name),
                           row->env[i].value);
    }
    backend_env_fini(&env);
    plan_fini(&plan);
    free(site);
    return bad;
}

static void test_plans(void **state)
{
    unsigned bad = 0;

    for (size_t i = 0; i < plan_n_rows; i++)
        bad += check_row(&plan_rows[i], *state);
    assert_int_equal(bad, 0);
}

/* Prints one row for genuine.sh: what to run, what the plan promises, the
 * variables. */
static void print_row(const struct plan_row *row, const char *dir)
{
    const struct backend_planner *planner = backend_find(row->backend)->planner;
    char *site = tempdir_file(dir, "site.conf", 0600, "");
    struct plan_input from = {
        .config = site, .given[OPTION_NCCL] = row->option, .env = no_env};
    struct backend_input in = {.step_dir = "/s",
                               .library = "/x.so",
                               .library_exists = true,
                               .release = row->release,
                               .shape = row->shape};
    struct backend_forecast f = {0};
    struct backend_env env = {0};
    struct jp_plan plan;
    char release[40];

    assert_int_equal(plan_make(&from, &plan, NULL), 0);
    in.side = &plan.sides[OPTION_NCCL];
    if (planner->size(&in, &f, NULL) == 0 &&
        planner->env(&in, &env, NULL) == 0) {
        snprintf(release, sizeof(release), "%u.%u.%u", row->release / 1000000,
                 row->release / 1000 % 1000, row->release % 1000);
        printf("%s\t%s\t%s\t%u %u", row->name, row->backend,
               row->release ? release
                            : plan_get(&plan.sides[OPTION_NCCL], "nccl"),
               row->shape.ntasks, row->shape.ranks_per_node);
        for (const char *const *knob =
                 (const char *const[]){"iterations", "colls", "p2p", "comms",
                                       "channels", "rate", NULL};
             *knob; knob++)
            printf(" %" PRIu64, plan_number(&plan.sides[OPTION_NCCL], *knob));
        printf("\t%" PRIu64 " %" PRIu64 "\t", f.kept_ops, f.memory_bytes);
        for (size_t i = 0; i < env.n; i++)
            printf("%s=%s ", env.vars[i].name, env.vars[i].value);
        putchar('\n');
    }
    backend_env_fini(&env);
    plan_fini(&plan);
    free(site);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plans)};
    void *dir = NULL;

    if (argc == 2 && !strcmp(argv[1], "--print")) {
        if (tempdir_make(&dir) < 0)
            return 1;
        for (size_t i = 0; i < plan_n_rows; i++)
            print_row(&plan_rows[i], dir);
        return tempdir_drop(&dir) < 0;
    }
    return cmocka_run_group_tests_name("plans", tests, tempdir_make,
                                       tempdir_drop);
}
