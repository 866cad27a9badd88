# killrun.sh - run cases of the kill matrix, with and without profiling.
# Sourced after lib.sh and kill.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # shared with kill.sh

# One run of a case. Leaves "CASE MODE CODE" and, profiled, what became of the
# reports, in $WORK/rows; fails with a reason.
kill_run() { # kill_run CASE profiled|plain MOMENT ID
    local case=$1 mode=$2 moment=$3 rc made
    local name=$1.$2.$4 opt='' code='' dirs=() hand='' early='' next_ms=-1 job='' srun=''
    [ "$mode" = plain ] || opt=--nccl-profile=recorder
    eval "set -- $(kill_table | sed -n "s/^$case  *[a-z]*  *[-a-z]*  *//p")"
    "$@"
    rc=$?
    [ $rc = 0 ] || return $rc
    if [ "$mode" = plain ]; then
        made="0 0 0"
    else
        made=$(kill_reports) || return
    fi
    echo "$case $mode $made $next_ms $code" >>"$WORK/rows"
}

# "STEPS BY-ITSELF BY-HAND" of $dirs: exactly one report each.
kill_reports() {
    local dir auto=0 by_hand=0
    for dir in "${dirs[@]}"; do
        if [ ! -d "$dir" ]; then
            # the event may come before srun has made it
            [ "$early" = yes ] && ! grep -qs ncclsim: out batch.out ||
                fail "no $dir: $(cat err batch.out e0 2>/dev/null)" || return
            continue
        fi
        if wait_for "$(kill_patience "$dir")" kill_reported "$dir"; then
            auto=$((auto + 1))
        else
            [ "$hand" = yes ] || [ "$(kill_entered "$dir")" != all ] ||
                { fail "no report in $dir"; why_none "$dir"; } || return
            kill_as_owner "$dir" "$JOBPROF" report "$PWD/$dir" >hand.out 2>&1
            case $? in 0 | 3 | 4) ;; *) fail "by hand: $(cat hand.out)" || return ;; esac
            by_hand=$((by_hand + 1))
        fi
        kill_written "$dir" && kill_named "$dir" || return
    done
    echo "${#dirs[@]} $auto $by_hand"
}
# A report is for its owner to make: ours, or alice's (epilog_case).
kill_as_owner() { # kill_as_owner PATH COMMAND...
    local path=$1
    shift
    if [ -O "$path" ]; then
        "$@"
    else
        "$MC" run --name "$cluster_name" --user alice -- "$@"
    fi
}
kill_reported() { [ -s "$1/summary.json" ] && [ ! -e "$1/done" ]; }
# Did every node come in?
kill_entered() {
    "$PYTHON" - "$1" <<'PY'
import glob, json, sys
nodes = [json.load(open(f)) for f in glob.glob(sys.argv[1] + "/nodes/*/node.json")]
want = max([n["step_nodes"] for n in nodes], default=1)
done = len(glob.glob(sys.argv[1] + "/done/*"))
print("all" if len(nodes) >= want and done >= want else f"{len(nodes)} of {want}, {done} left")
PY
}
# A stale claim is 20 s old, a watcher comes after 10 s, srun waits for 15 s.
kill_patience() { if [ "$hand" = yes ]; then echo 15; else echo 60; fi; }

# Written once (twice where the writer of the first was killed right behind it),
# nothing half-made beside it, and the figures are those of raw/.
kill_written() { # kill_written STEPDIR
    local n left
    n=$(grep -c 'report written' "$1/log.txt")
    [ "$n" = 1 ] || { [ "$case" = report_killed ] && [ "$n" = 2 ]; } ||
        fail "$1: $n reports instead of one: $(cat "$1/log.txt")" || return
    wait_for 60 kill_clean "$1" || fail "$1: left: $(kill_left "$1" | xargs)" || return
    same_figures "$1"
}

