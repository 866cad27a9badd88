/* sim_crash.h - how the process dies, and what it leaves for its tests. */
#ifndef JP_SIM_CRASH_H
#define JP_SIM_CRASH_H

#include <stdint.h>

#include "common/error.h"

/* Sets what is called, in any thread, before the process dies or hangs for
 * ever. NULL: nothing. */
void sim_crash_arm(void (*save)(void *data), void *data);

/* In place of a signal: the process ends as a program under torchelastic does
 * by an exception, with status 1 and a file about it. */
enum { SIM_CRASH_RAISES = 1000 };

/* Calls what sim_crash_arm() has set. */
void sim_crash_save(void);

/* The same, and then kills the process by the signal. */
void sim_crash_now(int signal) __attribute__((noreturn));

/* The same after `us` microseconds, in a thread of its own. Returns 0 or -1. */
int sim_crash_later(int64_t us, int signal, struct jp_error *err);

#endif
