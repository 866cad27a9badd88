# kill.sh - what can happen to a job: the cases of the kill matrix.
# Sourced after lib.sh. A case is a function that runs a job with the srun
# options in $opt (none: unprofiled) under the job name $name and sets
#   code    what the user sees of its end: exit statuses, job states
#   dirs    the step directories that a profiled run has
#   early   yes: the event may come before there is a step directory
#   hand    yes: no report need come by itself, `jobprof report` makes it
#   next_ms from the event to the end of a next step that needs the same CPUs
# The event comes after $moment seconds: of the step, which may have no task yet, or
# with $ready of its tasks.
# shellcheck shell=bash disable=SC2034,SC2154 # shared with lib.sh and the tests

# CASE PARALLEL QUICK FUNCTION [ARGUMENTS]: alone: nothing else runs meanwhile;
# quick: for check, too; together: all at once, for they take a minute
kill_table() {
    cat <<'TABLE'
normal             with  quick step_case true
srun_SIGKILL       with  quick step_case 'kill -KILL $srun'
srun_SIGTERM       with  quick step_case 'kill -TERM $srun'
srun_SIGINT        with  quick step_case ctrl_c 300
step_cancelled     with  -     step_case 'scancel $job.0'
step_killed        with  quick step_case 'scancel -s KILL $job.0'
job_cancelled      with  quick step_case 'scancel $job'
stubborn_task      with  quick stubborn_case
batch_cancelled    with  -     batch_case 'scancel $job'
batch_killed       with  quick batch_case 'scancel -s KILL -f $job'
requeued           with  -     requeue_case
time_limit         together - batch_case true -t 1
stepd_killed       with  -     step_case kill_stepd
stepd_srun_killed  with  -     step_case 'kill_stepd srun'
slurmd_stopped     alone -     slurmd_case
slurmd_restarted   alone -     slurmd_case again
node_rebooted      alone -     slurmd_case reboot
begin_killed       with  -     fault_case begin kill
finish_killed      with  quick fault_case finish kill
report_killed      with  -     fault_case report kill
claim_left         with  quick fault_case report claim
watcher_killed     with  quick step_case kill_watcher
short_step         with  -     short_case
back_to_back       with  -     many_case 8 next
fifty_at_once      alone -     many_case 50 once
overlap            with  quick overlap_case
het_group          with  -     het_case group
het_colon          with  quick het_case colon
in_salloc          with  -     salloc_case
exclusive          with  -     exclusive_case
broadcast          with  -     broadcast_case
pty                with  quick pty_case
mpirun             with  -     mpirun_case
array              with  quick array_case
epilog             alone -     epilog_case
epilog_srun_killed alone -     epilog_case kill
TABLE
}

# --- building blocks -----------------------------------------------------------
# Rank 1 is late in each of them: whatever else happens, it is named (kill_named). The
# ranks wait for each other, as those of NCCL do: on a busy machine, a rank that the machine
# holds up holds the others up as well, and is no other rank's lateness. One function on one
# communicator: 30 operations are then 30 that can be compared.
sim() { # sim ITERATIONS SECONDS [PROGRAM]
    echo "${3:-$SIM} --iterations $1 --seconds $2 --comms 1 --colls 1 --meet --fault late-rank=1:2000"
}
where=(-N4 -w 'n[1-4]' --ntasks-per-node=2)

allocate() { # allocate [OPTION...]: sets job
    salloc --no-shell -J "$name" "$@" 2>salloc.err || fail "salloc: $(cat salloc.err)" || return
    job=$(sed -n 's/.*Granted job allocation \([0-9]*\)/\1/p' salloc.err)
}

# A next step needs all CPUs of the allocation.
next_step() { # next_step SINCE_MS
    timeout 90 srun --jobid="$job" -N4 -n8 true 2>next.err || fail "next step: $(cat next.err)" || return
    next_ms=$(($(now_ms) - $1))
}
release() { scancel "$job" 2>/dev/null; wait_for 60 job_gone "$job"; }

step_begun() { step_running "$1" || ! kill -0 "$2" 2>/dev/null; }
process_gone() { ! kill -0 "$1" 2>/dev/null; }
# end_of PID: adds its exit status, or that it had to be killed, to code
end_of() {
    local rc
    if wait_for 120 process_gone "$1"; then
        wait "$1"
        rc=$?
    else
        kill -KILL "$1"
        rc=hung
    fi
    code=$code,$rc
}

