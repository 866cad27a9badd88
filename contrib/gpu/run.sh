#!/bin/bash
# run.sh - the recorder under NCCL itself, on a machine with a GPU.
#
# Every check runs a pattern of contrib/gpu/ncclrun with the recorder, and
# compares what was recorded with what the program issued and what CUDA events
# timed. releases() below says what to expect of which release.
# shellcheck disable=SC2317  # the checks are called by number
set -u
export LC_ALL=C
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 2

usage() {
    cat <<'END'
Usage: run.sh [--nccl PREFIX]... [--ranks N] [--out DIR] [--host-ids] [CHECK...]
       run.sh --simulate [--nccl X.Y.Z]... [--out DIR] [CHECK...]

Checks the recorder against installed releases of NCCL; it builds none. PREFIX
holds one, as NVIDIA's and Debian's packages and PyTorch's wheels install it:
include/nccl.h, and libnccl.so.2 in lib/, lib64/ or lib/<machine>/. Without
--nccl it is the system's. The CUDA runtime is the loader's (LD_LIBRARY_PATH).
Build first: make check-gpu GPU='...' does, and calls this.

  --ranks N     2; on fewer GPUs they share, which NCCL allows from 2.30 on
  --host-ids    ... or before that, each rank as if on a host of its own: over
                the network's sockets, so graphs are told as with a network
  --out DIR     what each check leaves (a new folder below $TMPDIR)
  --simulate    ncclsim in NCCL's place, as these releases; no GPU is needed

   1 allreduce  1,000 AllReduces: all recorded, times as CUDA events say
   2 sendrecv   groups of Send and Recv of 1 KB and 4 MB: the program lives
   3 alltoall   100 AlltoAlls, then AllReduces: no time of another operation
   4 hang       an AlltoAll that a rank does not enter: who is missing
   5 graphs     replays, alone and mixed with eager calls
   6 graphcost  160 AllReduces of 64 KB in a graph: time of a replay
   7 progress   CPU time of NCCL's progress thread
   8 latency    AllReduces of 8 B to 128 MB, with and without the recorder
   9 group      groups of 32 AllReduces: their time counts once
  10 edges      8 communicators, split, abort, non-blocking, windows, fork, _exit

Exit status: 0, 1 a check failed, 2 usage or something is missing. A check that
this machine or release cannot run is skipped, with the reason.
END
}

# What is expected of a release and all that follow it.
#  auto, 1    whether kernel events are asked for with kernels=auto and =1: then
#             all operations have times
#  graph      what is recorded of a graph of K AllReduces, replayed N times on
#             one host, without kernel events and with. NCCL tells a replay only
#             where a host function is in the plan, which KernelCh brings
#  eager      whether eager calls are told while a graph is alive
#  hang       whether a hung AlltoAll names the rank that is missing
releases() {
    cat <<'END'
# release auto 1 graph:0 graph:1 eager hang
2.23      no   no   0    0       no    no
2.24      no   no   0    0       yes   no
2.27      no   yes  K    K*N     yes   yes
2.28      yes  yes  K    K*N     yes   yes
END
}
GROSS=10       # times slower with the recorder: not ok
TOLERANCE=5    # percent between the recorder and CUDA events
CALLBACK='aim 20 ns, limit 27.6'

die() { echo "run.sh: $*" >&2; exit 2; }

# --- a release ---------------------------------------------------------------

# expect RELEASE: auto, forced, graph_0, graph_1, eager, names_missing
expect() {
    local from row
    unset auto
    while read -r from row; do
        case $from in '#'*) continue ;; esac
        [ "$(printf '%s\n' "$from" "$1" | sort -V | head -n 1)" = "$from" ] || continue
        read -r auto forced graph_0 graph_1 eager names_missing <<<"$row"
    done < <(releases)
    [ -n "${auto:-}" ] || return 1
    # a network's proxies are told at each replay
    [ -z "$host_ids" ] || graph_0='K*N' graph_1='K*N' eager=yes
}

is_from() { [ "$(printf '%s\n' "$1" "$release" | sort -V | head -n 1)" = "$1" ]; }

