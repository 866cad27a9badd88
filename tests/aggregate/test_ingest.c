/* test_ingest.c - files that are cut, compressed, rubbish, odd or missing. */
#include "plugins/nccl_inspector/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "common/inflate.h"
#include "orchestrator/ingest/logwalk.h"
#include "plugins/nccl_inspector/inspector.h"
#include "tests/common/fewer.h"
#include "tests/common/tempdir.h"

/* Path in the test's folder; good for the next seven calls. */
static const char *at(const char *dir, const char *name)
{
    static char ring[8][2048];
    static unsigned next;
    char *path = ring[next++ % 8];

    snprintf(path, sizeof(ring[0]), "%s/%s", dir, name);
    return path;
}

static const char *put(const char *dir, const char *name, const char *text)
{
    free(tempdir_file(dir, name, 0600, text));
    return at(dir, name);
}

/* One gzip member; returns its length. */
static size_t pack(const void *data, size_t len, unsigned char *out, size_t cap)
{
    z_stream z = {0};

    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, 0), Z_OK);
    z.next_in = (void *) (uintptr_t) data;
    z.avail_in = (uInt) len;
    z.next_out = out;
    z.avail_out = (uInt) cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    cap = z.total_out;
    deflateEnd(&z);
    return cap;
}

/* Lines of the source joined by '|'; a '.' follows a last line without newline,
 * and a line that is too long is "L|". */
static void read_lines(struct jp_logsource *source, char *out, size_t cap)
{
    struct jp_loglines lines = {0};
    enum loglines_kind kind;
    const char *text;
    size_t len;

    assert_non_null(source);
    assert_int_equal(loglines_init(&lines, source), 0);
    *out = '\0';
    while ((kind = loglines_next(&lines, &text, &len, NULL)) != LOGLINES_END) {
        assert_int_not_equal(kind, LOGLINES_ERROR);
        snprintf(out + strlen(out), cap - strlen(out), "%.*s%c",
                 kind == LOGLINES_TOO_LONG ? 1 : (int) len,
                 kind == LOGLINES_TOO_LONG ? "L" : text,
                 kind == LOGLINES_LAST ? '.' : '|');
    }
    loglines_fini(&lines);
}

static void splits_lines(void **state)
{
    static const char *const rows[][2] = {
        {"", ""},         {"a", "a."},           {"a\n", "a|"},     {"\n", "|"},
        {"a\nb", "a|b."}, {"a\n\nb\n", "a||b|"}, {"\x1f", "\x1f."},
    };
    char out[64];

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct jp_logsource *s =
            logsource_open_memory(rows[i][0], strlen(rows[i][0]), NULL);

        read_lines(s, out, sizeof(out));
        assert_string_equal(out, rows[i][1]);
        assert_null(logsource_damage(s));
        assert_int_equal(logsource_consumed(s), strlen(rows[i][0]));
        logsource_close(s);
    }
}

/* Around every limit: the longest good line, one byte more, very much more, and
 * at the end of the file. */
static void skips_long_lines(void **state)
{
    static const size_t lens[] = {LOGLINES_MAX_BYTES, LOGLINES_MAX_BYTES + 1,
                                  LOGLINES_MAX_BYTES + LOGLINES_BLOCK,
                                  5 * LOGLINES_MAX_BYTES};
    char out[64];

    (void) state;
    for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++)
        for (int last = 0; last < 2; last++) {
            size_t len = lens[i] + (last ? 2 : 5);
            char *text = malloc(len);
            struct jp_logsource *s;

            memset(text, 'x', len);
            memcpy(text, "a\n", 2);
            if (!last)
                memcpy(text + len - 3, "\nb\n", 3);
            s = logsource_open_memory(text, len, NULL);
            if (lens[i] <= LOGLINES_MAX_BYTES) {
                struct jp_loglines lines = {0};
                const char *line;
                size_t n;

                assert_int_equal(loglines_init(&lines, s), 0);
                loglines_next(&lines, &line, &n, NULL);
                assert_int_equal(loglines_next(&lines, &line, &n, NULL),
                                 last ? LOGLINES_LAST : LOGLINES_LINE);
                assert_int_equal(n, lens[i]);
                loglines_fini(&lines);
            } else {
                read_lines(s, out, sizeof(out));
                assert_string_equal(out, last ? "a|L|" : "a|L|b|");
            }
            logsource_close(s);
            free(text);
        }
}

