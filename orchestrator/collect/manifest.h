/* manifest.h - nodes/<node>/manifest: the files that this node's tasks wrote.
 *
 * JSON {schema, node, nodeid, component, finish_us, complete, files:[{path,
 * bytes, mtime_us}]}; path is relative to raw/<node>/. The walk follows no
 * symbolic link, opens no file, and stops at the caps or the deadline; then
 * complete is false. Links, FIFOs and sockets are left out.
 */
#ifndef JP_COLLECT_MANIFEST_H
#define JP_COLLECT_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/collect/barrier.h"

#define JP_MANIFEST_FILES_MAX 100000
#define JP_MANIFEST_DEPTH_MAX 16

/* Walks raw/<node> and writes the manifest by temp + rename. deadline_ms is of
 * clock_mono_ms(). */
int manifest_write(const struct jp_seat *seat, const char *node,
                   uint64_t deadline_ms, struct jp_error *err);

/* Writes one without files and complete = false: the walk was killed. */
int manifest_write_empty(const struct jp_seat *seat, const char *node,
                         struct jp_error *err);

#endif
