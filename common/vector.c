/* vector.c - arrays that grow. */
#include "common/vector.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The least room of an array that grows by itself. */
#define FIRST_ROOM 16

int vector_resize(void *array, size_t room, size_t size)
{
    void *at, *more;

    /* 0: a doubled number wrapped around, and realloc() would free the array */
    if (!room)
        return -1;
    memcpy(&at, array, sizeof(at)); /* the pointer may have any type */
    more = reallocarray(at, room, size);
    if (!more)
        return -1;
    memcpy(array, &more, sizeof(more));
    return 0;
}

int vector_enlarge(void *array, size_t needed, size_t *room, size_t size)
{
    size_t wanted = *room > SIZE_MAX / 2 ? SIZE_MAX : *room + *room / 2;

    if (wanted < FIRST_ROOM)
        wanted = FIRST_ROOM;
    if (wanted < needed)
        wanted = needed;
    if (vector_resize(array, wanted, size) < 0)
        return -1;
    *room = wanted;
    return 0;
}

int vector_copy(void *to, const void *from, size_t n, size_t size)
{
    void *copy = n ? reallocarray(NULL, n, size) : NULL;

    if (n && !copy)
        return -1;
    if (n)
        memcpy(copy, from, n * size);
    memcpy(to, &copy, sizeof(copy)); /* the pointer may have any type */
    return 0;
}
