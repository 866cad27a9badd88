/* copper_paths.c - add up path events of all ranks, from full tables or top
 * rows.
 *
 * First the set of paths (copper_pathset_...): a hash table of paths with their
 * counts, whose texts are in an arena (struct chunk) that the result takes
 * over. Then the classes of paths, by Copper's own rules. Then copper_paths,
 * which reads the tables of each rank into the set. */
#include "orchestrator/copper/copper_build.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/num.h"
#include "common/vector.h"
#include "orchestrator/copper/copper.h"

#define DEFAULT_LIMIT (UINT64_C(1) << 30) /* bytes of a set */
#define CHUNK_BYTES (1024 * 1024)         /* of texts, allocated at once */

/* Memory for texts, newest chunk first. */
struct chunk {
    struct chunk *next;
    size_t used, size;
    char text[];
};

struct copper_pathset {
    struct jp_copper_path *entries;
    size_t n, room;
    struct hash_table table; /* of the entries, by path and category */
    struct chunk *chunks;
    uint64_t used, limit; /* bytes; used is estimated from the paths */
};

struct copper_pathset *copper_pathset_create(uint64_t limit)
{
    struct copper_pathset *set = calloc(1, sizeof(*set));

    if (!set)
        return NULL;
    set->limit = limit ? limit : DEFAULT_LIMIT;
    return set;
}

void copper_pathset_free(void *memory)
{
    for (struct chunk *c = memory, *next; c; c = next) {
        next = c->next;
        free(c);
    }
}

void copper_pathset_destroy(struct copper_pathset *set)
{
    if (!set)
        return;
    copper_pathset_free(set->chunks);
    free(set->entries);
    hash_fini(&set->table);
    free(set);
}

/* A text longer than a chunk gets a chunk of its own. */
const char *copper_memory_keep(void **memory, const char *text, size_t len)
{
    struct chunk *c = *memory;
    char *at;

    /* what is left of the old chunk stays unused */
    if (!c || c->size - c->used < len + 1) {
        size_t size = len + 1 > CHUNK_BYTES ? len + 1 : CHUNK_BYTES;

        c = malloc(sizeof(*c) + size);
        if (!c)
            return NULL;
        *c = (struct chunk){.next = *memory, .size = size};
        *memory = c;
    }
    at = c->text + c->used;
    if (len)
        memcpy(at, text, len);
    at[len] = '\0';
    c->used += len + 1;
    return at;
}

/* A path is counted separately for each category. */
static bool is_row(const struct jp_copper_path *path,
                   const struct copper_row *row)
{
    return path->len == row->len && path->category == row->category &&
           !memcmp(path->path, row->path, row->len);
}

/* Returns 0 if *entry is new, 1 if the limit leaves no room, -1 without
 * memory. */
static int insert(struct copper_pathset *set, const struct copper_row *row,
                  uint64_t hash, struct jp_copper_path **entry)
{
    /* entries and slots grow, so they may be twice as large as needed */
    uint64_t bytes = row->len + 1 + 2 * sizeof(**entry) +
                     4 * sizeof(struct hash_slot);
    void *memory = set->chunks;
    const char *text;

    /* the table holds indices of 32 bits */
    if (set->used + bytes > set->limit || set->n >= UINT32_MAX - 1)
        return 1;
    if (VECTOR_ROOM(set->entries, set->n + 1, set->room) < 0)
        return -1;
    text = copper_memory_keep(&memory, row->path, row->len);
    set->chunks = memory;
    if (!text || hash_add(&set->table, hash, (uint32_t) set->n) < 0)
        return -1;
    *entry = &set->entries[set->n++];
    **entry =
        (struct jp_copper_path){.path = text,
                                .len = (uint32_t) row->len,
                                .category = row->category,
                                .class = copper_class_of(row->category, text),
                                .last_rank = SIZE_MAX};
    set->used += bytes;
    return 0;
}

/* Takes the events of the rank whose rows have been added. */
static void close_rank(struct jp_copper_path *e)
{
    if (e->last_rank == SIZE_MAX)
        return;
    if (e->ranks == 1 || e->rank_events < e->least)
        e->least = e->rank_events;
    if (e->rank_events > e->most)
        e->most = e->rank_events;
    e->rank_events = 0;
}

