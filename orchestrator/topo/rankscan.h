/* rankscan.h - ranks.jsonl: what the files of a node tell of its ranks.
 *
 * Looks into raw/<node>/ (recordings, logs named <host>-pid<pid>.*, NCCL's own
 * log) and into the files that NCCL_DEBUG_FILE of a recorded process or of a
 * task's start record names. Of a recording the operations are skipped, so
 * it costs a look at each block. Format: docs/hardware-format.md.
 */
#ifndef JP_TOPO_RANKSCAN_H
#define JP_TOPO_RANKSCAN_H

#include <stdint.h>

#include "common/error.h"

#define JP_RANKSCAN_FILES_MAX 20000
#define JP_RANKSCAN_LINES_MAX 200000

/* Writes <step_dir>/nodes/<node>/ranks.jsonl by temp + rename; what is not read
 * by deadline_ms of CLOCK_MONOTONIC is left out, and its last line says so. */
int rankscan_write(const char *step_dir, const char *node, uint64_t deadline_ms,
                   struct jp_error *err);

#endif
