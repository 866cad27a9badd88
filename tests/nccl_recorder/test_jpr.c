/* test_jpr.c - the recorder's file, written and read back: whole, cut, damaged
 * and with unknown contents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "plugins/nccl_recorder/jpr_frame.h"
#include "plugins/nccl_recorder/jpr_read.h"
#include "tests/common/fewer.h"
#include "tests/nccl_recorder/jpr_sample.h"

static struct sample file;

/* ----------------------------------------------------------- primitives -- */

static void numbers(void **state)
{
    static const int64_t rows[] = {0,   1,   -1,  63,  64,        127,
                                   128, -64, -65, 300, INT64_MAX, INT64_MIN};
    uint8_t bytes[256];
    struct jpr_out out = {.bytes = bytes, .size = sizeof(bytes)};
    struct jpr_in in;
    size_t i;

    (void) state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        out.used = 0;
        jpr_put_i64(&out, rows[i]);
        jpr_put_u64(&out, (uint64_t) rows[i]);
        jpr_put_delta(&out, (uint64_t) rows[i], 42);
        in = (struct jpr_in){.at = bytes, .end = bytes + out.used};
        assert_true(jpr_get_i64(&in) == rows[i]);
        assert_true(jpr_get_u64(&in) == (uint64_t) rows[i]);
        assert_true(jpr_get_delta(&in, 42) == (uint64_t) rows[i]);
        assert_true(!in.bad && in.at == in.end);
    }
    assert_int_equal(jpr_crc32(0, "123456789", 9), 0xCBF43926);
    assert_int_equal(jpr_crc32(jpr_crc32(0, "1234", 4), "56789", 5),
                     0xCBF43926);
}

static void bad_numbers(void **state)
{
    static const char *const rows[] = {
        "", "\x80", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"};
    size_t i;

    (void) state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint8_t *at = (const uint8_t *) rows[i];
        struct jpr_in in = {.at = at, .end = at + strlen(rows[i])};

        assert_int_equal(jpr_get_u64(&in), 0);
        assert_true(in.bad);
        assert_int_equal(jpr_get_u64(&in), 0); /* and so do later reads */
    }
}

/* ------------------------------------------------------------ round trip -- */

static void same_op(const struct jpr_op *a, const struct jpr_op *b)
{
    struct jpr_op x = *a, y = *b;

    assert_string_equal(a->func, b->func);
    assert_string_equal(a->datatype, b->datatype);
    assert_string_equal(a->algo, b->algo);
    assert_string_equal(a->proto, b->proto);
    assert_string_equal(a->api_func, b->api_func);
    assert_string_equal(a->api_datatype, b->api_datatype);
    x.func = y.func = x.datatype = y.datatype = NULL;
    x.algo = y.algo = x.proto = y.proto = NULL;
    x.api_func = y.api_func = x.api_datatype = y.api_datatype = NULL;
    assert_memory_equal(&x, &y, sizeof(x));
}

static void same_header(const struct jpr_header *h)
{
    const struct jpr_header *w = &sample_header;

    assert_memory_equal(&h->clocks, &w->clocks, sizeof(h->clocks));
    assert_string_equal(h->recorder, w->recorder);
    assert_string_equal(h->hostname, w->hostname);
    assert_string_equal(h->boot_id, w->boot_id);
    assert_string_equal(h->job, w->job);
    assert_string_equal(h->step, w->step);
    assert_true(h->pid == w->pid && h->pid_namespace == w->pid_namespace &&
                h->procid == w->procid && h->nodeid == w->nodeid &&
                h->localid == w->localid && h->interface == w->interface &&
                h->nccl_release == w->nccl_release &&
                h->memory_bytes == w->memory_bytes &&
                h->disk_bytes == w->disk_bytes &&
                h->min_free_bytes == w->min_free_bytes && h->net == w->net &&
                h->kernels == w->kernels && h->start == w->start);
    assert_int_equal(h->n_variables, 2);
    assert_string_equal(h->variables[0].name, "NCCL_ALGO");
    assert_string_equal(h->variables[0].value, "Ring");
    assert_string_equal(h->variables[1].value, "");
    assert_int_equal(h->n_notes, 1);
    assert_string_equal(h->notes[0], w->notes[0]);
}

