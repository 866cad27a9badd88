#!/bin/sh
# bundle.sh - the charts' one script, out of src/ and ECharts, by esbuild; packed,
# because it is most of a page.
#
# bundle.sh SOURCE WORK OUT [must]
# bundle.sh SOURCE sum
# SOURCE holds the bundle that was made last, with the hash of what it was made of.
# If that is still the same, it is copied, without a network. "must" makes it anew,
# "sum" prints the hash.
# What SOURCE/package-lock.json pins is installed into WORK: by npm, or where NPM is
# empty by curl from $npm_config_registry. npm alone would be 370 packages more in a
# bare Debian. Where that fails (no network) OUT is the release's bundle, if SOURCE
# holds one, else it is empty and report.html goes without charts; with "must" it is
# a failure.
set -eu
# The hash of all that decides the bundle's bytes.
sum() { # SOURCE
    (cd "$1" && find src -type f | LC_ALL=C sort |
        xargs cat package.json package-lock.json notice.txt bundle.sh | sha256sum |
        cut -d ' ' -f 1)
}
if [ "${2-}" = sum ]; then
    sum "$1"
    exit
fi
source=$1 work=$2 out=$3 must=${4:-}
if [ -z "$must" ] && [ -s "$source/charts.bundle.js" ] &&
    [ "$(sum "$source")" = "$(cat "$source/charts.bundle.sum" 2>/dev/null)" ]; then
    mkdir -p "$(dirname "$out")"
    # shellcheck disable=SC3013 # dash, bash and busybox have -ef
    [ "$source/charts.bundle.js" -ef "$out" ] || cp "$source/charts.bundle.js" "$out"
    touch "$out"
    exit
fi
mkdir -p "$work" "$(dirname "$out")"
source=$(cd "$source" && pwd)
work=$(cd "$work" && pwd)
tool=${NPM:-curl}
tool=${tool##*/}

by_npm() {
    cp "$source/package.json" "$source/package-lock.json" "$work" &&
        (cd "$work" && "$NPM" ci --ignore-scripts --no-audit --no-fund \
            --prefer-offline --fetch-retries=1 --fetch-retry-mintimeout=1000 \
            --fetch-timeout=30000)
}

# "name version integrity" of what the bundle is made of: all that the page uses,
# and esbuild's program for this machine
pinned() {
    case $(uname -m) in
    x86_64) machine=x64 ;;
    aarch64) machine=arm64 ;;
    ppc64le) machine=ppc64 ;;
    loongarch64) machine=loong64 ;;
    *) machine=$(uname -m) ;;
    esac
    awk -v program="@esbuild/linux-$machine" '
        function value(line) {
            sub(/^[^:]*: "/, "", line)
            sub(/",?$/, "", line)
            return line
        }
        /^    "node_modules\// {
            name = $1
            sub(/^"node_modules\//, "", name)
            sub(/":$/, "", name)
            dev = 0
        }
        name == "" { next }
        /^      "version":/ { version = value($0) }
        /^      "integrity":/ { integrity = value($0) }
        /^      "dev": true/ { dev = 1 }
        /^    }/ {
            if (!dev || name == program) print name, version, integrity
            name = ""
        }' "$source/package-lock.json"
}

# The registry's tarball of a package, with the hash that the lock file has.
fetch() { # NAME VERSION INTEGRITY
    registry=${npm_config_registry:-https://registry.npmjs.org}
    "${CURL:-curl}" -fsSL --retry 1 --connect-timeout 30 --max-time 120 \
        -o "$work/package.tgz" "${registry%/}/$1/-/${1##*/}-$2.tgz" || return
    is=sha512-$(sha512sum <"$work/package.tgz" | cut -d ' ' -f 1)
    must_be=sha512-$(printf %s "${3#sha512-}" | base64 -d | od -An -v -tx1 | tr -d ' \n')
    if [ "$is" != "$must_be" ]; then
        echo "$1 $2: its hash is $is, package-lock.json has $must_be"
        return 1
    fi
    mkdir -p "$work/node_modules/$1" &&
        tar -xzf "$work/package.tgz" --strip-components=1 -C "$work/node_modules/$1"
}

by_curl() {
    rm -rf "$work/node_modules"
    pinned >"$work/pinned"
    while read -r name version integrity; do
        fetch "$name" "$version" "$integrity" || return
    done <"$work/pinned"
    rm -f "$work/package.tgz"
}

# Lines are kept short for C compilers; strings and comments of the libraries
# stay ASCII, so the page's bytes do not depend on a locale.
bundle() {
    esbuild=$(ls -d "$work"/node_modules/@esbuild/*/bin/esbuild) || return
    NODE_PATH=$work/node_modules "$esbuild" \
        "$source/src/main.js" --bundle --minify --format=iife \
        --target=es2020 --charset=ascii --line-limit=400 \
        --legal-comments=none --log-level=warning --outfile="$work/charts.js"
}

# What inflate.js of the page unpacks and runs: gzip's deflate without its header of
# 10 bytes and its trailer of 8. Licences stay to be read.
pack() {
    {
        cat "$source/notice.txt"
        echo 'jobprof.run(`'
        gzip -9 -n <"$work/charts.js" | tail -c +11 | head -c -8 | base64 -w 400
        echo '`);'
    } >"$work/packed.js"
}

install() {
    if [ -n "${NPM-}" ]; then by_npm; else by_curl; fi
}

if { install && bundle && pack; } >"$work/log" 2>&1 </dev/null; then
    mv "$work/packed.js" "$out"
elif [ -n "$must" ]; then
    cat "$work/log" >&2
    echo "charts: not made" >&2
    exit 1
elif [ -s "$source/charts.bundle.js" ]; then
    echo "charts: $tool failed ($work/log), taken as they were released" >&2
    # shellcheck disable=SC3013 # dash, bash and busybox have -ef
    [ "$source/charts.bundle.js" -ef "$out" ] ||
        cp "$source/charts.bundle.js" "$out"
    touch "$out"
else
    echo "charts: $tool failed ($work/log), so report.html has tables only;" \
        "make charts tries again" >&2
    : >"$out"
fi
