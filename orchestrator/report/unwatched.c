/* unwatched.c - which ranks the nodes' agents did not watch for hangs. */
#include <inttypes.h>
#include <stdio.h>

#include "common/defaults.h"
#include "common/figure.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/sections.h"

/* The job's rank of a process; -1: unknown. */
static int64_t rank_of(const struct jp_report *report, const char *node,
                       int64_t pid)
{
    const struct jp_process *p =
        report->insight
            ? processes_find(&report->insight->processes, node, pid, 0)
            : NULL;

    return p ? p->world_rank : -1;
}

/* Adds one node's processes: "rank 512, pid 4711 and 86 more processes". */
static void add_processes(struct jp_sentence *s, const struct jp_report *report,
                          const struct jp_unwatched *u)
{
    uint64_t more = u->left - u->n_pids;
    char list[300] = "";
    size_t len = 0;

    for (uint32_t i = 0; i < u->n_pids; i++) {
        int64_t rank = rank_of(report, u->node, u->pids[i]);

        len +=
            (size_t) snprintf(list + len, sizeof(list) - len,
                              rank >= 0 ? "%srank %" PRId64 : "%spid %" PRId64,
                              i ? ", " : "", rank >= 0 ? rank : u->pids[i]);
    }
    if (more)
        snprintf(list + len, sizeof(list) - len, "%s%s more process%s",
                 len ? " and " : "", FIG_COUNT(more), more == 1 ? "" : "es");
    sentence_add(s, "on %s %s, because the agent follows at most %d", u->node,
                 list, JP_WATCHED_PROCESSES);
}

static void add_node(struct jp_sentence *s, const struct jp_report *report,
                     const struct jp_unwatched *u)
{
    if (*u->why) {
        sentence_add(s, "all ranks on %s, whose module \"live\" was %s",
                     u->node, u->why);
        return;
    }
    if (u->left)
        add_processes(s, report, u);
    if (u->left_comms)
        sentence_add(s, "on %s %s of the ranks' functions in communicators",
                     u->node, FIG_COUNT(u->left_comms));
}

char *unwatched_text(const struct jp_report *report, char *buf, size_t size)
{
    const struct jp_agents *a = report->agents;
    struct jp_sentence s;

    *buf = '\0';
    if (!a || !a->n_unwatched)
        return buf;
    sentence_init(&s, buf, size);
    for (uint32_t i = 0; i < a->n_unwatched && i < JP_UNWATCHED_MAX; i++)
        add_node(&s, report, &a->unwatched[i]);
    if (a->n_unwatched > JP_UNWATCHED_MAX)
        sentence_add(&s, "some on %s more nodes",
                     FIG_COUNT(a->n_unwatched - JP_UNWATCHED_MAX));
    return buf;
}
