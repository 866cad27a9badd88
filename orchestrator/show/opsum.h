/* opsum.h - operations of some ranks, nodes or communicators, summed up.
 *
 * One row for each (communicator, function, size) of what passes the filter.
 */
#ifndef JP_SHOW_OPSUM_H
#define JP_SHOW_OPSUM_H

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/ingest/recwalk.h"

struct opsum_filter {
    int64_t rank;     /* of the program: SLURM_PROCID, else of the file's
                         largest communicator; -1: all */
    const char *node; /* host name, or folder of raw/; NULL: all */
    const char *comm; /* id as reports show it, or name; NULL: all */
    const char *func; /* "AllReduce"; NULL: all */
};

struct opsum_row {
    char id[INSPECTOR_MAX_ID + 1];
    char name[INSPECTOR_MAX_NAME + 1];
    char func[INSPECTOR_MAX_FUNC + 1];
    uint64_t bytes, ops;
    uint64_t exec_min_us, exec_max_us, exec_sum_us;
    double busbw_sum;
    uint64_t first_us, last_us; /* wall clock of the ends, 0: not known */
};

struct jp_opsum {
    struct opsum_row *rows; /* sorted by (id, name, func, bytes) */
    size_t n;
    uint64_t processes; /* that passed the filter */
    uint64_t left_out;  /* bad ones, or over 65,536 rows */
};

/* 0, or -1 without memory. opsum_fini is due only after 0. */
int opsum_read(struct jp_recwalk *walk, const struct opsum_filter *filter,
               struct jp_opsum *sum, struct jp_error *err);
void opsum_fini(struct jp_opsum *sum);

/* 0, or -1: output failed. */
int opsum_print(const struct jp_opsum *sum, FILE *out, struct jp_error *err);
int opsum_print_json(const struct jp_opsum *sum, FILE *out,
                     struct jp_error *err);

#endif
