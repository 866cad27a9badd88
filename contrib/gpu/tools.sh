#!/bin/bash
# tools.sh - each of jobprof's tools on a machine with a GPU: what it keeps,
# whether its times are right, what it costs; one table.
#
# A part runs the program without and with its tool by turns, so that both have
# the same weather, and compares what the tool kept with what the program did.
# It runs in a process of its own: no part ends another one.
# shellcheck disable=SC2015,SC2030,SC2031,SC2317  # parts are called by name, in
# processes of their own
set -u
export LC_ALL=C
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 2

usage() {
    cat <<'END'
Usage: tools.sh [--nccl PREFIX] [--inspector LIBRARY] [OPTION]... [PART...]
       tools.sh --simulate [OPTION]... [PART...]

Prints a table of Markdown: what each tool keeps of what the program does, how
far its times are off, and what it costs. PREFIX holds NCCL as for run.sh; the
system's without it. Build first: make measure-gpu GPU='...' does, and calls
this.

  --inspector FILE  NVIDIA's libnccl-profiler-inspector.so (PREFIX/lib/...)
  --nvml FILE       libnvidia-ml.so.1 (the loader's)
  --ranks N         of the program (2); they share GPUs as in run.sh
  --host-ids        see run.sh
  --count N         AllReduces of a rank (2000)
  --bytes SIZE      of an AllReduce (1M)
  --rounds N        pairs of runs, without and with the tool (10)
  --seconds N       that NVML and nvidia-smi watch together (10)
  --out DIR         what each part leaves (a new folder below $TMPDIR)
  --simulate        stand-ins for NCCL, CUDA and NVML: no GPU is needed, and
                    the costs are those of the stand-ins

END
    parts | sed 's/^/  /'
    cat <<'END'

Exit status: 0 each part was ok or had to be left out, 1 a part failed, 2 usage
or something is missing that all parts need. What is left out is said in a
line, with the reason.
END
}

parts() {
    cat <<'END'
recorder   jobprof's own plugin for NCCL
inspector  NVIDIA's plugin for NCCL, for comparison
nvml       samples of the node's agent, beside nvidia-smi's
cuda       counters of CUDA calls (--util-profile=cuda=1)
nsys       NVIDIA Nsight Systems
together   recorder, samples and counters at once
END
}

GROSS=10     # times slower with a tool: not ok
TOLERANCE=5  # percent between a tool's mean time and CUDA events
PERIOD=200   # ms between samples, the agent's and nvidia-smi's
# Which of the agent's samples nvidia-smi has, too: column, factor, name, the
# difference that is fine in percent, or in its unit. NVML's older call counts
# memory that the driver keeps for itself.
smi_rows() {
    cat <<'END'
sm 100 utilization.gpu 10 10
memory_used 9.5367431640625e-07 memory.used 5 1024
power 1 power.draw 10 15
sm_clock 1 clocks.sm 5 60
END
}

die() { echo "tools.sh: $*" >&2; exit 2; }

# --- a part's end: these leave its process -----------------------------------

# A row of the table, with its verdict
finish() { # KEPT OF OFF [REMARK]
    local cost verdict=ok why='' median spread
    cost=$(overhead)
    [ "$1" -ge "$least" ] || why="kept $1, wanted $least"
    awk -v p="$3" -v most="$TOLERANCE" 'BEGIN { exit p == "-" || p + 0 <= most }' &&
        why="${why:+$why, }times are $3 % off"
    case ${cost##*,} in
    gross) # a stand-in's run of some ms says nothing of costs
        [ -n "$simulate" ] || why="${why:+$why, }more than $GROSS times slower"
        ;;
    none) why="${why:+$why, }the program told no time" ;;
    esac
    [ -z "$wrong" ] || why="${why:+$why, }$wrong"
    [ -z "$why" ] || verdict="not ok: $why"
    IFS=, read -r median spread _ <<<"$cost"
    echo "| $part | $1 | $2 | $([ "$3" = - ] && echo - || echo "$3 %") | $median | $spread | $verdict${4:+; $4} |" >>"$out/table"
    echo "${verdict%%:*} $part: ${why:-kept $1 of $2, overhead $median}"
    [ "$verdict" = ok ] && exit 0
    show_log
    exit 1
}
leave() { # REASON
    echo "| $part | - | - | - | - | - | left out: $1 |" >>"$out/table"
    echo "left out $part: $1"
    exit 0
}
broken() { # REASON
    echo "| $part | - | - | - | - | - | not ok: $1 |" >>"$out/table"
    echo "not ok $part: $1"
    show_log
    exit 1
}
show_log() { [ ! -s "$dir/log" ] || tail -n 5 "$dir/log" | sed 's/^/    /'; }

