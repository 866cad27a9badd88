"""Write log directories of the Copper cache, as its daemons would.

gen.py small DIR                two ranks with everything: dashes in host names,
                                odd paths, tables, logs, an address book
gen.py overview2 DIR            the totals that Copper's documents print for two
gen.py overview4 DIR            and for four ranks
gen.py tree DIR                 40 ranks in four levels; the root takes ten times as
                                long as a leaf by nature, n33 four times
gen.py many DIR RANKS PATHS     full tables of PATHS paths a rank
"""
import os
import sys

METRICS = ("total_counted_fuse_operations", "total_cache_hits",
           "total_cache_misses", "total_negative_results",
           "estimated_cache_served_operations_saved_by_copper",
           "metadata_enoent_ttl_stores", "metadata_enoent_ttl_serves",
           "metadata_enoent_ttl_expires",
           "metadata_enoent_ttl_clears_on_success_or_non_enoent",
           "estimated_repeated_metadata_lookups_avoided_by_ttl",
           "total_measured_latency_seconds")
TABLES = {"metadata": ("md_table", "Metdata Cache Events"),
          "data": ("data_table", "Data Cache Events"),
          "tree": ("tree_table", "Tree Cache Events"),
          "metadata_ttl": ("md_ttl", "Metadata ENOENT TTL Events")}
CACHE = ("cache hits", "cache misses", "neg")
TTL = ("stores", "serves", "expires", "clears")


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())


def seconds(us):
    return f"{us // 1000000}.{us % 1000000:06d}"


def write_counts(root, host, pid, ops, ttl, tag=None):
    """ops: {name: (calls, hits, misses, negatives, us)}; ttl: four counts."""
    total = [sum(op[i] for op in ops.values()) for i in range(5)]
    values = (total[0], total[1], total[2], total[3], total[1], ttl[0], ttl[1],
              ttl[2], ttl[3], ttl[1], seconds(total[4]))
    base = f"{root}/profiling/{tag or 'final'}/{host}-{pid}"
    base += f"-{tag.rstrip('0123456789').rstrip('-')}" if tag else ""
    write(base + "-profiling_aggregate.csv", "metric,value\n" + "".join(
        f"{m},{v}\n" for m, v in zip(METRICS, values)))
    write(base + "-profiling_operations.csv",
          "operation,total_calls,cache_hits,cache_misses,negative_results,"
          "avg_latency_us,total_latency_s\n" + "".join(
              f"{name},{o[0]},{o[1]},{o[2]},{o[3]},{o[4] / max(o[0], 1):.2f},"
              f"{seconds(o[4])}\n" for name, o in ops.items()))
    write(base + "-profiling_summary.md",
          "# Copper Profiling Summary\n\n- Profiling mode: `full-path`\n"
          "- Metadata ENOENT TTL (ms): `2000`\n- Top-path limit: `2`\n"
          "- Full path outputs enabled: `yes`\n\n## Aggregate Operation "
          "Metrics\n\n| Operation |\n")


def write_paths(root, host, pid, rows, top):
    """rows: {category: [(path, counts...)]}"""
    base = f"{root}/profiling/final/{host}-{pid}-profiling_top_paths.csv"
    text = ("category,path,total_events,cache_hits,cache_misses,"
            "negative_results,ttl_stores,ttl_serves,ttl_expires,ttl_clears\n")
    for category, lines in rows.items():
        for path, *n in sorted(lines, key=lambda r: -sum(r[1:]))[:top]:
            cache, ttl = ([0, 0, 0], n) if category == "metadata_ttl" else (n, [0] * 4)
            quoted = path.replace('"', '""')
            text += f'{category},"{quoted}",{sum(n)},' + ",".join(
                map(str, [*cache, *ttl])) + "\n"
    write(base, text.encode("utf-8", "surrogateescape"))
    for category, lines in rows.items():
        name, title = TABLES[category]
        labels = TTL if category == "metadata_ttl" else CACHE
        body = [title + " {\n"]
        for path, *n in lines:
            body.append(path + " {\n" + ",\n".join(
                f"{label}: {v}" for label, v in zip(labels, n)) + "\n}\n")
        body.append("}")
        write(f"{root}/tables/final/{host}-{pid}-{name}_cache_event.output",
              "".join(body).encode("utf-8", "surrogateescape"))


def write_log(root, host, pid, start, address, tree):
    stamp = f"2026-11-21 09-{start // 60:02d}-{start % 60:02d}.000 [Info] "
    lines = ["(cu_hello_main) hostname found to be: " + host,
             f"(get_my_tree_segment) match found {address}{address}"]
    lines += [f"(pretty_print_tree)   (depth {d}) {a}" for a, d in tree]
    lines += ["(start_thallium_engine) provider registration completed after "
              f"{3000000 + pid} us",
              "(x) parent readiness confirmed after 77 us across 3 probe(s)",
              "(x) first successful parent rpc_stat completed after 4200 us since "
              "provider startup; path=/env"]
    write(f"{root}/logs/{host}-{pid}-output.log",
          "".join(stamp + line + "\n" for line in lines))


ENV = "/proj/conda_env"
SMALL = {
    "metadata": [("/proj", 60, 0, 0), (ENV, 50, 0, 0),
                 (ENV + "/lib/python3.12/odd\n{name", 7, 0, 1)],
    "data": [(ENV + "/lib/python3.12/os.py", 8, 2, 0),
             (ENV + '/lib/python3.12/site-packages/torch/lib/lib"a".so', 0, 1, 9),
             (ENV + "/lib/python3.12/\udce9.py", 3, 1, 0)],
    "tree": [(ENV + "/lib/python3.12", 5, 1, 0)],
    "metadata_ttl": [("/old/lib/libz.so.1", 1, 30, 0, 0),
                     ("/old/lib/libm.so.6", 1, 20, 0, 0),
                     (ENV + "/lib/python312.zip", 1, 6, 0, 0)],
}


