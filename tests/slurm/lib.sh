# lib.sh - what the tests on a real Slurm share: cluster, TAP, waiting, checks.
# Sourced by bash. Needs top_srcdir and top_builddir.
# shellcheck shell=bash disable=SC2034 # the tests read them
set -u
: "${top_srcdir:?}" "${top_builddir:?}"
MC=$top_srcdir/contrib/minicluster
SIM=$top_builddir/contrib/ncclsim/ncclsim
JOBPROF=$top_builddir/orchestrator/jobprof
LIB=$top_srcdir/tests/slurm
PYTHON=${PYTHON:-/usr/bin/python3}
# the tasks' environment is looked at for our names
unset "${!SLURM_@}" "${!JOBPROF_@}" "${!NCCL_@}"

WORK=$(mktemp -d "${TMPDIR:-/tmp}/jpt.XXXXXX") || exit 99
cluster_name=

cleanup() {
    [ -z "$cluster_name" ] || "$MC" stop --name "$cluster_name" >/dev/null 2>&1
    if [ -n "${KEEP_WORK:-}" ]; then
        echo "# kept $WORK"
    else
        rm -rf "$WORK"
    fi
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# start_cluster NAME [minicluster options]: sets SLURM_CONF for what follows.
# Suites run side by side: processes are looked for by their job's number, which
# no other cluster has.
start_cluster() {
    cluster_name=$1-$$
    shift
    "$MC" start --name "$cluster_name" --build "$top_builddir" \
        --set "FirstJobId=$(($$ % 40000 * 100 + 1))" "$@" \
        >"$WORK/mc.log" 2>&1 || {
        sed 's/^/# /' "$WORK/mc.log"
        cluster_name=
        return 1
    }
    local lines
    lines=$("$MC" env --name "$cluster_name") || return
    eval "$lines"
    unset JOBPROF_MINICLUSTER
}

stop_cluster() {
    [ -z "$cluster_name" ] || "$MC" stop --name "$cluster_name" >/dev/null 2>&1
    cluster_name=
}

# --- a case: a function that returns 0, or says why and returns 1 -----------
fail() { # fail TEXT...: say it, and end the case
    echo "$*" >&2
    return 1
}

# case_start NAME FUNCTION [ARG...]: runs it in a folder and a process of its own.
cases=()
case_start() {
    local name=$1
    shift
    cases+=("$name")
    mkdir -p "$WORK/$name"
    (
        trap - EXIT
        cd "$WORK/$name" || exit 1
        "$@" >"$WORK/$name.out" 2>"$WORK/$name.err"
        echo $? >"$WORK/$name.rc"
    ) &
    # slurmd 22.05 may abort when many steps start on a node at the same moment
    # (docs/dev/measurements.md)
    sleep 0.7
}

# case_report NAME DESCRIPTION: waits for the case and prints its TAP line.
tap_n=0
tap_failed=0
case_report() {
    local name=$1 rc
    while [ ! -s "$WORK/$name.rc" ]; do sleep 0.1; done
    rc=$(cat "$WORK/$name.rc")
    tap_line "$rc" "$2" "$WORK/$name.err"
    sed 's/^/# /' "$WORK/$name.out"
}

head_and_tail() { # head_and_tail FILE: the reason stands first, logs at the end
    if [ "$(wc -l <"$1")" -le 60 ]; then
        cat "$1"
    else
        head -n 20 "$1" && echo ... && tail -n 40 "$1"
    fi
}

tap_line() { # tap_line RC DESCRIPTION FILE: 77 is a skip
    tap_n=$((tap_n + 1))
    case $1 in
    0) echo "ok $tap_n - $2" ;;
    77)
        echo "ok $tap_n - $2 # SKIP $(head -n 1 "$3")"
        ;;
    *)
        echo "not ok $tap_n - $2"
        head_and_tail "$3" | sed 's/^/# /'
        tap_failed=$((tap_failed + 1))
        ;;
    esac
}

tap_end() {
    echo "1..$tap_n"
    [ "$tap_failed" -eq 0 ]
}

# --- waiting ---------------------------------------------------------------
now_ms() { date +%s%3N; }

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
    local end=$(($(now_ms) + $1 * 1000))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$(now_ms)" -lt "$end" ] || return 1
        sleep 0.1
    done
}

# interrupt SRUN: Ctrl-C until it ends: two within a second do, but a busy machine may
# take them for one. Its exit status.
interrupt() {
    local i
    for ((i = 0; i < 200; i++)); do
        kill -INT "$1" 2>/dev/null || break
        sleep 0.5
    done
    wait "$1"
}

# step_running JOB.STEP; step_gone JOB.STEP: as slurmctld sees it
step_running() { squeue -h -s "$1" -o %i 2>/dev/null | grep -q .; }
step_gone() { ! step_running "$1"; }
job_gone() {
    local state
    state=$(squeue -h -j "$1" -t all -o %T 2>/dev/null | head -n 1)
    case $state in '' | COMPLETED | CANCELLED | FAILED | TIMEOUT | NODE_FAIL) ;;
    *) return 1 ;; esac
}

# job_of NAME: id of the running job with that name
job_of() { squeue -h -n "$1" -t R -o %i 2>/dev/null | head -n 1; }
job_runs() { [ -n "$(job_of "$1")" ]; }

# So many programs want the processors that a process of the test gets a fifth of one at most:
# ranks stop for long, and what they compute does not show in samples.
is_busy() { [ "$(cut -d. -f1 /proc/loadavg)" -ge $((5 * $(nproc))) ]; }

