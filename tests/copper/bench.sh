#!/bin/bash
# bench.sh - 1,024 ranks of Copper with 185 MB of full tables: time and memory.
# Then the start of 32 to 256 daemons with a filtered book and with a site's.
#
# Copper's own tool (scripts/aggregate_profiling.py) is the peer where
# $JOBPROF_BENCH_COPPER_TOOL names it; it is run in turn with ours.
#   BENCH_RUNS   repetitions, of which the median counts (3)
#   BENCH_STRICT 1: exit status 1 if a floor is not met
set -eu
export LC_ALL=C HOME=/nonexistent
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
top_builddir=${top_builddir:-.}
jobprof=$(realpath "${JOBPROF:-$top_builddir/orchestrator/jobprof}")
python=${PYTHON:-/usr/bin/python3}
tool=${JOBPROF_BENCH_COPPER_TOOL:-}
runs=${BENCH_RUNS:-3}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
missed=0

"$python" "$top_srcdir/tests/copper/gen.py" many "$work/logs" 1024 1030
bytes=$(du -sb "$work/logs/tables" | cut -f1)
echo "copper: 1,024 ranks, $(find "$work/logs" -type f | wc -l) files, $((bytes / 1000000)) MB of tables"

seconds() { # COMMAND...: how long it takes
    local from
    from=$(date +%s.%N)
    "$@" >"$work/out" 2>"$work/err" || { tail -1 "$work/err" >&2; exit 1; }
    echo "$from $(date +%s.%N)" | awk '{ printf "%.3f\n", $2 - $1 }'
}
median() { sort -n | awk -v runs="$runs" 'NR == int((runs + 1) / 2)'; }

for _ in $(seq "$runs"); do
    seconds "$jobprof" aggregate -q --no-usage -o "$work/report" "$work/logs" >>"$work/ours"
    [ -z "$tool" ] || seconds "$python" "$tool" "$work/logs" >>"$work/theirs"
done
ours=$(median <"$work/ours")
echo "  jobprof aggregate, all files of the report     $ours s, $(echo "$bytes $ours" |
    awk '{ printf "%.0f MB/s", $1 / $2 / 1e6 }')"
if [ -n "$tool" ]; then
    theirs=$(median <"$work/theirs")
    ratio=$(echo "$ours $theirs" | awk '{ printf "%.2f", $1 / $2 }')
    verdict=$(echo "$ratio" | awk '{ print $1 <= 0.5 ? "met" : "NOT MET" }')
    [ "$verdict" = met ] || missed=1
    echo "  against Copper's tool ($theirs s)                $ratio x, floor at most 0.5: $verdict"
fi

# Highest resident set: the same number of distinct paths in twice the ranks
# must not need twice the memory.
peak() { # FOLDER: kB, and ms of CPU time
    "$python" - "$jobprof" "$1" "$work/report" <<'PY'
import resource, subprocess, sys
subprocess.run([sys.argv[1], "aggregate", "-q", "--no-usage", "-o", sys.argv[3], sys.argv[2]],
               check=True, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_maxrss, round((used.ru_utime + used.ru_stime) * 1000))
PY
}
read -r all cpu < <(peak "$work/logs")
find "$work/logs" \( -name 'node00[5-9]*' -o -name 'node01*' \) -exec rm {} +
read -r half _ < <(peak "$work/logs")
verdict=$([ "$all" -le 65536 ] && echo met || echo "NOT MET")
[ "$verdict" = met ] || missed=1
echo "  CPU time                                       $cpu ms"
echo "  highest memory                                 $((all / 1024)) MiB ($((half / 1024)) MiB for 500 ranks), floor at most 64: $verdict"
for nodes in 32 64 128 256; do
    "$top_builddir/tests/copper/register" "$nodes" | sed 's/^/  /'
done
[ "${BENCH_STRICT:-0}" != 1 ] || exit "$missed"
