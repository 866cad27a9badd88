#!/bin/bash
# run.sh TEST...: run TAP tests one after the other, print what failed or was
# skipped and a line for each; counts go to $JOBPROF_RESULTS.
set -u
rc=0
for test; do
    name=$(basename "$test" .test)
    log=$top_builddir/$name.tap
    "$top_srcdir/$test" >"$log" 2>&1 </dev/null
    status=$?
    passed=$(grep -cE '^ok ' "$log")
    skipped=$(grep -cE '^ok .*# SKIP' "$log")
    failed=$(grep -cE '^not ok ' "$log")
    plan=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$log" | tail -n 1)
    if [ "$failed" -eq 0 ] && { [ "$status" -ne 0 ] || [ "${plan:-0}" -ne "$passed" ]; }; then
        failed=1
        echo "not ok $name: status $status, $passed of ${plan:-no} planned"
        tail -n 40 "$log"
    fi
    grep -A 40 '^not ok ' "$log"
    grep -E '^ok .*# SKIP' "$log"
    echo "$name: $((passed - skipped)) passed, $failed failed, $skipped skipped"
    [ -z "${JOBPROF_RESULTS:-}" ] ||
        echo "$name $((passed - skipped)) $failed $skipped" >>"$JOBPROF_RESULTS"
    [ "$failed" -eq 0 ] || rc=1
done
exit $rc
