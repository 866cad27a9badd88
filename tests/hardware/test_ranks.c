/* test_ranks.c - ranks.jsonl from recordings and logs, and back. */
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

#include "common/fileio.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/topo/rankread.h"
#include "plugins/nccl_recorder/jpr_read.h"
#include "tests/common/tempdir.h"
#include "tests/nccl_recorder/jpr_sample.h"

#define HOST "n\xc3\xa9 1" /* the sample's */
#define LINE_OF(pid) "host1:" pid ":9 [0] NCCL INFO "

static struct sample file;

/* Without operations the rest is the same, to the same end. */
static void test_passed_over(void **state)
{
    struct jpr_record record;
    struct jpr_reader *r;
    unsigned seen[JPR_TYPES] = {0};
    int rc;

    (void) state;
    sample_fill(&file, NULL);
    r = jpr_open_bytes(file.bytes, file.n, "sample", NULL);
    jpr_pass(r, JPR_PASS_OPS);
    while ((rc = jpr_next(r, &record, NULL)) > 0)
        seen[record.type]++;
    assert_int_equal(rc, 0);
    assert_int_equal(seen[JPR_HEADER], 1);
    assert_int_equal(seen[JPR_COMM], 2);
    assert_int_equal(seen[JPR_OP] + seen[JPR_INFLIGHT], 0);
    assert_int_equal(seen[JPR_COUNTERS], 1);
    assert_true(jpr_end(r)->complete);
    assert_int_equal(jpr_end(r)->offset, file.n);
    jpr_close(r);
    /* the third block is of operations: cut, it is no end in order */
    r = jpr_open_bytes(file.bytes, file.ends[3] - 1, "cut", NULL);
    jpr_pass(r, JPR_PASS_OPS);
    while ((rc = jpr_next(r, &record, NULL)) > 0)
        ;
    assert_int_equal(rc, 0);
    assert_true(jpr_end(r)->cut);
    jpr_close(r);
}

static char *step_make(const char *dir, const char *name)
{
    char *step = tempdir_path(dir, name);
    char *raw = text_format("%s/raw/n1", step);
    char *node = text_format("%s/nodes/n1", step);

    assert_int_equal(fileio_mkdirs(raw, NULL), 0);
    assert_int_equal(fileio_mkdirs(node, NULL), 0);
    free(raw);
    free(node);
    return step;
}

static void put(const char *step, const char *name, const void *bytes, size_t n)
{
    char *path = text_format("%s/%s", step, name);

    assert_int_equal(fileio_write(path, bytes, n, NULL), 0);
    free(path);
}

static void put_text(const char *step, const char *name, const char *text)
{
    put(step, name, text, strlen(text));
}

static uint64_t in_a_minute(void)
{
    return clock_mono_ms() + 60000;
}

static const struct jp_rankmap_fact *find(const struct jp_rank_records *r,
                                          enum jp_rank_source source,
                                          int64_t pid, int64_t rank)
{
    for (size_t i = 0; i < r->n_facts; i++)
        if (r->facts[i].source == source && r->facts[i].pid == pid &&
            r->facts[i].rank == rank)
            return &r->facts[i];
    return NULL;
}

/* A recording, a log of Inspector's whose process has NCCL's log elsewhere, and
 * things that are none of these. */
static char *full_step(const char *dir)
{
    char *step = step_make(dir, "full");
    char *start, *link = text_format("%s/raw/n1/link-pid9.log", step);

    sample_fill(&file, NULL);
    put(step, "raw/n1/a-pid4711.jpr", file.bytes, file.n);
    put_text(step, "raw/n1/host1-pid77.log", "{\"header\":{}}\n");
    put_text(step, "raw/n1/my-pid-host-pid78-1.log.gz", "x");
    put_text(step, "raw/n1/pidless.log", "x");
    put_text(step, "raw/n1/-pid5.log", "x");
    put_text(step, "raw/n1/nccl.log",
             LINE_OF("88") "comm 0x1 rank 0 nranks 2 busId 9a000 - Init "
                           "COMPLETE\n");
    assert_int_equal(symlink("/etc/passwd", link), 0);
    start = text_format("{\"schema\":1,\"procid\":5,\"localid\":1,\"pid\":77,"
                        "\"pid_ns\":3,\"boot_id\":\"b\",\"devices\":[2,0],"
                        "\"env\":{\"NCCL_DEBUG_FILE\":\"%s/log.%%h.%%p\"}}\n"
                        "{\"schema\":2}\n",
                        step);
    put_text(step, "nodes/n1/starts.jsonl", start);
    put_text(
        step, "log.host1.77",
        LINE_OF("77") "NET/IB : Using [0]mlx5_0:1/IB\n" LINE_OF(
            "77") "comm 0x1 rank 5 nranks 16 busId 1a000 commId 0xabc - "
                  "Init START\n" LINE_OF(
                      "77") "Channel 00/0 : 5[5] -> 8[0] [send] via "
                            "NET/IB/0(3)/GDRDMA\n" LINE_OF(
                                "77") "8 coll "
                                      "channels, 8 collnet channels, 4 nvls "
                                      "channels, "
                                      "1\n" LINE_OF(
                                          "77") "comm 0x1 rank 5 nranks 16 "
                                                "busId 1a000 "
                                                "commId 0xabc - "
                                                "Init COMPLETE\n" LINE_OF(
                                                    "66") "comm 0x1 rank 6 "
                                                          "nranks 16 "
                                                          "busId 2a000 commId "
                                                          "0xabc - "
                                                          "Init COMPLETE\n");
    free(start);
    free(link);
    return step;
}

