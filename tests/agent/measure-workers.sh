#!/bin/bash
# measure-workers.sh - the cost of a node's agent where tasks are launchers of
# workers, in a real step, from its start on. By hand: make measure-workers;
# docs/dev/measurements.md has the figures.
# SHAPES: tasks x workers of each row ("16x8 16x32"). SECONDS_EACH: of each row (60).
# NODE: another program in place of jobprof-node, such as one that traces it.
#
# The processor time is the kernel's (/proc/PID/schedstat of the agent and its
# children); the shares of its modules are its own.
. "${top_srcdir:?}/tests/slurm/lib.sh"
: "${SECONDS_EACH:=60}" "${SHAPES:=16x8 16x32}"

cat >"$WORK/launcher" <<END
#!/bin/bash
# launcher WORKERS
for ((l = 0; l < \$1; l++)); do
    r=\$((SLURM_PROCID * \$1 + l))
    RANK=\$r LOCAL_RANK=\$l WORLD_SIZE=\$((SLURM_NTASKS * \$1)) "$SIM" --comms 1 --colls 1 --bytes 1M --seconds $SECONDS_EACH \\
        --rank \$r --nranks \$((SLURM_NTASKS * \$1)) --ranks-per-node \$((SLURM_NTASKS * \$1)) >/dev/null &
done
wait
END
chmod 755 "$WORK/launcher"
cat >"$WORK/site.conf" <<SITE
nccl = { recorder = "$top_builddir/plugins/nccl_recorder/.libs/libnccl-profiler-jobprof.so"; };
SITE
ln -s "$JOBPROF" "$WORK/jobprof" # srun looks for it beside
echo "optional $top_builddir/spank/.libs/spank_jobprof.so config=$WORK/site.conf node=${NODE:-$top_builddir/orchestrator/jobprof-node}" \
    >"$WORK/plugstack.conf"
start_cluster workers --nodes 1 --cpus 64 --plugstack "$WORK/plugstack.conf" || { echo "no cluster" >&2; exit 1; }

row() { # row TASKS WORKERS
    mkdir "$WORK/$1x$2" && cd "$WORK/$1x$2" || exit 1
    srun -N1 -n"$1" --overcommit --nccl-profile=recorder --util-profile=1s "$WORK/launcher" "$2" >o 2>e </dev/null &
    local srun_pid=$!
    "$PYTHON" - "$PWD" "$1" "$2" <<'PY' || sed 's/^/  /' e
import glob, json, os, sys, time

top, tasks, workers = sys.argv[1], sys.argv[2], sys.argv[3]


def agent():
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = open(path, "rb").read().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"jobprof-node", b"agent"] and any(w.startswith(top.encode() + b"/") for w in words):
            return int(path.split("/")[2])


def cpu(pid):
    total = 0
    for t in glob.glob(f"/proc/{pid}/task/*"):
        try:
            total += int(open(f"{t}/schedstat").read().split()[0])
            for child in open(f"{t}/children").read().split():
                total += cpu(int(child))
        except OSError:
            pass
    return total


end, pid = time.monotonic() + 60, None
while not pid and time.monotonic() < end:
    pid = agent()
    time.sleep(0.02)
began, seen = time.monotonic(), []
while pid and os.path.exists(f"/proc/{pid}"):
    used = cpu(pid)
    if used:
        seen.append((time.monotonic() - began, used / 1e9))
    time.sleep(0.1)
if not seen:
    sys.exit("no agent")
at = lambda t: min(seen, key=lambda s: abs(s[0] - t))
lived, used = seen[-1]
steps = ", ".join(f"{at(t)[1]:.3f} s after {t} s" for t in (1, 2, 5, 10, 20, 40) if t < lived)
half = at(lived / 2)
print(f"{tasks} x {workers}: {100 * used / lived:.2f} % of {lived:.0f} s ({used:.3f} s), second half "
      f"{100 * (used - half[1]) / (lived - half[0]):.2f} %; {steps}", flush=True)
PY
    wait $srun_pid
    "$PYTHON" - "$PWD" <<'PY'
import glob, json, sys

for path in glob.glob(f"{sys.argv[1]}/jobprof-*/step-0/nodes/*/agent.json"):
    r = json.load(open(path))
    lived = r["end_us"] - r["start_us"]
    print("  by itself %.2f %% of %.0f s, %d wake-ups; " % (100 * r["cpu_us"] / lived, lived / 1e6, r["wakeups"]) +
          ", ".join("%s %.3f s" % (m["name"], m.get("cpu_us", 0) / 1e6) for m in r["modules"]), flush=True)
PY
}

for shape in $SHAPES; do row "${shape%x*}" "${shape#*x}"; done
