/* test_partial.c - partials that are cut, flipped and absurd. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/child.h"
#include "common/fileio.h"
#include "orchestrator/aggregate/partial.h"
#include "orchestrator/aggregate/partial_parts.h"
#include "orchestrator/aggregate/timeline.h"
#include "tests/aggregate/jpr_maker.h"
#include "tests/aggregate/partial_seal.h"
#include "tests/common/tempdir.h"

static void put_coll(FILE *f, unsigned rank, const char *func, unsigned sn,
                     unsigned bytes)
{
    fprintf(f,
            "{\"header\":{\"id\":\"0x1\",\"comm_name\":\"c\",\"rank\":%u,"
            "\"n_ranks\":4,\"nnodes\":2},\"metadata\":{\"dump_timestamp_us\":"
            "%u,\"hostname\":\"h\",\"pid\":%u},\"coll_perf\":{\"coll\":\"%s\","
            "\"coll_algo\":\"RING\",\"coll_timing_source\":\"kernel_cpu\","
            "\"coll_sn\":%u,\"coll_msg_size_bytes\":%u,\"coll_exec_time_us\":"
            "%u,\"coll_busbw_gbs\":%u.5}}\n",
            rank, 1000 + sn, 7 + rank, func, sn, bytes, 10 + (sn + rank) % 3,
            sn);
}

static void put_p2p(FILE *f, unsigned rank, unsigned sn)
{
    fprintf(f,
            "{\"header\":{\"id\":\"0x1\",\"rank\":%u,\"n_ranks\":4,\"nnodes\":"
            "2},\"metadata\":{\"hostname\":\"h\",\"pid\":%u},"
            "\"p2p_perf\":{\"p2p\":\"Send\",\"p2p_sn\":%u,\"p2p_peer\":3,"
            "\"p2p_msg_size_bytes\":8,\"p2p_exec_time_us\":4,"
            "\"p2p_busbw_gbs\":1}}\n",
            rank, 7 + rank, sn);
}

/* Two ranks' logs in <dir>/n1: gaps, sizes, strays, Send. */
static void put_logs(const char *dir)
{
    for (unsigned rank = 0; rank < 2; rank++) {
        char *path = text_format("%s/n1/%u.log", dir, rank);
        FILE *f;

        f = fopen(path, "w");
        assert_non_null(f);
        for (unsigned sn = 0; sn < 6; sn++) {
            put_coll(f, rank, "AllReduce", sn * (sn > 3 ? 50 : 1),
                     64u << sn % 2);
            put_coll(f, rank, "Broadcast", sn, 8);
            put_p2p(f, rank, sn + 1);
        }
        put_coll(f, rank, "AllReduce", rank, 77);
        fputs("rubbish\n", f);
        fclose(f);
        free(path);
    }
}

/* A recording beside them: an operation that never ended, counters, a note. */
static void put_recording(const char *dir)
{
    const struct jpr_comm comm = {.known = true,
                                  .id = 2,
                                  .name = "dp",
                                  .rank = 1,
                                  .n_ranks = 2,
                                  .n_nodes = 1,
                                  .gpu_pci = "",
                                  .gpu_uuid = ""};
    struct jpr_op op = {.func = "AllReduce", JPR_MAKER_NO_TEXTS, .bytes = 64};
    char *path = text_format("%s/n1/2.jpr", dir);
    FILE *f = fopen(path, "w");
    struct jpr_maker *maker = jpr_maker_create(f);

    jpr_maker_header(maker, "h", 9, 3, "JOBPROF_X=1: unknown");
    jpr_maker_comm(maker, &comm);
    jpr_maker_times(&op, JPR_MAKER_MONO_NS, 10);
    op.tag = 3;
    jpr_maker_op(maker, &op);
    op = (struct jpr_op){.func = "AllReduce",
                         JPR_MAKER_NO_TEXTS,
                         .seq = 1,
                         .bytes = 64,
                         .enqueue_start_mono_ns = JPR_MAKER_MONO_NS + 5000,
                         .n_channels = 4,
                         .channels_started = 2};
    jpr_maker_snapshot(maker, JPR_MAKER_MONO_NS + 9000, &op, 1);
    jpr_maker_unseen(maker, 0, "Broadcast", 7);
    jpr_maker_counters(maker, JPR_MAKER_MONO_NS + 20000000000, false, 3, 5);
    jpr_maker_destroy(maker);
    fclose(f);
    free(path);
}

