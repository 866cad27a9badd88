/* rival.h - somebody else's claim: whether its owner lives, and its removal.
 *
 * The age of a claim's last touch is taken from the file system's own clock (a
 * probe file beside it), so hosts need not agree on the time. A stale claim is
 * removed under a flock on it, where the file system has one, after a second
 * look, by rename to report.claim.stale.HOST.PID and unlink.
 */
#ifndef JP_COLLECT_RIVAL_H
#define JP_COLLECT_RIVAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum jp_rival {
    JP_RIVAL_NONE,  /* nobody holds the claim */
    JP_RIVAL_LIVE,  /* its owner's heart beats */
    JP_RIVAL_STALE, /* its owner is gone or stopped */
    JP_RIVAL_BAD    /* the directory is gone or cannot be read or written */
};

/* Who holds the claim of dir now? */
enum jp_rival rival_look(const char *dir, uint32_t stale_ms);

/* Removes the claim `path` of dir if it is stale. *lock_fd, where set, keeps
 * other thieves out until the caller has made his own claim; he closes it (also
 * after false). False: its owner lives, or another thief was faster. */
bool rival_oust(const char *dir, const char *path, uint32_t stale_ms,
                int *lock_fd);

/* Are these one file? A claim that was stolen and made anew is another one. */
bool rival_same_file(const struct stat *a, const struct stat *b);

/* This host's name, as claims say it. */
void rival_host(char out[65]);

#endif