# --- running -----------------------------------------------------------------

# clocked FUNCTION...: its wall time goes to $dir/ns
clocked() {
    local from rc
    from=$(date +%s%N)
    "$@"
    rc=$?
    echo $(($(date +%s%N) - from)) >"$dir/ns"
    return "$rc"
}

# nccl [COMMAND...]: the program, by the command before it; $dir has its files
nccl() { clocked run_nccl "$@"; }
run_nccl() {
    local r pids=() rc=0 o
    if [ -z "$simulate" ]; then
        # shellcheck disable=SC2086 # a list
        timeout -k 5 300 "$@" "$RUN" --nccl "$library" --ranks "$ranks" --out "$dir" \
            --count "$count" --bytes "$bytes" $host_ids allreduce
        return
    fi
    o=(--nranks "$ranks" --ranks-per-node "$ranks" --nccl-version 2.30.7 --counts "$dir"
        --colls 1 --bytes "$bytes" --iterations "$count" "${pace[@]}")
    for ((r = 0; r < ranks; r++)); do
        SLURM_PROCID=$r timeout -k 5 120 "$@" "$SIM" --rank "$r" "${o[@]}" &
        pids+=($!)
    done
    for r in "${pids[@]}"; do wait "$r" || rc=$?; done
    return "$rc"
}

# What calls CUDA: the same, or the stand-in of a program that does.
cuda() {
    [ -n "$simulate" ] || { nccl; return; }
    clocked env LD_LIBRARY_PATH="$build/contrib/fakegpu/.libs" timeout -k 5 120 "$CALLS" "$@" \
        "launch*$((ranks * count))" sync:20
}

# An operation's time in us, as the program's events say; else, by the clock
figure() {
    if [ -z "$simulate" ]; then
        issued | awk '{ printf "%.3f\n", $1 ? $2 / $1 : 0 }'
    else
        awk -v n=$((ranks * count)) '{ printf "%.3f\n", $1 / 1000 / n }' "$dir/ns"
    fi
}
issued() { # operations and their time in us
    if [ -n "$simulate" ]; then
        grep -ho '"batch_ns":[0-9]*\|"func":"AllReduce","bytes":[0-9]*,"ops":[0-9]*' "$dir"/counts-*.json |
            awk -F: '/batch_ns/ { us += $2 / 1000 } /func/ { n += $NF } END { print n + 0, us + 0 }'
        return
    fi
    cat "$dir"/ops-*.json | awk 'index($0, "\"op\":\"AllReduce\"") && /"span":/ {
        split($0, p, /"n":/); split($0, u, /"us":/); n += p[2]; us += u[2] }
        END { print n + 0, us + 0 }'
}

# once HOW COMMAND...: a run of it; its figure goes to $here/HOW
once() {
    local how=$1 rc
    shift
    dir=$here/$how.$round
    rm -rf "$dir"
    mkdir -p "$dir/rec" || exit 2
    # what the caller's own environment says of profilers is not the program's
    (
        unset "${!JOBPROF_@}" "${!NCCL_INSPECTOR_@}" CUDA_INJECTION64_PATH
        export NCCL_PROFILER_PLUGIN=none
        "$@"
    ) >"$dir/log" 2>&1
    rc=$?
    [ "$rc" = 0 ] || broken "the program's exit status is $rc $how the tool"
    figure >>"$here/$how"
}

# pairs WITHOUT WITH: $rounds pairs of them, which change who is first
pairs() {
    mkdir -p "$here" || exit 2
    for ((round = 1; round <= rounds; round++)); do
        [ $((round % 2)) = 1 ] || once with "$2"
        once without "$1"
        [ $((round % 2)) = 0 ] || once with "$2"
    done
    dir=$here/with.$rounds
}
# median,least to most,fine or gross or none
overhead() {
    paste "$here/without" "$here/with" | awk '$1 > 0 { print $2 / $1 }' | sort -g | awk -v gross="$GROSS" '
        { r[NR] = $1 }
        END { if (!NR) { print "-,-,none"; exit }
              m = NR % 2 ? r[(NR + 1) / 2] : (r[NR / 2] + r[NR / 2 + 1]) / 2
              printf "%+.1f %%,%+.1f to %+.1f %%,%s\n", 100 * (m - 1), 100 * (r[1] - 1),
                  100 * (r[NR] - 1), m <= gross ? "fine" : "gross" }'
}

