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

/* One more time, of a row that has some. */
static inline void exec_add(struct join_row *into, uint64_t us, uint32_t rank)
{
    if (us < into->exec_min) {
        into->exec_second = into->exec_min;
        into->exec_min = us;
        into->min_rank = rank;
    } else if (us == into->exec_min) {
        into->exec_second = us;
        into->min_rank = JOIN_NO_RANK;
    } else if (us < into->exec_second) {
        into->exec_second = us;
    }
    if (us > into->exec_max)
        into->exec_max = us;
    into->exec_sum += us;
    into->n_exec++;
}

static inline void busbw_add(struct join_row *into, uint64_t micro)
{
    if (micro < into->busbw_min)
        into->busbw_min = micro;
    if (micro > into->busbw_max)
        into->busbw_max = micro;
    into->busbw_sum += micro;
    into->n_busbw++;
}

/* Of values that may be the row's first or may not count. */
static JOIN_RARE void add_any(struct join_row *into,
                              const struct inspector_record *r)
{
    struct join_row row;

    join_row_fill(&row, r);
    join_row_fold(into, &row);
}

void join_row_add(struct join_row *into, const struct inspector_record *r)
{
    /* exec_us 0: unknown */
    if (!into->n_exec || !into->n_busbw || !into->dump_min || !r->exec_us ||
        r->busbw_nan || !r->dump_us) {
        add_any(into, r);
        return;
    }
    into->n++;
    exec_add(into, r->exec_us, r->rank);
    busbw_add(into, r->busbw_micro);
    if (r->dump_us < into->dump_min)
        into->dump_min = r->dump_us;
    if (r->dump_us > into->dump_max)
        into->dump_max = r->dump_us;
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
