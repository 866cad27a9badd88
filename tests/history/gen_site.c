/* gen_site.c - writes the history of a simulated cluster (site.h):
 *
 *     gen_site DIR STEPS [NODES [SEED]]
 *
 * As root, it creates one folder for each of the 20 users (uid 60000 on),
 * because jobprof history believes a line only in a folder that its user owns.
 * Otherwise all lines go into one folder of the caller. n017 and n101 are bad.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/history/site.h"

int main(int argc, char **argv)
{
    static const unsigned bad[SITE_BAD] = {17, 101};
    bool root = getuid() == 0;
    FILE *out[SITE_USERS] = {NULL};
    struct history_step *step = malloc(sizeof(*step));
    struct site *site = malloc(sizeof(*site));
    unsigned long steps = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

    if (argc < 3 || !step || !site)
        return 2;
    site_init(site, argc > 3 ? (unsigned) strtoul(argv[3], NULL, 10) : 200, bad,
              argc > 4 ? strtoul(argv[4], NULL, 10) : 1);
    for (unsigned u = 0; u < (root ? (unsigned) SITE_USERS : 1u); u++) {
        uid_t uid = root ? 60000 + u : getuid();
        char path[4096];

        snprintf(path, sizeof(path), "%s/%u", argv[1], (unsigned) uid);
        /* as the reporter creates it: only the user can read it */
        if (mkdir(path, 0700) < 0 || chown(path, uid, (gid_t) -1) < 0)
            return 1;
        snprintf(path, sizeof(path), "%s/%u/login1.jsonl", argv[1],
                 (unsigned) uid);
        out[u] = fopen(path, "w");
        if (!out[u] || fchown(fileno(out[u]), uid, (gid_t) -1) < 0)
            return 1;
    }
    for (unsigned long i = 0; i < steps; i++) {
        site_next(site, step);
        if (history_line_put(step, out[root ? site->user : 0], NULL) < 0)
            return 1;
    }
    for (unsigned u = 0; u < SITE_USERS; u++)
        if (out[u] && fclose(out[u]) != 0)
            return 1;
    free(step);
    free(site);
    return 0;
}