static int *n_synced; /* shared with the child that calls fsync */

int fsync(int fd)
{
    (void) fd;
    if (n_synced)
        __atomic_fetch_add(n_synced, 1, __ATOMIC_RELAXED);
    return 0;
}

/* Makes the partial of put_logs and put_recording. Caller frees. */
static uint8_t *make(const char *dir, size_t *n)
{
    const struct jp_aggregate_options options = {0};
    struct jp_error err = {""};
    char *raw = text_format("%s/n1", dir);
    char *path = text_format("%s/partial.jpp", dir), *text;

    assert_int_equal(fileio_mkdirs(raw, NULL), 0);
    put_logs(dir);
    put_recording(dir);
    n_synced = child_alloc(sizeof(*n_synced));
    assert_non_null(n_synced);
    if (partial_make(raw, path, &options, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(*n_synced, 2); /* the file and its folder */
    child_free(n_synced, sizeof(*n_synced));
    n_synced = NULL;
    assert_true(partial_estimate_ms(raw) > 0);
    assert_int_equal(fileio_read(path, false, 1 << 20, &text, n, &err), 0);
    free(raw);
    free(path);
    return (uint8_t *) text;
}

/* True: the partial was accepted; otherwise err (may be NULL) has the reason.
 */
static bool takes(const void *bytes, size_t n, struct jp_error *err)
{
    struct join_budget budget = {.limit = 64 << 20, .journal_limit = 32 << 20};
    struct partial *partial = partial_open_bytes(bytes, n, err);
    struct join *join = partial ? partial_load(partial, &budget, err) : NULL;
    bool taken = join != NULL;

    join_destroy(join);
    join_phases_fini(&budget);
    partial_close(partial);
    return taken;
}

static void keeps_all(void **state)
{
    struct join_budget budget = {.limit = 64 << 20, .journal_limit = 32 << 20};
    struct jp_error err = {""};
    struct partial *partial;
    struct join *join;
    size_t n;
    uint8_t *bytes = make(*state, &n);

    partial = partial_open_bytes(bytes, n, &err);
    assert_non_null(partial);
    assert_int_equal(partial->n_files, 3);
    assert_string_equal(partial->files[1].path, "1.log");
    assert_int_equal(partial->files[1].read.bad_lines, 1);
    assert_int_equal(partial->files[1].read.lines, 20);
    join = partial_load(partial, &budget, &err);
    if (!join)
        fail_msg("%s", err.text);
    assert_int_equal(join->coll_records, 27);
    assert_int_equal(join->n_strays, 2);
    assert_int_equal(join->p2p_records, 12);
    assert_int_equal(join->comms[0]->n_series, 2);
    assert_int_equal(join->comms[0]->n_paths, 2);
    assert_string_equal(record_algo_word(join->comms[0]->paths[0].algo),
                        "RING");
    assert_int_equal(join->comms[0]->paths[0].records +
                         join->comms[0]->paths[1].records,
                     26);
    assert_int_equal(
        join->members[0]->kernel_cpu + join->members[1]->kernel_cpu, 26);
    /* the logs have messages, whose times do not add up; the recording has
     * neither */
    for (size_t i = 0; i < partial->n_files; i++)
        assert_true(!partial->files[i].read.sequence ||
                    !partial->files[i].read.sequence->strip);
    assert_int_equal(join->members[1]->pid, 8);
    assert_string_equal(join->members[1]->host, "h");
    join_destroy(join);
    join_phases_fini(&budget);
    partial_close(partial);
    free(bytes);
}

/* A process with several GPUs counts as one for each, unless they are more than
 * a machine can have: each costs a walk over all rows. */
static void splits_gpus(void **state)
{
    static const struct {
        uint64_t gpus;
        size_t processes;
    } rows[] = {{1, 1}, {2, 2}, {256, 256}, {257, 1}, {5000, 1}};

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct hangs_evidence evidence = {.process = {.host = "h", .pid = 7}};
        struct jp_hangs hangs = {0};
        struct hangs_sum sum = {.hangs = &hangs};
        struct progress_row row = {.n_ranks = 2, .kind = JPR_N_OP_KINDS};

        for (row.device = 1; row.device <= rows[i].gpus; row.device++) {
            row.hash = row.device;
            assert_int_equal(progress_add(&evidence.progress, &row), 0);
        }
        assert_int_equal(hangs_has_gpus(&evidence), rows[i].gpus > 1);
        assert_int_equal(hangs_sum_add(&sum, &evidence), 0);
        assert_int_equal(hangs.n_processes, rows[i].processes);
        assert_int_equal(sum.progress.n, rows[i].gpus);
        hangs_sum_fini(&sum);
        hangs_fini(&hangs);
        hangs_evidence_fini(&evidence);
    }
}

/* The phases of the recording's only operation, and of no other one. */
static void keeps_phases(void **state)
{
    struct join_budget budget = {.limit = 64 << 20, .journal_limit = 32 << 20};
    struct partial *partial;
    struct join *join;
    unsigned n_phased = 0;
    size_t n;
    uint8_t *bytes = make(*state, &n);

    /* numbers of another file: they are not those of the partial */
    assert_int_equal(join_phase_get(&budget, "forward", 7), 1);
    partial = partial_open_bytes(bytes, n, NULL);
    join = partial_load(partial, &budget, NULL);
    assert_non_null(join);
    assert_string_equal(budget.phases[1], "tag 3");
    assert_null(budget.phases[2]);
    for (uint32_t c = 0; c < join->n_comms; c++)
        for (uint32_t s = 0; s < join->comms[c]->n_series; s++) {
            const struct blockmap *map = &join->comms[c]->series[s]->blocks;

            for (size_t i = 0; i < blockmap_slots(map); i++) {
                const struct join_block *block = (void *) map->slots[i];

                for (unsigned k = 0; block && block->stamps && k < JOIN_BLOCK;
                     k++) {
                    assert_true(!block->stamps[k].phase ||
                                (block->stamps[k].phase == 2 && k == 0));
                    n_phased += block->stamps[k].phase != 0;
                }
            }
        }
    assert_int_equal(n_phased, 1);
    join_destroy(join);
    join_phases_fini(&budget);
    partial_close(partial);
    free(bytes);
}

static void keeps_a_recording(void **state)
{
    const struct recfile_tail *tail;
    struct hangs_evidence *e;
    struct partial *partial;
    size_t n, n_hangs = 0;
    uint8_t *bytes = make(*state, &n);

    partial = partial_open_bytes(bytes, n, NULL);
    assert_non_null(partial);
    assert_true(partial->files[2].read.has_counters);
    assert_true(partial->files[2].read.cut);
    assert_non_null(strstr(partial->files[2].read.notes, "JOBPROF_X=1"));
    tail = source_tail(&partial->files[2].read);
    assert_int_equal(tail->counts.lost, 3);
    assert_int_equal(tail->counts.left_out, 5);
    assert_int_equal(tail->in_flight, 1);
    assert_int_equal(tail->unseen_calls, 7);
    assert_string_equal(tail->unseen[0].func, "Broadcast");
    assert_int_equal(tail->oldest_ns, JPR_MAKER_REAL_NS + 5000);
    assert_int_equal(tail->last_ns, JPR_MAKER_REAL_NS + 20000000000);
    e = partial_load_hangs(partial, &n_hangs, NULL);
    assert_non_null(e);
    assert_int_equal(n_hangs, 1);
    assert_string_equal(e->process.host, "h");
    assert_int_equal(e->process.task, 3);
    assert_true(e->process.busy && e->process.cut);
    assert_int_equal(e->n_ops, 1);
    assert_string_equal(e->ops->id, "0x2");
    assert_string_equal(e->ops->name, "dp");
    assert_int_equal(e->ops->seq, 1);
    assert_int_equal(e->ops->started, 2);
    assert_int_equal(hangs_age_ns(e->ops), 19999995000);
    assert_int_equal(e->progress.n, 2);
    partial_free_hangs(e, n_hangs);
    partial_close(partial);
    free(bytes);
}

static void refuses_every_cut(void **state)
{
    size_t n;
    uint8_t *bytes = make(*state, &n), *room = malloc(n);

    assert_true(takes(bytes, n, NULL));
    for (size_t i = 0; i < n; i++) {
        struct jp_error err = {""};
        uint8_t *cut = realloc(room, i ? i : 1);

        assert_non_null(cut);
        memcpy(cut, bytes, i);
        room = cut;
        assert_false(takes(cut, i, &err));
        assert_true(*err.text);
    }
    free(room);
    free(bytes);
}

static void refuses_every_flip(void **state)
{
    size_t n;
    uint8_t *bytes = make(*state, &n);

    for (size_t i = 0; i < 8 * n; i++) {
        uint32_t version;

        bytes[i / 8] ^= (uint8_t) (1u << i % 8);
        version = jpr_get_le32(bytes + PARTIAL_MAGIC_BYTES);
        /* version 8 has the same layout where all host names and pids differ */
        assert_int_equal(takes(bytes, n, NULL), version == PARTIAL_COURSE);
        bytes[i / 8] ^= (uint8_t) (1u << i % 8);
    }
    assert_true(takes(bytes, n, NULL));
    bytes = realloc(bytes, n + 1);
    assert_non_null(bytes);
    bytes[n] = 0;
    assert_false(takes(bytes, n + 1, NULL));
    free(bytes);
}

/* With right CRCs: accepted or not, but no number is used beyond its bounds. */
static void survives_absurd_numbers(void **state)
{
    static const uint8_t odd[] = {0, 1, 2, 3, 0x7f, 0x80, 0xff};
    size_t n, taken = 0, refused = 0;
    uint8_t *bytes = make(*state, &n), *sealed = malloc(n);

    assert_non_null(sealed);
    for (size_t i = PARTIAL_HEAD_BYTES; i < n; i++)
        for (size_t k = 0; k < sizeof(odd); k++) {
            size_t len;

            memcpy(sealed, bytes, n);
            sealed[i] = odd[k];
            len = partial_seal(sealed, n);
            if (takes(sealed, len, NULL))
                taken++;
            else
                refused++;
        }
    assert_true(taken > 100 && refused > 1000);
    free(sealed);
    free(bytes);
}

/* The frame of the first block of a type. */
static uint8_t *find_block(uint8_t *bytes, size_t n, enum partial_block type)
{
    for (size_t at = PARTIAL_HEAD_BYTES; at + PARTIAL_FRAME_BYTES <= n;
         at += PARTIAL_FRAME_BYTES + jpr_get_le32(bytes + at + 4))
        if (jpr_get_le32(bytes + at) == type)
            return bytes + at;
    return NULL;
}

/* A stray that comes twice: its sums would be taken back twice. */
static void refuses_a_repeated_stray(void **state)
{
    size_t n, len;
    uint8_t *bytes = make(*state, &n), *payload;
    uint8_t *frame = find_block(bytes, n, PARTIAL_STRAYS);

    assert_non_null(frame);
    payload = frame + PARTIAL_FRAME_BYTES;
    len = (jpr_get_le32(frame + 4) - 1) / 2;
    assert_int_equal(payload[0], 2);
    assert_int_equal(jpr_get_le32(frame + 4), 1 + 2 * len);
    assert_true(takes(bytes, partial_seal(bytes, n), NULL));
    memcpy(payload + 1 + len, payload + 1, len);
    assert_false(takes(bytes, partial_seal(bytes, n), NULL));
    free(bytes);
}

/* Puts one payload in place of all others, and expects a refusal. */
static void refuses_huge_lengths(void **state)
{
    uint8_t *bytes, *end;
    struct jp_error err = {""};
    size_t n;

    bytes = make(*state, &n);
    end = bytes + PARTIAL_HEAD_BYTES;
    jpr_put_le32(end + 4, PARTIAL_MAX_BLOCK);
    assert_false(takes(bytes, n, &err));
    assert_string_equal(err.text, "the partial is cut");
    jpr_put_le32(end + 4, PARTIAL_MAX_BLOCK + 1);
    assert_false(takes(bytes, n, &err));
    assert_string_equal(err.text, "the partial is damaged");
    free(bytes);
}

static void leaves_nothing_on_failure(void **state)
{
    const struct jp_aggregate_options small = {.memory_bytes = 8192};
    const struct jp_aggregate_options options = {0};
    char *raw = text_format("%s/n1", (char *) *state);
    char *none = text_format("%s/none", (char *) *state);
    char *path = text_format("%s/other.jpp", (char *) *state);
    struct jp_error err = {""};
    size_t n;

    free(make(*state, &n));
    assert_int_equal(partial_make(raw, path, &small, &err), -1);
    assert_non_null(strstr(err.text, "memory bound"));
    assert_int_equal(partial_make(none, path, &options, &err), -1);
    assert_int_equal(mkdir(none, 0700), 0);
    assert_int_equal(partial_make(none, path, &options, &err), 1);
    assert_int_equal(partial_estimate_ms(none), 0);
    assert_int_equal(access(path, F_OK), -1);
    free(raw);
    free(none);
    free(path);
}

/* --- timelines --- */

/* The recording's timeline of at most `limit` operations; NULL: there is none.
 * The caller destroys it. */
static struct timeline *load_timeline(const uint8_t *bytes, size_t n,
                                      uint64_t most)
{
    struct join_budget budget = {.limit = 64 << 20, .journal_limit = 32 << 20};
    struct partial *partial = partial_open_bytes(bytes, n, NULL);
    struct timeline *timeline;

    assert_non_null(partial);
    partial->timeline_events = most;
    join_destroy(partial_load(partial, &budget, NULL));
    join_phases_fini(&budget);
    timeline = partial->files[2].read.timeline;
    partial->files[2].read.timeline = NULL;
    partial_close(partial);
    return timeline;
}

/* Packs five operations of two series as the recording's timeline. */
static struct timeline *five(uint64_t limit)
{
    struct timeline *t = timeline_create(limit, 0);

    for (uint64_t i = 0; i < 5; i++) {
        struct record r = {
            .id = {"0x2", 3},
            .func = {i == 3 ? "Send" : "AllReduce", i == 3 ? 4 : 9},
            .host = {"h", 1},
            .pid = 9,
            .n_ranks = 2,
            .nnodes = 1,
            .rank = 1,
            .p2p = i == 3,
            .sn = 7 * i,
            .bytes = 64 << i,
            .start_us = 1000000 + 300 * i,
            .end_us = 1000050 + 300 * i};

        assert_int_equal(timeline_add(t, &r), 0);
    }
    return t;
}

static void assert_same(const struct timeline *a, const struct timeline *b)
{
    assert_string_equal(a->host, b->host);
    assert_int_equal(a->pid, b->pid);
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->left, b->left);
    assert_int_equal(a->mixed, b->mixed);
    assert_int_equal(a->first_us, b->first_us);
    assert_int_equal(a->last_us, b->last_us);
    assert_int_equal(a->n_series, b->n_series);
    for (uint32_t i = 0; i < a->n_series; i++) {
        assert_string_equal(a->series[i].id, b->series[i].id);
        assert_string_equal(a->series[i].func, b->series[i].func);
        assert_int_equal(a->series[i].low, b->series[i].low);
        assert_int_equal(a->series[i].high, b->series[i].high);
        assert_int_equal(a->series[i].p2p, b->series[i].p2p);
    }
    assert_int_equal(a->used, b->used);
    assert_memory_equal(a->bytes, b->bytes, a->used);
}

