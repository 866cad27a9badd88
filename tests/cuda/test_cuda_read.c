/* test_cuda_read.c - files of CUDA's calls: whole, cut, damaged, newer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "plugins/cuda/cuda_read.h"
#include "tests/common/tempdir.h"

static char *create(void)
{
    void *dir = NULL;

    assert_int_equal(tempdir_make(&dir), 0);
    return dir;
}

static void drop(char *dir)
{
    void *state = dir;

    assert_int_equal(tempdir_drop(&state), 0);
}

enum { RECORDS = 10 };

static struct {
    struct cuda_file_head head;
    struct cuda_file_record records[RECORDS];
} file;

#define BYTES (sizeof(file))

static void seal_head(void)
{
    file.head.check =
        cuda_file_check(&file.head, offsetof(struct cuda_file_head, check));
}

static void seal(struct cuda_file_record *r)
{
    r->check = cuda_file_check(r, offsetof(struct cuda_file_record, check));
}

static int make(void **state)
{
    memset(&file, 0, sizeof(file));
    file.head = (struct cuda_file_head){.magic = CUDA_FILE_MAGIC,
                                        .head_bytes = sizeof(file.head),
                                        .record_bytes = sizeof(file.records[0]),
                                        .n_counters = CUDA_COUNTERS_N,
                                        .pid = 42,
                                        .rank = 7,
                                        .start_us = 1700000000000000,
                                        .mono_ns = 5000000000,
                                        .host = "node\x1b[1"};
    seal_head();
    for (unsigned i = 0; i < RECORDS; i++) {
        file.records[i].since_ns = (i + 1) * 1000000000ull;
        file.records[i].sum[CUDA_LAUNCHES] = (i + 1) * 100;
        file.records[i].live_bytes = file.records[i].peak_bytes = i * 5;
        seal(&file.records[i]);
    }
    return 0;
}

static uint64_t last(const struct cuda_process *p)
{
    return p->n_moments ? p->moments[p->n_moments - 1].sum[CUDA_LAUNCHES] : 0;
}

static void test_whole(void **state)
{
    struct cuda_process p;
    struct jp_error err;

    assert_int_equal(cuda_parse(&file, BYTES, 100, &p, &err), 0);
    assert_int_equal(p.n_moments, RECORDS);
    assert_int_equal(last(&p), 1000);
    assert_int_equal(p.rank, 7);
    assert_int_equal(p.pid, 42);
    assert_int_equal(p.bad_records, 0);
    assert_null(strchr(p.host, '\x1b'));
    cuda_process_fini(&p);
}

/* Fewer moments, with the last sums among them. */
static void test_thinned(void **state)
{
    struct cuda_process p;
    struct jp_error err;

    for (size_t max = 2; max < RECORDS + 3; max++) {
        assert_int_equal(cuda_parse(&file, BYTES, max, &p, &err), 0);
        assert_in_range(p.n_moments, 1, max);
        assert_int_equal(last(&p), 1000);
        cuda_process_fini(&p);
    }
}

/* Cut at every length: no record, or those that are complete. */
static void test_cut(void **state)
{
    for (size_t len = 0; len <= BYTES; len++) {
        struct cuda_process p;
        struct jp_error err;
        size_t body = len < sizeof(file.head) ? 0 : len - sizeof(file.head);
        size_t whole = body / sizeof(file.records[0]);
        void *copy = malloc(len + 1);
        int rc;

        memcpy(copy, &file, len);
        rc = cuda_parse(copy, len, 100, &p, &err);
        free(copy);
        assert_int_equal(rc, len < sizeof(file.head) ? -1 : 0);
        if (rc < 0)
            continue;
        assert_int_equal(p.n_moments, whole);
        assert_int_equal(p.bad_records, body % sizeof(file.records[0]) != 0);
        cuda_process_fini(&p);
    }
}

/* Every changed byte is noticed. */
static void test_flipped(void **state)
{
    for (size_t i = 0; i < BYTES; i++) {
        struct cuda_process p;
        struct jp_error err;
        int rc;

        ((unsigned char *) &file)[i] ^= 0x40;
        rc = cuda_parse(&file, BYTES, 100, &p, &err);
        if (rc == 0) {
            assert_true(i >= sizeof(file.head));
            assert_int_equal(p.n_moments,
                             (i - sizeof(file.head)) / sizeof(file.records[0]));
            assert_int_equal(p.bad_records, RECORDS - p.n_moments);
            cuda_process_fini(&p);
        }
        ((unsigned char *) &file)[i] ^= 0x40;
    }
}

