/* rows.c - what the rows of a report's tables weigh, and whose they are. */
#include "orchestrator/report/table.h"

double rows_comm_time(const struct jp_result *result, size_t row)
{
    return (double) result->comms[row].time_us;
}

double rows_cell_busbw(const struct jp_result *result, size_t row)
{
    const struct jp_cell *cell = &result->cells[row];

    return cell->busbw.max > 0 ? (double) cell->exec.n * cell->exec.mean : -1;
}

const struct jp_comm *rows_comm(const struct jp_result *result, size_t comm)
{
    static char empty[] = "";
    static const struct jp_comm none = {
        .name = empty, .why = empty, .evidence = ""};

    return comm < result->n_comms ? &result->comms[comm] : &none;
}
