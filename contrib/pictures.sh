#!/bin/bash
# pictures.sh - makes docs/pictures/ anew: the report's page of a demonstration,
# light and dark, and the card as text, which README.md shows. By hand, after a
# change of the page.
#     contrib/pictures.sh [BUILD]
# Needs chromium; a picture stays below 200 kB.
set -eu
build=$(cd "${1:-build}" && pwd)
top=$(cd "$(dirname -- "$0")/.." && pwd)
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo "pictures.sh: no chromium" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$top/quickstart" demo --build="$build" >card.txt
step=$(echo "$work"/demo-*/jobprof-1/step-0)
mkdir -p "$top/docs/pictures"
# the folder of the run is nobody's business
sed -n '/^$/q; p' card.txt | sed "s|$work/demo-[0-9-]*|/home/alice|" >"$top/docs/pictures/card.txt"
# README shows the same card
awk -v card="$top/docs/pictures/card.txt" '
    /^    jobprof: SLOW / { inside = 1; while ((getline line <card) > 0) print "    " line }
    /^$/ { inside = 0 }
    !inside' "$top/README.md" >README.md
cmp -s README.md "$top/README.md" || cat README.md >"$top/README.md"

shoot() { # shoot NAME SCHEME: 0 is dark, 1 is light
    local colours size=1200,900
    "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=$size \
        --virtual-time-budget=4000 --user-data-dir="$work/profile" \
        --blink-settings=preferredColorScheme="$2" \
        --screenshot="$work/$1.png" "file://$step/report.html" >/dev/null 2>&1
    # fewer colours where it is too large
    for colours in 0 128 64 32; do
        [ "$(stat -c %s "$1.png")" -ge 200000 ] || break
        [ "$colours" = 0 ] || ! command -v convert >/dev/null || convert "$1.png" -colors "$colours" "$1.png"
    done
    [ "$(stat -c %s "$1.png")" -lt 200000 ] || { echo "pictures.sh: $1.png is over 200 kB" >&2; exit 1; }
    cp "$1.png" "$top/docs/pictures/"
}
shoot report-light 1
shoot report-dark 0
ls -l "$top/docs/pictures"
