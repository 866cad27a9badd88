/* nccldebug.h - what NCCL's log says about ranks, GPUs and transports.
 *
 * Reads the lines of NCCL_DEBUG=INFO (subsystems INIT, NET, P2P, SHM), as NCCL
 * 2.12 to 2.30 and RCCL write them, from a log that may contain anything else:
 *
 *   host:pid:tid [0] NCCL INFO ... comm 0x55d0 rank 3 nranks 16 cudaDev 3
 *       nvmlDev 3 busId 4e000 commId 0x1f3c - Init COMPLETE      (one line)
 *   ... NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB ib0:...
 *   ... NET/Socket : Using [0]eth0:10.0.0.1<0>
 *   ... NET/IB : Made virtual device [2] name=mlx5_0+mlx5_1 speed=...
 *   ... Channel 00/0 : 3[3] -> 4[4] via P2P/CUMEM
 *   ... Channel 02/0 : 3[3] -> 8[0] [send] via NET/IB/0(2)/GDRDMA
 *   ... 24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p ...
 *   ... NVLS comm 0x55d0 headRank 3 nHeads 8 ...
 *   ... rank 3 Connected CollNet
 *
 * The numbers in brackets are NVML indices or, in old releases, bus ids; they
 * are not used. Nothing in a log is trusted: lines of another form are skipped,
 * and everything has a limit. The facts are those of the log, which may contain
 * processes of another step; the caller compares host and pid.
 *
 * A channel is tied to a communicator by the address in its line (RCCL); or if
 * its thread was inside the initialisation of that communicator; or if the
 * process has only one communicator in which it is that rank and which is large
 * enough for the peer.
 */
#ifndef JP_TOPO_NCCLDEBUG_H
#define JP_TOPO_NCCLDEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/topo/busid.h"

#define NCCLDEBUG_MAX_COMMS 4096
#define NCCLDEBUG_MAX_PATHS 65536 /* limit of different paths */
#define NCCLDEBUG_MAX_HOST 255
#define NCCLDEBUG_MAX_LINE 2048 /* the rest of a longer line is ignored */
#define NCCLDEBUG_ID 24

enum jp_nccl_via {
    JP_VIA_P2P,
    JP_VIA_SHM,
    JP_VIA_NET,
    JP_VIA_COLLNET,
    JP_N_VIAS,
};

/* A communicator's rank in one process. */
struct jp_nccl_rank {
    uint32_t process;      /* index */
    char id[NCCLDEBUG_ID]; /* "0x1f3c...", the join's name; "": unknown */
    uint64_t address;      /* of the communicator in its process */
    uint32_t rank, n_ranks;
    char busid[JP_BUSID]; /* "": unknown */
    bool complete;        /* Init COMPLETE was read */
    bool told_channels;   /* the numbers of its channels, and of those for NVLS,
                             are known */
    uint32_t nvls_channels;
    bool nvls;    /* buffers for NVLS were allocated: it was or will be used */
    bool collnet; /* in-network reduction (SHARP) was connected */
};

struct jp_nccl_process {
    char *host;
    int64_t pid;
};

/* How a rank communicates with a peer. */
struct jp_nccl_path {
    uint32_t process;
    uint32_t comm;       /* index into ranks[]; NCCLDEBUG_NO_COMM: not tied */
    uint32_t rank, peer; /* peer: NCCLDEBUG_NO_PEER for COLLNET */
    enum jp_nccl_via via;
    char detail[32]; /* "CUMEM", "direct pointer", "IB", "AWS Libfabric" */
    char device[64]; /* "mlx5_0", "eth0"; "": unknown */
    char layer[8];   /* link layer of the device, or of all of its kind: "IB",
                        "RoCE"; "" */
    bool gdr;        /* GPUDirect RDMA */
    bool pxn;        /* through another rank's adapter */
    uint64_t lines;
};
#define NCCLDEBUG_NO_COMM UINT32_MAX
#define NCCLDEBUG_NO_PEER UINT32_MAX

struct nccldebug;

/* NULL without memory. */
struct nccldebug *nccldebug_create(void);
void nccldebug_destroy(struct nccldebug *log);

/* Takes one line, without its end. Returns -1 only without memory. */
int nccldebug_line(struct nccldebug *log, const char *line, size_t len);

/* Takes a whole file, until deadline_ms of CLOCK_MONOTONIC. Returns 0; 1 if
 * there was more than time or limits allow; -1 if it cannot be read. */
int nccldebug_file(struct nccldebug *log, const char *path,
                   uint64_t deadline_ms, struct jp_error *err);

/* Whether the first bytes of a file look like NCCL's log. */
bool nccldebug_probe(const char *text, size_t len);

/* What the lines contained. The arrays belong to the log. */
struct nccldebug_told {
    const struct jp_nccl_process *processes;
    size_t n_processes;
    const struct jp_nccl_rank *ranks;
    size_t n_ranks;
    const struct jp_nccl_path *paths;
    size_t n_paths;
    bool full; /* something was left out because of the bounds */
};

/* After the last line: ties the remaining channels to communicators. Returns
 * what was collected, valid until the next line. */
struct nccldebug_told nccldebug_finish(struct nccldebug *log);

/* --- one line of NCCL's log; its parts point into the line --------------- */

/* A part of a line, without a terminating NUL. */
struct nccltext {
    const char *at;
    size_t n;
};

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
    bool receive;           /* the receiver has written the line */
    enum jp_nccl_via via;   /* JP_N_VIAS: a transport that has no word here */
    struct nccltext detail; /* "CUMEM", "IB" */
    bool has_device;
    uint32_t device;  /* NCCL's number */
    bool gdr;         /* GPUDirect RDMA: the host's memory is not used */
    uint64_t address; /* of the communicator; 0: unknown */
    bool pxn;         /* another rank's adapter: "0(2)" is rank 2's */
};

/* What a line says about its communicator as a whole. */
struct nccltext_fact {
    uint64_t address; /* 0: the communicator that the thread initialises */
    bool has_nvls_channels; /* "24 coll channels, ... 16 nvls channels, ..." */
    uint32_t nvls_channels;
    bool nvls;    /* "NVLS comm 0x.. headRank": its buffers were allocated */
    bool collnet; /* "Connected CollNet", "Connected Collnet Chains" */
};

/* "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB" and "NET/IB : Made virtual
 * device [2] name=a+b". */
struct nccltext_devices {
    struct nccltext net;  /* "IB" */
    struct nccltext rest; /* the devices, for nccltext_next_device */
};

/* "[0]mlx5_0:1/RoCE" */
struct nccltext_device {
    uint32_t number;
    struct nccltext name;
    struct nccltext layer; /* "IB", "RoCE"; n 0: unknown */
};

enum nccltext_kind {
    NCCLTEXT_OTHER,
    NCCLTEXT_INIT,
    NCCLTEXT_CHANNEL,
    NCCLTEXT_DEVICES,
    NCCLTEXT_FACT
};

/* host:pid:tid, the text, and the text's content by its kind. */
struct nccltext_line {
    struct nccltext host;
    int64_t pid, tid;
    struct nccltext said;
    enum nccltext_kind kind;
    union {
        struct nccltext_init init;
        struct nccltext_channel channel;
        struct nccltext_devices devices;
        struct nccltext_fact fact;
    };
};

/* Returns false if it is not an INFO line of NCCL. */
bool nccltext_read(const char *line, size_t len, struct nccltext_line *out);

/* Takes the next device off rest. Returns false if there is none. */
bool nccltext_next_device(struct nccltext *rest, struct nccltext_device *out);

extern const char *const nccltext_via_word[JP_N_VIAS];

#endif
