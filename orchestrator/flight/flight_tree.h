/* flight_tree.h - the values of a file: read from a pickle or from JSON,
 * without calling anything.
 *
 * PyTorch writes dumps of its Flight Recorder as a pickle (protocol 2, by its
 * own writer; some tools write them again with Python's, protocols 2 to 5) or
 * as JSON. A pickle is a program for a small stack machine. This reader knows
 * the opcodes that build values: numbers, text, lists, tuples, dicts, and the
 * memo. Every opcode that would import or call something (GLOBAL, REDUCE,
 * BUILD, ...) is refused by its name.
 *
 * Values form a tree in which parts may be shared (the memo), but never a
 * circle: what was fetched from the memo or put into another value cannot
 * change any more. Depth, bytes and the number of values are limited. A reader
 * of the tree must also bound what it visits, because a shared part may appear
 * millions of times.
 */
#ifndef JP_FLIGHT_FLIGHT_TREE_H
#define JP_FLIGHT_FLIGHT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define FLIGHT_BYTES_MAX (64UL << 20) /* of a file, unpacked */
#define FLIGHT_VALUES_MAX (5UL << 20) /* 16 bytes each */
#define FLIGHT_STACK_MAX (1UL << 20)  /* values that wait for their list */
#define FLIGHT_MEMO_MAX (1UL << 20)
#define FLIGHT_DEPTH_MAX 24

enum flight_type {
    FLIGHT_IS_NONE,
    FLIGHT_IS_BOOL,
    FLIGHT_IS_INT,
    FLIGHT_IS_REAL,
    FLIGHT_IS_TEXT,
    FLIGHT_IS_LIST, /* also a tuple */
    FLIGHT_IS_DICT
};

struct flight_value {
    uint8_t type; /* enum flight_type */
    uint32_t len; /* of the text */
    union {
        int64_t number; /* FLIGHT_IS_INT, FLIGHT_IS_BOOL */
        double real;
        const char *text; /* not terminated; lives as long as the tree */
        uint32_t box;     /* of a list or dict */
    } is;
};

/* The content of a list or dict. */
struct flight_box {
    uint32_t first, n, room; /* in values; a dict's n counts keys and values */
    uint8_t depth;
    bool closed; /* it cannot change any more */
};

/* Zero-initialised: empty. */
struct flight_tree {
    struct flight_value root;
    struct flight_value *values;
    size_t n_values, values_room;
    struct flight_box *boxes;
    size_t n_boxes, boxes_room;
    void *json; /* owns the texts of a JSON file */
};

/* Both read a whole file. bytes must live as long as the tree. Return -1 and
 * err, and the tree is empty. */
int flight_tree_pickle(struct flight_tree *tree, const char *bytes, size_t len,
                       struct jp_error *err);
int flight_tree_json(struct flight_tree *tree, const char *bytes, size_t len,
                     struct jp_error *err);
void flight_tree_fini(struct flight_tree *tree);

/* The items of a list, or NULL and 0 if it is none. */
const struct flight_value *flight_tree_items(const struct flight_tree *tree,
                                             const struct flight_value *list,
                                             size_t *n);
/* The pairs of a dict: key, value, key, value ...; *n counts pairs. */
const struct flight_value *flight_tree_pairs(const struct flight_tree *tree,
                                             const struct flight_value *dict,
                                             size_t *n);
/* The value of a key among pairs; NULL: there is none. */
const struct flight_value *flight_tree_get(const struct flight_value *pairs,
                                           size_t n, const char *key);

/* A number, also one that is written as text; false: it is none. */
bool flight_tree_int(const struct flight_value *value, int64_t *out);
/* Copies a text; "" if it is none. */
void flight_tree_text(const struct flight_value *value, char *buf, size_t size);

#endif
