/* sitefile.h - jobprof.conf: the site's and the user's settings file.
 *
 * libconfig syntax; see jobprof.conf(5). Site: JP_DEF_SITE_FILE or --config,
 * then its fragments (siteflat.h); a fragment's value replaces an earlier one,
 * locks add up. A group may be written several times in a file, a key once.
 * User: $XDG_CONFIG_HOME/jobprof/jobprof.conf or
 * $HOME/.config/jobprof/jobprof.conf. The user's file has the same keys except
 * for those that only a site may set (policy, lock, topology_file,
 * nvml_library, peaks_file, baseline_file, container_*; of nccl the libraries,
 * the node's memory and the default's conditions), and no @include. Values may
 * be numbers, booleans or strings; they are checked and kept as text, with file
 * and line.
 */
#ifndef JP_COMMON_SITEFILE_H
#define JP_COMMON_SITEFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/grammar.h"
#include "common/jobconf.h"
#include "common/knob.h"

enum sitefile_kind { SITEFILE_SITE, SITEFILE_USER };

struct sitefile_value {
    char *name;  /* "nccl.mem", "util.default", "dir", "policy.report_nice" */
    char *value; /* checked text */
    char *where; /* "/etc/jobprof/jobprof.conf:12" */
};

struct jp_sitefile {
    struct sitefile_value *values;
    size_t n_values;
    struct sitefile_value *locks; /* name: "nccl.mem"; value NULL */
    size_t n_locks;
    char **files; /* that were read, in their order; none: all are missing */
    size_t n_files;
};

/* Called for each error of a file, including the first one. */
typedef void sitefile_report(void *arg, const char *text);

/* Reads path. must_exist: a missing file is an error; otherwise it counts as
 * empty. err gets the first error, report (may be NULL) gets each of them. On
 * failure *out is unchanged; otherwise free with sitefile_fini. */
int sitefile_load(const char *path, enum sitefile_kind kind, bool must_exist,
                  sitefile_report *report, void *arg, struct jp_sitefile *out,
                  struct jp_error *err);
void sitefile_fini(struct jp_sitefile *file);

/* The value or lock of that name, or NULL. Borrowed. */
const struct sitefile_value *sitefile_find(const struct jp_sitefile *file,
                                           const char *name);
const struct sitefile_value *sitefile_lock(const struct jp_sitefile *file,
                                           const char *name);

/* Writes the name of a knob in the file into buf: "nccl.mem", but "dir",
 * "summary" and "nccl.version" for those of nccl. Returns buf. */
char *sitefile_knob_name(const struct jp_grammar *grammar,
                         const struct jp_knob *knob, char *buf, size_t len);

/* The limits and times: those of the file, and defaults for the others. */
void sitefile_policy(const struct jp_sitefile *file, struct jp_policy *out);

/* How metrics for Prometheus are written (group metrics). */
struct jp_site_metrics {
    /* NULL: no metrics are written. Borrowed from file */
    const char *textfile; /* node_exporter's; root's collector writes there */
    const char *spool;    /* users' agents write there */
    uint32_t interval_ms;
    /* the most of a file, of a user and of the node */
    uint32_t series, user_series, node_series;
    bool ask_slurm; /* whose jobs they are */
};
void sitefile_metrics(const struct jp_sitefile *file,
                      struct jp_site_metrics *out);

/* --- the keys of a settings file, and their types.
 *
 * For sitefile.c and `config show` only. The knobs of the options come from
 * grammar.h, the site's keys of a profiler from common/profiler.h, and all
 * others from the tables in sitefile.c.
 */

#define SITEKEYS_MAX (OPTIONS * JP_KNOBS_MAX + 110)

struct sitekey {
    const char *group; /* "" is the top level */
    const char *key;
    const struct jp_knob *knob; /* type and range of the value */
    bool site_only;
    size_t policy_offset; /* in struct jp_policy; SITEKEY_NO_POLICY */
};
#define SITEKEY_NO_POLICY ((size_t) -1)

/* Fills keys with every key of a settings file. Returns how many. */
size_t sitekeys_all(struct sitekey keys[SITEKEYS_MAX]);

/* The groups: one for each option, then those of the site; "" ends the list. */
enum { SITEKEYS_GROUPS = OPTIONS + 5 };
extern const char *const sitekeys_groups[SITEKEYS_GROUPS];

#endif
