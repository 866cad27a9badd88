/* nccltext.h - take one line of NCCL's log apart. Private to nccldebug*.c.
 *
 * Words point into the line.
 */
#ifndef JP_TOPO_NCCLTEXT_H
#define JP_TOPO_NCCLTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Part of a line, without a NUL. */
struct nccltext {
    const char *at;
    size_t n;
};

/* host:pid:tid and what is said. */
struct nccltext_line {
    struct nccltext host;
    int64_t pid, tid;
    struct nccltext said;
};

/* False: no INFO line. */
bool nccltext_split(const char *line, size_t len, struct nccltext_line *out);

/* "... comm 0x55 rank 0 nranks 8 ... busId 1b000 [commId 0x2a] - Init COMPLETE"
 */
struct nccltext_init {
    uint64_t address; /* 0 not told */
    uint32_t rank, n_ranks;
    bool has_busid, has_id;
    uint64_t busid, id;
    bool complete; /* else START */
};
bool nccltext_init(struct nccltext said, struct nccltext_init *out);

/* "Channel 02/0 : 3[3] -> 8[0] [send] via NET/IB/0(2)/GDRDMA" */
struct nccltext_channel {
    uint32_t from, to;      /* to: UINT32_MAX for "CollNet 00/0 : 3 [send]" */
    bool receive;           /* the line is the receiver's */
    struct nccltext kind;   /* "P2P" */
    struct nccltext detail; /* "CUMEM", "IB" */
    bool has_device;
    uint32_t device; /* NCCL's number */
    bool gdr;
};
bool nccltext_channel(struct nccltext said, struct nccltext_channel *out);

/* Devices of "NET/IB : Using [0]mlx5_0:1/IB ..." and "NET/IB : Made virtual
 * device [2] name=a+b". net is "IB". Each call takes the next one off rest. */
bool nccltext_devices(struct nccltext said, struct nccltext *net,
                      struct nccltext *rest);
bool nccltext_device(struct nccltext *rest, uint32_t *number,
                     struct nccltext *name);

/* Whether a text is this word. */
bool nccltext_is(struct nccltext text, const char *word);

#endif
