#!/bin/bash
# removed.sh NAME... - builds a copy of the last commit without these features.
#
# A feature is its folders below orchestrator/, plugins/ and tests/, their lines
# in Makefile.am and plugins/Makefile.inc, and its rows of the registries. All
# programs have to build without them. TESTS names tests that are run then; the
# fixtures that tests share still name some options, so not every feature leaves
# tests that can be built. Takes minutes; remove.test asks less of all features
# in seconds.
#
#     removed.sh copper
#     removed.sh util cuda        (cuda is a knob of util's option)
set -eu
[ $# -gt 0 ] || { sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 2; }
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
git -C "$top" archive HEAD | tar -x -C "$work"
cd "$work"

# Takes a program of the tests out of the lists and rules of the makefiles.
drop_program() { # drop_program tests/ROOM/PROGRAM
    local rule=${1//[^a-zA-Z0-9]/_}

    sed -i -e ":a; /\\\\$/{N; ba}; /^${rule}_[A-Z]* *[+=]/d" tests/*/Makefile.inc
    sed -i -e "s#\\(^\\|[ =]\\)$1\\([ ]\\|\$\\)#\\1\\2#g" tests/*/Makefile.inc
}

gone=
for name; do
    gone="$gone${gone:+|}$name"
    rm -rf "orchestrator/$name" "plugins/$name" "tests/$name"
    sed -i "\\#/$name/[A-Za-z]*[.]inc#d" Makefile.am plugins/Makefile.inc
    sed -i "/feature_$name\\b/d" orchestrator/feature/registry.c
    sed -i "/\\b${name}_module\\b/d" orchestrator/agent/modules.c
    sed -i "/command_$name\\b/d" orchestrator/cmd/jobprof.c
    sed -i -e "s#tests/$name/[a-z_]*[.][ch] *##g" -e '/^ *\\$/d' tests/Makefile.inc
    # the second feature of the folder
    [ "$name" != util ] || sed -i '/feature_cause\b/d' orchestrator/feature/registry.c
done

# nothing but tests may need them
if grep -rnE --include="*.[ch]" "#include \"(orchestrator|plugins)/($gone)/" common plugins spank \
    orchestrator contrib; then
    echo "the lines above include headers of $*"
    exit 1
fi
grep -rlE "#include \"(orchestrator|plugins|tests)/($gone)/" tests | while read -r file; do
    [ "${file%.c}" = "$file" ] || drop_program "${file%.c}"
done

autoreconf -i >/dev/null 2>&1
mkdir build
cd build
../configure CC="${CC:-gcc}" CFLAGS="${CFLAGS:--g1 -O1}" --enable-silent-rules >/dev/null
${MAKE:-make} -j"${JOBS:-2}" >/dev/null
[ -z "${TESTS:-}" ] || ${MAKE:-make} check TESTS="$TESTS"
