#!/bin/bash
# measure.sh - the cost of a node's agent with each preset of the clocks, in a
# real step: two nodes, 8 tasks and 8 GPUs (stand-ins) each, the recorder, hangs
# looked for. By hand: make measure-agent; docs/dev/measurements.md has the figures.
# SECONDS_EACH: seconds of each row (60). PRESETS: words of --clock-profile.
# RATE: NCCL operations a second of each task (5).
#
# The processor time is the kernel's (/proc/PID/schedstat, read while the agent
# runs); the agent's own figures stand beside it.
. "${top_srcdir:?}/tests/slurm/lib.sh"
: "${SECONDS_EACH:=60}" "${RATE:=5}"
: "${PRESETS:=off auto default light training inference benchmark debug accurate sync}"

cat >"$WORK/load" <<'LOAD'
* sm 63
* memory 20
* used 40000000000
* total 80000000000
* power 650000
* celsius 61
* sm_mhz 1980
* memory_mhz 2619
* xid 0
* pid0 1
LOAD
cat >"$WORK/site.conf" <<SITE
nccl = { recorder = "$top_builddir/plugins/nccl_recorder/.libs/libnccl-profiler-jobprof.so"; };
nvml_library = "$top_builddir/contrib/fakegpu/.libs/libnvidia-ml.so.1";
SITE
cat >"$WORK/node" <<NODE
#!/bin/bash
export FAKEGPU_COUNT=8 FAKEGPU_LOAD=$WORK/load
exec "$top_builddir/orchestrator/jobprof-node" "\$@"
NODE
chmod 755 "$WORK/node"
ln -s "$JOBPROF" "$WORK/jobprof" # srun looks for it beside
echo "optional $top_builddir/spank/.libs/spank_jobprof.so config=$WORK/site.conf node=$WORK/node" >"$WORK/plugstack.conf"
start_cluster measure --nodes 2 --cpus 16 --plugstack "$WORK/plugstack.conf" ||
    { echo "no cluster" >&2; exit 1; }

row() { # row PRESET
    local srun_pid
    mkdir "$WORK/$1"
    cd "$WORK/$1" || exit 1
    srun -N2 -n16 --overcommit --nccl-profile=recorder --util-profile=1s "--clock-profile=$1" \
        "$SIM" --comms 1 --colls 1 --bytes 1M --rate "$RATE" --iterations "$((RATE * (SECONDS_EACH + 5)))" \
        >o 2>e </dev/null &
    srun_pid=$!
    "$PYTHON" - "$PWD" "$1" "$SECONDS_EACH" <<'PY' || sed 's/^/  /' e
import glob, json, os, sys, time

top, preset, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])


def agents():
    """Pids of the step's two agents, without their children."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = open(path, "rb").read().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"jobprof-node", b"agent"] and any(w.startswith(top.encode() + b"/") for w in words):
            found.append(int(path.split("/")[2]))
    return sorted(p for p in found if parent(p) not in found)


def parent(pid):
    try:
        return int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def cpu_ns(pid):
    """Of all threads, by the scheduler."""
    return sum(int(open(f"{t}/schedstat").read().split()[0]) for t in glob.glob(f"/proc/{pid}/task/*"))


def children(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        for child in open(path).read().split():
            found += [int(child)] + children(int(child))
    return found


def memory(pid):
    fields = dict(l.split(":", 1) for l in open(f"/proc/{pid}/status"))
    return int(fields["VmHWM"].split()[0]) * 1024


end = time.monotonic() + 30
while len(agents()) < 2 and time.monotonic() < end:
    time.sleep(0.05)
pids = agents()
if len(pids) != 2:
    sys.exit(f"{len(pids)} agents")
began, true = time.monotonic(), {}
half = {}
while time.monotonic() - began < seconds:
    time.sleep(0.25)
    now = time.monotonic()
    for pid in pids:
        try:
            own = cpu_ns(pid)
            kids = sum(cpu_ns(c) for c in children(pid))
            true[pid] = (now, own, kids, memory(pid))
            if now - began > seconds / 2:
                half.setdefault(pid, (now, own + kids))
        except (OSError, KeyError):
            pass
shares = [(v[1] + v[2]) / 1e9 / (v[0] - began) for v in true.values()]
own = [v[1] / 1e9 / (v[0] - began) for v in true.values()]
late = [(true[p][1] + true[p][2] - half[p][1]) / 1e9 / (true[p][0] - half[p][0]) for p in true]
json.dump({"preset": preset, "share": shares, "own": own, "late": late, "memory": [v[3] for v in true.values()]},
          open(f"{top}/true.json", "w"))
PY
    wait $srun_pid
    "$PYTHON" - "$PWD" <<'PY' || sed 's/^/  /' e
import glob, json, sys

top = sys.argv[1]
true = json.load(open(f"{top}/true.json"))
records = [json.load(open(p)) for p in sorted(glob.glob(f"{top}/jobprof-*/step-0/nodes/*/agent.json"))]
spread = lambda values, scale, form: " / ".join(form % (scale * v) for v in values)
lived = [r["end_us"] - r["start_us"] for r in records]
module = lambda name: [next((m for m in r["modules"] if m["name"] == name), {}) for r in records]
clock = module("clock")
print(f"| {true['preset']} | {spread(true['share'], 100, '%.2f')} % | {spread(true['late'], 100, '%.2f')} % | "
      f"{spread([r['cpu_us'] / t for r, t in zip(records, lived)], 100, '%.2f')} % | "
      + " | ".join(spread([m.get('cpu_us', 0) / t for m, t in zip(module(n), lived)], 100, '%.2f') + " %"
                   for n in ("util", "clock", "live"))
      + f" | {spread([m.get('cadence_us', 0) / 1000 for m in clock], 1, '%.1f')} ms | "
      f"{spread([r['wakeups'] * 1e6 / t for r, t in zip(records, lived)], 1, '%.0f')} | "
      f"{spread(true['memory'], 1 / 2**20, '%.1f')} MiB | "
      f"{spread([sum(m['bytes'] for m in r['modules']) * 3.6e9 / t for r, t in zip(records, lived)], 1 / 2**20, '%.1f')} MiB |", flush=True)
PY
}

echo "| clocks | processor | of it the second half | by agent.json | util | clock | live | cadence in the end | wake-ups/s | memory | files an hour |"
echo "|---|---|---|---|---|---|---|---|---|---|---|"
for preset in $PRESETS; do
    row "$preset"
done
