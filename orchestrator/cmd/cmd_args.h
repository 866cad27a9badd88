/* cmd_args.h - what several commands share: options, messages, the files that
 * say what the network should do, the exporter's layout. */
#ifndef JP_CMD_CMD_ARGS_H
#define JP_CMD_CMD_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/insight/expectation.h"

/* What getopt_long returns for the long ones; a command's own begin at 256. */
enum { CMD_OPT_JSON = 1000, CMD_OPT_CONFIG };

struct cmd_common {
    const char *config; /* --config FILE, or NULL */
    bool json, quiet, verbose;
};

/* Takes --json, --config, -q, -v or -h (which prints help on standard output).
 * -1 to go on, else an exit status. Anything else is an error; getopt has
 * printed it. */
int cmd_args_common(int c, const char *help, struct cmd_common *common);

/* "jobprof: COMMAND: WHAT (jobprof COMMAND --help)"; JP_EXIT_USAGE. */
int cmd_args_usage(const char *command, const char *what);

/* Prints the folder's summary.json, harmless to a terminal. -1 after
 * printing the error. */
int cmd_args_print_summary(const char *dir);

/* Where a step that started now would put relative directories: the job's
 * submit directory, or this one. Caller frees; NULL: err. */
char *cmd_args_submit_dir(struct jp_error *err);

/* "jobprof: COMMAND: ERR"; status. */
int cmd_args_fail(const char *command, int status, const struct jp_error *err);

/* What the network should do: the site's peaks, and the baseline of --baseline
 * or the site. */
struct cmd_expect {
    struct jp_expectation is; /* borrows the rest; without a gpu */
    struct jp_peaks peaks;
    struct jp_baseline baseline;
    char *peaks_path, *baseline_path;
    struct jp_error trouble; /* of the site's files, which are then not used */
};

/* config: --config, or NULL. baseline: --baseline, or NULL for the site's.
 * -1 and err: --baseline names a file that cannot be used. cmd_expect_fini is
 * due in any case. */
int cmd_expect_load(const char *config, const char *baseline,
                    struct cmd_expect *expect, struct jp_error *err);
void cmd_expect_fini(struct cmd_expect *expect);

/* --exporter-layout: writes the exporter's tree into dir, which exists. Unless
 * quiet, prints on stderr how many pictures are done and what was left out.
 * reading_us: time of reading and joining, for its log. -1 after printing the
 * error. */
int cmd_args_exporter(const struct jp_result *result, const char *dir,
                      uint64_t reading_us, bool quiet);

/* The exporter's parquet_files/ in dir, of the inputs' logs. */
int cmd_args_exporter_logs(const char *const *inputs, size_t n, const char *dir,
                           struct jp_error *err);

#endif
