"""make_trace.py LAYOUT FOLDER RANKS [name=value...]: a small PyTorch job's
traces, one file a rank, in the layout that a release of PyTorch writes.

The fields are those of pytorch/kineto's output_json.cpp and torch.profiler at
that time. Each step: own kernels, then AllReduce, AllGather; no rank leaves one
before all have entered it.

  slow=R:NAME:F   rank R's kernel NAME takes F times as long; R may be 4-7
  hosts=N         the ranks are on so many hosts
  gap=R:US        rank R's host launches the first kernel of a step so much later
  skew=R:US       rank R's clock is ahead by that
  steps=N  only=R one rank's file
  first=N         number of the first step
  phases=1        annotations of a training loop: AllReduce in the forward pass,
                  AllGather in the backward pass, of a thread of its own
"""
import gzip
import json
import os
import sys

layout, folder, ranks = sys.argv[1], sys.argv[2], int(sys.argv[3])
opt = dict(a.split("=", 1) for a in sys.argv[4:])
steps, first = int(opt.get("steps", 3)), int(opt.get("first", 10))
LAYOUTS = ("1.12", "2.1", "2.2", "2.4", "2026", "rocm")
assert layout in LAYOUTS, layout
OLD = layout == "1.12"
NAMED = layout in ("2.2", "2.4", "2026", "rocm")
BASE = 1700000000000000000 if layout in ("2.4", "2026", "rocm") else 0
START = 5000000000 if BASE else 1700000000000000000
KERNELS = (("gemm", 900000), ("flash_bwd", 500000), ("gemm", 300000))
COLLS = (("AllReduce", "allreduce", 4096), ("AllGather", "_allgather_base", 512))


def value(name, rank):
    """The option of that rank, split, or None."""
    parts = opt.get(name, "").split(":")
    low, _, high = parts[0].partition("-")
    return parts[1:] if low and int(low) <= rank <= int(high or low) else None


