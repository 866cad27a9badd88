"""Compare a report with ncclsim's own counts: every operation issued is there.

Usage: compare_counts.py STEP_DIR COUNTS_DIR RANKS
"""
import csv
import glob
import json
import sys


def issued(counts_dir):
    """(communicator, function, size) -> records issued, over all ranks."""
    records, comms, files = {}, {}, glob.glob(counts_dir + "/*.json")
    for path in files:
        with open(path) as f:
            doc = json.load(f)
        for comm in doc["comms"]:
            key = comm["id"][:16]
            comms[key] = (comm["name"], comm["n_ranks"], comm["nnodes"])
            for cell in comm["cells"]:
                k = (key, cell["func"], cell["bytes"])
                records[k] = records.get(k, 0) + cell["ops"]
    return records, comms, len(files)


def reported(step_dir):
    records, p2p = {}, {}
    with open(step_dir + "/summary.json") as f:
        summary = json.load(f)
    with open(step_dir + "/csv/ops.csv") as f:
        for row in csv.DictReader(f):
            k = (row["comm"], row["coll"], int(row["msg_size_bytes"]))
            records[k] = records.get(k, 0) + int(row["records"])
    with open(step_dir + "/csv/p2p.csv") as f:
        for row in csv.DictReader(f):
            k = (row["comm"], row["func"])
            p2p[k] = p2p.get(k, 0) + int(row["count"])
    return summary, records, p2p


def expected_type(n_ranks, nnodes):
    if n_ranks == 1:
        return "single-rank"
    if nnodes == 1:
        return "nvlink-only"
    return "hca-only" if nnodes == n_ranks else "mixed"


def main():
    step_dir, counts_dir, ranks = sys.argv[1], sys.argv[2], int(sys.argv[3])
    want, comms, n_files = issued(counts_dir)
    summary, have, have_p2p = reported(step_dir)
    bad = []
    if n_files != ranks:
        bad.append(f"{n_files} counts files instead of {ranks}")
    want_p2p = {}
    for (comm, func, size), n in want.items():
        if func in ("Send", "Recv"):
            want_p2p[comm, func] = want_p2p.get((comm, func), 0) + n
        elif have.pop((comm, func, size), 0) != n:
            bad.append(f"{comm} {func} {size}: issued {n}, reported otherwise")
    bad += [f"reported, never issued: {k}" for k in have]
    if want_p2p != have_p2p:
        bad.append(f"p2p: issued {want_p2p}, reported {have_p2p}")
    types = {c["id"]: c["comm_type"] for c in summary["comms"]}
    for comm, (name, n_ranks, nnodes) in comms.items():
        if types.get(comm) != expected_type(n_ranks, nnodes):
            bad.append(f"{comm} ({name}): {types.get(comm)}")
    quality = summary["quality"]
    if (quality["ranks_seen"], quality["ranks_expected"]) != (ranks, ranks):
        bad.append(f"ranks {quality['ranks_seen']} of {quality['ranks_expected']}")
    total = sum(want.values())
    if quality["records"] != total or quality["coverage"] != 1.0:
        bad.append(f"records {quality['records']} of {total}, "
                   f"coverage {quality['coverage']}")
    for line in bad[:20]:
        print(line, file=sys.stderr)
    kinds = sorted(set(types.values()))
    print(f"{total} records of {len(comms)} communicators ({', '.join(kinds)}), "
          f"{ranks} of {ranks} ranks")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
