#!/bin/bash
# soak.sh - who is named, over all kinds and families of simulated jobs: each
# row with its command, to its end whatever is missed. Exit status 1 where a
# row is under its floor.
#   SOAK_SEEDS  jobs a row (100); clean ones are ten times as many in each family
#   SOAK_FIRST  where seeds begin (1)
set -u
table=${top_builddir:-.}/tests/insight/table
seeds=${SOAK_SEEDS:-100}
first=${SOAK_FIRST:-1}
half=$(((seeds + 1) / 2))
missed=0

row() { # OPTIONS... SEEDS [FAULT]
    local fault=
    case "${*: -1}" in
    [a-z]*) fault=${*: -1} && set -- "${@:1:$#-1}" ;;
    esac
    echo "# table $* $first $fault"
    # shellcheck disable=SC2086 # a list
    "$table" "$@" "$first" $fault || missed=$((missed + 1))
}

row "$seeds"
row -o "$seeds"
row -t "$seeds"
row -f "$half"
for fault in late-rank stalls; do
    row -e -o "$half" "$fault"
    row -e -f "$half" "$fault"
done
row -e -f "$half" late-node
for ranks in 2 3; do
    row -a "$ranks" -o "$half" late-rank
    row -a "$ranks" -f "$half" late-node
done
row -g "$half" late-rank
# a rank that waits as the root of a Reduce does not stall
for fault in stalls all-stall clean; do
    row -r "$half" "$fault"
done
# 3,000 clean jobs of all lengths
for steps in 5 8 12 20 30 50; do
    row -n "$steps" "$half"
done
# whoever has started the ranks, the same is found
for family in '' -o -t -f; do
    echo "# forms $family $(((seeds + 9) / 10)) $first"
    # shellcheck disable=SC2086 # none or one
    "${table%table}forms" $family $(((seeds + 9) / 10)) "$first" || missed=$((missed + 1))
done
# logs of which a part is missing
echo "# damage.test $first $(((seeds + 9) / 10))"
"${top_srcdir:-.}/tests/insight/damage.test" "$first" $(((seeds + 9) / 10)) | grep -v '^ok \|^1[.][.]' && missed=$((missed + 1))
echo "# $missed commands have a row under its floor; $((SECONDS / 60)) minutes"
[ "$missed" = 0 ]
