#!/bin/bash
# genuine.sh - the recorder under a genuine NCCL, without a GPU.
#
# Runs each case of the file `cases` with the NCCL given: drive calls it, CUDA is
# the stand-in, the recorder records. compare.py then holds what was recorded
# against what was called. Prints a table.
set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd) || exit 2
build=${top_builddir:?the build folder}
recorder=$build/plugins/nccl_recorder/.libs/libnccl-profiler-jobprof.so

usage() {
    cat <<'END'
Usage: genuine.sh [OPTION]... NCCL...
NCCL is libnccl.so.2 or the folder in which a package or a build has it.

  --long            more operations in each case
  --jobs N          cases at once (1)
  --case NAME       only this case; may be given again
  --inspector LIB   the cases again with NVIDIA's Inspector, and with both: the
                    recorder and, behind it, Inspector; two columns more
  --find            print the path of an installed libnccl.so.2, or nothing
  --release NCCL    print its release
  --env DIR         make links to the stand-in in the new folder DIR, and print
                    the environment that NCCL needs with it

top_builddir must be the build folder. Exit status: 0 all the same, 1 something
differs, 2 usage.
END
}

# The release that a machine has: of the CUDA toolkit, or of a package.
find_installed() {
    local f
    for f in /usr/local/cuda/lib64 /usr/local/cuda/lib /usr/local/cuda-*/lib64 \
        /usr/local/cuda-*/lib /usr/lib/x86_64-linux-gnu /usr/lib64; do
        [ ! -f "$f/libnccl.so.2" ] || { readlink -f "$f/libnccl.so.2"; return; }
    done
}

# The library of an argument.
library() {
    local f
    for f in "$1" "$1/lib/libnccl.so.2" "$1/lib64/libnccl.so.2" \
        "$1/usr/lib/x86_64-linux-gnu/libnccl.so.2" "$1/libnccl.so.2" \
        "$1/nvidia/nccl/lib/libnccl.so.2"; do
        [ ! -f "$f" ] || { readlink -f "$f"; return; }
    done
    echo "$1: no libnccl.so.2" >&2
    return 2
}

# What NCCL needs of this: rings, the protocol "simple", no way between GPUs but
# shared memory and sockets.
settings() { # settings FOLDER_OF_LINKS
    printf '%s\n' NCCL_ALGO=Ring NCCL_PROTO=Simple NCCL_P2P_LL_THRESHOLD=0 \
        NCCL_P2P_DISABLE=1 NCCL_LOCAL_REGISTER=0 NCCL_GRAPH_REGISTER=0 \
        NCCL_RAS_ENABLE=0 NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME=lo \
        NCCL_MAX_NCHANNELS=2 NCCL_SET_THREAD_NAME=1 \
        FAKEGPU_COUNT=8 LD_LIBRARY_PATH="$1"
}

# The stand-in under the names that NCCL loads.
link_libraries() { # link_libraries FOLDER
    local name
    mkdir -p "$1"
    for name in libcudart.so.13 libcudart.so.12 libcuda.so.1; do
        ln -s "$build/contrib/fakecuda/.libs/libfakecuda.so" "$1/$name"
    done
    ln -s "$build/contrib/fakegpu/.libs/libnvidia-ml.so.1" "$1"
}

print_release() { # print_release NCCL
    local dir rc
    dir=$(mktemp -d) || return
    link_libraries "$dir/fake"
    LD_LIBRARY_PATH=$dir/fake "$build/contrib/fakecuda/drive" --probe \
        --nccl "$(library "$1")" --cuda "$dir/fake/libcudart.so.13"
    rc=$?
    rm -rf "$dir"
    return $rc
}

# drive FOLDER RANKS ENV ARGUMENT...: runs a case into FOLDER
drive() {
    local dir=$1 ranks=$2 vars=$3
    shift 3
    mkdir -p "$dir/raw" "$dir/tmp"
    # shellcheck disable=SC2086 # ENV is a list
    env $vars TMPDIR="$dir/tmp" timeout --kill-after=5 60 \
        "$build/contrib/fakecuda/drive" --nccl "$nccl" \
        --cuda "$work/fake/libcudart.so.13" --truth "$dir" --ranks "$ranks" "$@" \
        >"$dir/out" 2>&1
}

# Inspector alone and both, for the case in run_case's variables.
run_inspector() {
    # often enough that few records are lost at the end of a communicator
    local more="$vars NCCL_INSPECTOR_ENABLE=1 NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES=0 \
        NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS=500 \
        NCCL_INSPECTOR_REQUIRE_KERNEL_TIMING=0"
    rm -rf "$dir/second" "$dir/both" "$dir/inspector"
    drive "$dir/second" "$ranks" "$more NCCL_PROFILER_PLUGIN=$inspector \
        NCCL_INSPECTOR_DUMP_DIR=$dir/inspector" "${args[@]}"
    drive "$dir/both" "$ranks" "$more NCCL_PROFILER_PLUGIN=$recorder \
        JOBPROF_RECORDER_DIR=$dir/both/raw JOBPROF_RECORDER_CHAIN=$inspector \
        NCCL_INSPECTOR_DUMP_DIR=$dir/both/inspector" "${args[@]}"
}

