#!/bin/bash
# analyze.sh - static analysis of what is installed: gcc -fanalyzer, cppcheck,
# clang-tidy. By hand, or by `make analyze`; clang-tidy takes minutes.
#
# Usage: analyze.sh SOURCE BUILD [gcc|cppcheck|tidy]...
# SOURCE's files with the settings of the configured BUILD. What is no fault
# stands with its reason in analyzer.known, cppcheck.suppress, .clang-tidy and
# tidy.known. Exit status 1 where anything is found.
# shellcheck disable=SC2317 # the checks are called by name
set -u
[ $# -ge 2 ] || { sed -n '5,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
top=$(cd "$1" && pwd) && build=$(cd "$2" && pwd) || exit 2
shift 2
tools=${*:-gcc cppcheck tidy}
jobs=${JOBS:-$(nproc)}
rooms='common spank plugins orchestrator'
cd "$top" || exit 2
flags=(-std=gnu11 -D_GNU_SOURCE=1 -DHAVE_CONFIG_H "-I$top" "-I$build")
for name in BINDIR LIBEXECDIR PKGLIBDIR SYSCONFDIR SRCDIR SLURM_PLUGINDIR RECORDER_VERSION; do
    flags+=("-DJP_$name=\"x\"")
done
# shellcheck disable=SC2046,SC2207  # flags of pkg-config
flags+=($(pkg-config --cflags libconfig zlib jansson hwloc 2>/dev/null))
files() { # what does not come from here is not ours to mend
    # shellcheck disable=SC2086  # a list
    find $rooms -name '*.c' ! -name 'inflate_isal.c' | LC_ALL=C sort
}
each() { # each FUNCTION: for each file, as many at once as there are CPUs
    local file
    while read -r file; do
        while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
        "$1" "$file" &
    done < <(files)
    wait
}
# gcc 12 takes what is stored into a struct that the caller owns for lost: leaks
# are looked for where the tests run, by LeakSanitizer and memcheck
with_gcc() {
    gcc "${flags[@]}" -O2 -fanalyzer -Wno-analyzer-malloc-leak -c -o /dev/null "$1" 2>&1 |
        grep -E 'error: |warning: .*\[-Wanalyzer' |
        grep -vEf <(sed '/^#/d' "$top/contrib/checks/analyzer.known")
}
with_tidy() {
    local about=(-include contrib/checks/analyze.h)
    [ "$1" != common/error.c ] || about=()
    clang-tidy --quiet "$1" -- "${flags[@]}" "${about[@]}" 2>/dev/null |
        sed "s,^$top/,,;s,^\\./,," | grep -E '^[^ ]+:[0-9:]+ (warning|error): ' |
        grep -vEf <(sed '/^#/d' "$top/contrib/checks/tidy.known")
}
run() { # run TOOL: its findings on stdout
    case $1 in
    gcc) each with_gcc ;;
    tidy) each with_tidy ;;
    cppcheck)
        # shellcheck disable=SC2086  # a list
        cppcheck -j "$jobs" --quiet --std=c11 --enable=warning,portability,performance \
            --inline-suppr --suppressions-list=contrib/checks/cppcheck.suppress \
            --template='{file}:{line}: {severity}: {message} [{id}]' \
            "${flags[@]:1}" -DHAVE_SLURM=1 '-DSPANK_PLUGIN(a,b)=' $rooms 2>&1 ;;
    *) echo "analyze: no tool $1" ;;
    esac
}
status=0
for tool in $tools; do
    case $tool in gcc | cppcheck) program=$tool ;; *) program=clang-$tool ;; esac
    command -v "$program" >/dev/null || { echo "$tool: not installed"; continue; }
    found=$(run "$tool" | sort -u)
    if [ -z "$found" ]; then
        echo "$tool: nothing in $(files | wc -l) files"
    else
        printf '%s\n' "$found"
        echo "$tool: $(wc -l <<<"$found") findings"
        status=1
    fi
done
exit $status
