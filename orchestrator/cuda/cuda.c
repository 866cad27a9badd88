/* cuda.c - make rows from the files of CUDA counters.
 *
 * Finds the files below raw/, reads each of them (plugins/cuda/cuda_read.h),
 * sorts the processes by rank, and makes a total for each and a row for each
 * part of its time. */
#include "orchestrator/cuda/cuda.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/quote.h"
#include "common/vector.h"
#include "plugins/cuda/cuda_file.h"

/* DEPTH: deep enough for raw/<node>/cuda/. PARTS_MIN: least number of rows for
 * each file, however many files there are. */
enum { DEPTH = 4, PARTS_MIN = 8 };
/* --- find ----------------------------------------------------------------- */

struct files {
    char **at;
    size_t n, room, skipped;
    bool failed; /* no memory */
};

/* A callback of type treewalk_see. */
static int see_file(void *arg, const struct treewalk_entry *entry)
{
    static const char end[] = CUDA_FILE_END;
    size_t len = strlen(entry->name), tail = sizeof(end) - 1;
    struct files *f = arg;

    /* files are recognised by their ending */
    if (entry->what != TREEWALK_FILE || len <= tail ||
        strcmp(entry->name + len - tail, end) != 0)
        return 0;
    if (f->n == CUDA_FILES_MAX) {
        f->skipped++;
        return 0;
    }
    if (VECTOR_ROOM(f->at, f->n + 1, f->room) < 0) {
        f->failed = true;
        return -1;
    }
    /* a path without memory ends the walk */
    f->at[f->n] = strdup(entry->path);
    f->failed = !f->at[f->n];
    f->n += !f->failed;
    return f->failed ? -1 : 0;
}

static void files_fini(struct files *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->at[i]);
    free(f->at);
}

/* --- rows ----------------------------------------------------------------- */

/* All sums are 0 when a process begins. */
static const struct cuda_moment beginning;

/* The difference of two moments of a process. */
static struct jp_cuda_row between(size_t process, uint64_t start_us,
                                  const struct cuda_moment *from,
                                  const struct cuda_moment *to)
{
    struct jp_cuda_row row = {.process = process,
                              .at_us = start_us + from->since_ns / 1000,
                              .length_us = (to->since_ns - from->since_ns) /
                                           1000,
                              .live_bytes = to->live_bytes,
                              .peak_bytes = to->peak_bytes,
                              .busiest = NAN};

    for (size_t i = 0; i < CUDA_COUNTERS_N; i++)
        row.sum[i] = to->sum[i] - from->sum[i];
    return row;
}

/* Launches per second; NAN if the row covers less than half a second, which is
 * too short for a rate. */
static double rate(const struct jp_cuda_row *row)
{
    return row->length_us >= 500000 ? (double) row->sum[CUDA_LAUNCHES] * 1e6 /
                                          (double) row->length_us
                                    : NAN;
}

/* --- the GPUs' clocks ----------------------------------------------------- */

static int by_gpu(const void *a, const void *b)
{
    const struct jp_cuda_pair *x = a, *y = b;

    unsigned i = CUDA_PAIR_DEVICE(x->gpu), k = CUDA_PAIR_DEVICE(y->gpu);

    if (i != k)
        return i < k ? -1 : 1;
    /* a device keeps its address, but the file is foreign input */
    if (x->gpu != y->gpu)
        return x->gpu < y->gpu ? -1 : 1;
    return x->at_us < y->at_us ? -1 : x->at_us > y->at_us;
}