# start_step COMMAND...: in $job; sets srun, dirs
start_step() {
    # shellcheck disable=SC2086 # a list
    env --default-signal=INT srun --jobid="$job" -N4 -n8 $opt "$@" >out 2>err &
    srun=$!
    dirs=("jobprof-$job/step-0")
    wait_for 60 step_begun "$job.0" $srun || fail "no step: $(cat err)"
}

# --- a step in an allocation, and an event ----------------------------------------
step_case() { # step_case EVENT [SECONDS]: of a program that needs 3 s
    local since seconds=${2:-3}
    hand=
    allocate "${where[@]}" || return
    start_step bash -c "echo ready; exec $(sim $((seconds * 40)) "$seconds")" || return
    [ -z "${ready:-}" ] || wait_for 60 tasks_ready || fail "no tasks: $(cat err)" || return
    sleep "$moment"
    since=$(now_ms)
    [ "$1" = true ] || early=yes
    eval "$1"
    case $1 in
    'scancel $job' | kill_stepd*) ;; # the allocation ends, too
    *) next_step "$since" || return ;;
    esac
    end_of $srun
    release
}

tasks_ready() { [ "$(grep -c '^ready$' out)" = 8 ] || process_gone "$srun"; }

# Two within a second end a step. On a busy machine srun may see them further apart, and
# waits for two others. One that has understood ends within KillWait + 2 s.
ctrl_c() {
    two_interrupts
    (trap - EXIT; until wait_for 15 process_gone "$srun"; do two_interrupts; done) &
}
two_interrupts() {
    kill -INT "$srun"
    sleep 0.3
    kill -INT "$srun"
}

# An operation each 10 ms, as in the other cases: a rank that is late by more than an operation
# has time for leaves the others' calls further and further ahead of it. Their GPU never catches
# up, nothing proves the times of its operations (rec_comm.h), and SIGKILL leaves it so.
stubborn_case() {
    hand=
    allocate "${where[@]}" || return
    # SIGKILL leaves the operations that the calls are ahead of the GPU, and on a busy machine
    # that would be most of them
    start_step bash -c "trap '' TERM; echo ready; $(sim 30000 300) --sync" || return
    wait_for 60 grep -q ready out || fail "no task: $(cat err)" || return
    sleep "$moment"
    scancel "$job"
    end_of $srun
    release
}

# One node's slurmstepd dies, its tasks go on; srun waits until the job ends.
kill_stepd() { # kill_stepd [srun]
    local pids pid
    echo "$job" >>"$WORK/stepd_killed"
    mapfile -t pids < <(pgrep -f "^slurmstepd: \[$job\.0\]")
    [ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[RANDOM % ${#pids[@]}]}"
    if [ "${1:-}" = srun ]; then
        # no node is the last one out, and nobody waits for it
        hand=yes
        kill -KILL "$srun"
    fi
    sleep 3
    scancel "$job"
    wait_for 60 job_gone "$job"
    # the dead one's tasks go on: they wait for the others, and their recordings grow
    for pid in $(pgrep ncclsim); do
        ! grep -qzx "SLURM_JOB_ID=$job" "/proc/$pid/environ" 2>/dev/null || kill -KILL "$pid"
    done
}

# Nobody is left to report.
kill_watcher() {
    local dir=$PWD/${dirs[0]}
    kill -KILL "$srun"
    hand=yes
    [ -n "$opt" ] || return 0
    wait_for 30 pgrep -f "report --watch $dir" &&
        pkill -KILL -f "report --watch $dir"
}

# --- helpers that fail --------------------------------------------------------------
fault_case() { # fault_case VERB ACTION: after $moment/10 of its life, on one node
    JOBPROF_FAULT="$1 $2 $(awk "BEGIN { print $moment / 20 }") n$((RANDOM % 4 + 1))"
    export JOBPROF_FAULT
    step_case true
    unset JOBPROF_FAULT
}

# A jobprof-node that does what JOBPROF_FAULT="VERB ACTION SECONDS NODE" says,
# and a jobprof (verb report, no node).
faults_may_happen() {
    mkdir "$WORK/fault"
    for program in jobprof-node jobprof; do
        cat >"$WORK/fault/$program" <<END
#!/bin/bash
read -r verb action seconds node <<<"\$JOBPROF_FAULT"
case "\$1 \$2" in "resolve --check") set -- check "\${@:2}" ;; esac
mine=no
if [ "\$verb" = "\$1" ]; then
    case "\$*" in *" --node \$node "* | report* | resolve* | check*) mine=yes ;; esac
fi
[ "\$1" != check ] || set -- resolve "\${@:2}"
case \$mine,\$action in
yes,kill) (sleep "\$seconds"; kill -KILL \$\$) >/dev/null 2>&1 & ;;
yes,claim) echo "nowhere 1 srun 0" >"\$3/report.claim" && kill -KILL \$\$ ;;
yes,hang) trap '' TERM; sleep 60; exit 0 ;;
yes,crash) kill -SEGV \$\$ ;;
yes,garbage) head -c 200000 /dev/urandom; head -c 1000 /dev/urandom >&2; exit 0 ;;
esac
exec "$top_builddir/orchestrator/$program" "\$@"
END
    done
    chmod 755 "$WORK" "$WORK/fault" "$WORK"/fault/*
    sed -i "s#node=[^ ]*#node=$WORK/fault/jobprof-node#" \
        "$(scontrol show config | sed -n 's/^PlugStackConfig *= *//p')"
}

