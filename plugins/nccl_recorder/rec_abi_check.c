/* rec_abi_check.c - compile-time proof that our layouts of NCCL's interface are
 * NCCL's own.
 *
 * The numbers were printed by programs that include NCCL's headers of 2.23.4
 * (v1), 2.24.3 (v2), 2.26.2 (v3), 2.27.3 (v4), 2.28.3 (v5) and 2.29.2 (v6). The
 * same headers in 2.30.7 give the same numbers. Those of v7 are of a copy of
 * its struct as 2.31.2 declares it. A failure here means that nccl_profiler.h
 * was changed by mistake.
 */
#include "plugins/nccl_recorder/nccl_profiler.h"

#define SIZE(type, bytes)                                                      \
    static_assert(sizeof(struct type) == (bytes), "size of " #type)
#define AT(type, member, offset)                                               \
    static_assert(offsetof(struct type, member) == (offset), #type "." #member)

#if defined(__LP64__)
SIZE(jp_nccl_plugin_v1, 48);
SIZE(jp_nccl_plugin_v6, 48);
SIZE(jp_nccl_plugin_v7, 48);
static_assert(sizeof(union jp_nccl_args_v1) == 16, "arguments of v1 to v3");
static_assert(sizeof(union jp_nccl_args_v4) == 8, "arguments of v4 to v7");

SIZE(jp_nccl_descr_v1, 120);
AT(jp_nccl_descr_v1, parent, 8);
AT(jp_nccl_descr_v1, rank, 16);
AT(jp_nccl_descr_v1, coll.comm_name, 24);
AT(jp_nccl_descr_v1, coll.comm_hash, 32);
AT(jp_nccl_descr_v1, coll.seq, 40);
AT(jp_nccl_descr_v1, coll.func, 48);
AT(jp_nccl_descr_v1, coll.count, 72);
AT(jp_nccl_descr_v1, coll.datatype, 84);
AT(jp_nccl_descr_v1, coll.op, 88);
AT(jp_nccl_descr_v1, coll.traffic_bytes, 96);
AT(jp_nccl_descr_v1, coll.max_channels, 104);
AT(jp_nccl_descr_v1, coll.proto, 107);
AT(jp_nccl_descr_v1, coll.is_nvls, 112);
AT(jp_nccl_descr_v1, p2p.func, 40);
AT(jp_nccl_descr_v1, p2p.datatype, 56);
AT(jp_nccl_descr_v1, p2p.count, 64);
AT(jp_nccl_descr_v1, p2p.peer, 72);
AT(jp_nccl_descr_v1, proxy_op.pid, 24);
AT(jp_nccl_descr_v1, proxy_op.channel, 28);
AT(jp_nccl_descr_v1, proxy_op.peer, 32);
AT(jp_nccl_descr_v1, proxy_op.is_send, 44);
AT(jp_nccl_descr_v1, proxy_step.step, 24);

SIZE(jp_nccl_descr_v2, 128);
AT(jp_nccl_descr_v2, coll.func, 48);
AT(jp_nccl_descr_v2, coll.count, 72);
AT(jp_nccl_descr_v2, coll.datatype, 88);
AT(jp_nccl_descr_v2, coll.traffic_bytes, 96);
AT(jp_nccl_descr_v2, coll.max_channels, 104);
AT(jp_nccl_descr_v2, coll.proto, 120);
AT(jp_nccl_descr_v2, p2p.func, 40);
AT(jp_nccl_descr_v2, p2p.datatype, 56);
AT(jp_nccl_descr_v2, p2p.peer, 72);
AT(jp_nccl_descr_v2, proxy_op.is_send, 44);

SIZE(jp_nccl_descr_v3, 120);
AT(jp_nccl_descr_v3, coll.seq, 40);
AT(jp_nccl_descr_v3, coll.datatype, 88);
AT(jp_nccl_descr_v3, coll.max_channels, 96);
AT(jp_nccl_descr_v3, coll.proto, 112);
AT(jp_nccl_descr_v3, p2p.peer, 72);
AT(jp_nccl_descr_v3, kernel_ch.channel, 24);
AT(jp_nccl_descr_v3, net_plugin.data, 32);

SIZE(jp_nccl_descr_v4, 104);
AT(jp_nccl_descr_v4, coll.seq, 24);
AT(jp_nccl_descr_v4, coll.func, 32);
AT(jp_nccl_descr_v4, coll.count, 56);
AT(jp_nccl_descr_v4, coll.datatype, 72);
AT(jp_nccl_descr_v4, coll.n_channels, 80);
AT(jp_nccl_descr_v4, coll.proto, 96);
AT(jp_nccl_descr_v4, p2p.func, 24);
AT(jp_nccl_descr_v4, p2p.datatype, 40);
AT(jp_nccl_descr_v4, p2p.count, 48);
AT(jp_nccl_descr_v4, p2p.peer, 56);
AT(jp_nccl_descr_v4, p2p.n_channels, 60);
AT(jp_nccl_descr_v4, kernel_ch.channel, 24);
AT(jp_nccl_descr_v4, kernel_ch.gpu_ns, 32);

SIZE(jp_nccl_descr_v5, 112);
AT(jp_nccl_descr_v5, type, 0);
AT(jp_nccl_descr_v5, parent, 8);
AT(jp_nccl_descr_v5, group_api.depth, 28);
AT(jp_nccl_descr_v5, coll_api.root, 48);
AT(jp_nccl_descr_v5, coll_api.graph_captured, 64);
AT(jp_nccl_descr_v5, p2p_api.graph_captured, 56);
AT(jp_nccl_descr_v5, kernel_launch.stream, 24);
AT(jp_nccl_descr_v5, coll.n_channels, 80);
AT(jp_nccl_descr_v5, coll.parent_group, 104);
AT(jp_nccl_descr_v5, p2p.n_channels, 60);
AT(jp_nccl_descr_v5, p2p.parent_group, 64);
AT(jp_nccl_descr_v5, kernel_ch.gpu_ns, 32);

SIZE(jp_nccl_descr_v6, 112);
AT(jp_nccl_descr_v6, coll.seq, 24);
AT(jp_nccl_descr_v6, coll.n_channels, 80);
AT(jp_nccl_descr_v6, coll.parent_group, 104);
AT(jp_nccl_descr_v6, p2p.n_channels, 60);
AT(jp_nccl_descr_v6, p2p.parent_group, 64);
AT(jp_nccl_descr_v6, kernel_ch.gpu_ns, 32);
AT(jp_nccl_descr_v6, ce_coll.sync_strategy, 80);
AT(jp_nccl_descr_v6, ce_coll.ce_seq, 100);
AT(jp_nccl_descr_v6, ce_coll.stream, 104);
AT(jp_nccl_descr_v6, ce_batch.total_bytes, 32);

SIZE(jp_nccl_descr_v7, 136);
AT(jp_nccl_descr_v7, coll_api.tag, 72);
AT(jp_nccl_descr_v7, p2p_api.tag, 64);
AT(jp_nccl_descr_v7, coll.n_channels, 80);
AT(jp_nccl_descr_v7, coll.parent_group, 104);
AT(jp_nccl_descr_v7, coll.variant, 112);
AT(jp_nccl_descr_v7, coll.symmetric, 120);
AT(jp_nccl_descr_v7, coll.tag, 128);
AT(jp_nccl_descr_v7, p2p.n_channels, 60);
AT(jp_nccl_descr_v7, p2p.parent_group, 64);
AT(jp_nccl_descr_v7, p2p.tag, 72);
AT(jp_nccl_descr_v7, kernel_ch.gpu_ns, 32);
AT(jp_nccl_descr_v7, ce_coll.stream, 104);
AT(jp_nccl_descr_v7, ce_coll.tag, 112);
AT(jp_nccl_descr_v7, kernel_phase.phase, 25);
AT(jp_nccl_descr_v7, kernel_phase.name, 32);
AT(jp_nccl_descr_v7, kernel_phase.gpu_ns, 40);
#endif