/* Copies a process's pairs, by GPU. Returns -1 without memory. */
static int add_pairs(struct jp_cuda *cuda, size_t process,
                     const struct cuda_process *p)
{
    size_t first = cuda->n_pairs;

    if (vector_resize(&cuda->pairs, first + p->n_moments,
                      sizeof(*cuda->pairs)) < 0)
        return -1;
    for (size_t i = 0; i < p->n_moments; i++) {
        const struct cuda_pair *pair = &p->moments[i].pair;

        if (pair->gpu)
            cuda->pairs[cuda->n_pairs++] = (struct jp_cuda_pair){
                .process = process,
                .gpu = pair->gpu,
                .at_us = p->start_us + pair->at_ns / 1000,
                .mono_ns = p->mono_ns ? p->mono_ns + pair->at_ns : 0,
                .gpu_ns = pair->gpu_ns,
                .width_ns = pair->width_ns};
    }
    if (cuda->n_pairs > first)
        qsort(&cuda->pairs[first], cuda->n_pairs - first, sizeof(*cuda->pairs),
              by_gpu);
    return 0;
}

/* How far a pair's GPU is ahead of its node, less that of the first pair, in
 * ns. A double has too few digits for the times, but not for differences of
 * each clock; the file is foreign input, so these may be as large as can be. */
static double ahead_since(const struct jp_cuda_pair *first,
                          const struct jp_cuda_pair *p)
{
    return (double) (int64_t) (p->gpu_ns - first->gpu_ns) -
           (double) (int64_t) (p->mono_ns - first->mono_ns);
}

/* The line of least squares through n pairs of a GPU. */
static struct jp_cuda_clock fit(const struct jp_cuda_pair *pairs, size_t n)
{
    struct jp_cuda_clock c = {.process = pairs->process,
                              .gpu = pairs->gpu,
                              .n_pairs = n,
                              .from_us = pairs->at_us,
                              .length_us = pairs[n - 1].at_us - pairs->at_us,
                              .ahead_us = NAN,
                              .drift_ppm = NAN,
                              .within_us = NAN};
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, slope = 0;

    if (!pairs->mono_ns)
        return c;
    for (size_t i = 0; i < n; i++) {
        mean_x += (double) (pairs[i].mono_ns - pairs->mono_ns) / (double) n;
        mean_y += ahead_since(pairs, &pairs[i]) / (double) n;
    }
    for (size_t i = 0; i < n; i++) {
        double x = (double) (pairs[i].mono_ns - pairs->mono_ns) - mean_x;

        xx += x * x;
        xy += x * (ahead_since(pairs, &pairs[i]) - mean_y);
    }
    /* pairs that are closer say nothing of the drift */
    if (c.length_us >= 1000000 && xx > 0) {
        slope = xy / xx;
        c.drift_ppm = slope * 1e6;
    }
    c.ahead_us = ((double) ((int64_t) (pairs->gpu_ns - pairs->mono_ns)) +
                  mean_y - slope * mean_x) /
                 1000;
    c.within_us = 0;
    for (size_t i = 0; i < n; i++) {
        double x = (double) (pairs[i].mono_ns - pairs->mono_ns) - mean_x;
        double off = fabs(ahead_since(pairs, &pairs[i]) - mean_y - slope * x);

        c.within_us =
            fmax(c.within_us, (off + (double) pairs[i].width_ns / 2) / 1000);
    }
    return c;
}

/* Makes the clocks of all pairs. Returns -1 without memory. */
static int add_clocks(struct jp_cuda *cuda)
{
    size_t room = 0;

    for (size_t i = 0, n; i < cuda->n_pairs; i += n) {
        const struct jp_cuda_pair *p = &cuda->pairs[i];
        struct jp_cuda_clock *c;

        for (n = 1; i + n < cuda->n_pairs && p[n].process == p->process &&
                    p[n].gpu == p->gpu;
             n++)
            ;
        c = VECTOR_ADD(cuda->clocks, cuda->n_clocks, room);
        if (!c)
            return -1;
        *c = fit(p, n);
    }
    return 0;
}

