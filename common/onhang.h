/* onhang.h - what is to be done when a step hangs: the value of on_hang. */
#ifndef JP_COMMON_ONHANG_H
#define JP_COMMON_ONHANG_H

#include <stdint.h>

#include "common/error.h"

enum onhang_kind {
    ONHANG_OFF,    /* nothing is watched */
    ONHANG_REPORT, /* only a message */
    ONHANG_COMMAND,
    ONHANG_SIGNAL, /* to tasks that have a handler for it */
    ONHANG_CANCEL
};

#define ONHANG_RANGE "report, off, /COMMAND, signal:NAME or cancel"
/* on_hang=cancel without after=: the time to look at it oneself. */
#define ONHANG_CANCEL_AFTER_MS 600000

struct jp_onhang {
    enum onhang_kind kind;
    char command[256]; /* for /bin/sh -c; begins with a slash */
    char name[16];     /* of the signal: "USR1" */
    int signal;
    uint64_t after_ms; /* from a hang that is confirmed to signal or cancel */
};

/* after: a time as num_parse_time_us takes it, NULL: the kind's own. On failure
 * *out is unchanged. */
int onhang_parse(const char *text, const char *after, struct jp_onhang *out,
                 struct jp_error *err);

#endif
