#!/bin/bash
# bench.sh - the join against wc -l and gzip -dc on the same files, as ratios,
# and the recorder's files beside the JSON lines of the same records.
#
# Only ratios of one run carry over to other machines (facts: a whole job at
# <= 4 times wc -l with one thread, .gz at <= 1.5 times bare inflate).
# BENCH_ITERATIONS sets the size (1200: 570 MB), BENCH_RUNS the repetitions.
set -eu
export LC_ALL=C
top_builddir=${top_builddir:-.}
gen=${GEN_LOGS:-$top_builddir/tests/aggregate/gen_logs}
jobprof=${JOBPROF:-$top_builddir/orchestrator/jobprof}
gen_jpr=${GEN_JPR:-$top_builddir/tests/aggregate/gen_jpr}
dump=${DUMP_RESULT:-$top_builddir/tests/aggregate/dump_result}
iterations=${BENCH_ITERATIONS:-600}
runs=${BENCH_RUNS:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Median seconds of a command; its exit status 3 (incomplete) is fine.
seconds() {
    local i from
    for i in $(seq "$runs"); do
        from=$(date +%s.%N)
        "$@" > "$work/out" 2> "$work/err" || [ $? = 3 ]
        echo "$from $(date +%s.%N)" | awk '{ printf "%.4f\n", $2 - $1 }'
    done | sort -n | sed -n "$(((runs + 1) / 2))p"
}

row() { # WHAT SECONDS MEGABYTES BASE-SECONDS BASE
    echo "$2 $3 $4" | awk -v what="$1" -v base="$5" '{
        printf "%-34s %7.3f s %8.0f MB/s  %6.2f x %s\n", what, $1,
               $2 / ($1 > 0 ? $1 : 0.0001), $1 / ($3 > 0 ? $3 : 0.0001), base }'
}

measure() { # NAME FOLDER MEGABYTES BASE-SECONDS BASE
    local threads
    for threads in 1 2; do
        row "$1: join, $threads thread" \
            "$(seconds "$dump" -t $threads stat "$2")" "$3" "$4" "$5"
        [ ! -x "$jobprof" ] ||
            row "$1: jobprof aggregate, $threads thread" \
                "$(seconds "$jobprof" aggregate -q --threads $threads \
                   --output "$work/report" "$2")" "$3" "$4" "$5"
    done
}

peak() { # FOLDER: kilobytes, and a row of operations
    local kb rows
    kb=$(command time -f %M "$dump" -t 1 stat "$1" 2>&1 > /dev/null | tail -1)
    rows=$(($("$dump" -t 1 join "$1" | wc -l) - 1))
    echo "peak memory: $kb KB for $rows operations, $((kb * 1024 / rows)) B each"
}

# The same records as the recorder has them; both ways in operations a second.
recordings() { # FOLDER-OF-LOGS
    local ops mb kind threads
    mkdir "$work/jpr"
    for log in "$1"/*.log; do
        "$gen_jpr" -l "$log" > "$work/jpr/$(basename "$log" .log).jpr"
    done
    ops=$(cat "$1"/*.log | wc -l)
    mb=$(cat "$work/jpr"/* | wc -c | awk '{ print $1 / 1e6 }')
    echo "recordings: $ops records in $mb MB," \
        "$(echo "$mb $ops" | awk '{ printf "%.1f", $1 * 1e6 / $2 }') B each"
    for threads in 1 2; do
        for kind in "$1" "$work/jpr"; do
            seconds "$dump" -t $threads stat "$kind"
        done | paste - - | awk -v ops="$ops" -v mb="$mb" -v threads=$threads '{
            printf "recordings: join, %d thread %16.3f s %8.0f MB/s  %6.2f M records/s (JSON %.2f)\n",
                   threads, $2, mb / $2, ops / $2 / 1e6, ops / $1 / 1e6 }'
    done
    rm -rf "$work/jpr"
}

for set in plain verbose; do
    mkdir "$work/$set"
    "$gen" -o "$work/$set" -n 8 -r 8 -i "$iterations" \
        -c "$([ $set = verbose ] && echo 12 || echo 0)"
    mb=$(cat "$work/$set"/* | wc -c | awk '{ print $1 / 1e6 }')
    base=$(seconds wc -l "$work/$set"/*.log)
    echo "$set: $mb MB in 64 files; wc -l takes $base s"
    measure $set "$work/$set" "$mb" "$base" "wc -l"
    if [ $set = plain ]; then
        peak "$work/plain"
        recordings "$work/plain"
        gzip -6 "$work/plain"/*.log
        base=$(seconds gzip -dc "$work/plain"/*.gz)
        echo "gz: gzip -dc takes $base s"
        measure gz "$work/plain" "$mb" "$base" "gzip -dc"
    fi
    rm -rf "${work:?}/$set"
done
mkdir "$work/small"
"$gen" -o "$work/small" -n 2 -r 4 -i 10
row "small job (8 files)" "$(seconds "$dump" stat "$work/small")" 0 0.020 "20 ms"
