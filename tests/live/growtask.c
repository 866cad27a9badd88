/* growtask.c - write a task's recording while it grows. */
#include "tests/live/growtask.h"

#include <stdlib.h>

#include "tests/common/tempdir.h"

struct livenode_time at(double seconds)
{
    uint64_t ns = (uint64_t) (seconds * 1e9);

    return (struct livenode_time){JPR_MAKER_REAL_NS + ns,
                                  JPR_MAKER_MONO_NS + ns, false};
}

void task_begin(struct task *t, const char *dir, uint64_t pid, int64_t rank)
{
    task_begin_gpu(t, dir, pid, rank, "");
}

void task_begin_gpu(struct task *t, const char *dir, uint64_t pid, int64_t rank,
                    const char *bus)
{
    char name[64];

    *t = (struct task){0};
    snprintf(name, sizeof(name), "n1-pid%llu.jpr", (unsigned long long) pid);
    t->path = tempdir_path(dir, name);
    t->out = open_memstream(&t->text, &t->len);
    t->maker = jpr_maker_create(t->out);
    jpr_maker_header(t->maker, "n1", pid, rank, NULL);
    jpr_maker_comm(t->maker, &(struct jpr_comm){.index = 0,
                                                .known = true,
                                                .id = 0xabc,
                                                .name = "dp",
                                                .rank = rank,
                                                .n_ranks = 4,
                                                .gpu_pci = bus,
                                                .gpu_uuid = ""});
    t->op = (struct jpr_op){.kind = JPR_COLL,
                            .func = "AllReduce",
                            .datatype = "ncclFloat32",
                            .algo = "RING",
                            .proto = "LL",
                            .count = 1024,
                            .bytes = 4096,
                            .peer = -1,
                            .n_channels = 2,
                            .api_func = "",
                            .api_datatype = ""};
}

void task_op(struct task *t, double start, double seconds)
{
    t->op.seq = t->seq++;
    jpr_maker_times(&t->op, at(start).mono_ns, (uint64_t) (seconds * 1e6));
    jpr_maker_op(t->maker, &t->op);
}

void task_hangs(struct task *t, double since, double now)
{
    struct jpr_op op = t->op;

    op.seq = t->seq;
    jpr_maker_times(&op, at(since).mono_ns, 0);
    op.enqueue_stop_mono_ns = op.kernel_first_mono_ns = 0;
    op.kernel_last_mono_ns = op.gpu_first_ns = op.gpu_last_ns = 0;
    op.exec_ns = 0;
    jpr_maker_snapshot(t->maker, at(now).mono_ns, &op, 1);
}

void task_counters(struct task *t, double now, bool final)
{
    jpr_maker_counters(t->maker, at(now).mono_ns, final, 0, 0);
}

void task_show(struct task *t, size_t without)
{
    FILE *f;
    size_t n;

    jpr_maker_flush(t->maker);
    fflush(t->out);
    n = t->len - without;
    f = fopen(t->path, "ae");
    if (!f || fwrite(t->text + t->shown, 1, n - t->shown, f) != n - t->shown)
        abort();
    fclose(f);
    t->shown = n;
}

void task_end(struct task *t)
{
    jpr_maker_destroy(t->maker);
    fclose(t->out);
    free(t->text);
    free(t->path);
}