find_library() { # PREFIX
    local lib
    [ "$1" != system ] || { echo libnccl.so.2; return; }
    for lib in "$1"/lib/libnccl.so.2 "$1"/lib64/libnccl.so.2 "$1"/lib/*/libnccl.so.2; do
        [ -e "$lib" ] && { echo "$lib"; return; }
    done
    return 1
}

# --- running -----------------------------------------------------------------

# run NAME KERNELS ARGUMENT...: a pattern into $out/NAME; KERNELS is auto, 0, 1,
# or off: without the recorder. $status
run() {
    local name=$1 kernels=$2 plugin=$RECORDER
    shift 2
    dir=$out/$label/$name
    rm -rf "$dir"
    mkdir -p "$dir/rec" || exit 2
    [ "$kernels" != off ] || plugin=none
    (
        unset "${!JOBPROF_RECORDER@}"
        export NCCL_PROFILER_PLUGIN=$plugin JOBPROF_RECORDER_DIR=$dir/rec
        export JOBPROF_RECORDER_KERNELS=$kernels
        export NCCL_SET_THREAD_NAME=1 NCCL_DEBUG=${NCCL_DEBUG:-WARN}
        [ "$kernels" != off ] || unset JOBPROF_RECORDER_KERNELS
        if [ -n "$simulate" ]; then
            simulate "$@"
        else
            # shellcheck disable=SC2086 # a word, or none
            timeout -k 5 300 "$RUN" --nccl "$library" --ranks "$ranks" --out "$dir" $host_ids "$@"
        fi
    ) >"$dir/log" 2>&1
    status=$?
    for f in "$dir"/rec/*.jpr; do
        [ ! -e "$f" ] || "$DUMP" "$f"
    done >"$dir/dump"
}

# simulate PATTERN [--count N] [--per N]: ncclsim in ncclrun's place
simulate() {
    local pattern=$1 count per=4 r pids=() rc=0 o
    shift
    while [ $# -gt 1 ]; do
        case $1 in --count) count=$2 ;; --per) per=$2 ;; esac
        shift 2
    done
    o=(--nranks "$ranks" --ranks-per-node "$ranks" --nccl-version "$release" --counts "$dir")
    case $pattern in
    allreduce) o+=(--colls 1 --iterations "$count") ;;
    sendrecv) o+=(--colls 0 --p2p-ops 4 --mixed-protocols --iterations "$count") ;;
    alltoall) o+=(--colls 1 --alltoall --iterations "$count") ;;
    hang) o+=(--colls 0 --alltoall --iterations 60 --seconds 4
        --fault "hang-alltoall=$((ranks - 1)):comm0:10") ;;
    graph) o+=(--colls "$per" --graph 1 --iterations "$count") ;;
    graph-mix) o+=(--colls "$per" --graph 1 --graph-mix --iterations "$count") ;;
    # in real time, in which the GPU's clock is not ahead of the host's
    group) o+=(--colls "$per" --group "$per" --iterations "$count" --rate 20000/s) ;;
    esac
    for ((r = 0; r < ranks; r++)); do
        if [ "$pattern" = hang ]; then
            timeout -s KILL 2.5 "$SIM" --rank "$r" "${o[@]}" &
        else
            timeout -k 5 60 "$SIM" --rank "$r" "${o[@]}" &
        fi
        pids+=($!)
    done
    for r in "${pids[@]}"; do wait "$r" || rc=$?; done
    [ "$pattern:$rc" != hang:137 ] || rc=3
    return "$rc"
}

# --- what came of it ---------------------------------------------------------

# count TEXT...: lines of the dump that have all of them
count() {
    awk 'BEGIN { for (i = 1; i < ARGC; i++) { text[i] = ARGV[i]; ARGV[i] = "" } }
        { for (i in text) if (!index($0, text[i])) next; n++ }
        END { print n + 0 }' "$@" <"$dir/dump"
}
recorded() { count '"type":"op"' "$@"; }
timed() { echo $(($(recorded "$@") - $(recorded "$@" '"exec_ns":0,'))); }

# what the last snapshots hold in flight
in_flight() {
    awk '/"type":"header"/ { file++ }
        /"type":"inflight"/ {
            split($0, p, /"at_ns":/); at = p[2] + 0
            if (at != last[file]) { last[file] = at; n[file] = 0 }
            n[file] += /"none":false/ }
        END { for (f in n) sum += n[f]; print sum + 0 }' "$dir/dump"
}

# calls that NCCL told no operation of
unseen() {
    awk '/"type":"header"/ { file++ }
        /"type":"unseen"/ { key = $0; sub(/,"calls":.*/, "", key); split($0, p, /"calls":/)
            n[file key] = p[2] + 0 }
        END { for (k in n) sum += n[k]; print sum + 0 }' "$dir/dump"
}

