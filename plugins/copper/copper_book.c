/* copper_book.c - filter, gather and read address books. */
#include "plugins/copper/copper_book.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "plugins/copper/copper_notes.h"

#define SITE_MAX (64 * 1024 * 1024) /* bytes of a site's book */
#define ADDRESS_MAX 512

enum copper_addresses copper_book_kind(const char *net_type)
{
    if (!strcmp(net_type, "tcp"))
        return COPPER_ADDRESSES_ASKED;
    return strcmp(net_type, "na+sm") ? COPPER_ADDRESSES_SITE
                                     : COPPER_ADDRESSES_LOCAL;
}

/* --- the site's ----------------------------------------------------------- */

struct wanted {
    const char *name; /* the node's */
    size_t len;       /* of the short name */
    size_t place;
    const char *address;
};

static int compare(const char *a, size_t n, const char *b, size_t m)
{
    int rc = memcmp(a, b, n < m ? n : m);

    return rc ? rc : (n > m) - (n < m);
}

static int by_name(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;

    return compare(x->name, x->len, y->name, y->len);
}

static int by_place(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;

    return (x->place > y->place) - (x->place < y->place);
}

/* "a" is "a.site", and "a.site" is "a", but "a.x" is not "a.y". */
static bool is_host(const char *a, const char *b)
{
    size_t n = strcspn(a, "."), m = strcspn(b, ".");

    return n == m && !memcmp(a, b, n) && (!a[n] || !b[n] || !strcmp(a, b));
}

static void take_line(char *line, struct wanted *wanted, size_t n)
{
    char *address = strpbrk(line, " \t");
    struct wanted key = {.name = line}, *hit;

    if (!address || line == address)
        return;
    *address++ = '\0';
    address += strspn(address, " \t");
    address[strcspn(address, " \t\r")] = '\0';
    key.len = strcspn(line, ".");
    hit = bsearch(&key, wanted, n, sizeof(*wanted), by_name);
    while (hit && hit > wanted && by_name(hit - 1, &key) == 0)
        hit--;
    for (; hit && hit < wanted + n && by_name(hit, &key) == 0; hit++)
        if (*address && is_host(hit->name, line))
            hit->address = address;
}

static int print_book(const struct wanted *wanted, size_t n, char **out,
                      size_t *found, struct jp_error *err)
{
    size_t len;
    FILE *f = open_memstream(out, &len);

    *found = 0;
    for (size_t i = 0; f && i < n; i++)
        if (wanted[i].address) {
            fprintf(f, "%s %s\n", wanted[i].name, wanted[i].address);
            ++*found;
        }
    return f && fclose(f) == 0 ? 0 : error_set(err, "out of memory");
}

int copper_book_filter(char *text, char *const *nodes, size_t n, char **out,
                       size_t *found, struct jp_error *err)
{
    struct wanted *wanted = calloc(n ? n : 1, sizeof(*wanted));
    char *line;
    int rc;

    if (!wanted)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < n; i++)
        wanted[i] = (struct wanted){nodes[i], strcspn(nodes[i], "."), i, NULL};
    qsort(wanted, n, sizeof(*wanted), by_name);
    while ((line = strsep(&text, "\n")))
        take_line(line, wanted, n);
    qsort(wanted, n, sizeof(*wanted), by_place);
    rc = print_book(wanted, n, out, found, err);
    free(wanted);
    return rc;
}

static int write_book(const char *step_dir, const char *text,
                      struct jp_error *err)
{
    char *path = fileio_path("%s/raw/" COPPER_BOOK_NAME, step_dir);
    int rc = path ? fileio_write(path, text, strlen(text), err)
                  : error_set(err, "out of memory");

    free(path);
    return rc;
}

int copper_book_prepare(const char *path, const char *step_dir,
                        char *const *nodes, size_t n, struct jp_error *err)
{
    char *text = NULL, *book = NULL;
    size_t found = 0;
    int rc = fileio_read(path, true, SITE_MAX, &text, NULL, err);

    if (rc == 0)
        rc = copper_book_filter(text, nodes, n, &book, &found, err);
    if (rc == 0 && !found)
        rc = error_set(err, "none of the step's %zu nodes is in %s", n, path);
    if (rc == 0)
        rc = write_book(step_dir, book, err);
    free(text);
    free(book);
    return rc;
}

/* --- what the daemons say ------------------------------------------------- */

