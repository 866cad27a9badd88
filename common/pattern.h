/* pattern.h - directory patterns: `dir=/scratch/%u/prof-%j`; the host's paths
 * inside containers.
 *
 * Codes: %j job id (the leader's), %J job id and step id ("12.0"), %s step id,
 * %u user, %x job name, %A the array's job id, %a the index in the array (0
 * without one), %% a percent sign. Control characters, ".." components, a
 * leading
 * "~" and "$NAME" (nobody expands them here) are refused.
 */
#ifndef JP_COMMON_PATTERN_H
#define JP_COMMON_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

/* The values of the codes. Strings are borrowed; NULL counts as "". */
struct pattern_facts {
    uint64_t job_id;
    const char *step_id;
    const char *user;
    const char *job_name;
    uint64_t array_job_id; /* job_id without an array */
    uint64_t array_task_id;
};

int pattern_check(const char *pattern, struct jp_error *err);

/* Whether a pattern gives each job its own name: it has %j, %J, or %A with
 * %a. */
bool pattern_names_job(const char *pattern);

/* Checks a plain path, which must be absolute. */
int pattern_check_path(const char *path, struct jp_error *err);

/* Expands a pattern. In %u and %x, every byte except [A-Za-z0-9._-] and a
 * leading dot become '_', so a name adds no folder and no "..". Caller frees;
 * NULL: err. */
char *pattern_expand(const char *pattern, const struct pattern_facts *facts,
                     struct jp_error *err);

/* A copy of text with each %N replaced by the node's name; other codes stay.
 * Caller frees; NULL: no memory. */
char *pattern_expand_node(const char *text, const char *node);

/* --- how the host's paths read inside containers ------------------------- */

/* A list of "HOST=INSIDE", separated by commas. Both are absolute paths without
 * "=", "," and what pattern_check_path refuses. HOST is a file, or a folder
 * with everything in it. */

/* Checks that text is such a list. */
int mountmap_check(const char *text, struct jp_error *err);

/* The path inside the container. map: a checked list; NULL or "": nothing is
 * mapped. If several HOSTs contain path, the longest one counts. Caller frees;
 * NULL: no memory. */
char *mountmap_inside(const char *map, const char *path);

#endif
