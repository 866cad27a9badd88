#!/bin/bash
# run.sh TEST...: run TAP tests, several at once (each has a cluster of its own
# and waits most of the time), print what failed or was skipped and a line for
# each as they end; counts go to $JOBPROF_RESULTS, the paths of those that failed to
# $JOBPROF_RESULTS.failed. SUITES is how many at once.
set -u
at_once=${SUITES:-$(($(nproc) * 2))}
results=${JOBPROF_RESULTS:-}
unset JOBPROF_RESULTS

run() { # run TEST: its log, and what it says in the end in NAME.said
    local test=$1 name log status passed skipped failed plan start=$SECONDS
    name=$(basename "$test" .test)
    log=${top_builddir:?}/${test//\//-}.tap
    "${top_srcdir:?}/$test" >"$log" 2>&1 </dev/null
    status=$?
    passed=$(grep -cE '^ok ' "$log")
    skipped=$(grep -cE '^ok .*# SKIP' "$log")
    failed=$(grep -cE '^not ok ' "$log")
    if grep -q '^1\.\.0 # SKIP' "$log"; then
        skipped=1
        grep '^1\.\.0 # SKIP' "$log"
    fi
    plan=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$log" | tail -n 1)
    if [ "$failed" -eq 0 ] && { [ "$status" -ne 0 ] || [ "${plan:-0}" -ne "$passed" ]; }; then
        failed=1
        echo "not ok $name: status $status, $passed of ${plan:-no} planned"
        tail -n 40 "$log"
    fi
    grep -A 40 '^not ok ' "$log"
    grep -E '^ok .*# SKIP' "$log"
    passed=$((passed > skipped ? passed - skipped : 0))
    echo "$name: $passed passed, $failed failed, $skipped skipped ($((SECONDS - start)) s)"
    [ -z "$results" ] || echo "$name $passed $failed $skipped" >>"$results"
    [ "$failed" -eq 0 ] && return
    : >"$work/failed"
    [ -z "$results" ] || echo "$test" >>"$results.failed"
}

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# whoever ends this ends what it has started, which takes its cluster along
trap 'trap - TERM; kill -TERM 0; wait; exit 143' TERM
n=0
for test; do
    while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n; done
    n=$((n + 1))
    { run "$test" >"$work/$n" 2>&1; cat "$work/$n"; } &
done
wait
[ ! -e "$work/failed" ]
