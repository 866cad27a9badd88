/* rankrows.h - ranks as a report's csv/ranks.csv has them, when that is all
 * that is left of a run.
 *
 * One row for each (communicator, rank) of the processes that pass the filter.
 */
#ifndef JP_SHOW_RANKROWS_H
#define JP_SHOW_RANKROWS_H

#include "common/error.h"
#include "orchestrator/show/opsum.h"

struct rankrow {
    char id[RECORD_MAX_ID + 1];
    char name[RECORD_MAX_NAME + 1];
    char host[RECORD_MAX_HOST + 1];
    int64_t pid; /* -1: not known */
    uint64_t rank, records, timed_ops, last_ops, p2p_records;
    uint64_t exec_us, wait_us, caused_us; /* of timed_ops */
    bool waits;                           /* exec_us and wait_us are known */
};

struct jp_rankrows {
    struct rankrow *at; /* in the order of the tables */
    size_t n;
    uint64_t left_out; /* bad ones, or over 65,536 */
};

/* Adds those of a report, by csv/ranks.csv and csv/comms.csv in the step's
 * directory. filter->func is not looked at. 0, or -1: they cannot be read, no
 * memory. rankrows_fini is due in any case. */
int rankrows_add(struct jp_rankrows *rows, const char *step,
                 const struct opsum_filter *filter, struct jp_error *err);
void rankrows_fini(struct jp_rankrows *rows);

/* 0, or -1: output failed. */
int rankrows_print(const struct jp_rankrows *rows, FILE *out,
                   struct jp_error *err);
int rankrows_print_json(const struct jp_rankrows *rows, FILE *out,
                        struct jp_error *err);

#endif
