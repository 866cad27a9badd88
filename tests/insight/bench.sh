#!/bin/bash
# bench.sh - what the search for findings takes, as a share of the aggregation.
#
# A job of 1,024 ranks and 9 million records (BENCH_ITERATIONS 550: less is a
# smaller job); the median of BENCH_RUNS runs (3) by summary.json's own times.
set -eu
export LC_ALL=C
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
top_builddir=${top_builddir:-.}
gen=$top_builddir/tests/aggregate/gen_logs
jobprof=$top_builddir/orchestrator/jobprof
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/logs"
"$gen" -o "$work/logs" -n 128 -r 8 -i "${BENCH_ITERATIONS:-550}" -l 19
for ((i = 0; i < ${BENCH_RUNS:-3}; i++)); do
    "$jobprof" aggregate -q -o "$work/out" "$work/logs" || [ $? = 3 ]
    awk -F'[:,]' '/"analysis_us"/ { all = $2 } /"insight_us"/ { own = $2 }
        /"records"/ && !n { n = $2 }
        END { printf "%.4f %.3f %.3f %d\n", own / (all - own), own / 1e6,
              (all - own) / 1e6, n }' "$work/out/summary.json"
done | sort -n | awk '{ row[NR] = $0 } END {
    split(row[int((NR + 1) / 2)], v, " ")
    printf "insight: %.3f s, %.1f %% of the aggregation (%.2f s, %d records); " \
        "floor at most 20 %%: %s\n", v[2], 100 * v[1], v[3], v[4],
        v[1] <= 0.2 ? "met" : "NOT MET" }'
