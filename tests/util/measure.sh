#!/bin/bash
# measure.sh - the cost of the node agent: processor, memory, bytes, wake-ups.
# By hand: make measure-util; docs/dev/measurements.md has the figures.
# SECONDS_EACH: seconds of each row (60). DAY: seconds that are simulated
# (86400).
set -u
: "${top_srcdir:?}" "${top_builddir:?}"
node=$top_builddir/orchestrator/jobprof-node
work=$(mktemp -d) || exit 1
pids=
cleanup() {
    # shellcheck disable=SC2086 # a list
    [ -z "$pids" ] || kill $pids 2>/dev/null
    rm -rf "$work"
}
trap cleanup EXIT
export SLURM_JOB_ID=$((900000 + $$ % 90000)) SLURM_STEP_ID=0 FAKEGPU_COUNT=8
export FAKEGPU_LOAD=$work/load
echo "nvml_library = \"$top_builddir/contrib/fakegpu/.libs/libnvidia-ml.so.1\";" >"$work/site"
chmod 600 "$work/site"
cat >"$work/load" <<'END'
* sm 63
* memory 20
* used 40000000000
* total 80000000000
* power 650000
* limit 700000
* energy 1000000
* celsius 61
* sm_mhz 1980
* sm_max_mhz 1980
* memory_mhz 2619
* reasons 0
* generation 5
* width 16
* rx 100
* tx 200
* replays 0
* ecc 0
* corrected 0
* xid 0
* pid0 1
END

row() { # row TASKS PERIOD_MS: the agent beside so many tasks
    local i agent
    pids=
    for ((i = 0; i < $1; i++)); do
        SLURM_PROCID=$i sleep 3600 &
        pids="$pids $!"
    done
    rm -rf "$work/jobprof-1"
    # shellcheck disable=SC2174 # the last one
    mkdir -p -m 700 "$work/jobprof-1/step-0/nodes/n0"
    chmod 700 "$work/jobprof-1/step-0"
    "$node" agent --dir "$work/jobprof-1/step-0" --node n0 --nodeid 0 --component 12 \
        --nodes 1 --period "$2" --disk 64 --config "$work/site" 2>/dev/null &
    agent=$!
    sleep "${SECONDS_EACH:-60}"
    kill $agent
    wait $agent
    # shellcheck disable=SC2086 # a list
    kill $pids
    # shellcheck disable=SC2086 # a list
    wait $pids 2>/dev/null
    pids=
    python3 - "$work/jobprof-1/step-0" "$1" "$2" <<'PY'
import json, os, sys
d = json.load(open(f"{sys.argv[1]}/nodes/n0/agent.json"))
m = d["modules"][0]
t = d["end_us"] - d["start_us"]
log = f"{sys.argv[1]}/log.txt"
slower = [l.split("]: ")[-1].strip() for l in open(log)] if os.path.exists(log) else []
print(f"| {sys.argv[2]} tasks, 8 GPUs, {sys.argv[3]} ms | {100 * d['cpu_us'] / t:.2f} % | "
      f"{100 * m['gpu_cpu_us'] / t:.2f} % | {d['cpu_us'] / 1000 / m['calls'] * 2:.2f} ms | "
      f"{d['max_rss_bytes'] / 2**20:.1f} + {m['gpu_max_rss_bytes'] / 2**20:.1f} MiB | "
      f"{d['wakeups'] * 1e6 / t:.1f} | {m['bytes'] * 3.6e9 / t / 2**20:.1f} MiB | {m['period_ms']} ms |")
for line in slower:
    print(f"  {line}")
PY
}

if [ "${1:-all}" != day ]; then
    echo "| | processor | of it GPUs' child | a sample | memory | wake-ups/s | files an hour | period in the end |"
    echo "|---|---|---|---|---|---|---|---|"
    row 16 1000
    row 16 200
    row 512 1000
    [ "${1:-all}" = all ] || exit 0
fi
mkdir "$work/day"
"$top_builddir/tests/util/day_of_samples" "$work/day" "${DAY:-86400}" 16 8 64 || exit 1
ls -l "$work/day" | awk 'NR > 1 { print "  " $5, $9 }'
for kind in node task gpu; do
    zcat "$work/day/util-$kind.csv.gz" | awk -F, -v kind=$kind '
        NR == 2 { n = NF } NR > 2 && NF != n { bad++ } END { print "zcat", kind ":", NR - 2,
        "lines of", n, "columns,", bad + 0, "of another number"; exit bad > 0 }' || exit 1
done
# what analysts use: npm install @duckdb/node-api in a folder named by DUCKDB
if [ -n "${DUCKDB:-}" ]; then
    (cd "$DUCKDB" && DAY_DIR=$work/day node --input-type=module -e '
        import { DuckDBInstance } from "@duckdb/node-api";
        const c = await (await DuckDBInstance.create(":memory:")).connect();
        for (const kind of ["node", "task", "gpu"]) {
            const r = await c.runAndReadAll(`select count(*) n, sum(samples) filter (stat = $$mean$$) s,
                count(distinct id) ids from read_csv($$${process.env.DAY_DIR}/util-${kind}.csv.gz$$,
                skip = 1, header = true)`);
            console.log("DuckDB", kind + ":", r.getRows()[0].join(" lines, samples, ids: "));
        }')
fi
