/* hangstacks.h - combine the evidence of a hang from all nodes: the examined
 * processes, and their stacks merged into one tree.
 *
 * A path in the tree starts with a thread's role (its name, or "main thread").
 * The frames follow from the outermost to the innermost. Threads with the same
 * role share the path as long as their frames are equal, also across processes.
 * Each frame therefore shows which ranks are in it and which are not.
 * Successive frames with the same ranks form one branch.
 *
 * The input is foreign: hang/ belongs to the user. Files, rows, strings and
 * time are limited; what exceeds a limit is counted.
 */
#ifndef JP_EVIDENCE_HANGSTACKS_H
#define JP_EVIDENCE_HANGSTACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

/* --- merge the stacks of many processes into one tree -------------------- */

/* Below the root are the threads' roles, and below these the frames, from the
 * outermost to the innermost. Equal frames are merged. The input is the output
 * of eu-stack or py-spy; it may contain anything. */

enum {
    STACKTREE_PROCESSES = 1024,
    STACKTREE_WORDS = STACKTREE_PROCESSES / 64,
    STACKTREE_FRAMES = 65536, /* limit of the whole tree */
    STACKTREE_CHILDREN = 256, /* limit of callees per frame */
    STACKTREE_DEPTH = 160,    /* limit of frames per thread */
    STACKTREE_TEXT = 160
};

/* Index 0 is the root; in the links to other frames, 0 means "none". */
struct stacktree_frame {
    uint32_t parent, child, next, last; /* last: the last child */
    uint32_t n_children;
    uint64_t in[STACKTREE_WORDS]; /* one bit per process */
    uint64_t threads;             /* sum over the processes */
    bool python;
    char *text;
};

/* Zero-initialised: empty. */
struct stacktree {
    struct stacktree_frame *frames;
    size_t n_frames, room;
    uint64_t left_out; /* threads that were left out, wholly or in part */
};

void stacktree_fini(struct stacktree *tree);

/* The text of one process. */
struct stacktree_text {
    size_t process;
    bool python; /* written by py-spy */
    int64_t pid;
    /* returns the name of the thread with eu-stack's number tid, or "" */
    const char *(*name)(const void *arg, int64_t tid);
    const void *arg;
    /* results: whether there was any frame; innermost frame of the main
     * thread */
    bool any;
    char where[96];
};

int stacktree_add(struct stacktree *tree, struct stacktree_text *what,
                  const char *text);

/* Copies and truncates. Characters that are not printable ASCII become '?'. */
void stacktree_copy(char *to, size_t size, const char *from, size_t len);

enum {
    HANGSTACKS_NODES = 256, /* limit of folders read in hang/ */
    HANGSTACKS_PROCESSES = STACKTREE_PROCESSES, /* limit over all folders */
    /* limit of RAS rows and of parts */
    HANGSTACKS_ROWS = 4096
};

struct hangstacks_process {
    char node[64];
    int64_t pid, task; /* task -1: unknown */
    const char *role;  /* one of evidence_role_words, or "" */
    bool there;
    bool has_stack, has_python;
    char state[2];             /* state of its main thread */
    uint64_t threads, blocked; /* blocked: those in state D */
    bool cpu_known;
    uint64_t cpu_ms; /* CPU time of all threads in the second between two
                      * looks */
    uint64_t read_bytes, written_bytes;
    char waits[48]; /* kernel function in which its main thread waits */
    char where[96]; /* innermost frame of the main thread; Python's if known */
};

/* Successive frames with the same processes. */
struct hangstacks_branch {
    char *thread;
    bool python;
    uint32_t depth; /* number of branches above it */
    uint32_t n_in, n_out;
    uint64_t threads; /* sum over all processes */
    char **frames;    /* outermost first */
    size_t n_frames;
    char *in, *out; /* tasks "0-2, 5"; "node:pid" for those of unknown task */
    bool leaf;      /* no frame follows below it */
};

struct hangstacks_part {
    char node[64], part[32], file[64], why[200];
    int64_t pid; /* 0: concerns the whole node */
    uint64_t ms;
};

struct hangstacks_ras {
    char node[64]; /* the node that sent the query */
    char kind[16], comm[24], host[48], func[24], word[48];
    int64_t rank, pid;
    uint64_t launched, most;
};

struct hangstacks {
    char hang[600];    /* the hang in one line, or "" */
    uint64_t taken_us; /* time of the earliest evidence */
    size_t n_nodes;
    struct hangstacks_process *processes;
    size_t n_processes;
    struct hangstacks_branch *branches; /* in the order of the tree */
    size_t n_branches;
    struct hangstacks_part *parts;
    size_t n_parts;
    struct hangstacks_ras *ras; /* without duplicates */
    size_t n_ras;
    uint64_t left_out; /* items beyond the limits */
    uint64_t bad;      /* unreadable files */
    struct hangstacks_tree *tree;
};

/* Reads <step directory>/hang/. *out is NULL if it does not exist. Returns -1
 * without memory. hangstacks_destroy accepts NULL. */
int hangstacks_load(const char *dir, struct hangstacks **out,
                    struct jp_error *err);
/* The same for the folder of one node. */
int hangstacks_load_node(const char *folder, struct hangstacks **out,
                         struct jp_error *err);
void hangstacks_destroy(struct hangstacks *view);

/* For fuzzing. create: makes an empty view. The others read a node's
 * evidence.json (adds its processes), read a process's output of eu-stack or
 * py-spy (by its index), and make the branches. Return -1 without memory, or if
 * the text is not an evidence.json. */
struct hangstacks *hangstacks_create(void);
int hangstacks_add_summary(struct hangstacks *view, const char *text,
                           size_t len, struct jp_error *err);
int hangstacks_add_stack(struct hangstacks *view, size_t process, bool python,
                         const char *text);
int hangstacks_finish(struct hangstacks *view);

/* Formats a sentence: how many processes were examined and where they differ.
 * Returns buf. */
#define HANGSTACKS_TEXT 700
char *hangstacks_text(const struct hangstacks *view, char buf[HANGSTACKS_TEXT]);

/* Prints one line for each missing part; equal lines only once. */
void hangstacks_print_lacks(const struct hangstacks *view, FILE *out);

#endif
