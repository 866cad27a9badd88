/* nccltext.h - one line of NCCL's log, taken apart; words point into it.
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

/* host:pid:tid and the text. */
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
    uint64_t address; /* 0: unknown */
    uint32_t rank, n_ranks;
    bool has_busid, has_id;
    uint64_t busid, id;
    bool complete; /* else START */
};

/* "Channel 02/0 : 3[3] -> 8[0] [send] via NET/IB/0(2)/GDRDMA"; RCCL appends
 * " comm 0x55 nRanks 16". */
struct nccltext_channel {
    uint32_t from, to;      /* to: UINT32_MAX for "CollNet 00/0 : 3 [send]" */
    bool receive;           /* the line is the receiver's */
    struct nccltext kind;   /* "P2P" */
    struct nccltext detail; /* "CUMEM", "IB" */
    bool has_device;
    uint32_t device;  /* NCCL's number */
    bool gdr;         /* the GPU's memory and the adapter without the host's */
    uint64_t address; /* of the communicator; 0: unknown */
    bool pxn;         /* another rank's adapter: "0(2)" is rank 2's */
};

/* What a line says of its whole communicator. */
struct nccltext_fact {
    uint64_t address;       /* 0: that of the thread's initialisation */
    bool has_nvls_channels; /* "24 coll channels, ... 16 nvls channels, ..." */
    uint32_t nvls_channels;
    bool nvls;    /* "NVLS comm 0x.. headRank": its buffers were made */
    bool collnet; /* "Connected CollNet", "Connected Collnet Chains" */
};

/* "[0]mlx5_0:1/RoCE" */
struct nccltext_device {
    uint32_t number;
    struct nccltext name;
    struct nccltext layer; /* "IB", "RoCE"; n 0: unknown */
};

/* The readers of the text; false: it is another line. */
bool nccltext_init(struct nccltext said, struct nccltext_init *out);
bool nccltext_channel(struct nccltext said, struct nccltext_channel *out);
bool nccltext_fact(struct nccltext said, struct nccltext_fact *out);

/* Devices of "NET/IB : Using [0]mlx5_0:1/IB ..." and "NET/IB : Made virtual
 * device [2] name=a+b". net is "IB"; each call of the second takes the next
 * one off rest. */
bool nccltext_devices(struct nccltext said, struct nccltext *net,
                      struct nccltext *rest);
bool nccltext_next_device(struct nccltext *rest, struct nccltext_device *out);

bool nccltext_is(struct nccltext text, const char *word);

#endif