# run_case NAME RANKS RULES ENV ARGS: its row, into rows/NAME
run_case() {
    local name=$1 ranks=$2 vars=$4 rc dir=$work/$1 rules=() r row tries=1
    local -a args
    read -ra args <<<"$5"
    for r in $3; do
        rules+=(--rule "$r")
    done
    drive "$dir" "$ranks" "$vars NCCL_PROFILER_PLUGIN=$recorder \
        JOBPROF_RECORDER_DIR=$dir/raw" "${args[@]}"
    rc=$?
    # Inspector loses what its thread has not written at the end, by chance all
    # of a rank, so what differs once counts only if it differs again
    [ -z "$inspector" ] || tries=4
    if [ $rc = 77 ]; then
        row=$'-\t-\t-\t-\t-\tthis release cannot do it'
    elif [ $rc = 124 ] || { [ $rc != 0 ] && [[ " $3 " != *" cut "* ]]; }; then
        row=$'-\t-\t-\t-\t-\t'"drive ended with $rc: $(tail -n 1 "$dir/out")"
    else
        "$build/orchestrator/jobprof" aggregate -q --output "$dir/report" "$dir/raw" >>"$dir/out" 2>&1
        while [ $tries -gt 0 ]; do
            tries=$((tries - 1))
            [ -z "$inspector" ] || run_inspector
            row=$(python3 "$here/compare.py" \
                --dump "$build/tests/nccl_recorder/jprdump" "${rules[@]}" \
                --report "$dir/report/summary.json" "$dir") &&
                break
        done
    fi
    printf '%s\t%s\n' "$name" "$row" >"$work/rows/$name"
}

is_wanted() {
    local c
    [ ${#only[@]} -gt 0 ] || return 0
    for c in "${only[@]}"; do
        [ "$c" != "$1" ] || return 0
    done
    return 1
}

# The words of a field of the table, without blanks at its ends.
trim() {
    local -a words
    read -ra words <<<"$1"
    echo "${words[*]}"
}

# run_all NCCL: all cases of a release, and their table
run_all() {
    local name ranks rules vars args more release line names=() rc=0
    nccl=$(library "$1") || return 2
    work=$(mktemp -d "${TMPDIR:-/tmp}/genuine.XXXXXX") || return 2
    (
        unset "${!NCCL_@}" "${!SLURM_@}" "${!JOBPROF_@}" "${!FAKECUDA_@}" "${!FAKEGPU_@}"
        link_libraries "$work/fake"
        while IFS= read -r line; do
            export "${line?}"
        done < <(settings "$work/fake")
        release=$(print_release "$nccl") || exit 2
        mkdir "$work/rows"
        echo "NCCL $release ($nccl)"
        while IFS='|' read -r name ranks rules vars args more; do
            name=$(trim "$name")
            [[ $name && $name != \#* ]] && is_wanted "$name" || continue
            names+=("$name")
            [ $long = 0 ] || args+=" $more"
            while [ "$(jobs -pr | wc -l)" -ge "$jobs" ]; do
                wait -n
            done
            run_case "$name" "$(trim "$ranks")" "$(trim "$rules")" \
                "$(trim "$vars")" "$args" &
        done <"$here/cases"
        wait
        printf '%-14s %7s %9s %7s %10s %7s  %s\n' \
            case truth recorded timed Inspector both ""
        for name in "${names[@]}"; do
            IFS=$'\t' read -r name truth recorded timed theirs both result <"$work/rows/$name"
            printf '%-14s %7s %9s %7s %10s %7s  %s\n' "$name" "$truth" "$recorded" \
                "$timed" "$theirs" "$both" "$result"
            case $result in
            same | "this release cannot do it") ;;
            *) rc=1 ;;
            esac
        done
        exit $rc
    )
    rc=$?
    if [ "${KEEP-}" ]; then echo "kept: $work"; else rm -rf "$work"; fi
    return $rc
}

long=0 jobs=1 inspector='' only=() libraries=()
while [ $# -gt 0 ]; do
    case $1 in
    --long) long=1 ;;
    --jobs) jobs=$2; shift ;;
    --case) only+=("$2"); shift ;;
    --inspector) inspector=$2; shift ;;
    --find) find_installed; exit 0 ;;
    --release) print_release "$2"; exit ;;
    --env) link_libraries "$2" && settings "$2"; exit ;;
    --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) libraries+=("$1") ;;
    esac
    shift
done
[ ${#libraries[@]} -gt 0 ] || { usage >&2; exit 2; }
status=0
for lib in "${libraries[@]}"; do
    run_all "$lib" || status=$?
done
exit $status
