/* test_lines.c - the bounded line reader at files that are made to hold it up.
 * An alarm ends a test that reads for too long. */
#include "common/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "tests/common/tempdir.h"

/* Rows like those of the readers of plugins and features. */
static const struct lines_limit
    skipping = {"skipping", 0, 511, 0, 0, LINES_SKIP, "a test"},
    refusing = {"refusing", 0, 64 * 1024, 0, 0, LINES_REFUSE, "a test"},
    zipped = {"zipped", 0, 16 * 1024, 0, 0, LINES_SKIP, "a test"},
    cutting = {"cutting", 1 << 20, 16384, 0, 5000, LINES_CUT, "a test"};

enum { LIMIT_S = 60 };
#define TERABYTE ((off_t) 1 << 40)

/* Reads everything. Returns the number of lines; *bytes is their length. */
static uint64_t read_all(struct jp_lines *lines, uint64_t *bytes)
{
    uint64_t n = 0;
    char *text;
    size_t len;
    int rc;

    *bytes = 0;
    while ((rc = lines_next(lines, &text, &len, NULL)) > 0) {
        assert_int_equal(text[len], '\0');
        *bytes += len;
        n++;
    }
    /* the end stays the end */
    assert_int_equal(lines_next(lines, &text, &len, NULL), 0);
    return n;
}

static char *sparse_file(const char *dir, const char *head, off_t size)
{
    char *path = tempdir_file(dir, "sparse", 0600, head);

    assert_int_equal(truncate(path, size), 0);
    return path;
}

/* --- what lines are ------------------------------------------------------- */

static void test_forms(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        const struct lines_limit *limit;
        const char *expected; /* each line with a | after it */
        bool cut;
        const char *why; /* of the first that was left out */
    } rows[] = {
        {"", 0, &skipping, "", false, NULL},
        {"\n", 1, &skipping, "|", false, NULL},
        {"a\nb\n", 4, &skipping, "a|b|", false, NULL},
        {"a\nb", 3, &skipping, "a|b|", true, NULL},
        {"a\r\n\r\nb\r\n", 8, &skipping, "a||b|", false, NULL},
        {"a\rb\n", 4, &skipping, "a\rb|", false, NULL},
        {"a\n\0\nb\n", 6, &skipping, "a|b|", false, "x:2: a NUL byte (\"\")"},
        {"a\nbc\0d\ne\n", 9, &skipping, "a|e|", false,
         "x:2: a NUL byte (\"bc\")"},
        {"a\nbc\0d\ne\n", 9, &lines_limits[LINES_DEBUG], "a|bc|e|", false,
         "x:2: a NUL byte (\"bc\")"},
        {"\0\0\0\0", 4, &skipping, "", true, "x:1: a NUL byte (\"\")"},
        {"\0\0\0\0", 4, &cutting, "|", true, "x:1: a NUL byte (\"\")"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct jp_lines *lines = lines_open_memory(rows[i].text, rows[i].len,
                                                   "x", rows[i].limit, NULL);
        char got[64] = "", *text;
        size_t len, n = 0;

        assert_non_null(lines);
        while (lines_next(lines, &text, &len, NULL) > 0)
            n += (size_t) snprintf(got + n, sizeof(got) - n, "%s|", text);
        assert_string_equal(got, rows[i].expected);
        if (rows[i].len)
            assert_int_equal(lines_is_cut(lines), rows[i].cut);
        assert_int_equal(lines_bytes(lines), rows[i].len);
        assert_string_equal(
            lines_left(lines)->why ? lines_left(lines)->first.text : "",
            rows[i].why ? rows[i].why : "");
        lines_close(lines);
    }
}