static void reads_gzip(void **state)
{
    unsigned char a[128], b[128], all[512] = {0};
    size_t na = pack("one\ntw", 6, a, sizeof(a));
    size_t nb = pack("o\nthree", 7, b, sizeof(b));
    char out[64];

    (void) state;
    memcpy(all, a, na);
    memcpy(all + na, b, nb);
    for (size_t pad = 0; pad < 9; pad += 4) { /* zeros may follow */
        struct jp_logsource *s =
            logsource_open_memory(all, na + nb + pad, NULL);

        read_lines(s, out, sizeof(out));
        assert_string_equal(out, "one|two|three.");
        assert_null(logsource_damage(s));
        logsource_close(s);
    }
}

static void tells_damaged_gzip(void **state)
{
    unsigned char packed[256];
    size_t n = pack("one\ntwo\nthree\n", 14, packed, sizeof(packed));
    struct jp_logsource *s;
    char out[64];

    (void) state;
    for (size_t len = 2; len < n; len++) {
        s = logsource_open_memory(packed, len, NULL);
        read_lines(s, out, sizeof(out));
        assert_string_equal(logsource_damage(s),
                            "compressed data is truncated");
        logsource_close(s);
    }
    packed[n - 6] ^= 1; /* the checksum */
    s = logsource_open_memory(packed, n, NULL);
    read_lines(s, out, sizeof(out));
    assert_string_equal(logsource_damage(s), "compressed data is corrupt");
    logsource_close(s);
    packed[n - 6] ^= 1;
    memcpy(packed + n, "more", 4);
    s = logsource_open_memory(packed, n + 4, NULL);
    read_lines(s, out, sizeof(out));
    assert_string_equal(out, "one|two|three|");
    assert_string_equal(logsource_damage(s),
                        "other bytes follow the compressed data");
    logsource_close(s);
}

/* Bytes that can be read from a file, from an offset on. */
static uint64_t readable(const char *path, uint64_t from, const char **damage)
{
    enum { ROOM = 1 << 20 };
    struct jp_logsource *s = from ? logsource_open_at(path, from, NULL)
                                  : logsource_open(path, NULL);
    char *room = malloc(ROOM);
    uint64_t all = 0;
    ssize_t n;

    assert_true(s && room);
    while ((n = logsource_read(s, room, ROOM, NULL)) > 0)
        all += (uint64_t) n;
    assert_int_equal(n, 0);
    *damage = logsource_damage(s);
    logsource_close(s);
    free(room);
    return all;
}

/* A file that is only a hole takes no space on disk. */
static void ends_at_a_hole(void **state)
{
    enum { MIB = 1 << 20, TEXT = 3 * MIB };
    static const struct {
        uint64_t hole, end; /* bytes of the hole after 3 MiB; of the file */
        uint64_t from, read;
        bool ends;
    } rows[] = {
        {0, TEXT, 0, TEXT, false},
        {65536, TEXT + 131072, 0, TEXT + 131072, false}, /* a crash's */
        {MIB, TEXT + 2 * MIB, 0, TEXT + 2 * MIB, false},
        {8 * MIB, TEXT + 9 * MIB, 0, TEXT, true},
        {1ULL << 40, TEXT + (1ULL << 40), 0, TEXT, true}, /* nothing after it */
        {8 * MIB, TEXT + 9 * MIB, MIB, TEXT - MIB, true},
        {8 * MIB, TEXT + 9 * MIB, TEXT + 4 * MIB, 0, true},
        {8 * MIB, TEXT + 9 * MIB, TEXT + 8 * MIB, MIB, false},
    };
    char *text = malloc(TEXT);

    assert_non_null(text);
    memset(text, 'x', TEXT);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *path = at(*state, "holes.log"), *damage;
        uint64_t behind = rows[i].end - TEXT - rows[i].hole, n;
        FILE *f = fopen(path, "w");

        assert_non_null(f);
        assert_int_equal(fwrite(text, 1, TEXT, f), TEXT);
        assert_int_equal(fseeko(f, (off_t) (TEXT + rows[i].hole), SEEK_SET), 0);
        assert_int_equal(fwrite(text, 1, behind, f), behind);
        assert_int_equal(fclose(f), 0);
        if (truncate(path, (off_t) rows[i].end) < 0)
            continue; /* no files of that size here */
        n = readable(path, rows[i].from, &damage);
        if (n != rows[i].read || !damage == rows[i].ends)
            fail_msg("row %zu: %ju bytes, %s", i, (uintmax_t) n,
                     damage ? damage : "-");
        assert_int_equal(unlink(path), 0);
    }
    free(text);
}