/* Returns -1 without memory. */
static int add_rows(struct jp_cuda *cuda, size_t process,
                    const struct cuda_process *p)
{
    struct jp_cuda_row *total = &cuda->totals[process];
    const struct cuda_moment *old = &beginning;

    *total = (struct jp_cuda_row){
        .process = process, .at_us = p->start_us, .busiest = NAN};
    /* nothing was called, or nothing could be counted */
    if (!p->n_moments)
        return 0;
    *total = between(process, p->start_us, &beginning,
                     &p->moments[p->n_moments - 1]);
    if (vector_resize(&cuda->parts, cuda->n_parts + p->n_moments,
                      sizeof(*cuda->parts)) < 0)
        return -1;
    /* a part ends with each moment that was kept */
    for (size_t i = 0; i < p->n_moments; i++) {
        struct jp_cuda_row *row = &cuda->parts[cuda->n_parts++];

        *row = between(process, p->start_us, old, &p->moments[i]);
        /* fmax ignores a NAN */
        total->busiest = fmax(total->busiest, rate(row));
        old = &p->moments[i];
    }
    return add_pairs(cuda, process, p);
}

/* Copies what the file's head says. */
static void describe(struct jp_cuda *cuda, struct jp_cuda_process *to,
                     const struct cuda_process *p)
{
    to->rank = p->rank;
    to->pid = p->pid;
    to->bad_records = p->bad_records;
    snprintf(to->host, sizeof(to->host), "%s", p->host);
    snprintf(to->why, sizeof(to->why), "%s", p->note);
    cuda->n_uncounted += *p->note != '\0';
}

/* A file while the processes are sorted. */
struct one {
    char *path;
    struct cuda_process p;
    struct jp_error err;
    bool bad;
};

/* Bad files last; then by rank (none last), host, pid. */
static int by_rank(const void *a, const void *b)
{
    const struct one *x = a, *y = b;
    /* "no rank" becomes the largest number */
    uint32_t i = (uint32_t) x->p.rank, k = (uint32_t) y->p.rank;
    int rc;

    /* a bad file has no rank, host or pid */
    if (x->bad != y->bad)
        return x->bad ? 1 : -1;
    if (i != k)
        return i < k ? -1 : 1;
    rc = strcmp(x->p.host, y->p.host);
    if (rc == 0 && x->p.pid != y->p.pid)
        rc = x->p.pid < y->p.pid ? -1 : 1;
    return rc ? rc : strcmp(x->path, y->path);
}

/* Moves a file into the result. */
static int take_file(struct jp_cuda *cuda, struct one *one)
{
    size_t i = cuda->n_processes++;
    struct jp_cuda_process *to = &cuda->processes[i];

    *to = (struct jp_cuda_process){
        .path = one->path, .rank = -1, .bad = one->bad};
    /* the path now belongs to the result */
    one->path = NULL;
    if (!one->bad) {
        describe(cuda, to, &one->p);
        return add_rows(cuda, i, &one->p);
    }
    cuda->n_bad++;
    cuda->totals[i] = (struct jp_cuda_row){.process = i, .busiest = NAN};
    clean_text(one->err.text, JP_CLEAN_UTF8, to->why, sizeof(to->why));
    return 0;
}

static int read_all(struct files *f, struct jp_cuda *cuda)
{
    struct one *ones = calloc(f->n, sizeof(*ones));
    /* all files together have about this many parts */
    size_t parts = CUDA_PARTS_MAX / f->n;
    int rc = ones ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < f->n; i++) {
        ones[i].path = f->at[i];
        f->at[i] = NULL;
        /* a bad file is listed with its error */
        ones[i].bad = cuda_read(ones[i].path,
                                parts < PARTS_MIN ? PARTS_MIN : parts,
                                &ones[i].p, &ones[i].err) < 0;
    }
    if (rc == 0)
        qsort(ones, f->n, sizeof(*ones), by_rank);
    for (size_t i = 0; rc == 0 && i < f->n; i++)
        rc = take_file(cuda, &ones[i]);
    rc = rc == 0 ? add_clocks(cuda) : rc;
    /* paths that were taken over are NULL */
    for (size_t i = 0; ones && i < f->n; i++) {
        free(ones[i].path);
        cuda_process_fini(&ones[i].p);
    }
    free(ones);
    return rc;
}

