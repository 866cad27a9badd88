/* fuzz_livelog.c - any bytes as a log of what has ended, which grows by pieces,
 * is cut and is written again; the first byte says how.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orchestrator/live/livenode.h"
#include "orchestrator/live/livestall.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECOND UINT64_C(1000000000)

static char folder[64], path[128];
static struct hung_times times;

static void drop(void)
{
    unlink(path);
    rmdir(folder);
}

static void make(void)
{
    if (*folder)
        return;
    snprintf(folder, sizeof(folder), "/tmp/jp-fuzz.XXXXXX");
    if (!mkdtemp(folder))
        abort();
    snprintf(path, sizeof(path), "%s/n1-pid1.log", folder);
    hung_times_set(&times, 30000);
    atexit(drop);
}

static void put(const uint8_t *data, size_t size, int flags)
{
    int fd = open(path, O_WRONLY | O_CREAT | flags, 0600);

    if (fd < 0 || (size && write(fd, data, size) != (ssize_t) size))
        abort();
    close(fd);
}

/* What others make of the node's word. */
static void judge(struct livestall *stall, const struct live_snap *snap,
                  uint64_t now_ms)
{
    static struct hung_task tasks[LIVE_JOINED_MAX];
    struct jp_hangs hangs = {0};
    struct hangs_sum sum = {.hangs = &hangs};
    const struct hung_view view = {.hangs = &hangs,
                                   .progress = &sum.progress,
                                   .tasks = tasks,
                                   .now_ms = now_ms};
    char text[512];

    if (livesnap_join(snap, &sum, tasks) < 0 || hangs_sum_finish(&sum) < 0)
        abort();
    livestall_look(stall, &view);
    livestall_answer(stall, &view, text, sizeof(text));
    assert(strlen(text) < sizeof(text));
    hangs_sum_fini(&sum);
    hangs_fini(&hangs);
}

static void look(struct livelog *log, struct livestall *stall, uint64_t now_s)
{
    static struct live_snap snap, again;
    const struct livenode_time now = {(1700000000 + now_s) * SECOND,
                                      (5000 + now_s) * SECOND, false};
    const struct livecells_labels labels = {"7", "0", "n1", "0"};
    uint8_t bytes[LIVE_SNAP_BYTES];
    struct metrics_set set;
    enum live_class class;
    struct jp_error err;

    livelog_look(log, &now, &class, &err);
    if (livelog_fill(log, &now, &snap) < 0)
        abort();
    assert(snap.n_ops == 0 && snap.n_ranks <= 1);
    snap.real_ns = now.real_ns;
    snap.mono_ns = now.mono_ns;
    if (livesnap_unpack(bytes, livesnap_pack(&snap, bytes), &again, NULL) < 0)
        abort();
    judge(stall, &again, now.mono_ns / 1000000);
    metrics_init(&set);
    if (livelog_cells(log, 0, now.mono_ns, &labels, &set) < 0)
        abort();
    metrics_fini(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct livenode_place place = {.root = "/nowhere",
                                   .node = "n1",
                                   .times = &times,
                                   .reader = backend_find("inspector"),
                                   .batch_ms = 100,
                                   .cells = true};
    struct livestall stall;
    struct livelog *log;
    size_t piece;

    if (size < 1)
        return 0;
    make();
    unlink(path);
    place.raw = folder;
    stall = (struct livestall){.times = times};
    piece = size / (1 + data[0] % 5) + 1;
    log = livelog_create(&place);
    if (!log)
        abort();
    for (size_t at = 1, i = 1; at < size; at += piece, i++) {
        put(data + at, size - at < piece ? size - at : piece, O_APPEND);
        look(log, &stall, 10 * i);
    }
    if (data[0] & 8) /* cut, and on it goes */
        put(data + 1, (size - 1) / 2, O_TRUNC);
    if (data[0] & 16) { /* another file */
        unlink(path);
        put(data + 1, size - 1, 0);
    }
    look(log, &stall, 100);
    look(log, &stall, 3000);
    livelog_destroy(log);
    return 0;
}
