#!/bin/bash
# open_html.sh - open pages in headless Chromium; a message on the console, a
# request to the network or an empty page is a failure.
#
# open_html.sh FILE...    CHROMIUM_FLAGS are passed on; DUMP=FILE keeps the last page's DOM. Without Chromium
# it says so and succeeds: a caller that must know asks for it first.
set -u
browser=${CHROMIUM:-$(command -v chromium || command -v chromium-browser ||
    command -v google-chrome)}
[ -n "$browser" ] || { echo "open_html: no chromium: not opened" >&2; exit 0; }

# The browser's own calls (updates, time) are not the page's.
own='clients2.google.com|update.googleapis.com|accounts.google.com'
own="$own|[a-z.-]*\.gstatic.com|[a-z.-]*optimizationguide[a-z.-]*|\
[a-z.-]*googleapis.com"

# Its DOM, log and requests to WORK. The browser may be slow to start where much
# else runs: that is not the page's fault.
run_browser() { # FILE WORK
    local work=$2
    # shellcheck disable=SC2086 # a list
    HOME=$work timeout -k 2 90 "$browser" --headless --no-sandbox \
        --disable-gpu --disable-quic --disable-dev-shm-usage --no-first-run \
        --disable-background-networking --disable-component-update \
        --disable-default-apps --disable-extensions --disable-sync --no-pings \
        --host-resolver-rules='MAP * ~NOTFOUND' \
        ${CHROMIUM_FLAGS:-} --user-data-dir="$work/profile" --enable-logging=stderr \
        --log-net-log="$work/net.json" --dump-dom "file://$1" \
        >"$work/dom" 2>"$work/log"
}

open_page() { # FILE
    local file work log urls rc=0
    file=$(realpath -- "$1") && work=$(mktemp -d) || return 1
    log=$work/log
    run_browser "$file" "$work" || {
        echo "$1: chromium ended with status $?, once more" >&2
        rm -rf "$work/profile"
        run_browser "$file" "$work"
    } || { echo "$1: chromium failed: $(tail -n 1 "$log")" >&2; rc=1; }
    if grep -F CONSOLE "$log" >&2; then
        echo "$1: messages on the console" >&2
        rc=1
    fi
    urls=$(grep -oE '"url":"(https?|wss?|ftp)://[^"]*"' "$work/net.json" |
        grep -vE "\"(https?)://($own)[:/]" | sort -u)
    [ -z "$urls" ] || { echo "$1: requests: $urls" >&2; rc=1; }
    grep -q '</section>' "$work/dom" || { echo "$1: empty" >&2; rc=1; }
    [ -z "${DUMP:-}" ] || cp "$work/dom" "$DUMP"
    rm -rf "$work"
    return $rc
}

status=0
for page; do open_page "$page" || status=1; done
exit $status
