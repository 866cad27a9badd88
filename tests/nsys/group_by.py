"""group_by.py CSV FILE...: does SQLite itself add up the same over all files?
CSV is of `jobprof nsys --csv`. Also for exports that nsys has made."""
import collections
import csv
import math
import re
import sqlite3
import sys

COPIES = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP"}
want = collections.defaultdict(list)


def tables(db):
    return {r[0] for r in db.execute("SELECT name FROM sqlite_master")}


def columns(db, table):
    return {r[1] for r in db.execute(f"PRAGMA table_info({table})")}


for path in sys.argv[2:]:
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    there = tables(db)
    if "CUPTI_ACTIVITY_KIND_RUNTIME" in there:
        classes = [0, 1]
        if "ENUM_NSYS_EVENT_CLASS" in there:
            classes = [r[0] for r in db.execute(
                "SELECT id FROM ENUM_NSYS_EVENT_CLASS WHERE name LIKE "
                "'%CUDA_RUNTIME' OR name LIKE '%CUDA_DRIVER'")] or classes
        where = ("WHERE eventClass IN (%s)" % ",".join(map(str, classes))
                 if "eventClass" in columns(db, "CUPTI_ACTIVITY_KIND_RUNTIME")
                 else "")
        for name, ns in db.execute(
                "SELECT value, end - start FROM CUPTI_ACTIVITY_KIND_RUNTIME "
                "LEFT JOIN StringIds ON nameId = id " + where):
            name = re.sub(r"_v[0-9]{4,5}$", "", name or "<unknown>")
            want["api", name].append(ns)
    if "CUPTI_ACTIVITY_KIND_KERNEL" in there:
        for name, ns in db.execute(
                "SELECT value, end - start FROM CUPTI_ACTIVITY_KIND_KERNEL "
                "LEFT JOIN StringIds ON demangledName = id"):
            want["kernel", name or "<unknown>"].append(ns)
    for kind, what in (("MEMCPY", "copyKind"), ("MEMSET", "-1")):
        table = "CUPTI_ACTIVITY_KIND_" + kind
        if table not in there:
            continue
        for code, ns, size in db.execute(
                f"SELECT {what}, end - start, bytes FROM {table}"):
            name = ("[CUDA memset]" if code < 0 else
                    f"[CUDA memcpy {COPIES[code]}]")
            want["memory_time", name].append(ns)
            want["memory_size", name].append(size)
    if "NVTX_EVENTS" in there:
        cols = columns(db, "NVTX_EVENTS")
        text = ("coalesce(text, (SELECT value FROM StringIds WHERE id = "
                "textId))" if "textId" in cols else "text")
        domains = dict(db.execute(
            f"SELECT domainId, {text} FROM NVTX_EVENTS WHERE eventType = 75"))
        for kind, domain, name, ns in db.execute(
                f"SELECT eventType, domainId, {text}, end - start FROM "
                "NVTX_EVENTS WHERE eventType IN (59, 60) AND end NOT NULL"):
            domain = domains.get(domain) or ""
            name = (domain + ":" if domain else "") + (name or "<unknown>")
            want["nvtx_pushpop" if kind == 59 else "nvtx_startend",
                 name].append(ns)

with open(sys.argv[1], encoding="utf-8", newline="") as f:
    got = {(r["table"], r["name"]): r for r in csv.DictReader(f)}
assert set(got) == set(want), (set(got) ^ set(want))
for key, values in want.items():
    row, n = got[key], len(values)
    mean = sum(values) / n
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) /
                          (n - 1)) if n > 1 else 0
    assert int(row["count"]) == n, (key, row)
    assert int(row["total"]) == sum(values), (key, row)
    assert int(row["min"]) == min(values), (key, row)
    assert int(row["max"]) == max(values), (key, row)
    assert math.isclose(float(row["average"]), mean, rel_tol=1e-12), (key, row)
    assert math.isclose(float(row["deviation"]), deviation, rel_tol=1e-9,
                        abs_tol=1e-6), (key, row)
print(f"{len(want)} names alike")