plain() { nccl; }
# both have CUPTI: the library loads it else
plain_cuda() { cuda late; }

# --- the plugins for NCCL ----------------------------------------------------

# kept DIR: AllReduces that a report of these logs has, and percent between its
# mean time and the program's
kept() {
    "$JOBPROF" aggregate -q --output "$here/report" "$1" >"$here/report.log" 2>&1
    [ -e "$here/report/csv/cells.csv" ] || { echo '0 -'; return; }
    issued | awk -F, '
        FNR == NR { split($0, i, " "); mean = i[1] ? i[2] / i[1] : 0; next }
        FNR == 1 { for (k = 1; k <= NF; k++) at[$k] = k; next }
        $at["coll"] == "AllReduce" { n += $at["records"]
            if ($at["exec_mean_us"] > 0) {
                got += $at["ops"] * $at["exec_mean_us"]; timed += $at["ops"] } }
        END { d = timed && mean ? 100 * (got / timed / mean - 1) : 0
              if (!timed || !mean) d = "-"; else d = sprintf("%.1f", d < 0 ? -d : d)
              print n + 0, d }' - "$here/report/csv/cells.csv"
}

with_recorder() { nccl env NCCL_PROFILER_PLUGIN="$RECORDER" JOBPROF_RECORDER_DIR="$dir/rec"; }
part_recorder() {
    local n off
    pairs plain with_recorder
    read -r n off < <(kept "$dir/rec")
    finish "$n" "$least" "$off"
}

with_inspector() {
    local path=${LD_LIBRARY_PATH:-}
    # it needs a CUDA runtime that finds a GPU
    [ -z "$simulate" ] || path=${path:+$path:}$build/contrib/fakegpu/.libs
    nccl env LD_LIBRARY_PATH="$path" NCCL_PROFILER_PLUGIN="$inspector" NCCL_INSPECTOR_ENABLE=1 \
        NCCL_INSPECTOR_DUMP_DIR="$dir/rec" \
        NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS=500
}
part_inspector() {
    local n off all=$least
    [ -n "$inspector" ] || leave 'no libnccl-profiler-inspector.so: --inspector names one'
    [ -e "$inspector" ] || leave "$inspector is not there"
    least=1            # it looks at its newest operation now and then, and keeps that
    pace=(--rate 2000/s) # a thread of its looks at the clock, not at ncclsim's GPU
    pairs plain with_inspector
    read -r n off < <(kept "$dir/rec")
    finish "$n" "$all" "$off"
}

# --- the agent's samples -----------------------------------------------------

# Nothing of ours is left where somebody ends us with Ctrl-C.
helpers=()
helper() { # PID
    helpers+=("$1")
    trap 'kill "${helpers[@]}" 2>/dev/null' EXIT
}

# start_agent STEP: $agent
start_agent() {
    local n
    (umask 077 && mkdir -p "$1/nodes/n0" && : >"$here/site")
    [ -z "$nvml" ] || echo "nvml_library = \"$nvml\";" >"$here/site"
    SLURM_JOB_ID=$$ SLURM_STEP_ID=0 "$NODE" agent --dir "$1" --node n0 --nodeid 0 \
        --component 12 --nodes 1 --period "$PERIOD" --disk 64 --config "$here/site" &
    agent=$!
    helper "$agent"
    for ((n = 0; n < 100; n++)); do # its first sample, or none within 10 s
        [ ! -s "$1/nodes/n0/util-node.csv.gz" ] || break
        sleep 0.1
    done
}
stop_agent() {
    kill "$agent"
    wait "$agent"
    helpers=()
    trap - EXIT
}
beside_agent() { # FUNCTION
    local rc
    start_agent "$dir/jobprof-1/step-0"
    "$1"
    rc=$?
    stop_agent
    return "$rc"
}
with_agent() { beside_agent plain; }

samples() { zcat "$1"/jobprof-1/step-0/nodes/n0/util-gpu.csv.gz 2>/dev/null | grep -v '^#'; }
gpus() { samples "$1" | awk -F, 'NR > 1 { seen[$5] } END { for (i in seen) n++; print n + 0 }'; }

