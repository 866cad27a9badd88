#!/bin/bash
# run.sh TEST...: run TAP tests one after the other, print what failed or was
# skipped and a line for each; counts go to $JOBPROF_RESULTS.
set -u
rc=0
results=${JOBPROF_RESULTS:-}
unset JOBPROF_RESULTS
for test; do
    name=$(basename "$test" .test)
    log=$top_builddir/$name.tap
    "$top_srcdir/$test" >"$log" 2>&1 </dev/null
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
    echo "$name: $passed passed, $failed failed, $skipped skipped"
    [ -z "$results" ] || echo "$name $passed $failed $skipped" >>"$results"
    [ "$failed" -eq 0 ] || rc=1
done
exit $rc