/* All bytes of a compressed source; damage as the source reports it. */
static size_t unpack(const void *data, size_t len, bool zlib, char *out,
                     size_t cap, const char **damage)
{
    struct jp_logsource *s = logsource_open_memory(data, len, NULL);
    size_t n = 0;
    ssize_t got;

    assert_non_null(s);
    assert_int_equal(zlib ? logsource_use_zlib(s, NULL) : 0, 0);
    while ((got = logsource_read(s, out + n, cap - n < 700 ? cap - n : 700,
                                 NULL)) > 0)
        n += (size_t) got;
    assert_int_equal(got, 0);
    *damage = logsource_damage(s);
    logsource_close(s);
    return n;
}

/* The inflater that is faster than zlib gives the same: whole, cut anywhere, in
 * members. */
static void agrees_with_zlib(void **state)
{
    enum { TEXT = 60000, PACKED = 80000 };
    char *text = malloc(TEXT), *a = malloc(2 * TEXT), *b = malloc(2 * TEXT);
    unsigned char *packed = malloc(PACKED);
    const char *why_a, *why_b;
    size_t len, n_a, n_b, first, step = FEWER_BY;
    unsigned random = 1;

    (void) state;
    assert_true(text && a && b && packed);
    for (size_t i = 0; i < TEXT; i++) {
        random = random * 1103515245 + 12345;
        text[i] = "{\"coll_sn\":0123456789}\n"[(random >> 16) % 24];
    }
    memset(text + 20000, 'x', 9000);
    first = pack(text, 30000, packed, PACKED);
    len = first + pack(text + 30000, 30000, packed + first, PACKED - first);
    for (size_t cut = 2; cut <= len; cut += cut + 40 < first ? 37 : step) {
        if (len - cut < step)
            cut = len;
        n_a = unpack(packed, cut, false, a, 2 * TEXT, &why_a);
        n_b = unpack(packed, cut, true, b, 2 * TEXT, &why_b);
        if (n_a != n_b || memcmp(a, b, n_a) || why_a != why_b)
            fail_msg("cut at %zu: %zu bytes, zlib %zu; %s, zlib %s", cut, n_a,
                     n_b, why_a ? why_a : "-", why_b ? why_b : "-");
    }
    assert_int_equal(n_a, TEXT);
    assert_null(why_a);
    /* corrupt: the same verdict */
    for (size_t at = 2; at < len; at += 11 * FEWER_BY) {
        packed[at] ^= (unsigned char) (1 << at % 8);
        n_a = unpack(packed, len, false, a, 2 * TEXT, &why_a);
        n_b = unpack(packed, len, true, b, 2 * TEXT, &why_b);
        packed[at] ^= (unsigned char) (1 << at % 8);
        if (n_a != n_b || memcmp(a, b, n_b) || why_a != why_b)
            fail_msg("corrupt at %zu: %zu bytes, zlib %zu; %s, zlib %s", at,
                     n_a, n_b, why_a ? why_a : "-", why_b ? why_b : "-");
    }
    free(text);
    free(packed);
    free(a);
    free(b);
}

static void sums_as_zlib_does(void **state)
{
    enum { MOST = 5000 };
    unsigned char bytes[MOST + 16];
    uint32_t random = 7, crc = 0;

    (void) state;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        random = random * 1664525 + 1013904223;
        bytes[i] = (unsigned char) (random >> 24);
    }
    for (size_t n = 0; n <= MOST; n += n < 300 ? 1 : 97)
        for (size_t at = 0; at < 16; at += 5) {
            uint32_t next = gzcrc(crc, bytes + at, n);

            assert_int_equal(next, crc32(crc, bytes + at, (uInt) n));
            crc = next;
        }
}

