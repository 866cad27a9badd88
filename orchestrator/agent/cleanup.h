/* cleanup.h - files that must not outlive this process, whatever ends it.
 *
 * `begin` is ended by SIGTERM when its step exits, 200 ms before SIGKILL. Its
 * short writes are done with the signals blocked; in the long parts between, a
 * window, they are let through and the handler removes what is registered. One
 * process, one thread, at most JP_CLEANUP_MAX paths at a time.
 */
#ifndef JP_AGENT_CLEANUP_H
#define JP_AGENT_CLEANUP_H

#define JP_CLEANUP_MAX 4

/* Blocks SIGTERM, SIGINT, SIGHUP and SIGALRM; in a window they remove the
 * registered paths and end the process with status 0. */
void cleanup_init(void);

void cleanup_open_window(void);
void cleanup_close_window(void);

/* Registers a path (copied). Returns its slot, or -1: too long or too many;
 * then it is simply not removed. */
int cleanup_add(const char *path);

/* The file is complete or gone: forget the slot. -1 does nothing. */
void cleanup_drop(int slot);

#endif