/* Lines of any length around the limit, and around the block. */
static void test_lengths(void **state)
{
    const size_t most = lines_limits[LINES_DEBUG].line;
    const size_t lens[] = {most - 1, most,         most + 1, most + 2,
                           2 * most, 2 * most + 1, 5 * most, 5 * most + 7,
                           65535,    1 << 17};

    (void) state;
    for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++)
        for (int kind = 0; kind < 2; kind++) {
            char *bytes = malloc(lens[i] + 5), *text;
            struct jp_lines *lines;
            bool fits = lens[i] <= most;
            size_t len;

            memset(bytes, 'x', lens[i] + 4);
            memcpy(bytes, "a\n", 2);
            memcpy(bytes + lens[i] + 2, "\nb", 3);
            lines = lines_open_memory(
                bytes, lens[i] + 4, "f",
                kind ? &refusing : &lines_limits[LINES_DEBUG], NULL);
            assert_int_equal(lines_next(lines, &text, &len, NULL), 1);
            if (kind && !fits) { /* refused */
                struct jp_error err = {""};

                assert_int_equal(lines_next(lines, &text, &len, &err), -1);
                assert_non_null(strstr(err.text, "f:2: a line of over 65536 "
                                                 "bytes (\"xxx"));
                assert_int_equal(lines_next(lines, &text, &len, &err), 0);
            } else { /* whole or cut */
                assert_int_equal(lines_next(lines, &text, &len, NULL), 1);
                assert_int_equal(len, fits ? lens[i] : most);
                assert_int_equal(strspn(text, "x"), len);
                assert_int_equal(lines_next(lines, &text, &len, NULL), 1);
                assert_string_equal(text, "b");
                assert_int_equal(lines_left(lines)->too_long, !fits);
                assert_int_equal(lines_next(lines, &text, &len, NULL), 0);
            }
            lines_close(lines);
            free(bytes);
        }
}

/* --- files that have no end ----------------------------------------------- */

/* Every kind ends at once at 1 TB that is a hole. */
static void test_terabyte(void **state)
{
    char *path = sparse_file(*state, "a\n", TERABYTE);

    alarm(LIMIT_S);
    for (int kind = 0; kind <= LINES_KINDS; kind++) {
        const struct lines_limit *limit =
            kind == LINES_KINDS ? &refusing : &lines_limits[kind];
        struct jp_error err = {""};
        struct jp_lines *lines = lines_open(path, limit, &err);
        char *text;
        size_t len;
        int rc;

        assert_non_null(lines);
        assert_int_equal(lines_next(lines, &text, &len, &err), 1);
        assert_string_equal(text, "a");
        while ((rc = lines_next(lines, &text, &len, &err)) > 0)
            ;
        assert_int_equal(rc, limit->odd == LINES_REFUSE ? -1 : 0);
        assert_true(lines_bytes(lines) <= 2u << 20);
        assert_non_null(lines_left(lines)->why);
        assert_non_null(strstr(lines_left(lines)->first.text, path));
        lines_close(lines);
    }
    alarm(0);
    free(path);
}

/* A terabyte with a block in each megabyte has only small holes. */
static void test_small_holes(void **state)
{
    char *path = sparse_file(*state, "a\n", TERABYTE);
    int fd = open(path, O_WRONLY);
    struct jp_lines *lines;
    uint64_t bytes;

    alarm(LIMIT_S);
    for (off_t at = 0; at < (off_t) 1 << 29; at += 1 << 20)
        assert_int_equal(pwrite(fd, "\n", 1, at + 4096), 1);
    close(fd);
    lines = lines_open(path, &lines_limits[LINES_TABLE], NULL);
    assert_non_null(lines);
    read_all(lines, &bytes);
    lines_close(lines);
    lines = lines_open(path, &zipped, NULL);
    read_all(lines, &bytes);
    assert_true(lines_bytes(lines) < (64u << 20) + (2u << 20));
    assert_true(lines_left(lines)->early);
    lines_close(lines);
    alarm(0);
    free(path);
}

/* A child of the test's, which ends with it. Returns as fork does. */
static pid_t fork_child(void)
{
    pid_t pid = fork();

    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

/* Writes n bytes, each `c`, into a pipe. Returns the end to read. */
static int endless(char c, uint64_t n)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    if (fork_child() == 0) {
        static char block[1 << 16];

        close(ends[0]);
        signal(SIGPIPE, SIG_DFL);
        memset(block, c, sizeof(block));
        while (n) {
            size_t part = n < sizeof(block) ? (size_t) n : sizeof(block);
            ssize_t done = write(ends[1], block, part);

            if (done <= 0)
                _exit(1);
            n -= (uint64_t) done;
        }
        _exit(0);
    }
    close(ends[1]);
    return ends[0];
}

/* A line of 1 GB is skipped in bounded memory. */
static void test_long_line(void **state)
{
    struct jp_lines *lines;
    uint64_t bytes;

    (void) state;
    alarm(LIMIT_S);
    lines =
        lines_open_fd(endless('x', UINT64_C(1) << 30), "pipe", &zipped, NULL);
    assert_int_equal(read_all(lines, &bytes), 0);
    assert_int_equal(lines_bytes(lines), 1 << 30);
    assert_int_equal(lines_left(lines)->too_long, 1);
    assert_false(lines_left(lines)->early);
    lines_close(lines);
    wait(NULL);
    alarm(0);
}