/* 64 MiB of zeros in 64 KiB: the reader gives up long before the end. */
static void stops_a_bomb(void **state)
{
    size_t len = 64 << 20, cap = 1 << 20;
    char *zeros = calloc(1, len), out[8];
    unsigned char *packed = malloc(cap);
    struct jp_logsource *s;

    (void) state;
    s = logsource_open_memory(packed, pack(zeros, len, packed, cap), NULL);
    read_lines(s, out, sizeof(out));
    assert_string_equal(out, "L|");
    assert_string_equal(logsource_damage(s), "expands more than 300 to 1");
    logsource_close(s);
    free(packed);
    free(zeros);
}

static void opens_only_files(void **state)
{
    static const char *const names[] = {"fifo", "link", "folder", "none"};
    const char *file = put(*state, "real.log", "x\n");

    assert_int_equal(mkfifo(at(*state, "fifo"), 0600), 0);
    assert_int_equal(symlink(file, at(*state, "link")), 0);
    assert_int_equal(mkdir(at(*state, "folder"), 0700), 0);
    for (size_t i = 0; i < 4; i++) {
        struct jp_error err = {""};

        assert_null(logsource_open(at(*state, names[i]), &err));
        assert_non_null(strstr(err.text, names[i]));
    }
}

/* A file that grows is read up to its size at the open. */
static void ignores_growth(void **state)
{
    const char *path = put(*state, "grow.log", "a\nb");
    struct jp_logsource *s = logsource_open(path, NULL);
    FILE *f = fopen(path, "a");
    char out[16];

    assert_non_null(f);
    fputs("c\nd\n", f);
    fclose(f);
    read_lines(s, out, sizeof(out));
    assert_string_equal(out, "a|b.");
    logsource_close(s);
}

/* ... and one that shrinks just ends. */
static void survives_truncation(void **state)
{
    const char *path = put(*state, "cut.log", "");
    struct jp_logsource *s;
    char out[16];

    assert_int_equal(truncate(path, 200000), 0);
    s = logsource_open(path, NULL);
    assert_int_equal(truncate(path, 0), 0);
    read_lines(s, out, sizeof(out));
    assert_null(logsource_damage(s));
    logsource_close(s);
}

static void walks_folders(void **state)
{
    const char *dir = *state;
    char deep[1024], sub[1024];
    const char *inputs[] = {dir, sub, dir};
    struct jp_logwalk walk;

    snprintf(deep, sizeof(deep), "%s/deep", dir);
    snprintf(sub, sizeof(sub), "%s/sub", dir);
    mkdir(sub, 0700);
    put(dir, "b.log", "12");
    put(dir, "a.jsonl.gz", "1");
    put(dir, "a.counts.json", "{}");
    put(dir, "d.jpr", "");
    put(dir, "summary.json", "[{\"name\":"); /* ours */
    put(dir, "a.prom", "x");
    put(dir, ".log", "x");
    put(sub, "c.log.gz", "");
    assert_int_equal(link(at(dir, "b.log"), at(sub, "hard.log")), 0);
    assert_int_equal(symlink("/", at(dir, "root")), 0);
    assert_int_equal(symlink("b.log", at(dir, "z.log")), 0);
    assert_int_equal(mkfifo(at(dir, "pipe.log"), 0600), 0);
    for (int i = 0; i < 40; i++) {
        mkdir(deep, 0700);
        put(deep, "x.log", "");
        snprintf(deep + strlen(deep), sizeof(deep) - strlen(deep), "/d");
    }
    assert_int_equal(logwalk_init(&walk, inputs, 3, NULL), 0);
    assert_int_equal(walk.n_logs, 5 + LOGWALK_MAX_DEPTH);
    assert_non_null(strstr(walk.logs[0].path, "/a.counts.json"));
    assert_true(walk.logs[0].maybe); /* a trace, if its bytes say so */
    assert_non_null(strstr(walk.logs[1].path, "/a.jsonl.gz"));
    assert_non_null(strstr(walk.logs[2].path, "/b.log"));
    assert_false(walk.logs[1].maybe || walk.logs[2].maybe);
    assert_int_equal(walk.bytes, 5);
    assert_int_equal(walk.n_skips, 4); /* root z.log pipe.log, too deep */
    logwalk_fini(&walk);
}