# compare FILE: lines of nvidia-smi against samples: a line for each GPU and row
compare() {
    { smi_rows; echo; cat "$1"; echo; samples "$dir"; } | awk '
        $0 == "" { block++; next }
        !block { n++; column[n] = $1; factor[n] = $2; label[n] = $3; share[n] = $4; unit[n] = $5; next }
        block == 1 { split($0, f, / *, */); id = tolower(substr(f[1], length(f[1]) - 11))
            for (k = 1; k <= n; k++) if (f[k + 1] ~ /^[0-9.]+$/) {
                smi[id, k] += f[k + 1]; smis[id, k]++ }
            ids[id]; next }
        { split($0, f, ",") }
        !head++ { for (k in f) at[f[k]] = k; next }
        f[at["stat"]] == "mean" { for (k = 1; k <= n; k++) if (f[at[column[k]]] != "") {
                own[f[at["id"]], k] += f[at[column[k]]] * factor[k]; owns[f[at["id"]], k]++ } }
        END { for (id in ids) for (k = 1; k <= n; k++) {
                if (!smis[id, k] || !owns[id, k]) continue
                a = own[id, k] / owns[id, k]; b = smi[id, k] / smis[id, k]; d = a > b ? a - b : b - a
                printf "%s %s %.1f %.1f %s\n", id, label[k], a, b,
                    d <= unit[k] || d <= share[k] / 100 * b ? "same" : "differs" } }' | sort
}

part_nvml() {
    local n all until smi='' pid='' text=
    # what NVML says; a busy machine gets a second look. The agent writes its
    # rows now and then, and when it ends
    here=$out/$part
    for n in 1 5; do
        dir=$here/look.$n
        mkdir -p "$dir" || exit 2
        start_agent "$dir/jobprof-1/step-0" 2>"$dir/log"
        sleep "$n"
        stop_agent
        text=$(cat "$dir"/jobprof-1/step-0/log.txt "$dir/log" 2>/dev/null |
            sed -n 's/.*util: no GPU: //p' | tail -n 1)
        n=$(gpus "$dir")
        [ "$n" = 0 ] && [ -z "$text" ] || break
    done
    [ "$n" -gt 0 ] || leave "${text:-NVML tells of no GPU}"
    text=''
    all=$n
    pairs plain with_agent
    # and both of them beside the program
    dir=$here/both
    mkdir -p "$dir/rec" || exit 2
    smi=$(command -v nvidia-smi)
    start_agent "$dir/jobprof-1/step-0" 2>"$dir/log"
    [ -z "$smi" ] || {
        "$smi" --query-gpu="pci.bus_id,$(smi_rows | awk '{ print $3 }' | paste -sd ,)" \
            --format=csv,noheader,nounits -lms "$PERIOD" >"$dir/smi" 2>>"$dir/log" &
        pid=$!
        helper "$pid"
    }
    until=$((SECONDS + seconds))
    while [ "$SECONDS" -lt "$until" ]; do
        NCCL_PROFILER_PLUGIN=none plain >>"$dir/log" 2>&1 || break
        [ -z "$simulate" ] || sleep 0.2
    done
    [ -z "$pid" ] || { kill "$pid" 2>/dev/null; wait "$pid"; } 2>/dev/null
    stop_agent
    n=$(samples "$dir" | awk 'END { print NR ? NR - 1 : 0 }')
    all=$((all * seconds * 1000 / PERIOD))
    least=$((all / 4)) # a sample that costs much makes the agent slower
    if [ -z "$smi" ]; then
        text='not compared: no nvidia-smi in PATH'
    else
        compare "$dir/smi" >"$dir/compared"
        [ -s "$dir/compared" ] || wrong='nvidia-smi said nothing to compare with'
        ! grep -q ' differs$' "$dir/compared" ||
            wrong="not as nvidia-smi: $(awk '/ differs$/ { printf "%s%s %s and %s of %s", s, $2, $3, $4, $1; s = ", " }' "$dir/compared")"
        [ ! -s "$dir/compared" ] ||
            text="as nvidia-smi: $(grep -c ' same$' "$dir/compared") of $(wc -l <"$dir/compared" | tr -d ' ') figures"
    fi
    finish "$n" "$all" - "$text"
}

