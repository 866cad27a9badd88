/* cmd_expect.h - load what the network should do: the site's peaks, and the
 * baseline of --baseline or the site. */
#ifndef JP_CMD_CMD_EXPECT_H
#define JP_CMD_CMD_EXPECT_H

#include "orchestrator/insight/expectation.h"

struct cmd_expect {
    struct jp_expectation is; /* borrows the rest; without a gpu */
    struct jp_peaks peaks;
    struct jp_baseline baseline;
    char *peaks_path, *baseline_path;
    struct jp_error trouble; /* of the site's files, which are then not used */
};

/* config: --config, or NULL. baseline: --baseline, or NULL for the site's; one
 * that is named but cannot be used is -1 and err. cmd_expect_fini in any case. */
int cmd_expect_load(const char *config, const char *baseline,
                    struct cmd_expect *expect, struct jp_error *err);
void cmd_expect_fini(struct cmd_expect *expect);

#endif
