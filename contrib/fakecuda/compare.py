#!/usr/bin/env python3
"""compare.py - what drive called against what the recorder kept.

compare.py --dump JPRDUMP [--rule WORD]... [--report SUMMARY.JSON] FOLDER
FOLDER has drive's truth-*.csv and the recordings, raw/*.jpr; inspector/*.log,
where NVIDIA's Inspector ran alone; both/ the same of a run with both, Inspector
behind the recorder. Prints one line, tab-separated: truth, recorded, timed,
Inspector's alone, Inspector's behind the recorder, "same" or what differs. Exit
status 1 where something differs.

Same means: for each communicator, rank and function as many records as calls,
of the same sizes and peers; an operation that never completed is recorded as
incomplete or as in flight; calls of which NCCL reports no operation are counted
as unseen; all files are complete; and no operation has a time of the GPU that
is before its call or after the moment at which its stream was done with it. With
both, the recorder is held against the calls as well, and Inspector's records
are those of Inspector alone: communicator, rank, function, number, size, peer.
One that never completed may also be unsure. Without kernel events (kernels=0,
or a release in which the recorder does not ask for them) no operation has the
GPU's time, and replays of a graph are not reported.
Rules, where less is expected:
  timed     half of the operations must have the GPU's time, too: on a busy
            machine NCCL reports some so late that the recorder refuses it
  killed=R  rank R was killed: its last records and counts may be missing
  cut       a file may lack its end
  ends      operations may be incomplete: the program left main at once
  replays   Inspector alone repeats the numbers of a graph: NCCL numbers replays
            only where a call or a launch has a handle, as the recorder's has
  ranks=N   the report must have seen N ranks, of as many
  whole     the report must not be INCOMPLETE
  names=R   the report's verdict must name rank R, if operations have the GPU's
            time (not before NCCL 2.28)
"""
import argparse
import collections
import glob
import json
import os
import subprocess
import sys

# the event behind an operation may be this much before its stamp: two clocks
SLACK_NS = 200_000
# all that drive sends is ncclFloat32. Before 2.28 NCCL says the bytes of some
# functions, as so many ncclInt8
ELEMENT_BYTES = 4

Call = collections.namedtuple("Call", "count peer begin end")


def read_truth(folder):
    """Calls by (process, rank in the communicator, communicator, function)."""
    truth = collections.defaultdict(list)
    for path in glob.glob(folder + "/truth-*.csv"):
        with open(path, encoding="ascii") as lines:
            pid = int(next(lines).split()[2])
            for line in lines:
                if line.startswith("#"):
                    continue
                name, rank, n, func, count, peer, _, begin, _, end = line.split(",")
                if n == "1" and func not in ("Send", "Recv"):
                    continue  # NCCL reports no collectives of one rank
                call = Call(int(count), int(peer), int(begin), int(end))
                if func == "AlltoAll":  # NCCL reports its Sends and Recvs
                    for other in range(int(n)):
                        for half in ("Send", "Recv"):
                            truth[pid, int(rank), name, half].append(call._replace(peer=other))
                else:
                    truth[pid, int(rank), name, func].append(call)
    return truth


