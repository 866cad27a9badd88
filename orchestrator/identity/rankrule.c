/* rankrule.c - decide the ranks of a job's processes; rankrule_decide is the
 * entry. */
#include "orchestrator/identity/rankrule.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Room for one mark for each process or number. */
struct marks {
    uint8_t *at;
    size_t n;
};

/* --- communicators -------------------------------------------------------- */

/* Returns true if no process has two ranks in the communicator. */
static bool is_distinct(const struct rankrule_comm *comm, struct marks *marks)
{
    memset(marks->at, 0, marks->n);
    for (size_t i = 0; i < comm->n; i++)
        if (marks->at[comm->members[i].process]++)
            return false;
    return true;
}

/* Returns the first communicator of all processes; NULL: none. Either all
 * processes are in it, or it has as many ranks as the step has tasks, some of
 * which then left no records. */
static const struct rankrule_comm *find_world(const struct rankrule *rule,
                                              struct marks *marks)
{
    const struct rankrule_comm *by_size = NULL;
    uint32_t most = 0;

    for (size_t c = 0; c < rule->n_comms; c++)
        if (rule->comms[c].n_ranks > most)
            most = rule->comms[c].n_ranks;
    /* A communicator smaller than the job cannot rank all of it. */
    if (most < rule->step_tasks || most < rule->n_processes)
        return NULL;
    for (size_t c = 0; c < rule->n_comms; c++) {
        const struct rankrule_comm *comm = &rule->comms[c];
        bool has_all = comm->n == rule->n_processes;
        bool is_large = most == rule->step_tasks && !by_size;

        if (comm->n_ranks != most || (!has_all && !is_large) ||
            !is_distinct(comm, marks))
            continue;
        if (has_all)
            return comm;
        by_size = comm;
    }
    return by_size;
}

/* Returns true if the communicator's ranks equal the task ids wherever both are
 * known. If they differ, the program numbers its ranks in its own way, and
 * mixing both would give one rank to two processes. */
static bool agrees(const struct rankrule *rule,
                   const struct rankrule_comm *comm)
{
    for (size_t i = 0; i < comm->n; i++) {
        int64_t task = rule->processes[comm->members[i].process].task;

        if (task >= 0 && task != comm->members[i].rank)
            return false;
    }
    return true;
}

/* --- launchers ------------------------------------------------------------ */

/* Returns the number that a launcher gave the process; -1: none. */
static int64_t number_of(const struct rankrule *rule, size_t process,
                         enum launched_kind kind)
{
    const struct launched *launched = rule->processes[process].launched;

    return launched ? launched->rank[kind] : -1;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

    return (x > y) - (x < y);
}

/* Whether the launcher's variable numbers all processes. numbers: room for one
 * of each. */
static bool numbers_all(const struct rankrule *rule, enum launched_kind kind,
                        int64_t *numbers)
{
    int64_t size = -1;

    for (size_t i = 0; i < rule->n_processes; i++) {
        const struct launched *launched = rule->processes[i].launched;

        numbers[i] = number_of(rule, i, kind);
        if (numbers[i] < 0)
            return false;
        if (launched->size[kind] >= 0 && size >= 0 &&
            launched->size[kind] != size)
            return false;
        if (launched->size[kind] >= 0)
            size = launched->size[kind];
    }
    if (!rule->n_processes)
        return false;
    qsort(numbers, rule->n_processes, sizeof(*numbers), by_value);
    for (size_t i = 1; i < rule->n_processes; i++)
        if (numbers[i] == numbers[i - 1])
            return false;
    return size < 0 || numbers[rule->n_processes - 1] < size;
}

/* Whether two launchers' variables give each process the same number. */
static bool are_equal(const struct rankrule *rule, enum launched_kind a,
                      enum launched_kind b)
{
    for (size_t i = 0; i < rule->n_processes; i++)
        if (number_of(rule, i, a) != number_of(rule, i, b))
            return false;
    return true;
}

/* Whether the communicator's ranks are the launcher's numbers. */
static bool is_order_of(const struct rankrule *rule,
                        const struct rankrule_comm *comm,
                        enum launched_kind kind)
{
    for (size_t i = 0; i < comm->n; i++)
        if (number_of(rule, comm->members[i].process, kind) !=
            comm->members[i].rank)
            return false;
    return true;
}

/* Returns the launcher whose variable numbers all processes; LAUNCHED_KINDS:
 * none, or what there is contradicts itself. */
static enum launched_kind find_launcher(const struct rankrule *rule,
                                        const struct rankrule_comm *world,
                                        int64_t *numbers)
{
    enum launched_kind found = LAUNCHED_KINDS;

    for (int kind = 0; kind < LAUNCHED_KINDS; kind++) {
        if (!numbers_all(rule, (enum launched_kind) kind, numbers))
            continue;
        if (world && !is_order_of(rule, world, (enum launched_kind) kind))
            continue;
        if (found == LAUNCHED_KINDS)
            found = (enum launched_kind) kind;
        else if (!are_equal(rule, found, (enum launched_kind) kind))
            return LAUNCHED_KINDS;
    }
    return found;
}

/* --- the decision --------------------------------------------------------- */

static void set_rank(struct rankrule_process *process, int64_t rank,
                     enum jp_rank_evidence evidence)
{
    process->rank = rank;
    process->evidence = evidence;
}

/* The weaker evidence first; the stronger one replaces it. */
int rankrule_decide(const struct rankrule *rule)
{
    struct marks marks = {calloc(rule->n_processes + 1, 1), rule->n_processes};
    int64_t *numbers = calloc(rule->n_processes + 1, sizeof(*numbers));
    const struct rankrule_comm *world;
    enum launched_kind launcher;

    if (!marks.at || !numbers) {
        free(marks.at);
        free(numbers);
        return -1;
    }
    for (size_t i = 0; i < rule->n_processes; i++)
        set_rank(&rule->processes[i], -1, JP_RANK_UNKNOWN);
    world = find_world(rule, &marks);
    launcher = find_launcher(rule, world, numbers);
    for (size_t i = 0; launcher < LAUNCHED_KINDS && i < rule->n_processes; i++)
        set_rank(&rule->processes[i], number_of(rule, i, launcher),
                 JP_RANK_OF_LAUNCHER);
    if (launcher == LAUNCHED_KINDS && world && agrees(rule, world))
        for (size_t i = 0; i < world->n; i++)
            set_rank(&rule->processes[world->members[i].process],
                     world->members[i].rank, JP_RANK_OF_COMM);
    for (size_t i = 0; launcher == LAUNCHED_KINDS && i < rule->n_processes; i++)
        if (rule->processes[i].task >= 0)
            set_rank(&rule->processes[i], rule->processes[i].task,
                     JP_RANK_OF_TASK);
    free(marks.at);
    free(numbers);
    return 0;
}
