/* pool.h - simulated jobs in processes side by side, answered in order.
 *
 * Each job follows from its seed alone, so that the answers are the same with
 * any number of processes. Which seeds count is known only as they are answered
 * (some shapes cannot show a fault): workers go on until the pool is ended, and
 * are then stopped in the midst of jobs that nobody asks for.
 */
#ifndef JP_TESTS_INSIGHT_POOL_H
#define JP_TESTS_INSIGHT_POOL_H

#include <stdint.h>
#include <stdio.h>

struct pool_answer {
    int answer;
    double cost;
};

/* Does the job of a seed, with a folder of its own for files; what is to be
 * printed goes to out. */
typedef struct pool_answer pool_job(const void *arg, uint64_t seed,
                                    const char *dir, FILE *out);

struct pool;

/* Workers for the seeds from `first` on, each in a folder below dir. With one
 * worker no process is started. Aborts on trouble. */
struct pool *pool_start(unsigned workers, uint64_t first, const char *dir,
                        pool_job *job, const void *arg);
/* The next seed's answer; prints what its job has said. Aborts where a worker
 * has died. */
struct pool_answer pool_next(struct pool *pool);
/* Ends workers and removes their folders. */
void pool_end(struct pool *pool);

/* As many as this machine's processors that the process may use. */
unsigned pool_processors(void);

#endif