class Records:
    """The recordings of a folder."""

    def __init__(self, folder, dump):
        self.ops = collections.defaultdict(list)
        self.unseen = {}
        self.in_flight = collections.Counter()
        self.last = collections.Counter()  # start of a communicator's last operation
        self.troubles = []
        self.is_cut = False
        self.kernels = False  # kernel events were asked for
        for path in sorted(glob.glob(folder + "/raw/**/*.jpr", recursive=True)):
            self.read_file(path, dump)

    def read_file(self, path, dump):
        out = subprocess.run([dump, path], capture_output=True, text=True, check=False)
        if out.returncode:
            self.troubles.append(out.stderr.strip())
        offset, pid, ranks, last, last_at = 0, 0, {}, [], None
        for line in out.stdout.splitlines():
            row = json.loads(line)
            kind = row["type"]
            if kind == "header":
                offset, pid = row["real_ns"] - row["mono_ns"], row["pid"]
                self.kernels |= bool(row["kernels"])
            elif kind == "op":
                for gpu in ("gpu_first", "gpu_last"):
                    row[gpu] = row[gpu] - offset if row[gpu] else 0
                self.ops[pid, row["rank"], row["name"], row["func"]].append(row)
                of = pid, row["comm"], row["rank"]
                self.last[of] = max(self.last[of], row["enqueue_start"])
            elif kind == "unseen":
                # several ranks of a communicator in one process share its id
                rank = ranks.get(row["comm"], -1)
                self.unseen[pid, rank, row["name"], row["func"]] = row["calls"]
            elif kind == "comm":
                ranks[row["id"]] = row["rank"]
            elif kind == "inflight":
                if row["at_ns"] != last_at:
                    last, last_at = [], row["at_ns"]
                if not row["none"]:
                    last.append(row)
            elif kind == "end":
                self.is_cut |= not row["complete"] or row["cut"] or row["damaged"] > 0
        for row in last:
            self.in_flight[pid, row["name"], row["func"]] += 1


def compare_times(calls, rows):
    """How many operations have a time that cannot be theirs."""
    wrong = 0
    for call, row in zip(sorted(calls, key=lambda c: c.begin), rows):
        if not row["gpu_last"] or not call.end:
            continue
        late = row["gpu_last"] - call.end
        early = call.begin - row["gpu_first"]
        wrong += late > SLACK_NS or early > SLACK_NS
    return wrong


