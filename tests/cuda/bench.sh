#!/bin/bash
# bench.sh - the cost of a counted call: the stand-in of CUPTI alone, and with
# the library; medians of nine runs of a million calls, alternating.
set -u
cd "${top_builddir:-.}" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH=$PWD/contrib/fakegpu/.libs
median() { sort -n "$1" | sed -n 5p; }
for what in 1:307:launch 4:307:launch 1:277:copy 1:276:waiting-copy 1:126:synchronisation \
    1:243:allocation 1:245:free; do
    IFS=: read -r threads id name <<<"$what"
    rm -f "$work"/with*
    for _ in 1 2 3 4 5 6 7 8 9; do
        contrib/fakegpu/cudacalls late threads:"$threads" "bench:$id*1000000" |
            sort -n | tail -n 1 >>"$work/without"
        CUDA_INJECTION64_PATH=$PWD/plugins/cuda/.libs/libjobprof-cuda.so \
            JOBPROF_CUDA_DIR=$work/cuda contrib/fakegpu/cudacalls \
            threads:"$threads" "bench:$id*1000000" |
            sort -n | tail -n 1 >>"$work/with"
    done
    echo "$name, $threads thread(s): a call takes $(median "$work/without") ns," \
        "counted $(median "$work/with") ns"
done
