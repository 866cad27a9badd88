/* fake_counts.h - the stand-in's counters, and the files that they become. */
#ifndef FAKE_COUNTS_H
#define FAKE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

/* In the order of Copper's operations. */
enum fake_op {
    FAKE_GETATTR,
    FAKE_READLINK,
    FAKE_OPEN,
    FAKE_READ,
    FAKE_FLUSH,
    FAKE_RELEASE,
    FAKE_OPENDIR,
    FAKE_READDIR,
    FAKE_RELEASEDIR,
    FAKE_INIT,
    FAKE_DESTROY,
    FAKE_IOCTL,
    FAKE_OPS
};
enum fake_table { FAKE_MD, FAKE_DATA, FAKE_TREE, FAKE_TABLES };

struct fake_profile {
    const char *logs; /* -log_output_dir */
    bool on, full;
    int top_n, ttl_ms;
    long pid; /* in the files' names */
};

/* One call that took us microseconds and says nothing of caches. */
void fake_count(enum fake_op op, uint64_t us);
/* One call with a table: a hit, a miss where the path is new to the table (but
 * getattr never misses), or negative. */
void fake_count_path(enum fake_op op, enum fake_table table, const char *path,
                     bool negative, uint64_t us);

/* Writes profiling/<tag>/ and tables/<tag>/; tag "final" is in no file's name.
 * Nothing where the profile is off. */
void fake_write(const struct fake_profile *profile, const char *tag);
/* What an ioctl dumps into tables/final/, profile or not. */
void fake_dump(const struct fake_profile *profile);

#endif
