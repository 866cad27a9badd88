/* exchanges.h - which messages of a process are those of an AlltoAll.
 *
 * A program may make an AlltoAll of Send and Recv in one group: one launch.
 * Records do not say which messages were launched together. Both who judges own
 * times and who replays a run ask here, so that they number AlltoAlls alike.
 *
 * A process has AlltoAlls on a communicator if it has messages from and to
 * EXCHANGES_PEERS other ranks there, or to itself, too. One or two peers are
 * neighbours, as in a pipeline or a ring, however close in time their messages
 * are.
 *
 * A launch of an AlltoAll has each message once. So the next launch begins with
 * a message that the open one has already. Where records have a start, it also
 * begins with a message that comes OPERATIONS_LAUNCH_US after the open one has
 * ended: ranks that send nothing to somebody have fewer messages. Starts within
 * a launch may lie apart, as its messages may run one after the other, and as a
 * thread may lose its processor between two of them.
 */
#ifndef JP_IDENTITY_EXCHANGES_H
#define JP_IDENTITY_EXCHANGES_H

#include "orchestrator/identity/operations.h"

/* With so many peers messages are an AlltoAll. */
#define EXCHANGES_PEERS 3
/* In larger communicators messages are no AlltoAll. */
#define EXCHANGES_RANKS 4096

/* A communicator as the current process uses it. For exchanges.c only. */
struct exchanges_comm {
    uint32_t stamp;    /* number of the process, as counted by exchanges.c */
    uint32_t peers[2]; /* from and to how many others it has messages */
    bool itself;       /* and to itself */
    bool has;          /* it has AlltoAlls */
    uint32_t *seen;    /* [2 x rank + sends] the launch of its last message */
    uint32_t launch;   /* the open one; 0: none */
    uint64_t end_us;   /* ... its last end */
};

struct exchanges {
    const struct jp_result *result;
    bool timed;                   /* records have starts */
    struct exchanges_comm *comms; /* [communicator of the result] */
    uint32_t *used;               /* communicators of the current process */
    uint32_t n_used, process, launches;
};

/* Borrows the result until fini. 0, or -1 without memory; fini in any case. */
int exchanges_init(struct exchanges *x, const struct jp_result *result,
                   bool timed);
void exchanges_fini(struct exchanges *x);

/* Starts with a process: all its records, messages to itself included. 0, or
 * -1 without memory. */
int exchanges_start(struct exchanges *x, const struct operation *records,
                    size_t n);

/* Whether a record of the process is a message of an AlltoAll. */
bool exchanges_has(const struct exchanges *x, const struct operation *record);

/* Takes the process's next message of an AlltoAll, in the order of its records.
 * Returns true if it begins a launch, false if it belongs to the open one. */
bool exchanges_begins(struct exchanges *x, const struct operation *message);

#endif