# a callback's time
callback() {
    awk '/"type":"header"/ { file++ }
        /"type":"cost"/ { split($0, p, /"timed":/); split($0, q, /"timed_ns":/)
            n[file] = p[2] + 0; ns[file] = q[2] + 0 }
        END { for (f in n) { a += n[f]; b += ns[f] } printf "%.1f ns", a ? b / a : 0 }' "$dir/dump"
}

# issued OP [BYTES]: operations, and their time in us, that the program says
issued() {
    if [ -n "$simulate" ]; then # all of one size
        grep -ho '"batch_ns":[0-9]*\|"cells":.*' "$dir"/counts-*.json | awk -v op="$1" '
            /batch_ns/ { split($0, p, ":"); us += p[2] / 1000; next }
            { k = split($0, c, /"func":"/)
              for (i = 2; i <= k; i++) if (index(c[i], op "\"") == 1) {
                  split(c[i], p, /"ops":/); n += p[2] } }
            END { print n + 0, us + 0 }'
        return
    fi
    cat "$dir"/ops-*.json | awk -v op="\"op\":\"$1\"" -v bytes="${2:-}" '
        /"span":/ && index($0, op) {
            split($0, b, /"bytes":/); split($0, p, /"n":/); split($0, u, /"us":/)
            if (bytes != "" && b[2] + 0 != bytes) next
            n += p[2]; us += u[2] }
        END { print n + 0, us + 0 }'
}

# off BYTES: percent between an AllReduce's mean time as jobprof reports it and
# as the program's events say it; - where there is none
off() {
    "$JOBPROF" aggregate -q --output "$dir/report" "$dir/rec" >"$dir/report.log" 2>&1 || true
    [ -e "$dir/report/csv/cells.csv" ] || { echo -; return; }
    issued AllReduce "$1" | awk -F, -v bytes="$1" -v any="$simulate" '
        FNR == NR { split($0, i, " "); mean = i[1] ? i[2] / i[1] : 0; next }
        FNR == 1 { for (k = 1; k <= NF; k++) at[$k] = k; next }
        $at["coll"] == "AllReduce" && (any || $at["msg_size_bytes"] == bytes) &&
            $at["exec_mean_us"] > 0 {
            got += $at["ops"] * $at["exec_mean_us"]; n += $at["ops"] }
        END { if (!n || !mean) print "-"
              else { d = 100 * (got / n / mean - 1); printf "%.1f\n", d < 0 ? -d : d } }
        ' - "$dir/report/csv/cells.csv"
}
within() { # PERCENT: yes or no
    awk -v p="$1" -v most="$TOLERANCE" 'BEGIN { print p == "-" ? "none" : p <= most ? "yes" : "no" }'
}

# --- verdicts ----------------------------------------------------------------

verdict() { # NAME EXPECTED GOT [FIGURES]
    local word=ok
    [ "$2" = "$3" ] || { word='not ok'; failed=1; }
    echo "$word $check $1: expected $2, got $3${4:+ ($4)}"
    [ "$word" = ok ] || { sed 's/^/    /' "$dir/log" | tail -n 5; }
    note "$word"
}
skip() { # NAME REASON
    echo "skipped $check $1: $2"
    note skipped
}
note() { # the worst of a check's words counts
    case ${table[$label:$check]:-}:$1 in
    'not ok':*) ;;
    *:'not ok') table[$label:$check]='not ok' ;;
    ok:skipped) ;;
    *) table[$label:$check]=$1 ;;
    esac
}
has_gpu() { # NAME: what ncclsim cannot stand for
    [ -z "$simulate" ] && return
    skip "$1" 'needs a GPU'
    return 1
}