int copper_pathset_add(struct copper_pathset *set, const struct copper_row *row,
                       size_t rank, bool full)
{
    uint64_t hash =
        hash_bytes(hash_word(hash_start(), row->category), row->path, row->len);
    struct jp_copper_path *e = NULL;
    uint32_t at;

    for (size_t i = 0;
         !e && (at = hash_next(&set->table, hash, &i)) != HASH_NONE;)
        if (is_row(&set->entries[at], row))
            e = &set->entries[at];
    if (!e) {
        int rc = insert(set, row, hash, &e);

        if (rc)
            return rc;
    }
    for (size_t i = 0; i < 4; i++)
        e->count[i] = num_add(e->count[i], row->count[i]);
    e->events = num_add(e->events, copper_row_events(row));
    /* rows of one rank follow each other, so a rank is counted once */
    if (e->last_rank != rank) {
        close_rank(e);
        e->ranks++;
    }
    e->rank_events = num_add(e->rank_events, copper_row_events(row));
    e->full |= full;
    e->last_rank = rank;
    return 0;
}

/* By category, then most events, then path. */
static int by_weight(const void *a, const void *b)
{
    const struct jp_copper_path *x = a, *y = b;

    if (x->category != y->category)
        return x->category < y->category ? -1 : 1;
    if (x->events != y->events)
        return x->events > y->events ? -1 : 1;
    return strcmp(x->path, y->path);
}

void copper_pathset_take(struct copper_pathset *set,
                         struct jp_copper_path **paths, size_t *n,
                         void **memory)
{
    for (size_t i = 0; i < set->n; i++)
        close_rank(&set->entries[i]);
    if (set->n)
        qsort(set->entries, set->n, sizeof(*set->entries), by_weight);
    *paths = set->entries;
    *n = set->n;
    *memory = set->chunks;
    /* the set stays usable, and empty */
    set->entries = NULL;
    set->chunks = NULL;
    set->n = set->room = 0;
    hash_clear(&set->table);
}

/* --- the class of a path, by Copper's own rules --- */

const char *const copper_class_names[JP_COPPER_N_CLASSES] = {
    "python_zip_probe",     "virtual_env_probe",
    "glibc_hwcaps_probe",   "missing_shared_library_probe",
    "negative_probe_path",  "torch_native_library",
    "torch_python_package", "python_site_packages",
    "python_stdlib",        "environment_bin",
    "shared_library",       "environment_prefix",
};

/* The first rule that matches decides; the last one matches everything. */
struct rule {
    const char *holds; /* text that the path contains; NULL: any */
    const char *ends;  /* text that the path ends in; NULL: any */
    enum jp_copper_class class;
};

static const struct rule ttl_rules[] = {
    {"python", ".zip", JP_COPPER_PYTHON_ZIP_PROBE},
    {NULL, "/pyvenv.cfg", JP_COPPER_VIRTUAL_ENV_PROBE},
    {"glibc-hwcaps", NULL, JP_COPPER_GLIBC_HWCAPS_PROBE},
    {".so", NULL, JP_COPPER_MISSING_LIBRARY_PROBE},
    {NULL, NULL, JP_COPPER_NEGATIVE_PROBE},
};
static const struct rule other_rules[] = {
    {"/site-packages/torch/lib/", NULL, JP_COPPER_TORCH_LIBRARY},
    {"/site-packages/torch", NULL, JP_COPPER_TORCH_PACKAGE},
    {"/site-packages", NULL, JP_COPPER_SITE_PACKAGES},
    {"/lib/python", NULL, JP_COPPER_STDLIB},
    {"/bin/", NULL, JP_COPPER_BIN},
    {".so", NULL, JP_COPPER_SHARED_LIBRARY},
    {NULL, NULL, JP_COPPER_PREFIX},
};

/* Whether the path matches both parts of the rule. */
static bool fits(const struct rule *rule, const char *path)
{
    size_t len = strlen(path), n = rule->ends ? strlen(rule->ends) : 0;

    return (!rule->holds || strstr(path, rule->holds)) &&
           (!rule->ends || (len >= n && !strcmp(path + len - n, rule->ends)));
}

enum jp_copper_class copper_class_of(enum copper_category category,
                                     const char *path)
{
    const struct rule *rule = category == COPPER_TTL ? ttl_rules : other_rules;

    while (!fits(rule, path))
        rule++;
    return rule->class;
}

/* --- add up path events of all ranks --- */

/* Where the rows of a file are added. */
struct sink {
    struct copper_build *b;
    size_t rank;
    bool classes, set; /* count top rows by class; add rows to the set */
    bool full;
    uint64_t *seen;   /* order in which classes were first seen */
    uint64_t wrapped; /* rows with a wrapped counter, left out */
};

