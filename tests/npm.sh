# npm.sh - packages of npm that tests compare with: installed once into the build
# folder, for all of them. Sourced by bash; needs top_srcdir's tests and top_builddir.
# shellcheck shell=bash

# npm_packages NEEDED...: prints the folder where node finds them; fails where they are
# neither there nor can be had, and under sanitizers, which have nothing to say of them.
npm_packages() {
    local folder=${top_builddir:?}/tests/npm
    [ -z "${JP_SANITIZED:-}" ] && command -v node >/dev/null || return
    mkdir -p "$folder" && folder=$(cd "$folder" && pwd) || return
    # who comes while another installs waits for that; what failed is not tried by all
    (
        flock 9 || exit
        ! npm_has "$folder" "$@" || exit 0
        command -v npm >/dev/null && cd "$folder" && [ -z "$(find . -maxdepth 1 -name tried -mmin -10)" ] || exit
        : >tried
        timeout 240 npm install --silent --no-audit --no-fund --ignore-scripts \
            --prefer-offline @duckdb/node-api@1.5.6-r.1 hyparquet@1.31.5 \
            hyparquet-compressors@1.1.2 parquet-wasm@0.8.0 apache-arrow@21.2.0 \
            @elastic/elasticsearch@9 >log 2>&1
        npm_has "$folder" "$@"
    ) 9>"$folder/lock" || return
    echo "$folder"
}
npm_has() { # npm_has FOLDER NEEDED...: DuckDB also has a part for each kind of machine
    (cd "$1" && shift && node -e 'for (const p of process.argv.slice(1))
        p.startsWith("@duckdb") ? require(p) : require.resolve(p)' "$@") 2>/dev/null
}