/* The bytes of make() with another timeline. Caller frees. */
static uint8_t *with_timeline(void *state, struct timeline *t, size_t *n)
{
    size_t old, len, room, head;
    uint8_t *bytes = make(state, &old), *frame, *all;
    const struct source_facts files[3] = {[2].timeline = t};
    const struct jp_logwalk walk = {.n_logs = 3};
    struct partial_out w = {.stream = NULL};
    char *text = NULL;

    frame = find_block(bytes, old, PARTIAL_TIMELINE);
    assert_non_null(frame);
    head = (size_t) (frame - bytes);
    len = PARTIAL_FRAME_BYTES + jpr_get_le32(frame + 4);
    w.stream = open_memstream(&text, &room);
    assert_non_null(w.stream);
    assert_int_equal(partial_put_processes(&w, &walk, files), 0);
    fclose(w.stream);
    free(w.out.bytes);
    *n = old - len + room;
    all = malloc(*n);
    assert_non_null(all);
    memcpy(all, bytes, head);
    memcpy(all + head, text, room);
    memcpy(all + head + room, frame + len, old - head - len);
    free(text);
    free(bytes);
    return all;
}

static void keeps_a_timeline(void **state)
{
    struct timeline *t, *same;
    size_t n;
    uint8_t *bytes = make(*state, &n);

    t = load_timeline(bytes, n, UINT64_MAX); /* of what put_recording wrote */
    assert_non_null(t);
    assert_int_equal(t->n, 1);
    assert_string_equal(t->series->func, "AllReduce");
    assert_int_equal(t->pid, 9);
    timeline_destroy(t);
    free(bytes);
    for (uint64_t limit = 0; limit <= 5; limit++) { /* cut in either place */
        struct timeline *whole = five(5), *cut = five(limit);

        bytes = with_timeline(*state, whole, &n);
        same = load_timeline(bytes, n, limit);
        assert_non_null(same);
        assert_same(same, cut);
        timeline_destroy(same);
        free(bytes);
        bytes = with_timeline(*state, cut, &n);
        same = load_timeline(bytes, n, UINT64_MAX);
        assert_non_null(same);
        assert_same(same, cut);
        timeline_destroy(same);
        timeline_destroy(whole);
        timeline_destroy(cut);
        free(bytes);
    }
}