/* 10^8 empty lines, from a pipe and where the lines are limited. */
static void test_empty_lines(void **state)
{
    struct jp_lines *lines;
    uint64_t bytes;

    (void) state;
    alarm(LIMIT_S);
    lines = lines_open_fd(endless('\n', 100000000), "pipe", &zipped, NULL);
    assert_int_equal(read_all(lines, &bytes), 100000000);
    assert_int_equal(bytes, 0);
    assert_null(lines_left(lines)->why);
    lines_close(lines);
    wait(NULL);
    lines = lines_open_fd(endless('\n', 100000000), "ranks.jsonl",
                          &lines_limits[LINES_RANKS], NULL);
    assert_int_equal(read_all(lines, &bytes), 1000000);
    assert_true(lines_left(lines)->early);
    assert_string_equal(lines_left(lines)->first.text,
                        "ranks.jsonl:1000001: more than 1000000 lines");
    lines_close(lines);
    wait(NULL);
    alarm(0);
}

/* The limit of bytes: what fits is returned, the line that is cut is not. */
static void test_most_bytes(void **state)
{
    const uint64_t most = lines_limits[LINES_KERNEL].bytes; /* 4 MiB */
    char *text = malloc(most + 64);
    struct jp_lines *lines;
    uint64_t bytes;

    (void) state;
    assert_non_null(text);
    memset(text, 'x', most + 64);
    for (size_t i = 63; i < most + 64; i += 64)
        text[i] = '\n';
    for (int over = 0; over < 2; over++) {
        lines = lines_open_memory(text, most + (unsigned) over, "s",
                                  &lines_limits[LINES_KERNEL], NULL);
        assert_int_equal(read_all(lines, &bytes), most / 64);
        assert_int_equal(lines_left(lines)->early, over);
        lines_close(lines);
    }
    /* the last line, of 64 bytes, begins one byte before the limit */
    lines = lines_open_memory(text + 1, most + 63, "s",
                              &lines_limits[LINES_KERNEL], NULL);
    assert_int_equal(read_all(lines, &bytes), most / 64);
    assert_string_equal(lines_left(lines)->first.text,
                        "s:65537: more than 4194304 bytes");
    lines_close(lines);
    free(text);
}

/* A file that its writer lengthens while it is read: what was there at the
 * opening is read, and not one byte more. */
static void test_growing(void **state)
{
    char *path = tempdir_file(*state, "grows", 0600, "first\nsec");
    struct jp_lines *lines;
    struct stat st;
    uint64_t bytes;
    pid_t pid;

    alarm(LIMIT_S);
    lines = lines_open(path, &zipped, NULL);
    assert_non_null(lines);
    pid = fork_child();
    if (pid == 0) {
        int fd = open(path, O_WRONLY | O_APPEND);

        while (write(fd, "ond\n", 4) == 4)
            usleep(100);
        _exit(1);
    }
    do
        assert_int_equal(stat(path, &st), 0);
    while (st.st_size < 1000);
    assert_int_equal(read_all(lines, &bytes), 2);
    assert_true(lines_is_cut(lines));
    assert_int_equal(lines_bytes(lines), 9);
    lines_close(lines);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    alarm(0);
    free(path);
}

/* --- pipes and other kinds ------------------------------------------------ */

static void test_kinds(void **state)
{
    char *fifo = tempdir_path(*state, "fifo");
    char *link = tempdir_path(*state, "link");
    const char *const bad[] = {fifo, link, *state, "/dev/zero", "/dev/null"};

    alarm(LIMIT_S);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(symlink("/dev/zero", link), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct jp_error err = {""};

        assert_null(lines_open(bad[i], &lines_limits[LINES_RANKS], &err));
        assert_non_null(strstr(err.text, bad[i]));
        errno = 0;
        assert_null(lines_open_tail(bad[i], &cutting, &err));
    }
    assert_null(lines_open("/nonexistent", &lines_limits[LINES_RANKS], NULL));
    assert_int_equal(errno, ENOENT);
    alarm(0);
    free(fifo);
    free(link);
}

