/* copper_book.h - the addresses of a step's daemons: which ones, in what order.
 *
 * Each daemon reads a book, "host address" a line, and builds the same tree
 * from its lines: a node asks its parent, the first line's node asks the file
 * system. A daemon whose own address is not in its book ends. The step's book
 * is raw/copper_address_book.txt, from the site's, or from what the daemons
 * say.
 */
#ifndef JP_COPPER_BOOK_H
#define JP_COPPER_BOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

#define COPPER_BOOK_NAME "copper_address_book.txt"
#define COPPER_DEPTH_MAX 16

/* How the addresses of a -net_type are known. */
enum copper_addresses {
    COPPER_ADDRESSES_SITE,  /* by the site's book alone: cxi and the like */
    COPPER_ADDRESSES_ASKED, /* the daemon says its own: tcp */
    COPPER_ADDRESSES_LOCAL  /* the same, within one node: na+sm */
};
enum copper_addresses copper_book_kind(const char *net_type);

/* The lines of the site's book (text, changed) that belong to nodes, in the
 * order of nodes and with their names: a book may hold full or short names. The
 * last line of a host counts. Pure. *out: caller frees; *found lines. */
int copper_book_filter(char *text, char *const *nodes, size_t n, char **out,
                       size_t *found, struct jp_error *err);

/* Reads the site's book at path and writes the step's. -1: none of the nodes is
 * in it, or it cannot be read or written. */
int copper_book_prepare(const char *path, const char *step_dir,
                        char *const *nodes, size_t n, struct jp_error *err);

/* On a node: what its daemon said, for copper_book_gather. */
int copper_book_offer(const char *step_dir, const char *node,
                      const char *address, struct jp_error *err);

/* In srun's keeper: writes the step's book when each node has offered an
 * address or failed, or, late, from what there is. 1: written; 0: not yet; -1.
 */
int copper_book_gather(const char *step_dir, char *const *nodes, size_t n,
                       bool late, struct jp_error *err);

bool copper_book_is_there(const char *step_dir);
/* The step's book as text. -1 where there is none yet. Caller frees. */
int copper_book_read(const char *step_dir, char **text, size_t *len);

/* The names of the nodes between node and the file system, its parent first;
 * *n of them, at most COPPER_DEPTH_MAX. The book is cut into so many trees (1).
 * Caller frees each. -1: node is not in the book. Pure. */
int copper_book_parents(const char *text, const char *node, size_t trees,
                        char *parents[COPPER_DEPTH_MAX], size_t *n);

#endif
