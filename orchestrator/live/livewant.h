/* livewant.h - live/live.want of the step directory: what is asked of all nodes
 * of a step that runs; and how evidence of a hang is taken.
 *
 * Its time of change is a lease: while that is younger than LIVE_WANT_MS, nodes
 * write their snapshots each 5 s (HUNG_LOOKS), else each 30 s (HUNG_LEAST),
 * and look at the file at the same pace. Who watches (`jobprof top`) renews it
 * by livewant_touch, which keeps its lines; node 0's agent replaces it by temp
 * + rename while a hang is looked at. Text of lines:
 *
 *     comm 0xHASH                   this communicator comes first in snapshots
 *     signal NAME N                 a signal to the tasks that catch it
 *     evidence N NODE PID ROLE TASK RANK
 *                                   what the process looks like is to be kept:
 *                                   a line for each; ROLE is "missing" (it
 *                                   keeps the others waiting) or "waits"; PID
 *                                   as its recording has it; TASK and RANK (in
 *                                   the communicator) or -1
 *     hang N TEXT                   the hang in a sentence, for the evidence
 *
 * N is a hang's or a request's number: a node obeys each once. The file is the
 * user's: a reader trusts nothing in it.
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
    LIVE_WANTED_MAX = 16,    /* number of communicators */
    LIVE_EVIDENCE_MAX = 16,  /* processes of one node */
    LIVE_EVIDENCE_ALL = 128, /* processes of all nodes */
    LIVE_VICTIMS = 2         /* of these: processes that wait */
};

struct livewant {
    uint64_t hashes[LIVE_WANTED_MAX];
    size_t n_hashes;
    char signal[16]; /* "USR1"; "": none */
    uint32_t signal_number;
    uint32_t evidence_number; /* 0: none */
    /* processes of this node */
    struct module_target targets[LIVE_EVIDENCE_MAX];
    size_t n_targets;
    char hang[MODULE_HANG_BYTES];
};

/* Parses the text, and changes it. Ignores lines that it does not understand.
 * Takes only the evidence for that node. */
void livewant_parse(char *text, const char *node, struct livewant *out);

/* For programs that watch: renews the lease of a step's file, or creates an
 * empty one and its folder. */
int livewant_touch(const char *dir, struct jp_error *err);

/* --- evidence of a hang -------------------------------------------------- */

/* Has its processes looked at while they live:
 *
 *     jobprof-node evidence -q --node NODE --missing PID,... --waiting PID,...
 *         STEP_DIRECTORY
 *
 * It runs in a child of the agent's process group, which ends with the step,
 * with nothing but /dev/null open, and for LIVEKEEP_LIFE_S at most. Nobody
 * waits for it: what it finds is in the step directory. */
#define LIVEKEEP_LIFE_S 60

/* A module_place.take_evidence. program: instead of this process' own, for
 * tests; NULL: that. */
void livekeep_start(void *program, const struct module_hang *hang);

#endif