int copper_book_offer(const char *step_dir, const char *node,
                      const char *address, struct jp_error *err)
{
    char *path = fileio_path("%s/run/%s.address", step_dir, node);
    int rc = path ? fileio_write(path, address, strlen(address), err)
                  : error_set(err, "out of memory");

    free(path);
    return rc;
}

/* 1: its address is in *text; 0: nothing yet; -1: it has failed. */
static int look_for(const char *step_dir, const char *node, char **text)
{
    char *path = fileio_path("%s/run/%s.address", step_dir, node);
    char *failed = fileio_path("%s/run/%s.failed", step_dir, node);
    int rc = 0;

    if (path && fileio_read(path, false, ADDRESS_MAX, text, NULL, NULL) == 0)
        rc = strpbrk(*text, "\r\n") || !**text ? -1 : 1;
    else if (failed && access(failed, F_OK) == 0)
        rc = -1;
    free(path);
    free(failed);
    return rc;
}

int copper_book_gather(const char *step_dir, char *const *nodes, size_t n,
                       bool late, struct jp_error *err)
{
    char *book = NULL;
    size_t len;
    FILE *out = open_memstream(&book, &len);
    int rc = out ? 1 : error_set(err, "out of memory");

    for (size_t i = 0; i < n && rc > 0; i++) {
        char *address = NULL;
        int there = look_for(step_dir, nodes[i], &address);

        if (there > 0)
            fprintf(out, "%s %s\n", nodes[i], address);
        else if (there == 0 && !late)
            rc = 0;
        free(address);
    }
    if (out && fclose(out) != 0)
        rc = error_set(err, "out of memory");
    if (rc > 0 && write_book(step_dir, book, err) < 0)
        rc = -1;
    free(book);
    return rc;
}

bool copper_book_is_there(const char *step_dir)
{
    char *path = fileio_path("%s/raw/" COPPER_BOOK_NAME, step_dir);
    bool there = path && access(path, R_OK) == 0;

    free(path);
    return there;
}

int copper_book_read(const char *step_dir, char **text, size_t *len)
{
    char *path = fileio_path("%s/raw/" COPPER_BOOK_NAME, step_dir);
    int rc = path ? fileio_read(path, false, SITE_MAX, text, len, NULL) : -1;

    free(path);
    return rc;
}

/* --- the tree ------------------------------------------------------------- */

static bool is_line_of(const char *line, const char *node)
{
    size_t n = strlen(node);

    return !strncmp(line, node, n) && line[n] == ' ';
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

static char *name_of_line(const char *text, size_t i)
{
    while (i-- > 0)
        text = next_line(text);
    return strndup(text, strcspn(text, " \n"));
}

/* A tree's part of the book's lines: so many each, and what is left over at the
 * ends of the first ones, as Copper's get_tree_segments has it. */
struct segment {
    size_t first, n, last; /* last: the line of one that is left over */
};

static struct segment find_segment(size_t line, size_t lines, size_t trees)
{
    size_t each = lines / trees, which = line / each;

    if (which >= trees)
        which = line - trees * each;
    return (struct segment){which * each, each + (which < lines % trees),
                            trees * each + which};
}

/* The place of a line in its tree, and back. */
static size_t place_of(const struct segment *s, size_t line)
{
    return line == s->last ? s->n - 1 : line - s->first;
}

static size_t line_of(const struct segment *s, size_t place, size_t each)
{
    return place < each ? s->first + place : s->last;
}

int copper_book_parents(const char *text, const char *node, size_t trees,
                        char *parents[COPPER_DEPTH_MAX], size_t *n)
{
    size_t lines = 0, own = SIZE_MAX;
    struct segment segment;
    unsigned fanout;

    *n = 0;
    for (const char *line = text; *line; line = next_line(line), lines++)
        if (own == SIZE_MAX && is_line_of(line, node))
            own = lines;
    if (own == SIZE_MAX)
        return -1;
    if (trees == 0 || trees > lines)
        return 0; /* Copper refuses more trees than lines */
    segment = find_segment(own, lines, trees);
    own = place_of(&segment, own);
    fanout = copper_tree_fanout(segment.n);
    while (own > 0 && *n < COPPER_DEPTH_MAX) {
        own = (own - 1) / fanout;
        parents[*n] = name_of_line(text, line_of(&segment, own, lines / trees));
        if (!parents[*n])
            break;
        ++*n;
    }
    return 0;
}