# --- counters of CUDA calls --------------------------------------------------

counted() {
    export CUDA_INJECTION64_PATH=$COUNTERS JOBPROF_CUDA_DIR=$dir/jobprof-1/step-0/raw/n0/cuda
    mkdir -p "$dir/jobprof-1/step-0"
}
with_cuda() { counted; cuda; }

# launches, ms in waits, and why there are none
launches() {
    local step=$dir/jobprof-1/step-0
    "$JOBPROF" report -q "$step" >"$here/report.log" 2>&1
    [ -e "$step/csv/cuda.csv" ] || { echo '0 0 the driver did not load the library'; return; }
    awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k; next }
        { n += $at["launches"]; us += $at["sync_us"]
          text = $at["why"] # the last one, maybe in quotes, with commas
          for (k = at["why"] + 1; k <= NF; k++) text = text "," $k
          gsub(/^"|"$/, "", text); if (text != "") why = text }
        END { printf "%d %.0f %s\n", n, us / 1000, why }' "$step/csv/cuda.csv"
}
part_cuda() {
    local n ms why
    [ -z "$simulate" ] || [ -x "$CALLS" ] || leave 'no cudacalls: make check builds it'
    here=$out/$part
    # a launch of each AllReduce; NCCL's own setup may bring more
    pairs plain_cuda with_cuda
    read -r n ms why < <(launches)
    [ "$n" != 0 ] || [ -z "$why" ] || [[ $why = 'the driver'* ]] || leave "$why"
    [ "$n" != 0 ] || wrong=$why
    finish "$n" "$least" - "launches; $ms ms in calls that wait"
}

# --- nsys --------------------------------------------------------------------

with_nsys() {
    # ranks are forked; a rank of ncclsim has a process of its own
    local each=$dir/trace
    nccl bash -c 'exec nsys profile --trace=cuda --sample=none --cpuctxsw=none \
        --trace-fork-before-exec=true --force-overwrite=true --output="$0.${SLURM_PROCID:-all}" "$@"' "$each"
    # its exit status is nsys' own
    [ "$(issued | cut -d' ' -f1)" -gt 0 ]
}
# NCCL's kernels, and percent between their mean time and the program's
kernels() {
    issued | awk -F, -v any="$simulate" '
        FNR == NR { split($0, i, " "); mean = i[1] ? i[2] / i[1] : 0; next }
        FNR == 1 { for (k = 1; k <= NF; k++) at[$k] = k; next }
        $at["table"] == "kernel" && $at["name"] ~ /^nccl.*AllReduce/ { n += $at["count"]; ns += $at["total"] }
        END { if (!n || !mean || any) d = "-"
              else { d = 100 * (ns / n / 1000 / mean - 1); d = sprintf("%.1f", d < 0 ? -d : d) }
              print n + 0, d }' - "$dir/sums.csv"
}
part_nsys() {
    local n off f
    command -v nsys >/dev/null || leave 'no nsys in PATH'
    pairs plain with_nsys
    for f in "$dir"/trace.*.nsys-rep; do
        [ -e "$f" ] || broken 'nsys left no .nsys-rep'
        [ -e "${f%.nsys-rep}.sqlite" ] || timeout -k 5 300 nsys export --type=sqlite \
            --output="${f%.nsys-rep}.sqlite" "$f" >>"$dir/log" 2>&1 || broken 'nsys export failed'
    done
    "$JOBPROF" nsys -q --csv --base "$dir" >"$dir/sums.csv" 2>>"$dir/log" ||
        broken "$(tail -n 1 "$dir/log")"
    read -r n off < <(kernels)
    finish "$n" "$least" "$off" "kernels"
}

# --- all at once -------------------------------------------------------------

with_all() {
    counted
    export NCCL_PROFILER_PLUGIN=$RECORDER JOBPROF_RECORDER_DIR=$dir/rec
    beside_agent nccl
}
part_together() {
    local n off
    pairs plain with_all
    read -r n off < <(kept "$dir/rec")
    finish "$n" "$least" "$off" 'operations'
}

# --- all of it ---------------------------------------------------------------

