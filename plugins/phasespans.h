/* phasespans.h - the phases of a training step, as annotations show them.
 *
 * A reader of traces adds the ranges that a thread was in (annotations, and
 * operators of PyTorch), in any order, and asks after phasespans_end in which
 * phase a thread launched a kernel. That is the outermost range around the
 * time: a forward within a backward (activation checkpointing) is a part of
 * that. The thread's own ranges count, else those of the main thread, which
 * waits for the backward pass of another one. Names that mean the same in every
 * program come first:
 *
 *   backward   contains "backward", or begins with
 *              "autograd::engine::evaluate_function"
 *   optimizer  contains "optimizer" ("Optimizer.step#AdamW.step")
 *   forward    contains "forward" ("DistributedDataParallel.forward")
 *
 * If there are none, an annotation's own name is the phase. Operators
 * ("aten::...") and collectives ("nccl:...") are none.
 *
 * Memory is bounded: PHASESPANS_MAX ranges of 32 bytes and PHASESPANS_NAMES
 * names, of which three are kept for those above; ranges beyond are counted,
 * further names are no phase. */
#ifndef JP_PLUGINS_PHASESPANS_H
#define JP_PLUGINS_PHASESPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/record.h"

/* names: as many as a report has beside "others" (JP_PHASES) */
enum { PHASESPANS_MAX = 1 << 18, PHASESPANS_NAMES = 63 };

struct phasespan {
    uint64_t thread; /* any number */
    int64_t start_ns, end_ns;
    bool common; /* of the names that mean the same everywhere */
    uint8_t phase;
};

/* Zeros are empty. */
struct phasespans {
    struct phasespan *at;
    size_t n, room;
    char names[PHASESPANS_NAMES][RECORD_MAX_PHASE + 1];
    unsigned n_names;
    uint64_t main_thread;
    bool has_main;
    uint64_t left; /* ranges beyond the limit */
};

void phasespans_fini(struct phasespans *spans);

/* A range of a thread; name has len bytes. is_annotation: the program's own,
 * not an operator of its framework. */
struct phasespans_range {
    uint64_t thread;
    int64_t start_ns, end_ns;
    const char *name;
    size_t len;
    bool is_annotation;
};

/* 0, or -1: no memory. */
int phasespans_add(struct phasespans *spans,
                   const struct phasespans_range *range);

/* Names the main thread. Without it there is none. */
void phasespans_main(struct phasespans *spans, uint64_t thread);

/* Call it once after all ranges. */
void phasespans_end(struct phasespans *spans);

/* The phase in which the thread was then: a number from 1 on; 0: none. */
uint8_t phasespans_find(const struct phasespans *spans, uint64_t thread,
                        int64_t ns);

/* The name of a phase, borrowed; len 0 for 0. */
struct record_text phasespans_name(const struct phasespans *spans,
                                   uint8_t phase);

#endif
