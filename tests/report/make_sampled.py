"""make_sampled.py DIR - a step as its nodes would leave it: eight tasks on two nodes,
of which task 6 comes late because it waits for a processor; samples of nodes, tasks,
GPUs and ports, and evidence of a hang that passed."""
import gzip
import json
import os
import sys

step = sys.argv[1]
SECONDS, START = 60, 1700000000 * 10**6


def samples(node, kind, columns, rows):
    """rows(second) -> [(id, values)]"""
    path = f"{step}/nodes/{node}/util-{kind}.csv.gz"
    with gzip.open(path, "wt") as out:
        out.write(f"# jobprof util 1 kind={kind} job=7 step=0 node={node} start_us={START}\n")
        out.write("t_us,mono_us,samples,stat,id," + ",".join(columns) + "\n")
        for s in range(SECONDS):
            for name, values in rows(s):
                out.write(f"{START + s * 10**6},{s * 10**6},1,mean,{name}," +
                          ",".join(str(v) for v in values) + "\n")


os.makedirs(step, mode=0o700)
for n in range(2):
    node = f"n{n}"
    for folder in (f"nodes/{node}", f"raw/{node}", f"hang/{node}"):
        os.makedirs(f"{step}/{folder}", mode=0o700)
    tasks = range(4 * n, 4 * n + 4)
    for task in tasks:
        with open(f"{step}/raw/{node}/{node}-pid{100 + task}.log", "w") as out:
            for sn in range(1200):
                us = 1000 if task == 6 else 9000 + (task * 7 + sn * 3) % 11
                out.write(json.dumps({
                    "header": {"id": "0xab", "comm_name": "dp", "rank": task, "n_ranks": 8, "nnodes": 2},
                    "metadata": {"inspector_output_format_version": "v4.0",
                                 "dump_timestamp_us": START + sn * 50000, "hostname": node, "pid": 100 + task},
                    "coll_perf": {"coll": "AllReduce", "coll_sn": sn, "coll_msg_size_bytes": 1048576,
                                  "coll_exec_time_us": us, "coll_algobw_gbs": 1.0, "coll_busbw_gbs": 1.5}}) + "\n")
    files = {
        "node.json": {"schema": 1, "node": node, "hostname": node, "nodeid": n, "component": 12, "boot_id": "",
                      "kernel": "6", "jobprof": "0", "step_nodelist": "", "step_nodes": 2, "step_tasks": 8,
                      "step_tasks_per_node": "", "topology_addr": "", "begin_us": START - 10**6},
        "manifest": {"schema": 1, "node": node, "nodeid": n, "component": 12,
                     "finish_us": START + (SECONDS + 1) * 10**6, "complete": True, "files": []},
    }
    for name, content in files.items():
        with open(f"{step}/nodes/{node}/{name}", "w") as out:
            json.dump(content, out)
    with open(f"{step}/nodes/{node}/tasks.jsonl", "w") as out:
        for task in tasks:
            out.write(json.dumps({"gtid": task, "ltid": task % 4, "pid": 100 + task, "status": 0,
                                  "start_us": START - 10**6, "end_us": START + SECONDS * 10**6}) + "\n")
    noise = lambda s, k: (s * 7 + k * 13) % 10 / 1000
    samples(node, "node", ["cpus", "cpu_busy", "memory_total", "memory_used", "net_in", "net_out"],
            lambda s: [("node", [16, 4.2 + noise(s, n), 1e11, 2e10, 1e6 + 1e5 * n, 2e6])])
    samples(node, "task", ["processes", "cpus", "cpu_user", "cpu_system", "memory", "cpu_wait"],
            lambda s: [("step", [4, 16, 3.6 + noise(s, n), 0.1, 4e9, 0.01])] +
            [(str(t), [1, 4, (0.5 if t == 6 else 0.9) + noise(s, t), 0.025 + noise(s, t) / 10, 1e9,
                       (0.4 if t == 6 else 0.01) + noise(s, t)]) for t in tasks])
    samples(node, "gpu", ["sm", "memory_used", "memory_total", "power", "sm_clock"],
            lambda s: [(f"0000:{k:02x}:00.0", [0.9 + noise(s, k), 6e10, 8e10, 600, 1900]) for k in range(4)])
    with open(f"{step}/hang/{node}/evidence.json", "w") as out:
        json.dump({"version": 1, "node": node, "hang": "rank 2 never entered AllReduce 7", "parts": [],
                   "processes": [{"pid": 100 + 4 * n, "task": 4 * n, "role": "waiting", "there": True,
                                  "threads": [{"tid": 1, "name": "train", "state": "S", "wchan": "futex",
                                               "cpu_ms_after": 0}]}], "ras": []}, out)
