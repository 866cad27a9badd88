#!/bin/bash
# slurm-matrix.sh - build with several Slurms and run the tests on each: a table.
# By hand; `make check` has one Slurm.
#
# Usage: slurm-matrix.sh DIR...
# DIR is the prefix of an installed Slurm that was built with
# --enable-multiple-slurmd (/usr: Debian's). A row for each: its release, and of
# each suite "passed/failed/skipped". Exit status 1 where one fails, 2 without such
# a Slurm. Environment: SUITES, names below tests/ without .test; JOBS of make;
# LOGS, a folder where builds and logs stay.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
[ $# -gt 0 ] || { sed -n '5,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ -x "$top/configure" ] || { echo "slurm-matrix: run autoreconf -i in $top first" >&2; exit 2; }
SUITES=${SUITES:-minicluster/minicluster slurm/e2e slurm/sitefile slurm/settings slurm/ends
    slurm/crash slurm/idle slurm/topology slurm/copper slurm/demo slurm/security slurm/broken}
work=${LOGS:-}
if [ -z "$work" ]; then
    work=$(mktemp -d) || exit 2
    trap 'rm -rf "$work"' EXIT
fi
# each suite may take this long
LIMIT_S=900

say() { printf 'slurm-matrix: %s\n' "$*" >&2; }

# A copy of the tree with a build/ in it, as demo.test needs it: what is changed here
# in the meantime is not tested.
build() { # build DIR FOLDER
    mkdir -p "$2/build" && tar -c -C "$top" --exclude=./.git --exclude='./build/*' \
        --exclude=./build-asan --exclude=./build-fuzz . |
        tar -x -C "$2" && cd "$2/build" || return
    { [ -e Makefile ] || ../configure -q --with-slurm="$1" --without-charts; } >configure.log 2>&1 &&
        make -s -j"${JOBS:-2}" >make.log 2>&1 &&
        make -s -j"${JOBS:-2}" check TESTS= >>make.log 2>&1
}

suite() { # suite NAME: "passed/failed/skipped", or "broke"
    local results=$PWD/results log=$PWD/${1//\//-}.log
    : >"$results"
    JOBPROF_RESULTS=$results timeout "$LIMIT_S" make -s check-slurm \
        SLURM_TESTS="tests/$1.test" >"$log" 2>&1
    awk 'NF == 4 { print $2 "/" $3 "/" $4; bad = $3; n++ } END { exit n != 1 || bad }' "$results" ||
        { [ -s "$results" ] || echo broke; return 1; }
}

release() { # release DIR: "24.11.7"
    local n
    n=$(sed -n 's/^#define SLURM_VERSION_NUMBER *\(0x[0-9a-f]*\).*/\1/p' "$1/include/slurm/slurm_version.h")
    printf '%d.%02d.%d' $((n >> 16)) $((n >> 8 & 255)) $((n & 255))
}

row() { # row DIR FOLDER
    local name cell bad=0 line
    line="| $(release "$1") |"
    for name in $SUITES; do
        cell=$(suite "$name") || bad=1
        say "${name##*/}: $cell"
        line+=" $cell |"
    done
    echo "$line"
    return $bad
}

status=0 n=0
head='| Slurm |' rule='|---|'
for name in $SUITES; do
    head+=" ${name##*/} |"
    rule+='---|'
done
for dir; do
    [ -x "$dir/bin/srun" ] && [ -x "$dir/sbin/slurmd" ] && [ -e "$dir/include/slurm/slurm_version.h" ] ||
        { say "$dir: no bin/srun, sbin/slurmd and include/slurm there"; exit 2; }
done
printf '%s\n%s\n' "$head" "$rule"
for dir; do
    n=$((n + 1))
    prefix=$(cd "$dir" && pwd)
    say "$prefix"
    (
        PATH=$prefix/bin:$prefix/sbin:$PATH
        build "$prefix" "$work/$n" || { tail -n 5 "$work/$n"/build/*.log >&2; echo "| $prefix: does not build |"; exit 1; }
        row "$prefix" "$work/$n"
    ) || status=1
done
exit $status