static void same_comm(const struct jpr_comm *c, const struct jpr_comm *w)
{
    assert_true(c->index == w->index && c->known == w->known &&
                c->id == w->id && c->rank == w->rank &&
                c->n_ranks == w->n_ranks && c->n_nodes == w->n_nodes &&
                c->init_mono_ns == w->init_mono_ns);
    assert_string_equal(c->name, w->name);
    assert_string_equal(c->gpu_pci, w->gpu_pci);
    assert_string_equal(c->gpu_uuid, w->gpu_uuid);
}

static void same_counters(const struct jpr_counters *c)
{
    struct jpr_counters x = *c, y = sample_counters;
    uint64_t i;

    assert_int_equal(c->n_rows, sample_counters.n_rows);
    for (i = 0; i < c->n_rows; i++) {
        assert_string_equal(c->rows[i].func, sample_counters.rows[i].func);
        assert_int_equal(c->rows[i].comm, sample_counters.rows[i].comm);
        assert_int_equal(c->rows[i].finalized,
                         sample_counters.rows[i].finalized);
        assert_memory_equal(&c->rows[i].counts, &sample_counters.rows[i].counts,
                            sizeof(struct jpr_counts));
    }
    assert_int_equal(c->n_unseen, sample_counters.n_unseen);
    for (i = 0; i < c->n_unseen; i++) {
        assert_int_equal(c->unseen[i].comm, sample_counters.unseen[i].comm);
        assert_string_equal(c->unseen[i].func, sample_counters.unseen[i].func);
        assert_int_equal(c->unseen[i].calls, sample_counters.unseen[i].calls);
    }
    assert_int_equal(c->n_doubts, sample_counters.n_doubts);
    for (i = 0; i < c->n_doubts; i++)
        assert_memory_equal(&c->doubts[i], &sample_counters.doubts[i],
                            sizeof(struct jpr_doubts));
    x.rows = y.rows = NULL;
    x.unseen = y.unseen = NULL;
    assert_int_equal(c->n_pauses, sample_counters.n_pauses);
    for (i = 0; i < c->n_pauses; i++)
        assert_memory_equal(&c->pauses[i], &sample_counters.pauses[i],
                            sizeof(struct jpr_pause));
    x.doubts = y.doubts = NULL;
    x.pauses = y.pauses = NULL;
    assert_memory_equal(&x, &y, sizeof(x));
}

static void check_next(struct jpr_reader *r, enum jpr_type type,
                       struct jpr_record *record)
{
    struct jp_error err = {""};

    assert_int_equal(jpr_next(r, record, &err), 1);
    assert_int_equal(record->type, type);
}

static void same_process(const struct jpr_process *p)
{
    uint32_t i;

    assert_int_equal(p->n_variables, sample_process.n_variables);
    for (i = 0; i < p->n_variables; i++) {
        assert_string_equal(p->variables[i].name,
                            sample_process.variables[i].name);
        assert_string_equal(p->variables[i].value,
                            sample_process.variables[i].value);
    }
    assert_int_equal(p->n_pids, sample_process.n_pids);
    for (i = 0; i < p->n_pids; i++)
        assert_int_equal(p->pids[i], sample_process.pids[i]);
}