/* What the reader made of a file, or of a piece of one. */
struct sums {
    uint64_t records, numbers, markers, written, lost, bad, other, lines, bytes;
};

static int add_records(void *arg, const struct record *r, size_t n)
{
    struct sums *sums = arg;

    for (size_t i = 0; i < n; i++) {
        sums->records++;
        sums->numbers += r[i].sn * (r[i].rank + 1) * (r[i].p2p ? 7 : 1);
    }
    return 0;
}

static int add_marker(void *arg, const struct record *base,
                      const struct jpr_counts *counts)
{
    struct sums *sums = arg;

    sums->markers += base->rank + 1;
    sums->written += counts->written;
    sums->lost += counts->lost;
    return 0;
}

/* The same of lines in memory, which a growing file got. */
static void read_more(void *state, const char *text, size_t len,
                      struct reader_resume *resume, struct sums *sums)
{
    const struct reader_sink sink = {
        .take = add_records, .counts = add_marker, .arg = sums};
    atomic_bool stop = false;
    _Atomic uint64_t done = 0;
    struct source_facts facts = {0};
    const struct reader_input in = {.path = "log",
                                    .data = text,
                                    .len = len,
                                    .to = UINT64_MAX,
                                    .stop = &stop,
                                    .done = &done,
                                    .resume = resume};

    assert_int_equal(inspector_reader.read(state, &in, &sink, &facts), 0);
    sums->bad += facts.bad_lines;
    sums->other += facts.other_lines;
    sums->lines += facts.lines;
    sums->bytes += facts.bytes;
}

static void read_piece(const char *path, uint64_t from, uint64_t to,
                       struct sums *sums)
{
    const struct reader_sink sink = {
        .take = add_records, .counts = add_marker, .arg = sums};
    atomic_bool stop = false;
    _Atomic uint64_t done = 0;
    struct source_facts facts = {0};
    const struct reader_input in = {
        .path = path, .from = from, .to = to, .stop = &stop, .done = &done};
    void *state = inspector_reader.create();

    assert_non_null(state);
    assert_int_equal(inspector_reader.read(state, &in, &sink, &facts), 0);
    inspector_reader.destroy(state);
    sums->bad += facts.bad_lines;
    sums->other += facts.other_lines;
    sums->lines += facts.lines;
    sums->bytes += facts.bytes;
}

/* Batches (v4.3) that are cut into two or three pieces anywhere: each record is
 * read once, as its marker's, and each line counted once. */
