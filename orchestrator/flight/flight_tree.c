/* flight_tree.c - build the values of a pickle or a JSON file. */
#include "orchestrator/flight/flight_tree.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/jsonload.h"
#include "common/num.h"
#include "common/vector.h"

/* --- the tree ------------------------------------------------------------- */

/* Makes room for n more elements. Returns 0 or -1. */
static int reserve(void **array, size_t *room, size_t used, size_t more,
                   size_t size, size_t max, const char *what,
                   struct jp_error *err)
{
    if (more > max || used > max - more)
        return error_set(err, "more than %zu %s", max, what);
    if (vector_room(array, used + more, room, size) < 0)
        return error_set(err, "out of memory");
    return 0;
}

/* Makes an empty list or dict. Returns 0 or -1. */
static int add_box(struct flight_tree *tree, enum flight_type type,
                   struct flight_value *out, struct jp_error *err)
{
    if (reserve((void **) &tree->boxes, &tree->boxes_room, tree->n_boxes, 1,
                sizeof(*tree->boxes), FLIGHT_VALUES_MAX, "lists", err) < 0)
        return -1;
    tree->boxes[tree->n_boxes] = (struct flight_box){.depth = 1};
    *out = (struct flight_value){.type = (uint8_t) type,
                                 .is.box = (uint32_t) tree->n_boxes++};
    return 0;
}

static bool is_box(const struct flight_value *value)
{
    return value->type == FLIGHT_IS_LIST || value->type == FLIGHT_IS_DICT;
}

/* Appends n values to a list or dict. What it contains is closed. Returns 0 or
 * -1. */
static int fill_box(struct flight_tree *tree, uint32_t index,
                    const struct flight_value *from, size_t n,
                    struct jp_error *err)
{
    struct flight_box *box = &tree->boxes[index];
    size_t want = (size_t) box->n + n;

    if (box->closed)
        return error_set(err, "a list changes after it was used");
    for (size_t i = 0; i < n; i++) {
        struct flight_box *inner;

        if (!is_box(&from[i]))
            continue;
        inner = &tree->boxes[from[i].is.box];
        inner->closed = true;
        if (inner->depth >= box->depth)
            box->depth = (uint8_t) (inner->depth + 1);
    }
    if (box->depth > FLIGHT_DEPTH_MAX)
        return error_set(err, "nested more than %d deep", FLIGHT_DEPTH_MAX);
    /* A list that is filled in several parts moves to the end, with room for
     * as many again. */
    if (want > box->room) {
        size_t room = box->n ? 2 * want : want;

        if (reserve((void **) &tree->values, &tree->values_room, tree->n_values,
                    room, sizeof(*tree->values), FLIGHT_VALUES_MAX, "values",
                    err) < 0)
            return -1;
        if (box->n)
            memcpy(tree->values + tree->n_values, tree->values + box->first,
                   box->n * sizeof(*tree->values));
        box->first = (uint32_t) tree->n_values;
        box->room = (uint32_t) room;
        tree->n_values += room;
    }
    if (n)
        memcpy(tree->values + box->first + box->n, from, n * sizeof(*from));
    box->n = (uint32_t) want;
    return 0;
}

void flight_tree_fini(struct flight_tree *tree)
{
    free(tree->values);
    free(tree->boxes);
    json_decref(tree->json);
    *tree = (struct flight_tree){0};
}

static const struct flight_value *content(const struct flight_tree *tree,
                                          const struct flight_value *value,
                                          enum flight_type type, size_t *n)
{
    const struct flight_box *box;

    *n = 0;
    if (!value || value->type != type)
        return NULL;
    box = &tree->boxes[value->is.box];
    *n = box->n;
    return box->n ? tree->values + box->first : NULL;
}

const struct flight_value *flight_tree_items(const struct flight_tree *tree,
                                             const struct flight_value *list,
                                             size_t *n)
{
    return content(tree, list, FLIGHT_IS_LIST, n);
}

const struct flight_value *flight_tree_pairs(const struct flight_tree *tree,
                                             const struct flight_value *dict,
                                             size_t *n)
{
    const struct flight_value *pairs = content(tree, dict, FLIGHT_IS_DICT, n);

    *n /= 2;
    return pairs;
}

const struct flight_value *flight_tree_get(const struct flight_value *pairs,
                                           size_t n, const char *key)
{
    size_t len = strlen(key);

    for (size_t i = 0; i < n; i++)
        if (pairs[2 * i].type == FLIGHT_IS_TEXT && pairs[2 * i].len == len &&
            !memcmp(pairs[2 * i].is.text, key, len))
            return &pairs[2 * i + 1];
    return NULL;
}

