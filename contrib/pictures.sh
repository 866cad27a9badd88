#!/bin/bash
# pictures.sh - makes docs/pictures/ anew: the report's page of a demonstration,
# light and dark, the card as text, which README.md shows, and pages of findings.md.
# By hand, after a change of the page.
#     contrib/pictures.sh [BUILD]
# Needs chromium; a picture stays below 200 kB.
set -eu
build=$(cd "${1:-build}" && pwd)
top=$(cd "$(dirname -- "$0")/.." && pwd)
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo "pictures.sh: no chromium" >&2; exit 1; }
work=$(mktemp -d) || exit 1
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

shoot() { # shoot NAME SCHEME PAGE [SIZE]: 0 is dark, 1 is light; at most 200 kB
    local colours
    "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size="${4:-1200,900}" \
        --virtual-time-budget=4000 --user-data-dir="$work/profile" \
        --blink-settings=preferredColorScheme="$2" \
        --screenshot="$work/$1.png" "file://$3" >/dev/null 2>&1
    # fewer colours where it is too large
    for colours in 0 128 64 32; do
        [ "$(stat -c %s "$1.png")" -ge 200000 ] || break
        [ "$colours" = 0 ] || ! command -v convert >/dev/null || convert "$1.png" -colors "$colours" "$1.png"
    done
    [ "$(stat -c %s "$1.png")" -lt 200000 ] || { echo "pictures.sh: $1.png is over 200 kB" >&2; exit 1; }
    cp "$1.png" "$top/docs/pictures/"
}
shoot report-light 1 "$step/report.html"
shoot report-dark 0 "$step/report.html"

# --- findings.md: a page whose finding it is ------------------------------------
finding() { # finding KIND FOLDER: the first screen
    grep -q "\"kind\": *\"$1\"" "$2/summary.json" || { echo "pictures.sh: no $1 in $2" >&2; exit 1; }
    shoot "finding-$1" 1 "$2/report.html" 1000,600
}
simulated() { # simulated KIND FAULT EFFECT SEED
    mkdir "logs-$1"
    "$build/tests/insight/sim_job" "logs-$1" "$2" "$3" "$4" >/dev/null
    # 1 and 3: it found something, or data is missing
    "$build/orchestrator/jobprof" aggregate -q --output "$work/out-$1" "logs-$1" >/dev/null 2>&1 || [ $? -le 3 ]
    finding "$1" "$work/out-$1"
}
make -C "$build" -s tests/insight/sim_job
"$top/quickstart" demo --hang --build="$build" >hang.txt
finding hang "$(sed -n 's|^ *report *\(.*\)/report.html$|\1|p' hang.txt)"
simulated late_node late-node 0.3 1
simulated slow_network slow-link 0.5 1
simulated drift drift 0.5 1
ls -l "$top/docs/pictures"