static void splits_batches(void **state)
{
    static const char marker[] =
        "{\"header\":{\"id\":\"0x1f\",\"rank\":%u,\"n_ranks\":4,\"nnodes\":2},"
        "\"metadata\":{\"dump_timestamp_us\":7,\"hostname\":\"n1\",\"pid\":9},"
        "\"dump_stats\":{\"coll_records\":%u,\"coll_dropped_since_last_dump\":"
        "3,\"p2p_records\":1}}\n";
    static const char coll[] =
        "{\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":%u,"
        "\"coll_msg_size_bytes\":8,\"coll_exec_time_us\":5,"
        "\"coll_busbw_gbs\":1}}\n";
    char *text = NULL;
    const char *path;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    struct sums whole = {0};

    assert_non_null(f);
    fputs("{\"old\":1}\n", f);
    fprintf(f, coll, 1u); /* nobody's */
    for (unsigned rank = 0; rank < 4; rank++) {
        fprintf(f, marker, rank, 3u);
        for (unsigned sn = 0; sn < 3; sn++)
            fprintf(f, coll, 10 * rank + sn);
        fputs(rank == 1 ? "rubbish\n" : "\n", f);
        fputs(
            "{\"proxy_trace\":{}}\n{\"p2p_perf\":{\"p2p\":\"Send\",\"p2p_sn\":"
            "4,\"p2p_peer\":1,\"p2p_msg_size_bytes\":8,\"p2p_exec_time_us\":"
            "5}}\n",
            f);
        if (rank == 2)
            fprintf(f, coll, 99u); /* more than its marker counts */
    }
    assert_int_equal(fclose(f), 0);
    path = put(*state, "batches.log", text);
    read_piece(path, 0, UINT64_MAX, &whole);
    assert_int_equal(whole.records, 16);
    assert_int_equal(whole.markers, 10);
    assert_int_equal(whole.written, 16);
    assert_int_equal(whole.lost, 12);
    assert_int_equal(whole.bad, 3);
    assert_int_equal(whole.other, 5);
    assert_int_equal(whole.bytes, len);
    for (uint64_t cut = 2; cut < len; cut++) {
        uint64_t next = cut + 90 < len ? cut + 90 : len;
        struct sums pieces = {0};

        read_piece(path, 0, cut, &pieces);
        read_piece(path, cut, next, &pieces);
        read_piece(path, next, UINT64_MAX, &pieces);
        if (memcmp(&pieces, &whole, sizeof(whole)) != 0)
            fail_msg("cut at %u: %u records, %u bad, %u other, %u lines",
                     (unsigned) cut, (unsigned) pieces.records,
                     (unsigned) pieces.bad, (unsigned) pieces.other,
                     (unsigned) pieces.lines);
    }
    free(text);
}

/* A file that is read line by line as it grows, between other files. */
static void resumes_batches(void **state)
{
    static const char *const lines[] = {
        "{\"header\":{\"id\":\"0x1f\",\"rank\":1,\"n_ranks\":4,\"nnodes\":2},"
        "\"metadata\":{\"hostname\":\"n1\",\"pid\":9},\"dump_stats\":{"
        "\"coll_records\":2,\"p2p_records\":0}}\n",
        "{\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":3,"
        "\"coll_msg_size_bytes\":8,\"coll_exec_time_us\":5}}\n",
        "{\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":4,"
        "\"coll_msg_size_bytes\":8,\"coll_exec_time_us\":5}}\n",
        "{\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":5,"
        "\"coll_msg_size_bytes\":8,\"coll_exec_time_us\":5}}\n"};
    struct reader_resume resume = {{0}}, other = {{0}};
    struct sums sums = {0}, others = {0};
    void *reader = inspector_reader.create();

    (void) state;
    assert_non_null(reader);
    for (size_t i = 0; i < 4; i++) {
        read_more(reader, lines[i], strlen(lines[i]), &resume, &sums);
        read_more(reader, lines[3], strlen(lines[3]), &other, &others);
    }
    assert_int_equal(sums.records, 2);
    assert_int_equal(sums.numbers, 2 * (3 + 4));
    assert_int_equal(sums.bad, 1); /* one more than the marker counts */
    assert_int_equal(others.records, 0);
    assert_int_equal(others.bad, 4);
    inspector_reader.destroy(reader);
}

static void refuses_missing_inputs(void **state)
{
    const char *inputs[] = {*state, at(*state, "none")};
    struct jp_logwalk walk;
    struct jp_error err;

    assert_int_equal(logwalk_init(&walk, inputs, 2, &err), -1);
    assert_non_null(strstr(err.text, "none: No such file"));
    assert_int_equal(walk.n_logs, 0);
}

#define IN_DIR(test)                                                           \
    cmocka_unit_test_setup_teardown(test, tempdir_make, tempdir_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_lines),
        cmocka_unit_test(skips_long_lines),
        cmocka_unit_test(reads_gzip),
        cmocka_unit_test(tells_damaged_gzip),
        cmocka_unit_test(agrees_with_zlib),
        cmocka_unit_test(sums_as_zlib_does),
        cmocka_unit_test(stops_a_bomb),
        IN_DIR(ends_at_a_hole),
        IN_DIR(opens_only_files),
        IN_DIR(ignores_growth),
        IN_DIR(survives_truncation),
        IN_DIR(splits_batches),
        cmocka_unit_test(resumes_batches),
        IN_DIR(walks_folders),
        IN_DIR(refuses_missing_inputs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
