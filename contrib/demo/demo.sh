#!/bin/bash
# demo.sh - one profiled step on a private Slurm of four nodes with GPUs and
# adapters that are not there: what a report looks like without any hardware.
#     demo.sh BUILD [late|slow|hang|healthy]       in the current folder
# late     a GPU gets hot and slow, its rank is late, all others wait (default)
# slow     a node's network port runs at a quarter of its rate
# hang     a rank stops, who needs it waits for ever
# healthy  nothing is wrong
# The step's report is in ./jobprof-JOBID/step-0; its card goes to stderr.
set -u
build=$(cd "${1:?a build folder}" && pwd) || exit 2
kind=${2:-late}
top=$(cd "$(dirname -- "$0")/../.." && pwd)
minicluster=$top/contrib/minicluster
sim=${JOBPROF_SIM:-$build/contrib/ncclsim/ncclsim}
fake=$build/contrib/fakegpu/.libs
NODES=4 PER_NODE=2 # ranks; a node shows 8 GPUs
name=demo-$$
feed='' work=$(mktemp -d "${TMPDIR:-/tmp}/jobprof-demo.XXXXXX") || exit 1
chmod 755 "$work"

# shellcheck disable=SC2317 # by the trap
cleanup() {
    [ -z "$feed" ] || kill "$feed" 2>/dev/null
    "$minicluster" stop --name "$name" >/dev/null 2>&1
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- what the nodes are -------------------------------------------------------
# Topology and GPUs are files that the site's settings name. Counters of the port
# and what differs between nodes are bound into each node's mount namespace.
lay_out() { # lay_out NODE: its folder
    local f=$work/node/$1 c
    mkdir -p "$f/gpu" "$f/port/counters" "$f/class/infiniband/mlx5_0/ports" "$f/class/net"
    cp -L "$fake/libnvidia-ml.so.1" "$f/gpu/"
    printf 'FAKEGPU_MACHINE=h100\nFAKEGPU_BUSES=%s\nFAKEGPU_LOAD=%s\n' "$buses" "$f/gpu/load" >"$f/gpu/fakegpu.env"
    echo '4: ACTIVE' >"$f/port/state"
    echo '400 Gb/sec (4X NDR)' >"$f/port/rate"
    for c in port_xmit_data port_rcv_data port_xmit_wait symbol_error port_rcv_errors link_downed; do
        echo 0 >"$f/port/counters/$c"
    done
    ln -s "$f/port" "$f/class/infiniband/mlx5_0/ports/1"
    sed "s/%N/$1/" "$top/contrib/demo/node.xml" >"$work/site/$1.xml"
    gpus "$1" </dev/null
}

gpus() { # gpus NODE: what its GPUs do; further lines on stdin (contrib/fakegpu/fake_script.h)
    {
        printf '* %s\n' 'sm 90' 'memory 30' 'used 40000000000' 'total 85899345920' 'power 480000' \
            'limit 700000' 'celsius 58' 'sm_mhz 1980' 'sm_max_mhz 1980' 'memory_mhz 2619' \
            'reasons 0' 'pid0 0' 'xid 0' 'generation 5' 'width 16' 'rx 2000000' 'tx 1500000' \
            'replays 0' 'ecc 0'
        cat
    } >"$work/node/$1/gpu/load"
}

# bind NODE: its files into its namespace; fails where that is not allowed. A chroot
# may have no /sys
bind() {
    local f=$work/node/$1
    "$minicluster" node "$1" --name "$name" -- bash -c "mount --bind '$f/gpu' '$work/gpu' &&
        if [ -d /sys/class/net ]; then
            mount --bind /sys/class/net '$f/class/net'
        else
            mount -t tmpfs sys /sys && mkdir /sys/class
        fi && mount --rbind '$f/class' /sys/class" 2>/dev/null
}

count() { # the ports' counters go on; each number is of 4 bytes
    local words=0 n
    while sleep 0.2; do
        words=$((words + 50000000))
        for n in "$work"/node/*; do
            echo $words >"$n/port/counters/port_xmit_data"
            echo $words >"$n/port/counters/port_rcv_data"
        done
    done
}

buses=$(grep -oE 'pci_busid="0000:[0-9a-f]+:00.0" pci_type="0302' "$top/contrib/demo/node.xml" |
    cut -d: -f2 | sort | paste -sd,)
mkdir -p "$work/gpu" "$work/site"
cp -L "$fake/libnvidia-ml.so.1" "$work/gpu/"
for ((i = 1; i <= NODES; i++)); do lay_out n$i; done
cat >"$work/jobprof.conf" <<CONF
topology_file = "$work/site/%N.xml";
nvml_library = "$work/gpu/libnvidia-ml.so.1";
nccl = { recorder = "$build/plugins/nccl_recorder/.libs/libnccl-profiler-jobprof.so"; };
policy: { util_period = "200ms"; };
CONF
chmod -R go-w "$work"
chmod 644 "$work/jobprof.conf" "$work"/site/*

# each task sees the GPU of its local number
cat >"$work/train" <<TASK
#!/bin/bash
export FAKEGPU_COUNT=8 FAKEGPU_BUSES=$buses FAKEGPU_DEVICE=\$SLURM_LOCALID
export LD_PRELOAD=$fake/libcuda.so.1:$fake/libcudart.so.12
exec "$sim" --nvml "$work/gpu/libnvidia-ml.so.1" "\$@"
TASK
chmod 755 "$work/train"

# --- what is wrong --------------------------------------------------------------
# Ranks see the end of a collective after all have begun it, as with NCCL, so that
# the times of nodes fit together also on a busy machine.
program=(--iterations 200 --seconds 4 --meet)
odd=n2 odd_gpus='' odd_rate=''
case $kind in
late)
    # rank 3 is the second of the node n2, its GPU is number 1
    program+=(--fault 'late-rank=3:2000,by=clock')
    odd_gpus=$'1 sm_mhz 1100 1.5\n1 reasons 64 1.5\n1 celsius 58..93 1 3'
    ;;
slow)
    program=(--iterations 240 --seconds 8 --meet --fault 'late-node=1:1500,by=port')
    odd_rate='50 Gb/sec (4X NDR)'
    ;;
hang) program=(--iterations 100000 --seconds 12 --together --fault 'hang=3:dp:20') ;;
healthy) # as late as nobody; long enough to say so on a busy machine
    program=(--iterations 400 --seconds 8 --meet --fault 'late-rank=3:0,by=clock')
    ;;
*)
    echo "demo.sh: \"$kind\" is none of late, slow, hang, healthy" >&2
    exit 2
    ;;
esac

if ! "$minicluster" start --name "$name" --nodes $NODES --cpus 8 --build "$build" \
    --config "$work/jobprof.conf" >"$work/log" 2>&1; then
    cat "$work/log" >&2
    exit 1
fi
lines=$("$minicluster" env --name "$name") || exit 1
eval "$lines"
for ((i = 1; i <= NODES; i++)); do
    bind n$i || { echo "demo.sh: node n$i cannot have files of its own: its causes are not seen" >&2; break; }
done
count &
feed=$!
[ -z "$odd_gpus" ] || gpus $odd <<<"$odd_gpus"
[ -z "$odd_rate" ] || (sleep 1.5 && echo "$odd_rate" >"$work/node/$odd/port/rate") &
srun -J train -N$NODES --ntasks-per-node=$PER_NODE --nccl-profile=auto,summary=card \
    "$work/train" "${program[@]}" </dev/null # what is typed next is not the program's
status=$?
# 3: the program says that it hung, as was asked for
[ "$kind" != hang ] || [ $status -ne 3 ] || status=0
exit $status
