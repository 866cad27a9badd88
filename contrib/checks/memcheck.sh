#!/bin/bash
# memcheck.sh - valgrind's memcheck over programs, each a test; by `make valgrind`.
#
# Usage: memcheck.sh PROGRAM...
# A program fails where it reads what is not set, writes or reads what is not
# its own, or loses memory. Children that are other programs are not followed.
set -u
command -v valgrind >/dev/null || { echo "memcheck: valgrind is not installed" >&2; exit 2; }
[ $# -gt 0 ] || { sed -n '4,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
logs=$(mktemp -d) || exit 2
trap 'rm -rf "$logs"' EXIT
bad=0
for program; do
    # a log each: a child that leaves by _exit holds what its parent frees
    CMOCKA_MESSAGE_OUTPUT=TAP valgrind --quiet --error-exitcode=99 --leak-check=full \
        --errors-for-leak-kinds=definite --show-leak-kinds=definite \
        --log-file="$logs/%p" "$program" >/dev/null 2>&1 &
    log=$logs/$!
    wait $!
    status=$?
    if [ -s "$log" ]; then
        bad=$((bad + 1))
        echo "not ok $program"
        head -n 40 "$log" | sed 's/^/# /'
    elif [ $status -eq 0 ]; then
        echo "ok $program"
    else
        # a failed test is make check's affair; valgrind makes some too slow
        echo "ok $program # its test ends with $status under valgrind, memcheck is silent"
    fi
done
echo "memcheck: $# programs, $bad with findings"
[ $bad -eq 0 ]
