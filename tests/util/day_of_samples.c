/* day_of_samples.c - a day of rows with a simulated clock: the size of their
 * files, the cost of writing them, and whether means and maxima survive
 * merging.
 *
 * Usage: day_of_samples DIR SECONDS TASKS GPUS CAP_MIB */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "plugins/util/util_rows.h"

static uint64_t state = 88172645463325252ULL;

static double noise(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double) (state >> 11) / (double) (1ULL << 53);
}

/* Figures like those of a node: about half of them change. */
static void fill(enum util_kind kind, struct util_row *row, uint64_t second)
{
    for (size_t i = 0; i < util_tables[kind].n; i++)
        row->v[i] = i % 2 ? 1e6 * (double) (i + 1)
                          : (double) (i + 1) *
                                (1000 + 100 * noise() + (double) (second % 60));
}

/* What must be found again: the first column of one member of each kind. */
struct check {
    double sum, max;
    uint64_t n;
};

static int add(struct util_files *files, enum util_kind kind, const char *id,
               uint64_t second, struct check *check)
{
    struct jp_error err = {""};
    struct util_row row;

    util_row_init(&row, 1795402946935542 + second * 1000000, second * 1000000,
                  id);
    fill(kind, &row, second);
    if (check) {
        check->sum += row.v[0];
        check->max = fmax(check->max, row.v[0]);
        check->n++;
    }
    if (util_files_add(files, kind, &row, &err) == 0)
        return 0;
    fprintf(stderr, "%s\n", err.text);
    return -1;
}

static int take(void *arg, const struct util_row *row, struct jp_error *err)
{
    struct check *found = arg;

    if (strcmp(row->id, "0") != 0 && *row->id)
        return 0;
    found->sum += row->v[0] * (double) row->samples;
    found->max = fmax(found->max, row->max[0]);
    found->n += row->samples;
    return 0;
}

static int look(const char *dir, enum util_kind kind, const struct check *want)
{
    struct check found = {0};
    struct util_head head;
    struct util_read read;
    struct jp_error err = {""};
    char path[4096];

    snprintf(path, sizeof(path), "%s/util-%s.csv.gz", dir,
             util_tables[kind].name);
    if (util_rows_read(path, kind, &head, take, &found, &read, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    printf("%s: %llu rows, mean off by %.2g, max off by %.2g\n",
           util_tables[kind].name, (unsigned long long) read.rows,
           fabs(found.sum / want->sum - 1), fabs(found.max / want->max - 1));
    return found.n == want->n && !read.cut && !read.bad_lines &&
                   fabs(found.sum / want->sum - 1) < 1e-4 &&
                   fabs(found.max / want->max - 1) < 1e-4
               ? 0
               : -1;
}

int main(int argc, char **argv)
{
    uint64_t seconds = argc == 6 ? strtoull(argv[2], NULL, 10) : 0,
             tasks = argc == 6 ? strtoull(argv[3], NULL, 10) : 0,
             gpus = argc == 6 ? strtoull(argv[4], NULL, 10) : 0,
             cap = argc == 6 ? strtoull(argv[5], NULL, 10) << 20 : 0;
    const struct util_origin origin = {42, "0", "n1", 1795402946935542};
    struct util_files *files = cap ? util_files_create(argv[1], &origin, cap)
                                   : NULL;
    struct check want[UTIL_KINDS] = {{0}};
    uint64_t most = 0;
    struct rusage use;
    int rc = files ? 0 : -1;
    char id[32];

    for (uint64_t s = 0; s < seconds && rc == 0; s++) {
        rc = add(files, UTIL_NODE, "", s, &want[UTIL_NODE]);
        for (uint64_t i = 0; i < tasks && rc == 0; i++) {
            snprintf(id, sizeof(id), "%llu", (unsigned long long) i);
            rc = add(files, UTIL_TASK, id, s, i ? NULL : &want[UTIL_TASK]);
        }
        for (uint64_t i = 0; i < gpus && rc == 0; i++) {
            snprintf(id, sizeof(id), "%llu", (unsigned long long) i);
            rc = add(files, UTIL_GPU, id, s, i ? NULL : &want[UTIL_GPU]);
        }
        if (s % 60 == 59 && rc == 0)
            rc = util_files_flush(files, false, NULL);
        if (util_files_bytes(files) > most)
            most = util_files_bytes(files);
    }
    if (rc == 0)
        rc = util_files_flush(files, true, NULL);
    getrusage(RUSAGE_SELF, &use);
    printf("%llu s of %llu tasks and %llu GPUs: %.1f MiB (at most %.1f), "
           "%.3f ms of processor a sample, %.1f MiB of memory\n",
           (unsigned long long) seconds, (unsigned long long) tasks,
           (unsigned long long) gpus,
           files ? (double) util_files_bytes(files) / (1 << 20) : 0,
           (double) most / (1 << 20),
           1e3 *
               ((double) (use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                (double) (use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6) /
               (double) (seconds ? seconds : 1),
           (double) use.ru_maxrss / 1024);
    if (files && util_files_bytes(files) > cap)
        rc = -1;
    util_files_destroy(files);
    for (int kind = 0; kind <= UTIL_GPU && rc == 0; kind++)
        if (want[kind].n)
            rc = look(argv[1], (enum util_kind) kind, &want[kind]);
    return rc == 0 ? 0 : 1;
}
