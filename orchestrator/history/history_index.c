/* history_index.c - store strings and node lists as numbers.
 *
 * A history may have millions of lines with the same few names. A name is
 * stored once, and rows refer to it by number. Lines are foreign input, so
 * hashes are seeded and all growth is limited by the caller's allowance. */
#include "orchestrator/history/history_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/vector.h"

/* --- strings -------------------------------------------------------------- */

const char *history_names_at(const struct history_names *names, uint32_t id)
{
    return id < names->n ? names->bytes + names->names[id].at : "";
}

/* Appends a name, made harmless. Returns -1 without memory. */
static int add_name(struct history_names *s, uint64_t hash,
                    struct history_text text)
{
    /* an upper bound for the cleaned text */
    size_t most = s->no_texts ? 1 : 3 * (size_t) text.len + 8;
    size_t wanted = s->n_bytes + most;

    if (VECTOR_ROOM(s->bytes, wanted, s->room_bytes) < 0)
        return -1;
    if (VECTOR_ROOM(s->names, s->n + 1, s->room) < 0)
        return -1;
    if (s->no_texts)
        s->bytes[s->n_bytes] = '\0';
    else
        history_text_copy(text, s->bytes + s->n_bytes, most);
    s->names[s->n++] = (struct history_name){hash, s->n_bytes};
    s->n_bytes += s->no_texts ? 0 : strlen(s->bytes + s->n_bytes) + 1;
    return 0;
}

uint32_t history_names_put(struct history_names *s, struct history_text text,
                           uint64_t *may, bool *failed)
{
    uint64_t hash = hash_bytes(hash_start(), text.at, text.len);
    uint32_t id;

    if (!text.len)
        return HISTORY_NO_NAME;
    /* Strings with the same hash are treated as one: it has 64 bits and a seed
     * of this run, so that no user can construct collisions. */
    for (size_t i = 0; (id = hash_next(&s->table, hash, &i)) != HASH_NONE;)
        if (s->names[id].hash == hash)
            return id;
    if (!may || !*may)
        return HISTORY_NO_NAME;
    if (add_name(s, hash, text) < 0 ||
        hash_add(&s->table, hash, (uint32_t) s->n - 1) < 0) {
        *failed = true;
        return HISTORY_NO_NAME;
    }
    --*may;
    return (uint32_t) (s->n - 1);
}

void history_names_fini(struct history_names *s)
{
    free(s->bytes);
    free(s->names);
    hash_fini(&s->table);
    *s = (struct history_names){0};
}

/* --- node lists ----------------------------------------------------------- */

struct expander {
    int (*see)(void *arg, struct history_text node);
    void *arg;
    unsigned n; /* nodes so far */
};

/* Parses a number of a range; *width includes leading zeros. */
static bool number(const char **at, const char *end, uint32_t *value,
                   unsigned *width)
{
    uint64_t v = 0;
    const char *begin = *at;

    /* nine digits fit in the value */
    for (; *at < end && **at >= '0' && **at <= '9' && *at - begin < 9; ++*at)
        v = v * 10 + (uint64_t) (**at - '0');
    *value = (uint32_t) v;
    *width = (unsigned) (*at - begin);
    return *width > 0;
}

static int expand(struct expander *e, char *name, size_t len, const char *at,
                  const char *end);

/* Expands "[1-3,7]..." after the first len bytes of name, with at after the
 * bracket. Returns as history_nodes_each does. */
static int expand_ranges(struct expander *e, char *name, size_t len,
                         const char *at, const char *end)
{
    const char *close = memchr(at, ']', (size_t) (end - at));

    if (!close || close == at)
        return -1;
    while (at < close) {
        uint32_t from, to;
        unsigned width, other;

        if (!number(&at, close, &from, &width))
            return -1;
        to = from;
        if (at < close && *at == '-' &&
            (++at, !number(&at, close, &to, &other)))
            return -1;
        /* a long range is refused before it takes time */
        if (to < from || to - from >= HISTORY_NODES_MOST)
            return -1;
        for (uint32_t i = from; i <= to; i++) {
            int n = snprintf(name + len, HISTORY_TEXT - len, "%0*u",
                             (int) width, i);
            int rc;

            if (n < 0 || (size_t) n >= HISTORY_TEXT - len)
                return -1;
            /* the rest may have another bracket: r[0-1]n[1-2] */
            rc = expand(e, name, len + (size_t) n, close + 1, end);
            if (rc)
                return rc;
        }
        if (at < close && *at++ != ',')
            return -1;
    }
    return 0;
}

/* Expands the rest of a name after its first len bytes. */
static int expand(struct expander *e, char *name, size_t len, const char *at,
                  const char *end)
{
    const char *open = memchr(at, '[', (size_t) (end - at));
    size_t plain = (size_t) ((open ? open : end) - at);

    if (len + plain >= HISTORY_TEXT || memchr(at, ']', plain))
        return -1;
    memcpy(name + len, at, plain);
    len += plain;
    if (open)
        return expand_ranges(e, name, len, open + 1, end);
    /* nested brackets multiply, so the names are counted at the end */
    if (!len || e->n++ == HISTORY_NODES_MOST)
        return -1;
    return e->see(e->arg, (struct history_text){name, (uint32_t) len});
}

int history_nodes_each(struct history_text list,
                       int (*see)(void *arg, struct history_text node),
                       void *arg)
{
    struct expander e = {see, arg, 0};
    const char *at = list.at, *end = list.at + list.len;
    char name[HISTORY_TEXT + 1];

    while (at < end) {
        const char *stop = at;
        int depth = 0, rc;

        /* a comma within brackets does not end the name */
        for (; stop < end && (depth || *stop != ','); stop++)
            depth += *stop == '[' ? 1 : *stop == ']' ? -1 : 0;
        rc = expand(&e, name, 0, at, stop);
        if (rc)
            return rc;
        at = stop < end ? stop + 1 : end;
    }
    return 0;
}
