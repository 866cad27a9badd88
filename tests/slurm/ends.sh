# ends.sh - the ways a step can end, each of which must leave exactly one report.
# Sourced after lib.sh. A way is a function that prints the step directory and
# the step's end (ms) and leaves the report to come.
# shellcheck shell=bash disable=SC2154 # of lib.sh

# The step runs: its recorder has written something.
step_profiled() { ls "$1"/raw/*/*.jpr >/dev/null 2>&1; }

# Each way: end_NAME JOBNAME; sets step_dir, ended_ms, and limit (s).
end_normal() {
    srun -J "$1" -N4 --ntasks-per-node=2 --nccl-profile=recorder \
        "$SIM" --iterations 20 >sim.out 2>sim.err || fail "srun failed: $(cat sim.err)" || return
    step_dir=$(echo jobprof-*/step-0)
    ended_ms=$(now_ms)
}

# starts a long step in the background; sets srun_pid, job
long_step() {
    srun -J "$1" -N4 --ntasks-per-node=2 --nccl-profile=recorder \
        "$SIM" --iterations 3000 --seconds 60 >sim.out 2>sim.err &
    srun_pid=$!
    wait_for 20 job_runs "$1" || fail "the step never started: $(cat sim.err)" || return
    job=$(job_of "$1")
    step_dir=jobprof-$job/step-0
    wait_for 20 step_profiled "$step_dir" || fail "no record: $(ls -R "$step_dir")" || return
    sleep 1
}

ended() { # ended STEP: waits for slurmctld to forget the step
    wait_for 60 step_gone "$1" || fail "step $1 does not end" || return
    ended_ms=$(now_ms)
}

end_srun_killed() {
    long_step "$1" || return
    kill -KILL "$srun_pid"
    ended "$job.0"
}

end_step_cancelled() {
    long_step "$1" || return
    scancel "$job.0"
    ended "$job.0"
}

batch_step() { # batch_step JOBNAME [sbatch options]: srun in a batch job
    local name=$1
    shift
    cat >job.sh <<END
#!/bin/bash
srun --nccl-profile=recorder "$SIM" --iterations 30000 --seconds 200
END
    job=$(sbatch --parsable -J "$name" -N4 --ntasks-per-node=2 -o batch.out "$@" job.sh) || return
    step_dir=jobprof-$job/step-0
    wait_for 30 step_profiled "$step_dir" || fail "no record: $(cat batch.out; ls -R "$step_dir")" || return
}

end_job_cancelled() {
    batch_step "$1" || return
    sleep 1
    scancel "$job"
    ended "$job.0"
}

end_time_limit() {
    batch_step "$1" -t 1 || return
    wait_for 150 step_gone "$job.0" || fail "no time limit" || return
    ended_ms=$(now_ms)
}

# srun's reporter takes the claim and is killed (see reporters_may_die)
end_reporter_died() {
    touch die
    end_normal "$1"
}

# Puts a jobprof in srun's way that dies with the claim in its hand where the
# submit directory holds a file "die"; the nodes' watcher is the real one.
reporters_may_die() {
    local live
    mkdir "$WORK/fault"
    ln -s "$top_builddir/orchestrator/jobprof-node" "$WORK/fault/jobprof-node"
    cat >"$WORK/fault/jobprof" <<END
#!/bin/bash
if [ "\$2" = --at-exit ] && [ -e "\$3/../../die" ]; then
    set -C
    echo "nowhere 1 srun 0" >"\$3/report.claim" && kill -KILL \$\$
fi
exec "$top_builddir/orchestrator/jobprof" "\$@"
END
    chmod 755 "$WORK/fault/jobprof" "$WORK"
    live=$(scontrol show config | sed -n 's/^PlugStackConfig *= *//p')
    sed -i "s#node=[^ ]*#node=$WORK/fault/jobprof-node#" "$live"
}

# One case: the way, then exactly one report in time (15 s after the step's end;
# 45 s where a reporter died).
end_case() {
    local way=$1 name=$2 limit=15
    [ "$way" != reporter_died ] || limit=45
    "end_$way" "$name" || return
    one_report "$step_dir" "$limit" "$ended_ms"
}