void flight_tree_text(const struct flight_value *value, char *buf, size_t size)
{
    size_t len = value && value->type == FLIGHT_IS_TEXT ? value->len : 0;

    len = len < size ? len : size - 1;
    if (len)
        memcpy(buf, value->is.text, len);
    buf[len] = '\0';
}

bool flight_tree_int(const struct flight_value *value, int64_t *out)
{
    char text[24];

    if (!value)
        return false;
    if (value->type == FLIGHT_IS_INT || value->type == FLIGHT_IS_BOOL) {
        *out = value->is.number;
        return true;
    }
    if (value->type != FLIGHT_IS_TEXT || value->len >= sizeof(text))
        return false;
    flight_tree_text(value, text, sizeof(text));
    return num_parse_i64(text, INT64_MIN, INT64_MAX, out, NULL) == 0;
}

/* --- pickle --------------------------------------------------------------- */

/* The opcodes of pickle protocols 2 to 5 that build values. */
enum opcode {
    OP_PROTO = 0x80,
    OP_FRAME = 0x95,
    OP_STOP = '.',
    OP_MARK = '(',
    OP_NONE = 'N',
    OP_NEWTRUE = 0x88,
    OP_NEWFALSE = 0x89,
    OP_BININT = 'J',
    OP_BININT1 = 'K',
    OP_BININT2 = 'M',
    OP_LONG1 = 0x8a,
    OP_LONG4 = 0x8b,
    OP_BINFLOAT = 'G',
    OP_BINUNICODE = 'X',
    OP_SHORT_BINUNICODE = 0x8c,
    OP_BINUNICODE8 = 0x8d,
    OP_BINBYTES = 'B',
    OP_SHORT_BINBYTES = 'C',
    OP_EMPTY_LIST = ']',
    OP_APPEND = 'a',
    OP_APPENDS = 'e',
    OP_LIST = 'l',
    OP_EMPTY_TUPLE = ')',
    OP_TUPLE = 't',
    OP_TUPLE1 = 0x85,
    OP_TUPLE2 = 0x86,
    OP_TUPLE3 = 0x87,
    OP_EMPTY_DICT = '}',
    OP_DICT = 'd',
    OP_SETITEM = 's',
    OP_SETITEMS = 'u',
    OP_BINGET = 'h',
    OP_LONG_BINGET = 'j',
    OP_BINPUT = 'q',
    OP_LONG_BINPUT = 'r',
    OP_MEMOIZE = 0x94,
};

