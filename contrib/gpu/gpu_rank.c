/* gpu_rank.c - a rank of ncclrun: its GPU, its buffers, and what it has issued.
 *
 * Three parts: how ranks share ids of communicators, spans (timed by CUDA
 * events), and the file of results. */
#include "contrib/gpu/gpu_rank.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Time to wait for rank 0's file. */
enum { ID_WAIT_S = 120 };

int64_t gpu_now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int gpu_rank_init(struct gpu_rank *r, int local, size_t bytes,
                  struct jp_error *err)
{
    const struct gpu_cuda *cuda = &r->api.cuda;
    void *send, *recv;

    if (gpu_cuda_check(&r->api, cuda->get_device_count(&r->n_gpus),
                       "cudaGetDeviceCount", err) < 0)
        return -1;
    if (r->n_gpus < 1)
        return error_set(err, "there is no GPU");
    /* more ranks than GPUs share them in turn */
    if (gpu_cuda_check(&r->api, cuda->set_device(local % r->n_gpus),
                       "cudaSetDevice", err) < 0 ||
        gpu_cuda_check(&r->api,
                       cuda->stream_create(&r->stream, GPU_CUDA_NON_BLOCKING),
                       "cudaStreamCreateWithFlags", err) < 0 ||
        gpu_cuda_check(&r->api, cuda->malloc(&send, bytes), "cudaMalloc", err) <
            0 ||
        gpu_cuda_check(&r->api, cuda->malloc(&recv, bytes), "cudaMalloc", err) <
            0)
        return -1;
    r->send = send;
    r->recv = recv;
    r->bytes = bytes;
    return 0;
}

/* ------------------------------------------------------------ communicators */

/* Writes an id for the other tasks, by rename, so that they never read a part
 * of it. */
static int put_id_file(const struct gpu_ids *ids, const struct gpu_id *id,
                       struct jp_error *err)
{
    char path[4096], temp[4096 + 8];
    FILE *f;
    int rc;

    snprintf(path, sizeof(path), "%s.%d", ids->file, ids->n);
    snprintf(temp, sizeof(temp), "%s.new", path);
    f = fopen(temp, "we");
    if (!f)
        return error_set(err, "%s: %s", temp, strerror(errno));
    rc = fwrite(id, sizeof(*id), 1, f) == 1 ? 0 : -1;
    if (fclose(f) != 0 || rc < 0 || rename(temp, path) < 0)
        return error_set(err, "%s: %s", path, strerror(errno));
    return 0;
}

/* Waits for the id of rank 0 and reads it. */
static int get_id_file(const struct gpu_ids *ids, struct gpu_id *id,
                       struct jp_error *err)
{
    int64_t until = gpu_now_us() + ID_WAIT_S * 1000000LL;
    char path[4096];
    FILE *f;
    int rc;

    snprintf(path, sizeof(path), "%s.%d", ids->file, ids->n);
    while (!(f = fopen(path, "re"))) {
        if (gpu_now_us() > until)
            return error_set(err, "%s did not appear", path);
        /* the file is on a shared file system: poll slowly */
        usleep(50000);
    }
    rc = fread(id, sizeof(*id), 1, f) == 1 ? 0 : -1;
    fclose(f);
    return rc < 0 ? error_set(err, "%s is short", path) : 0;
}

/* Passes an id to all other ranks. */
static int put_id(const struct gpu_rank *r, const struct gpu_id *id,
                  struct jp_error *err)
{
    int i;

    if (r->ids->file)
        return put_id_file(r->ids, id, err);
    for (i = 1; i < r->n_ranks; i++) {
        if (write(r->ids->pipes[i][1], id, sizeof(*id)) != sizeof(*id))
            return error_set(err, "rank %d's pipe: %s", i, strerror(errno));
    }
    return 0;
}

int gpu_rank_id(struct gpu_rank *r, struct gpu_id *id, struct jp_error *err)
{
    int rc = 0;

    if (r->rank == 0)
        rc = gpu_nccl_check(&r->api, r->api.nccl.get_unique_id(id),
                            "ncclGetUniqueId", err) < 0
                 ? -1
                 : put_id(r, id, err);
    else if (r->ids->file)
        rc = get_id_file(r->ids, id, err);
    else if (read(r->ids->pipes[r->rank][0], id, sizeof(*id)) != sizeof(*id))
        rc = error_set(err, "no id from rank 0");
    /* the next communicator has another file */
    r->ids->n++;
    return rc;
}

int gpu_rank_join(struct gpu_rank *r, void **comm, struct jp_error *err)
{
    struct gpu_id id;

    if (gpu_rank_id(r, &id, err) < 0)
        return -1;
    return gpu_nccl_check(&r->api,
                          r->api.nccl.init_rank(comm, r->n_ranks, id, r->rank),
                          "ncclCommInitRank", err);
}

/* -------------------------------------------------------------------- spans */

/* Appends a line of the current span. Returns NULL without memory. */
static struct gpu_line *add_line(struct gpu_rank *r, const char *op,
                                 uint64_t bytes, int n)
{
    if (r->n_lines == r->max_lines) {
        /* doubled, so that appending takes constant time on average */
        size_t max = r->max_lines ? r->max_lines * 2 : 256;
        struct gpu_line *more = realloc(r->lines, max * sizeof(*more));

        if (!more)
            return NULL;
        r->lines = more;
        r->max_lines = max;
    }
    r->lines[r->n_lines] =
        (struct gpu_line){.op = op, .bytes = bytes, .n = n, .span = r->n_spans};
    return &r->lines[r->n_lines++];
}