int cuda_load(const char *raw, struct jp_cuda **out, struct jp_error *err)
{
    int fd = open(raw, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
    struct jp_cuda *cuda = NULL;
    struct files f = {0};

    /* no step directory with raw/: nothing was counted */
    if (fd < 0) {
        *out = NULL;
        return 0;
    }
    if (treewalk(fd, raw, DEPTH, see_file, &f) < 0 || f.failed)
        rc = -1;
    if (rc == 0 && f.n) {
        cuda = calloc(1, sizeof(*cuda));
        if (cuda) {
            cuda->processes = calloc(f.n, sizeof(*cuda->processes));
            cuda->totals = calloc(f.n, sizeof(*cuda->totals));
            cuda->skipped = f.skipped;
        }
        rc = cuda && cuda->processes && cuda->totals ? read_all(&f, cuda) : -1;
    }
    files_fini(&f);
    if (rc < 0) {
        cuda_destroy(cuda);
        return error_set(err, "out of memory");
    }
    *out = cuda;
    return 0;
}

void cuda_destroy(struct jp_cuda *cuda)
{
    if (!cuda)
        return;
    for (size_t i = 0; i < cuda->n_processes; i++)
        free(cuda->processes[i].path);
    free(cuda->processes);
    free(cuda->totals);
    free(cuda->parts);
    free(cuda->pairs);
    free(cuda->clocks);
    free(cuda);
}

/* --- figures -------------------------------------------------------------- */

struct jp_cuda_row cuda_sum(const struct jp_cuda *cuda)
{
    struct jp_cuda_row all = {.busiest = NAN};

    for (size_t i = 0; i < cuda->n_processes; i++) {
        const struct jp_cuda_row *row = &cuda->totals[i];

        all.length_us = num_add(all.length_us, row->length_us);
        all.live_bytes = num_add(all.live_bytes, row->live_bytes);
        /* peaks of different GPUs do not add up: the largest counts */
        all.peak_bytes = row->peak_bytes > all.peak_bytes ? row->peak_bytes
                                                          : all.peak_bytes;
        for (size_t k = 0; k < CUDA_COUNTERS_N; k++)
            all.sum[k] = num_add(all.sum[k], row->sum[k]);
    }
    return all;
}

char *cuda_text(const struct jp_cuda *cuda, char buf[JP_CUDA_TEXT])
{
    size_t counted = cuda->n_processes - cuda->n_bad - cuda->n_uncounted;
    struct jp_cuda_row all = cuda_sum(cuda);
    int n = snprintf(buf, JP_CUDA_TEXT, "%s process%s counted",
                     FIG_COUNT(counted), counted == 1 ? "" : "es");

    /* without any counted process, only the reasons follow */
    if (counted)
        n += snprintf(
            buf + n, JP_CUDA_TEXT - (size_t) n,
            ": %s kernel launches, %s to GPUs, %s from GPUs, %s of their time "
            "in calls that wait, at most %s of GPU memory in one",
            FIG_COUNT(all.sum[CUDA_LAUNCHES]),
            FIG_BYTES(all.sum[CUDA_H2D_BYTES]),
            FIG_BYTES(all.sum[CUDA_D2H_BYTES]),
            FIG_SHARE(all.length_us ? (double) all.sum[CUDA_SYNC_NS] / 1e3 /
                                          (double) all.length_us
                                    : 0),
            FIG_BYTES(all.peak_bytes));
    for (size_t i = 0; cuda->n_uncounted && i < cuda->n_processes; i++)
        if (*cuda->processes[i].why && !cuda->processes[i].bad) {
            /* the reason of the first process stands for all */
            n += snprintf(buf + n, JP_CUDA_TEXT - (size_t) n, "; %s not: %s",
                          FIG_COUNT(cuda->n_uncounted), cuda->processes[i].why);
            break;
        }
    if (cuda->n_bad)
        snprintf(buf + n, JP_CUDA_TEXT - (size_t) n,
                 "; %s file%s could not be read", FIG_COUNT(cuda->n_bad),
                 plural(cuda->n_bad));
    return buf;
}
