/* judge_answer.c - the list of who is named, and the budget for wrong names. */
#include <math.h>
#include <stdlib.h>

#include "common/vector.h"
#include "orchestrator/judge/judge.h"

/* Who shares the budget: late all along, late in a part of the run, a node, a
 * group of processes (a stage), stalls. Each has as much. */
enum { QUESTIONS = 5 };

const char *const judge_kinds[JUDGE_KINDS] = {
    [JUDGE_LATE] = "late",
    [JUDGE_ONSET] = "onset",
    [JUDGE_NODE] = "node",
    [JUDGE_STALL] = "stall",
};

double judge_chance(size_t n)
{
    return JUDGE_FALSE_ALARM / QUESTIONS / (double) (n ? n : 1);
}

struct judge_answer *judge_add(struct judge *j, const struct jp_processes *p,
                               enum judge_kind kind, size_t process)
{
    struct judge_answer *more = VECTOR_DOUBLE_ADD(j->answers, j->n);

    if (!more)
        return NULL;
    *more = (struct judge_answer){.kind = kind,
                                  .process = process,
                                  .host = p->list[process].host_at,
                                  .part = 1,
                                  .blocks = UINT32_MAX,
                                  .share = 1,
                                  .to = 1,
                                  .cost_us = NAN};
    return more;
}

void judge_drop_answers(struct judge *j)
{
    for (size_t i = 0; i < j->n; i++)
        free(j->answers[i].waits);
    j->n = 0;
}

bool judge_concerns(const struct judge_answer *a, const struct jp_processes *p,
                    size_t process)
{
    return a->kind == JUDGE_NODE ? p->list[process].host_at == a->host
                                 : process == a->process;
}
