/* vector.h - arrays that grow.
 *
 * An array is a pointer, the number of its elements and its room, which the
 * caller has as variables or members. All are 0 at first, and free() frees it:
 *
 *     struct row *rows = NULL;
 *     size_t n = 0, room = 0;
 *     struct row *row = VECTOR_ADD(rows, n, room);
 *
 *     if (!row)
 *         return error_set(err, "out of memory");
 *     row->name = ...
 *
 * An array without a member for its room has that of the next power of two
 * (VECTOR_DOUBLE). It must only have grown by VECTOR_DOUBLE, one element at a
 * time.
 *
 * Arguments are evaluated more than once. On failure nothing is changed.
 */
#ifndef JP_COMMON_VECTOR_H
#define JP_COMMON_VECTOR_H

#include <stddef.h>
#include <string.h>

/* Makes room for `needed` elements. array, room: variables or members; room is
 * a size_t. Returns 0, or -1 without memory. */
#define VECTOR_ROOM(array, needed, room)                                       \
    vector_room(&(array), (needed), &(room), sizeof(*(array)))

/* Appends an element of zeros, and counts it in n. Returns its address, which
 * is valid until the array grows again; NULL: no memory. */
#define VECTOR_ADD(array, n, room)                                             \
    (VECTOR_ROOM(array, (size_t) (n) + 1, room) < 0                            \
         ? NULL                                                                \
         : memset(&(array)[(n)++], 0, sizeof(*(array))))

/* Makes room for one more element after n, where the room is not kept. Returns
 * 0, or -1 without memory. */
#define VECTOR_DOUBLE(array, n) vector_double(&(array), (n), sizeof(*(array)))

/* The same as VECTOR_ADD, where the room is not kept. */
#define VECTOR_DOUBLE_ADD(array, n)                                            \
    (VECTOR_DOUBLE(array, n) < 0                                               \
         ? NULL                                                                \
         : memset(&(array)[(n)++], 0, sizeof(*(array))))

/* Gives the array at *array, a pointer of any type, room for exactly that many
 * elements of size bytes. Returns 0, or -1 without memory. */
int vector_resize(void *array, size_t room, size_t size);

/* Enlarges the array at *array, a pointer of any type, from *room elements to
 * at least `needed` and at least by half. Returns 0, or -1 without memory. */
int vector_enlarge(void *array, size_t needed, size_t *room, size_t size);

/* Copies n elements of size bytes to new memory that fits. n 0: *to is NULL.
 * Returns 0, or -1 without memory. */
int vector_copy(void *to, const void *from, size_t n, size_t size);

/* See VECTOR_ROOM. */
static inline int vector_room(void *array, size_t needed, size_t *room,
                              size_t size)
{
    return needed <= *room ? 0 : vector_enlarge(array, needed, room, size);
}

/* See VECTOR_DOUBLE. */
static inline int vector_double(void *array, size_t n, size_t size)
{
    return n & (n - 1) ? 0 : vector_resize(array, n ? 2 * n : 1, size);
}

#endif