# However the step ended: no other rank is called late, and if 30 operations of a communicator
# with the late rank are complete, that rank is named. Stalls of others are true ones: a busy
# machine holds them up, and the others wait for them.
kill_named() { # kill_named STEPDIR
    "$PYTHON" - "$1" <<'PY' >&2
import csv, json, sys
step = sys.argv[1]
d = json.load(open(step + "/summary.json"))
comms = {c["id"]: c for c in csv.DictReader(open(step + "/csv/comms.csv"))}
ranks = list(csv.DictReader(open(step + "/csv/ranks.csv")))
# the simulator's communicator has the job's ranks
mine = [r["comm"] for r in ranks if r["rank"] == "1"]
most = max([int(comms[c]["ops_complete"]) for c in mine if int(comms[c]["n_ranks"]) > 1], default=0)
late = [f for f in d["findings"] if f["kind"] in ("late_rank", "stall", "late_node", "long_wait")]
named = [f for f in late if f.get("world_rank") == 1]
other = [f["text"] for f in late if f["kind"].startswith("late") and f.get("world_rank") not in (1, None)]
if other:
    sys.exit(f"{step}: somebody else is named: {other}")
if most >= 30 and not named:
    sys.exit(f"{step}: {most} operations, and rank 1 is not named: {d['verdict']['word']} {d['verdict']['text']}")
PY
}
kill_left() {
    for left in owner pending 'done' alldone run report.claim; do
        [ ! -e "$1/$left" ] || echo "$left"
    done
    find "$1" -name '*.tmp.*' -o -name '*.stale.*' -o -name 'report.probe.*'
}
kill_clean() { [ -z "$(kill_left "$1")" ]; }

# --- the cluster afterwards --------------------------------------------------------
# Processes of ours that work for a step of this test, and what the nodes keep of
# ours: mounts, folders of ended jobs in their cgroups.
kill_processes() { pgrep -af "jobprof(-node)? .*$WORK/|$WORK/fault/"; }
kill_mounts() { # of all nodes
    local pid
    for pid in $(seq "$KILL_NODES"); do
        pid=$("$MC" nodepid "$pid" --name "$cluster_name") &&
            grep -E "jobprof-copper|$WORK" "/proc/$pid/mountinfo"
    done
}
# A slurmstepd that was killed leaves the folders of its job, with or without us:
# these count where a process is in them.
kill_cgroups() {
    local id dir job
    id=$(sed -n 's/^mc_id=//p' "$(dirname "$SLURM_CONF")/../cluster")
    find "/sys/fs/cgroup/freezer/jobprof-mc-$id" "/sys/fs/cgroup/jobprof-mc-$id" \
        -type d -name 'job_*' 2>/dev/null |
        while read -r dir; do
            job=${dir##*/job_}
            if ! grep -qsx "$job" "$WORK/stepd_killed" ||
                [ -n "$(find "$dir" -name cgroup.procs -exec cat {} +)" ]; then
                echo "$dir"
            fi
        done
}
kill_residue() { kill_processes; kill_mounts; kill_cgroups; }
kill_no_residue() { [ -z "$(kill_residue)" ]; }
kill_drained() { sinfo -h -N -t drain,draining,drained -o '%N %E'; }
# slurmd 22.05.8's own: double free in munge_decode (docs/dev/measurements.md)
kill_aborts() {
    grep -alE 'double free|corruption|free\(\): invalid|munmap_chunk' \
        "$(dirname "$SLURM_CONF")"/../log/n*.out 2>/dev/null | wc -l
}
kill_revive() { # nodes whose slurmd has aborted start again
    local k
    for k in $(seq "$KILL_NODES"); do
        "$MC" nodepid "$k" --name "$cluster_name" >/dev/null 2>&1 ||
            "$MC" start-node "$k" --name "$cluster_name" >/dev/null 2>&1
    done
}
KILL_NODES=5
kill_cluster() { # kill_cluster TRACK
    site_epilog
    start_cluster "kill-$1" --nodes $KILL_NODES --cpus 64 --proctrack "$1" --kill-wait 6 \
        --set UnkillableStepTimeout=20 \
        --set Epilog="$WORK/epilog.sh" "${@:2}" || return
    faults_may_happen
}
