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

/* Decides for the processes of one attempt. The weaker evidence comes first;
 * the stronger one replaces it. */
static int decide(const struct rankrule *rule)
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

/* --- attempts ------------------------------------------------------------- */

/* Returns the process's attempt; -1: its launcher told none. */
static int64_t attempt_of(const struct rankrule_process *process)
{
    return process->launched ? process->launched->restarts
                             : process->program - 1;
}

/* Room for the part of a rule that is of one attempt. */
struct part {
    struct rankrule_process *processes;
    uint32_t *places; /* in the part, of the rule's processes */
    struct rankrule_comm *comms;
    struct rankrule_member *members;
};

/* Decides for the processes of an attempt. A communicator belongs to it by its
 * first member. */
static int decide_attempt(const struct rankrule *rule, int64_t attempt,
                          const struct part *room)
{
    struct rankrule part = {.processes = room->processes,
                            .comms = room->comms,
                            .step_tasks = rule->step_tasks};
    struct rankrule_member *members = room->members;
    size_t n = 0;

    for (size_t i = 0; i < rule->n_processes; i++)
        if (attempt_of(&rule->processes[i]) == attempt) {
            room->places[i] = (uint32_t) part.n_processes;
            room->processes[part.n_processes++] = rule->processes[i];
        }
    for (size_t c = 0; c < rule->n_comms; c++) {
        const struct rankrule_comm *comm = &rule->comms[c];

        if (!comm->n ||
            attempt_of(&rule->processes[comm->members->process]) != attempt)
            continue;
        room->comms[part.n_comms++] = (struct rankrule_comm){
            .n_ranks = comm->n_ranks, .members = members};
        for (size_t i = 0; i < comm->n; i++)
            if (attempt_of(&rule->processes[comm->members[i].process]) ==
                attempt) {
                *members++ = (struct rankrule_member){
                    room->places[comm->members[i].process],
                    comm->members[i].rank};
                room->comms[part.n_comms - 1].n++;
            }
    }
    if (decide(&part) < 0)
        return -1;
    for (size_t i = 0; i < rule->n_processes; i++)
        if (attempt_of(&rule->processes[i]) == attempt)
            rule->processes[i] = part.processes[n++];
    return 0;
}

int rankrule_decide(const struct rankrule *rule)
{
    int64_t *attempts = calloc(rule->n_processes + 1, sizeof(*attempts));
    size_t n_members = 0, n = 0;
    struct part room = {0};
    int rc = attempts ? 0 : -1;

    for (size_t c = 0; c < rule->n_comms; c++)
        n_members += rule->comms[c].n;
    for (size_t i = 0; rc == 0 && i < rule->n_processes; i++)
        attempts[i] = attempt_of(&rule->processes[i]);
    if (rc == 0 && rule->n_processes)
        qsort(attempts, rule->n_processes, sizeof(*attempts), by_value);
    for (size_t i = 0; rc == 0 && i < rule->n_processes; i++)
        if (!n || attempts[i] != attempts[n - 1])
            attempts[n++] = attempts[i];
    if (rc < 0 || n < 2) {
        free(attempts);
        return rc < 0 ? rc : decide(rule);
    }
    room.processes = calloc(rule->n_processes + 1, sizeof(*room.processes));
    room.places = calloc(rule->n_processes + 1, sizeof(*room.places));
    room.comms = calloc(rule->n_comms + 1, sizeof(*room.comms));
    room.members = calloc(n_members + 1, sizeof(*room.members));
    if (!room.processes || !room.places || !room.comms || !room.members)
        rc = -1;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = decide_attempt(rule, attempts[i], &room);
    free(room.processes);
    free(room.places);
    free(room.comms);
    free(room.members);
    free(attempts);
    return rc;
}
