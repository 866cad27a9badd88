/* copper_name.c - take names of Copper's files apart, from the right. */
#include "plugins/copper/copper_name.h"

#include <string.h>

#include "plugins/copper/copper_stream.h"

const char *const copper_tag_names[COPPER_N_TAGS] = {
    "final",          "pre-destroy", "runtime-snapshot",
    "ioctl-snapshot", "pre-reset",   "before"};

static const struct {
    const char *suffix;
    enum copper_kind kind;
} suffixes[] = {
    {"-profiling_aggregate.csv", COPPER_FILE_AGGREGATE},
    {"-profiling_operations.csv", COPPER_FILE_OPERATIONS},
    {"-profiling_top_paths.csv", COPPER_FILE_TOP},
    {"-profiling_summary.md", COPPER_FILE_SUMMARY},
    {"-md_table_cache_event.output", COPPER_FILE_TABLE_METADATA},
    {"-data_table_cache_event.output", COPPER_FILE_TABLE_DATA},
    {"-tree_table_cache_event.output", COPPER_FILE_TABLE_TREE},
    {"-md_ttl_cache_event.output", COPPER_FILE_TABLE_TTL},
    {"-operation_count.output", COPPER_FILE_DUMP_COUNT},
    {"-operation_time.output", COPPER_FILE_DUMP_TIME},
    {"-operation_cache_hit.output", COPPER_FILE_DUMP_HIT},
    {"-operation_cache_miss.output", COPPER_FILE_DUMP_MISS},
    {"-operation_cache_neg.output", COPPER_FILE_DUMP_NEG},
    {"-data_cache_size.output", COPPER_FILE_SIZE_DATA},
    {"-tree_cache_size.output", COPPER_FILE_SIZE_TREE},
    {"-md_cache_size.output", COPPER_FILE_SIZE_METADATA},
    {"-ioctl_cache_event.output", COPPER_FILE_OTHER},
    {"-cache_tables.output", COPPER_FILE_OTHER},
    {"-output.log", COPPER_FILE_LOG},
};

/* Does text of len bytes end so? Then *len loses the end. */
static bool strip(const char *text, size_t *len, const char *end)
{
    size_t n = strlen(end);

    if (*len <= n || memcmp(text + *len - n, end, n))
        return false;
    *len -= n;
    return true;
}

/* The tag that a folder is named after, with a copy's number; false: none. */
static bool tag_of(const char *folder, struct copper_name *name)
{
    for (unsigned t = 0; t < COPPER_N_TAGS; t++) {
        size_t n = strlen(copper_tag_names[t]);

        if (strncmp(folder, copper_tag_names[t], n))
            continue;
        name->tag = t;
        name->copy = 0;
        if (!folder[n])
            return true;
        if ((t == COPPER_TAG_RUNTIME || t == COPPER_TAG_IOCTL) &&
            folder[n] == '-' &&
            copper_u64(folder + n + 1, strlen(folder + n + 1), &name->copy))
            return true;
    }
    return false;
}

/* "<host>-<pid>" of len bytes. */
static bool host_and_pid(const char *text, size_t len, struct copper_name *name)
{
    size_t digits = 0, host;
    uint64_t pid;

    while (digits < len && text[len - digits - 1] >= '0' &&
           text[len - digits - 1] <= '9')
        digits++;
    if (!digits || digits + 1 >= len || text[len - digits - 1] != '-')
        return false;
    host = len - digits - 1;
    if (host >= COPPER_HOST_MAX ||
        !copper_u64(text + len - digits, digits, &pid) || pid > INT32_MAX)
        return false;
    memcpy(name->host, text, host);
    name->host[host] = '\0';
    name->pid = (int64_t) pid;
    return true;
}

static bool cluster_file(const char *file, struct copper_name *name)
{
    name->kind = !strcmp(file, "copper_address_book.txt") ? COPPER_FILE_BOOK
                 : !strcmp(file, "node_file.txt")         ? COPPER_FILE_NODES
                                                          : COPPER_N_FILES;
    return name->kind < COPPER_N_FILES;
}

bool copper_name_parse(const char *folder, const char *file,
                       struct copper_name *name)
{
    struct copper_name n = {.kind = COPPER_N_FILES};
    bool in_tag = tag_of(folder, &n);
    size_t len = strlen(file);

    /* what Copper's own tool makes is no daemon's */
    if (!strcmp(folder, "cluster"))
        return false;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
        if (strip(file, &len, suffixes[i].suffix)) {
            n.kind = suffixes[i].kind;
            break;
        }
    if (n.kind == COPPER_N_FILES) {
        if (!cluster_file(file, &n))
            return false;
        *name = n;
        return true;
    }
    for (unsigned t = COPPER_TAG_PRE_DESTROY; t <= COPPER_TAG_PRE_RESET; t++) {
        char end[32] = "-";

        strncat(end, copper_tag_names[t], sizeof(end) - 2);
        if (in_tag ? n.tag == t && strip(file, &len, end)
                   : strip(file, &len, end))
            n.tag = t;
    }
    if (!host_and_pid(file, len, &n))
        return false;
    *name = n;
    return true;
}
