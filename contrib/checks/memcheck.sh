#!/bin/bash
# memcheck.sh - valgrind's memcheck over programs, each a test; by `make valgrind`.
#
# Usage: memcheck.sh PROGRAM...
# A program fails where it, or a child of it, reads what is not set, or reads or
# writes what is not its own; where it loses memory; where its own test fails,
# takes over JP_MEMCHECK_SECONDS (600) or leaves no log. A child that leaves by
# _exit frees nothing, so what it loses does not count. What children execute is
# not followed. Tests see JP_MEMCHECK=1: no limit on memory can hold there.
# What is no fault of ours stands with its reason in memcheck.supp.
set -u
command -v valgrind >/dev/null || { echo "memcheck: valgrind is not installed" >&2; exit 2; }
[ $# -gt 0 ] || { sed -n '4,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd) || exit 2
if [ "$(id -u)" -eq 0 ] && [ -z "${JP_MEMCHECK_PRIVATE:-}" ]; then
    JP_MEMCHECK_PRIVATE=1 exec unshare --mount "$0" "$@"
fi
logs=$(mktemp -d) || exit 2
trap 'umount "$logs" 2>/dev/null; rm -rf "$logs"' EXIT
# tests' children of root's may be somebody else and write their logs here; nobody
# outside of this namespace may
if [ "$(id -u)" -eq 0 ]; then
    mount -t tmpfs -o mode=1777 memcheck "$logs" || exit 2
fi
export CMOCKA_MESSAGE_OUTPUT=TAP JP_MEMCHECK=1
# a log each process: a child that leaves by _exit holds what its parent frees;
# no vgdb, whose files a limit on files' sizes would break
options=(--quiet --vgdb=no --error-exitcode=99 --leak-check=full
    --errors-for-leak-kinds=none --show-leak-kinds=definite --num-callers=20
    --keep-debuginfo=yes --suppressions="$here/memcheck.supp" --log-file="$logs/log.%p")
bad=0
for program; do
    rm -f "$logs"/*
    start=$SECONDS
    # shellcheck disable=SC2016  # the inner shell's
    timeout --kill-after=20 "${JP_MEMCHECK_SECONDS:-600}" \
        sh -c 'echo $$ >"$0"; exec "$@"' "$logs/pid" valgrind "${options[@]}" \
        "$program" >"$logs/output" 2>&1
    status=$?
    n=$(find "$logs" -name 'log.*' | wc -l)
    why=
    [ $status -eq 0 ] || why="it ends with $status"
    [ $status -ne 124 ] || why='it takes too long'
    [ "$n" -gt 0 ] || why='no log'
    # An error's first line is "==PID== Invalid read ...", that of a leak "==PID== 12
    # bytes ..."; --PID-- are notes, such as on a call of the kernel that this release
    # of valgrind does not know and answers with ENOSYS.
    found=$(grep -lE '^==[0-9]+== [A-Z]' "$logs"/log.* 2>/dev/null
        grep -l 'definitely lost' "$logs/log.$(cat "$logs/pid")" 2>/dev/null)
    [ -z "$found" ] || why="memcheck has findings"
    took="$n processes, $((SECONDS - start)) s"
    if [ -z "$why" ]; then
        echo "ok $program # $took"
        continue
    fi
    bad=$((bad + 1))
    echo "not ok $program # $why; $took"
    # shellcheck disable=SC2086  # names of ours
    [ -z "$found" ] || cat $found | grep -v '^--' | head -n 60 | sed 's/^/# /'
    grep -v '^ok' "$logs/output" | tail -n 20 | sed 's/^/# /'
done
echo "memcheck: $# programs, $bad with findings"
[ $bad -eq 0 ]
