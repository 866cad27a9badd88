/* join_names.c - keep the smallest of the names that ranks tell. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/join_parts.h"

int join_comm_name(struct join_comm *comm, const char *name, size_t len)
{
    char *copy;

    if (!len)
        return 0;
    if (comm->name) {
        size_t old = strlen(comm->name);
        int order = memcmp(name, comm->name, len < old ? len : old);

        if (order > 0 || (order == 0 && len >= old))
            return 0;
    }
    copy = strndup(name, len);
    if (!copy)
        return -1;
    free(comm->name);
    comm->name = copy;
    return 0;
}

int join_member_process(struct join_member *member, const char *host,
                        size_t len, int64_t pid)
{
    char *copy = strndup(host, len);
    int order;

    if (!copy)
        return -1;
    order = member->host ? strcmp(copy, member->host) : -1;
    if (member->host && (order || pid != member->pid))
        member->shared = true;
    if (order > 0 || (order == 0 && pid >= member->pid)) {
        free(copy);
        return 0;
    }
    free(member->host);
    member->host = copy;
    member->pid = pid;
    return 0;
}
