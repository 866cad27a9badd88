/* slurmask.h - ask libslurm in a process of its own.
 *
 * libslurm ends the process where slurm.conf cannot be read, and waits long for
 * a controller that is down: a child bears that, for a bounded time.
 */
#ifndef JP_COLLECT_SLURMASK_H
#define JP_COLLECT_SLURMASK_H

#include <stdbool.h>
#include <stddef.h>

/* In the child: fills out, which is zeros. False: no answer. */
typedef bool slurmask_answer(const void *arg, void *out);

/* Has answer fill len bytes at out, within wait_ms. False: it did not, and out
 * is unchanged. Not after threads were started. */
bool slurmask(slurmask_answer *answer, const void *arg, unsigned wait_ms,
              void *out, size_t len);

#endif