static void check_whole(struct jpr_reader *r)
{
    struct jpr_record record;
    int i;

    check_next(r, JPR_HEADER, &record);
    same_header(record.header);
    check_next(r, JPR_PROCESS, &record);
    same_process(record.process);
    for (i = 0; i < 2; i++) {
        check_next(r, JPR_COMM, &record);
        same_comm(record.comm, &sample_comms[i]);
        assert_ptr_equal(jpr_comm(r, (uint32_t) i), record.comm);
    }
    assert_null(jpr_comm(r, 2));
    assert_null(jpr_comm(r, UINT32_MAX));
    for (i = 0; i < SAMPLE_OPS; i++) {
        check_next(r, JPR_OP, &record);
        same_op(record.op, &sample_ops[i]);
    }
    for (i = 0; i < SAMPLE_INFLIGHT; i++) {
        check_next(r, JPR_INFLIGHT, &record);
        assert_int_equal(record.inflight->left, SAMPLE_INFLIGHT - 1 - i);
        assert_int_equal(record.inflight->at_mono_ns, 4999999);
        assert_int_equal(record.inflight->omitted, 3);
        assert_false(record.inflight->none);
        same_op(&record.inflight->op, &sample_inflight[i]);
    }
    check_next(r, JPR_INFLIGHT, &record);
    assert_true(record.inflight->none && record.inflight->left == 0);
    check_next(r, JPR_ROOM, &record);
    assert_memory_equal(record.room, &sample_room, sizeof(sample_room));
    check_next(r, JPR_COUNTERS, &record);
    same_counters(record.counters);
    assert_int_equal(jpr_next(r, &record, NULL), 0);
    assert_int_equal(jpr_next(r, &record, NULL), 0);
    assert_true(jpr_end(r)->complete && !jpr_end(r)->cut);
    assert_int_equal(jpr_end(r)->n_ops, SAMPLE_OPS);
    assert_int_equal(jpr_end(r)->damaged, 0);
    assert_int_equal(jpr_end(r)->offset, file.n);
}

/* a compressor lives as long as its process */
static struct jpr_zip *shared_zip(void)
{
    static struct jpr_zip *zip;

    if (!zip)
        zip = jpr_zip_create();
    return zip;
}

static void round_trip(void **state)
{
    char path[] = "/tmp/jobprof-jpr-XXXXXX";
    struct jpr_zip *zip = shared_zip();
    struct jpr_reader *r;
    int packed, fd;

    (void) state;
    for (packed = 0; packed < 2; packed++) {
        sample_fill(&file, packed ? zip : NULL);
        r = jpr_open_bytes(file.bytes, file.n, "sample", NULL);
        assert_non_null(r);
        check_whole(r);
        jpr_close(r);
    }
    fd = mkstemp(path);
    assert_true(write(fd, file.bytes, file.n) == (ssize_t) file.n);
    close(fd);
    r = jpr_open(path, NULL);
    assert_non_null(r);
    check_whole(r);
    jpr_close(r);
    unlink(path);
}

/* Fills a block: with different operations, then with equal ones. */
static void full_blocks(void **state)
{
    struct jpr_packer *packer = jpr_packer_create();
    int equal;

    (void) state;
    for (equal = 0; equal < 2; equal++) {
        struct jpr_op op = sample_ops[1];
        struct jpr_record record;
        struct jpr_reader *r;
        const uint8_t *raw;
        uint64_t n = 0, i;
        size_t length;

        jpr_packer_begin(packer, false, 1);
        do {
            op.seq = n;
            op.count = equal ? 7 : n * n;
            op.enqueue_start_mono_ns = n * 1000003;
        } while (jpr_packer_add(packer, &op) && ++n);
        assert_in_range(n, 500, 5000);
        assert_int_equal(jpr_packer_count(packer), n);
        raw = jpr_packer_end(packer, 0, &length);
        sample_begin(&file);
        sample_block(&file, JPR_BLOCK_OPS, raw, length, NULL);
        r = jpr_open_bytes(file.bytes, file.n, "full", NULL);
        for (i = 0; i < n; i++) {
            op.seq = i;
            op.count = equal ? 7 : i * i;
            op.enqueue_start_mono_ns = i * 1000003;
            check_next(r, JPR_OP, &record);
            same_op(record.op, &op);
        }
        assert_int_equal(jpr_next(r, &record, NULL), 0);
        jpr_close(r);
    }
    jpr_packer_destroy(packer);
}

/* --------------------------------------------------------- cut, damaged -- */

/* Reads to the end. Returns the number of records, and the errors in *n_errors.
 */
