/* judge_work.h - what the parts of judge.c share. For this room only.
 *
 * judge.c measures each process's excess. judge_window.c finds the part of the
 * run in which somebody is late, judge_node.c says whether all processes of a
 * node are, and judge_shortest.c for how long one alone was waited for.
 */
#ifndef JP_JUDGE_WORK_H
#define JP_JUDGE_WORK_H

#include "orchestrator/judge/judge.h"

#define START_BLOCKS 4 /* JUDGE_START, with the block that it ends in */
#define UNLIKE                                                                 \
    2.0 /* times the usual error of its role: a process has noise of its own,  \
           which its blocks alone must show */

struct work {
    struct judge *j;
    struct judge_run *run;
    const struct jp_processes *p;
    float *excess;         /* [item] NAN: nothing to compare with */
    uint32_t *members;     /* processes sorted by role */
    uint32_t *mates;       /* processes sorted by by_mates */
    uint32_t *role_from;   /* [role] its first in members; n_roles + 1 */
    double *scratch;       /* [3 x processes + JUDGE_BLOCKS] */
    struct rest *rest;     /* [role] for compare_rest */
    struct placed *placed; /* [process] likewise */
    const double **blocks; /* [process] or [host] for judge_window_find */
    bool *stall;           /* [item], or [kept interval], by judge_stall.c */
    uint32_t *of_key, *of_item; /* [key], [item of a process] for add_work */
    double worth_us;
};

/* --- judge_resample.c ----------------------------------------------------- */

/* Returns the variance of blocks by the differences of neighbours, which do not
 * count what comes, goes or grows as noise (von Neumann 1941). */
double judge_neighbours(const double *blocks);

/* Returns the degrees of freedom of the error of so many blocks. */
unsigned judge_freedom_of(unsigned blocks);

#define NET_SHARE 0.1 /* of an excess, by which its network may be slower */

/* Returns true if a slower network may look like that excess: where operations
 * overlap computation, durations count its time several times. */
static inline bool judge_is_by_net(const struct judge *judge, double net_us,
                                   double excess_us)
{
    return !judge->timed && net_us > NET_SHARE * excess_us;
}

/* --- judge_shortest.c ----------------------------------------------------- */

/* The two shortest durations of an operation, and whose is the shorter one. */
struct shortest {
    float us, next_us;
    float at; /* when the latter arrived */
    uint32_t process, n;
    bool hosts; /* its members are on several hosts */
};

/* Returns them for each operation. NULL: no memory. Free with free(). */
struct shortest *judge_find_shortest(const struct work *work);

/* Returns true if all members of an operation were there, and it is no message:
 * of these one side always waits, as a part of the work of a pipeline. */
bool judge_is_waited_for(const struct judge_run *run, uint32_t op,
                         const struct shortest *shortest);

/* Sums up how long all others of their operations waited for each process
 * alone: alone_us. 0, or -1: no memory. */
int judge_sum_alone(struct work *work);

/* --- judge_window.c ------------------------------------------------------- */

/* A part of the run in which somebody is late, and outside of which he is not.
 */
struct window {
    uint32_t in;     /* the blocks, as bits; 0: none */
    double late_us;  /* excess in it */
    double error_us; /* its standard error */
    double tried;    /* how many windows it was chosen from */
    double height;   /* above the rest, of a block */
    double weight;   /* variance of that over the one of a block */
    double own;      /* variance of the blocks about both */
    double early;    /* the same by those outside of it, and by those in it that
                        are ahead of the rest */
    double chance;   /* that noise like `own` makes it, over all windows */
};

/* Noise of one kind: that of the blocks of all processes of a role, or of all
 * hosts. */
struct noise {
    const double *const *blocks; /* [n] */
    size_t n;
    double variance; /* median of the blocks', by neighbours() */
    /* Series that show how long noise lasts; NULL: the same ones. */
    const double *const *lasting; /* [n_lasting] */
    size_t n_lasting;
};

/* Finds the window of a series of blocks that stands out most, several
 * stretches of it, or one in which lateness grows at first. */
struct window judge_window_find(const double *blocks,
                                const struct noise *noise);

/* Returns true if noise makes a window of blocks with less than that chance.
 * scratch: room for SERIES_SHOWN values. */
bool judge_window_stands_out(const double *blocks, const struct window *late,
                             const struct noise *noise, double chance,
                             double *scratch);

/* Fills the part of the run of an answer. */
void judge_window_set(struct judge_answer *answer, const struct window *late);

#define SERIES_SHOWN 64 /* series that show what noise is like */

/* Returns every which of many series is looked at. */
static inline size_t judge_window_step(size_t n_series)
{
    return (n_series + SERIES_SHOWN - 1) / SERIES_SHOWN;
}

/* --- judge_node.c --------------------------------------------------------- */

/* Names hosts of which all processes are late by about as much. named: set for
 * their processes. 0 or -1. */
int judge_name_nodes(struct work *work, bool *named);

#endif
