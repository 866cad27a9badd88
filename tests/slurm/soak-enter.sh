#!/bin/bash
# soak-enter.sh SECONDS: two debuggers of alice's try to enter what leaves her jobs'
# cgroups, while she runs one short step after the other.
. "${top_srcdir:?}/tests/slurm/lib.sh"
[ "$(id -u)" = 0 ] || { echo "soak-enter: needs root"; exit 0; }
chmod 755 "$WORK"
start_cluster enter --nodes 1 --proctrack cgroup || exit 1
as() { "$MC" run --name "$cluster_name" --user "$@"; }
mkdir "$WORK/home" && chown 1001 "$WORK/home" && cd "$WORK/home" || exit 1
cp "$top_builddir/tests/slurm/enter" "$WORK/enter" && chmod 755 "$WORK/enter" || exit 1
as alice -- "$WORK/enter" "${1:-60}" >../one &
as alice -- "$WORK/enter" "${1:-60}" >../two &
end=$((SECONDS + ${1:-60})) steps=0
while [ $SECONDS -lt $end ]; do
    as alice -- srun -N1 --nccl-profile=recorder true >/dev/null 2>&1 && steps=$((steps + 1))
done
wait
# begin is in the job, and may be entered; what has left it may not
out=$(grep -h '^entered' ../one ../two | grep -vE 'freezer:[^ ]*/job_|0::[^ ]*/step_')
echo "$steps steps, $(cat ../one ../two | grep -h ' tries$' | xargs); entered outside of a job: ${out:-none}"
[ -z "$out" ] && [ "$steps" -gt 0 ]
