#!/bin/bash
# pause.sh - operations a second and the longest gap of ncclsim before, during
# and after COUNT looks by eu-stack, from its own recording; by hand.
# Usage: pause.sh [COUNT]; with RT="chrt -f 10" not disturbed by a busy machine
build=${top_builddir:-.}
count=${1:-40}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/raw"
NCCL_PROFILER_PLUGIN=$build/plugins/nccl_recorder/.libs/libnccl-profiler-jobprof.so \
    JOBPROF_RECORDER_DIR=$work/raw ${RT:-} "$build/contrib/ncclsim/ncclsim" --rank 0 --nranks 1 \
    --ranks-per-node 1 --rate 2000/s --iterations 30000 >"$work/out" 2>&1 &
pid=$!
sleep 4
from=$(date +%s%6N)
for _ in $(seq "$count"); do
    DEBUGINFOD_URLS='' ${RT:-} eu-stack -m -n 128 -p "$pid" >"$work/stack" 2>&1
done
to=$(date +%s%6N)
wait "$pid"
"$build/orchestrator/jobprof" export inspector --output - "$work/raw" 2>/dev/null |
    grep -o '"dump_timestamp_us":[0-9]*' | cut -d: -f2 | sort -n |
    awk -v from="$from" -v to="$to" -v count="$count" '
        { part = $1 < from ? 1 : $1 < to ? 2 : 3
          if (part == was && $1 - last > gap[part]) gap[part] = $1 - last
          if (!first[part]) first[part] = $1
          n[part]++; last = $1; was = part; end[part] = $1 }
        END { name[1] = "before"; name[2] = count " looks"; name[3] = "after"
          for (i = 1; i <= 3; i++)
              printf "%-10s %6.0f operations a second, longest gap %5.1f ms\n", name[i],
                  n[i] / ((end[i] - first[i]) / 1e6), gap[i] / 1e3 }'
echo "a look takes $(((to - from) / count / 1000)) ms"