/* Opcodes that import, call or fetch something: never followed. */
static const struct {
    uint8_t code;
    const char *name;
} refused[] = {
    {'c', "GLOBAL"},      {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},
    {'b', "BUILD"},       {'i', "INST"},          {'o', "OBJ"},
    {0x81, "NEWOBJ"},     {0x92, "NEWOBJ_EX"},    {'P', "PERSID"},
    {'Q', "BINPERSID"},   {0x82, "EXT1"},         {0x83, "EXT2"},
    {0x84, "EXT4"},       {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"},
    {0x8f, "EMPTY_SET"},  {0x90, "ADDITEMS"},     {0x91, "FROZENSET"},
    {0x96, "BYTEARRAY8"}, {'I', "INT"},           {'L', "LONG"},
    {'S', "STRING"},      {'T', "BINSTRING"},     {'U', "SHORT_BINSTRING"},
    {'V', "UNICODE"},     {'F', "FLOAT"},         {'p', "PUT"},
    {'g', "GET"},         {'0', "POP"},           {'1', "POP_MARK"},
    {'2', "DUP"},         {0x8e, "BINBYTES8"},
};

#define MEMO_GAP 256 /* numbers that a writer may leave out at once */

struct machine {
    struct flight_tree *tree;
    const uint8_t *at, *end;
    struct flight_value *stack;
    size_t n_stack, stack_room;
    size_t marks[FLIGHT_DEPTH_MAX + 1];
    size_t n_marks;
    struct flight_value *memo;
    size_t n_memo, memo_room;
    struct jp_error *err;
};

/* The next n bytes, or NULL and an error. */
static const uint8_t *take_bytes(struct machine *m, uint64_t n)
{
    const uint8_t *bytes = m->at;

    if (n > (uint64_t) (m->end - m->at)) {
        error_set(m->err, "it is cut");
        return NULL;
    }
    m->at += n;
    return bytes;
}

/* A little-endian number of n bytes, without a sign. Returns 0 or -1. */
static int take_number(struct machine *m, unsigned n, uint64_t *out)
{
    const uint8_t *bytes = take_bytes(m, n);

    *out = 0;
    for (unsigned i = 0; bytes && i < n; i++)
        *out |= (uint64_t) bytes[i] << (8 * i);
    return bytes ? 0 : -1;
}

static int push(struct machine *m, struct flight_value value)
{
    if (reserve((void **) &m->stack, &m->stack_room, m->n_stack, 1,
                sizeof(*m->stack), FLIGHT_STACK_MAX, "values in one list",
                m->err) < 0)
        return -1;
    m->stack[m->n_stack++] = value;
    return 0;
}

static int push_int(struct machine *m, int64_t number)
{
    return push(
        m, (struct flight_value){.type = FLIGHT_IS_INT, .is.number = number});
}

/* A number of any length in two's complement, of which 64 bits are enough. */
static int push_long(struct machine *m, uint64_t n)
{
    const uint8_t *bytes;
    uint64_t number = 0;

    if (n > 8)
        return error_set(m->err, "a number of more than 64 bits");
    bytes = take_bytes(m, n);
    if (!bytes)
        return -1;
    for (unsigned i = 0; i < n; i++)
        number |= (uint64_t) bytes[i] << (8 * i);
    if (n && n < 8 && (bytes[n - 1] & 0x80))
        number |= ~UINT64_C(0) << (8 * n);
    return push_int(m, (int64_t) number);
}

static int push_float(struct machine *m)
{
    const uint8_t *bytes = take_bytes(m, 8);
    uint64_t bits = 0;
    double real;

    if (!bytes)
        return -1;
    for (unsigned i = 0; i < 8; i++)
        bits = bits << 8 | bytes[i];
    memcpy(&real, &bits, sizeof(real));
    return push(m,
                (struct flight_value){.type = FLIGHT_IS_REAL, .is.real = real});
}

/* A text whose length is in the next width bytes. */
static int push_text(struct machine *m, unsigned width)
{
    const uint8_t *bytes;
    uint64_t len;

    if (take_number(m, width, &len) < 0 || !(bytes = take_bytes(m, len)))
        return -1;
    return push(m, (struct flight_value){.type = FLIGHT_IS_TEXT,
                                         .len = (uint32_t) len,
                                         .is.text = (const char *) bytes});
}

static int push_box(struct machine *m, enum flight_type type)
{
    struct flight_value value;

    return add_box(m->tree, type, &value, m->err) < 0 ? -1 : push(m, value);
}

static int push_mark(struct machine *m)
{
    if (m->n_marks == FLIGHT_DEPTH_MAX + 1)
        return error_set(m->err, "nested more than %d deep", FLIGHT_DEPTH_MAX);
    m->marks[m->n_marks++] = m->n_stack;
    return 0;
}

/* Whether there are n values above the last mark. */
static int need(struct machine *m, size_t n)
{
    size_t floor = m->n_marks ? m->marks[m->n_marks - 1] : 0;

    return m->n_stack - floor >= n
               ? 0
               : error_set(m->err, "an opcode lacks its values");
}

/* Puts the n values on top of the stack into the list or dict below them. */
static int fill_below(struct machine *m, size_t n, enum flight_type type)
{
    size_t first = m->n_stack - n;
    const struct flight_value *target;

    if (!first)
        return error_set(m->err, "an opcode lacks its values");
    target = &m->stack[first - 1];
    if (target->type != type || (type == FLIGHT_IS_DICT && n % 2))
        return error_set(m->err, "an opcode has values of the wrong kind");
    if (fill_box(m->tree, target->is.box, m->stack + first, n, m->err) < 0)
        return -1;
    m->n_stack = first;
    return 0;
}

/* The same for all values above the last mark, which is removed. */
static int fill_marked(struct machine *m, enum flight_type type)
{
    if (!m->n_marks)
        return error_set(m->err, "an opcode lacks its mark");
    return fill_below(m, m->n_stack - m->marks[--m->n_marks], type);
}

/* Makes a value of the n on top of the stack. */
static int collect(struct machine *m, size_t n, enum flight_type type)
{
    struct flight_value value;

    if (type == FLIGHT_IS_DICT && n % 2)
        return error_set(m->err, "an opcode has values of the wrong kind");
    if (add_box(m->tree, type, &value, m->err) < 0 ||
        fill_box(m->tree, value.is.box, m->stack + m->n_stack - n, n, m->err) <
            0)
        return -1;
    m->n_stack -= n;
    return push(m, value);
}

static int collect_few(struct machine *m, size_t n)
{
    return need(m, n) < 0 ? -1 : collect(m, n, FLIGHT_IS_LIST);
}

static int collect_marked(struct machine *m, enum flight_type type)
{
    if (!m->n_marks)
        return error_set(m->err, "an opcode lacks its mark");
    return collect(m, m->n_stack - m->marks[--m->n_marks], type);
}

static int memo_put(struct machine *m, uint64_t number)
{
    if (need(m, 1) < 0)
        return -1;
    if (number > m->n_memo + MEMO_GAP)
        return error_set(m->err, "a number of the memo is out of order");
    if (number >= m->n_memo) {
        size_t more = (size_t) number + 1 - m->n_memo;

        if (reserve((void **) &m->memo, &m->memo_room, m->n_memo, more,
                    sizeof(*m->memo), FLIGHT_MEMO_MAX, "values in the memo",
                    m->err) < 0)
            return -1;
        memset(m->memo + m->n_memo, 0, more * sizeof(*m->memo));
        m->n_memo = (size_t) number + 1;
    }
    m->memo[number] = m->stack[m->n_stack - 1];
    return 0;
}

/* What is fetched cannot change any more: no value then contains itself. */
static int memo_get(struct machine *m, uint64_t number)
{
    if (number >= m->n_memo)
        return error_set(m->err, "the memo has no value of that number");
    if (is_box(&m->memo[number]))
        m->tree->boxes[m->memo[number].is.box].closed = true;
    return push(m, m->memo[number]);
}

static int refuse(struct machine *m, uint8_t code)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        if (refused[i].code == code)
            return error_set(m->err,
                             "the pickle has the opcode %s, which no dump of "
                             "PyTorch's has: it is not followed",
                             refused[i].name);
    return error_set(m->err, "0x%02x is no opcode of a pickle", code);
}

