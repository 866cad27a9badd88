/* show_table.h - what the outputs of `jobprof show` have beside their tables
 * (orchestrator/table/). */
#ifndef JP_SHOW_SHOW_TABLE_H
#define JP_SHOW_SHOW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "common/figure.h"
#include "common/json_stream.h"
#include "orchestrator/table/table.h"

/* The purpose of the output: for people (2 MiB, 28.1 us), for a program that
 * reads columns (2097152, 28.1), or JSON. */
enum show_form { SHOW_HUMAN, SHOW_RAW, SHOW_JSON };

/* The look of a table in that form. */
static inline enum table_look show_look(enum show_form form)
{
    return form == SHOW_HUMAN ? TABLE_FOR_PEOPLE : TABLE_FOR_PROGRAMS;
}

/* A number in a line below a table. */
#define SHOW_NUMBER(n, form)                                                   \
    ((form) == SHOW_HUMAN ? FIG_COUNT(n) : FIG_EXACT((double) (n)))

/* Prints a line. For people on a terminal that is narrower it is broken at
 * blanks, and what follows has this indent. */
__attribute__((format(printf, 3, 4))) void
show_table_line(FILE *out, int indent, const char *fmt, ...);

/* Formats a rank for people: the job's, and the communicator's in brackets if
 * it is another: "5", "5 (1)", "- (1)" if the job's is unknown. Negative:
 * unknown. Returns buf. */
#define SHOW_RANK_LEN 48
char *show_rank(int64_t job_rank, int64_t comm_rank, char buf[SHOW_RANK_LEN]);

#endif
