/* gzcrc.h - gzip's CRC-32, as fast as the machine has it. */
#ifndef JP_COMMON_GZCRC_H
#define JP_COMMON_GZCRC_H

#include <stddef.h>
#include <stdint.h>

/* zlib's crc32() of n < 2^32 bytes: 0 begins. By carry-less multiplication
 * where an x86-64 has it (three to five times as fast), else zlib's own. */
uint32_t gzcrc(uint32_t crc, const void *bytes, size_t n);

#endif
