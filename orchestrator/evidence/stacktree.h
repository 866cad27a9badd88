/* stacktree.h - the stacks of many processes, merged.
 *
 * Below the root come the threads' roles, below these the frames from the
 * outermost to the innermost; those that are alike are one. Text is what
 * eu-stack or py-spy print, with anything in it.
 */
#ifndef JP_EVIDENCE_STACKTREE_H
#define JP_EVIDENCE_STACKTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STACKTREE_PROCESSES = 1024,
    STACKTREE_WORDS = STACKTREE_PROCESSES / 64,
    STACKTREE_FRAMES = 65536, /* of the whole tree */
    STACKTREE_CHILDREN = 256, /* frames called by one */
    STACKTREE_DEPTH = 160,    /* frames of a thread */
    STACKTREE_TEXT = 160
};

/* 0 is the root; as an index of others it is "none". */
struct stacktree_frame {
    uint32_t parent, child, next, last; /* last: the last child */
    uint32_t n_children;
    uint64_t in[STACKTREE_WORDS]; /* processes, a bit each */
    uint64_t threads;             /* of all of them */
    bool python;
    char *text;
};

struct stacktree {
    struct stacktree_frame *frames;
    size_t n_frames, room;
    uint64_t left_out; /* threads, in part */
};

/* 0, or -1 without memory. */
int stacktree_init(struct stacktree *tree);
void stacktree_fini(struct stacktree *tree);

/* One process' text. */
struct stacktree_text {
    size_t process;
    bool python; /* of py-spy */
    int64_t pid;
    /* a thread's name by eu-stack's number, or "" */
    const char *(*name)(const void *arg, int64_t tid);
    const void *arg;
    /* what came of it: any frame; the innermost one of its main thread */
    bool any;
    char where[96];
};

int stacktree_add(struct stacktree *tree, struct stacktree_text *what,
                  const char *text);

/* Printable and cut; what is not ASCII is a '?'. */
void stacktree_copy(char *to, size_t size, const char *from, size_t len);

#endif