static int read_all(const uint8_t *bytes, size_t n, struct jpr_end *end,
                    int *n_errors)
{
    struct jp_error err = {""};
    struct jpr_reader *r = jpr_open_bytes(bytes, n, "sample", &err);
    struct jpr_record record;
    int records = 0;
    int rc;

    *n_errors = 0;
    if (!r)
        return -1;
    while ((rc = jpr_next(r, &record, &err)) != 0) {
        if (rc > 0)
            records++;
        else
            ++*n_errors;
        if (rc < 0)
            assert_non_null(strstr(err.text, "sample: offset "));
    }
    *end = *jpr_end(r);
    jpr_close(r);
    return records;
}

static void cut_anywhere(void **state)
{
    struct jpr_zip *zip = shared_zip();
    static const int per_block[] = {0, 1, 1, 2, SAMPLE_OPS, SAMPLE_INFLIGHT,
                                    0, 0, 1, 1, 1};
    struct jpr_end end;
    int packed, errors, whole, want;
    size_t n;

    (void) state;
    for (packed = 0; packed < 2; packed++) {
        sample_fill(&file, packed ? zip : NULL);
        whole = -1;
        want = 0;
        for (n = 0; n <= file.n; n++) {
            if (n == file.ends[whole + 1])
                want += per_block[++whole];
            assert_int_equal(read_all(file.bytes, n, &end, &errors), want);
            assert_int_equal(errors, 0);
            assert_int_equal(end.cut,
                             n > 0 && n != file.ends[whole < 0 ? 0 : whole]);
            assert_int_equal(end.offset, whole < 0 ? 0 : file.ends[whole]);
            assert_int_equal(end.complete, n == file.n);
        }
    }
}

static void flipped_bits(void **state)
{
    struct jpr_zip *zip = shared_zip();
    struct jpr_end end;
    int packed, errors, records;
    size_t bit;

    (void) state;
    for (packed = 0; packed < 2; packed++) {
        sample_fill(&file, packed ? zip : NULL);
        for (bit = 0; bit < 8 * file.n; bit += FEWER_BY) {
            file.bytes[bit / 8] ^= (uint8_t) (1 << bit % 8);
            records = read_all(file.bytes, file.n, &end, &errors);
            if (bit < 8 * JPR_HEAD_BYTES)
                assert_int_equal(records, -1);
            else /* one block is lost, the others are read */
                assert_true(errors == 1 && end.damaged == 1 && records >= 7);
            file.bytes[bit / 8] ^= (uint8_t) (1 << bit % 8);
        }
    }
}

static void zeros_at_the_end(void **state)
{
    struct jpr_end end;
    int errors;

    (void) state;
    sample_fill(&file, NULL);
    memset(file.bytes + file.ends[4], 0, 5000);
    assert_int_equal(read_all(file.bytes, file.ends[4] + 5000, &end, &errors),
                     4 + SAMPLE_OPS);
    assert_true(errors == 0 && end.cut && end.offset == file.ends[4]);
}

