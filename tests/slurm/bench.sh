#!/bin/bash
# bench.sh [PAIRS]: what srun pays for an empty plugstack, the idle module and the
# active one, from interleaved runs in one cluster; medians of differences.
. "${top_srcdir:?}/tests/slurm/lib.sh"
: >"$WORK/plugstack.conf"
start_cluster bench --nodes 4 --cpus 16 --plugstack "$WORK/plugstack.conf" || exit 1
live=$(scontrol show config | sed -n 's/^PlugStackConfig *= *//p')
cat >"$WORK/jobprof.conf" <<END
nccl: { recorder = "$top_builddir/plugins/nccl_recorder/.libs/libnccl-profiler-jobprof.so"; };
END
cd "$WORK" || exit 1
"$PYTHON" "$LIB/bench.py" "$live" "$top_builddir/tests/slurm/stamp" "${1:-${PAIRS:-300}}" \
    "optional $top_builddir/spank/.libs/spank_jobprof.so config=$WORK/jobprof.conf node=$top_builddir/orchestrator/jobprof-node"
