/* fuzz_step.c - any bytes as a file that a node or a report left in a step.
 *
 * The first byte chooses: n node.json, t tasks.jsonl, e ends.jsonl, p
 * plugin.json, m manifest, s summary.json, l task lines; the rest is the
 * file. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/collect/noderec.h"
#include "orchestrator/report/compare.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/summary_file.h"
#include "tests/common/foreign_leaks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/dev/shm/jobprof-fuzz-XXXXXX";

static void remove_folder(void)
{
    fileio_remove_tree(folder, NULL);
}

static void prepare(void)
{
    static int done;
    char *nodes = NULL;

    if (done)
        return;
    done = 1;
    if (!mkdtemp(folder) || !(nodes = text_format("%s/nodes/n1", folder)) ||
        fileio_mkdirs(nodes, NULL) < 0)
        abort();
    free(nodes);
    atexit(remove_folder);
}

static void read_nodes(void)
{
    struct jp_nodes *nodes = nodes_read(folder, NULL);

    assert(nodes && nodes->n_nodes <= 1);
    for (size_t i = 0; i < nodes->n_nodes; i++) {
        for (size_t k = 1; k < nodes->nodes[i].n_tasks; k++)
            assert(nodes->nodes[i].tasks[k - 1].gtid <=
                   nodes->nodes[i].tasks[k].gtid);
        for (size_t k = 1; k < nodes->nodes[i].n_workers; k++)
            assert(nodes->nodes[i].workers[k - 1].pid <=
                   nodes->nodes[i].workers[k].pid);
    }
    nodes_destroy(nodes);
}

/* With itself nothing is new. */
static void compare_summary(FILE *null)
{
    struct summary_file s, whole;
    struct jp_comparison what = {
        .a = &s, .b = &s, .threshold = 0.1, .names = {"a", "b"}};
    struct jp_error err = {""};
    struct jp_compared done;

    /* all is unknown, or there is a verdict; an error says why */
    if (summary_file_read(folder, SUMMARY_WHOLE, &whole, &err) < 0)
        assert(*err.text && !whole.root && !*whole.verdict.word &&
               !whole.n_findings && !whole.samples.n_series);
    else
        assert(*whole.verdict.word && whole.n_ranks <= JSON_ROWS_MAX);
    summary_file_fini(&whole);
    if (summary_file_read(folder, SUMMARY_WITHOUT_TABLES, &s, NULL) < 0)
        return;
    assert(compare_print(&what, null, &done, NULL) == 0);
    assert(!done.n_fresh && !done.n_gone);
    what.json = true;
    assert(compare_print(&what, null, &done, NULL) == 0);
    summary_file_fini(&s);
}

static void read_summary(void)
{
    FILE *null = fopen("/dev/null", "w");

    assert(null);
    compare_summary(null);
    report_print_line(folder, JP_SUMMARY_CARD, false, null, NULL);
    report_print_line(folder, JP_SUMMARY_LINE, true, null, NULL);
    fclose(null);
}

static void read_task_lines(const uint8_t *data, size_t size, const char *path)
{
    struct jp_lines *in =
        lines_open_memory(data, size, "in", &lines_limits[LINES_ENDS], NULL);
    uint32_t bad = 0;

    assert(in);
    tasklines_convert(in, path, &bad, NULL);
    lines_close(in);
    read_nodes(); /* what we write, we can read */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        char letter;
        const char *name;
    } kinds[] = {{'n', "nodes/n1/node.json"},   {'t', "nodes/n1/tasks.jsonl"},
                 {'m', "nodes/n1/manifest"},    {'s', "summary.json"},
                 {'l', "nodes/n1/tasks.jsonl"}, {'e', "nodes/n1/ends.jsonl"},
                 {'p', "nodes/n1/plugin.json"}};
    enum { KINDS = sizeof(kinds) / sizeof(*kinds) };
    size_t kind = 0;
    char *path;

    prepare();
    while (size > 0 && kind < KINDS && kinds[kind].letter != (char) data[0])
        kind++;
    if (size == 0 || kind == KINDS)
        return 0;
    path = text_format("%s/%s", folder, kinds[kind].name);
    if (!path)
        abort();
    if (kind == 4) {
        read_task_lines(data + 1, size - 1, path);
    } else if (fileio_write(path, (const char *) data + 1, size - 1, NULL) ==
               0) {
        if (kind == 3)
            read_summary();
        else
            read_nodes();
    }
    unlink(path);
    free(path);
    return 0;
}