/* Blocks with a correct frame and a false payload. */
static void lying_payloads(void **state)
{
    static const struct {
        enum jpr_block type;
        const char *raw;
        size_t n;
    } rows[] = {
        {JPR_BLOCK_HEADER, "", 0},
        {JPR_BLOCK_PROCESS, "", 0},
        {JPR_BLOCK_PROCESS, "\x41\0", 2},   /* variables */
        {JPR_BLOCK_PROCESS, "\0\x22\1", 3}, /* process ids */
        {JPR_BLOCK_ROOM, "", 0},
        {JPR_BLOCK_ROOM, "\1\1\xff", 3},
        {JPR_BLOCK_COMM, "", 0},
        {JPR_BLOCK_COMM, "\x01", 1},
        {JPR_BLOCK_COMM, "\xff\xff\xff\xff\xff\x01", 6},
        {JPR_BLOCK_COMM, "\x01\xff\xff\x7f\x01\x01\0\0\0\0\0\0\0", 13},
        {JPR_BLOCK_OPS, "", 0},
        {JPR_BLOCK_OPS, "\0\0\xff\xff\xff\x7f", 6},      /* texts */
        {JPR_BLOCK_OPS, "\0\0\0\xff\xff\xff\x7f", 7},    /* templates */
        {JPR_BLOCK_OPS, "\0\0\0\0\x01\0\0\0\0\0\0", 11}, /* no template */
        {JPR_BLOCK_OPS,
         "\0\0\x01\0\x01\0\x03\0\0\0\0\0\0\0" /* kind 3 */
         "\0\0\0\0\0\0\0",
         21},
        {JPR_BLOCK_OPS,
         "\0\0\x01\0\x01\0\0\0\0\0\0\0\0\0"
         "\0\0\0\x01\0\0\0",
         21}, /* text 1 */
        {JPR_BLOCK_OPS,
         "\0\0\x01\0\x01\0\0\0\0\0\0\0\0\0"
         "\0\0\0\0\0\0\x01\0\x0c\0\0\0\0",
         27}, /* source 3 */
        {JPR_BLOCK_OPS,
         "\0\0\x01\0\x01\0\0\0\0\0\0\0\0\0"
         "\0\0\0\0\0\0\x09\0\0\0\0\0\0",
         27}, /* 9 rows, one */
        {JPR_BLOCK_COUNTERS, "", 0},
        {JPR_BLOCK_COUNTERS,
         "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0",
         25}, /* 2, one */
    };
    struct jpr_end end;
    size_t i;
    int errors;

    (void) state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        sample_begin(&file);
        sample_block(&file, rows[i].type, rows[i].raw, rows[i].n, NULL);
        sample_ops_block(&file, JPR_BLOCK_INFLIGHT, NULL, 0, NULL);
        assert_in_range(read_all(file.bytes, file.n, &end, &errors), 1, 2);
        assert_int_equal(errors, 1);
        assert_false(end.cut);
    }
}

static void later_releases(void **state)
{
    struct jpr_end end;
    struct jp_error err;
    int errors;

    (void) state;
    sample_begin(&file);
    sample_block(&file, (enum jpr_block) 200, "whatever", 8, NULL);
    sample_ops_block(&file, JPR_BLOCK_OPS, sample_ops, 2, NULL);
    assert_int_equal(read_all(file.bytes, file.n, &end, &errors), 2);
    assert_int_equal(errors, 0);
    file.bytes[8] = 1;
    assert_int_equal(read_all(file.bytes, file.n, &end, &errors), 2);
    assert_int_equal(errors, 0);
    file.bytes[8] = 5;
    assert_null(jpr_open_bytes(file.bytes, file.n, "new", &err));
    assert_string_equal(err.text,
                        "new: version 5; this release reads 1, 2, 4, 8");
    assert_null(jpr_open_bytes("{\"header\":", 10, "x.log", &err));
    assert_string_equal(err.text, "x.log: not a recorder file");
    assert_null(jpr_open("/nonexistent.jpr", &err));
    assert_null(jpr_open("/", &err));
}

/* Reads operations up to the end. Their times are in exec_ns. */
static int read_times(struct jpr_reader *r, uint64_t *exec_ns, int n)
{
    struct jpr_record record;
    int i = 0, rc;

    assert_non_null(r);
    while ((rc = jpr_next(r, &record, NULL)) != 0) {
        if (rc > 0 && record.type == JPR_OP && i < n)
            exec_ns[i++] = record.op->exec_ns;
    }
    return i;
}

/* The same of a file in memory, which is closed. */
static int read_times_once(struct jpr_reader *r, uint64_t *exec_ns, int n)
{
    int i = read_times(r, exec_ns, n);

    jpr_close(r);
    return i;
}

static struct jpr_op later_op(uint64_t number)
{
    struct jpr_op op = sample_ops[0];

    op.seq = number;
    op.later = number;
    return op;
}

static struct jpr_times times_of(uint64_t number)
{
    return (struct jpr_times){.number = number,
                              .gpu_first_ns = 1000 * number,
                              .gpu_last_ns = 1000 * number + 100 + number,
                              .exec_ns = 100 + number};
}

/* A damaged block hides the times behind it from the operations before it, and
 * gives none another one's. */
