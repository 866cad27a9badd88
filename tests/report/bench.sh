#!/bin/bash
# bench.sh - what a report of 1,024 ranks costs, file by file, as shares of the
# join of its 9 million records; the page's size.
#
# BENCH_SCALE: size of the data (1: 4 GB of logs); BENCH_RUNS: repetitions (3).
set -eu
export LC_ALL=C
build=${top_builddir:-.}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
iterations=$(echo "${BENCH_SCALE:-1}" | awk '{ n = int(550 * $1); print n ? n : 1 }')
mkdir "$work/logs"
"$build/tests/aggregate/gen_logs" -o "$work/logs" -n 128 -r 8 -i "$iterations" -l 5
for ((i = 0; i < ${BENCH_RUNS:-3}; i++)); do
    "$build/tests/report/time_report" 2 "$work/report" "$work/logs" >"$work/run$i"
done
sed -n 1p "$work/run0"
# median share of each row, by its name
# shellcheck disable=SC2013 # one word a line
for name in $(awk 'NR > 1 { print $1 }' "$work/run0"); do
    awk -v name="$name" '$1 == name { print $(NF - 1) }' "$work"/run* | sort -n |
        awk -v name="$name" '{ v[NR] = $1 }
            END { printf "  %-16s %5.1f %% of the join\n", name, v[int((NR + 1) / 2)] }'
done
printf '  report.html      %s bytes (at most 2000000)\n' \
    "$(stat -c %s "$work/report/report.html")"