/* A timeline that cannot be: the whole partial is refused. */
static void refuses_odd_timelines(void **state)
{
    for (int odd = 0; odd < 6; odd++) {
        struct timeline *t = five(5);
        size_t n;
        uint8_t *bytes;

        switch (odd) {
        case 1: /* more operations than there are */
            t->n++;
            break;
        case 2: /* fewer */
            t->n--;
            break;
        case 3: /* a series without an operation */
            t->series[t->n_series++] = t->series[0];
            break;
        case 4: /* the second one comes first */
            t->bytes[0] = 1;
            break;
        case 5: /* cut */
            t->used--;
            break;
        }
        bytes = with_timeline(*state, t, &n);
        assert_int_equal(takes(bytes, n, NULL), odd == 0);
        free(bytes);
        timeline_destroy(t);
    }
}

/* Removes the first block of that type. */
static size_t without_block(uint8_t *bytes, size_t n, enum partial_block type)
{
    uint8_t *frame = find_block(bytes, n, type), *end;
    size_t len;

    assert_non_null(frame);
    len = PARTIAL_FRAME_BYTES + jpr_get_le32(frame + 4);
    memmove(frame, frame + len, n - (size_t) (frame - bytes) - len);
    n -= len;
    end = find_block(bytes, n, PARTIAL_END);
    assert_non_null(end);
    end[PARTIAL_FRAME_BYTES]--;
    return partial_seal(bytes, n);
}