/* Counts a row of top_paths.csv by class. */
static int count_top(struct sink *sink, const struct copper_row *row)
{
    enum jp_copper_class class = copper_class_of(row->category, row->path);
    struct jp_copper_class_sum *sum = &sink->b->copper->classes[class];

    if (!sum->top_example) {
        sum->top_example = strdup(row->path);
        if (!sum->top_example)
            return -1;
        sink->seen[class] = ++sink->seen[JP_COPPER_N_CLASSES];
    }
    sum->top_rows++;
    sum->top_events = num_add(sum->top_events, copper_row_events(row));
    return 0;
}

/* Adds a row. Rows with a wrapped counter are only counted. */
static int add_row(struct sink *sink, const struct copper_row *row)
{
    int rc = 0;

    if (row->wrapped) {
        sink->wrapped++;
        return 0;
    }
    if (sink->classes && count_top(sink, row) < 0)
        return -1;
    if (sink->set)
        rc = copper_pathset_add(sink->b->paths, row, sink->rank, sink->full);
    sink->b->copper->left_out_rows += rc > 0;
    return rc < 0 ? -1 : 0;
}

/* Reads all rows of a file. sink NULL: only checks that it is complete. Returns
 * 0 if complete, 1 if damaged (see why), -1 without memory or if stopped. */
static int read_rows(struct copper_build *b, const struct copper_file *file,
                     int category, struct sink *sink, struct jp_error *why)
{
    struct copper_stream stream;
    struct copper_rows rows;
    struct copper_row row;
    int rc;

    if (copper_stream_open(&stream, file->path, why) < 0)
        return 1;
    copper_rows_init(&rows, &stream, category);
    while ((rc = copper_rows_next(&rows, &row, why)) > 0)
        if (sink && add_row(sink, &row) < 0) {
            /* no memory or stopped, as opposed to a damaged file */
            rc = -2;
            break;
        }
    copper_rows_fini(&rows);
    if (rc > -2 && sink && copper_read_done(b, &stream) < 0)
        rc = -2;
    copper_stream_close(&stream);
    return rc == -2 ? -1 : rc < 0;
}

/* The i-th of the daemon's files of that kind. Files written together with its
 * counters come first, then the others by tag. NULL after the last one. */
static const struct copper_file *choice(const struct copper_daemon *d,
                                        const struct jp_copper_rank *rank,
                                        enum copper_kind kind, unsigned i)
{
    unsigned n = 0;

    for (int pass = 0; pass < 2; pass++)
        for (unsigned tag = 0; tag <= COPPER_TAG_PRE_RESET; tag++) {
            /* first pass: the tag of the rank's counters; second: all others */
            bool own = !strcmp(copper_tag_names[tag], rank->source);
            const struct copper_file *file =
                own == !pass ? copper_daemon_file(d, kind, tag, 0) : NULL;

            if (file && n++ == i)
                return file;
        }
    return NULL;
}

/* A table shows at its end whether it is complete; a top_paths.csv must be
 * read. */
static bool is_whole(struct copper_build *b, const struct copper_file *file,
                     int category)
{
    struct jp_error why;

    return category == COPPER_TOP_PATHS
               ? read_rows(b, file, category, NULL, &why) == 0
               : copper_table_is_whole(file->path);
}

/* The first complete file of the kind, otherwise the first one; NULL: there is
 * none. */
static const struct copper_file *pick(struct copper_build *b,
                                      const struct copper_daemon *d,
                                      const struct jp_copper_rank *rank,
                                      enum copper_kind kind, int category)
{
    const struct copper_file *first = choice(d, rank, kind, 0), *file = first;

    for (unsigned i = 0; file; file = choice(d, rank, kind, ++i))
        if (is_whole(b, file, category))
            return file;
    return first;
}

/* Returns 1 if it was read completely, 0 if it is absent, or damaged and
 * noted. */
static int take_file(struct copper_build *b, const struct copper_file *file,
                     int category, struct sink *sink)
{
    struct jp_error why;
    int rc;

    if (!file)
        return 0;
    sink->wrapped = 0;
    rc = read_rows(b, file, category, sink, &why);
    if (rc == 0 && sink->wrapped)
        return copper_note(b, file->path, true,
                           "%llu rows left out: a counter exceeded 2^31",
                           (unsigned long long) sink->wrapped);
    if (rc <= 0)
        return rc < 0 ? -1 : 1;
    return copper_note(b, file->path, true,
                       "%s; only the rows before it are used", why.text);
}

