/* fnv.h - a hash of bytes that is the same in every process and on every node:
 * FNV-1a of 64 bits. For numbers that are written or compared between files.
 * Tables use hash.h, whose hashes nobody can foresee. */
#ifndef JP_COMMON_FNV_H
#define JP_COMMON_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FNV_START UINT64_C(0xcbf29ce484222325) /* of no bytes */

/* Adds a byte to a hash. */
static inline uint64_t fnv_byte(uint64_t hash, unsigned char byte)
{
    return (hash ^ byte) * UINT64_C(0x100000001b3);
}

/* Adds bytes to a hash. */
static inline uint64_t fnv_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < n; i++)
        hash = fnv_byte(hash, at[i]);
    return hash;
}

#endif