def small_ops(extra):
    return {"getattr": (117 + extra, 116 + extra, 0, 1, 40000),
            "open": (9, 0, 0, 0, 0), "read": (24, 11, 4, 9, 90000),
            "readdir": (6, 5, 1, 0, 3000),
            "init": (1, 0, 0, 0, 3000000), "destroy": (1, 0, 0, 0, 0)}


def small(root):
    hosts = (("gpu-node-1", 71), ("gpu-node-2", 72))
    tree = [(f"a://{pid}", level) for level, (_, pid) in enumerate(hosts)]
    for i, (host, pid) in enumerate(hosts):
        for tag in (None, "pre-destroy"):
            write_counts(root, host, pid, small_ops(i), (3, 56, 0, 0), tag)
        write_paths(root, host, pid, SMALL, 2)
        write_log(root, host, pid, i, f"a://{pid}", tree)
    write(f"{root}/logs/copper_address_book.txt",
          "".join(f"{h} a://{p}\n" for h, p in hosts))


def split(total, n):
    return [total // n + (i < total % n) for i in range(n)]


def spread(total, low, high):
    """Four values with that sum, least and most."""
    return [low, high, *split(total - low - high, 2)]


def overview2(root):
    ops = {"getattr": (3770238, 3709427, 0, 60811, 13383411),
           "read": (93524, 83956, 2284, 7284, 35790869),
           "readdir": (2304, 2304, 0, 0, 249776),
           "open": (102592, 0, 0, 0, 0), "init": (2, 0, 0, 0, 926994),
           "destroy": (2, 0, 0, 0, 0)}
    ttl = (1132, 9715, 6, 0)
    for rank in range(2):
        write_counts(root, f"n{rank + 1}", 100 + rank,
                     {name: tuple(split(v, 2)[rank] for v in op)
                      for name, op in ops.items()},
                     [split(v, 2)[rank] for v in ttl])


def overview4(root):
    columns = (spread(8003438, 2000144, 2002372),
               spread(7592110, 1897747, 1898160), spread(4401, 948, 1165),
               spread(201735, 49623, 52204), spread(2513, 560, 824),
               spread(19732, 4576, 5708),
               spread(37399760, 9111560, 9475459))
    for rank, (total, hits, misses, neg, stores, serves, us) in enumerate(
            zip(*columns)):
        read = (misses + 20000 + neg // 2, 20000, misses, neg // 2, us // 2)
        readdir = (500, 500, 0, 0, 1000)
        getattr_hits = hits - 20000 - 500
        getattr_op = (getattr_hits + neg - neg // 2, getattr_hits, 0,
                      neg - neg // 2, us - us // 2 - 1000 - 400000)
        rest = total - read[0] - readdir[0] - getattr_op[0] - 2
        ops = {"getattr": getattr_op, "open": (rest, 0, 0, 0, 0), "read": read,
               "readdir": readdir, "init": (1, 0, 0, 0, 400000),
               "destroy": (1, 0, 0, 0, 0)}
        for tag in (None, "pre-destroy"):
            write_counts(root, f"n{rank + 1}", 200 + rank, ops,
                         (stores, serves, 0, 0), tag)


def tree(root):
    """Fan-out 3, as Copper's for 32 to 121 nodes: 1, 3, 9 and 27 ranks."""
    for rank in range(40):
        level = (rank > 0) + (rank > 3) + (rank > 12)
        us = (5000, 2000, 1000, 500)[level] + rank % 5 * 7
        us = 2000 if rank == 33 else us
        ops = {"getattr": (1000, 990, 0, 10, 1000 * us),
               "read": (100, 90, 10, 0, 50000 + rank % 3 * 100),
               "init": (1, 0, 0, 0, 3000000 + rank % 7 * 1000)}
        write_counts(root, f"n{rank}", 500 + rank, ops, (5, 5, 90 * (rank == 0), 0))
    write(f"{root}/logs/copper_address_book.txt",
          "".join(f"n{r} cxi://{r:#x}\n" for r in range(40)))


def many(root, ranks, paths):
    folder = ENV + "/lib/python3.12/site-packages/package"
    rows = {"metadata": [(f"{folder}{i % 97}/module_{i}.py", 3 + i % 5, 0, 0)
                         for i in range(paths)],
            "data": [(f"{folder}{i % 97}/module_{i}.py", 2, 1, 0)
                     for i in range(paths // 2)],
            "tree": [(f"{folder}{i}", 2, 1, 0) for i in range(97)],
            "metadata_ttl": [(f"/old/lib/lib{i}.so", 1, i % 9, 0, 0)
                             for i in range(paths // 8)]}
    for rank in range(ranks):
        host, pid = f"node{rank:05d}", 1000 + rank
        write_counts(root, host, pid, small_ops(rank % 7), (3, 56, 0, 0))
        write_paths(root, host, pid, rows, 20)


def main():
    kind, root, *numbers = sys.argv[1:]
    {"small": small, "overview2": overview2, "overview4": overview4,
     "tree": tree, "many": many}[kind](root, *map(int, numbers))


if __name__ == "__main__":
    main()
