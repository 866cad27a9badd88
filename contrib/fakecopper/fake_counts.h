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
    long pid; /* part of the files' names */
};

/* Counts a call that took us microseconds and does not concern a cache. */
void fake_count(enum fake_op op, uint64_t us);
/* Counts a call with a table: a hit; a miss if the path is new to the table
 * (but getattr never misses); or negative. */
void fake_count_path(enum fake_op op, enum fake_table table, const char *path,
                     bool negative, uint64_t us);

/* Writes profiling/<tag>/ and tables/<tag>/. The tag "final" is not part of
 * file names. Does nothing if the profile is off. */
void fake_write(const struct fake_profile *profile, const char *tag);
/* Writes what an ioctl dumps into tables/final/, with or without a profile. */
void fake_dump(const struct fake_profile *profile);

#endif
