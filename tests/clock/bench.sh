#!/bin/bash
# bench.sh - what probes of clocks cost: eight nodes on the loopback, three
# exchanges of five packets asked and three answered by each in a cadence. The
# processor time of an exchange, of both nodes, against a bare round trip of one
# packet between two processes (sendto, epoll_wait, recvmsg), measured before
# and behind; system calls by strace where it is found.
set -u
cd "${top_builddir:-.}" || exit 1
bin=$PWD/tests/clock/clock_node
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
: "${CADENCE:=20000 66000}" "${SECONDS_EACH:=12}"

# nodes CADENCE SECONDS [COMMAND...]: eight nodes, n0's by the command
nodes() {
    local cadence=$1 seconds=$2 i pids=()
    shift 2
    rm -rf "$work/s"
    mkdir -p "$work"/s/nodes/n{0..7}
    for i in 0 1 2 3 4 5 6 7; do
        [ "$i" = 0 ] || set --
        "$@" "$bin" run "$work/s" n$i 8 "$seconds" if=lo cadence="$cadence" >"$work/o$i" 2>/dev/null &
        pids+=($!)
    done
    wait "${pids[@]}"
}

round_trip() { "$bin" pingpong 20000 | tr -dc '0-9\n'; }

for cadence in $CADENCE; do
    before=$(round_trip)
    nodes "$cadence" "$SECONDS_EACH"
    after=$(round_trip)
    python3 - "$work" "$cadence" "$before" "$after" <<'PY'
import json, sys
work, cadence, before, after = sys.argv[1:]
rows = [json.load(open(f"{work}/o{i}")) for i in range(8)]
trip = (int(before) + int(after)) / 2000
total = lambda key: sum(r[key] for r in rows)
exchanges = total("exchanges")
cpu = total("cpu_us") / exchanges
print(f"cadence {cadence} us: {exchanges} exchanges in {rows[0]['ran_us'] / 1e6:.0f} s, "
      f"{total('wakeups') / exchanges:.2f} wake-ups and {cpu:.1f} us each: "
      f"{cpu / trip:.1f} round trips of {trip:.1f} us; "
      f"{total('cpu_us') / total('ran_us'):.2%} of a processor a node; "
      f"cadence at the end {min(r['cadence_us'] for r in rows)} to {max(r['cadence_us'] for r in rows)} us")
PY
done
command -v strace >/dev/null || exit 0
nodes 66000 8 strace -c -o "$work/calls"
python3 - "$work" <<'PY'
import json, sys
work = sys.argv[1]
calls = sum(int(f[3]) for f in (l.split() for l in open(work + "/calls")) if len(f) > 4 and f[3].isdigit() and f[-1] != "total")
n = json.load(open(work + "/o0"))["exchanges"]
print(f"{calls / n:.1f} system calls an exchange asked and one answered, its start included")
PY
