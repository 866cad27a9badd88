#!/bin/bash
# bench.sh - Parquet of 9 million operations: rows a second as a share of the CSV
# writer's, and the size as a share of ops.csv.
#
# BENCH_ROWS: operations (9000000); BENCH_THREADS: of the CSV writer (0: as many
# as CPUs). Some 300,000 operations are made and joined; the large ops.csv holds
# them again and again, each row group with its own.
set -eu
export LC_ALL=C
build=${top_builddir:-.}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
rows=${BENCH_ROWS:-9000000}
"$build/tests/aggregate/gen_logs" -o "$work/logs" -n 1 -r 2 -i 16000 -l 1
"$build/tests/report/time_report" "${BENCH_THREADS:-0}" "$work/report" "$work/logs" >"$work/times"
made=$(sed -n '1s/.* \([0-9]*\) operations/\1/p' "$work/times")
csv_ms=$(awk '$1 == "csv" { print $2 }' "$work/times")
mkdir -p "$work/large/csv"
head -n 1 "$work/report/csv/ops.csv" >"$work/large/csv/ops.csv"
tail -n +2 "$work/report/csv/ops.csv" >"$work/rows"
for ((n = 0; n < rows; n += made)); do cat "$work/rows"; done >>"$work/large/csv/ops.csv"
rows=$n
start=$(date +%s%N)
/usr/bin/time -f '%M' "$build/orchestrator/jobprof" export parquet "$work/large" 2>"$work/memory"
ms=$((($(date +%s%N) - start) / 1000000))
csv=$(stat -c %s "$work/large/csv/ops.csv")
parquet=$(stat -c %s "$work/large/parquet/ops.parquet")
awk -v made="$made" -v csv_ms="$csv_ms" -v rows="$rows" -v ms="$ms" -v csv="$csv" \
    -v parquet="$parquet" -v memory="$(tail -n 1 "$work/memory")" 'BEGIN {
    share = 100 * (rows / ms) / (made / csv_ms)
    size = 100 * parquet / csv
    printf "  csv/ of %d operations    %.0f ms: %.2f million rows/s\n", made, csv_ms, made / csv_ms / 1000
    printf "  Parquet of %d operations %d ms: %.2f million rows/s, %d MB of memory\n", rows, ms, rows / ms / 1000, memory / 1024
    printf "  speed %.0f %% of the CSV writer (at least 20 %%), size %.1f %% of the CSV file (at most 20 %%)\n", share, size
    exit share < 20 || size > 20
}'
