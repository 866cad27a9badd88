/* xmlscan.h - walk through the elements of a small, foreign XML text.
 *
 * What hwloc writes and people edit: elements, attributes, text, comments,
 * processing instructions, CDATA, a DOCTYPE without declarations of its own (so
 * no entity can grow), the five named entities and numeric ones. Everything
 * else is an error. Nothing is allocated: names and values are
 * terminated and decoded in place, and live as long as the text.
 */
#ifndef JP_TOPO_XMLSCAN_H
#define JP_TOPO_XMLSCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

#define XMLSCAN_MAX_DEPTH 256
#define XMLSCAN_MAX_ATTRS 64

enum xmlscan_event {
    XMLSCAN_ERROR = -1,
    XMLSCAN_END,   /* behind the outermost element */
    XMLSCAN_OPEN,  /* name, attrs */
    XMLSCAN_CLOSE, /* name; also of <a/> */
    XMLSCAN_TEXT   /* text, not decoded; only blanks are left out */
};

struct xmlscan {
    /* what the last event was about */
    const char *name;
    struct xmlscan_attr {
        const char *name, *value;
    } attrs[XMLSCAN_MAX_ATTRS];
    unsigned n_attrs;
    const char *text;
    unsigned depth; /* open elements, the last event's among them */

    /* private */
    char *begin, *at, *end;
    char held; /* the character that a terminating NUL stands on */
    bool closing, left, over;
    const char *open[XMLSCAN_MAX_DEPTH];
};

/* text[len] is NUL, and is changed; both stay the caller's. */
void xmlscan_init(struct xmlscan *scan, char *text, size_t len);

enum xmlscan_event xmlscan_next(struct xmlscan *scan, struct jp_error *err);

/* The line of the last event. */
unsigned xmlscan_line(const struct xmlscan *scan);

/* The value of the last element's attribute, or NULL. */
const char *xmlscan_attr(const struct xmlscan *scan, const char *name);

#endif
