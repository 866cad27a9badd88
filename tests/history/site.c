/* site.c - see site.h. */
#include "tests/history/site.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* splitmix64: the tests must see the same steps on every machine, so rand()
 * will not do. */
static uint64_t next(struct site *s)
{
    uint64_t x = s->random += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* A number from 0 to N - 1. */
static unsigned below(struct site *s, unsigned n)
{
    return (unsigned) ((next(s) >> 32) * n >> 32);
}

/* A number in [0, 1): 53 bits, as many as a double holds. */
static double real(struct site *s)
{
    return (double) (next(s) >> 11) / 9007199254740992.0;
}

void site_init(struct site *site, unsigned nodes, const unsigned *bad,
               uint64_t seed)
{
    *site = (struct site){.nodes = nodes, .random = seed};
    for (int i = 0; bad && i < SITE_BAD; i++)
        site->bad[i] = bad[i];
}

static int in_order(const void *a, const void *b)
{
    const unsigned *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void new_job(struct site *s)
{
    unsigned k = 0, tries;

    s->job++;
    s->step_no = 0;
    s->steps_left = 1 + below(s, 7);
    /* 1, 2, 4, 8 or 16 nodes */
    s->n = 1u << below(s, 5);
    s->user = below(s, SITE_USERS);
    for (unsigned i = 0; i < s->n; i++) {
        /* draw again while the node is already a member */
        do {
            s->members[i] = 1 + below(s, s->nodes);
            /* the node list as Slurm writes it: n001 or n[001,007] */
            for (k = 0; s->members[k] != s->members[i]; k++)
                ;
        } while (k < i);
    }
    qsort(s->members, s->n, sizeof(*s->members), in_order);
    tries = below(s, 10);
    /* user 7's program is the uneven one; otherwise one job of ten has a lazy
     * node */
    s->lazy = s->user == 7 ? s->members[0]
              : tries == 0 ? s->members[below(s, s->n)]
                           : 0;
    k = 0;
    k += (unsigned) snprintf(s->list, sizeof(s->list), "n%s",
                             s->n > 1 ? "[" : "");
    for (unsigned i = 0; i < s->n; i++)
        k += (unsigned) snprintf(s->list + k, sizeof(s->list) - k, "%s%03u",
                                 i ? "," : "", s->members[i]);
    if (s->n > 1)
        snprintf(s->list + k, sizeof(s->list) - k, "]");
}

static struct history_text text(const char *at)
{
    return (struct history_text){at, (uint32_t) strlen(at)};
}

static void add_late(struct site *s, struct history_step *step, unsigned node)
{
    struct history_finding *f;
    /* exponential, 60 s on average */
    double wait = -60 * log(1 - real(s));
    size_t i = step->n_findings;

    /* HOSTS has room for four */
    if (i == 4)
        return;
    f = &step->findings[step->n_findings++];
    snprintf(s->hosts[i], sizeof(s->hosts[i]), "n%03u", node);
    *f = (struct history_finding){.kind = text("late_rank"),
                                  .node = text(s->hosts[i]),
                                  .rank = node % 8,
                                  .wait_s = wait,
                                  .share = 0.1,
                                  .cause = text("gpu_clock"),
                                  .coll = text("")};
    step->wait_s = isfinite(step->wait_s) ? step->wait_s + wait : wait;
    step->verdict = text("SLOW");
}

static bool has_late(const struct history_step *step, const struct site *s,
                     unsigned node)
{
    char name[16];

    snprintf(name, sizeof(name), "n%03u", node);
    for (size_t i = 0; i < step->n_findings; i++)
        if (!strcmp(s->hosts[i], name))
            return true;
    return false;
}

static void find_late(struct site *s, struct history_step *step)
{
    unsigned any = s->members[below(s, s->n)];
    bool by_luck = below(s, 100) < 5;

    /* drawn even if the bad node is not a member, so that the sequence of
     * random numbers does not depend on it */
    for (int k = 0; k < SITE_BAD; k++) {
        bool late = below(s, 100) < 60;

        for (unsigned i = 0; i < s->n; i++)
            if (late && s->members[i] == s->bad[k])
                add_late(s, step, s->bad[k]);
    }
    if (s->lazy && !has_late(step, s, s->lazy))
        add_late(s, step, s->lazy);
    if (by_luck && !has_late(step, s, any))
        add_late(s, step, any);
}

void site_next(struct site *s, struct history_step *step)
{
    static const char *const kinds[] = {"ib", "nvswitch"};

    if (!s->steps_left)
        new_job(s);
    s->steps_left--;
    history_step_init(step);
    /* jobs start two seconds apart and overlap; the steps of one follow each
     * other */
    step->time_us = UINT64_C(1790000000000000) + s->job * 2000000 +
                    s->step_no * UINT64_C(60000000);
    step->written_us = step->time_us + 50000000;
    step->job = s->job;
    snprintf(s->texts[0], sizeof(s->texts[0]), "%u", s->step_no++);
    snprintf(s->texts[1], sizeof(s->texts[1]), "user%02u", s->user);
    snprintf(s->texts[2], sizeof(s->texts[2]), "group%u", s->user % 5);
    snprintf(s->texts[3], sizeof(s->texts[3]), "train%u", s->user % 3);
    step->step = text(s->texts[0]);
    step->restart = 0;
    step->user = text(s->texts[1]);
    step->account = text(s->texts[2]);
    step->name = text(s->texts[3]);
    step->partition = text("gpu");
    step->nodelist = text(s->list);
    step->nodes = s->n;
    step->tasks = 8 * s->n;
    step->verdict = text("OK");
    step->judged = s->n > 1;
    step->coverage = 1;
    step->gpus = 8 * s->n;
    step->gpu_s = 480.0 * s->n;
    step->gpu_busy = 0.3 + 0.1 * (s->user % 5) + 0.01 * real(s);
    step->gpu_busy_max = 1;
    step->jobprof = text("0.2.0");
    step->nccl = text("2.27.5");
    step->mode = text("recorder");
    if (s->n > 1)
        /* a step on one node has nobody to wait for */
        find_late(s, step);
    /* InfiniBand only between nodes, NVSwitch always */
    for (size_t i = 0; i < (s->n > 1 ? 2u : 1u); i++)
        step->nets[step->n_nets++] =
            (struct history_net){.over = text(kinds[s->n > 1 ? i : 1]),
                                 .coll = text("AllReduce"),
                                 .size_bytes = 67108864,
                                 .ops = 1000,
                                 .busbw_gbs = 300 + real(s)};
}
