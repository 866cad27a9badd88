/* flight_make.h - write dumps of PyTorch's Flight Recorder, in the layout of
 * each of its versions, from facts of PyTorch's source. */
#ifndef JP_TESTS_FLIGHT_MAKE_H
#define JP_TESTS_FLIGHT_MAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum make_form {
    MAKE_TORCH,  /* as PyTorch writes: protocol 2, BINPUT and BINGET */
    MAKE_PYTHON, /* as pickle.dump does by default: protocol 4, frames, MEMOIZE
                  */
    MAKE_JSON    /* members sorted, no frames, times of 0 */
};

#define MAKE_MAX 64

struct make_frame {
    const char *name, *file;
    int line;
};

struct make_entry {
    int64_t record, pg_id;
    const char *group, *desc;
    int64_t seq, p2p;
    const char *func; /* "nccl:all_reduce" */
    const char *state;
    int64_t created_ns, started_ns, completed_ns; /* 0: null */
    int64_t elements;                             /* -1: the list is empty */
    int64_t out; /* of the output; 0: as many */
    const char *dtype;
    bool is_p2p;
    const struct make_frame *frames;
    size_t n_frames;
};

struct make_group {
    const char *name, *desc, *ranks; /* "[0, 1]" */
};

struct make_status {
    int64_t pg_id, called, started, ended;
};

struct make_dump {
    int minor; /* of version 2.minor; -1: 1.4 */
    enum make_form form;
    struct make_entry entries[MAKE_MAX];
    size_t n_entries;
    struct make_group groups[8];
    size_t n_groups;
    struct make_status status[8];
    size_t n_status;
    bool no_entries; /* the member is left out */
};

/* Bytes that grow. */
struct make_bytes {
    char *at;
    size_t n, room;
};

void make_put(struct make_bytes *b, const void *bytes, size_t n);
/* Writes the dump. Caller frees out->at. */
void make_write(const struct make_dump *dump, struct make_bytes *out);

/* A job of four ranks in groups "0" (default_pg), "1" (DATA) and "2", "3"
 * (TENSOR: 0-1 and 2-3), each rank with ten completed all_reduce of group 1.
 * What follows is the scenario's. */
enum make_scenario {
    MAKE_HEALTHY,  /* nothing in flight */
    MAKE_ABSENT,   /* rank 2 never called the eleventh */
    MAKE_IDLE,     /* the same; its dump has no entries at all */
    MAKE_STUCK,    /* rank 2 is inside the eleventh, others have left it */
    MAKE_FUNCTION, /* rank 2 called broadcast as the eleventh */
    MAKE_SIZE,     /* rank 2 called it with another size */
    MAKE_TYPE,     /* ... with another type */
    MAKE_EXTRA,    /* rank 2 called an all_reduce more than the others */
    MAKE_UNEVEN,  /* an all_to_all of uneven sizes, which rank 2 never called */
    MAKE_GATHER,  /* a gather, whose root alone has an output; the same */
    MAKE_SEVERAL, /* a coalesced all_reduce; the same */
    MAKE_BATCH,   /* rank 1 waits in coalesced messages with 0, in nothing */
    MAKE_PAIR,    /* rank 0 sends and rank 1 receives; both are inside */
    MAKE_ORDER,   /* 0 and 1 are in group 1, 2 and 3 in group 0 */
    MAKE_MESSAGE, /* rank 1 waits for a message of rank 0, who is in nothing */
    MAKE_INSIDE,  /* all are inside */
    MAKE_CHAIN,   /* 0 and 1 are inside one of TENSOR, the others in group 1 */
    MAKE_PARTS,   /* parts of coalesced messages that have completed */
    MAKE_N_SCENARIOS
};
extern const char *const make_words[MAKE_N_SCENARIOS];

void make_rank(enum make_scenario scenario, int rank, struct make_dump *dump);

#define MAKE_TIME_NS INT64_C(1795000000000000000)

#endif