# --- the checks --------------------------------------------------------------

check_1() {
    local n=1000 want mean
    want=$((ranks * (n + warm_up)))
    run allreduce auto allreduce --count "$n"
    if [ "$auto" = yes ]; then
        mean=$(off $((64 << 20)))
        verdict allreduce "status 0, recorded $want, timed $want, within $TOLERANCE %: yes" \
            "status $status, recorded $(recorded), timed $(timed), within $TOLERANCE %: $(within "$mean")" \
            "$mean % off"
    else
        verdict allreduce "status 0, recorded $want, timed 0" \
            "status $status, recorded $(recorded), timed $(timed)"
    fi
}

check_2() {
    local n=100
    run sendrecv auto sendrecv --count "$n"
    verdict sendrecv "status 0, recorded $((4 * n * (ranks - 1) * ranks))" \
        "status $status, recorded $(recorded)"
}

check_3() {
    local n=100 clean=0 want=none mean=- timed=0
    # of a communicator without messages to oneself; ncclsim's has none
    [ -n "$simulate" ] || clean=$((ranks * (n + warm_up)))
    run alltoall auto alltoall --count "$n"
    if [ "$auto" = yes ] && [ "$clean" -gt 0 ]; then
        want=yes mean=$(off $((32 << 20))) timed=$clean
    fi
    verdict alltoall \
        "status 0, recorded $((2 * ranks * ranks * n)) + $((ranks * n + clean)), timed $timed, within $TOLERANCE %: $want" \
        "status $status, recorded $(recorded '"kind":"p2p"') + $(recorded '"func":"AllReduce"'), timed $(timed '"func":"AllReduce"'), within $TOLERANCE %: $(within "$mean")" \
        "$mean % off"
}

check_4() {
    local answer
    run hang auto hang --count 100 --seconds 15
    answer=$("$JOBPROF" show --pending "$dir/rec" 2>/dev/null | head -n 1 |
        sed -E 's/^rank ([0-9]+) .* never entered .*; ([0-9]+) of ([0-9]+) ranks .*/rank \1 is missing, \2 of \3 wait/
            s/^the oldest in flight is .*/in flight/')
    if [ "$names_missing" = no ]; then
        verdict hang 'status 3, in flight' "status $status, $answer"
        return
    fi
    verdict hang "status 3, rank $((ranks - 1)) is missing, $((ranks - 1)) of $ranks wait" \
        "status $status, $answer"
    [ -z "$simulate" ] || return 0 # HANG is said from 10 s on
    "$JOBPROF" aggregate -q --output "$dir/report" "$dir/rec" >"$dir/report.log" 2>&1
    verdict 'hang, report' '"word":"HANG"' \
        "$(tr -d ' \n' <"$dir/report/summary.json" | grep -o '"word":"[A-Z]*"')"
}

# graph_of KERNELS ASKED: N replays of K; ASKED: kernel events are asked for
graph_of() {
    local K=4 N=1000 want timed=0 all
    # shellcheck disable=SC2004 # an expression
    want=$((ranks * ($graph_0)))
    if [ "$2" = yes ]; then
        # shellcheck disable=SC2004 # an expression
        want=$((ranks * ($graph_1)))
        timed=$want
    fi
    run "graph-$1" "$1" graph --count "$N" --per "$K"
    verdict "graph, kernels=$1" "status 0, recorded $want, timed $timed" \
        "status $status, recorded $(recorded), timed $(timed)"
    # beside eager calls NCCL's times are of other replays: few are left
    run "graph-mix-$1" "$1" graph-mix --count "$N" --per "$K"
    [ "$eager" = no ] || want=$((want + ranks * N / (simulate ? 1 : 10)))
    all=$(recorded) timed=$(timed)
    [ $((10 * timed)) -gt "$all" ] || timed=few
    verdict "graph-mix, kernels=$1" "status 0, recorded $want, timed few" \
        "status $status, recorded $all, timed $timed"
}

check_5() {
    graph_of 0 no
    graph_of auto "$auto"
    graph_of 1 "$forced"
}

# slower NAME WITH WITHOUT FIGURES: the verdict of two times
slower() {
    verdict "$1" "at most x$GROSS" \
        "$(awk -v a="$2" -v b="$3" -v most="$GROSS" 'BEGIN {
            if (b > 0 && a <= most * b) print "at most x" most
            else if (b > 0) printf "x%.1f\n", a / b
            else print "no time" }')" "$4"
}

