/* cmd_args.h - shared by several commands: options, messages, the expected
 * network performance, the exporter's layout. */
#ifndef JP_CMD_CMD_ARGS_H
#define JP_CMD_CMD_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/insight/expectation.h"
#include "orchestrator/insight/verdict.h"

/* Prints the folder's summary.json, made harmless for a terminal. Returns -1
 * after printing the error. */
int cmd_args_print_summary(const char *dir);

/* The directory to which a new step's relative directories refer: the job's
 * submit directory, otherwise the current one. Caller frees; NULL: see err. */
char *cmd_args_submit_dir(struct jp_error *err);

/* Prints "jobprof: COMMAND: ERR". Returns status. */
int cmd_args_fail(const char *command, int status, const struct jp_error *err);

/* The expected network performance: the site's peaks, and the baseline of
 * --baseline or of the site. */
struct cmd_expect {
    struct jp_expectation is; /* borrows the other members; has no gpu */
    struct jp_peaks peaks;
    struct jp_baseline baseline;
    char *peaks_path, *baseline_path;
    struct jp_error trouble; /* error in the site's files, which are not used
                              * then */
};

/* Loads the expectation. config: value of --config, or NULL. baseline: value of
 * --baseline; NULL: the site's. Returns -1 and err if the file of --baseline
 * cannot be used. Always call cmd_expect_fini. */
int cmd_expect_load(const char *config, const char *baseline,
                    struct cmd_expect *expect, struct jp_error *err);
void cmd_expect_fini(struct cmd_expect *expect);

struct cmd_exporter {
    uint64_t reading_us; /* of reading and joining, for the exporter's log */
    /* otherwise the number of pictures and what was left out go to stderr */
    bool quiet;
    const char *no_pictures; /* why none is drawn; NULL: gnuplot draws them */
};

/* Writes the exporter's tree (--exporter-layout) to dir, which exists. Returns
 * -1 after printing the error. */
int cmd_args_exporter(const struct jp_result *result, const char *dir,
                      const struct cmd_exporter *how);

struct cmd_option; /* cmd_options.h */

/* Lists the options of formats of other tools, at most room. take is called
 * with a row whose max is the format's bit (feature.h). Returns their
 * number. */
size_t cmd_args_format_rows(struct cmd_option *rows, size_t room,
                            int (*take)(void *arguments,
                                        const struct cmd_option *row,
                                        char *value, struct jp_error *err));

/* The exit status of a command that has made a report, without --fail-on: a bad
 * verdict counts as incomplete data. */
enum jp_exit cmd_args_judge(const struct jp_verdict *verdict);

#endif
