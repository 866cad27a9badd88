/* partial_seal.h - make any bytes a partial with right CRCs, which mutations
 * alone never find. */
#ifndef JP_TESTS_PARTIAL_SEAL_H
#define JP_TESTS_PARTIAL_SEAL_H

#include <stddef.h>
#include <stdint.h>

/* Takes n bytes for a partial's, cuts lengths to what is there, and sets head,
 * checks and the last block's number. Returns the length of the whole blocks.
 */
size_t partial_seal(uint8_t *bytes, size_t n);

#endif