# --- batch jobs -----------------------------------------------------------------------
job_state() { # "STATE EXIT:SIGNAL" as slurmctld keeps it
    scontrol show job "$1" | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p;s/.*ExitCode=\([0-9:]*\).*/\1/p' | xargs
}

submit() { # submit SCRIPT-LINE [OPTION...]: sets job
    printf '#!/bin/bash\n%s\n' "$1" >job.sh
    shift
    job=$(sbatch --parsable -J "$name" -o batch.out "$@" job.sh) || fail "sbatch" || return
    dirs=("jobprof-$job/step-0")
}

batch_case() { # batch_case EVENT [OPTION...]
    local event=$1
    shift
    hand=
    submit "srun $opt $(sim 30000 300)" "${where[@]}" "$@" || return
    wait_for 60 step_running "$job.0" || fail "no step: $(cat batch.out)" || return
    sleep "$moment"
    [ "$event" = true ] || early=yes
    eval "$event"
    wait_for 150 job_gone "$job" || fail "job $job does not end" || return
    code=$(job_state "$job")
}

# The second run is short; the first has a report of its own.
requeue_case() {
    hand=
    submit "[ -n \"\$SLURM_RESTART_COUNT\" ] && exec srun $opt $(sim 20 0)
srun $opt $(sim 30000 300) >out" "${where[@]}" --requeue || return
    wait_for 60 step_running "$job.0" || fail "no step: $(cat batch.out)" || return
    sleep "$moment"
    scontrol requeue "$job" || return
    # it may start again after two minutes, or when it is told. Not in the second
    # of the first run's end: to slurmd 22.05 its credential is revoked then, and
    # the job fails without a second run ("already killed, do not launch")
    wait_for 60 is_pending "$job" && wait_for 60 no_stepd "$job" || fail "not requeued: $(job_state "$job")" || return
    sleep 1.1
    scontrol update JobId="$job" StartTime=now
    wait_for 200 job_gone "$job" || fail "job $job does not end" || return
    code=$(job_state "$job")
    [ "$code" = "COMPLETED 0:0" ] || fail "requeued: $code $(cat batch.out)" || return
    dirs=("jobprof-${job}_r1/step-0")
    # the event may come before srun has made the first one
    [ ! -d "jobprof-$job" ] && ! grep -qs ncclsim: out || dirs+=("jobprof-$job/step-0")
}
no_stepd() { ! pgrep -f "^slurmstepd: \[$1\." >/dev/null; }
is_pending() { [ "$(squeue -h -j "$1" -t PD -o %i)" = "$1" ]; }

