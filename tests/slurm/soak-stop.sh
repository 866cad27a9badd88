#!/bin/bash
# soak-stop.sh SECONDS: alice stops what leaves her jobs' cgroups in its first
# moments and kills its parents, while she runs one short step after the other.
# Nothing of it may be left when the watchers' time is over.
. "${top_srcdir:?}/tests/slurm/lib.sh"
[ "$(id -u)" = 0 ] || { echo "soak-stop: needs root"; exit 0; }
chmod 755 "$WORK"
cat >"$WORK/jobprof.conf" <<END
nccl = { recorder = "$top_builddir/plugins/nccl_recorder/.libs/libnccl-profiler-jobprof.so"; };
policy = { watcher_life = "3s"; watcher_delay = "1s"; report_limit = "3s"; alldone_wait = "0s"; };
END
chmod 644 "$WORK/jobprof.conf"
start_cluster stop --nodes 1 --proctrack "${TRACK:-linuxproc}" --config "$WORK/jobprof.conf" || exit 1
as() { "$MC" run --name "$cluster_name" --user "$@"; }
mkdir "$WORK/home" && chown 1001 "$WORK/home" && cd "$WORK/home" || exit 1
cp "$top_builddir/tests/slurm/stopstorm" "$WORK/stopstorm" && chmod 755 "$WORK/stopstorm" || exit 1
left() { pgrep -u 1001 -f -- 'jobprof(-node)? .*(finish|--watch)' | xargs -r ps -o pid=,ppid=,pgid=,stat=,etimes=,args= -p; }
as alice -- "$WORK/stopstorm" "${1:-60}" >../one &
as alice -- "$WORK/stopstorm" "${1:-60}" >../two &
end=$((SECONDS + ${1:-60})) steps=0
while [ $SECONDS -lt $end ]; do
    as alice -- timeout 60 srun -N1 --nccl-profile=recorder true >/dev/null 2>&1 && steps=$((steps + 1))
done
wait
# watcher_life + report_limit + 30 s, then the kernel's 5 s
none() { [ -z "$(left)" ]; }
wait_for 60 none
rc=$?
echo "$steps steps; $(cat ../one ../two | paste -sd ';'); left: $([ $rc = 0 ] && echo none || { echo; left; })"
left | awk '{ print $1 }' | xargs -r kill -KILL
[ $rc = 0 ] && [ "$steps" -gt 0 ]