/* Messages of an unknown member, or of one that has them already, a shift
 * beyond all numbers, too many parts, fewer than announced, a time that does
 * not fit: the whole partial is refused. */
static void refuses_odd_messages(void **state)
{
    static const struct {
        uint8_t n, bytes[8];
    } odd[] = {
        {4, {0, 0, 1, 1}},  /* good */
        {4, {0, 56, 1, 1}}, /* good */
        {4, {0x7f, 0, 1, 1}},    {4, {1, 0, 1, 1}},
        {4, {0, 57, 1, 1}},      {4, {0, 0, 2, 1}},
        {5, {0, 0, 0x81, 2, 1}}, {8, {0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0x1f}},
    };

    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        size_t n, len, at;
        uint8_t *bytes = make(*state, &n), *frame, *more;

        frame = find_block(bytes, n, PARTIAL_MESSAGES);
        assert_non_null(frame);
        at = (size_t) (frame - bytes) + PARTIAL_FRAME_BYTES;
        len = jpr_get_le32(frame + 4);
        more = calloc(1, n + sizeof(odd->bytes));
        assert_non_null(more);
        memcpy(more, bytes, at);
        memcpy(more + at, odd[i].bytes, odd[i].n);
        memcpy(more + at + odd[i].n, bytes + at + len, n - at - len);
        jpr_put_le32(more + at - PARTIAL_FRAME_BYTES + 4, odd[i].n);
        n = partial_seal(more, n - len + odd[i].n);
        assert_int_equal(takes(more, n, NULL), i < 2);
        free(more);
        free(bytes);
    }
}