array_case() {
    local t
    hand=
    submit "srun $opt $(sim 20 0); exit \$SLURM_ARRAY_TASK_ID" -N1 -n2 --array=0-3 || return
    code='' dirs=()
    for t in 0 1 2 3; do
        wait_for 120 job_gone "${job}_$t" || fail "array $job does not end" || return
        code="$code,$(job_state "${job}_$t")"
        t=$(scontrol show job "${job}_$t" | sed -n 's/^JobId=\([0-9]*\).*/\1/p')
        dirs+=("jobprof-$t/step-0")
    done
}

mpirun_case() {
    hand=
    command -v mpirun >/dev/null || { echo "no mpirun (openmpi-bin)" >&2; return 77; }
    # the host of mpirun has its ranks in the batch step, which is not profiled
    submit 'export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun -n 8 sh -c '"'exec $SIM --iterations 60 --comms 1 --colls 1 --seed 7 --fault late-rank=1:2000 --rank \$OMPI_COMM_WORLD_RANK --nranks 8 --ranks-per-node 2'" \
        "${where[@]}" ${opt:+"$opt"} || return
    wait_for 120 job_gone "$job" || fail "job $job does not end" || return
    code=$(job_state "$job")
    [ "$code" = "COMPLETED 0:0" ] || fail "mpirun: $code $(cat batch.out)"
}

# --- shapes of steps -------------------------------------------------------------------
short_case() {
    hand=
    # shellcheck disable=SC2086 # a list
    srun -J "$name" "${where[@]}" $opt sh -c 'exit 7' >out 2>err
    code=$?
    dirs=(jobprof-*/step-0)
}

many_case() { # many_case N once|next
    local i pids=() since
    hand='' code='' dirs=()
    allocate -N4 -w 'n[1-4]' --ntasks-per-node=2 -n8 || return
    since=$(now_ms)
    for ((i = 0; i < $1; i++)); do
        # shellcheck disable=SC2086 # a list
        if [ "$2" = once ]; then
            srun --jobid="$job" --overlap -N1 -n1 $opt sh -c 'exit 5' >"o$i" 2>"e$i" &
            pids+=($!)
            sleep 0.1 # slurmd 22.05 aborts otherwise, also with an empty plugstack
        else
            srun --jobid="$job" -N4 -n8 $opt sh -c 'exit 5' >"o$i" 2>"e$i"
            code="$code,$?"
        fi
        dirs+=("jobprof-$job/step-$i")
    done
    for i in "${pids[@]}"; do
        end_of "$i"
    done
    next_step "$since" || return
    release
}

overlap_case() {
    local pids=() i
    hand='' dirs=() code=
    allocate "${where[@]}" || return
    for i in 0 1; do
        # shellcheck disable=SC2046,SC2086 # a list
        srun --jobid="$job" --overlap -N4 -n8 $opt $(sim 50 2) >"o$i" 2>"e$i" &
        pids+=($!)
        dirs+=("jobprof-$job/step-$i")
    done
    for i in "${pids[@]}"; do
        end_of "$i"
    done
    release
}

het_case() { # het_case group|colon
    local run
    hand=
    run="$(sim 20 1)"
    # shellcheck disable=SC2086 # a list
    if [ "$1" = colon ]; then
        srun -J "$name" $opt -N1 -n2 $run : -N2 -n2 $run >out 2>err
        code=$?
    else
        cat >het.sh <<END
srun --het-group=0,1 $opt $run >out 2>err
END
        salloc -J "$name" -N1 -n2 : -N2 -n2 bash het.sh 2>salloc.err
        code=$?
    fi
    dirs=(jobprof-*/step-0)
}

pty_case() {
    hand=
    command -v script >/dev/null || { echo "no script (bsdutils)" >&2; return 77; }
    script -qec "srun -J $name --pty -N1 -n1 $opt $(sim 20 1)" /dev/null >out 2>err </dev/null
    code=$?
    dirs=(jobprof-*/step-0)
}

# srun as salloc's command: two steps, the second has another exit code
salloc_case() {
    hand=
    cat >steps.sh <<END
srun -N4 -n8 $opt $(sim 20 1) >o1 2>e1
srun -N2 -n2 $opt sh -c 'exit 3' >o2 2>e2
END
    salloc -J "$name" "${where[@]}" bash steps.sh 2>salloc.err
    code=$?
    job=$(sed -n 's/.*Granted job allocation \([0-9]*\)/\1/p' salloc.err)
    dirs=("jobprof-$job/step-0" "jobprof-$job/step-1")
}