check_6() {
    local k us=() n
    has_gpu graphcost || return
    for k in off 0 auto 1; do
        run "graphcost-$k" "$k" graph --count 100 --per 160 --bytes 64K
        us+=("$(issued AllReduce | awk '{ printf "%.1f", $1 ? 160 * $2 / $1 : 0 }')")
    done
    slower graphcost "${us[2]}" "${us[0]}" \
        "a replay: without ${us[0]} us, kernels=0 ${us[1]}, auto ${us[2]}, 1 ${us[3]}"
}

check_7() {
    local k text=
    has_gpu progress || return
    for k in off auto 1; do
        run "progress-$k" "$k" allreduce --count 1000
        text+=" $k $(cat "$dir"/ops-*.json | awk '
            { split($0, w, /"wall_us":/); split($0, c, /"cpu_us":/) }
            /"wall_us"/ { wall += w[2] } /"thread":"NCCL Progress/ { cpu += c[2] }
            END { printf "%.1f %%", wall ? 100 * cpu / wall : 0 }'),"
    done
    verdict progress 'status 0' "status $status" "CPU of a rank's progress thread:${text%,}"
}

check_8() {
    local k bytes worst
    has_gpu latency || return
    for k in off auto 1; do
        run "latency-$k" "$k" latency
        for ((bytes = 8; bytes <= 128 << 20; bytes *= 2)); do
            cat "$dir"/ops-*.json | awk -v bytes="$bytes" '
                index($0, "\"bytes\":" bytes ",") { split($0, p, /"n":/); split($0, u, /"us":/)
                    if (u[2] + 0 > 0) { n += p[2]; us += u[2] } }
                END { printf "%.2f\n", n ? us / n : 0 }'
        done >"$out/$label/latency.$k"
    done
    for ((bytes = 8; bytes <= 128 << 20; bytes *= 2)); do echo "$bytes"; done |
        paste - "$out/$label"/latency.{off,auto,1} |
        awk 'BEGIN { print "    bytes without auto kernels=1 (us)" } { print "    " $1, $2, $3, $4 }' |
        column -t | sed 's/^/    /'
    worst=$(paste "$out/$label"/latency.{off,auto} |
        awk '{ r = $1 > 0 ? $2 / $1 : 0; if (r > w) w = r } END { print w + 0 }')
    slower latency "$worst" "$([ "$worst" = 0 ] && echo 0 || echo 1)" \
        "at worst x$worst; a callback $(callback), $CALLBACK"
}

check_9() {
    local n=50 each=32 want=none mean=-
    run group auto group --count "$n" --per "$each"
    [ "$auto" = no ] || want=yes mean=$(off $((4 << 20)))
    verdict group \
        "status 0, recorded $((ranks * (n * each + warm_up))), within $TOLERANCE %: $want" \
        "status $status, recorded $(recorded), within $TOLERANCE %: $(within "$mean")" "$mean % off"
}

edge() { # NAME OPERATIONS: recorded or in flight or told by their calls only
    run "edge-$1" auto "edge-$1" --count 20
    [ "$status" != 77 ] || { skip "$1" "not in NCCL $release"; return; }
    verdict "$1" "status 0, $((ranks * $2)) known, $ranks files" \
        "status $status, $(($(recorded) + $(in_flight) + $(unseen))) known, $(find "$dir/rec" -name '*.jpr' | wc -l) files" \
        "recorded $(recorded), in flight $(in_flight), by their calls only $(unseen)"
}

