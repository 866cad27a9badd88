/* test_shipped.c - the shipped site file and its man page are complete. */
#include "common/sitefile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "tests/common/tempdir.h"

static char *read_source(const char *name)
{
    const char *top = getenv("top_srcdir");
    char *path = tempdir_path(top ? top : JP_SRCDIR, name), *text = NULL;
    struct jp_error err = {""};

    if (fileio_read(path, true, 1 << 20, &text, NULL, &err) < 0)
        fail_msg("%s", err.text);
    free(path);
    return text;
}

/* Takes "#" or "##" from lines like "#mem = 1;" but not from "# prose". */
static void uncomment(char *text)
{
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        line += strspn(line, " ");
        if (*line != '#' || line[1] == ' ' || line[1] == '\n')
            continue;
        *line++ = ' ';
        if (*line == '#')
            *line = ' ';
    }
}

/* The shipped file sets nothing, has every key as a comment, and shows the
 * defaults. */
static void test_shipped(void **state)
{
    char *text = read_source("etc/jobprof.conf"), *path;
    struct sitekey keys[SITEKEYS_MAX];
    size_t n = sitekeys_all(keys);
    struct jp_sitefile file;
    struct jp_error err = {""};
    char name[128];

    path = tempdir_file(*state, "shipped.conf", 0644, text);
    if (sitefile_load(path, SITEFILE_SITE, true, NULL, NULL, &file, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(file.n_values, 0);
    sitefile_fini(&file);
    free(path);
    uncomment(text);
    path = tempdir_file(*state, "shipped.conf", 0644, text);
    if (sitefile_load(path, SITEFILE_SITE, true, NULL, NULL, &file, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < n; i++) {
        const struct sitefile_value *v;

        snprintf(name, sizeof(name), "%s%s%s", keys[i].group,
                 *keys[i].group ? "." : "", keys[i].key);
        v = sitefile_find(&file, name);
        if (!v)
            fail_msg("%s is not in etc/jobprof.conf", name);
        if (keys[i].knob->def &&
            !knob_equal(keys[i].knob, v->value, keys[i].knob->def))
            fail_msg("%s = %s, not the default", name, v->value);
    }
    sitefile_fini(&file);
    free(path);
    free(text);
}

static void test_shipped_policy(void **state)
{
    static const struct jp_sitefile nothing;
    char *text = read_source("etc/jobprof.conf"), *path;
    struct jp_policy policy, wanted;
    struct jp_sitefile file;

    uncomment(text);
    path = tempdir_file(*state, "shipped.conf", 0644, text);
    assert_int_equal(
        sitefile_load(path, SITEFILE_SITE, true, NULL, NULL, &file, NULL), 0);
    sitefile_policy(&file, &policy);
    sitefile_policy(&nothing, &wanted);
    assert_memory_equal(&policy, &wanted, sizeof(policy));
    sitefile_fini(&file);
    free(path);
    free(text);
}

/* Every key has a paragraph in the man page. */
static void test_man_page(void **state)
{
    char *text = read_source("docs/man/jobprof.conf.5");
    struct sitekey keys[SITEKEYS_MAX];
    size_t n = sitekeys_all(keys);
    char item[128];

    (void) state;
    for (size_t i = 0; i < n; i++) {
        snprintf(item, sizeof(item), ".It Cm %s\n", keys[i].key);
        if (!strstr(text, item))
            fail_msg("%s is not in jobprof.conf(5)", keys[i].key);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shipped),
        cmocka_unit_test(test_shipped_policy),
        cmocka_unit_test(test_man_page),
    };

    return cmocka_run_group_tests_name("shipped", tests, tempdir_make,
                                       tempdir_drop);
}
