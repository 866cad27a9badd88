#!/bin/bash
# bench.sh - the join against every floor it has, as ratios of one run.
#
# Only such ratios carry over to other machines. "join" is dump_result: logs to
# the finished result in memory; "aggregate" the command with all its files. The
# time of DuckDB is compared where node resolves @duckdb/node-api in
# $BENCH_DUCKDB (a folder with its node_modules).
#   BENCH_SCALE  size of the data (1: 64 ranks with 1.15 GB, and 256 and 1,024
#                ranks with as much)
#   BENCH_RUNS   repetitions, of which the median counts (3)
#   BENCH_STRICT 1: exit status 1 if a floor is not met
set -eu
export LC_ALL=C
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
top_builddir=${top_builddir:-.}
gen=${GEN_LOGS:-$top_builddir/tests/aggregate/gen_logs}
gen_jpr=${GEN_JPR:-$top_builddir/tests/aggregate/gen_jpr}
dump=${DUMP_RESULT:-$top_builddir/tests/aggregate/dump_result}
bare=${BARE_INFLATE:-$top_builddir/tests/aggregate/bare_inflate}
jobprof=${JOBPROF:-$top_builddir/orchestrator/jobprof}
scale=${BENCH_SCALE:-1}
runs=${BENCH_RUNS:-3}
duck=${BENCH_DUCKDB:-}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
missed=0

# Median seconds of commands, run in turn so that the machine's load affects all
# of them: each argument is one, its words split at blanks. One number a line.
medians() {
    local k from command
    for _ in $(seq "$runs"); do
        k=0
        for command; do
            k=$((k + 1))
            from=$(date +%s.%N)
            # shellcheck disable=SC2086 # a list
            $command > "$work/out" 2> "$work/err" || [ $? = 3 ] || {
                echo "failed: ${command::200}: $(tail -1 "$work/err")" >&2
                kill $$
            }
            echo "$k $from $(date +%s.%N)"
        done
    done | awk '{ printf "%d %.5f\n", $1, $3 - $2 }' | sort -k1,1n -k2,2n |
        awk -v runs="$runs" '++n[$1] == int((runs + 1) / 2) { print $2 }'
}

# One floor: WHAT VALUE OF FLOOR at-most|at-least UNIT
floor() {
    local verdict
    verdict=$(echo "$2 $4" | awk -v kind="$5" '{
        print (kind == "at-most" ? $1 <= $2 : $1 >= $2) ? "met" : "NOT MET" }')
    [ "$verdict" = met ] || missed=1
    printf '  %-44s %8s %-12s floor %s %s: %s\n' \
        "$1" "$2" "$3" "${5/-/ }" "$4" "$verdict"
}

ratio() { # A B: A / B
    echo "$1 $2" | awk '{ printf "%.2f", $1 / ($2 > 0 ? $2 : 1e-5) }'
}

speed() { # WHAT SECONDS MEGABYTES
    echo "$2 $3" | awk -v what="$1" '{
        printf "  %-44s %8.3f s %9.0f MB/s\n", what, $1, $2 / $1 }'
}

# Peak memory of the join with one thread against 16 MB + 80 B a row, and
# against what closing communicators early should leave of it.
memory() { # FOLDER
    local mb rows
    mb=$(peak_mb "$dump" -t 1 stat "$1")
    rows=$(($("$dump" -t 1 join "$1" | wc -l) - 1))
    floor "peak memory, $rows rows" "$mb" MB \
        "$(echo "$rows" | awk '{ printf "%.1f", 16 + 80 * $1 / 1e6 }')" at-most
    floor "the same, communicators closed early" "$mb" MB \
        "$(echo "$rows" | awk '{ printf "%.1f", 16 + 12 * $1 / 1e6 }')" at-most
}

peak_mb() { # COMMAND...
    command time -f %M "$@" 2>&1 > /dev/null | tail -1 |
        awk '{ printf "%.1f", $1 * 1024 / 1e6 }'
}

have_duckdb() {
    [ -n "$duck" ] && (cd "$duck" && node -e 'require("@duckdb/node-api")') \
        2> "$work/err"
}

