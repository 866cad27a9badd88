/* fuzz_live.c - any bytes as a node's snapshot, also with a sum that is right,
 * and as what is asked of nodes.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/live/livejoin.h"
#include "orchestrator/live/livesnap.h"
#include "orchestrator/live/livewant.h"
#include "plugins/nccl_recorder/jpr_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Two nodes that tell the same. */
static void join(const struct live_snap *snap)
{
    struct hung_task *tasks = calloc(2 * LIVE_JOINED_MAX, sizeof(*tasks));
    struct jp_hangs hangs = {0};
    struct hangs_sum sum = {.hangs = &hangs};
    struct hung_view view = {.hangs = &hangs,
                             .progress = &sum.progress,
                             .tasks = tasks,
                             .now_ns = INT64_MAX,
                             .heard_ns = INT64_MAX};
    struct hung stuck = {.phase = HUNG_QUIET};
    char text[512];

    if (!tasks || livesnap_join(snap, &sum, tasks) < 0 ||
        livesnap_join(snap, &sum, tasks) < 0 || hangs_sum_finish(&sum) < 0)
        abort();
    hung_times_set(&stuck.times, 30000);
    for (int i = 0; i < 30; i++) {
        view.now_ms += 5000;
        hung_look(&stuck, &view);
    }
    for (size_t i = 0; i < hangs.n_groups && i < 64; i++) {
        struct hung_cause cause = hung_judge(&view, i);

        hung_answer(&view, &cause, text, sizeof(text));
        assert(strlen(text) < sizeof(text));
    }
    hangs_sum_fini(&sum);
    hangs_fini(&hangs);
    free(tasks);
}

static void find_late(const struct live_snap *snap)
{
    struct livelate late = {0};

    if (livelate_add(&late, snap) < 0 || livelate_add(&late, snap) < 0 ||
        livelate_finish(&late) < 0)
        abort();
    for (size_t i = 0; i < late.n; i++)
        assert(late.processes[i].late == (i < late.n_late));
    livelate_fini(&late);
}

static void ask(const uint8_t *data, size_t size)
{
    static struct livewant want;
    char *text = malloc(size + 1);

    if (!text)
        abort();
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    livewant_parse(text, "n1", &want);
    assert(want.n_targets <= LIVE_EVIDENCE_MAX);
    assert(strlen(want.hang) < sizeof(want.hang));
    free(text);
}

/* Sums are right, so that the body is looked at. */
static size_t seal(const uint8_t *data, size_t size,
                   uint8_t bytes[LIVE_SNAP_BYTES])
{
    static const char magic[8] = {'J', 'P', 'L', 'I', 'V', 'E', '\r', '\n'};
    uint32_t crc;

    memset(bytes, 0, LIVE_SNAP_BYTES);
    memcpy(bytes, data, size);
    memcpy(bytes, magic, sizeof(magic));
    jpr_put_le32(bytes + 8, LIVE_SNAP_VERSION);
    jpr_put_le32(bytes + 12, (uint32_t) (size - LIVE_HEAD_BYTES));
    bytes[39] &= 0x7f; /* a time that there is */
    bytes[52] %= LIVE_TROUBLE + 1;
    memset(bytes + 60, 0, 4);
    crc = jpr_crc32(0, bytes, size);
    jpr_put_le32(bytes + 60, crc);
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct live_snap snap;
    uint8_t bytes[LIVE_SNAP_BYTES], again[LIVE_SNAP_BYTES];

    ask(data, size);
    if (livesnap_unpack(data, size, &snap, NULL) == 0) {
        join(&snap);
        find_late(&snap);
    }
    if (size < LIVE_HEAD_BYTES || size > LIVE_SNAP_BYTES)
        return 0;
    if (livesnap_unpack(bytes, seal(data, size, bytes), &snap, NULL) == 0) {
        join(&snap);
        find_late(&snap);
        assert(livesnap_pack(&snap, again) <= LIVE_SNAP_BYTES);
    }
    return 0;
}
