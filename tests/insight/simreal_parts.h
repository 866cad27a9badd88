/* simreal_parts.h - the parts of a realistic job while it runs. For simreal*.c
 * only. */
#ifndef JP_TESTS_SIMREAL_PARTS_H
#define JP_TESTS_SIMREAL_PARTS_H

#include "tests/insight/simjob.h"
#include "tests/insight/simjob_random.h"

enum real_comm {
    REAL_TP,
    REAL_PP,
    REAL_DP,
    REAL_EP,
    REAL_EMB,
    REAL_WORLD,
    REAL_COMMS
};

enum real_act {
    REAL_COMPUTE,    /* a layer */
    REAL_OPTIMIZER,  /* the new parameters */
    REAL_PAUSE,      /* saves the state */
    REAL_COLLECTIVE, /* func, bytes; aside: the rank goes on */
    REAL_EXCHANGE,   /* AlltoAll; the rank waits */
    REAL_MESSAGES,   /* to and from stages beside; the rank waits */
    REAL_JOIN        /* waits for its streams */
};

/* A step of a rank's program. */
struct real_instr {
    enum real_act act;
    enum real_comm comm;
    bool aside, backward, experts;
    const char *func;
    unsigned which; /* of the communicator's functions */
    uint64_t bytes;
    uint32_t batch, layer;
    int send_to, recv_from; /* stages further: +1, -1; 0: no message */
};

struct real_program {
    struct real_instr *at;
    uint32_t n, room;
};

enum real_step { REAL_TRAIN, REAL_EVALUATE };

/* Fills the program of a rank of a stage in one step. */
void real_program_make(const struct simjob_shape *s, uint32_t stage,
                       enum real_step what, bool saves,
                       struct real_program *out);

/* How long a step is without waits, about. */
double real_step_us(const struct simjob_shape *s);

/* --- numbers that follow from the seed and the place alone ---------------- */

enum real_what {
    REAL_LAYER,
    REAL_WANDER,
    REAL_APART,
    REAL_LENGTH,
    REAL_LOAD,
    REAL_GC,
    REAL_START,
    REAL_CONNECT,
    REAL_SAVE,
    REAL_TENANT,
    REAL_NET,
    REAL_CHOICE,
    REAL_STALL,
    REAL_TURN,
    REAL_ID,
    REAL_LAUNCH
};

static inline struct simjob_random real_random(uint64_t seed,
                                               enum real_what what, uint64_t a,
                                               uint64_t b, uint64_t c)
{
    struct simjob_random r = {seed};

    r.state = random_next(&r) ^ ((uint64_t) what << 56) ^ a;
    r.state = random_next(&r) ^ b;
    r.state = random_next(&r) ^ c;
    return r;
}

/* Runs the job: simjob_run's other engine. */
void real_run(const struct simjob_shape *shape, enum simjob_fault fault,
              double effect, uint64_t seed, simjob_sink *sink, void *arg,
              struct simjob_truth *truth);

#endif
