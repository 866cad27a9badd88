#!/bin/bash
# run.sh - replay each fuzz target's corpus, then fuzz it for some seconds; as
# many targets at once as there are CPUs.
# Usage: run.sh SECONDS CORPUS_DIR TARGET...; appends "fuzz P F S" to
# $JOBPROF_RESULTS; new inputs stay in a temporary folder, crashes in fuzz-crashes/.
set -u
seconds=$1
corpus=$2
shift 2
passed=0
failed=0
mkdir -p fuzz-crashes
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fuzz() { # fuzz TARGET: leaves $work/NAME.good where it passes
    local target=$1 name runs
    name=$(basename "$target")
    name=${name#fuzz_}
    mkdir "$work/$name"
    if "$target" -runs=0 "$corpus/$name" >"$work/$name.log" 2>&1 &&
        "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
            -max_len=65536 -artifact_prefix="fuzz-crashes/$name-" \
            "$work/$name" "$corpus/$name" >>"$work/$name.log" 2>&1; then
        runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$work/$name.log" | tail -n 1)
        echo "ok fuzz $name: corpus and ${runs:-0} runs in $seconds s"
        : >"$work/$name.good"
    else
        printf 'not ok fuzz %s\n%s\n' "$name" "$(tail -n 40 "$work/$name.log")"
    fi
}

for target; do
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
    fuzz "$target" &
done
wait
for target; do
    name=$(basename "$target")
    if [ -e "$work/${name#fuzz_}.good" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
[ -z "${JOBPROF_RESULTS:-}" ] ||
    echo "fuzz $passed $failed 0" >>"$JOBPROF_RESULTS"
[ "$failed" -eq 0 ]