static void times_behind_damage(void **state)
{
    const struct jpr_op ops[] = {later_op(1), later_op(2), later_op(3)};
    const struct jpr_times times[] = {times_of(1), times_of(2), times_of(3)};
    uint64_t exec_ns[4];

    (void) state;
    for (int damaged = 0; damaged < 2; damaged++) {
        sample_begin(&file);
        sample_ops_block(&file, JPR_BLOCK_OPS, ops, 2, NULL);
        sample_times_block(&file, 2, times, 1, NULL);
        sample_block(&file, JPR_BLOCK_ROOM, "    ", 4, NULL);
        sample_ops_block(&file, JPR_BLOCK_OPS, ops + 2, 1, NULL);
        sample_times_block(&file, 4, times + 1, 2, NULL);
        file.bytes[file.ends[2] + 1] ^= (uint8_t) damaged;
        assert_int_equal(
            read_times_once(jpr_open_bytes(file.bytes, file.n, "t", NULL),
                            exec_ns, 4),
            3);
        assert_int_equal(exec_ns[0], 101);
        assert_int_equal(exec_ns[1], damaged ? 0 : 102);
        assert_int_equal(exec_ns[2], 103);
    }
}

/* While a file grows, what is read before its times has none. */
static void times_of_a_growing_file(void **state)
{
    const struct jpr_op ops[] = {later_op(1), later_op(2), later_op(3)};
    const struct jpr_times times[] = {times_of(1), times_of(3), times_of(2)};
    char path[] = "/tmp/jobprof-jpr-XXXXXX";
    int fd = mkstemp(path);
    uint64_t exec_ns[4];
    struct jpr_reader *r;
    size_t n;

    (void) state;
    sample_begin(&file);
    sample_ops_block(&file, JPR_BLOCK_OPS, ops, 2, NULL);
    sample_times_block(&file, 2, times, 1, NULL);
    n = file.n;
    assert_true(write(fd, file.bytes, n) == (ssize_t) n);
    r = jpr_open(path, NULL);
    jpr_follow(r, NULL);
    assert_int_equal(read_times(r, exec_ns, 4), 2);
    assert_int_equal(exec_ns[0], 101);
    assert_int_equal(exec_ns[1], 0);
    sample_ops_block(&file, JPR_BLOCK_OPS, ops + 2, 1, NULL);
    sample_times_block(&file, 4, times + 1, 2, NULL);
    assert_true(write(fd, file.bytes + n, file.n - n) ==
                (ssize_t) (file.n - n));
    assert_int_equal(read_times(r, exec_ns, 4), 1);
    assert_int_equal(exec_ns[0], 103);
    jpr_close(r);
    close(fd);
    unlink(path);
}

static ssize_t fill_some(void *arg, void *buf, size_t cap)
{
    size_t *at = arg;
    size_t n = file.n - *at < cap ? file.n - *at : cap;

    memcpy(buf, file.bytes + *at, n);
    *at += n;
    return (ssize_t) n;
}

/* The times are more than a window of a stream behind the operations. */
static void times_far_behind(void **state)
{
    enum { BLOCKS = 40, BYTES = 60 * 1024 };
    const struct jpr_op ops[] = {later_op(1), later_op(2)};
    const struct jpr_times times[] = {times_of(1), times_of(2)};
    static char text[BYTES];
    uint64_t exec_ns[4];
    size_t at = 0;

    (void) state;
    sample_begin(&file);
    sample_ops_block(&file, JPR_BLOCK_OPS, ops, 2, NULL);
    for (int i = 0; i < BLOCKS; i++) {
        file.n_ends = 1; /* nobody asks for these */
        sample_block(&file, (enum jpr_block) 200, text, BYTES, NULL);
    }
    sample_times_block(&file, 3, times, 2, NULL);
    for (int stream = 0; stream < 2; stream++) {
        assert_int_equal(
            read_times_once(stream
                                ? jpr_open_stream(fill_some, &at, "t", NULL)
                                : jpr_open_bytes(file.bytes, file.n, "t", NULL),
                            exec_ns, 4),
            2);
        assert_true(exec_ns[0] == 101 && exec_ns[1] == 102);
    }
}

