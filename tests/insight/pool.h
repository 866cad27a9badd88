/* pool.h - simulated jobs in several processes, answered in order.
 *
 * Each job follows from its seed alone, so the answers are the same with any
 * number of processes. Which seeds count is known only from their answers (some
 * shapes cannot show a fault). Workers therefore go on until the pool is ended,
 * and are then stopped in the middle of jobs that are no longer needed.
 */
#ifndef JP_TESTS_INSIGHT_POOL_H
#define JP_TESTS_INSIGHT_POOL_H

#include <stdint.h>
#include <stdio.h>

struct pool_answer {
    int answer;
    double cost;
    double told[3], gain; /* of a job that is judged in several ways */
};

/* Runs the job of a seed, with a folder of its own for files. What is to be
 * printed goes to out. */
typedef struct pool_answer pool_job(const void *arg, uint64_t seed,
                                    const char *dir, FILE *out);

struct pool;

/* Starts workers for the seeds from `first` on, each in a folder below dir.
 * With one worker no process is started. Aborts on trouble. */
struct pool *pool_start(unsigned workers, uint64_t first, const char *dir,
                        pool_job *job, const void *arg);
/* Returns the next seed's answer, and prints what its job has printed. Aborts
 * if a worker has died. */
struct pool_answer pool_next(struct pool *pool);
/* Ends workers and removes their folders. */
void pool_end(struct pool *pool);

/* Returns the number of processors that this process may use. */
unsigned pool_processors(void);

#endif
