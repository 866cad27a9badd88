#!/usr/bin/env python3
"""Makes a job's directory with one step, as its nodes would leave it.

make_step.py DIR WRITE_MACHINE MACHINES NODE=MACHINE... [NCCL_X=VALUE...]
             [NODE:NCCL_X=VALUE...] [--forget] [--log=VIA/DETAIL[/gdr][/pxn],...
             [,nvls=CHANNELS][,nvls][,collnet]]

Ranks are node by node in PCI order of GPUs. Communicators: a tensor group a
node, a data group a GPU index, a pipeline pair of the first two nodes, and the
world. --log: what NCCL's log told of the world. Slurm's node names are not the host names: n1 is host-1.
"""
import json
import os
import re
import subprocess
import sys


def gpus_of(xml):
    """Bus ids of NVIDIA's GPUs in PCI order."""
    found = re.findall(r'pci_busid="([^"]+)" pci_type="030[02] \[10de', xml)
    return sorted(found)


def line(comm, rank, host, pid):
    return json.dumps({
        "header": {"id": comm["id"], "comm_name": comm["name"], "rank": rank,
                   "n_ranks": len(comm["ranks"]), "nnodes": comm["nnodes"]},
        "metadata": {"inspector_output_format_version": "v4.0",
                     "git_rev": "unknown",
                     "rec_mechanism": "nccl_profiler_interface",
                     "dump_timestamp_us": 1795251741332365, "hostname": host,
                     "pid": pid},
        "coll_perf": {"coll": "AllReduce", "coll_sn": 0,
                      "coll_msg_size_bytes": 1048576, "coll_exec_time_us": 30,
                      "coll_timing_source": "kernel_gpu",
                      "coll_algobw_gbs": 1.0, "coll_busbw_gbs": 2.0}})


def comms_of(nodes):
    """Communicators over (node, gpu) pairs; tensor, data, pipeline, world."""
    comms, widest = [], max(len(n["gpus"]) for n in nodes)
    for k, n in enumerate(nodes):
        comms.append({"name": f"tp{k}",
                      "ranks": [(k, g) for g in range(len(n["gpus"]))]})
    for g in range(widest):
        comms.append({"name": f"dp{g}",
                      "ranks": [(k, g) for k, n in enumerate(nodes)
                                if g < len(n["gpus"])]})
    if len(nodes) > 1:
        comms.append({"name": "pp",
                      "ranks": [(0, len(nodes[0]["gpus"]) - 1), (1, 0)]})
    comms.append({"name": "world",
                  "ranks": [(k, g) for k, n in enumerate(nodes)
                            for g in range(len(n["gpus"]))]})
    for i, comm in enumerate(comms):
        comm["id"] = f"0x{0xabc000 + i:x}"
        comm["nnodes"] = len({k for k, _ in comm["ranks"]})
    return comms


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def carried(comm, host, pid, rank, words):
    """Records of NCCL's log: a path for each word with a slash."""
    who = {"host": host, "pid": pid, "comm": comm["id"], "rank": rank}
    lines, whole = [], {"nvls_channels": None, "nvls": False, "collnet": False}
    for word in words:
        via, *rest = word.split("/")
        if rest:
            lines.append({"path": who | {
                "peer": None, "via": via, "detail": rest[0], "device": "",
                "layer": "", "gdr": "gdr" in rest, "pxn": "pxn" in rest,
                "lines": 2}})
        elif word.startswith("nvls="):
            whole["nvls_channels"] = int(word[5:])
        else:
            whole[word] = True
    return [json.dumps(r) for r in [*lines, {"carriers": who | whole}]]


def write_node(job, n, k, count, comms, forget, said):
    name, host = n["name"], f"host-{k + 1}"
    boot = f"00000000-0000-4000-8000-{k:012d}"
    step = f"{job}/step-0"
    logs, ranks = {}, []
    for comm in comms:
        for rank, (node, gpu) in enumerate(comm["ranks"]):
            if node != k:
                continue
            pid = 1000 + gpu
            logs.setdefault(pid, []).append(line(comm, rank, host, pid))
            ranks.append(json.dumps({"rank": {
                "source": "recorder", "host": host, "pid": pid,
                "comm": comm["id"], "rank": rank,
                "n_ranks": len(comm["ranks"]), "busid": n["gpus"][gpu],
                "uuid": ""}}))
            if said and comm["name"] == "world":
                ranks += carried(comm, host, pid, rank, said[0])
    for pid, lines in logs.items():
        write(f"{step}/raw/{name}/{host}-pid{pid}.log",
              "\n".join(lines) + "\n")
        ranks.append(json.dumps({"process": {
            "file": f"{host}-pid{pid}.log", "source": "recorder",
            "host": host, "pid": pid, "boot_id": boot, "procid": 0,
            "localid": 0, "variables": n["variables"]}}))
    ranks.append(json.dumps({"end": {"complete": True, "why": ""}}))
    if not forget:
        write(f"{step}/nodes/{name}/ranks.jsonl", "\n".join(ranks) + "\n")
    write(f"{step}/nodes/{name}/node.json", json.dumps({
        "schema": 1, "node": name, "hostname": host, "nodeid": k,
        "component": 12, "boot_id": boot, "kernel": "6", "jobprof": "0",
        "step_nodelist": "", "step_nodes": count, "step_tasks": 0,
        "step_tasks_per_node": "", "topology_addr": "", "begin_us": 1}))
    write(f"{step}/nodes/{name}/tasks.jsonl", "".join(
        json.dumps({"gtid": g, "ltid": g, "pid": 1000 + g, "status": 0}) + "\n"
        for g in range(len(n["gpus"]))))
    write(f"{step}/nodes/{name}/manifest", json.dumps({
        "schema": 1, "node": name, "nodeid": k, "component": 12,
        "finish_us": 2, "complete": True, "files": []}))


def main():
    job, writer, machines = sys.argv[1:4]
    words, nodes = sys.argv[4:], []
    forget = "--forget" in words
    variables = dict(w.split("=", 1) for w in words if w.startswith("NCCL_"))
    for word in words:
        name, _, machine = word.partition("=")
        if word.startswith(("--", "NCCL_")) or ":" in name:
            continue
        folder = f"{job}/nodes/{name}"
        os.makedirs(folder, exist_ok=True)
        subprocess.run([writer, machines, machine, f"host-{len(nodes) + 1}",
                        f"{folder}/topology.xml", f"{folder}/hardware.json"],
                       check=True)
        with open(f"{folder}/topology.xml", encoding="utf-8") as f:
            nodes.append({"name": name, "gpus": gpus_of(f.read()),
                          "variables": variables | dict(
                              w[len(name) + 1:].split("=", 1) for w in words
                              if w.startswith(f"{name}:"))})
    comms = comms_of(nodes)
    said = [w[len("--log="):].split(",") for w in words
            if w.startswith("--log=")]
    for k, n in enumerate(nodes):
        write_node(job, n, k, len(nodes), comms, forget, said)


if __name__ == "__main__":
    main()