/* The sequence of a log without messages has a strip, in which pieces of a file
 * add up. It is refused without the sequence. */
static void keeps_what_ended(void **state)
{
    char *raw = text_format("%s/n1", (char *) *state);
    char *path = text_format("%s/0.log", raw);
    char *packed = text_format("%s/partial.jpp", (char *) *state), *text;
    const struct jp_aggregate_options options = {.threads = 3,
                                                 .piece_bytes = 2000};
    struct join_budget budget = {.limit = 64 << 20, .journal_limit = 32 << 20};
    struct jp_error err = {""};
    struct partial *partial;
    struct join *join;
    const struct timeline *t;
    size_t n;
    uint64_t us = 0, ops = 0;
    FILE *f;

    assert_int_equal(fileio_mkdirs(raw, NULL), 0);
    f = fopen(path, "w");
    for (unsigned sn = 0; sn < 50; sn++)
        put_coll(f, 0, "AllReduce", sn, 64);
    fclose(f);
    assert_int_equal(partial_make(raw, packed, &options, &err), 0);
    assert_int_equal(fileio_read(packed, false, 1 << 20, &text, &n, &err), 0);
    partial = partial_open_bytes(text, n, &err);
    assert_non_null(partial);
    join = partial_load(partial, &budget, &err);
    assert_non_null(join);
    t = partial->files[0].read.sequence;
    assert_true(t && t->n == 50 && t->strip);
    assert_int_equal(t->strip->n_keys, TIMELINE_ORDER_KEYS);
    for (unsigned i = 0; i < t->strip->n; i++) {
        us += t->strip->keys[TIMELINE_ORDER_US].us[i];
        ops += t->strip->keys[TIMELINE_ORDER_OPS].us[i];
    }
    assert_int_equal(ops, 50);
    assert_true(us > 0);
    join_destroy(join);
    join_phases_fini(&budget);
    partial_close(partial);
    assert_true(takes(text, n, NULL));
    n = without_block((uint8_t *) text, n, PARTIAL_SEQUENCE);
    assert_false(takes(text, n, NULL)); /* it is nobody's */
    free(text);
    free(packed);
    free(path);
    free(raw);
}

