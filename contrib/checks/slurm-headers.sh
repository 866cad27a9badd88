#!/bin/bash
# slurm-headers.sh - build what touches Slurm against the headers of another
# release, by the feature checks of configure. By hand; not part of `make check`,
# which has the headers of one Slurm.
#
# Usage: slurm-headers.sh INCLUDE_DIR...
# INCLUDE_DIR holds slurm/slurm.h, slurm/spank.h and slurm/slurm_version.h: an
# installed Slurm's, or slurm/ of a release's sources, where the version's header
# has been made. Nothing is linked but the module, which needs no libslurm. One
# line for each release; exit status 1 where one fails, 2 without such headers.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
[ $# -gt 0 ] || { sed -n '6,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ -x "$top/configure" ] || { echo "slurm-headers: run autoreconf -i in $top first" >&2; exit 2; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# every file that includes one of Slurm's headers, and what the module is of
objects() {
    (cd "$top" && grep -lE '^#include <slurm/' orchestrator/*/*.c) |
        while read -r file; do
            # as the Makefile calls it: with its library's prefix, or without
            grep -oE "^$(dirname "$file")/([A-Za-z_]+-)?$(basename "$file" .c)\.\\$\(OBJEXT\):" \
                "$1/Makefile" | head -n 1 | sed 's/\.\$.*/.o/'
        done
}

# prefix FOLDER INCLUDE_DIR: the headers as an installed Slurm; configure's link
# check gets a library of one function
prefix() {
    mkdir -p "$1/lib" &&
        ln -s "$2" "$1/include" &&
        echo 'void slurm_hostlist_create(void) { }' |
        ${CC:-cc} -x c -shared -fPIC -w -o "$1/lib/libslurm.so" -
}

check() { # check INCLUDE_DIR
    local dir b n names made found version want
    dir=$(cd "$1" && pwd) || return 2
    for n in slurm spank slurm_version; do
        [ -f "$dir/slurm/$n.h" ] || { echo "$1: no slurm/$n.h" >&2; return 2; }
    done
    b=$work/$((++count))
    mkdir "$b" && prefix "$b/slurm" "$dir" || return 2
    if ! (cd "$b" && "$top/configure" --enable-werror --without-charts \
        --with-slurm="$b/slurm" >configure.log 2>&1); then
        tail -n 5 "$b/configure.log" >&2
        echo "$1: configure failed"
        return 1
    fi
    names=$(objects "$b")
    made=$(sed -n 's/^BUILT_SOURCES = //p' "$b/Makefile")
    # shellcheck disable=SC2086  # lists
    if ! { make -C "$b" $made && make -C "$b" spank/spank_jobprof.la $names; } >"$b/make.log" 2>&1; then
        grep -E 'error|warning' "$b/make.log" | head -n 20 >&2
        echo "$1: does not compile"
        return 1
    fi
    # the release that its loader will compare
    want=$(sed -n 's/^#define SLURM_VERSION_NUMBER *0x/0x/p' "$dir/slurm/slurm_version.h")
    found=$(release_of "$b/spank/.libs/spank_jobprof.so")
    version=$(sed -n 's/^    Slurm  *//p' "$b/configure.log" | head -n 1)
    if [ "$((found))" -ne "$((want))" ]; then
        echo "$1: the module says $found, the headers $want"
        return 1
    fi
    echo "$1: Slurm $version: module $found and $(wc -w <<<"$names") files, no warning"
}

release_of() { # release_of MODULE: its plugin_version
    local address offset
    address=$(nm -D "$1" | awk '$3 == "plugin_version" { print $1 }')
    # address of .rodata minus its offset in the file
    offset=$(readelf -SW "$1" | sed 's/\[ *//' |
        awk '$2 == ".rodata" { print $4, $5 }')
    [ -n "$address" ] && [ -n "$offset" ] || { echo 0; return; }
    od -An -tx4 -j $((0x$address - 0x${offset% *} + 0x${offset#* })) -N 4 "$1" |
        sed 's/^ */0x/'
}

count=0 status=0
for dir; do
    check "$dir"
    rc=$?
    [ $rc -le $status ] || status=$rc
done
exit $status