/* Runs one opcode. Returns 0, 1 at the end, -1: an error. */
static int step(struct machine *m)
{
    const uint8_t *code = take_bytes(m, 1);
    uint64_t n = 0;

    if (!code)
        return -1;
    switch (*code) {
    case OP_PROTO:
        if (take_number(m, 1, &n) < 0)
            return -1;
        return n >= 2 && n <= 5
                   ? 0
                   : error_set(m->err, "pickle protocol %u is not read",
                               (unsigned) n);
    case OP_FRAME:
        return take_number(m, 8, &n);
    case OP_STOP:
        return 1;
    case OP_MARK:
        return push_mark(m);
    case OP_NONE:
        return push(m, (struct flight_value){.type = FLIGHT_IS_NONE});
    case OP_NEWTRUE:
    case OP_NEWFALSE:
        return push(m, (struct flight_value){.type = FLIGHT_IS_BOOL,
                                             .is.number = *code == OP_NEWTRUE});
    case OP_BININT:
        return take_number(m, 4, &n) < 0 ? -1 : push_int(m, (int32_t) n);
    case OP_BININT1:
        return take_number(m, 1, &n) < 0 ? -1 : push_int(m, (int64_t) n);
    case OP_BININT2:
        return take_number(m, 2, &n) < 0 ? -1 : push_int(m, (int64_t) n);
    case OP_LONG1:
        return take_number(m, 1, &n) < 0 ? -1 : push_long(m, n);
    case OP_LONG4:
        return take_number(m, 4, &n) < 0 ? -1 : push_long(m, n);
    case OP_BINFLOAT:
        return push_float(m);
    case OP_BINUNICODE:
    case OP_BINBYTES:
        return push_text(m, 4);
    case OP_SHORT_BINUNICODE:
    case OP_SHORT_BINBYTES:
        return push_text(m, 1);
    case OP_BINUNICODE8:
        return push_text(m, 8);
    case OP_EMPTY_LIST:
    case OP_EMPTY_TUPLE:
        return push_box(m, FLIGHT_IS_LIST);
    case OP_EMPTY_DICT:
        return push_box(m, FLIGHT_IS_DICT);
    case OP_APPEND:
        return need(m, 2) < 0 ? -1 : fill_below(m, 1, FLIGHT_IS_LIST);
    case OP_SETITEM:
        return need(m, 3) < 0 ? -1 : fill_below(m, 2, FLIGHT_IS_DICT);
    case OP_APPENDS:
        return fill_marked(m, FLIGHT_IS_LIST);
    case OP_SETITEMS:
        return fill_marked(m, FLIGHT_IS_DICT);
    case OP_LIST:
    case OP_TUPLE:
        return collect_marked(m, FLIGHT_IS_LIST);
    case OP_DICT:
        return collect_marked(m, FLIGHT_IS_DICT);
    case OP_TUPLE1:
    case OP_TUPLE2:
    case OP_TUPLE3:
        return collect_few(m, (size_t) (*code - OP_TUPLE1 + 1));
    case OP_BINGET:
        return take_number(m, 1, &n) < 0 ? -1 : memo_get(m, n);
    case OP_LONG_BINGET:
        return take_number(m, 4, &n) < 0 ? -1 : memo_get(m, n);
    case OP_BINPUT:
        return take_number(m, 1, &n) < 0 ? -1 : memo_put(m, n);
    case OP_LONG_BINPUT:
        return take_number(m, 4, &n) < 0 ? -1 : memo_put(m, n);
    case OP_MEMOIZE:
        return memo_put(m, m->n_memo);
    default:
        return refuse(m, *code);
    }
}

