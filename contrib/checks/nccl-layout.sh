#!/bin/bash
# nccl-layout.sh - compare our declarations of NCCL's profiler interface with
# the headers of a genuine NCCL, by the compiler. By hand; not part of `make
# check`, which has no NCCL.
#
# Usage: nccl-layout.sh INCLUDE_DIR...
# INCLUDE_DIR is src/include/plugin/profiler of a release's source tree; before
# 2.26 it is src/include. One line for each struct, union and enum that both
# sides have; exit status 1 where one differs, 2 where a probe does not compile.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
[ $# -gt 0 ] || { sed -n '6,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# VERSIONS OURS THEIRS, then the members: ours=theirs. N stands for the version.
layouts() {
    local proxy='proxy_op.pid=proxyOp.pid proxy_op.channel=proxyOp.channelId
        proxy_op.peer=proxyOp.peer proxy_op.n_steps=proxyOp.nSteps
        proxy_op.chunk_bytes=proxyOp.chunkSize proxy_op.is_send=proxyOp.isSend
        proxy_step.step=proxyStep.step'
    local head='type=type parent=parentObj rank=rank'
    local coll='coll.seq=coll.seqNumber coll.func=coll.func coll.send_buf=coll.sendBuff
        coll.recv_buf=coll.recvBuff coll.count=coll.count coll.root=coll.root
        coll.datatype=coll.datatype coll.n_warps=coll.nWarps coll.algo=coll.algo
        coll.proto=coll.proto'
    local old='coll.comm_name=coll.name coll.comm_hash=coll.commHash
        coll.max_channels=coll.nMaxChannels p2p.comm_name=p2p.name p2p.comm_hash=p2p.commHash'
    local new='coll.n_channels=coll.nChannels p2p.n_channels=p2p.nChannels'
    local p2p='p2p.func=p2p.func p2p.buf=p2p.buff p2p.datatype=p2p.datatype
        p2p.count=p2p.count p2p.peer=p2p.peer'
    local net='net_plugin.id=netPlugin.id net_plugin.data=netPlugin.data'
    local kernel='kernel_ch.channel=kernelCh.channelId'
    local gpu='kernel_ch.gpu_ns=kernelCh.pTimer'
    local api='coll.parent_group=coll.parentGroup p2p.parent_group=p2p.parentGroup
        group_api.graph_captured=groupApi.graphCaptured group_api.depth=groupApi.groupDepth
        coll_api.func=collApi.func coll_api.count=collApi.count
        coll_api.datatype=collApi.datatype coll_api.root=collApi.root
        coll_api.stream=collApi.stream coll_api.graph_captured=collApi.graphCaptured
        p2p_api.func=p2pApi.func p2p_api.count=p2pApi.count p2p_api.datatype=p2pApi.datatype
        p2p_api.stream=p2pApi.stream p2p_api.graph_captured=p2pApi.graphCaptured
        kernel_launch.stream=kernelLaunch.stream'
    local ce='ce_coll.seq=ceColl.seqNumber ce_coll.func=ceColl.func
        ce_coll.send_buf=ceColl.sendBuff ce_coll.recv_buf=ceColl.recvBuff
        ce_coll.count=ceColl.count ce_coll.root=ceColl.root ce_coll.datatype=ceColl.datatype
        ce_coll.sync_strategy=ceColl.syncStrategy ce_coll.intra_batch_sync=ceColl.intraBatchSync
        ce_coll.batch_bytes=ceColl.batchSize ce_coll.n_batches=ceColl.numBatches
        ce_coll.ce_seq=ceColl.ceSeqNum ce_coll.stream=ceColl.stream
        ce_sync.is_complete=ceCollSync.isComplete ce_sync.n_ranks=ceCollSync.nRanks
        ce_batch.n_ops=ceCollBatch.numOps ce_batch.total_bytes=ceCollBatch.totalBytes
        ce_batch.intra_sync=ceCollBatch.useIntraSync'
    local ours=struct:jp_nccl_descr_vN theirs=ncclProfilerEventDescr_vN_t
    local table='name=name init=init start=startEvent stop=stopEvent record=recordEventState
        finalize=finalize'

    row 1 "$ours" "$theirs" "$head" "$coll" "$old" "$p2p" "$proxy" coll.op=coll.op \
        coll.traffic_bytes=coll.trafficBytes coll.is_collnet=coll.isCollnet \
        coll.is_nvls=coll.isNvls
    row 2 "$ours" "$theirs" "$head" "$coll" "$old" "$p2p" "$proxy" coll.traffic_bytes=coll.trafficBytes
    row 3 "$ours" "$theirs" "$head" "$coll" "$old" "$p2p" "$proxy" "$kernel" "$net"
    row 4 "$ours" "$theirs" "$head" "$coll" "$new" "$p2p" "$proxy" "$kernel" "$gpu" "$net"
    row 5 "$ours" "$theirs" "$head" "$coll" "$new" "$p2p" "$proxy" "$kernel" "$gpu" "$net" "$api"
    row 6 "$ours" "$theirs" "$head" "$coll" "$new" "$p2p" "$proxy" "$kernel" "$gpu" "$net" "$api" "$ce"
    row '1 2 3' union:jp_nccl_args_v1 ncclProfilerEventStateArgs_vN_t \
        proxy_op.trans_bytes=proxyOp.transSize proxy_op.steps=proxyOp.steps \
        proxy_ctrl.appended=proxyCtrl.appendedProxyOps
    row '4 5 6' union:jp_nccl_args_v4 ncclProfilerEventStateArgs_vN_t \
        proxy_step.trans_bytes=proxyStep.transSize \
        proxy_ctrl.appended=proxyCtrl.appendedProxyOps net_plugin.data=netPlugin.data \
        kernel_ch.gpu_ns=kernelCh.pTimer
    row '1 2 3 4 5 6' struct:jp_nccl_plugin_vN ncclProfiler_vN_t "$table"
}

row() {
    local v versions=$1 ours=${2/:/ } theirs=$3 members
    shift 3
    members=${*//$'\n'/ }
    for v in $versions; do
        echo "$v|${ours//vN/v$v}|${theirs//vN/v$v}|$members"
    done
}

# FIRST_VERSION OURS THEIRS: the release's interface must be as new
numbers() {
    cat <<'TABLE'
1 JP_NCCL_GROUP ncclProfileGroup
1 JP_NCCL_COLL ncclProfileColl
1 JP_NCCL_P2P ncclProfileP2p
1 JP_NCCL_PROXY_OP ncclProfileProxyOp
1 JP_NCCL_PROXY_STEP ncclProfileProxyStep
1 JP_NCCL_PROXY_CTRL ncclProfileProxyCtrl
3 JP_NCCL_KERNEL_CH ncclProfileKernelCh
3 JP_NCCL_NET_PLUGIN ncclProfileNetPlugin
5 JP_NCCL_GROUP_API ncclProfileGroupApi
5 JP_NCCL_COLL_API ncclProfileCollApi
5 JP_NCCL_P2P_API ncclProfileP2pApi
5 JP_NCCL_KERNEL_LAUNCH ncclProfileKernelLaunch
6 JP_NCCL_CE_COLL ncclProfileCeColl
6 JP_NCCL_CE_SYNC ncclProfileCeSync
6 JP_NCCL_CE_BATCH ncclProfileCeBatch
1 JP_NCCL_STEP_SEND_GPU_WAIT ncclProfilerProxyStepSendGPUWait
1 JP_NCCL_STEP_SEND_WAIT ncclProfilerProxyStepSendWait
1 JP_NCCL_STEP_RECV_WAIT ncclProfilerProxyStepRecvWait
1 JP_NCCL_STEP_RECV_FLUSH_WAIT ncclProfilerProxyStepRecvFlushWait
1 JP_NCCL_STEP_RECV_GPU_WAIT ncclProfilerProxyStepRecvGPUWait
1 JP_NCCL_CTRL_IDLE ncclProfilerProxyCtrlIdle
1 JP_NCCL_CTRL_ACTIVE ncclProfilerProxyCtrlActive
1 JP_NCCL_CTRL_SLEEP ncclProfilerProxyCtrlSleep
1 JP_NCCL_CTRL_WAKEUP ncclProfilerProxyCtrlWakeup
1 JP_NCCL_CTRL_APPEND ncclProfilerProxyCtrlAppend
1 JP_NCCL_CTRL_APPEND_END ncclProfilerProxyCtrlAppendEnd
4 JP_NCCL_OP_IN_PROGRESS ncclProfilerProxyOpInProgress_v4
4 JP_NCCL_STEP_SEND_PEER_WAIT ncclProfilerProxyStepSendPeerWait_v4
4 JP_NCCL_NET_PLUGIN_UPDATE ncclProfilerNetPluginUpdate
4 JP_NCCL_KERNEL_CH_STOP ncclProfilerKernelChStop
5 JP_NCCL_GROUP_START_API_STOP ncclProfilerGroupStartApiStop
5 JP_NCCL_GROUP_END_API_START ncclProfilerGroupEndApiStart
TABLE
}

# what the genuine headers expect of NCCL's other headers
cat >"$work/os.h" <<'END'
#include <sys/types.h>
typedef pid_t ncclPid_t;
END
cat >"$work/before.h" <<'END'
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <sys/types.h>
typedef int ncclResult_t;
typedef void (*ncclDebugLogger_t)(int, unsigned long, const char *, int, const char *, ...);
END

# probe HEADER NEWEST: the program that compares
probe() {
    local version newest=$2 ours theirs members pair first
    cat <<END
#include "before.h"
#include "$1"
#include "plugins/nccl_recorder/nccl_profiler.h"
static int differs(const char *what, size_t a, size_t b)
{
    if (a != b)
        printf("  %s: ours %zu, theirs %zu\\n", what, a, b);
    return a != b;
}
static int bad;
static void done(int n, const char *what)
{
    printf("%s %s\\n", n ? "DIFFERS" : "same", what);
    bad |= n != 0;
}
int main(void) { int n;
END
    while IFS='|' read -r version ours theirs members; do
        [ "$version" -le "$newest" ] || continue
        echo "{ typedef $ours A; typedef $theirs B; A *a = nullptr; B *b = nullptr; (void) a; (void) b;"
        echo "n = differs(\"sizeof\", sizeof(A), sizeof(B));"
        for pair in $members; do
            echo "n += differs(\"offset of ${pair%=*}\", offsetof(A, ${pair%=*}), offsetof(B, ${pair#*=}));"
            echo "n += differs(\"size of ${pair%=*}\", sizeof(a->${pair%=*}), sizeof(b->${pair#*=}));"
        done
        echo "done(n, \"v$version ${ours#* }, $(wc -w <<<"$members") members\"); }"
    done < <(layouts)
    echo 'n = 0;'
    while read -r first ours theirs; do
        [ "$first" -le "$newest" ] || continue
        echo "n += differs(\"$ours\", (size_t) $ours, (size_t) $theirs);"
    done < <(numbers)
    echo 'done(n, "event types and states"); return bad; }'
}

check() { # check INCLUDE_DIR
    local dir newest header
    dir=$(cd "$1" && pwd) || return 2
    newest=$(grep -hoE 'ncclProfilerEventDescr_v[0-9]+_t' "$dir"/*.h 2>/dev/null |
        grep -oE '[0-9]+' | sort -n | tail -n 1)
    for header in "$dir/../nccl_profiler.h" "$dir/nccl_profiler.h"; do
        [ ! -f "$header" ] || break
    done
    if [ -z "$newest" ] || [ ! -f "$header" ]; then
        echo "$1: no profiler headers of NCCL" >&2
        return 2
    fi
    echo "$1: v1 to v$newest"
    [ "$newest" -le 6 ] || echo "  v$newest is newer than our declarations"
    probe "$header" "$newest" >"$work/probe.cc"
    ${CXX:-c++} -std=gnu++17 -w -I"$work" -I"$top" -I"$dir" -o "$work/probe" \
        "$work/probe.cc" || return 2
    "$work/probe"
}

status=0
for dir; do
    check "$dir"
    rc=$?
    [ $rc -le $status ] || status=$rc
done
exit $status
