#!/bin/bash
# soak-kill.sh [COUNT]: the kill matrix: every case COUNT times (3) at random
# moments under both proctracks, beside the same job unprofiled. A table on
# stdout; why something failed on stderr.
# Environment: CASES (all), TRACKS, PARALLEL pairs at once.
. "${top_srcdir:?}/tests/slurm/lib.sh"
. "$LIB/kill.sh"
. "$LIB/killrun.sh"

count=${1:-3}
TRACKS=${TRACKS:-linuxproc cgroup}
PARALLEL=${PARALLEL:-4}
bad=0

names() { # names PARALLEL: cases that are to run so
    kill_table | awk -v how="$1" -v only=" ${CASES:-} " \
        '$2 == how && (only ~ /^ *$/ || index(only, " " $1 " ")) { print $1 }'
}

# start CASE ID: the pair, at the same moment of its life
start() {
    local moment
    moment=$((RANDOM % 2)).$((RANDOM % 10))
    for mode in plain profiled; do
        case_start "$1.$mode.$2" kill_run "$1" $mode "$moment" "$2"
        running+=("$1.$mode.$2")
    done
}
finish() { # all that run
    local run
    for run in "${running[@]}"; do
        while [ ! -s "$WORK/$run.rc" ]; do sleep 0.2; done
        case $(cat "$WORK/$run.rc") in
        0) rm -rf "${WORK:?}/$run" ;;
        77) echo "$track $run: skipped: $(cat "$WORK/$run.err")" >&2 ;;
        *)
            echo "$track $run:" >&2
            sed 's/^/    /' "$WORK/$run.err" >&2
            echo "${run%%.*} $(echo "$run" | cut -d . -f 2) failed" >>"$WORK/rows"
            ;;
        esac
        rm -f "$WORK/$run".{rc,out,err}
    done
    running=()
    kill_aborts >>"$WORK/aborts"
    kill_revive
}

# table TRACK: a line a case
table() {
    "$PYTHON" - "$1" "$WORK/rows" <<'PY'
import collections, statistics, sys
track, path = sys.argv[1:]
cases = collections.OrderedDict()
for line in open(path):
    case, mode, *rest = line.split(None, 6)
    c = cases.setdefault(case, {"plain": [], "profiled": [], "failed": 0})
    if rest[0] == "failed":
        c["failed"] += 1
    else:
        steps, auto, hand, ms = map(int, rest[:4])
        c[mode].append((steps, auto, hand, ms, rest[4].strip()))
bad = 0
for case, c in cases.items():
    runs = c["profiled"]
    codes = {r[4] for r in c["plain"]}
    same = sum(r[4] in codes for r in runs)
    odd = sorted({r[4] for r in runs} - codes)
    late = [statistics.median(r[3] for r in c[m]) if c[m] else -1 for m in ("plain", "profiled")]
    next_ms = "-" if min(late) < 0 else f"{late[0]:.0f} / {late[1]:.0f}"
    print(f"| {case} | {track} | {len(runs)} | {sum(r[0] for r in runs)} | "
          f"{sum(r[1] for r in runs)} + {sum(r[2] for r in runs)} | {same} of {len(runs)} | "
          f"{next_ms} | {c['failed']} |")
    if odd:
        print(f"{track} {case}: {odd} is not among {sorted(codes)}", file=sys.stderr)
    bad += c["failed"] + len(runs) - same
sys.exit(bad > 0)
PY
}

echo "| case | proctrack | runs | steps | reports by themselves + by hand | exit code as unprofiled | next step ms, plain / profiled | failed |"
echo "|---|---|---|---|---|---|---|---|"
for track in $TRACKS; do
    kill_cluster "$track" || continue
    : >"$WORK/rows"
    : >"$WORK/aborts"
    running=()
    for i in $(seq "$count"); do
        for case in $(names with); do
            start "$case" "$i"
            [ ${#running[@]} -lt $((PARALLEL * 2)) ] || finish
        done
        finish
        for case in $(names alone); do
            for mode in plain profiled; do
                case_start "$case.$mode.$i" kill_run "$case" $mode 0.5 "$i"
                running+=("$case.$mode.$i")
                finish
            done
        done
        for case in $(names together); do
            start "$case" "$i"
        done
    done
    finish
    table "$track" || bad=1
    wait_for 60 kill_no_residue || { kill_residue >&2; bad=1; }
    drained=$(kill_drained)
    [ -z "$drained" ] || { echo "$drained" >&2; bad=1; }
    echo "$track: $(kill_residue | wc -l) processes, mounts and cgroups left," \
        "$(kill_drained | wc -l) nodes drained," \
        "$(sort -n "$WORK/aborts" | tail -n 1) slurmd aborted by themselves"
    stop_cluster
    rm -rf "$WORK/fault"
done
exit $bad