int flight_tree_pickle(struct flight_tree *tree, const char *bytes, size_t len,
                       struct jp_error *err)
{
    struct machine m = {.tree = tree,
                        .at = (const uint8_t *) bytes,
                        .end = (const uint8_t *) bytes + len,
                        .err = err};
    int rc = 0;

    *tree = (struct flight_tree){0};
    if (len > FLIGHT_BYTES_MAX)
        rc = error_set(err, "larger than %lu MiB", FLIGHT_BYTES_MAX >> 20);
    while (rc == 0)
        rc = step(&m);
    if (rc < 0)
        error_wrap(err, "byte %zu", (size_t) (m.at - (const uint8_t *) bytes));
    else if (m.n_stack != 1 || m.n_marks)
        rc = error_set(err, "the pickle has no value, or several");
    else
        tree->root = m.stack[0];
    free(m.stack);
    free(m.memo);
    if (rc < 0)
        flight_tree_fini(tree);
    return rc < 0 ? -1 : 0;
}

/* --- JSON ----------------------------------------------------------------- */

static int copy_json(struct flight_tree *tree, const json_t *from,
                     struct flight_value *out, struct jp_error *err);

/* Copies the items of an array, or the pairs of an object. The parser has
 * bounded the depth. */
static int copy_content(struct flight_tree *tree, const json_t *from,
                        struct flight_value *out, struct jp_error *err)
{
    bool object = json_is_object(from);
    size_t n = object ? 2 * json_object_size(from) : json_array_size(from);
    struct flight_value *some = calloc(n + 1, sizeof(*some));
    size_t i = 0;
    const char *key;
    json_t *item;
    int rc = some ? 0 : error_set(err, "out of memory");

    if (rc == 0)
        rc = add_box(tree, object ? FLIGHT_IS_DICT : FLIGHT_IS_LIST, out, err);
    if (object) {
        json_object_foreach((json_t *) from, key, item)
        {
            if (rc < 0)
                break;
            some[i++] = (struct flight_value){.type = FLIGHT_IS_TEXT,
                                              .len = (uint32_t) strlen(key),
                                              .is.text = key};
            rc = copy_json(tree, item, &some[i++], err);
        }
    } else {
        for (; rc == 0 && i < n; i++)
            rc = copy_json(tree, json_array_get(from, i), &some[i], err);
    }
    if (rc == 0)
        rc = fill_box(tree, out->is.box, some, n, err);
    free(some);
    return rc;
}

static int copy_json(struct flight_tree *tree, const json_t *from,
                     struct flight_value *out, struct jp_error *err)
{
    *out = (struct flight_value){.type = FLIGHT_IS_NONE};
    switch (json_typeof(from)) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        return copy_content(tree, from, out, err);
    case JSON_STRING:
        out->type = FLIGHT_IS_TEXT;
        out->is.text = json_string_value(from);
        out->len = (uint32_t) json_string_length(from);
        break;
    case JSON_INTEGER:
        out->type = FLIGHT_IS_INT;
        out->is.number = json_integer_value(from);
        break;
    case JSON_REAL:
        out->type = FLIGHT_IS_REAL;
        out->is.real = json_real_value(from);
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        out->type = FLIGHT_IS_BOOL;
        out->is.number = json_is_true(from);
        break;
    case JSON_NULL:
        break;
    }
    return 0;
}

int flight_tree_json(struct flight_tree *tree, const char *bytes, size_t len,
                     struct jp_error *err)
{
    json_t *root = jsonload(JSONLOAD_FLIGHT, "JSON", bytes, len, 0, err);
    int rc;

    *tree = (struct flight_tree){0};
    if (!root)
        return -1;
    rc = copy_json(tree, root, &tree->root, err);
    tree->json = root;
    if (rc < 0)
        flight_tree_fini(tree);
    return rc;
}
