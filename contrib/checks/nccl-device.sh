#!/bin/bash
# nccl-device.sh - compare contrib/fakecuda/layout.c with the debug information of
# an installed NCCL, by gdb. By hand, and by tests/nccl_genuine where both are there.
#
# Usage: nccl-device.sh LIBNCCL VERSION
# VERSION is the release as ncclGetVersion() says it (22809). Exit status 1 where
# something differs, 2 where the layout is not known, 77 without debug information.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
[ $# -eq 2 ] || { sed -n '5,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# our numbers: MEMBER NUMBER, and what gdb is asked for each
cat >"$work/ours.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include "contrib/fakecuda/layout.h"
#define OFFSET(column, type, member)                                           \
    printf("%u (int)(unsigned long)&((struct " #type " *)0)->" #member "\n",   \
           (unsigned) l->column);
#define LATER(column, type, member)                                            \
    if (l->column) OFFSET(column, type, member)
#define SIZE(column, type)                                                     \
    printf("%u (int)sizeof(struct " #type ")\n", (unsigned) l->column);
int main(int argc, char **argv)
{
    const struct layout *l = argc > 1 ? layout_find(atoi(argv[1])) : NULL;

    if (!l)
        return 1;
    LAYOUT_OFFSETS(OFFSET)
    LAYOUT_LATER(LATER)
    LAYOUT_SIZES(SIZE)
    return 0;
}
END
${CC:-cc} -I"$top" -o "$work/ours" "$work/ours.c" "$top/contrib/fakecuda/layout.c" || exit 2
"$work/ours" "$2" >"$work/rows" || { echo "no layout of $2 in layout.c"; exit 2; }
[ "$2" -ge 22800 ] || sed -i 's/ncclKernelComm/ncclDevComm/' "$work/rows"
sed 's/^[0-9]* \(.*\)/printf "%d\\n", \1/' "$work/rows" >"$work/ask"
gdb -batch -x "$work/ask" "$1" >"$work/theirs" 2>"$work/err" || {
    echo "no debug information in $1: $(tail -n 1 "$work/err")"
    exit 77
}
paste "$work/theirs" "$work/rows" | awk '
    $1 != $2 { print "  theirs " $1 ", ours " $2 ": " $3 " " $4; bad++ }
    END { print bad ? "DIFFERS" : "same", NR " members"; exit bad > 0 || NR < 40 }'
