/* The files of one process: its log of records, its file of counts.
 *
 * Names: <hostname>-pid<pid>.log and <hostname>-pid<pid>.counts.json; where
 * the log exists already (two containers may share host name and pid) both get
 * "-1", "-2", ... before the suffix. Nothing is ever overwritten but our own
 * counts. Files have mode 0600. One caller at a time (the writer thread).
 */
#ifndef JP_REC_SINK_H
#define JP_REC_SINK_H

#include <stdbool.h>
#include <stddef.h>

#include "plugins/nccl_recorder/rec_line.h"

/* Opens the directory and learns host name and pid. Returns NULL, or why it
 * cannot be used (static text); then nothing changed. */
const char *rec_sink_init(const char *dir);

bool rec_sink_ready(void);
const struct jp_rec_process *rec_sink_process(void);

/* Writes whole lines at the end of the log, which the first call creates.
 * Returns how many bytes are in the file now: all of `n`, or as many whole
 * lines as fit; a line cut by an error (no space, quota, a size limit) is
 * taken back. Never blocks beyond the write itself. */
size_t rec_sink_append(const char *text, size_t n);

/* Replaces the counts file as a whole (temporary file, rename). 0 or -1. */
int rec_sink_counts(const char *text, size_t n);

/* Closes the files, back to not ready; for a forked child too. */
void rec_sink_close(void);

#endif
