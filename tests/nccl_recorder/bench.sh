#!/bin/bash
# bench.sh - what the recorder costs in the program: ns a callback, bytes an operation.
#
# CPU time of NCCL's threads, net of a plugin that does nothing, beside one
# clock_gettime() of the same run (aim: at most 1.7 times that at 8 channels).
# JOBPROF_BENCH_PLUGINS=path:path puts other profiler plugins beside it;
# BENCH_CALLBACKS sets the size (4000000), BENCH_RUNS the repetitions (3).
set -eu
export LC_ALL=C
. "${top_srcdir:?}/tests/nccl_recorder/lib.sh"
callbacks=${BENCH_CALLBACKS:-4000000}
runs=${BENCH_RUNS:-3}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

value() { sed "s/.*\b$1=\([0-9.]*\).*/\1/"; }

# measure LIBRARY CHANNELS THREADS: the run of median ns, on one line
measure() {
    local i ops=$((callbacks / (3 + 3 * $2)))
    for ((i = 0; i < runs; i++)); do
        rm -rf "$work/rec"
        mkdir "$work/rec"
        JOBPROF_RECORDER_DIR=$work/rec NCCL_INSPECTOR_ENABLE=1 NCCL_INSPECTOR_DUMP_DIR=$work/rec \
            NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS=100000 \
            NCCL_INSPECTOR_REQUIRE_KERNEL_TIMING=0 \
            NCCL_PROFILE_EVENT_MASK="${NCCL_PROFILE_EVENT_MASK:-4095}" \
            "$DRIVE" "$1" --ops "$ops" --channels "$2" --threads "$3" --comms 4 2>/dev/null |
            tail -n 1
    done | sort -t= -k4 -g | sed -n "$(((runs + 1) / 2))p"
}

# bytes CHANNELS: of the file, an operation, at a rate at which nothing is lost
bytes() {
    rm -rf "$work/rec"
    drive "$work/rec" --ops 40000 --rate 20000 --channels "$1" --comms 4 >/dev/null
    "$DUMP" "$work"/rec/*.jpr | final written |
        awk -v size="$(cat "$work"/rec/*.jpr | wc -c)" '{ printf "%.1f", size / $1 }'
}

IFS=: read -r -a plugins <<<"$RECORDER${JOBPROF_BENCH_PLUGINS:+:$JOBPROF_BENCH_PLUGINS}"
printf '%-34s %8s %7s %9s %9s %7s %9s %9s\n' plugin channels threads "ns/call" "clock ns" \
    "x clock" "rss kB" "B/op"
for plugin in "${plugins[@]}"; do
    for threads in 1 4; do
        for channels in 1 8 32 64; do
            null=$(measure null $channels $threads | value ns)
            line=$(measure "$plugin" $channels $threads)
            size=-
            [ "$plugin:$threads" != "$RECORDER:1" ] || size=$(bytes $channels)
            echo "$line" | awk -v name="$(basename "$plugin")" -v null="$null" -v c=$channels \
                -v t=$threads -v size="$size" -F'[= ]' '{
                    ns = $6 - null
                    printf "%-34s %8d %7d %9.1f %9.1f %7.2f %9d %9s\n", name, c, t, ns, $8,
                           ns / $8, $12, size }'
        done
    done
done