def compare(key, calls, records, rules):
    """What differs for one communicator, rank and function."""
    pid, rank, name, func = key
    who = f"{func} of {name or '-'} rank {rank}"
    rows = sorted(records.ops.get(key, []), key=lambda r: r["enqueue_start"])
    missing = len(calls) - len(rows) - records.unseen.get(key, 0)
    may_miss = f"killed={rank}" in rules or ("replays" in rules and not records.kernels)
    if missing and not (may_miss and missing > 0):
        flying = records.in_flight[pid, name, func]
        never = sum(1 for c in calls if not c.end)
        if not 0 <= missing <= min(flying, never):
            return [f"{who}: {len(calls)} called, {len(rows)} recorded"]
    out = []
    if not missing and len(rows) == len(calls):
        for what, of_call, of_row in (
            ("sizes", lambda c: c.count, lambda r: r["api_count"] or r["bytes"] // ELEMENT_BYTES),
            ("peers", lambda c: c.peer if func in ("Send", "Recv") else 0,
             lambda r: r["peer"] if func in ("Send", "Recv") else 0),
        ):
            if collections.Counter(map(of_call, calls)) != collections.Counter(map(of_row, rows)):
                out.append(f"{who}: {what} differ")
        unfinished = [r for r in rows if r["incomplete"] and not r.get("unsure")]
        unsure = sum(1 for r in rows if r.get("unsure"))
        never = sum(1 for c in calls if not c.end)
        # NCCL may end a communicator before it has reported its last operation
        before = [r for r in unfinished if r["enqueue_start"] != records.last[pid, r["comm"], rank]]
        if "ends" not in rules and not len(before) <= never <= len(unfinished) + unsure:
            out.append(f"{who}: {len(unfinished)} incomplete, {never} never ended")
        wrong = compare_times(calls, rows)
        if wrong:
            out.append(f"{who}: {wrong} wrong times")
    numbers = [(r["comm"], r["seq"]) for r in rows]
    if name and func not in ("Send", "Recv") and len(set(numbers)) != len(numbers):
        out.append(f"{who}: numbers twice")
    return out


def read_report(path, rules, timed):
    """What is wrong with a summary.json of the recordings. timed: so many of
    their operations have the GPU's time."""
    if not path:
        return []
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except OSError as error:
        return [f"no report: {error}"]
    out = []
    seen = [report["quality"][key] for key in ("ranks_seen", "ranks_expected")]
    for rule in rules:
        if rule.startswith("ranks=") and seen != [int(rule[6:])] * 2:
            out.append("the report has {} of {} ranks".format(*seen))
    word, text = report["verdict"]["word"], report["verdict"]["text"]
    for rule in rules:
        if timed and rule.startswith("names=") and f"rank {rule[6:]} " not in text:
            out.append(f"the report does not name rank {rule[6:]}, but says {word}: {text}")
    if "more than one run" in text or ("whole" in rules and word == "INCOMPLETE"):
        out.append(f"the report says {word}: {text}")
    return out


def read_inspector(folder):
    """Inspector's records, without their times; None: it has written no file."""
    logs = glob.glob(folder + "/inspector/**/*.log", recursive=True)
    records = collections.Counter()
    for path in logs:
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                row = json.loads(line)
                for kind in ("coll", "p2p"):
                    perf = row.get(kind + "_perf")
                    if perf:
                        head = row["header"]
                        records[head.get("comm_name"), head["rank"], perf[kind],
                                perf[kind + "_sn"], perf[kind + "_msg_size_bytes"],
                                perf.get("p2p_peer")] += 1
    return records if logs else None


def compare_inspector(alone, behind, rules):
    """What Inspector behind the recorder wrote differently."""
    if alone is None or rules & {"cut", "ends"}:
        return []  # what a run writes that dies is chance
    if behind is None:
        return ["Inspector behind the recorder wrote nothing"]
    if "replays" in rules:
        alone, behind = (collections.Counter(
            {k: sum(n for key, n in c.items() if key[:3] + key[4:] == k)
             for k in {key[:3] + key[4:] for key in c}}) for c in (alone, behind))
    more, less = behind - alone, alone - behind
    return [f"Inspector behind the recorder: {sum(less.values())} records less, "
            f"{sum(more.values())} more"] if more or less else []


def judge(folder, dump, rules):
    """Calls, recordings, and what differs between them."""
    truth = read_truth(folder)
    records = Records(folder, dump)
    differ = records.troubles[:]
    if records.is_cut and "cut" not in rules:
        differ.append("a file is not complete")
    if not truth:
        differ.append("drive called nothing")
    if records.ops and not any(key[2] for key in records.ops):
        unnamed = collections.defaultdict(list)
        for (pid, rank, _, func), calls in truth.items():
            unnamed[pid, rank, "", func] += calls
        truth = unnamed
    for key in sorted(set(truth) | set(records.ops)):
        differ += compare(key, truth.get(key, []), records, rules)
    rows = [r for ops in records.ops.values() for r in ops]
    timed = sum(1 for r in rows if r["gpu_last"])
    if "timed" in rules and records.kernels and 2 * timed < len(rows):
        differ.append(f"{len(rows) - timed} without the GPU's time")
    return sum(map(len, truth.values())), len(rows), timed, differ


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dump", required=True)
    parser.add_argument("--rule", action="append", default=[])
    parser.add_argument("--report", help="their summary.json")
    parser.add_argument("folder")
    args = parser.parse_args()
    rules = set(args.rule)
    calls, recorded, timed, differ = judge(args.folder, args.dump, rules)
    differ += read_report(args.report, rules, timed)
    alone = read_inspector(args.folder)
    behind = read_inspector(args.folder + "/both")
    if os.path.isdir(args.folder + "/both"):
        differ += ["both: " + d for d in judge(args.folder + "/both", args.dump, rules)[3]]
        differ += compare_inspector(alone, behind, rules)
    print(calls, recorded, timed,
          *("-" if n is None else sum(n.values()) for n in (alone, behind)),
          "; ".join(differ[:4]) or "same", sep="\t")
    sys.exit(1 if differ else 0)


main()
