/* test_nodes.c - node records that are foreign input, and node lists. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/fileio.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/noderec.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/collect/stepdir.h"
#include "tests/common/tempdir.h"

static void put(const char *dir, const char *node, const char *name,
                const char *text)
{
    char *path = text_format("%s/nodes/%s/%s", dir, node, name);

    assert_int_equal(stepdir_prepare(dir, node, NULL), 0);
    assert_int_equal(fileio_write(path, text, strlen(text), NULL), 0);
    free(path);
}

static void test_names(void **state)
{
    static const struct {
        const char *name;
        bool ok;
    } table[] = {
        {NULL, false},       {"", false},          {".", false},
        {"..", false},       {".n1", false},       {"a/b", false},
        {"a b", false},      {"n\n1", false},      {"n1", true},
        {"Gpu_7.x-1", true}, {"n\xc3\xa4", false}, {"%N", false},
        {"-rf", true},
    };
    char longest[JP_STEPDIR_NAME_MAX + 2];

    (void) state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        assert_int_equal(stepdir_name_ok(table[i].name), table[i].ok);
    memset(longest, 'n', sizeof(longest));
    longest[JP_STEPDIR_NAME_MAX + 1] = '\0';
    assert_false(stepdir_name_ok(longest));
    longest[JP_STEPDIR_NAME_MAX] = '\0';
    assert_true(stepdir_name_ok(longest));
}

static void test_job_dir(void **state)
{
    static const char *const table[][2] = {
        {"/a/job/step-0", "/a/job"},
        {"/a/job/step-0/", "/a/job"},
        {"/step-0", "/"},
        {"job/step-0", "job"},
        {"step-0", "."},
        {"/a//step-0", "/a"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char *dir = stepdir_job_dir(table[i][0]);

        assert_string_equal(dir, table[i][1]);
        free(dir);
    }
}

static void test_node_lists(void **state)
{
    static const struct {
        const char *text;
        int n; /* -1: refused */
    } table[] = {
        {NULL, -1},
        {"n1", 1},
        {"n1,n2", 2},
        {"n 1", -1},
        {"n[1-99999999999999999999]", -1},
#ifdef HAVE_SLURM
        {"n[1-3],gpu7", 4},
        {"n[01-03,07]", 4},
        {"n[1-4000000000]", -1},
#else
        {"n[1-3]", -1},
#endif
    };

    (void) state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char **names = NULL;
        size_t n = 0;
        int rc = nodelist_expand(table[i].text, &names, &n, NULL);

        assert_int_equal(rc, table[i].n < 0 ? -1 : 0);
        if (rc == 0)
            assert_int_equal(n, table[i].n);
        nodelist_free(names, n);
    }
}

static void test_empty(void **state)
{
    struct jp_nodes *nodes = nodes_read(*state, NULL);

    assert_non_null(nodes);
    assert_int_equal(nodes->n_nodes, 0);
    assert_int_equal(nodes->n_missing, 0);
    assert_string_equal(nodes->step_nodelist, "");
    nodes_destroy(nodes);
    nodes_destroy(NULL);
}

static void test_round_trip(void **state)
{
    struct jp_seat seat = {.dir = *state, .component = 12, .nodes = 3};
    char *tasks = text_format("%s/nodes/n2/tasks.jsonl", (char *) *state);
    char lines[] = "1 1 78 9 25417103293 1795382101367878\n0 0 77 0\n"
                   "4294967296 0 1 0\nx\n2 2 79 -1\n0 0 1 0 -5 6\n"
                   "0 0 1 0 5 6 7\n";
    struct jp_lines *in = lines_open_memory(lines, sizeof(lines) - 1, "in",
                                            &lines_limits[LINES_ENDS], NULL);
    struct jp_nodes *nodes;
    uint32_t bad = 0;

    setenv("SLURM_STEP_NODELIST", "n1,n2,n3", 1);
    setenv("SLURM_STEP_NUM_NODES", "3", 1);
    setenv("SLURM_STEP_NUM_TASKS", "6", 1);
    assert_int_equal(stepdir_prepare(*state, "n2", NULL), 0);
    assert_int_equal(noderec_write(&seat, "n2", NULL), 0);
    assert_int_equal(tasklines_convert(in, tasks, &bad, NULL), 0);
    assert_int_equal(bad, 4);
    assert_int_equal(manifest_write(&seat, "n2", UINT64_MAX, NULL), 0);
    nodes = nodes_read(*state, NULL);
    assert_int_equal(nodes->n_nodes, 1);
    assert_int_equal(nodes->step_nodes, 3);
    assert_int_equal(nodes->step_tasks, 6);
    assert_string_equal(nodes->nodes[0].name, "n2");
    assert_int_equal(nodes->nodes[0].n_tasks, 3);
    assert_int_equal(nodes->nodes[0].tasks[0].pid, 77);
    assert_int_equal(nodes->nodes[0].tasks[1].status, 9);
    assert_true(nodes->nodes[0].tasks[1].mono_us == 25417103293);
    assert_true(nodes->nodes[0].tasks[1].end_us == 1795382101367878);
    assert_true(nodes->nodes[0].tasks[0].end_us == 0);
    assert_int_equal(nodes->tasks_failed, 1);
    assert_true(nodes->nodes[0].finished && nodes->nodes[0].complete);
    assert_int_equal(nodes->n_missing, 2);
    assert_string_equal(nodes->missing[0], "n1");
    assert_string_equal(nodes->missing[1], "n3");
    assert_int_equal(nodes->n_notes, 0);
    nodes_destroy(nodes);
    lines_close(in);
    free(tasks);
}

