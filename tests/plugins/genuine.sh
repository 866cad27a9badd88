#!/bin/bash
# genuine.sh - drive NVIDIA's own plugins with the plans of plan_rows.c.
#
# By hand, after a build: tests/plugins/genuine.sh BUILDDIR PLUGINS
# PLUGINS holds <release>/libnccl-profiler-example.so and -inspector.so, for
# example 2.30.7/; needed libraries are found by LD_LIBRARY_PATH. Each plan of
# the table runs with the newest plugin of its minor release: does it start,
# how many operations does it keep of those that the plan promised, how much
# memory is resident beside the forecast. Figures: docs/dev/measurements.md.
set -eu
build=$1 plugins=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# The profiler interface that a release's plugin has; Inspector has v5 only.
interface() {
    case $1 in
    2.2[0-5]*) echo v2 ;; 2.26*) echo v3 ;; 2.27*) echo v4 ;;
    2.28*) echo v5 ;; *) [ "$2" = inspector ] && echo v5 || echo v6 ;;
    esac
}

# The plugin for a release: of the same minor release, else none.
plugin() {
    local minor
    minor=$(cut -d. -f1-2 <<<"$1")
    find -L "$plugins" -path "*/$minor*/libnccl-profiler-$2.so" | sort -V | tail -1
}

# Operations in the files: begins of COLL and P2P, or lines.
count() {
    if [ "$1" = example ]; then
        cat "$dir"/raw/*.json 2>/dev/null |
            grep -cE '"cat": "(COLL|P2P)", "ph": "b"' || true
    else
        cat "$dir"/raw/*.log 2>/dev/null | wc -l
    fi
}

# K of the simulator without a plugin
/usr/bin/time -f %M -o "$dir/rss" "$build/contrib/ncclsim/ncclsim" --rank 0 \
    --nranks 2 --ranks-per-node 2 --comms 1 --iterations 1 >/dev/null 2>&1
own=$(cat "$dir/rss")
printf '%-44s %-8s %9s %9s %10s %10s\n' plan release promised kept \
    'forecast K' 'resident K'
"$build/tests/plugins/test_plans" --print |
while IFS=$'\t' read -r name backend release shape promised env; do
    library=$(plugin "$release" "$backend")
    [ -n "$library" ] || { printf '%-44s %-8s no plugin\n' "$name" "$release"
                           continue; }
    read -r ntasks per_node iterations colls p2p comms channels rate <<<"$shape"
    read -r kept memory <<<"$promised"
    rm -rf "$dir/raw"
    mkdir "$dir/raw"
    # Inspector: evenly over the communicators, so that rate is each one's
    each=$((colls / comms))
    [ "$backend" = example ] || { iterations=$((iterations * each)) each=1; }
    args=(--interface "$(interface "$release" "$backend")" --rank 0
          --nranks "$((ntasks > 1 ? ntasks : 2))"
          --ranks-per-node "$((per_node > 1 ? per_node : 2))" --comms "$comms"
          --iterations "$iterations" --colls "$each" --channels "$channels")
    [ "$p2p" = 0 ] || args+=(--p2p-ops "$((p2p / comms))")
    if [ "$backend" = inspector ]; then
        args+=(--rate "$((rate * comms))")
    else
        args+=(--max-rate)
    fi
    # shellcheck disable=SC2086 # a list
    env $env NCCL_PROFILER_PLUGIN="$library" \
        NCCL_PROFILE_DUMP_FILE="$dir/raw/trace" NCCL_INSPECTOR_DUMP_DIR="$dir/raw" \
        /usr/bin/time -f %M -o "$dir/rss" \
        "$build/contrib/ncclsim/ncclsim" "${args[@]}" >"$dir/out" 2>&1 ||
        cat "$dir/out"
    seen=$(count "$backend") rss=$(tail -1 "$dir/rss") verdict=
    [ "$seen" -ge "$kept" ] || verdict="FEWER THAN PROMISED"
    [ "$seen" != 0 ] || verdict="DID NOT START: does this machine allow its memory?"
    [ "$memory" = 0 ] || [ $((rss - own)) -le $((memory * 3 / 2 / 1024)) ] ||
        verdict="$verdict MORE MEMORY THAN FORECAST"
    printf '%-44s %-8s %9s %9s %10s %10s %s\n' "$name" "$release" "$kept" \
        "$seen" "$((memory / 1024))" "$rss" "$verdict"
    [ -z "$verdict" ] || touch "$dir/bad"
done
[ ! -e "$dir/bad" ]