against_duckdb() { # WHAT FOLDER ENDING FLOOR
    local threads t
    if ! have_duckdb; then
        echo "  DuckDB: not compared"
        return
    fi
    for threads in 1 2; do
        t=$(cd "$duck" && medians \
            "node $script $2 $3 $threads $work" "$dump -t $threads stat $2")
        # shellcheck disable=SC2086 # a list
        floor "$1: DuckDB, $threads threads, takes" "$(ratio $t)" "x ours" \
            "$4" at-least
    done
}

make_set() { # NAME NODES ITERATIONS CHANNELS
    mkdir "$work/$1"
    "$gen" -o "$work/$1" -n "$2" -r 8 -c "$4" \
        -i "$(echo "$3 $scale" | awk '{ n = int($1 * $2); print n ? n : 1 }')"
    mb=$(cat "$work/$1"/* | wc -c | awk '{ print $1 / 1e6 }')
    echo "$1: $mb MB in $(find "$work/$1" -type f | wc -l) files"
}

plain() { # NAME: wc -l, one thread, two, the whole command
    # shellcheck disable=SC2046 # a list
    set -- "$1" $(medians "wc -l $(echo "$work/$1"/*.log)" \
        "$dump -t 1 stat $work/$1" "$dump -t 2 stat $work/$1" \
        "$jobprof aggregate -q --threads 1 --output $work/report $work/$1")
    speed "wc -l" "$2" "$mb"
    speed "join, 1 thread" "$3" "$mb"
    speed "aggregate with all its files, 1 thread" "$5" "$mb"
    floor "join, 1 thread" "$(ratio "$3" "$2")" "x wc -l" 4 at-most
    floor "aggregate, 1 thread" "$(ratio "$5" "$2")" "x wc -l" 4 at-most
    floor "2 threads, 1 thread takes" "$(ratio "$3" "$4")" "x" 1.6 at-least
    rm -rf "$work/report"
}

packed() { # FOLDER: becomes .gz
    gzip -6 "$1"/*.log
    # shellcheck disable=SC2046 # a list
    set -- "$1" $(medians "$bare $(echo "$1"/*.gz)" "$dump -t 1 stat $1" \
        "$bare -z $(echo "$1"/*.gz)")
    echo "gz: $("$bare") $(cat "$1"/*.gz | wc -c | awk '{ print $1 / 1e6 }') MB"
    speed "bare inflate" "$2" "$mb"
    speed "bare inflate by zlib" "$4" "$mb"
    speed "join, 1 thread" "$3" "$mb"
    # by zlib's time, because a faster library must not make the floor harder:
    # ISA-L inflates at twice the speed of the parser
    floor "gz: join, 1 thread" "$(ratio "$3" "$4")" "x zlib" 1.5 at-most
    echo "  gz: join, 1 thread: $(ratio "$3" "$2") x its own library's bare inflate"
}

# Partials of BENCH_NODES nodes of 8 ranks (4096: a report of 32,768 ranks), of
# few operations each, and of one node with many.
partials() {
    local k dir=$work/step nodes=${BENCH_NODES:-64} tools line t
    tools=$(dirname "$dump")
    mkdir -p "$dir/raw" "$dir/one"
    "$gen" -o "$dir/one/n0" -n 4 -r 8 -i 19200 -k 0
    "$tools/make_partials" "$dir/one" "$dir/partials"
    line=$(for k in 1 2 3; do "$tools/merge_partials" "$dir/partials"; done |
        sort -t: -k2 -n | sed -n 2p)
    echo "partials: $line"
    floor "merging" "$(echo "$line" | sed 's/.*: \([0-9.]*\) million.*/\1/')" \
        "million/s" 15 at-least
    echo "partials: $(gzip -1 < "$dir/partials/n0/partial.jpp" | wc -c) bytes of it by gzip -1"
    for ((k = 0; k < nodes; k++)); do
        "$gen" -o "$dir/raw/n$k" -n "$nodes" -r 8 -i 10 -k $k
        "$tools/make_partials" -s "$dir/raw" "$dir/nodes" n$k
    done
    echo "partials of $nodes nodes: $("$tools/merge_partials" "$dir/nodes")"
    t=$(medians "$dump -t 2 -P $dir/nodes none $dir/raw")
    floor "partials of $nodes nodes: figures" "$t" s 30 at-most
    floor "the same, peak memory" \
        "$(peak_mb "$dump" -t 2 -P "$dir/nodes" none "$dir/raw")" MB 500 at-most
    rm -rf "$dir"
}

# The same records in the recorder's format.
recordings() { # FOLDER-OF-LOGS
    local ops log
    mkdir "$work/jpr"
    for log in "$1"/*.log; do
        "$gen_jpr" -l "$log" > "$work/jpr/$(basename "$log" .log).jpr"
    done
    ops=$(cat "$1"/*.log | wc -l)
    medians "$dump -t 1 stat $work/jpr" "$dump -t 1 stat $1" | paste - - |
        awk -v ops="$ops" -v bytes="$(cat "$work/jpr"/* | wc -c)" '{
            printf "  recordings: %.1f B a record, %.2f M records/s (JSON %.2f)\n",
                   bytes / ops, ops / $1 / 1e6, ops / $2 / 1e6 }'
    rm -rf "$work/jpr"
}

# What timelines add to the partial of a node with 8 ranks, recorded: bytes, and
# time of the node's finish.
timelines() {
    local tools log dir=$work/timelines ops t small large
    tools=$(dirname "$dump")
    mkdir -p "$dir/logs" "$dir/raw/n0"
    "$gen" -o "$dir/logs" -n 1 -r 8 -i "$(echo "$scale" | awk '{
        n = int(2400 * $1); print n ? n : 1 }')"
    for log in "$dir/logs"/*.log; do
        "$gen_jpr" -l "$log" > "$dir/raw/n0/$(basename "$log" .log).jpr"
    done
    ops=$(cat "$dir/logs"/*.log | wc -l)
    t=$(medians "$tools/make_partials -w $dir/raw $dir/without" \
        "$tools/make_partials $dir/raw $dir/with")
    small=$(stat -c %s "$dir/without/n0/partial.jpp")
    large=$(stat -c %s "$dir/with/n0/partial.jpp")
    # shellcheck disable=SC2086 # a list
    echo $t | awk -v ops="$ops" -v small="$small" -v large="$large" '{
        printf "  timelines: %d records; partial %.2f MB, with timelines %.2f MB\n",
               ops, small / 1e6, large / 1e6
        printf "  timelines: made in %.3f s, with timelines %.3f s\n", $1, $2 }'
    floor "timelines in a partial" "$(echo "$small $large $ops" | awk '{
        printf "%.1f", ($2 - $1) / $3 }')" "B/record" 10 at-most
    # shellcheck disable=SC2046,SC2086 # two numbers
    floor "a partial with timelines takes" \
        "$(ratio $(echo $t | awk '{ print $2, $1 }'))" "x without" 2 at-most
    rm -rf "$dir"
}

# The same records as later versions of Inspector write them, against v4.0: the
# words of v4.2, keys that no reader knows at six places (constant ones, and
# numbers that differ in each line), and the batches of v4.3.
newer() {
    local kind t dir=$work/newer
    mkdir -p "$dir"
    "$gen" -o "$dir/v4.0" -n 8 -r 8 -i "$(echo "$scale" | awk '{
        n = int(600 * $1); print n ? n : 1 }')"
    cp -r "$dir/v4.0" "$dir/v4.2"
    sed -i 's/"coll":"[A-Za-z]*",/&"coll_algo":"RING","coll_proto":"LL",/' "$dir"/v4.2/*
    cp -r "$dir/v4.2" "$dir/unknown"
    sed -i -E 's/,"coll_sn":([0-9]+)/,"a":"x"&,"b":\1/; s/,"coll_algobw/,"c":[1,2]&/
        s/,"pid"/,"d":1&/; s/,"nnodes"/,"e":null&/; s/\}\}$/,"f":"x"}}/' "$dir"/unknown/*
    mkdir "$dir/v4.3"
    for kind in "$dir"/v4.2/*; do
        # a dump in 2,000 lines, a batch of each communicator
        awk -v size=2000 '
            function dump(  i) {
                for (i = 1; i <= n; i++) {
                    printf("%s\"dump_stats\":{\"coll_records\":%d,\"coll_dropped_total\":0," \
                        "\"coll_dropped_since_last_dump\":0,\"p2p_records\":0,\"p2p_dropped_total\"" \
                        ":0,\"p2p_dropped_since_last_dump\":0}}\n%s", head[i], count[i], rest[i])
                    count[i] = 0
                    rest[i] = ""
                }
                n = 0
                split("", at)
            }
            { cut = index($0, "\"coll_perf\"")
                id = substr($0, 1, 40)
                if (!(id in at)) {
                    at[id] = ++n
                    head[n] = substr($0, 1, cut - 1)
                }
                count[at[id]]++
                rest[at[id]] = rest[at[id]] "{" substr($0, cut) "\n"
            }
            NR % size == 0 { dump() }
            END { dump() }' "$kind" > "$dir/v4.3/${kind##*/}"
    done
    t=$(medians "$dump -t 1 stat $dir/v4.0" "$dump -t 1 stat $dir/v4.2" \
        "$dump -t 1 stat $dir/unknown" "$dump -t 1 stat $dir/v4.3")
    # shellcheck disable=SC2086 # a list
    set -- $t
    floor "algorithm and protocol (v4.2): a record" "$(ratio "$2" "$1")" "x v4.0" 1.3 at-most
    floor "unknown keys: a record" "$(ratio "$3" "$1")" "x v4.0" 1.8 at-most
    floor "batches (v4.3): a record" "$(ratio "$4" "$1")" "x v4.0" 1.3 at-most
    rm -rf "$dir"
}

