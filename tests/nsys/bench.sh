#!/bin/bash
# bench.sh [ROWS] - jobprof nsys compared with sqlite3's own GROUP BY, on a file
# with that many calls and kernels; medians of five alternating rounds.
here=${top_srcdir:-.}/tests/nsys
jobprof=${top_builddir:-.}/orchestrator/jobprof
rows=${1:-1000000}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
python3 "$here/make_export.py" "$work/a.sqlite" "$rows" || exit 1
cat >"$work/sql" <<'END'
SELECT value, sum(end-start) t, count(*), avg(end-start), min(end-start),
 max(end-start) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id=nameId
 GROUP BY nameId ORDER BY t DESC;
SELECT value, sum(end-start) t, count(*), avg(end-start), min(end-start),
 max(end-start) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON
 id=demangledName GROUP BY demangledName ORDER BY t DESC;
SELECT copyKind, sum(end-start) t, count(*), avg(end-start), min(end-start),
 max(end-start) FROM CUPTI_ACTIVITY_KIND_MEMCPY GROUP BY copyKind ORDER BY t;
SELECT copyKind, sum(bytes) t, count(*), avg(bytes), min(bytes), max(bytes)
 FROM CUPTI_ACTIVITY_KIND_MEMCPY GROUP BY copyKind ORDER BY t;
END
seconds() { # seconds COMMAND...: CPU time
    local TIMEFORMAT='%U %S'
    { time "$@" >/dev/null; } 2>&1 | awk '{print $1 + $2}'
}
for _ in 1 2 3 4 5; do
    seconds sqlite3 -readonly "$work/a.sqlite" ".read $work/sql" >>"$work/them"
    seconds "$jobprof" nsys "$work/a.sqlite" >>"$work/us"
done
them=$(sort -n "$work/them" | sed -n 3p) us=$(sort -n "$work/us" | sed -n 3p)
rss=$( { command time -f %M "$jobprof" nsys "$work/a.sqlite" >/dev/null; } 2>&1)
awk -v t="$them" -v u="$us" -v n="$rows" -v r="$rss" 'BEGIN {
    printf "%d rows: sqlite3 %.2f s, jobprof nsys %.2f s: %.2f times; %d MiB\n",
        n, t, u, u / t, r / 1024 }'
