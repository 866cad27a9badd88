/* join_rows.c - what the records of one operation add up to. */
#include "orchestrator/aggregate/join_parts.h"

void join_row_fill(struct join_row *row, const struct inspector_record *r)
{
    *row =
        (struct join_row){.bytes = r->bytes,
                          .exec_sum = r->exec_us,
                          .exec_min = r->exec_us,
                          .exec_max = r->exec_us,
                          .exec_second = JOIN_NO_TIME,
                          .busbw_sum = r->busbw_micro,
                          .busbw_min = r->busbw_micro,
                          .busbw_max = r->busbw_micro,
                          .dump_min = r->dump_us,
                          .dump_max = r->dump_us,
                          .n = 1,
                          .n_busbw = !r->busbw_nan,
                          .n_exec = !r->exec_unknown,
                          .min_rank = r->exec_unknown ? JOIN_NO_RANK : r->rank};
}

/* Times of `from`, which has some. */
static void exec_fold(struct join_row *into, const struct join_row *from)
{
    if (!into->n_exec) {
        into->exec_min = from->exec_min;
        into->exec_second = from->exec_second;
        into->min_rank = from->min_rank;
    } else if (from->exec_min < into->exec_min) {
        into->exec_second = from->exec_second < into->exec_min
                                ? from->exec_second
                                : into->exec_min;
        into->exec_min = from->exec_min;
        into->min_rank = from->min_rank;
    } else {
        if (from->exec_min < into->exec_second)
            into->exec_second = from->exec_min;
        if (from->exec_min == into->exec_min)
            into->min_rank = JOIN_NO_RANK;
    }
    if (from->exec_max > into->exec_max)
        into->exec_max = from->exec_max;
    into->exec_sum += from->exec_sum;
    into->n_exec += from->n_exec;
}

void join_row_fold(struct join_row *into, const struct join_row *from)
{
    if (!into->n) {
        *into = *from;
        return;
    }
    into->n += from->n;
    if (from->n_exec)
        exec_fold(into, from);
    if (from->n_busbw) {
        if (!into->n_busbw || from->busbw_min < into->busbw_min)
            into->busbw_min = from->busbw_min;
        if (!into->n_busbw || from->busbw_max > into->busbw_max)
            into->busbw_max = from->busbw_max;
        into->busbw_sum += from->busbw_sum;
        into->n_busbw += from->n_busbw;
    }
    if (from->dump_min && (!into->dump_min || from->dump_min < into->dump_min))
        into->dump_min = from->dump_min;
    if (from->dump_max > into->dump_max)
        into->dump_max = from->dump_max;
}

void join_stamp_fill(struct join_stamp *stamp, const struct inspector_record *r)
{
    *stamp = (struct join_stamp){.start_min = r->start_us,
                                 .start_max = r->start_us,
                                 .end_max = r->end_us,
                                 .n = r->start_us != 0};
}

void join_stamp_fold(struct join_stamp *into, const struct join_stamp *from)
{
    if (from->n && (!into->n || from->start_min < into->start_min))
        into->start_min = from->start_min;
    if (from->start_max > into->start_max)
        into->start_max = from->start_max;
    if (from->end_max > into->end_max)
        into->end_max = from->end_max;
    into->n += from->n;
}