/* Counters of release 0.1 end before the calls without operation; later ones,
 * like most of the sample, before the recorder's cost; those of version 1 after
 * it. */
static void older_counters(void **state)
{
    uint8_t raw[1024] = {0};
    struct jpr_out out = {.bytes = raw, .size = sizeof(raw)};
    struct jpr_counters counters = sample_counters;
    struct jpr_end end;
    int errors;

    (void) state;
    sample_begin(&file);
    sample_block(&file, JPR_BLOCK_COUNTERS, raw, 21, NULL);
    counters.cost.told = false;
    jpr_put_counters(&out, &counters);
    sample_block(&file, JPR_BLOCK_COUNTERS, raw, out.used, NULL);
    out.used = 0;
    counters.cost.told = true;
    counters.n_doubts = counters.n_pauses = 0; /* one byte each */
    jpr_put_counters(&out, &counters);
    sample_block(&file, JPR_BLOCK_COUNTERS, raw, out.used - 2, NULL);
    sample_block(&file, JPR_BLOCK_COUNTERS, raw, out.used - 1, NULL);
    assert_int_equal(read_all(file.bytes, file.n, &end, &errors), 4);
    assert_int_equal(errors, 0);
}

/* Headers of older releases end before the start time, those of version 1
 * before the kernel events. */
static void older_headers(void **state)
{
    uint8_t raw[1024];
    struct jpr_out out = {.bytes = raw, .size = sizeof(raw)};
    size_t start = 4, kernels = 1; /* bytes of the last members */

    (void) state;
    jpr_put_header(&out, &sample_header);
    for (size_t cut = 0; cut < 3; cut++) {
        size_t n = out.used - (cut > 0 ? start : 0) - (cut > 1 ? kernels : 0);
        struct jpr_record record;
        struct jpr_reader *r;

        sample_begin(&file);
        sample_block(&file, JPR_BLOCK_HEADER, raw, n, NULL);
        r = jpr_open_bytes(file.bytes, file.n, "x", NULL);
        assert_int_equal(jpr_next(r, &record, NULL), 1);
        assert_true(record.header->start == (cut ? 0 : sample_header.start));
        assert_true(record.header->kernels);
        assert_int_equal(record.header->n_notes, 1);
        jpr_close(r);
    }
}

static void texts_are_made_harmless(void **state)
{
    static const struct {
        const char *text;
        const char *want;
    } rows[] = {
        {"plain", "plain"},
        {"a\x1b[31m\n", "a?[31m?"},
        {"\xff\xc3(\xed\xa0\x80\xc2\x85", "?"
                                          "?(?????"},
        {"\xe2\x82\xac", "\xe2\x82\xac"},
        {"\xe2\x82", "??"},
    };
    uint8_t raw[256];
    struct jpr_record record;
    struct jpr_reader *r;
    size_t i;

    (void) state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jpr_out out = {.bytes = raw, .size = sizeof(raw)};
        struct jpr_comm comm = sample_comms[0];

        comm.name = rows[i].text;
        sample_begin(&file);
        jpr_put_u64(&out, 1);
        jpr_put_comm(&out, &comm);
        sample_block(&file, JPR_BLOCK_COMM, raw, out.used, NULL);
        r = jpr_open_bytes(file.bytes, file.n, "x", NULL);
        assert_int_equal(jpr_next(r, &record, NULL), 1);
        assert_string_equal(record.comm->name, rows[i].want);
        jpr_close(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(bad_numbers),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(full_blocks),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(flipped_bits),
        cmocka_unit_test(zeros_at_the_end),
        cmocka_unit_test(lying_payloads),
        cmocka_unit_test(later_releases),
        cmocka_unit_test(times_behind_damage),
        cmocka_unit_test(times_of_a_growing_file),
        cmocka_unit_test(times_far_behind),
        cmocka_unit_test(older_counters),
        cmocka_unit_test(older_headers),
        cmocka_unit_test(texts_are_made_harmless),
    };

    return cmocka_run_group_tests_name("recorder file", tests, NULL, NULL);
}
