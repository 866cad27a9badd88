/* jobconf_fields.h - job.conf's scalar fields: one table for reader, writer.
 *
 * Internal to jobconf*.c. The lists (nccl.settings, nccl.env, copper.settings,
 * util.settings) are read and written by hand.
 */
#ifndef JP_COMMON_JOBCONF_FIELDS_H
#define JP_COMMON_JOBCONF_FIELDS_H

#include "common/jobconf.h"

enum jobconf_kind {
    JOBCONF_U32,
    JOBCONF_U64,
    JOBCONF_BOOL,
    JOBCONF_STRING,
    JOBCONF_SUMMARY, /* enum jp_summary by its word */
};

struct jobconf_field {
    const char *group; /* "" is the top level; a group's fields adjoin */
    const char *key;
    enum jobconf_kind kind;
    size_t offset;    /* in struct jp_jobconf */
    uint64_t number;  /* default of the numeric kinds */
    const char *text; /* default of a string */
};

extern const struct jobconf_field jobconf_fields[];
extern const size_t jobconf_n_fields;

/* Words of enum jp_summary: auto, off, line, card. */
extern const char *const jobconf_summary_words[4];

#endif
