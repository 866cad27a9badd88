/* sim_counts.c - count what the program really issued, to check what a profiler
 * reports.
 *
 * Only the owner thread adds, but a crash may write the counts from another
 * thread. Therefore all members are written and read atomically, and a row is
 * complete before n includes it. */
#include "contrib/ncclsim/sim_counts.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "contrib/ncclsim/sim_cost.h"

/* Adds n. Readers may be in other threads; there is one writer, so a store is
 * enough. */
static void add_count(uint64_t *to, uint64_t n)
{
    __atomic_store_n(to, *to + n, __ATOMIC_RELAXED);
}

void sim_counts_add(struct jp_sim_counts *counts, const struct jp_sim_op *op,
                    int is_issued, int is_told)
{
    int i;

    if (op->hangs)
        add_count(&counts->in_flight, 1);
    for (i = 0; i < counts->n; i++) {
        if (counts->rows[i].func == op->func &&
            counts->rows[i].bytes == op->bytes)
            break;
    }
    /* further sizes are not counted; the programs have fewer */
    if (i == SIM_MAX_ROWS)
        return;
    if (i == counts->n) {
        counts->rows[i].func = op->func;
        counts->rows[i].bytes = op->bytes;
        counts->rows[i].ops = 0;
        counts->rows[i].told = 0;
        counts->rows[i].ns = 0;
        /* publishes the row */
        __atomic_store_n(&counts->n, i + 1, __ATOMIC_RELEASE);
    }
    add_count(&counts->rows[i].ops, (uint64_t) is_issued);
    add_count(&counts->rows[i].told, (uint64_t) is_told);
    if (is_issued && !op->hangs)
        add_count(&counts->rows[i].ns, (uint64_t) (op->end_ns - op->start_ns));
}

void sim_counts_add_batches(struct jp_sim_counts *counts, int n, uint64_t ns)
{
    add_count(&counts->batches, (uint64_t) n);
    add_count(&counts->batch_ns, ns);
}

uint64_t sim_counts_total(const struct jp_sim_counts *counts)
{
    uint64_t sum = 0;
    int i;

    for (i = 0; i < counts->n; i++)
        sum += counts->rows[i].ops;
    return sum;
}

/* Returns the number of operations of one function, and *bytes, their sum. */
static uint64_t sum_of(const struct jp_sim_counts *counts, int func,
                       uint64_t *bytes)
{
    uint64_t ops = 0;
    int i;

    *bytes = 0;
    for (i = 0; i < counts->n; i++) {
        if ((int) counts->rows[i].func != func)
            continue;
        ops += counts->rows[i].ops;
        *bytes += counts->rows[i].ops * counts->rows[i].bytes;
    }
    return ops;
}

/* Writes the sums of each function that was used. */
static void put_functions(FILE *out, const struct jp_sim_counts *counts)
{
    const char *comma = "";
    uint64_t ops, bytes;
    int func;

    for (func = 0; func < JP_NCCL_N_FUNCS; func++) {
        ops = sum_of(counts, func, &bytes);
        /* the function was not used */
        if (ops == 0)
            continue;
        fprintf(out, "%s\"%s\":{\"ops\":%" PRIu64 ",\"bytes\":%" PRIu64 "}",
                comma, sim_cost_func_name((enum jp_nccl_func) func), ops,
                bytes);
        comma = ",";
    }
}

void sim_counts_put(FILE *out, const struct jp_sim_counts *live,
                    const struct jp_sim_group *group, uint64_t hash, int rank)
{
    /* a copy, because the owner may go on counting */
    struct jp_sim_counts counts = {
        .n = __atomic_load_n(&live->n, __ATOMIC_ACQUIRE),
        .in_flight = __atomic_load_n(&live->in_flight, __ATOMIC_RELAXED),
        .batches = __atomic_load_n(&live->batches, __ATOMIC_RELAXED),
        .batch_ns = __atomic_load_n(&live->batch_ns, __ATOMIC_RELAXED),
    };
    char text[32];
    int i;

    for (i = 0; i < counts.n; i++) {
        counts.rows[i].func = live->rows[i].func;
        counts.rows[i].bytes = live->rows[i].bytes;
        counts.rows[i].ops =
            __atomic_load_n(&live->rows[i].ops, __ATOMIC_RELAXED);
        counts.rows[i].told =
            __atomic_load_n(&live->rows[i].told, __ATOMIC_RELAXED);
        counts.rows[i].ns =
            __atomic_load_n(&live->rows[i].ns, __ATOMIC_RELAXED);
    }
    /* Inspector's id has 16 characters at most, the recorder's hash is whole */
    snprintf(text, sizeof(text), "0x%" PRIx64, hash);
    fprintf(out,
            "{\"id\":\"%.16s\",\"hash\":\"%s\",\"name\":\"%s\","
            "\"rank\":%d,\"n_ranks\":%d,\"nnodes\":%d,"
            "\"in_flight\":%" PRIu64 ",\"batches\":%" PRIu64
            ",\"batch_ns\":%" PRIu64 ",\"functions\":{",
            text, text, group->name ? group->name : "unknown", rank, group->n,
            group->n_nodes, counts.in_flight, counts.batches, counts.batch_ns);
    put_functions(out, &counts);
    fputs("},\"cells\":[", out);
    for (i = 0; i < counts.n; i++)
        fprintf(out,
                "%s{\"func\":\"%s\",\"bytes\":%" PRIu64 ",\"ops\":%" PRIu64
                ",\"told\":%" PRIu64 ",\"ns\":%" PRIu64 "}",
                i ? "," : "", sim_cost_func_name(counts.rows[i].func),
                counts.rows[i].bytes, counts.rows[i].ops, counts.rows[i].told,
                counts.rows[i].ns);
    fputs("]}", out);
}

FILE *sim_counts_open(const char *path, int rank, int n_ranks,
                      struct jp_error *err)
{
    char name[PATH_MAX];
    const char *mark = strstr(path, "%r");
    struct stat st;
    FILE *out;
    int n;

    /* each rank needs a file of its own */
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        n = snprintf(name, sizeof(name), "%s/counts-%d.json", path, rank);
    else if (mark)
        n = snprintf(name, sizeof(name), "%.*s%d%s", (int) (mark - path), path,
                     rank, mark + 2);
    else if (n_ranks > 1)
        n = snprintf(name, sizeof(name), "%s.%d", path, rank);
    else
        n = snprintf(name, sizeof(name), "%s", path);
    out = n > 0 && n < (int) sizeof(name) ? fopen(name, "we") : NULL;
    if (!out)
        error_set(err, "%s: %s", path, strerror(errno));
    return out;
}