# Steps that wait for each other's CPUs.
exclusive_case() {
    local pids=() i
    hand='' dirs=() code=
    allocate -N1 -n2 || return
    for i in 0 1 2 3 4 5; do
        # shellcheck disable=SC2046,SC2086 # a list
        srun --jobid="$job" --exclusive -n1 $opt $(sim 20 0.2) >"o$i" 2>"e$i" &
        pids+=($!)
        dirs+=("jobprof-$job/step-$i")
        sleep 0.1
    done
    for i in "${pids[@]}"; do
        end_of "$i"
    done
    release
}

# The program is on the nodes only since sbcast has put it there.
broadcast_case() {
    hand=
    submit "sbcast -f $SIM $PWD/copied && srun $opt $(sim 20 1 "$PWD/copied")" "${where[@]}" || return
    wait_for 120 job_gone "$job" || fail "job $job does not end" || return
    code=$(job_state "$job")
    [ "$code" = "COMPLETED 0:0" ] || fail "sbcast: $code $(cat batch.out)"
}

# n5 is this case's own.
slurmd_case() { # slurmd_case [again|reboot]
    local id
    hand=
    # shellcheck disable=SC2046,SC2086 # a list
    srun -J "$name" -N2 -w 'n[4-5]' --ntasks-per-node=2 $opt $(sim 200 4) >out 2>err &
    srun=$!
    wait_for 30 job_runs "$name" || fail "no step: $(cat err)" || return
    job=$(job_of "$name")
    dirs=("jobprof-$job/step-0")
    sleep "$moment"
    kill -TERM "$("$MC" nodepid 5 --name "$cluster_name")"
    if [ "${1:-}" = reboot ]; then # all that runs there is gone at once
        id=$(sed -n 's/^mc_id=//p' "$(dirname "$SLURM_CONF")/../cluster")
        # shellcheck disable=SC2046 # a list
        kill -KILL $(grep -l "/n5/boot_id.$id" /proc/[0-9]*/mountinfo 2>/dev/null | cut -d / -f 3)
        echo "$job" >>"$WORK/stepd_killed"
        sleep 1
        "$MC" start-node 5 --name "$cluster_name" || fail "no slurmd" || return
        # Slurm may take long to miss the step there
        wait_for 5 process_gone $srun || scancel "$job"
    elif [ "${1:-}" = again ]; then
        sleep 0.5
        "$MC" start-node 5 --name "$cluster_name" || fail "no slurmd" || return
    fi
    end_of $srun
    [ -n "${1:-}" ] || { sleep 1; "$MC" start-node 5 --name "$cluster_name" || fail "no slurmd"; }
}

# A user's job whose site ends all of his processes on the node with it.
epilog_case() { # epilog_case [kill]
    hand=
    [ "$(id -u)" = 0 ] || { echo "needs root" >&2; return 77; }
    mkdir home && chown 1001 home || return
    # shellcheck disable=SC2046,SC2086 # a list
    (cd home && exec "$MC" run --name "$cluster_name" --user alice -- \
        srun -J "$name" "${where[@]}" $opt $(sim 200 3)) >out 2>err &
    srun=$!
    wait_for 60 job_runs "$name" || fail "no step: $(cat err)" || return
    job=$(job_of "$name")
    dirs=("home/jobprof-$job/step-0")
    sleep "$moment"
    if [ "${1:-}" = kill ]; then
        early=yes hand=yes
        kill -KILL "$(pgrep -o -f "^srun -J $name ")"
    fi
    end_of $srun
    wait_for 60 job_gone "$job"
}

# All of the user's processes in the node's namespace.
site_epilog() {
    cat >"$WORK/epilog.sh" <<'END'
#!/bin/bash
PATH=/usr/bin:/bin
[ "$SLURM_JOB_UID" != 0 ] || exit 0
for pid in $(pgrep -u "$SLURM_JOB_UID"); do
    [ "$(readlink "/proc/$pid/ns/uts")" != "$(readlink /proc/self/ns/uts)" ] || kill -KILL "$pid"
done
exit 0
END
    chmod 755 "$WORK/epilog.sh" "$WORK"
}