def us(ns):
    """A time as that release prints it."""
    if layout in ("1.12", "2.1"):
        return ns // 1000
    return float("%d.%03d" % (ns // 1000, ns % 1000))


def nccl_name(func):
    if layout in ("1.12", "2.1"):
        return "ncclKernel_%s_RING_LL_Sum_float(ncclDevComm*, ncclWork*)" % func
    if layout == "rocm":
        return "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)"
    return "ncclDevKernel_%s_Sum_f32_RING_LL(ncclDevComm*, ncclWork*)" % func


class Trace:
    def __init__(self, rank):
        self.rank, self.pid, self.events = rank, 4000 + rank, []
        self.skew = int((value("skew", rank) or ["0"])[0]) * 1000
        self.correlation = 100

    def add(self, cat, name, pid, tid, ns, end, args):
        self.events.append({
            "ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid,
            "ts": us(ns + self.skew), "dur": us(end - ns), "args": args})

    def annotate(self, name, tid, ns, end):
        """A record_function: an operator in old releases."""
        self.add("Operator" if OLD else "user_annotation", name, self.pid, tid,
                 ns, end, {})

    def kernel(self, name, stream, launch, ns, end, more, tid=None):
        self.correlation += 1
        runtime = "hipLaunchKernel" if layout == "rocm" else "cudaLaunchKernel"
        self.add("Runtime" if OLD else "cuda_runtime", runtime, self.pid,
                 tid or self.pid, launch, launch + 4000,
                 {"cbid": 211, "correlation": self.correlation})
        args = {"queued": 0, "device": self.rank, "context": 1,
                "stream": stream, "correlation": self.correlation,
                "external id" if OLD else "External id": self.correlation}
        args.update(more)
        self.add("Kernel" if OLD else "kernel", name, self.rank,
                 "stream %d" % stream if OLD else stream, ns, end, args)

    def info(self):
        info = {"backend": "nccl", "rank": self.rank, "world_size": ranks}
        if NAMED:
            info.update(pg_count=1, nccl_version="2.21.5", pg_config=[
                {"pg_name": "0", "pg_desc": "default_pg", "pg_size": ranks,
                 "backend_config": "cuda:nccl",
                 "ranks": str(list(range(ranks)))}])
        return info

    def write(self):
        head = {"schemaVersion": 1, "deviceProperties": [
            {"id": i, "name": "H100", "totalGlobalMem": 1} for i in range(8)]}
        if layout != "2026":
            head["distributedInfo"] = self.info()
        head["record_shapes"] = 1
        if BASE:
            head.update(displayTimeUnit="ms", baseTimeNanoseconds=BASE)
        if layout == "2026":
            head["host_name"] = "node%d" % (
                self.rank * int(opt.get("hosts", 1)) // ranks + 1)
        self.events.append({"ph": "M", "name": "process_name", "ts": 0,
                            "pid": self.pid, "tid": 0,
                            "args": {"name": "python"}})
        self.events.append({"ph": "s", "id": 7, "cat": "ac2g", "name": "ac2g",
                            "pid": 1, "tid": 1, "ts": 1})
        head["traceEvents"] = self.events
        if layout == "2026":
            head["distributedInfo"] = self.info()
        head["traceName"] = "/data/trace.json"
        name = os.path.join(folder, "trace_%d.json" % self.rank)
        text = json.dumps(head, indent=2 if layout == "2.1" else None)
        if layout == "2.2":
            with gzip.open(name + ".gz", "wt") as out:
                out.write(text)
        else:
            with open(name, "w") as out:
                out.write(text)


os.makedirs(folder, exist_ok=True)
traces = [Trace(r) for r in range(ranks)]
now = START
seq = 0
for step in range(first, first + steps):
    begin = now
    at = {}
    for t in traces:
        gap = value("gap", t.rank)
        gpu = begin + 20000 + (int(gap[0]) * 1000 if gap else 0)
        if gap:
            t.add("Operator" if OLD else "cpu_op", "aten::item", t.pid, t.pid,
                  begin + 1000, begin + int(gap[0]) * 1000, {})
        for i, (name, length) in enumerate(KERNELS):
            slow = value("slow", t.rank)
            if slow and slow[0] == name:
                length = int(length * float(slow[1]))
            t.kernel("void %s<float>(int)" % name, 7, gpu - 9000, gpu,
                     gpu + length, {})
            gpu += length + 2000
        at[t.rank] = gpu
    for k, (func, name, elements) in enumerate(COLLS):
        end = max(at.values()) + 60000
        for t in traces:
            more = {}
            size = elements * (ranks if func == "AllReduce" else 1)
            if NAMED:
                more = {"Collective name": name, "In msg nelems": size,
                        "Out msg nelems": elements * ranks,
                        "Group size": ranks, "dtype": "Float",
                        "Process Group Name": "0",
                        "Process Group Description": "default_pg",
                        "Process Group Ranks": str(list(range(ranks)))}
            if layout == "2026":
                more["Seq"] = seq
            launch = begin + 10000 + k * 20000
            word = "all_reduce" if func == "AllReduce" else "_all_gather_base"
            tid = t.pid + (func == "AllGather" and "phases" in opt)
            t.add("user_annotation", "nccl:" + word, t.pid, tid,
                  launch - 2000, launch + 6000,
                  {"Input Dims": [[size]], "Input type": ["float"]})
            t.kernel(nccl_name(func), 20, launch, at[t.rank], end, more, tid)
            if "phases" not in opt:
                pass
            elif func == "AllReduce":
                t.annotate("## forward ##", t.pid, launch - 4000, launch + 9000)
                t.annotate("layer 1", t.pid, launch - 3000, launch + 8000)
            else:  # the forward pass again, within the backward pass
                t.add("Operator" if OLD else "cpu_op",
                      "autograd::engine::evaluate_function: CheckpointBackward",
                      t.pid, tid, launch - 4000, launch + 9000, {})
                t.annotate("DistributedDataParallel.forward", tid,
                           launch - 3000, launch + 8000)
            at[t.rank] = end + 1000
        seq += 1
    now = max(at.values()) + 5000
    for t in traces:
        if "phases" in opt:
            t.annotate("train", t.pid, begin + 100, now - 100)
        t.add("user_annotation", "ProfilerStep#%d" % step, t.pid, t.pid, begin,
              now, {})
for t in traces:
    if opt.get("only", str(t.rank)) == str(t.rank):
        t.write()
