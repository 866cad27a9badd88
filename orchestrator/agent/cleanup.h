/* cleanup.h - files to remove if a signal ends this process.
 *
 * `begin` receives SIGTERM when its step exits, and SIGKILL 200 ms later. It
 * blocks the signals during its short writes. It lets them through in the long
 * parts between, called windows; there the handler removes the registered
 * files. One process, one thread, at most JP_CLEANUP_MAX paths at a time.
 */
#ifndef JP_AGENT_CLEANUP_H
#define JP_AGENT_CLEANUP_H

#define JP_CLEANUP_MAX 4

/* Blocks SIGTERM, SIGINT, SIGHUP and SIGALRM. In a window, each of them removes
 * the registered paths and ends the process with status 0. */
void cleanup_init(void);

void cleanup_open_window(void);
void cleanup_close_window(void);

/* Registers a path (copied). Returns its slot, or -1 if the path is too long or
 * the table is full; such a path is not removed. */
int cleanup_add(const char *path);

/* Forgets the slot: its file is complete or gone. -1: does nothing. */
void cleanup_drop(int slot);

#endif