find_library() { # PREFIX NAME
    local lib
    for lib in "$1/lib/$2" "$1/lib64/$2" "$1"/lib/*/"$2"; do
        [ -e "$lib" ] && { echo "$lib"; return; }
    done
    return 1
}

chosen=() ranks=2 count=2000 bytes=1M rounds=10 seconds=10 prefix=system inspector='' nvml=''
out='' simulate='' host_ids='' failed=0
while [ $# -gt 0 ]; do
    case $1 in
    --nccl | --inspector | --nvml | --ranks | --count | --bytes | --rounds | --seconds | --out)
        [ $# -gt 1 ] || die "$1 needs a value" ;;&
    --nccl) prefix=$2; shift ;;
    --inspector) inspector=$2; shift ;;
    --nvml) nvml=$2; shift ;;
    --ranks) ranks=$2; shift ;;
    --count) count=$2; shift ;;
    --bytes) bytes=$2; shift ;;
    --rounds) rounds=$2; shift ;;
    --seconds) seconds=$2; shift ;;
    --out) out=$2; shift ;;
    --simulate) simulate=1 ;;
    --host-ids) host_ids=--host-ids ;;
    --help) usage; exit 0 ;;
    *)
        parts | grep -q "^$1 " || die "what is $1? see --help"
        chosen+=("$1")
        ;;
    esac
    shift
done
for part in "$ranks" "$count" "$rounds" "$seconds"; do
    [[ $part =~ ^[1-9][0-9]{0,5}$ ]] || die "\"$part\" is not a number from 1 on"
done
[ "$ranks" -ge 2 ] && [ "$ranks" -le 64 ] || die 'from 2 to 64 ranks'
[ ${#chosen[@]} -gt 0 ] || mapfile -t chosen < <(parts | cut -d' ' -f1)
build=${top_builddir:-$top/build}
RUN=$build/contrib/gpu/ncclrun SIM=$build/contrib/ncclsim/ncclsim
CALLS=$build/contrib/fakegpu/cudacalls NODE=$build/orchestrator/jobprof-node
RECORDER=$build/plugins/nccl_recorder/.libs/libnccl-profiler-jobprof.so
COUNTERS=$build/plugins/cuda/.libs/libjobprof-cuda.so JOBPROF=$build/orchestrator/jobprof
for part in "$RUN" "$SIM" "$NODE" "$RECORDER" "$COUNTERS" "$JOBPROF"; do
    [ -e "$part" ] || die "$part is not there: make measure-gpu builds it (top_builddir=$build)"
done
if [ -n "$simulate" ]; then
    library='' warm_up=0 what="ncclsim as NCCL 2.30.7, stand-ins for CUDA and NVML"
    nvml=${nvml:-$build/contrib/fakegpu/.libs/libnvidia-ml.so.1}
else
    library=libnccl.so.2 warm_up=5
    if [ "$prefix" != system ]; then
        library=$(find_library "$prefix" libnccl.so.2) || die "$prefix has no libnccl.so.2"
        [ -n "$inspector" ] ||
            inspector=$(find_library "$prefix" libnccl-profiler-inspector.so)
    fi
    what=$("$RUN" --nccl "$library" --probe 2>&1) || die "$prefix: $what"
    [ "${what#* }" -ge "$ranks" ] || [ -n "$host_ids" ] ||
        [ "$(printf '%s\n' 2.30 "${what% *}" | sort -V | head -n 1)" = 2.30 ] ||
        die "NCCL ${what% *} needs $ranks GPUs, or --host-ids"
    what="NCCL ${what% *}, ${what#* } GPUs"
fi
[ -n "$out" ] || out=$(mktemp -d "${TMPDIR:-/tmp}/jobprof-tools.XXXXXX") || exit 2
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)

cat >"$out/table" <<END
## jobprof's tools ($what; $ranks ranks, $count AllReduces of $bytes each, $rounds pairs of runs)
| tool | kept | of | times off | overhead, median | of the pairs | |
|---|---|---|---|---|---|---|
END
for part in "${chosen[@]}"; do
    rm -rf "${out:?}/$part"
    # of a part's own process
    (
        here=$out/$part dir=$out/$part wrong='' pace=() least=$((ranks * (count + warm_up)))
        "part_$part"
    )
    rc=$?
    [ $rc = 0 ] || failed=1
    grep -q "^| $part |" "$out/table" || {
        failed=1
        echo "| $part | - | - | - | - | - | not ok: ended with status $rc |" >>"$out/table"
        echo "not ok $part: ended with status $rc"
    }
done
echo
cat "$out/table"
echo
echo "# kept: $out"
exit $failed
