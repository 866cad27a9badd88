/* livewant.h - live/live.want of the step directory: requests to all nodes of a
 * running step.
 *
 * The file's time of change is a lease. While it is younger than LIVE_WANT_MS,
 * nodes write their snapshots every 5 s (HUNG_LOOKS), otherwise every 30 s
 * (HUNG_LEAST). They look at the file every 5 s. A program that watches
 * (`jobprof top`) renews the lease by livewant_touch, which keeps the lines.
 * Node 0's agent replaces the file by temp + rename while it looks at a hang.
 * The file contains lines of text:
 *
 *     comm 0xHASH                   this communicator comes first in snapshots
 *     signal NAME N                 send a signal to the tasks that catch it
 *     evidence N NODE PID ROLE TASK RANK
 *                                   collect evidence of the process, one line
 *                                   each; ROLE is "missing" (it keeps the
 *                                   others waiting) or "waits"; PID is that of
 *                                   its recording; TASK and RANK (in the
 *                                   communicator) may be -1
 *     hang N TEXT                   the hang as a sentence, for the evidence
 *
 * N is the number of a hang or request; a node obeys each number once. The file
 * belongs to the user, so a reader trusts nothing in it.
 */
#ifndef JP_LIVE_LIVEWANT_H
#define JP_LIVE_LIVEWANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "plugins/module.h"

#define LIVE_WANT_MS 60000
#define LIVE_WANT_BYTES 16384

enum {
    LIVE_WANTED_MAX = 16,    /* communicators */
    LIVE_EVIDENCE_MAX = 16,  /* processes of one node */
    LIVE_EVIDENCE_ALL = 128, /* processes of all nodes */
    LIVE_VICTIMS = 2         /* waiting processes among these */
};

struct livewant {
    uint64_t hashes[LIVE_WANTED_MAX];
    size_t n_hashes;
    char signal[16]; /* "USR1"; "": none */
    uint32_t signal_number;
    uint32_t hang_number; /* 0: none */
    /* processes of this node */
    struct module_target targets[LIVE_EVIDENCE_MAX];
    size_t n_targets;
    char hang[MODULE_HANG_BYTES];
};

/* Parses the text, and modifies it. Lines that are not understood are ignored,
 * and so is evidence of other nodes. */
void livewant_parse(char *text, const char *node, struct livewant *out);

/* For programs that watch: renews the lease of a step's file. Creates an empty
 * file and its folder if needed. */
int livewant_touch(const char *dir, struct jp_error *err);

#endif
