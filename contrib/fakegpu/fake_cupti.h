/* fake_cupti.h - what the stand-in of CUPTI offers to the one of the driver. */
#ifndef JP_FAKE_CUPTI_H
#define JP_FAKE_CUPTI_H

#include <stdint.h>

/* Tells the subscriber, if it wants the call: the entry or the exit of it.
 * result: of the call, at its exit; scratch: the same for both. */
struct fakecupti_call {
    uint32_t id;
    const char *name;
    const void *params;
    int result;
    uint64_t scratch;
};

typedef void fakecupti_callback(struct fakecupti_call *call, int exit);

#endif
