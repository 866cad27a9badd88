/* show_table.c - what the outputs of `jobprof show` have beside their tables.
 */
#include "orchestrator/show/show_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/quote.h"

#define LINE 8192 /* bytes of a line of text */

void show_table_line(FILE *out, int indent, const char *fmt, ...)
{
    int columns = (int) table_terminal_columns(out), room = columns;
    char text[LINE];
    const char *rest = text;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    /* on a very narrow terminal the line stays whole */
    while (columns > 2 * indent && (int) strlen(rest) > room) {
        int n = room;

        while (n && rest[n] != ' ')
            n--;
        n = n ? n : room;
        quote_printf(out, "%.*s\n%*s", n, rest, indent, "");
        rest += n + strspn(rest + n, " ");
        room = columns - indent;
    }
    quote_printf(out, "%s\n", rest);
}

char *show_rank(int64_t job_rank, int64_t comm_rank, char buf[SHOW_RANK_LEN])
{
    if (job_rank < 0 && comm_rank < 0)
        snprintf(buf, SHOW_RANK_LEN, "-");
    else if (job_rank < 0)
        snprintf(buf, SHOW_RANK_LEN, "- (%" PRId64 ")", comm_rank);
    else if (comm_rank < 0 || comm_rank == job_rank)
        snprintf(buf, SHOW_RANK_LEN, "%" PRId64, job_rank);
    else
        snprintf(buf, SHOW_RANK_LEN, "%" PRId64 " (%" PRId64 ")", job_rank,
                 comm_rank);
    return buf;
}