/* The node's kernel has killed processes between begin and finish. */
/* The nodes of several steps: each has its record, and tasks are numbered
 * through. */
static void test_steps(void **state)
{
    char *dirs[2] = {text_format("%s/step-0", (char *) *state),
                     text_format("%s/step-1", (char *) *state)};
    struct jp_nodes *nodes;

    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            char name[8], text[400];

            assert_int_equal(fileio_mkdirs(dirs[i], NULL), 0);
            snprintf(name, sizeof(name), "n%d", i + k);
            snprintf(text, sizeof(text),
                     "{\"schema\":1,\"node\":\"%s\",\"hostname\":\"%s\","
                     "\"nodeid\":%d,\"component\":7,\"step_nodes\":2,"
                     "\"step_tasks\":2,\"step_nodelist\":\"n[%d-%d]\"}",
                     name, name, k, i, i + 1);
            put(dirs[i], name, "node.json", text);
            snprintf(text, sizeof(text),
                     "{\"gtid\":%d,\"ltid\":0,\"pid\":%d,\"status\":%d}\n", k,
                     100 * i + k, i && k ? 256 : 0);
            put(dirs[i], name, "tasks.jsonl", text);
        }
    nodes = nodes_read_steps(dirs, 2, NULL);
    assert_non_null(nodes);
    assert_int_equal(nodes->n_steps, 2);
    assert_int_equal(nodes->n_nodes, 4);
    assert_int_equal(nodes->step_tasks, 4);
    assert_int_equal(nodes->tasks_failed, 1);
    assert_string_equal(nodes->step_nodelist, "n[0-1],n[1-2]");
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(nodes->nodes[i].n_tasks, 1);
        assert_int_equal(nodes->nodes[i].tasks->gtid, i);
        assert_string_equal(nodes_step_dir(&nodes->nodes[i], "x"), dirs[i / 2]);
    }
    assert_false(nodes_are_distinct(nodes)); /* n1 is in both */
    nodes_destroy(nodes);
    nodes = nodes_read_steps(dirs, 1, NULL);
    assert_true(nodes_are_distinct(nodes));
    nodes_destroy(nodes);
    nodes = nodes_read(dirs[0], NULL);
    assert_string_equal(nodes_step_dir(&nodes->nodes[0], "x"), "x");
    nodes_destroy(nodes);
    free(dirs[0]);
    free(dirs[1]);
}

static void test_out_of_memory(void **state)
{
    static const struct {
        const char *begin, *finish;
        uint64_t kills;
    } table[] = {
        {",\"oom_kills\":4", ",\"oom_kills\":6", 2},
        {",\"oom_kills\":4", ",\"oom_kills\":4", 0},
        {",\"oom_kills\":4", ",\"oom_kills\":1", 0}, /* rebooted in between */
        {",\"oom_kills\":-1", ",\"oom_kills\":6", 0},
        {",\"oom_kills\":4", ",\"oom_kills\":-1", 0},
        {"", ",\"oom_kills\":6", 0},
        {",\"oom_kills\":4", "", 0},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char *begin = text_format("{\"schema\":1%s}", table[i].begin);
        char *finish = text_format("{\"schema\":1%s}", table[i].finish);
        char *folder = text_format("%s/nodes", (char *) *state);
        struct jp_nodes *nodes;

        fileio_remove_tree(folder, NULL);
        free(folder);
        put(*state, "n1", "node.json", begin);
        nodes = nodes_read(*state, NULL);
        assert_int_equal(nodes->nodes[0].oom_kills, 0);
        nodes_destroy(nodes);
        put(*state, "n1", "manifest", finish);
        nodes = nodes_read(*state, NULL);
        assert_int_equal(nodes->nodes[0].oom_kills, table[i].kills);
        nodes_destroy(nodes);
        free(begin);
        free(finish);
    }
}