script=$(cd "$top_srcdir" && pwd)/tests/aggregate/duckdb.mjs
for tool in gen gen_jpr dump bare jobprof; do
    declare "$tool=$(realpath "${!tool}")"
done
make_set j64 8 2400 0
plain j64
memory "$work/j64"
against_duckdb plain "$work/j64" .log 4
recordings "$work/j64"
cat "$work/j64"/*.log > "$work/huge.log"
echo "one file of $mb MB"
mkdir "$work/huge" && mv "$work/huge.log" "$work/huge"
t=$(medians "$dump -t 1 stat $work/huge" "$dump -t 2 stat $work/huge")
# shellcheck disable=SC2086 # a list
floor "2 threads, 1 thread takes" "$(ratio $t)" x 1.6 at-least
rm -rf "$work/huge"
packed "$work/j64"
against_duckdb gz "$work/j64" .gz 3
rm -rf "$work/j64"
for set in "j256 32 600" "j1024 128 150"; do
    # shellcheck disable=SC2086 # a list
    make_set $set 0
    plain "${set%% *}"
    memory "$work/${set%% *}"
    rm -rf "${work:?}/${set%% *}"
done
make_set v64 8 400 12
plain v64
memory "$work/v64"
against_duckdb verbose "$work/v64" .log 4
rm -rf "$work/v64"
make_set odd 8 600 0
sed -i 's/"coll":\("[A-Za-z]*"\),"coll_sn":\([0-9]*\)/"coll_sn":\2,"coll":\1/' \
    "$work"/odd/*.log
t=$(medians "$dump -t 1 stat $work/odd")
speed "unexpected order of keys, 1 thread" "$t" "$mb"
against_duckdb "unexpected order" "$work/odd" .log 1
rm -rf "$work/odd"
newer
mkdir "$work/small"
"$gen" -o "$work/small" -n 2 -r 4 -i 10
t=$(medians "$dump stat $work/small" |
    awk '{ printf "%.1f", $1 * 1000 }')
floor "small job (8 files)" "$t" ms 20 at-most
partials
timelines
[ "${BENCH_STRICT:-0}" != 1 ] || exit "$missed"
