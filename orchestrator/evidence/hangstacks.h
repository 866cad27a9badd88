/* hangstacks.h - the evidence of a hang of all nodes, as one: who was looked
 * at, and the stacks of all processes merged into one tree.
 *
 * A path in the tree begins with a thread's role (its name, or "main thread"),
 * then come the frames from the outermost to the innermost. Threads of several
 * processes with the same role share it as far as their frames are the same, so
 * that a frame tells which ranks are in it, and which are not. A run of frames
 * that the same ranks are in is one branch.
 *
 * All is foreign input: hang/ is the user's. Files, rows, texts and time are
 * bounded; what is left out is counted.
 */
#ifndef JP_EVIDENCE_HANGSTACKS_H
#define JP_EVIDENCE_HANGSTACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/evidence/stacktree.h"

enum {
    HANGSTACKS_NODES = 256, /* folders of hang/ that are read */
    HANGSTACKS_PROCESSES = STACKTREE_PROCESSES, /* of all of them */
    HANGSTACKS_ROWS = 4096                      /* of RAS, of parts */
};

struct hangstacks_process {
    char node[64];
    int64_t pid, task; /* task: -1 not known */
    const char *role;  /* of evidence_role_words, or "" */
    bool there;
    bool has_stack, has_python;
    char state[2];             /* of its main thread */
    uint64_t threads, blocked; /* in state D */
    bool cpu_known;
    uint64_t cpu_ms; /* processor time of all threads in the second between two
                        looks */
    uint64_t read_bytes, written_bytes;
    char waits[48]; /* the kernel function that its main thread waits in */
    char where[96]; /* innermost frame of the main thread, Python's first */
};

/* Frames that the same processes are in. */
struct hangstacks_branch {
    char *thread;
    bool python;
    uint32_t depth; /* branches above it */
    uint32_t n_in, n_out;
    uint64_t threads; /* of all processes */
    char **frames;    /* the outermost first */
    size_t n_frames;
    char *in, *out; /* "0-2, 5": tasks; "node:pid" where none is known */
    bool leaf;      /* no frame is below it */
};

struct hangstacks_part {
    char node[64], part[32], file[64], why[200];
    int64_t pid; /* 0: of the node */
    uint64_t ms;
};

struct hangstacks_ras {
    char node[64]; /* that asked */
    char kind[16], comm[24], host[48], func[24], word[48];
    int64_t rank, pid;
    uint64_t launched, most;
};

struct hangstacks {
    char hang[600];    /* the hang in one line, or "" */
    uint64_t taken_us; /* the earliest */
    size_t n_nodes;
    struct hangstacks_process *processes;
    size_t n_processes;
    struct hangstacks_branch *branches; /* in order of the tree */
    size_t n_branches;
    struct hangstacks_part *parts;
    size_t n_parts;
    struct hangstacks_ras *ras; /* each once */
    size_t n_ras;
    uint64_t left_out; /* over the bounds */
    uint64_t bad;      /* files that cannot be read */
    struct hangstacks_tree *tree;
};

/* Reads <step directory>/hang/. *out is NULL where there is none. -1: no
 * memory. hangstacks_destroy takes NULL. */
int hangstacks_load(const char *dir, struct hangstacks **out,
                    struct jp_error *err);
/* Only the folder of one node. */
int hangstacks_load_node(const char *folder, struct hangstacks **out,
                         struct jp_error *err);
void hangstacks_destroy(struct hangstacks *view);

/* For fuzzing: an empty one; evidence.json of a node, its processes follow;
 * output of eu-stack or py-spy of a process, by index; makes the branches. -1:
 * no memory, or (of evidence.json) it is none. */
struct hangstacks *hangstacks_create(void);
int hangstacks_add_summary(struct hangstacks *view, const char *text,
                           size_t len, struct jp_error *err);
int hangstacks_add_stack(struct hangstacks *view, size_t process, bool python,
                         const char *text);
int hangstacks_finish(struct hangstacks *view);

/* In one sentence: how many were looked at, where they differ. Returns buf. */
#define HANGSTACKS_TEXT 700
char *hangstacks_text(const struct hangstacks *view, char buf[HANGSTACKS_TEXT]);

/* A line each for what could not be had, alike ones once. */
void hangstacks_print_lacks(const struct hangstacks *view, FILE *out);

#endif