/* Earlier releases wrote no strips, and before that no timelines; their
 * partials are still read. */
static void reads_the_older_version(void **state)
{
    size_t n;
    uint8_t *bytes = make(*state, &n);

    jpr_put_le32(bytes + PARTIAL_MAGIC_BYTES, PARTIAL_STRIPS - 1);
    assert_false(takes(bytes, n, NULL)); /* it has one nevertheless */
    while (find_block(bytes, n, PARTIAL_STRIP))
        n = without_block(bytes, n, PARTIAL_STRIP);
    jpr_put_le32(bytes + PARTIAL_MAGIC_BYTES, PARTIAL_STRIPS - 1);
    assert_false(takes(bytes, n, NULL)); /* they had no intervals, either */
    n = without_block(bytes, n, PARTIAL_INTERVALS);
    jpr_put_le32(bytes + PARTIAL_MAGIC_BYTES, PARTIAL_STRIPS - 1);
    assert_false(takes(bytes, n, NULL)); /* ... and no sequences ... */
    while (find_block(bytes, n, PARTIAL_SEQUENCE))
        n = without_block(bytes, n, PARTIAL_SEQUENCE);
    jpr_put_le32(bytes + PARTIAL_MAGIC_BYTES, PARTIAL_STRIPS - 1);
    assert_false(takes(bytes, n, NULL)); /* ... no messages ... */
    jpr_put_le32(bytes + PARTIAL_MAGIC_BYTES, PARTIAL_COURSE);
    assert_false(takes(bytes, n, NULL)); /* ... no algorithms ... */
    jpr_put_le32(bytes + PARTIAL_MAGIC_BYTES, PARTIAL_WORDS);
    assert_true(takes(bytes, n, NULL));
    n = without_block(bytes, n, PARTIAL_WORD);
    jpr_put_le32(bytes + PARTIAL_MAGIC_BYTES, PARTIAL_COURSE);
    assert_false(takes(bytes, n, NULL)); /* ... and no phases */
    while (find_block(bytes, n, PARTIAL_PHASES))
        n = without_block(bytes, n, PARTIAL_PHASES);
    jpr_put_le32(bytes + PARTIAL_MAGIC_BYTES, PARTIAL_COURSE);
    assert_true(takes(bytes, n, NULL));
    for (int rank = 0; rank < 2; rank++)
        n = without_block(bytes, n, PARTIAL_MESSAGES);
    jpr_put_le32(bytes + PARTIAL_MAGIC_BYTES, PARTIAL_STRIPS - 1);
    assert_true(takes(bytes, n, NULL));
    n = without_block(bytes, n, PARTIAL_TIMELINE);
    for (uint32_t version = PARTIAL_OLDEST - 1; version <= PARTIAL_VERSION + 1;
         version++) {
        struct jp_error err = {""};
        bool good = version == PARTIAL_VERSION ||
                    (version >= PARTIAL_OLDEST && version <= PARTIAL_BEFORE);

        jpr_put_le32(bytes + PARTIAL_MAGIC_BYTES, version);
        assert_int_equal(takes(bytes, n, &err), good);
        assert_int_equal(!*err.text, good);
        if (good)
            assert_null(load_timeline(bytes, n, UINT64_MAX));
    }
    free(bytes);
}

