/* sha256.h - SHA-256 (FIPS 180-4) of bytes in memory.
 *
 * For job.conf's checksum: a user who can write the file must not be able to
 * write another one with the same sum.
 */
#ifndef JP_COMMON_SHA256_H
#define JP_COMMON_SHA256_H

#include <stddef.h>

#define SHA256_HEX 65 /* characters with the NUL */

/* Lower-case hex of the sum of len bytes. */
void sha256_hex(const void *data, size_t len, char out[SHA256_HEX]);

#endif