# --- checks ----------------------------------------------------------------
# why_none STEPDIR: what is there instead, and what the nodes' daemons said; fails.
why_none() {
    local dir=$1 job
    job=$(echo "$dir" | sed 's#.*jobprof-\([0-9]*\).*#\1#')
    (cd "$dir" && find . -maxdepth 2 ! -path './csv*' | sort | tr '\n' ' '; echo
        cat log.txt report.claim) >&2 2>/dev/null
    for log in "$(dirname "$SLURM_CONF")"/../log/*; do
        grep -aE "\[$job\.|JobId=$job |corruption|double free|Abort|jobprof" "$log" |
            tail -n 8 | sed "s#^#$(basename "$log"): #"
    done >&2
    return 1
}

# one_report STEPDIR [SECONDS SINCE_MS]: a report, written once, in time, with no
# protocol file left and the figures of `jobprof aggregate` over raw/.
one_report() {
    local dir=$1 limit=${2:-60} since=${3:-$(now_ms)} left n
    left=$((limit - ($(now_ms) - since) / 1000))
    [ "$left" -gt 0 ] || left=0
    wait_for "$left" test -s "$dir/summary.json" ||
        { fail "no $dir/summary.json within $limit s"; why_none "$dir"; } || return
    echo "report after $((($(now_ms) - since) / 1000)) s by $("$PYTHON" -c \
        'import json,sys; print(json.load(open(sys.argv[1]))["generator"]["reporter"])' "$dir/summary.json")"
    wait_for 30 test ! -e "$dir/report.claim" || fail "report.claim stays in $dir" || return
    n=$(grep -c 'report written' "$dir/log.txt")
    [ "$n" = 1 ] || fail "$dir: $n reports written instead of one: $(cat "$dir/log.txt")" || return
    for f in owner pending 'done' alldone; do
        [ ! -e "$dir/$f" ] || fail "$dir/$f is left" || return
    done
    same_figures "$dir"
}

# Labels come from the records of nodes, which a plain folder has not.
unlabelled() { # unlabelled COMMS.CSV
    "$PYTHON" "$top_srcdir/tests/aggregate/unlabelled.py" "$1"
}

# The verdict's word is that of the step's report, whoever joins its files.
same_words() { # same_words SUMMARY SUMMARY
    local word other
    word=$(json "$1" 'd["verdict"]["word"]')
    other=$(json "$2" 'd["verdict"]["word"]')
    # a topology and samples are not among the files of raw/
    [ "$word" = "$other" ] || [ "$word" = DEGRADED ] ||
        [ "$(json "$1" 'd["quality"]["records"] or 0')" = 0 ] ||
        fail "$1: $word, by jobprof aggregate $other: $(json "$2" 'd["verdict"]["text"]')"
}

same_figures() { # same_figures STEPDIR: equal to a fresh aggregate over raw/
    local dir=$1 again
    again=$(mktemp -d "$WORK/again.XXXXXX") || return
    "$JOBPROF" aggregate -q --output "$again" "$dir/raw" >/dev/null 2>"$again/err" ||
        case $? in 3 | 4) ;; *) cat "$again/err" >&2; return 1 ;; esac
    for f in cells ranks ops p2p p2p_nodes windows; do
        cmp "$dir/csv/$f.csv" "$again/csv/$f.csv" >&2 || return
    done
    unlabelled "$dir/csv/comms.csv" >"$again/c" &&
        unlabelled "$again/csv/comms.csv" | cmp - "$again/c" >&2 || return
    # the step knows of nodes and tasks besides, a plain folder does not; its
    # notes name files from the step directory on
    same_words "$dir/summary.json" "$again/summary.json" || return
    grep -vE '^(nodes|tasks|ranks_expected)' "$dir/csv/quality.csv" >"$again/a"
    grep -vE '^(nodes|tasks|ranks_expected)' "$again/csv/quality.csv" |
        sed "s#^note,,$dir/#note,,#" |
        diff - "$again/a" >&2
}

# same_without_partials STEPDIR N: the report was made from N nodes' partials, and
# one by hand without them says the same.
same_without_partials() {
    local dir=$1 before
    grep -q ", $2 partials" "$dir/log.txt" ||
        fail "not $2 partials: $(cat "$dir/log.txt")" || return
    before=$(mktemp -d "$WORK/before.XXXXXX") || return
    cp -r "$dir/csv" "$dir/summary.json" "$before" && rm "$dir"/nodes/*/partial.jpp
    "$JOBPROF" report "$dir" >"$before/out" 2>&1
    tail -n 1 "$dir/log.txt" | grep -q ', 0 partials' ||
        fail "no second report: $(cat "$before/out" "$dir/log.txt")" || return
    diff -r "$before/csv" "$dir/csv" >&2 || return
    "$PYTHON" - "$before/summary.json" "$dir/summary.json" <<'PY' >&2
import json, sys
docs = [json.load(open(path)) for path in sys.argv[1:]]
for d in docs: # when and how it was made
    for key in "written_us", "analysis_us", "insight_us", "generator":
        del d[key]
    del d["quality"]["partial_nodes"]
for key in docs[0].keys() | docs[1].keys():
    if docs[0].get(key) != docs[1].get(key):
        sys.exit(f"{key}: {docs[0].get(key)} is not {docs[1].get(key)}")
PY
}

json() { # json FILE EXPRESSION: python expression over d
    "$PYTHON" -c 'import json,sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$1" "$2"
}
