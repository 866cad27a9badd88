/* layout.h - where NCCL's device code finds what the host tells it, by release.
 *
 * Facts about a library's binary interface, not its source: a row is a release,
 * a column is the offset of a member (or the size of a struct) in bytes.
 * contrib/checks/nccl-device.sh holds a row against the debug information of an
 * installed library, and against the headers of a release by a compiler. */
#ifndef JP_FAKECUDA_LAYOUT_H
#define JP_FAKECUDA_LAYOUT_H

#include <stdint.h>

/* X(column, NCCL's struct, its member). "comm" is ncclDevComm before 2.28. */
#define LAYOUT_OFFSETS(X)                                                      \
    X(args_comm, ncclDevKernelArgs, comm)                                      \
    X(args_channels, ncclDevKernelArgs, channelMask)                           \
    X(args_storage, ncclDevKernelArgs, workStorageType)                        \
    X(args_mask, ncclDevKernelArgs, workMask)                                  \
    X(args_buf, ncclDevKernelArgs, workBuf)                                    \
    X(comm_rank, ncclKernelComm, rank)                                         \
    X(comm_ranks, ncclKernelComm, nRanks)                                      \
    X(comm_buffers, ncclKernelComm, buffSizes)                                 \
    X(comm_p2p_chunk, ncclKernelComm, p2pChunkSize)                            \
    X(comm_abort, ncclKernelComm, abortFlag)                                   \
    X(comm_channels, ncclKernelCommAndChannels, channels)                      \
    X(channel_peers, ncclDevChannel, peers)                                    \
    X(channel_prev, ncclDevChannel, ring.prev)                                 \
    X(channel_next, ncclDevChannel, ring.next)                                 \
    X(channel_users, ncclDevChannel, ring.userRanks)                           \
    X(channel_index, ncclDevChannel, ring.index)                               \
    X(peer_send, ncclDevChannelPeer, send)                                     \
    X(peer_recv, ncclDevChannelPeer, recv)                                     \
    X(conn_tail, ncclConnInfo, tail)                                           \
    X(conn_head, ncclConnInfo, head)                                           \
    X(conn_fifo, ncclConnInfo, connFifo)                                       \
    X(conn_step, ncclConnInfo, step)                                           \
    X(fifo_size, ncclConnFifo, size)                                           \
    X(batch_base, ncclDevWorkBatch, offsetBase)                                \
    X(batch_bits, ncclDevWorkBatch, offsetBitset)                              \
    X(coll_root, ncclDevWorkColl, root)                                        \
    X(coll_parts, ncclDevWorkColl, cbd)                                        \
    X(p2p_send_bytes, ncclDevWorkP2p, sendBytes)                               \
    X(p2p_recv_bytes, ncclDevWorkP2p, recvBytes)                               \
    X(p2p_send_rank, ncclDevWorkP2p, sendRank)                                 \
    X(p2p_recv_rank, ncclDevWorkP2p, recvRank)                                 \
    X(p2p_channels, ncclDevWorkP2p, nP2pChannels)                              \
    X(p2p_base, ncclDevWorkP2p, channelBase)                                   \
    X(p2p_sends, ncclDevWorkP2p, nSendChannels)                                \
    X(p2p_recvs, ncclDevWorkP2p, nRecvChannels)                                \
    X(p2p_send_chunk, ncclDevWorkP2p, sendChunkSize_u32fp8)                    \
    X(p2p_recv_chunk, ncclDevWorkP2p, recvChunkSize_u32fp8)

/* Members that not all releases have; 0: this one does not. */
#define LAYOUT_LATER(X)                                                        \
    X(comm_started, ncclKernelComm, workStarted)                               \
    X(comm_completed, ncclKernelComm, workCompleted)                           \
    X(channel_counter, ncclDevChannel, workCounter)                            \
    X(bcast_depth, ncclDevWorkBcast, ringDepth)                                \
    X(bcast_chunk, ncclDevWorkBcast, chunkSize)                                \
    X(bcast_bytes, ncclDevWorkBcast, bytes)

#define LAYOUT_SIZES(X)                                                        \
    X(args_size, ncclDevKernelArgs)                                            \
    X(channel_size, ncclDevChannel)                                            \
    X(conn_size, ncclConnInfo)                                                 \
    X(fifo_entry_size, ncclConnFifo)                                           \
    X(batch_size, ncclDevWorkBatch)                                            \
    X(coll_size, ncclDevWorkColl)                                              \
    X(coll_reg_size, ncclDevWorkCollReg)                                       \
    X(p2p_size, ncclDevWorkP2p)

/* Bits of a flag that the members above cannot name: which byte, which bit. */
struct layout_bit {
    uint16_t byte;
    uint8_t mask; /* 0: the release does not have it */
};

struct layout {
    int from, to; /* ncclGetVersion() of the releases, inclusive */
#define LAYOUT_MEMBER(column, ...) uint16_t column;
    LAYOUT_OFFSETS(LAYOUT_MEMBER)
    LAYOUT_LATER(LAYOUT_MEMBER)
    LAYOUT_SIZES(LAYOUT_MEMBER)
#undef LAYOUT_MEMBER
    uint16_t bcast_size; /* 0: no such works */
    struct layout_bit coll_profiled, p2p_profiled, p2p_send_ll, p2p_recv_ll;
    /* NCCL's table of functions: datatypes, and whether it has AllGatherV */
    uint8_t n_types, has_allgatherv;
};

/* Returns the layout of a release, or NULL. */
const struct layout *layout_find(int version);

#endif
