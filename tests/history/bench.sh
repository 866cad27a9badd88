#!/bin/bash
# bench.sh - a million steps: time of jobprof history as a ratio to what wc -l
# takes for the same files, in one run, and its memory.
#
# BENCH_STEPS: steps (1000000).
set -eu
export LC_ALL=C
build=${top_builddir:-.}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
steps=${BENCH_STEPS:-1000000}
mkdir "$work/sink"
"$build/tests/history/gen_site" "$work/sink" "$steps"
cpu() { # cpu COMMAND...: its processor time in ms and memory in KiB, best of three
    for _ in 1 2 3; do
        /usr/bin/time -f '%U %S %M' -o "$work/time" "$@" >"$work/out"
        awk '{ printf "%d %d\n", ($1 + $2) * 1000, $3 }' "$work/time"
    done | sort -n | head -n 1
}
files=("$work"/sink/*/*.jsonl)
read -r wc_ms _ <<<"$(cpu wc -l "${files[@]}")"
read -r jq_ms _ <<<"$(head -n $((steps / 50)) "${files[0]}" >"$work/part"
    command -v jq >/dev/null && cpu jq -c .job "$work/part" || echo 0 0)"
read -r ms kib <<<"$(cpu "$build/orchestrator/jobprof" history "$work/sink")"
grep -q "^$(printf "%'d" "$steps" 2>/dev/null)\|steps of" "$work/out"
part=$(wc -l <"$work/part")
bytes=$(cat "${files[@]}" | wc -c)
awk -v n="$steps" -v ms="$ms" -v kib="$kib" -v wc="$wc_ms" -v jq="$jq_ms" -v part="$part" -v bytes="$bytes" 'BEGIN {
    printf "  history of %d steps (%d MB): %d ms of processor time, %d MB of memory\n", n, bytes / 1e6, ms, kib / 1024
    printf "  wc -l of the same files: %d ms (ratio %.0f)\n", wc, ms / (wc > 0 ? wc : 1)
    if (jq > 0) printf "  jq -c .job would take %d ms (%.0f times as long as history; at least 3)\n", jq * n / part, jq * n / part / ms
    printf "  limits: 5000 ms and 300 MB for a million\n"
    exit ms > 5000 * n / 1e6 || kib / 1024 > 300 || (jq > 0 && jq * n / part < 3 * ms)
}'