check_10() {
    has_gpu edges || return
    edge eight 160
    edge split 60
    edge abort 20
    edge nonblocking 20
    # of symmetric kernels 2.27 tells nothing at all
    if is_from 2.28 || ! is_from 2.27; then
        edge windows 20
    else
        skip windows 'NCCL 2.27 tells nothing of symmetric kernels'
    fi
    edge fork 40
    edge exit 20
}

# --- all of it ---------------------------------------------------------------

run_checks() {
    local probe gpus
    if [ -n "$simulate" ]; then
        release=$1 gpus=$ranks
    else
        library=$(find_library "$1") || die "$1 has no libnccl.so.2"
        probe=$("$RUN" --nccl "$library" --probe 2>&1) || die "$1: $probe"
        read -r release gpus <<<"$probe"
    fi
    label=$release
    while [[ " ${labels[*]} " == *" $label "* ]]; do label+=+; done # once more
    labels+=("$label")
    expect "$release" || die "NCCL $release has no profiler interface"
    echo "# NCCL $release: $ranks ranks$([ -n "$simulate" ] && echo ', simulated' || echo " on $gpus GPUs, $1")"
    for check in "${checks[@]}"; do
        if [ "$gpus" -lt "$ranks" ] && [ -z "$host_ids" ] && ! is_from 2.30; then
            skip "$(name_of "$check")" "needs $ranks GPUs"
        else
            "check_$check"
        fi
    done
}

name_of() { usage | awk -v n="$1" '$1 == n { print $2 }'; }

show_table() {
    local c l
    printf '\n%-14s' ''
    printf '%-10s' "${labels[@]}"
    for c in "${checks[@]}"; do
        printf '\n%2d %-11s' "$c" "$(name_of "$c")"
        for l in "${labels[@]}"; do printf '%-10s' "${table[$l:$c]:--}"; done
    done
    echo
}

prefixes=() checks=() labels=() ranks=2 out='' simulate='' host_ids='' failed=0
declare -A table
while [ $# -gt 0 ]; do
    case $1 in
    --nccl | --ranks | --out) [ $# -gt 1 ] || die "$1 needs a value" ;;&
    --nccl) prefixes+=("$2"); shift ;;
    --ranks) ranks=$2; shift ;;
    --out) out=$2; shift ;;
    --simulate) simulate=1 ;;
    --host-ids) host_ids=--host-ids ;;
    --help) usage; exit 0 ;;
    [1-9] | 10) checks+=("$1") ;;
    *) die "what is $1? see --help" ;;
    esac
    shift
done
[[ $ranks =~ ^[0-9]+$ ]] && [ "$ranks" -ge 2 ] && [ "$ranks" -le 64 ] || die 'from 2 to 64 ranks'
[ ${#checks[@]} -gt 0 ] || checks=(1 2 3 4 5 6 7 8 9 10)
[ ${#prefixes[@]} -gt 0 ] || {
    prefixes=(system)
    [ -z "$simulate" ] || prefixes=(2.23.4 2.24.3 2.26.2 2.27.7 2.28.9 2.29.7 2.30.7)
}
warm_up=5 # operations before those of allreduce and group, and in alltoall
[ -z "$simulate" ] || warm_up=0
build=${top_builddir:-$top/build}
RUN=$build/contrib/gpu/ncclrun SIM=$build/contrib/ncclsim/ncclsim
RECORDER=$build/plugins/nccl_recorder/.libs/libnccl-profiler-jobprof.so
DUMP=$build/tests/nccl_recorder/jprdump JOBPROF=$build/orchestrator/jobprof
for f in "$RUN" "$SIM" "$RECORDER" "$DUMP" "$JOBPROF"; do
    [ -e "$f" ] || die "$f is not there: make check-gpu builds it (top_builddir=$build)"
done
[ -n "$out" ] || out=$(mktemp -d "${TMPDIR:-/tmp}/jobprof-gpu.XXXXXX") || exit 2
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)

for p in "${prefixes[@]}"; do run_checks "$p"; done
show_table
echo "# kept: $out"
exit $failed
