/* The payloads of the blocks that hold no operations. */
#include "plugins/nccl_recorder/jpr_put.h"

#include "plugins/nccl_recorder/jpr_fields.h"

void jpr_put_header(struct jpr_out *out, const struct jpr_header *header)
{
    uint32_t i;

    jpr_fields_put(&jpr_header_fields, header, out);
    jpr_put_u64(out, header->n_variables);
    for (i = 0; i < header->n_variables; i++)
        jpr_fields_put(&jpr_variable_fields, &header->variables[i], out);
    jpr_put_u64(out, header->n_notes);
    for (i = 0; i < header->n_notes; i++)
        jpr_put_text(out, header->notes[i]);
}

void jpr_put_comm(struct jpr_out *out, const struct jpr_comm *comm)
{
    jpr_fields_put(&jpr_comm_fields, comm, out);
}

void jpr_put_counters(struct jpr_out *out, const struct jpr_counters *counters)
{
    uint64_t i;

    jpr_fields_put(&jpr_counters_fields, counters, out);
    jpr_put_u64(out, counters->n_rows);
    for (i = 0; i < counters->n_rows; i++)
        jpr_fields_put(&jpr_row_fields, &counters->rows[i], out);
    jpr_put_u64(out, counters->n_unseen);
    for (i = 0; i < counters->n_unseen; i++)
        jpr_fields_put(&jpr_unseen_fields, &counters->unseen[i], out);
    if (counters->cost.told)
        jpr_fields_put(&jpr_cost_fields, &counters->cost, out);
}
