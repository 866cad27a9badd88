#!/bin/bash
# removed.sh [-t|-s] [-k] NAME... - builds a copy of the last commit without these
# features: copper nsys cuda clock util live evidence history trial upload
# parquet flight gputime topodraw. One name is one copy without it; names with a
# comma between them are taken out together.
# -t: the copy's tests, programs and scripts, are built and have to pass.
# -s: the same, but only the scripts are run, and only what they start is built.
# -k: the copies are kept, as REMOVED_DIR/NAMES. What failed can be run again in
# the build folder there: make check TESTS=tests/report/five.test
#
# A feature is its folders below orchestrator/, plugins/ and tests/, their lines
# in Makefile.am and plugins/Makefile.inc, its rows of the registries, its keys of
# etc/jobprof.conf, and its object in the schema of summary.json. The rows are
# those of the symbols that the folders define. A test program elsewhere is the
# feature's if it includes a header of these folders or names its option. A script
# elsewhere leaves out what is about the feature (tests/features.sh).
# Not run in copies: what needs Slurm; scripts that say so with a reason, which is
# printed; scripts of tests/insight/, which simulate jobs for many minutes and use
# no feature; fuzz targets; contrib/checks/.
# Takes some minutes for each copy, with -t half an hour; remove.test asks less of
# all features in seconds. Copies are built in REMOVED_DIR, one after the other,
# each with its log beside it. JOBS is how many jobs make runs at a time (2), CC
# and CFLAGS are those of configure. Output is TAP.
#
#     removed.sh -t copper util,cuda
set -u
tests='' scripts='' keep=''
while getopts tsk option; do
    case $option in
    t) tests='test_[^/]*|[^/]*[.]test' ;;
    s) tests='[^/]*[.]test' scripts=1 ;;
    k) keep=1 ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { sed -n '2,/^#     /s/^# \{0,1\}//p' "$0"; exit 2; }
top=$(cd "$(dirname "$0")/../.." && pwd)
# copies at one place let ccache help
work=${REMOVED_DIR:-$(mktemp -d)} || exit 1
mkdir -p "$work"
[ -n "$keep" ] || trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL

# Takes a program of the tests out of the lists and rules of the makefiles, whose
# continued lines are joined.
drop_program() { # drop_program tests/ROOM/PROGRAM
    local rule=${1//[^a-zA-Z0-9]/_}

    sed -i -E -e "/^(EXTRA_)?${rule}_[A-Z]+ *[+=]/d" -e "s#(^|[ =])$1( |\$)#\\1\\2#g" tests/*/Makefile.inc
}

# The structs by which registries know the folders of a feature.
symbols_of() { # symbols_of NAME
    grep -hoE '^const struct (feature|command|node_module|backend) [a-z_]+ =' \
        "orchestrator/$1"/*.c "plugins/$1"/*.c 2>/dev/null | awk '{ print $4 }'
}

# Reports without a feature lack its objects: those that its struct and its tables
# name. The schema of the copy does not ask for them.
drop_objects() { # drop_objects NAME
    local schema=docs/summary.schema.json

    sed -n '/^  "required": \[/,/^  \]/s/^    "\([a-z_]*\)".*/\1/p' $schema | while read -r key; do
        ! grep -rqE --include='*.[ch]' "(\.name = |\.json = |_FEATURE )\"$key\"" "orchestrator/$1" ||
            sed -i "/^  \"required\": \[/,/^  \]/{/^    \"$key\",*\$/d}" $schema
    done
    sed -i -z 's/,\n  \]/\n  ]/' $schema # the last one
}

take_out() { # take_out NAME
    local registries=(orchestrator/feature/registry.c orchestrator/agent/modules.c
        orchestrator/cmd/jobprof.c orchestrator/cmd/jobprof_node.c) symbol

    [ -d "orchestrator/$1" ] || { echo "no feature $1"; return 1; }
    for symbol in $(symbols_of "$1"); do
        sed -i "/\\b$symbol\\b/d" "${registries[@]}"
    done
    drop_objects "$1"
    # its group of settings, its key in the group of another, and what else no
    # source names any more
    [ ! -d "plugins/$1" ] ||
        sed -i -e "/^$1 = {\$/,/^};\$/d" -e "/^ *##*$1 = /d" etc/jobprof.conf
    rm -rf "orchestrator/$1" "plugins/$1" "tests/$1"
    sed -n 's/^ *##*\([a-z_]*\) = .*/\1/p' etc/jobprof.conf | sort -u |
        while read -r key; do
            grep -rqwF -e "\"$key\"" common plugins orchestrator ||
                sed -i "/^ *##*$key = /d" etc/jobprof.conf
        done
    sed -i "\\#/$1/[A-Za-z]*[.]inc#d" Makefile.am plugins/Makefile.inc
    sed -i -e "s#tests/$1/[a-z_]*[.][ch] *##g" -e '/^ *\\$/d' tests/Makefile.inc
}

# Nothing but tests may need the features; theirs go.
drop_users() { # drop_users "NAME|NAME"
    local names=$1 options file

    ! grep -rnE --include='*.[ch]' "#include \"(orchestrator|plugins)/($names)/" \
        common plugins spank orchestrator contrib || return 1
    options=$(tr '[:lower:]' '[:upper:]' <<<"$names")
    sed -i -e ':a; /\\$/{N; s/[ \t]*\\\n[ \t]*/ /; ba}' tests/*/Makefile.inc
    grep -rlE --include='*.c' -e "#include \"(orchestrator|plugins|tests)/($names)/" \
        -e "\\bOPTION_($options)\\b" tests | while read -r file; do
        drop_program "${file%.c}"
    done
}

# Scripts that are about all features together say so in a line that begins with
# this; their reason follows.
whole='^# Not run without a feature (removed[.]sh): '

# The tests that the copy has to pass.
tests_to_pass() {
    make -s --eval='names:; @echo $(TESTS)' names | tr ' ' '\n' |
        grep -E "^tests/[a-z_]*/($tests)\$" |
        grep -v '^tests/insight/.*[.]test$' |
        while read -r test; do
            ! grep -qs "$whole" "../$test" || continue
            printf '%s ' "$test"
        done
}

# The programs that scripts start: those of the tests that are no tests themselves.
helpers() {
    make -s --eval='names:; @echo $(check_PROGRAMS)' names | tr ' ' '\n' | grep -v '/test_' |
        tr '\n' ' '
}

build() { # build NAMES, with | between them
    autoreconf -i 2>&1 || return 1
    mkdir build && cd build || return 1
    ../configure CC="${CC:-gcc}" CFLAGS="${CFLAGS:--g1 -O1}" --enable-silent-rules >/dev/null || return 1
    make -j"${JOBS:-2}" || return 1
    # what a shell starts with & ignores SIGINT, and so would tests of signals
    [ -z "$tests" ] || env --default-signal=INT,QUIT \
        make -k -j"${JOBS:-2}" check TESTS="$(tests_to_pass)" \
        ${scripts:+check_PROGRAMS="$(helpers)"}
}

n=0 failed=0
for names; do
    n=$((n + 1))
    copy=$work/tree
    [ -z "$keep" ] || copy=$work/$names
    rm -rf "$copy"
    mkdir "$copy"
    git -C "$top" archive HEAD | tar -x -C "$copy"
    if (
        cd "$copy" || exit 1
        for name in ${names//,/ }; do
            take_out "$name" || exit 1
        done
        drop_users "${names//,/|}" && build
    ) >"$copy.log" 2>&1; then
        echo "ok $n - without $names, $(grep -c '^PASS: ' "$copy.log") checks passed"
        [ -z "$tests" ] || (cd "$copy" && grep -r --include='*.test' "$whole" tests) |
            LC_ALL=C sort | sed 's/:# Not run [^:]*: /: /; s/^/#   not run: /'
    else
        echo "not ok $n - without $names"
        {
            grep -E '^(FAIL|ERROR): |: (fatal )?error: |undefined reference|:#include "' \
                "$copy.log" | head -n 20
            grep -h -A 3 '^not ok' "$copy"/build/tests/*/*.log | head -n 20
            tail -n 3 "$copy.log"
        } 2>/dev/null | sed 's/^/#   /'
        failed=1
    fi
done
echo "1..$n"
exit $failed
