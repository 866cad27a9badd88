/* cmd.h - the subcommands of jobprof. Those of jobprof-node are in
 * jobprof_node.c.
 *
 * Each takes main's argc and argv starting with the subcommand's name (argv[0]
 * is "report"), writes data to stdout and messages to stderr, and returns the
 * program's exit status. Only files in cmd/ print errors.
 */
#ifndef JP_CMD_CMD_H
#define JP_CMD_CMD_H

/* The exit statuses of jobprof (jobprof(1)). jobprof-node uses only OK,
 * NOT_PROFILED and REFUSED (docs/dev/contracts.md, section 1). */
enum jp_exit {
    JP_EXIT_OK = 0,
    JP_EXIT_FINDINGS = 1,   /* the verdict is at or over --fail-on */
    JP_EXIT_USAGE = 2,      /* bad command line or configuration */
    JP_EXIT_INCOMPLETE = 3, /* data is missing or not yet analysed */
    JP_EXIT_NODATA = 4,
    JP_EXIT_IO = 5,
    JP_EXIT_NOT_PROFILED = 3, /* jobprof-node; stderr says why */
    JP_EXIT_REFUSED = 64      /* jobprof-node resolve --check */
};

int cmd_report(int argc, char **argv);
int cmd_aggregate(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_baseline(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_gc(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_metrics(int argc, char **argv);

#endif