/* Reads all tables and the top rows of one rank. */
static int take_rank(struct copper_build *b, const struct copper_daemon *d,
                     size_t index, uint64_t *seen)
{
    struct jp_copper_rank *rank = &b->copper->ranks[index];
    const struct copper_file *top =
        pick(b, d, rank, COPPER_FILE_TOP, COPPER_TOP_PATHS);
    struct sink sink = {.b = b, .rank = index, .set = true, .full = true};
    unsigned tables = 0, whole = 0;
    int rc;

    for (unsigned c = 0; c < COPPER_N_CATEGORIES; c++) {
        const struct copper_file *file =
            pick(b, d, rank, COPPER_FILE_TABLE_METADATA + c, (int) c);

        rc = take_file(b, file, (int) c, &sink);
        if (rc < 0)
            return -1;
        tables += file != NULL;
        whole += rc > 0;
    }
    /* all four tables, all complete */
    rank->has_tables = tables == COPPER_N_CATEGORIES && whole == tables;
    /* top rows only feed the set if the rank has no tables, which have the same
     * events */
    sink = (struct sink){
        .b = b, .rank = index, .classes = true, .set = !tables, .seen = seen};
    rc = take_file(b, top, COPPER_TOP_PATHS, &sink);
    rank->has_top = top != NULL && rc >= 0;
    b->copper->n_tables += rank->has_tables;
    b->copper->n_top += rank->has_top;
    return rc < 0 ? -1 : 0;
}

/* Adds up the full tables by class and finds each class's busiest path. */
static int sum_classes(struct jp_copper *c)
{
    uint64_t most[JP_COPPER_N_CLASSES] = {0};

    for (size_t i = 0; i < c->n_paths; i++) {
        const struct jp_copper_path *p = &c->paths[i];
        struct jp_copper_class_sum *sum = &c->classes[p->class];

        c->category_events[p->category] =
            num_add(c->category_events[p->category], p->events);
        if (!p->full)
            continue;
        /* classes are summed over full tables only */
        sum->paths++;
        sum->events = num_add(sum->events, p->events);
        /* paths are sorted by category, so compare across them */
        if (sum->example && p->events <= most[p->class])
            continue;
        most[p->class] = p->events;
        free(sum->example);
        sum->example = strdup(p->path);
        if (!sum->example)
            return -1;
    }
    return 0;
}

/* Sorts classes by events in top rows. Equal ones keep the order in which they
 * were seen; classes that are only in full tables come last. Insertion sort:
 * twelve classes. */
static void sort_classes(struct jp_copper *c, const uint64_t *seen)
{
    for (size_t i = 1; i < JP_COPPER_N_CLASSES; i++)
        for (size_t k = i; k > 0; k--) {
            struct jp_copper_class_sum *a = &c->classes[k - 1];
            struct jp_copper_class_sum *b = &c->classes[k], swap = *a;
            bool later = a->top_events != b->top_events
                             ? a->top_events < b->top_events
                         : seen[a->class] != seen[b->class]
                             ? seen[a->class] - 1 > seen[b->class] - 1
                             : a->events < b->events;

            if (!later)
                break;
            *a = *b;
            *b = swap;
        }
}

/* Sets where each category begins in the sorted paths. */
static void mark_categories(struct jp_copper *c)
{
    size_t at = 0;

    for (unsigned k = 0; k < COPPER_N_CATEGORIES; k++) {
        c->path_from[k] = at;
        while (at < c->n_paths && c->paths[at].category == k)
            at++;
    }
    c->path_from[COPPER_N_CATEGORIES] = at;
}

/* Reads the files of all ranks into the set, and makes the result from it.
 * Returns -1 when out of memory, or stopped. */
static int read_paths(struct copper_build *b)
{
    uint64_t seen[JP_COPPER_N_CLASSES + 1] = {0};
    struct jp_copper *c = b->copper;
    size_t rank = 0;

    for (size_t i = 0; i < b->n_daemons; i++) {
        /* only the last launch has ranks, in the order of its daemons */
        if (b->daemons[i].launch + 1 != c->n_launches)
            continue;
        if (b->daemons[i].has_profile &&
            take_rank(b, &b->daemons[i], rank, seen) < 0)
            return -1;
        rank++;
    }
    copper_pathset_take(b->paths, &c->paths, &c->n_paths, &c->memory);
    mark_categories(c);
    if (sum_classes(c) < 0)
        return -1;
    sort_classes(c, seen);
    return 0;
}

int copper_paths(struct copper_build *b)
{
    int rc;

    for (unsigned i = 0; i < JP_COPPER_N_CLASSES; i++)
        b->copper->classes[i].class = i;
    b->paths = copper_pathset_create(b->options->memory_bytes);
    if (!b->paths)
        return -1;
    rc = read_paths(b);
    copper_pathset_destroy(b->paths);
    b->paths = NULL;
    return rc;
}