/* What is written and not read again. */
static void check_text(const char *step)
{
    char *path, *text = NULL;

    path = text_format("%s/nodes/n1/ranks.jsonl", step);
    assert_int_equal(fileio_read(path, false, 1 << 16, &text, NULL, NULL), 0);
    assert_non_null(strstr(text, "\"layer\":\"IB\",\"gdr\":true,\"pxn\":true"));
    assert_non_null(strstr(text, "{\"carriers\":{\"host\":\"host1\",\"pid\":77,"
                                 "\"comm\":\"0xabc\",\"rank\":5,"
                                 "\"nvls_channels\":4,\"nvls\":false,"
                                 "\"collnet\":false}}\n"));
    free(text);
    free(path);
}

static void test_there_and_back(void **state)
{
    struct jp_rank_records r = {0};
    char *step = full_step(*state);
    const struct jp_rankmap_fact *fact;
    size_t with_task = 0;

    assert_int_equal(rankread_node(&r, step, "n1", in_a_minute(), NULL), 0);
    assert_int_equal(r.bad_lines, 1); /* the start record of schema 2 */
    fact = find(&r, JP_RANK_FROM_RECORDER, 4711, -1);
    assert_non_null(fact);
    assert_string_equal(fact->node, "n1");
    assert_string_equal(fact->host, HOST);
    assert_string_equal(fact->boot_id, sample_header.boot_id);
    assert_int_equal(fact->pid_ns, sample_header.pid_namespace);
    assert_int_equal(fact->procid, 7);
    assert_int_equal(fact->localid, -1);
    fact = find(&r, JP_RANK_FROM_RECORDER, 4711, 3);
    assert_non_null(fact);
    assert_string_equal(fact->comm, "0x8a07aed05ae9a0");
    assert_string_equal(fact->busid, "0000:4f:00.0");
    assert_string_equal(fact->uuid, "GPU-00112233-4455-6677-8899-aabbccddeeff");
    assert_int_equal(r.n_variables, 3);
    assert_string_equal(r.variables[0].name, ""); /* for the process */
    assert_string_equal(r.variables[1].name, "NCCL_ALGO");
    assert_string_equal(r.variables[1].value, "Ring");
    fact = find(&r, JP_RANK_FROM_FILE_NAME, 77, -1);
    assert_non_null(fact);
    assert_string_equal(fact->host, "host1");
    fact = find(&r, JP_RANK_FROM_FILE_NAME, 78, -1);
    assert_non_null(fact);
    assert_string_equal(fact->host, "my-pid-host");
    fact = find(&r, JP_RANK_FROM_NCCL_LOG, 77, 5);
    assert_non_null(fact);
    assert_string_equal(fact->busid, "0000:1a:00.0");
    assert_string_equal(fact->comm, "0xabc");
    assert_null(find(&r, JP_RANK_FROM_NCCL_LOG, 66, 6)); /* not of the step */
    assert_null(find(&r, JP_RANK_FROM_NCCL_LOG, 88, 0));
    assert_int_equal(r.n_facts, 6); /* one more has the recording's task */
    for (size_t i = 0; i < r.n_facts; i++)
        with_task += r.facts[i].task_pid > 0;
    assert_int_equal(with_task, 1);
    assert_int_equal(r.n_paths, 1);
    assert_string_equal(r.paths[0].via, "NET");
    assert_string_equal(r.paths[0].device, "mlx5_0");
    assert_string_equal(r.paths[0].comm, "0xabc");
    assert_string_equal(r.paths[0].layer, "IB");
    assert_true(r.paths[0].gdr);
    assert_true(r.paths[0].pxn);
    assert_int_equal(r.n_carriers, 1);
    assert_string_equal(r.carriers[0].comm, "0xabc");
    assert_int_equal(r.carriers[0].nvls_channels, 4);
    check_text(step);
    assert_int_equal(r.n_tasks, 1);
    assert_int_equal(r.tasks[0].procid, 5);
    assert_int_equal(r.tasks[0].n_devices, 2);
    assert_int_equal(r.tasks[0].devices[0], 2);
    rankread_fini(&r);
    free(step);
}

