/* test_hangstacks.c - combine the evidence of several nodes; merged stacks;
 * files that are truncated, empty, foreign or too large. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "orchestrator/evidence/hangstacks.h"
#include "tests/common/tempdir.h"

/* Writes a node's folder with two processes, of tasks first and first + 1. */
static void put_node(const char *dir, const char *node, int first,
                     const char *waits)
{
    char *below = NULL, *folder, *text = NULL;

    assert_true(asprintf(&below, "hang/%s", node) > 0);
    folder = tempdir_path(dir, "hang");
    mkdir(folder, 0700);
    free(folder);
    folder = tempdir_path(dir, below);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_true(
        asprintf(
            &text,
            "{\"version\": 1, \"node\": \"%s\", \"hang\": \"it hangs\","
            "\"taken_us\": %d, \"parts\": ["
            "{\"part\": \"RAS\", \"pid\": 0, \"file\": \"\", \"why\": \"off\","
            "\"ms\": 1}], \"processes\": ["
            "{\"pid\": 10, \"task\": %d, \"role\": \"missing\", \"there\": "
            "true,\"read_bytes\": 5, \"written_bytes\": 6, \"threads\": ["
            "{\"tid\": 10, \"name\": \"python\", \"state\": \"S\", \"wchan\": "
            "\"%s\", \"cpu_ms\": 7, \"cpu_ms_after\": 20},"
            "{\"tid\": 12, \"name\": \"NCCL RAS\", \"state\": \"D\","
            "\"cpu_ms_after\": null}]},"
            "{\"pid\": 20, \"task\": %d, \"role\": \"waiting\", \"there\": "
            "true, \"threads\": [{\"tid\": 20, \"state\": \"R\"}]}],"
            "\"ras\": [{\"kind\": \"behind\", \"comm\": \"0xab\", \"rank\": 3,"
            "\"pid\": 10, \"func\": \"AllReduce\", \"launched\": 8,"
            "\"most\": 9}]}",
            node, 1000 + first, first, waits, first + 1) > 0);
    free(tempdir_file(folder, "evidence.json", 0600, text));
    free(tempdir_file(
        folder, "stack-10.txt", 0600,
        "PID 10 - process\nTID 10:\n"
        "#0  0x00007f0000000001 epoll_wait@@GLIBC_2.3.2 - /lib/libc.so.6\n"
        "#1  0x00007f0000000002 - /usr/lib/libtorch - cuda.so\n"
        "#2  0x00007f0000000003 - /usr/lib/libtorch - cuda.so\n"
        "#3  0x00007f0000000004 load_batch - /usr/bin/train\n"
        "#4  0x00007f0000000005 main - /usr/bin/train\n"
        "TID 12:\n#0  0x00007f0000000006 poll\n#1  0x00007f0000000007\n"));
    free(tempdir_file(
        folder, "stack-20.txt", 0600,
        "PID 20 - process\nTID 20:\n"
        "#0  0x00007f0000000001 ioctl - /lib/libc.so.6\n"
        "#1  0x00007f0000000004 ncclAllReduce(void*, int) - /lib/nccl.so\n"
        "#2  0x00007f0000000005 main - /usr/bin/train\n"));
    free(tempdir_file(folder, "python-20.txt", 0600,
                      "Process 20: python train.py\nPython v3.11\n\n"
                      "Thread 20 (idle): \"MainThread\"\n"
                      "    all_reduce (torch/distributed.py:7)\n"
                      "    main (train.py:30)\n"));
    free(folder);
    free(below);
    free(text);
}

static const struct hangstacks_branch *
find(const struct hangstacks *view, const char *thread, const char *frame)
{
    for (size_t i = 0; i < view->n_branches; i++) {
        const struct hangstacks_branch *b = &view->branches[i];

        for (size_t k = 0; k < b->n_frames; k++)
            if (!strcmp(b->thread, thread) && !strcmp(b->frames[k], frame))
                return b;
    }
    fail_msg("%s: no %s", thread, frame);
    return NULL;
}