/* Correct checksums with impossible numbers. */
static void test_lies(void **state)
{
    struct cuda_process p;
    struct jp_error err;

    file.records[4].sum[CUDA_LAUNCHES] = 1;
    seal(&file.records[4]);
    assert_int_equal(cuda_parse(&file, BYTES, 100, &p, &err), 0);
    assert_int_equal(p.n_moments, 4);
    assert_int_equal(p.bad_records, 6);
    cuda_process_fini(&p);
    make(state);
    file.records[0].since_ns = UINT64_MAX;
    seal(&file.records[0]);
    assert_int_equal(cuda_parse(&file, BYTES, 100, &p, &err), 0);
    assert_int_equal(p.n_moments, 0);
    cuda_process_fini(&p);
    make(state);
    file.records[0].live_bytes = 1; /* more than the peak */
    seal(&file.records[0]);
    assert_int_equal(cuda_parse(&file, BYTES, 100, &p, &err), 0);
    assert_int_equal(p.n_moments, 0);
    cuda_process_fini(&p);
    make(state);
    file.head.record_bytes = 0;
    seal_head();
    assert_int_equal(cuda_parse(&file, BYTES, 100, &p, &err), -1);
    file.head.record_bytes = 8;
    file.head.n_counters = UINT32_MAX - 2;
    seal_head();
    assert_int_equal(cuda_parse(&file, BYTES, 100, &p, &err), -1);
}

/* Pairs of clocks: of each record its own, and only if it can be. */
static void test_pairs(void **state)
{
    static const struct cuda_pair first = {900000000, 50, 1, 77},
                                  none = {0, 0, 0, 0},
                                  later = {5000000001, 50, 1, 77},
                                  wide = {900000000, UINT64_MAX, 1, 77},
                                  no_device = {900000000, 50, 1 << 16, 77},
                                  large = {900000000, 50, 1, UINT64_MAX};
    const struct {
        struct cuda_pair pair;
        bool there;
    } rows[] = {{first, true},  {first, false}, {none, false},
                {later, false}, {wide, false},  {no_device, false},
                {large, false}};
    struct cuda_process p;
    struct jp_error err;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        file.records[i].pair = rows[i].pair;
        if (i == 3) /* after its record */
            file.records[i].pair.at_ns = file.records[i].since_ns + 1;
        seal(&file.records[i]);
    }
    assert_int_equal(cuda_parse(&file, BYTES, 100, &p, &err), 0);
    assert_int_equal(p.n_moments, RECORDS);
    assert_int_equal(p.mono_ns, 5000000000);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(p.moments[i].pair.gpu != 0, rows[i].there);
    cuda_process_fini(&p);
}

/* A newer writer has more sums after the known ones. */
static void test_newer(void **state)
{
    struct {
        struct cuda_file_head head;
        uint64_t words[2][1 + CUDA_RECORD_WORDS + CUDA_COUNTERS_N];
    } newer = {.head = file.head};
    struct cuda_process p;
    struct jp_error err;

    newer.head.n_counters++;
    newer.head.record_bytes += 8;
    newer.head.check =
        cuda_file_check(&newer.head, offsetof(struct cuda_file_head, check));
    for (size_t i = 0; i < 2; i++) {
        memcpy(newer.words[i], &file.records[i],
               offsetof(struct cuda_file_record, check));
        newer.words[i][CUDA_RECORD_WORDS - 1 + CUDA_COUNTERS_N] = 99;
        newer.words[i][CUDA_RECORD_WORDS + CUDA_COUNTERS_N] = cuda_file_check(
            newer.words[i], 8 * (CUDA_RECORD_WORDS + CUDA_COUNTERS_N));
    }
    assert_int_equal(cuda_parse(&newer, sizeof(newer), 100, &p, &err), 0);
    assert_int_equal(p.n_moments, 2);
    assert_int_equal(last(&p), 200);
    cuda_process_fini(&p);
}

static void test_files(void **state)
{
    char *dir = create(), *path = tempdir_file(dir, "a", 0600, "x");
    char link_path[4096];
    struct cuda_process p;
    struct jp_error err;

    assert_int_equal(cuda_read(path, 9, &p, &err), -1);
    assert_non_null(strstr(err.text, "the header is incomplete"));
    assert_int_equal(cuda_read(dir, 9, &p, &err), -1);
    snprintf(link_path, sizeof(link_path), "%s/link", dir);
    assert_int_equal(symlink(path, link_path), 0);
    assert_int_equal(cuda_read(link_path, 9, &p, &err), -1);
    assert_int_equal(cuda_read("/nonexistent", 9, &p, &err), -1);
    free(path);
    drop(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_whole, make),
        cmocka_unit_test_setup(test_thinned, make),
        cmocka_unit_test_setup(test_cut, make),
        cmocka_unit_test_setup(test_flipped, make),
        cmocka_unit_test_setup(test_lies, make),
        cmocka_unit_test_setup(test_pairs, make),
        cmocka_unit_test_setup(test_newer, make),
        cmocka_unit_test(test_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
