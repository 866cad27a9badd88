# lib.sh - what the recorder's and the simulator's shell tests share. TAP.
# A test sources this, then calls `plan FUNCTION...`; a function that fails
# returns non-zero and says why on stderr, 77 means skipped.
# shellcheck shell=bash disable=SC2034 # the tests read them
# LeakSanitizer's tracer crashes now and then where a process exits while its
# threads go on, as these do
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

build=${top_builddir:?}
SIM=$build/contrib/ncclsim/ncclsim
RECORDER=$build/plugins/nccl_recorder/.libs/libnccl-profiler-jobprof.so
CHECK=$build/tests/nccl_recorder/check_counts
DUMP=$build/tests/nccl_recorder/jprdump
DRIVE=$build/tests/nccl_recorder/rec_drive
# the tests' own settings only
unset NCCL_DEBUG "${!SLURM_@}" "${!JOBPROF_RECORDER@}"
unset NCCL_PROFILER_PLUGIN

fail() { echo "$*" >&2; return 1; }

# run_ranks N PER_NODE [ncclsim options]: N ranks at once in $PWD: records in
# rec/, ncclsim's counts in sim/
run_ranks() {
    local n=$1 per=$2 r pids=() rc=0
    shift 2
    mkdir -p rec sim
    for ((r = 0; r < n; r++)); do
        NCCL_PROFILER_PLUGIN=$RECORDER JOBPROF_RECORDER_DIR=$PWD/rec \
            "$SIM" --rank $r --nranks "$n" --ranks-per-node "$per" \
            --counts sim "$@" >"out.$r" 2>&1 &
        pids+=($!)
    done
    for r in "${pids[@]}"; do
        wait "$r" || rc=1
    done
    [ $rc = 0 ] || cat out.* >&2
    return $rc
}

# check_ranks N INTERFACE: what run_ranks left is complete
check_ranks() {
    local r
    for ((r = 0; r < $1; r++)); do
        "$CHECK" rec "sim/counts-$r.json" "$2" || return 1
    done
}

# drive FOLDER [rec_drive options]: the recorder at full speed, into FOLDER
drive() {
    mkdir -p "$1"
    JOBPROF_RECORDER_DIR=$1 "$DRIVE" "$RECORDER" "${@:2}"
}

# final KEY: a number of collectives from the last counters of text on stdin
final() {
    grep '"type":"counters",.*"kind":"coll"' | tail -n 1 | sed "s/.*\"$1\":\([0-9]*\).*/\1/"
}

plan() {
    local n=0 top name rc failed=0
    echo "1..$#"
    for name in "$@"; do
        n=$((n + 1))
        top=$(mktemp -d "${TMPDIR:-/tmp}/jobprof-test.XXXXXX") || exit 99
        mkdir -m 700 "$top/case"
        chmod 711 "$top" # the case may open its own to others
        (cd "$top/case" && "$name") 2>"$top/err"
        rc=$?
        case $rc in
        0) echo "ok $n - $name" ;;
        77) echo "ok $n - $name # SKIP $(tail -n 1 "$top/err")" ;;
        *) echo "not ok $n - $name"; failed=1 ;;
        esac
        [ $rc = 0 ] || sed 's/^/# /' "$top/err"
        rm -rf "$top"
    done
    return $failed
}
