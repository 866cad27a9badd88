#!/bin/sh
# attack.sh TEST...: runs a TAP script at its full length and shows what it says.
# Status 1 where a test failed, which the script's own status need not tell.
LONG=1
export LONG
out=$(mktemp) || exit 99
trap 'rm -f "$out"' EXIT
"$@" >"$out" 2>&1
status=$?
cat "$out"
if grep -q '^not ok' "$out"; then
    status=1
fi
exit $status
