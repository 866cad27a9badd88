/* owncost.h - what a process has cost so far, by sources that are true at any
 * moment.
 *
 * Three sources that look right are not:
 * - CLOCK_PROCESS_CPUTIME_ID in a process with a limit of processor time
 *   (RLIMIT_CPU) or a timer on it. The kernel then answers from a sum that it
 *   renews only at ticks and when the process sleeps. Both ends of a call of
 *   less than a tick read the same value, so the call seems to be free. The
 *   node agent has such a limit (orchestrator/agent/confine.c).
 * - getrusage(RUSAGE_THREAD), whose sum is as old as that, limit or not.
 * - ru_maxrss after an exec: it includes the program that called exec.
 */
#ifndef JP_COMMON_OWNCOST_H
#define JP_COMMON_OWNCOST_H

#include <stdint.h>

/* Processor time of the calling thread in nanoseconds. This clock is the one to
 * use in a process of one thread: the kernel adds up to the moment of the call,
 * and reading it costs about as much as a system call. */
uint64_t owncost_thread_ns(void);

/* Processor time of the process with all its threads, in microseconds. User and
 * system time are each estimated from ticks, but their sum is exact. */
uint64_t owncost_process_us(void);

/* Bytes that the program has allocated and not freed; 0 where the C library
 * does not tell. */
uint64_t owncost_heap_bytes(void);

/* The most memory that the process has had resident since its exec, in bytes
 * (VmHWM). */
uint64_t owncost_peak_bytes(void);

#endif
