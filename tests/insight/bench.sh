#!/bin/bash
# bench.sh - what the search for findings, with the page and the summary, takes
# as a share of the aggregation, and with all tables of csv/.
#
# A job of 1,024 ranks and 9 million records (BENCH_ITERATIONS 550: less is a
# smaller job); medians of BENCH_RUNS runs (3), of CPU time, which other work on
# the machine changes less than the clock's, and of the clock. Then the replay of
# a recorded job of 128 ranks and 2 million records (BENCH_REPLAY 1024), the run
# as it was and without one late rank, which may take as long as its aggregation.
set -eu
export LC_ALL=C
top_builddir=${top_builddir:-.}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/logs"
"$top_builddir/tests/aggregate/gen_logs" -o "$work/logs" -n 128 -r 8 \
    -i "${BENCH_ITERATIONS:-550}" -l 19
for ((i = 0; i < ${BENCH_RUNS:-3}; i++)); do
    "$top_builddir/tests/report/time_report" 2 "$work/out" "$work/logs" \
        >"$work/run$i"
    rm -rf "$work/out"
done
sed -n 1p "$work/run0"
median() { # median ROW CPU|CLOCK
    awk -v row="$1" -v cpu="$2" '$1 == row {
        print (cpu == "CPU" ? substr($0, index($0, "(") + 1) + 0 : $(NF - 1)) }' \
        "$work"/run* | sort -n |
        awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
for row in insight all-but-csv all; do
    printf '%-12s %5.1f %% of the aggregation by CPU time, %5.1f %% by the clock\n' \
        "$row" "$(median $row CPU)" "$(median $row CLOCK)"
done
median all-but-csv CPU | awk '{
    print "insight and report without csv/, at most 20 %:", $1 <= 20 ? "met" : "NOT MET" }'
rm -rf "$work/logs" "$work"/run*
mkdir "$work/logs" "$work/jpr"
"$top_builddir/tests/aggregate/gen_logs" -o "$work/logs" -n 16 -r 8 \
    -i "${BENCH_REPLAY:-1024}" -l 19
for log in "$work/logs"/*.log; do
    "$top_builddir/tests/aggregate/gen_jpr" -l "$log" \
        >"$work/jpr/$(basename "$log" .log).jpr"
done
for ((i = 0; i < ${BENCH_RUNS:-3}; i++)); do
    "$top_builddir/tests/report/time_report" 1 "$work/out" "$work/jpr" >"$work/run$i"
    rm -rf "$work/out"
done
sed -n 1p "$work/run0"
grep '^replayed ' "$work/run0" || echo "replayed         NOTHING"
printf '%-12s %5.1f %% of the aggregation by CPU time, %5.1f %% by the clock\n' \
    replay "$(median replay CPU)" "$(median replay CLOCK)"
median replay CPU | awk '{ share = $1; n++ } END {
    print "replay, at most as long as the aggregation:",
          (n && share > 0 && share <= 100 ? "met" : "NOT MET") }'
