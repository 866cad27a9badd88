#!/bin/bash
# sanitize.sh - the recorder built with TSan, then ASan and UBSan, under load.
# Needs only a compiler; make check-recorder-sanitizers. CC chooses it.
set -eu
cd "${top_srcdir:?}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
flags=(-g -O1 -std=gnu11 -D_GNU_SOURCE -I. -fPIC '-DJP_RECORDER_VERSION="test"')
drive="tests/nccl_recorder/rec_drive.c contrib/ncclsim/sim_shim_old.c
       contrib/ncclsim/sim_shim_new.c contrib/ncclsim/sim_cost.c"
recorder="$(echo plugins/nccl_recorder/rec_*.c) plugins/nccl_recorder/jpr_frame.c common/ownfile.c"

for kind in thread address,undefined; do
    # shellcheck disable=SC2086  # lists of words
    ${CC:-gcc} "${flags[@]}" -fsanitize=$kind $drive -o "$work/drive" -ldl -lpthread
    # shellcheck disable=SC2086 # a list
    ${CC:-gcc} "${flags[@]}" -fsanitize=$kind -fvisibility=hidden -shared $recorder \
        -o "$work/recorder.so" -lz -lpthread
    for load in "--channels 8 --rate 40000" "--channels 1" "--channels 8 --depth 64" \
        "--channels 2 --depth 250 --rate 40000" \
        "--channels 4 --no-finalize"; do
        mkdir "$work/rec"
        # shellcheck disable=SC2086 # a list
        JOBPROF_RECORDER_DIR=$work/rec JOBPROF_RECORDER_MEM=8000000 \
            TSAN_OPTIONS=halt_on_error=1 "$work/drive" "$work/recorder.so" \
            --ops 60000 --threads 4 --comms 8 $load >"$work/out" 2>&1 ||
            { cat "$work/out"; echo "not ok $kind: $load"; exit 1; }
        echo "ok $kind: $load: $(cat "$work/out")"
        rm -r "$work/rec"
    done
done
