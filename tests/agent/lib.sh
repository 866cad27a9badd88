# lib.sh - fake nodes, step directories and TAP for the tests of the protocol.
#
# Sourced by tests/agent/*.test. A "node" is a process that runs
# `jobprof-node begin`, sleeps, and runs `jobprof-node finish` against a step
# directory that step_make has made; no Slurm is needed.
# shellcheck shell=bash disable=SC2034 # the tests read them

: "${top_builddir:=$(pwd)}"
. "${top_srcdir:-.}/tests/features.sh"
node_bin=${JOBPROF_NODE:-$top_builddir/orchestrator/jobprof-node}
jobprof_bin=${JOBPROF:-$top_builddir/orchestrator/jobprof}
work=$(mktemp -d "${TMPDIR:-/tmp}/jobprof-agent.XXXXXX") || exit 99
work=$(realpath "$work")
# A begin may still write the hardware of its node. A child that is killed before
# it executes its program runs this, too.
trap '[ "$BASHPID" = $$ ] || exit
    chmod -R u+rwX "$work"; rm -rf "$work" 2> /dev/null ||
    { sleep 1; rm -rf "$work"; }' EXIT
unset NCCL_PROFILER_PLUGIN SLURM_JOBPROF_HASH SLURM_HET_SIZE
count=0

ok() { # ok STATUS TEXT
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $count - $2"
    else
        echo "not ok $count - $2"
    fi
}

is() { # is GOT WANTED TEXT
    [ "$1" = "$2" ]
    local rc=$?
    ok $rc "$3"
    [ $rc -eq 0 ] || printf '# got "%s", wanted "%s"\n' "$1" "$2"
}

skip() { # skip TEXT REASON
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

# the policy of a site whose nodes run no agent: neither samples nor live state
no_agent="$(of_feature util 'util_period = 0;') hang_suspect = 0;"

done_testing() { echo "1..$count"; }

# Times of the protocol, shortened; a test may change them before step_make.
finish_ms=3000 alldone_ms=4000 report_ms=20000 stale_ms=1000
delay_ms=400 life_ms=8000 hidden=false final='' summary=line util_ms=0 known=''

# fewer N: N, a fifth under sanitizers, which look at paths, not at moments
fewer() {
    [ -z "${JP_SANITIZED:-}" ] && echo "$1" || echo $((($1 + 4) / 5))
}

step_make() { # step_make DIR: job.conf and folders, as resolve makes them
    local id=12

    [[ $1 =~ jobprof-([0-9]+)[^/]*/step- ]] && id=${BASH_REMATCH[1]}
    mkdir -p "$1/done" "$1/pending" "$1/nodes" "$1/raw"
    chmod 700 "$1"
    cat > "$1/job.conf" <<EOF
schema = 1; version = "0.1.0"; created_us = 1795251741332365L;
job = { id = ${id}L; step = "0"; restart = 0; user = "alice"; uid = 1001;
  name = "train"; account = ""; partition = "debug"; submit_dir = "/tmp";
  submit_host = "login1"; slurm = "22.05.8"; nodes = 4; tasks = 8;
  command = "./train"; };
nccl = { request = "recorder"; mode = "recorder"; explicit = ${explicit:-true};
  hidden = $hidden; final_dir = "$final"; summary = "$summary";
  known_issues = "$known"; settings = ( );
  env = ( { name = "NCCL_PROFILER_PLUGIN";
            value = "${plugin:-libnccl-profiler-jobprof.so}"; soft = true; },
          { name = "JOBPROF_RECORDER_DIR"; value = "$1/raw/%N"; soft = false; }
  ); };
copper = { request = "off"; settings = ( ); };
policy = { finish_limit_ms = $finish_ms; alldone_wait_ms = $alldone_ms;
  report_limit_ms = $report_ms; report_threads = 1; report_nice = 0;
  claim_stale_ms = $stale_ms; watcher_delay_ms = $delay_ms;
  watcher_life_ms = $life_ms; util_period_ms = $util_ms; hang_suspect_ms = 0;
  util_disk_mib = 64; };
EOF
    echo "login1 1 1795251741332365" > "$1/owner"
}

begin() { # begin DIR K N: node nK of N joins
    SLURM_STEP_NODELIST="n[0-$(($3 - 1))]" SLURM_STEP_NUM_NODES=$3 \
        SLURM_STEP_NUM_TASKS=$3 SLURM_STEP_TASKS_PER_NODE="1(x$3)" \
        "$node_bin" begin --dir "$1" --node "n$2" --nodeid "$2" \
        --component 12 --nodes "$3"
}

finish() { # finish DIR K N [STATUS]
    echo "$2 0 $((1000 + $2)) ${4:-0}" |
        "$node_bin" finish --dir "$1" --node "n$2" --nodeid "$2" \
            --component 12 --nodes "$3"
}

# Records of one rank of two, as the recorder writes them.
record() { # record DIR NODE RANK OPS
    local i
    for ((i = 1; i <= $4; i++)); do
        printf '%s' '{"header":{"id":"0xabc","rank":'"$3"',"n_ranks":2,' \
            '"nnodes":2},"metadata":{"inspector_output_format_version":"v4.0",' \
            '"git_rev":"","rec_mechanism":"jobprof_recorder",' \
            '"dump_timestamp_us":'$((1711929600000000 + i * 1000))',' \
            '"hostname":"n'"$3"'","pid":'$((1000 + $3))'},' \
            '"coll_perf":{"coll":"AllReduce","coll_sn":'$((i - 1))',' \
            '"coll_msg_size_bytes":1048576,"coll_exec_time_us":100,' \
            '"coll_timing_source":"kernel_gpu","coll_algobw_gbs":10.0,' \
            '"coll_busbw_gbs":10.0}}'
        echo
    done > "$1/raw/$2/$2-pid$((1000 + $3)).log"
}

wait_for() { # wait_for SECONDS COMMAND...: polls until the command succeeds;
    # five times as long where the machine is busy
    local end=$(($(date +%s%N) + 5 * $1 * 1000000000))
    shift
    until "$@"; do
        [ "$(date +%s%N)" -lt $end ] || return 1
        sleep 0.05
    done
}

# begun DIR NODE: what `begin` does beside the tasks is done
begun() { [ -s "$1/nodes/$2/hardware.json" ] && [ ! -e "$1/nodes/$2/topology.lock" ]; }
has_report() { [ -e "$1/summary.json" ] && [ ! -e "$1/done" ]; }
reports() { grep -c 'report written' "$1/log.txt" 2> /dev/null; }
