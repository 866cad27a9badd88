/* fake_cupti.h - what the stand-in for CUPTI offers to the simulated driver. */
#ifndef JP_FAKE_CUPTI_H
#define JP_FAKE_CUPTI_H

#include <stdint.h>

/* One call of CUDA. fakecupti_tell_all reports its entry or exit to the
 * subscriber if that callback id is enabled. result: of the call, valid at its
 * exit; scratch: the correlation data, which is the same for both. */
struct fakecupti_call {
    uint32_t id;
    const char *name;
    const void *params;
    int result;
    uint64_t scratch;
    void *context; /* NULL: none; else the device's number plus 1 */
};

typedef void fakecupti_callback(struct fakecupti_call *call, int exit);

#endif
