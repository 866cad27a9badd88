#!/bin/bash
# soak.sh COUNT [STEPS]: what is too long for check: every way to end COUNT times (time
# limit: 3) under both proctracks, then STEPS (1,000) short steps; figures on stdout.
. "${top_srcdir:?}/tests/slurm/lib.sh"
count=${1:-20}
steps=${2:-1000}
rc=0
export TRACKS="linuxproc cgroup"
COUNT=$count PARALLEL=10 "$LIB/ends.test" || rc=1
COUNT=3 WAYS=time_limit PARALLEL=3 "$LIB/ends.test" || rc=1

# STEPS x srun -N4 true with the option: never two reports, never none. One after
# the other: slurmd 22.05.8 itself aborts (double free in munge_decode, seen with
# an empty plugstack too) when many steps start on a node at once.
start_cluster many --nodes 4 --cpus 64 || exit 1
start=$(now_ms)
for i in $(seq "$steps"); do
    mkdir "$WORK/s$i" && cd "$WORK/s$i" &&
        srun -N4 --nccl-profile=recorder true >o 2>e || echo "step $i: rc $?" >>"$WORK/bad"
done
took=$(($(now_ms) - start))
sleep 15
none=0 two=0 left=0
for i in $(seq "$steps"); do
    set -- "$WORK/s$i"/jobprof-*/step-0
    n=$(grep -c 'report written' "$1/log.txt" 2>/dev/null)
    [ -s "$1/summary.json" ] && [ "${n:-0}" -ge 1 ] || none=$((none + 1))
    [ "${n:-0}" -le 1 ] || two=$((two + 1))
    [ ! -e "$1/pending" ] && [ ! -e "$1/report.claim" ] || left=$((left + 1))
done
late=$(grep -l '"reporter": *"watcher"' "$WORK"/s*/jobprof-*/step-0/summary.json 2>/dev/null | wc -l)
echo "$steps x srun -N4 true: $none without a report, $two with two, $left with protocol files left," \
    "$late by the watcher; $took ms in all"
[ ! -s "$WORK/bad" ] || cat "$WORK/bad"
[ "$none$two$left" = 000 ] && [ ! -s "$WORK/bad" ] || rc=1
exit $rc
