/* judge_shortest.c - how long the others of an operation waited for one process
 * alone.
 *
 * Members leave an operation together, so that whose duration is the shortest
 * came last, and the next shortest one says how long it alone was waited for.
 */
#include "orchestrator/judge/judge_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct shortest *judge_find_shortest(const struct work *w)
{
    const struct judge_run *run = w->run;
    struct shortest *of = calloc((size_t) run->n_ops + 1, sizeof(*of));

    for (uint32_t p = 0; of && p < w->p->n; p++)
        for (uint32_t i = run->first[p]; i < run->first[p + 1]; i++) {
            struct shortest *s = &of[run->items[i].op];
            float us = run->items[i].time_us;

            if (!isfinite(run->items[i].own_us)) /* it was not reached */
                continue;
            s->hosts |= s->n &&
                        w->p->list[s->process].host_at != w->p->list[p].host_at;
            if (!s->n++ || us < s->us) {
                s->next_us = s->n > 1 ? s->us : INFINITY;
                s->us = us;
                s->at = run->items[i].at;
                s->process = p;
            } else if (us < s->next_us) {
                s->next_us = us;
            }
        }
    return of;
}

bool judge_is_waited_for(const struct judge_run *run, uint32_t op,
                         const struct shortest *s)
{
    return s->n > 1 && s->n == run->expected[op] &&
           strcmp(run->keys[run->key[op]].func, "message") != 0;
}

int judge_sum_alone(struct work *w)
{
    struct shortest *of = judge_find_shortest(w);

    if (!of)
        return -1;
    for (uint32_t i = 0; i < w->run->n_ops; i++)
        if (judge_is_waited_for(w->run, i, &of[i]))
            w->j->processes[of[i].process].alone_us +=
                (double) (of[i].next_us - of[i].us);
    free(of);
    return 0;
}
