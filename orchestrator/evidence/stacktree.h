/* stacktree.h - merge the stacks of many processes into one tree.
 *
 * Below the root are the threads' roles, and below these the frames, from the
 * outermost to the innermost. Equal frames are merged. The input is the output
 * of eu-stack or py-spy; it may contain anything.
 */
#ifndef JP_EVIDENCE_STACKTREE_H
#define JP_EVIDENCE_STACKTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

struct stacktree {
    struct stacktree_frame *frames;
    size_t n_frames, room;
    uint64_t left_out; /* threads that were left out, wholly or in part */
};

/* Returns 0, or -1 without memory. */
int stacktree_init(struct stacktree *tree);
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

#endif
