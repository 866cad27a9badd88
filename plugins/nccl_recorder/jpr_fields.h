/* jpr_fields.h - the members of a record in the order the file has them.
 *
 * One table per record serves writing and reading. A later version appends
 * rows; a reader leaves what it does not know at the end of a payload alone.
 */
#ifndef JP_JPR_FIELDS_H
#define JP_JPR_FIELDS_H

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/jpr_bytes.h"

enum jpr_field_type { JPR_U64, JPR_U32, JPR_I64, JPR_BOOL, JPR_TEXT };

struct jpr_field {
    enum jpr_field_type type;
    size_t offset;
};

struct jpr_fields {
    const struct jpr_field *rows;
    size_t n;
};

extern const struct jpr_fields jpr_header_fields;   /* without the lists */
extern const struct jpr_fields jpr_variable_fields; /* struct jpr_variable */
extern const struct jpr_fields jpr_comm_fields;
extern const struct jpr_fields jpr_counters_fields; /* without the rows */
extern const struct jpr_fields jpr_row_fields;      /* struct jpr_comm_counts */
extern const struct jpr_fields jpr_unseen_fields;   /* struct jpr_unseen */
extern const struct jpr_fields jpr_cost_fields;     /* struct jpr_cost */
extern const struct jpr_fields jpr_doubts_fields;   /* struct jpr_doubts */
/* The part of struct jpr_op that operations of a block share. */
extern const struct jpr_fields jpr_template_fields;

void jpr_fields_put(const struct jpr_fields *fields, const void *record,
                    struct jpr_out *out);

/* Where texts go when they are read: NUL-terminated, made printable. */
struct jpr_texts {
    char *bytes;
    size_t used;
    size_t size; /* the payload's size is enough: a NUL for each length */
};

/* Reads into `record`; in->bad says whether all was there. */
void jpr_fields_get(const struct jpr_fields *fields, void *record,
                    struct jpr_in *in, struct jpr_texts *texts);

/* One text; "" where it is missing or there is no room. */
const char *jpr_texts_get(struct jpr_texts *texts, struct jpr_in *in);

#endif
