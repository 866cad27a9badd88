/* steps.h - the finished steps of a job directory.
 *
 * A step is a folder step-<id> (no symbolic link) with a summary.json.
 */
#ifndef JP_REPORT_STEPS_H
#define JP_REPORT_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "common/error.h"

#define JP_STEPS_MAX 10000

struct jp_step {
    char *dir;     /* "step-0": letters, digits, . _ - */
    int64_t bytes; /* of its summary.json, with mtime_ns its fingerprint */
    int64_t mtime_ns;
};

struct jp_steps {
    struct jp_step *list; /* in order of ids: step-2 before step-10 */
    size_t n;
    size_t left_out; /* beyond JP_STEPS_MAX */
};

/* Lists them; an unreadable folder is an error. Free with steps_fini. */
int steps_scan(const char *job_dir, struct jp_steps *steps,
               struct jp_error *err);
void steps_fini(struct jp_steps *steps);

/* The same folders with the same fingerprints. */
bool steps_equal(const struct jp_steps *a, const struct jp_steps *b);

/* What job.json says about a step: taken from old (a former job.json, NULL:
 * none) where the fingerprint fits, else from the step's summary.json. One that
 * cannot be read gives verdict null and the reason as text. *hint, 0 at first,
 * makes a walk over all steps in order linear. New reference, or NULL: out of
 * memory. */
json_t *steps_entry(const char *job_dir, const struct jp_step *step,
                    const json_t *old, size_t *hint);

#endif