/* Standard input that is a pipe, and one that stays silent. */
static void test_stdin(void **state)
{
    struct timespec begin, end;
    struct jp_lines *lines;
    int ends[2], kept = dup(0);
    uint64_t bytes;

    (void) state;
    alarm(LIMIT_S);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "one\r\ntwo\nthree", 14), 14);
    close(ends[1]);
    assert_int_equal(dup2(ends[0], 0), 0);
    close(ends[0]);
    lines = lines_open_fd(dup(0), "standard input", &skipping, NULL);
    assert_int_equal(read_all(lines, &bytes), 3);
    assert_int_equal(bytes, 11);
    lines_close(lines);
    assert_int_equal(dup2(kept, 0), 0);
    close(kept);

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "one\n", 4), 4);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    lines = lines_open_fd(ends[0], "silent", &lines_limits[LINES_ENDS], NULL);
    lines_end_at(lines, (uint64_t) begin.tv_sec * 1000 +
                            (uint64_t) begin.tv_nsec / 1000000 + 1000);
    assert_int_equal(read_all(lines, &bytes), 1);
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(lines_left(lines)->early);
    assert_string_equal(lines_left(lines)->why, "it takes too long");
    assert_in_range(end.tv_sec - begin.tv_sec, 1, 3);
    lines_close(lines);
    close(ends[1]);
    alarm(0);
}

/* Files of /proc have no size. */
static void test_proc(void **state)
{
    struct jp_lines *lines =
        lines_open("/proc/self/maps", &lines_limits[LINES_KERNEL], NULL);
    uint64_t bytes;

    (void) state;
    assert_true(read_all(lines, &bytes) > 5);
    assert_null(lines_left(lines)->why);
    lines_close(lines);
    lines = lines_open("/proc/self/maps", &lines_limits[LINES_KERNEL], NULL);
    lines_end_at(lines, 1); /* long ago */
    assert_int_equal(read_all(lines, &bytes), 0);
    assert_true(lines_left(lines)->early);
    lines_close(lines);
}

static void test_tail(void **state)
{
    const off_t most = (off_t) cutting.bytes;
    char *path = sparse_file(*state, "first\n", TERABYTE), *text;
    struct jp_lines *lines;
    size_t len;
    int fd = open(path, O_WRONLY | O_APPEND);

    alarm(LIMIT_S);
    assert_int_equal(write(fd, "\nlast\n", 6), 6);
    close(fd);
    lines = lines_open_tail(path, &cutting, NULL);
    assert_int_equal(lines_next(lines, &text, &len, NULL), 1);
    assert_string_equal(text, "last");
    assert_int_equal(lines_next(lines, &text, &len, NULL), 0);
    lines_close(lines);
    /* a file that fits is read from its beginning */
    assert_int_equal(truncate(path, most), 0);
    lines = lines_open_tail(path, &cutting, NULL);
    assert_int_equal(lines_next(lines, &text, &len, NULL), 1);
    assert_string_equal(text, "first");
    lines_close(lines);
    alarm(0);
    free(path);
}

/* A bomb: 1000 to 1. */
static void test_gzip(void **state)
{
    char *path = tempdir_path(*state, "x.gz");
    static char zeros[1 << 20];
    struct jp_lines *lines;
    uint64_t bytes;
    gzFile gz;

    alarm(LIMIT_S);
    gz = gzopen(path, "wb");
    gzputs(gz, "a\nb\n");
    gzclose(gz);
    lines = lines_open(path, &zipped, NULL);
    assert_int_equal(read_all(lines, &bytes), 2);
    assert_null(lines_left(lines)->why);
    lines_close(lines);
    gz = gzopen(path, "wb");
    for (int i = 0; i < 256; i++)
        gzwrite(gz, zeros, sizeof(zeros));
    gzclose(gz);
    lines = lines_open(path, &zipped, NULL);
    assert_int_equal(read_all(lines, &bytes), 0);
    assert_true(lines_left(lines)->early);
    assert_true(lines_bytes(lines) < 160u << 20);
    lines_close(lines);
    alarm(0);
    free(path);
}

/* Every kind has a row with a name, a line and a reason. */
static void test_table(void **state)
{
    (void) state;
    for (int i = 0; i < LINES_KINDS; i++) {
        assert_non_null(lines_limits[i].name);
        assert_non_null(lines_limits[i].reason);
        assert_true(lines_limits[i].line > 0);
        assert_true(lines_limits[i].line <= 1 << 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test_setup_teardown(test_terabyte, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_small_holes, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_empty_lines),
        cmocka_unit_test(test_most_bytes),
        cmocka_unit_test_setup_teardown(test_growing, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_kinds, tempdir_make, tempdir_drop),
        cmocka_unit_test(test_stdin),
        cmocka_unit_test(test_proc),
        cmocka_unit_test_setup_teardown(test_tail, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(test_gzip, tempdir_make, tempdir_drop),
        cmocka_unit_test(test_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