static void nodes_are_merged(void **state)
{
    const struct hangstacks_branch *b;
    const struct hangstacks_process *p;
    struct hangstacks *view = NULL;
    char text[HANGSTACKS_TEXT];

    put_node(*state, "n2", 4, "futex_wait");
    put_node(*state, "n1", 2, "pipe_read");
    assert_int_equal(hangstacks_load(*state, &view, NULL), 0);
    assert_int_equal(view->n_nodes, 2);
    assert_int_equal(view->taken_us, 1002);
    assert_string_equal(view->hang, "it hangs");
    assert_int_equal(view->n_processes, 4);
    p = &view->processes[0];
    assert_string_equal(p->node, "n1");
    assert_int_equal(p->task, 2);
    assert_string_equal(p->role, "missing");
    assert_string_equal(p->waits, "pipe_read");
    assert_string_equal(p->where, "epoll_wait");
    assert_int_equal(p->threads, 2);
    assert_int_equal(p->blocked, 1);
    assert_true(p->cpu_known);
    assert_int_equal(p->cpu_ms, 20);
    assert_true(p->has_stack && !p->has_python);
    assert_string_equal(view->processes[1].where,
                        "all_reduce (torch/distributed.py:7)");
    /* all are in main, and diverge there */
    b = find(view, "main thread", "main");
    assert_string_equal(b->in, "2-5");
    assert_string_equal(b->out, "");
    assert_int_equal(b->depth, 0);
    assert_false(b->leaf);
    b = find(view, "main thread", "load_batch");
    assert_string_equal(b->in, "2, 4");
    assert_string_equal(b->out, "3, 5");
    assert_int_equal(b->n_in, 2);
    assert_int_equal(b->n_out, 2);
    assert_int_equal(b->depth, 1);
    assert_true(b->leaf);
    /* successive frames, and unknown frames of a file, are merged */
    assert_int_equal(b->n_frames, 3);
    assert_string_equal(b->frames[1], "[libtorch - cuda.so]");
    assert_string_equal(b->frames[2], "epoll_wait");
    b = find(view, "main thread", "ncclAllReduce(void*, int)");
    assert_string_equal(b->in, "3, 5");
    b = find(view, "thread NCCL RAS", "poll");
    assert_string_equal(b->out, "3, 5");
    assert_string_equal(b->frames[0], "[?]");
    /* all processes with a Python stack are in it */
    b = find(view, "Python MainThread", "main (train.py:30)");
    assert_string_equal(b->in, "3, 5");
    assert_string_equal(b->out, "");
    assert_true(b->python && b == &view->branches[0]);
    /* both nodes have the same answer of RAS */
    assert_int_equal(view->n_ras, 1);
    assert_int_equal(view->n_parts, 2);
    assert_string_equal(
        hangstacks_text(view, text),
        "4 processes of 2 nodes examined while the step hung, stacks of 4; "
        "ranks 2, 4 are in epoll_wait, ranks 3, 5 are not");
    hangstacks_destroy(view);
}

static void lacks_are_told_once(void **state)
{
    struct hangstacks *view = NULL;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    put_node(*state, "n1", 0, "");
    put_node(*state, "n2", 2, "");
    assert_int_equal(hangstacks_load(*state, &view, NULL), 0);
    hangstacks_print_lacks(view, out);
    fclose(out);
    assert_string_equal(text, "jobprof: no RAS: off\n");
    free(text);
    hangstacks_destroy(view);
}

static void nothing_there(void **state)
{
    struct hangstacks *view = NULL;
    char *hang = tempdir_path(*state, "hang"), *folder;

    assert_int_equal(hangstacks_load(*state, &view, NULL), 0);
    assert_null(view);
    /* a link is not followed */
    assert_int_equal(symlink("/tmp", hang), 0);
    assert_int_equal(hangstacks_load(*state, &view, NULL), 0);
    assert_null(view);
    unlink(hang);
    mkdir(hang, 0700);
    assert_int_equal(hangstacks_load(*state, &view, NULL), 0);
    assert_null(view);
    /* a node with a truncated file */
    folder = tempdir_path(*state, "hang/n1");
    mkdir(folder, 0700);
    free(tempdir_file(folder, "evidence.json", 0600, "{\"processes\": ["));
    assert_int_equal(hangstacks_load(*state, &view, NULL), 0);
    assert_non_null(view);
    assert_int_equal(view->bad, 1);
    assert_int_equal(view->n_processes, 0);
    hangstacks_destroy(view);
    free(folder);
    free(hang);
}

/* Garbage costs bounded memory and time. */
static void bounds_hold(void **state)
{
    static const char summary[] =
        "{\"processes\": [{\"pid\": 1, \"task\": -1}, {\"pid\": 2}]}";
    struct hangstacks *view = hangstacks_create();
    size_t room = 1 << 20, len = 0;
    char *text = malloc(room);

    (void) state;
    assert_non_null(view);
    assert_non_null(text);
    assert_int_equal(
        hangstacks_add_summary(view, summary, sizeof(summary) - 1, NULL), 0);
    /* 20,000 threads with different frames, and one with 2,000 frames */
    for (int i = 0; i < 20000; i++)
        len += (size_t) snprintf(text + len, room - len,
                                 "TID %d:\n#0  0x1 f%d\n", i, i);
    assert_int_equal(hangstacks_add_stack(view, 0, false, text), 0);
    len = (size_t) snprintf(text, room, "TID 2:\n");
    for (int i = 0; i < 2000; i++)
        len +=
            (size_t) snprintf(text + len, room - len, "#%d  0x1 f%d\n", i, i);
    assert_int_equal(hangstacks_add_stack(view, 1, false, text), 0);
    assert_int_equal(hangstacks_finish(view), 0);
    assert_true(view->left_out > 19000);
    assert_string_equal(find(view, "main thread", "...")->in, ":2");
    assert_int_equal(find(view, "main thread", "f0")->n_frames,
                     STACKTREE_DEPTH + 1);
    hangstacks_destroy(view);
    free(text);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, tempdir_make, tempdir_drop)
    const struct CMUnitTest tests[] = {
        TEST(nodes_are_merged),
        TEST(lacks_are_told_once),
        TEST(nothing_there),
        TEST(bounds_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
