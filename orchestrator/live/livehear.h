/* livehear.h - node 0's agent takes the snapshots that nodes send it by UDP
 * (livepacket.h).
 *
 * Its address is in live/nodes/join.peer. Packets lie in the socket until a
 * look, each second; while many come it looks at once in LIVEHEAR_RUSH_MS. A
 * node's snapshot is taken when it is whole, its seal is right and it is newer
 * than the one before; it is then answered. What is lost on the way, or has no
 * room in the socket, is not answered and comes as a file.
 */
#ifndef JP_LIVE_LIVEHEAR_H
#define JP_LIVE_LIVEHEAR_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "plugins/clock/clock_conf.h"

#define LIVEHEAR_RUSH_MS 50
/* Of one look: packets, and those that are none of ours. */
#define LIVEHEAR_MOST 1024
#define LIVEHEAR_BAD 256

struct livehear;

struct livehear_place {
    const char *dir; /* the step directory */
    uint32_t nodes;  /* of the step, all components */
    const struct clock_conf *clock;
    const char *conf_hash;
    /* A node's snapshot; *slot is kept for the node, SIZE_MAX at first. -1: it
     * is not taken, and not answered. */
    int (*take)(void *arg, uint64_t component, uint32_t nodeid, size_t *slot,
                const uint8_t *bytes, size_t n, uint64_t now_ms);
    void *arg;
};

struct livehear_counts {
    uint64_t taken;   /* snapshots */
    uint64_t refused; /* packets: foreign, wrong, old or again */
};

/* Borrows what place names. NULL: err says why. */
struct livehear *livehear_create(const struct livehear_place *place,
                                 struct jp_error *err);
void livehear_destroy(struct livehear *hear); /* takes NULL */

/* Tells nodes where it is: live/nodes/ must be there. */
int livehear_tell(struct livehear *hear, struct jp_error *err);

/* A descriptor that can be read when a look is due before the next second. */
int livehear_fd(const struct livehear *hear);

/* Takes what has come. */
void livehear_look(struct livehear *hear, uint64_t now_ms);

const struct livehear_counts *livehear_counts(const struct livehear *hear);

#endif
