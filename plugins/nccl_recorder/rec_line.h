/* One finished operation as a line of Inspector's format v4.0.
 *
 * Layout, key order, escapes and number formats are those of NVIDIA's
 * Inspector 2.30 (plugins/profiler/inspector/inspector_json.cc), so every
 * reader of its files reads ours. Two members differ in meaning:
 * `git_rev` is "jobprof-<version>", and `dump_timestamp_us` is the wall clock
 * at the operation's last event, not at the time of writing.
 */
#ifndef JP_REC_LINE_H
#define JP_REC_LINE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct jp_rec_comm;
struct jp_rec_comm_facts;

/* Where the execution time comes from, best first; Inspector's three. */
enum jp_rec_source {
    JP_REC_KERNEL_GPU,     /* GPU time stamps of the kernel's channels */
    JP_REC_KERNEL_CPU,     /* when the host saw those channels */
    JP_REC_COLLECTIVE_CPU, /* host: enqueued until the last proxy was done */
};

struct jp_rec_record {
    struct jp_rec_comm *comm;
    uint64_t seq;
    uint64_t bytes;
    uint64_t exec_us; /* 0: not known */
    uint64_t done_us; /* wall clock, µs since 1970 */
    int peer;         /* p2p only */
    uint8_t func;
    uint8_t is_p2p;
    uint8_t source; /* enum jp_rec_source */
};

/* What all lines of a process share. */
struct jp_rec_process {
    char hostname[256];
    pid_t pid;
};

/* Copies `text` as the inside of a JSON string: `"`, `\`, `/`, tab and newline
 * get a backslash as Inspector does it; other control bytes and what is not
 * UTF-8 become '?', where Inspector gives up the line. Stops at a whole
 * character when `size` (> 0) is used up. Returns the length. */
size_t rec_line_escape(char *out, size_t size, const char *text);

/* The member "header":{...} of a communicator, up to its closing brace.
 * Caller frees; NULL without memory. */
char *rec_line_header(const struct jp_rec_comm_facts *facts);

/* Room a line may need besides its communicator's header. */
enum { JP_REC_LINE_BYTES = 2048 };

/* Writes the line with its newline, no '\0' needed, to `out`, which has room
 * for the header's length plus JP_REC_LINE_BYTES. Returns the length. */
size_t rec_line_format(char *out, size_t size,
                       const struct jp_rec_process *process,
                       const struct jp_rec_record *record);

#endif
