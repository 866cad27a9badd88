/* jpr_zip.h - zlib for blocks, where the build has it.
 *
 * The plugin carries zlib inside, hidden; without a static libz.a it stores.
 */
#ifndef JP_JPR_ZIP_H
#define JP_JPR_ZIP_H

#include <stddef.h>
#include <stdint.h>

struct jpr_zip;

/* A packer, level 1, about 270 KB, so that packing allocates nothing; NULL
 * without memory or without zlib. It lives as long as the process. */
struct jpr_zip *jpr_zip_create(void);

/* Packs; the number of bytes, or 0 when they do not fit in `size`. */
size_t jpr_zip_pack(struct jpr_zip *zip, const uint8_t *raw, size_t n,
                    uint8_t *out, size_t size);

/* Unpacks exactly `size` bytes: 0, or -1 (not zlib's, another size, or no
 * zlib in this build). */
int jpr_unzip(const uint8_t *packed, size_t n, uint8_t *out, size_t size);

#endif
