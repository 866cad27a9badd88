#!/bin/sh
# bundle.sh - the charts' one script, out of src/ and ECharts, by npm and esbuild;
# packed, because it is most of a page.
#
# bundle.sh SOURCE WORK OUT [must]
# npm installs what SOURCE/package-lock.json pins into WORK. Where that fails (no
# network) OUT is the release's bundle, if SOURCE holds one, else it is empty and
# report.html goes without charts; with "must" it is a failure.
set -eu
source=$1 work=$2 out=$3 must=${4:-}
: "${NPM:=npm}"
mkdir -p "$work" "$(dirname "$out")"
source=$(cd "$source" && pwd)
work=$(cd "$work" && pwd)

install() {
    cp "$source/package.json" "$source/package-lock.json" "$work" &&
        (cd "$work" && "$NPM" ci --ignore-scripts --no-audit --no-fund \
            --prefer-offline --fetch-retries=1 --fetch-retry-mintimeout=1000 \
            --fetch-timeout=30000)
}

# Lines are kept short for C compilers; strings and comments of the libraries
# stay ASCII, so the page's bytes do not depend on a locale.
bundle() {
    NODE_PATH=$work/node_modules "$work/node_modules/.bin/esbuild" \
        "$source/src/main.js" --bundle --minify --format=iife \
        --target=es2020 --charset=ascii --line-limit=400 \
        --legal-comments=none --log-level=warning --outfile="$work/charts.js"
}

# What inflate.js of the page unpacks and runs. Licences stay to be read.
pack() {
    {
        cat "$source/notice.txt"
        echo 'jobprof.run(`'
        "${NODE:-node}" -e 'const fs = require("fs"), zlib = require("zlib");
            const code = fs.readFileSync(process.argv[1]);
            const packed = zlib.deflateRawSync(code, {level: 9});
            console.log(packed.toString("base64").replace(/.{1,400}/g, "$&\n"));
            ' "$work/charts.js"
        echo '`);'
    } >"$work/packed.js"
}

if { install && bundle && pack; } >"$work/log" 2>&1 </dev/null; then
    mv "$work/packed.js" "$out"
elif [ -n "$must" ]; then
    cat "$work/log" >&2
    echo "charts: not made" >&2
    exit 1
elif [ -s "$source/charts.bundle.js" ]; then
    echo "charts: npm failed ($work/log), taken as they were released" >&2
    # shellcheck disable=SC3013 # dash, bash and busybox have -ef
    [ "$source/charts.bundle.js" -ef "$out" ] ||
        cp "$source/charts.bundle.js" "$out"
    touch "$out"
else
    echo "charts: npm failed ($work/log), so report.html has tables only;" \
        "make charts tries again" >&2
    : >"$out"
fi
