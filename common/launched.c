/* launched.c - the launchers' variables of a process as numbers. */
#include "common/launched.h"

#include <stdio.h>
#include <string.h>

#include "common/num.h"

#define RANK_NAME(name, rank, size) rank,
#define SIZE_NAME(name, rank, size) size,
const char *const launched_rank_names[LAUNCHED_KINDS] = {
    LAUNCHED_RANKS(RANK_NAME)};
static const char *const size_names[LAUNCHED_KINDS] = {
    LAUNCHED_RANKS(SIZE_NAME)};

void launched_init(struct launched *launched)
{
    *launched =
        (struct launched){.local_rank = -1, .restarts = -1, .task_pid = -1};
    for (int i = 0; i < LAUNCHED_KINDS; i++)
        launched->rank[i] = launched->size[i] = -1;
}

/* Where the number of a variable belongs; NULL: it is none of ours. */
static int64_t *find_number(struct launched *l, const char *name)
{
    for (int i = 0; i < LAUNCHED_KINDS; i++) {
        if (!strcmp(name, launched_rank_names[i]))
            return &l->rank[i];
        if (*size_names[i] && !strcmp(name, size_names[i]))
            return &l->size[i];
    }
    return !strcmp(name, LAUNCHED_LOCAL_RANK) ? &l->local_rank
           : !strcmp(name, LAUNCHED_RESTARTS) ? &l->restarts
           : !strcmp(name, LAUNCHED_TASK_PID) ? &l->task_pid
                                              : NULL;
}

void launched_take(struct launched *l, const char *name, const char *value)
{
    int64_t *number = find_number(l, name), n;

    if (number && num_parse_i64(value, 0, INT32_MAX, &n, NULL) == 0)
        *number = n;
    else if (!strcmp(name, LAUNCHED_RUN))
        snprintf(l->run, sizeof(l->run), "%s", value);
}