int gpu_span_also(struct gpu_rank *r, const char *op, uint64_t bytes, int n,
                  struct jp_error *err)
{
    return add_line(r, op, bytes, n) ? 0 : error_set(err, "no memory");
}

int gpu_untimed(struct gpu_rank *r, const char *op, uint64_t bytes, int n,
                struct jp_error *err)
{
    int rc = gpu_span_also(r, op, bytes, n, err);

    r->n_spans++;
    return rc;
}

int gpu_span_begin(struct gpu_rank *r, const char *op, uint64_t bytes, int n,
                   struct jp_error *err)
{
    const struct gpu_cuda *cuda = &r->api.cuda;
    struct gpu_line *line = add_line(r, op, bytes, n);

    if (!line)
        return error_set(err, "no memory");
    /* the first span begins the measured time */
    if (!r->since_us)
        r->since_us = gpu_now_us();
    if (gpu_cuda_check(&r->api, cuda->event_create(&line->start),
                       "cudaEventCreate", err) < 0 ||
        gpu_cuda_check(&r->api, cuda->event_create(&line->stop),
                       "cudaEventCreate", err) < 0)
        return -1;
    return gpu_cuda_check(&r->api, cuda->event_record(line->start, r->stream),
                          "cudaEventRecord", err);
}

int gpu_span_end(struct gpu_rank *r, struct jp_error *err)
{
    size_t i = r->n_lines;

    /* search backwards: the first line of the span has the events */
    while (i-- > 0 && r->lines[i].span == r->n_spans) {
        if (r->lines[i].start)
            break;
    }
    r->n_spans++;
    return gpu_cuda_check(&r->api,
                          r->api.cuda.event_record(r->lines[i].stop, r->stream),
                          "cudaEventRecord", err);
}

int gpu_rank_sync(struct gpu_rank *r, struct jp_error *err)
{
    return gpu_cuda_check(&r->api, r->api.cuda.stream_sync(r->stream),
                          "cudaStreamSynchronize", err);
}

/* ----------------------------------------------------------------- the file */

int gpu_rank_open(struct gpu_rank *r, const char *out, struct jp_error *err)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/ops-%d.json", out, r->rank);
    r->out = fopen(path, "we");
    if (!r->out)
        return error_set(err, "%s: %s", path, strerror(errno));
    fprintf(r->out,
            "{\"rank\":%d,\"n_ranks\":%d,\"pid\":%d,\"nccl\":%d,\"gpus\":%d}\n",
            r->rank, r->n_ranks, (int) getpid(), r->api.version, r->n_gpus);
    /* now, because a rank that is killed later must still be identifiable */
    fflush(r->out);
    return 0;
}

/* Reads the first line of a file of /proc/self/task/<tid>; "" if there is none.
 * Characters that JSON would have to escape end it. */
static void read_task(const char *tid, const char *name, char *text, int size)
{
    char path[300];
    FILE *f;

    snprintf(path, sizeof(path), "/proc/self/task/%s/%s", tid, name);
    text[0] = '\0';
    f = fopen(path, "re");
    if (f && !fgets(text, size, f))
        text[0] = '\0';
    if (f)
        fclose(f);
    text[strcspn(text, "\n\"\\")] = '\0';
}

/* Writes the processor time of each thread, by which the cost of a profiler is
 * measured. */
static void put_threads(FILE *out)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;

    while (tasks && (entry = readdir(tasks))) {
        char name[64], times[64];

        if (entry->d_name[0] == '.')
            continue;
        read_task(entry->d_name, "comm", name, sizeof(name));
        read_task(entry->d_name, "schedstat", times, sizeof(times));
        fprintf(out, "{\"thread\":\"%s\",\"cpu_us\":%llu}\n", name,
                strtoull(times, NULL, 10) / 1000);
    }
    if (tasks)
        closedir(tasks);
}

/* Returns the time of a line's span in *ms; 0: it was not timed. */
static int get_time(struct gpu_rank *r, const struct gpu_line *line, float *ms,
                    struct jp_error *err)
{
    const struct gpu_cuda *cuda = &r->api.cuda;
    int rc;

    *ms = 0;
    if (!line->start)
        return 0;
    rc = gpu_cuda_check(&r->api,
                        cuda->event_elapsed(ms, line->start, line->stop),
                        "cudaEventElapsedTime", err);
    cuda->event_destroy(line->start);
    cuda->event_destroy(line->stop);
    return rc;
}

int gpu_rank_write(struct gpu_rank *r, struct jp_error *err)
{
    float ms = 0;
    size_t i;
    int rc;

    /* event times exist only after the stream has completed */
    if (gpu_rank_sync(r, err) < 0)
        return -1;
    for (i = 0; i < r->n_lines; i++) {
        const struct gpu_line *line = &r->lines[i];

        /* other lines of a span have the time of its first one */
        if ((i == 0 || line->start || line->span != line[-1].span) &&
            get_time(r, line, &ms, err) < 0)
            return -1;
        fprintf(r->out,
                "{\"span\":%d,\"op\":\"%s\",\"bytes\":%" PRIu64
                ",\"n\":%d,\"us\":%.3f}\n",
                line->span, line->op, line->bytes, line->n,
                (double) ms * 1000.0);
    }
    fprintf(r->out, "{\"wall_us\":%" PRId64 "}\n",
            r->since_us ? gpu_now_us() - r->since_us : 0);
    put_threads(r->out);
    rc = fclose(r->out);
    r->out = NULL;
    free(r->lines);
    r->lines = NULL;
    r->n_lines = r->max_lines = 0;
    return rc ? error_set(err, "the rank's file cannot be written") : 0;
}
