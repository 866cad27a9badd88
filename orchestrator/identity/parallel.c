/* parallel.c - what the communicators show of a job's parallelism. */
#include "orchestrator/identity/parallel.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES 4
#define ROW(...) {__VA_ARGS__},
static const char *const names[PARALLEL_MAX][NAMES] = {PARALLEL_AXES(ROW)};
#undef ROW

/* Returns the axis of a communicator's name, or -1. "TP1", "tp_1" and "mesh_tp"
 * are names of tp. */
static int axis_of(const char *name)
{
    static const char mesh[] = "mesh_";
    char word[40];
    size_t n = strlen(name);

    if (n >= sizeof(word))
        return -1;
    for (size_t i = 0; i <= n; i++)
        word[i] = (char) tolower((unsigned char) name[i]);
    /* the group's number, and what divides it from the name */
    while (n && isdigit((unsigned char) word[n - 1]))
        n--;
    if (word[n] && n && strchr("_:-", word[n - 1]))
        n--;
    word[n] = '\0';
    if (strncmp(word, mesh, strlen(mesh)) == 0)
        memmove(word, word + strlen(mesh), strlen(word + strlen(mesh)) + 1);
    for (int axis = 0; axis < PARALLEL_MAX; axis++)
        for (size_t i = 0; i < NAMES; i++)
            if (*names[axis][i] && strcmp(names[axis][i], word) == 0)
                return axis;
    return -1;
}

/* Whether each rank of the communicator is known, with its process. */
static bool is_whole(const struct jp_comm *comm)
{
    return !comm->guessed && comm->n_ranks && comm->ranks_seen == comm->n_ranks;
}

/* --- the world ------------------------------------------------------------ */

/* Returns the process that stands for the group of i, and shortens the way. */
static size_t root_of(size_t *parent, size_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* Returns the processes of the largest group that communicators connect. parent
 * and members have room for one entry a process. */
static size_t largest_group(const struct jp_result *r,
                            const struct jp_processes *p, size_t *parent,
                            size_t *members)
{
    size_t largest = 0;

    for (size_t i = 0; i < p->n; i++) {
        parent[i] = i;
        members[i] = 0;
    }
    for (size_t c = 0; c < r->n_comms; c++)
        for (size_t k = p->comm_start[c] + 1; k < p->comm_start[c + 1]; k++)
            parent[root_of(parent, p->of_rank[k])] =
                root_of(parent, p->of_rank[p->comm_start[c]]);
    for (size_t i = 0; i < p->n; i++) {
        size_t n = ++members[root_of(parent, i)];

        if (n > largest)
            largest = n;
    }
    return largest;
}

/* --- an axis -------------------------------------------------------------- */

/* Adds an axis if its communicators have one size, and each process is in
 * exactly one of them. in has room for one entry a process. */
static void add_axis(struct parallel *out, int axis, const struct jp_result *r,
                     const struct jp_processes *p, bool *in)
{
    struct parallel_axis found = {.axis = names[axis][0]};
    size_t members = 0;

    memset(in, 0, p->n * sizeof(*in));
    for (size_t c = 0; c < r->n_comms; c++) {
        const struct jp_comm *comm = &r->comms[c];

        if (axis_of(comm->name) != axis)
            continue;
        if (!is_whole(comm) || (found.comms && comm->n_ranks != found.ranks))
            return;
        if (found.comms++ == 0) {
            found.ranks = comm->n_ranks;
            found.comm = comm->name;
        }
        for (size_t k = p->comm_start[c]; k < p->comm_start[c + 1]; k++) {
            if (in[p->of_rank[k]])
                return;
            in[p->of_rank[k]] = true;
            members++;
        }
    }
    if (found.comms && members == p->n)
        out->list[out->n++] = found;
}

int parallel_find(struct parallel *out, const struct jp_result *result,
                  const struct jp_processes *processes, uint64_t tasks)
{
    size_t *room;
    bool whole = true, *in;

    *out = (struct parallel){0};
    if (!result || !processes || !processes->known || !processes->n)
        return 0;
    room = malloc(2 * processes->n * sizeof(*room));
    in = malloc(processes->n * sizeof(*in));
    if (!room || !in) {
        free(room);
        free(in);
        return -1;
    }
    for (size_t c = 0; c < result->n_comms && whole; c++)
        whole = is_whole(&result->comms[c]);
    /* processes that died before their first operation are ranks, too */
    if (whole && !processes->n_silent && processes->at_once >= tasks &&
        largest_group(result, processes, room, room + processes->n) ==
            processes->at_once)
        out->world_size = processes->at_once;
    for (int axis = 0; axis < PARALLEL_MAX; axis++)
        add_axis(out, axis, result, processes, in);
    free(room);
    free(in);
    return 0;
}

char *parallel_text(const struct parallel *parallel, char buf[PARALLEL_TEXT])
{
    size_t len = 0;

    *buf = '\0';
    if (parallel->world_size)
        len = (size_t) snprintf(buf, PARALLEL_TEXT, "%" PRIu64 " rank%s",
                                parallel->world_size,
                                parallel->world_size == 1 ? "" : "s");
    for (size_t i = 0; i < parallel->n; i++)
        len +=
            (size_t) snprintf(buf + len, PARALLEL_TEXT - len, "%s%s %" PRIu32,
                              i         ? ", "
                              : len > 0 ? "; "
                                        : "",
                              parallel->list[i].axis, parallel->list[i].ranks);
    return buf;
}
