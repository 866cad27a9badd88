/* copper_flags.c - from job.conf to cu_fuse's command line. */
#include "plugins/copper/copper_flags.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"

static int add_range(char *word, cpu_set_t *set, struct jp_error *err)
{
    char *dash = strchr(word, '-');
    uint64_t from, to;

    if (dash)
        *dash++ = '\0';
    if (num_parse_u64(word, 0, CPU_SETSIZE - 1, &from, err) < 0 ||
        num_parse_u64(dash ? dash : word, from, CPU_SETSIZE - 1, &to, err) < 0)
        return -1;
    for (; from <= to; from++)
        CPU_SET(from, set);
    return 0;
}

int copper_flags_cores(const char *text, cpu_set_t *set, struct jp_error *err)
{
    char *copy = strdup(text), *rest = copy, *word;
    cpu_set_t cpus;
    int rc = copy ? 0 : error_set(err, "out of memory");

    CPU_ZERO(&cpus);
    while (rc == 0 && (word = strsep(&rest, ",")))
        rc = add_range(word, &cpus, err);
    free(copy);
    if (rc == 0)
        *set = cpus;
    return rc;
}

/* A word; trouble shows at the end: too many words, or no memory. */
static void add(struct copper_flags *f, const char *word)
{
    if (f->n >= COPPER_FLAGS_MAX)
        f->n = COPPER_FLAGS_MAX + 1;
    else if (!(f->argv[f->n++] = strdup(word)))
        f->n = COPPER_FLAGS_MAX + 1;
}

static void add_pair(struct copper_flags *f, const char *flag,
                     const char *value)
{
    if (value) {
        add(f, flag);
        add(f, value);
    }
}

static void add_words(struct copper_flags *f, const char *text)
{
    char *copy = strdup(text ? text : ""), *rest = copy, *word;

    while ((word = strsep(&rest, " ")))
        if (*word)
            add(f, word);
    free(copy);
}

static void add_profile(struct copper_flags *f, const struct jp_jobconf *conf)
{
    const char *mode = jobconf_copper(conf, "mode");
    const char *interval = jobconf_copper(conf, "interval");
    bool top = mode && !strcmp(mode, "top");
    bool full = mode && !strcmp(mode, "full");

    add(f, "-profile_metrics");
    if (top || full)
        add_pair(f, "-profile_top_n", jobconf_copper(conf, "top"));
    if (full)
        add(f, "-profile_paths_full");
    if (interval && strcmp(interval, "0") != 0)
        add_pair(f, "-profile_snapshot_interval_s", interval);
}

const char *copper_flags_net(const struct jp_jobconf *conf)
{
    const char *named = jobconf_copper(conf, "net_type");

    if (named)
        return named;
    return jobconf_copper(conf, "address_book") ? COPPER_NET_SITE : COPPER_NET;
}

/* Copper parses no book for cxi without -nf. With a FIFO as book there is
 * nothing to sleep for: the daemon waits until it is written. */
static void add_network(struct copper_flags *f, const struct jp_jobconf *conf,
                        const struct copper_paths *paths)
{
    add_pair(f, "-net_type", copper_flags_net(conf));
    add_pair(f, "-nf", paths->list);
    add_pair(f, "-facility_address_book", paths->book);
    add_pair(f, "-prefiltered_address_book", "1");
    if (!paths->list)
        add_pair(f, "-addr_write_sync_time", "0");
}

static void add_cache(struct copper_flags *f, const struct jp_jobconf *conf)
{
    const char *size = jobconf_copper(conf, "cache_size");
    const char *ttl = jobconf_copper(conf, "ttl");
    char bytes[24] = COPPER_CACHE_BYTES;
    uint64_t n;

    add_pair(f, "-md_enoent_ttl_ms", ttl ? ttl : COPPER_TTL_MS);
    if (size && num_parse_size(size, 0, UINT64_MAX, &n, NULL) == 0)
        snprintf(bytes, sizeof(bytes), "%" PRIu64, n);
    add_pair(f, "-max_cacheable_byte_size", bytes);
}

int copper_flags_make(const struct jp_jobconf *conf,
                      const struct copper_paths *paths,
                      struct copper_flags *out, struct jp_error *err)
{
    const char *daemon = jobconf_copper(conf, "cu_fuse");
    struct copper_flags f = {.n = 0};

    if (!daemon)
        return error_set(err, "job.conf names no cu_fuse");
    add(&f, daemon);
    add(&f, "-f"); /* stays the process that we have started */
    add_pair(&f, "-tpath", "/");
    add_pair(&f, "-vpath", paths->view);
    add_pair(&f, "-log_output_dir", paths->logs);
    /* fatal lines only, for what went wrong: from 3 on each failed getattr is
     * a line, written by the one thread that serves */
    add_pair(&f, "-log_level", "1");
    add_pair(&f, "-log_type", "file");
    add_network(&f, conf, paths);
    add_cache(&f, conf);
    add_profile(&f, conf);
    add_words(&f, jobconf_copper(conf, "args"));
    add(&f, "-s");
    add(&f, paths->view);
    if (f.n > COPPER_FLAGS_MAX) {
        copper_flags_fini(&f);
        return error_set(err, "out of memory, or over %d flags for cu_fuse",
                         COPPER_FLAGS_MAX);
    }
    *out = f;
    return 0;
}

void copper_flags_fini(struct copper_flags *flags)
{
    for (int i = 0; i < COPPER_FLAGS_MAX; i++)
        free(flags->argv[i]);
    *flags = (struct copper_flags){.n = 0};
}