/* Each record is bad in one way: a note or a gap, never a crash. */
static void test_bad_records(void **state)
{
    static const struct {
        const char *name, *text;
        size_t nodes, notes;
    } table[] = {
        {"node.json", "", 0, 1},
        {"node.json", "[1]", 0, 1},
        {"node.json", "{\"schema\":2}", 0, 1},
        {"node.json", "{\"schema\":1", 0, 1},
        {"node.json", "{\"schema\":1}", 1, 0},
        {"node.json", "{\"schema\":1,\"nodeid\":-5,\"hostname\":7}", 1, 0},
        {"node.json", "{\"schema\":1,\"step_nodelist\":\"n[1-\"}", 1, 0},
        {"tasks.jsonl", "{\"gtid\":0}\nnot json\n[]\n", 1, 1},
        {"tasks.jsonl", "\n\n", 1, 0},
        {"manifest", "{", 1, 1},
        {"manifest", "{\"files\":7}", 1, 0},
        {"manifest", "{\"files\":[1,{\"bytes\":-3},{\"bytes\":5}]}", 1, 0},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char *node = text_format("%s/nodes", (char *) *state);
        struct jp_nodes *nodes;

        fileio_remove_tree(node, NULL);
        free(node);
        put(*state, "n1", "node.json", "{\"schema\":1}");
        put(*state, "n1", table[i].name, table[i].text);
        nodes = nodes_read(*state, NULL);
        assert_int_equal(nodes->n_nodes, table[i].nodes);
        assert_int_equal(nodes->n_notes, table[i].notes);
        nodes_destroy(nodes);
    }
}

/* Nodes without a profiler have a note instead of a record. */
static void test_unprofiled(void **state)
{
    char huge[2048];
    struct jp_nodes *nodes;

    memset(huge, 'x', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    put(*state, "n3", JP_NODES_UNPROFILED, "no library\nno second line");
    put(*state, "n1", JP_NODES_UNPROFILED, "gone");
    put(*state, "n2", JP_NODES_UNPROFILED, huge);
    put(*state, "n0", "manifest", "{}");
    nodes = nodes_read(*state, NULL);
    assert_non_null(nodes);
    assert_int_equal(nodes->n_nodes, 0);
    assert_int_equal(nodes->n_unprofiled, 2);
    assert_string_equal(nodes->why_unprofiled, "n1: gone");
    assert_int_equal(nodes->n_notes, 2); /* of n0 and n2 */
    nodes_destroy(nodes);
}

static void test_foreign_entries(void **state)
{
    char *folder = text_format("%s/nodes", (char *) *state);
    char *link = text_format("%s/nodes/n9", (char *) *state);
    char *odd = text_format("%s/nodes/a b", (char *) *state);
    struct jp_nodes *nodes;

    put(*state, "n1", "node.json", "{\"schema\":1,\"step_nodes\":3}");
    assert_int_equal(symlink("n1", link), 0);
    assert_int_equal(mkdir(odd, 0700), 0);
    nodes = nodes_read(*state, NULL);
    assert_int_equal(nodes->n_nodes, 1);
    /* by number, because there is no list */
    assert_int_equal(nodes->n_missing, 2);
    nodes_destroy(nodes);
    assert_int_equal(fileio_remove_tree(folder, NULL), 0);
    assert_int_equal(symlink("/etc", folder), 0);
    nodes = nodes_read(*state, NULL);
    assert_int_equal(nodes->n_nodes, 0);
    nodes_destroy(nodes);
    free(folder);
    free(link);
    free(odd);
}

static void test_manifest_deadline(void **state)
{
    struct jp_seat seat = {.dir = *state, .component = 12, .nodes = 1};
    char *file = text_format("%s/raw/n1/a.log", (char *) *state);
    struct jp_nodes *nodes;

    put(*state, "n1", "node.json", "{\"schema\":1}");
    assert_int_equal(fileio_write(file, "x", 1, NULL), 0);
    assert_int_equal(manifest_write(&seat, "n1", 0, NULL), 0);
    nodes = nodes_read(*state, NULL);
    assert_true(nodes->nodes[0].finished);
    assert_false(nodes->nodes[0].complete);
    assert_int_equal(nodes->nodes[0].files, 0);
    nodes_destroy(nodes);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_job_dir),
        cmocka_unit_test(test_node_lists),
        cmocka_unit_test_setup_teardown(test_empty, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(test_round_trip, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_steps, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(test_bad_records, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_out_of_memory, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_unprofiled, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_foreign_entries, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_manifest_deadline, tempdir_make,
                                        tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