/* A version that lacks what this one has is refused by its number, even where
 * each of its blocks can be read: a report would lack it silently. */
static void refuses_another_layout(void **state)
{
    struct jp_error err = {""};
    size_t n;
    uint8_t *bytes = make(*state, &n);

    assert_true(takes(bytes, n, NULL));
    jpr_put_le32(bytes + PARTIAL_MAGIC_BYTES, 64);
    assert_false(takes(bytes, n, &err));
    assert_non_null(strstr(err.text,
                           "a partial of version 64; this release reads 5 to 8 "
                           "and 256"));
    free(bytes);
}

#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, tempdir_make, tempdir_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keeps_all),
        TEST(keeps_what_ended),
        TEST(keeps_phases),
        TEST(splits_gpus),
        TEST(keeps_a_recording),
        TEST(refuses_every_cut),
        TEST(refuses_every_flip),
        TEST(survives_absurd_numbers),
        TEST(refuses_a_repeated_stray),
        TEST(refuses_huge_lengths),
        TEST(leaves_nothing_on_failure),
        TEST(keeps_a_timeline),
        TEST(refuses_odd_timelines),
        TEST(refuses_odd_messages),
        TEST(reads_the_older_version),
        TEST(refuses_another_layout),
    };

    return cmocka_run_group_tests_name("tests/aggregate/test_partial", tests,
                                       NULL, NULL);
}
