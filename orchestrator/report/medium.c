/* medium.c - what a communicator runs over, in a few words. */
#include "orchestrator/report/medium.h"

#include <stdio.h>
#include <string.h>

static bool is(const char *word, const char *what)
{
    return word && strcmp(word, what) == 0;
}

bool medium_known(const struct jp_comm *comm)
{
    bool inside = !is(comm->fabric, "unknown") && !is(comm->fabric, "none");
    bool between = !is(comm->inter, "unknown") && !is(comm->inter, "none");

    return comm->fabric && comm->inter && (inside || between);
}

char *medium_text(const struct jp_comm *comm, char *buf, size_t size)
{
    bool inside = !is(comm->fabric, "none");
    bool between = !is(comm->inter, "none");
    int n;

    if (!comm->fabric || !comm->inter) {
        snprintf(buf, size, "-");
        return buf;
    }
    n = snprintf(buf, size, "%s%s%s", inside ? comm->fabric : "",
                 inside && between ? " + " : "", between ? comm->inter : "");
    if (!n)
        n = snprintf(buf, size, "none");
    if (comm->rail && !is(comm->rail, "n/a") && (size_t) n < size)
        n += snprintf(buf + n, size - (size_t) n, ", rail %s", comm->rail);
    if (comm->hca_path && *comm->hca_path && (size_t) n < size)
        n += snprintf(buf + n, size - (size_t) n, ", HCA %s", comm->hca_path);
    if (comm->n_warnings && (size_t) n < size)
        snprintf(buf + n, size - (size_t) n, " (!)");
    return buf;
}