/* Cut by time, damaged, not there: said, and the rest is used. */
static void test_incomplete(void **state)
{
    struct jp_rank_records r = {0};
    char *step = step_make(*state, "cut"), *text = NULL, *path;

    sample_fill(&file, NULL);
    file.bytes[file.ends[2] + 30] ^= 1; /* the communicators' block */
    put(step, "raw/n1/a-pid1.jpr", file.bytes, file.n);
    assert_int_equal(rankscan_write(step, "n1", UINT64_MAX, NULL), 0);
    assert_int_equal(rankread_node(&r, step, "n1", 0, NULL), 0);
    assert_int_equal(r.n_facts, 2);
    rankread_fini(&r);
    assert_int_equal(rankscan_write(step, "n1", 0, NULL), 0);
    path = text_format("%s/nodes/n1/ranks.jsonl", step);
    assert_int_equal(fileio_read(path, false, 4096, &text, NULL, NULL), 0);
    assert_string_equal(
        text, "{\"end\":{\"complete\":false,\"why\":\"the time limit ran "
              "out\"}}\n");
    free(text);
    free(path);
    assert_int_equal(rankread_node(&r, step, "n2", in_a_minute(), NULL), 0);
    assert_int_equal(r.n_facts + r.n_tasks + r.n_paths, 0);
    rankread_fini(&r);
    free(step);
}

static void test_bad_lines(void **state)
{
    static const char *const lines[] = {
        "",
        "{}",
        "[]",
        "{\"rank\":1}",
        "{\"rank\":{}}",
        "{\"rank\":{\"source\":\"recorder\",\"host\":\"h\",\"pid\":-1,"
        "\"rank\":0}}",
        "{\"rank\":{\"source\":\"recorder\",\"host\":\"h\",\"pid\":1,"
        "\"rank\":1e3}}",
        "{\"rank\":{\"source\":\"recorder\",\"host\":\"h\",\"pid\":1}}",
        "{\"process\":{\"host\":\"h\",\"pid\":\"1\"}}"};
    struct jp_rank_records r = {0};

    (void) state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        print_message("# %s\n", lines[i]);
        assert_int_equal(
            rankread_rank_line(&r, "n", lines[i], strlen(lines[i])), 0);
        assert_int_equal(r.bad_lines, 2 * i + 1);
        assert_int_equal(
            rankread_start_line(&r, "n", lines[i], strlen(lines[i])), 0);
        assert_int_equal(r.bad_lines, 2 * i + 2);
    }
    assert_int_equal(r.n_facts + r.n_paths + r.n_tasks, 0);
    rankread_fini(&r);
}

/* A sparse terabyte, a line without end and empty lines without end in either
 * file: an alarm ends the test if one of them is read to its end. */
static void test_without_end(void **state)
{
    static const char *const names[] = {"ranks.jsonl", "starts.jsonl"};
    char *step = step_make(*state, "endless");

    for (size_t i = 0; i < 2; i++) {
        char *name = text_format("nodes/n1/%s", names[i]);
        char *path = text_format("%s/%s", step, name);
        struct jp_rank_records r = {0};

        put_text(step, name, "{}\n");
        assert_int_equal(truncate(path, (off_t) 1 << 40), 0);
        alarm(20);
        assert_int_equal(rankread_node(&r, step, "n1", 0, NULL), 0);
        alarm(0);
        assert_int_equal(r.n_facts + r.n_tasks, 0);
        assert_string_equal(r.left_file, name);
        assert_string_equal(r.left_why, "line 2: it has a hole");
        assert_int_equal(unlink(path), 0);
        rankread_fini(&r);
        free(path);
        free(name);
    }
    free(step);
}

/* What a killed finish has left undone is made; not again, not of folders that
 * are not there, not when the time is over. */
static void test_made_up(void **state)
{
    struct jp_rank_records r = {0};
    char *step = step_make(*state, "killed");
    char *path = text_format("%s/nodes/n1/ranks.jsonl", step);

    sample_fill(&file, NULL);
    put(step, "raw/n1/a-pid4711.jpr", file.bytes, file.n);
    assert_int_equal(rankread_node(&r, step, "n1", 1, NULL), 0);
    assert_int_equal(r.n_facts, 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(rankread_node(&r, step, "n1", in_a_minute(), NULL), 0);
    assert_non_null(find(&r, JP_RANK_FROM_RECORDER, 4711, 3));
    rankread_fini(&r);
    put_text(step, "nodes/n1/ranks.jsonl", "");
    assert_int_equal(rankread_node(&r, step, "n1", in_a_minute(), NULL), 0);
    assert_int_equal(r.n_facts, 0);
    rankread_fini(&r);
    free(path);
    free(step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passed_over),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_incomplete),
        cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_without_end),
        cmocka_unit_test(test_made_up),
    };

    return cmocka_run_group_tests_name("ranks", tests, tempdir_make,
                                       tempdir_drop);
}
