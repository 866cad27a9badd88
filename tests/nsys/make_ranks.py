"""make_ranks.py FILE PROCESSES [name=value...]: an export of one nsys around
torchrun: that many processes, each with a GPU, steps of own kernels and a
collective that nobody leaves before all have entered it.

  kernel=NAME  of the collective    range=TEXT  NVTX range of each process
  slow=P:F     process P's own kernel takes F times as long
  fewer=P      process P has one operation less
  streams=2    collectives alternate between two streams
  torn=1       the last process is a whole step ahead
  nvtx=1       two collectives a step; the program's ranges, nested, and PyTorch's:
               the first one is in "forward", the second in another thread's
               "backward"
  host=P:US    process P is so long in a call before each launch of its own kernel
  ranges=N     process 0 has so many further ranges of the program
  steps=N
  schema=V     the tables of that release: 2021 (before versions were written),
               3.16.1 or 3.28.1; columns as in nsys_fixture.c
"""
import os
import sqlite3
import sys

path, count = sys.argv[1], int(sys.argv[2])
opt = dict(a.split("=", 1) for a in sys.argv[3:])
kernel = opt.get("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)")
steps, streams = int(opt.get("steps", 40)), int(opt.get("streams", 1))
if os.path.exists(path):
    os.unlink(path)
db = sqlite3.connect(path)
db.executescript("""
PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.20.1');
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);
INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Hostname', 'node7');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL,
 end INTEGER NOT NULL, deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL,
 correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
 shortName INTEGER NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER,
 eventType INTEGER NOT NULL, text TEXT, textId INTEGER, domainId INTEGER,
 globalTid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL,
 end INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,
 nameId INTEGER NOT NULL);
""")
db.executemany("INSERT INTO StringIds VALUES (?,?)",
               [(1, kernel), (2, "void gemm<float>(int)"),
                (3, "cudaLaunchKernel_v7000"), (4, "cudaMemcpyAsync_v3020"),
                (5, "## forward ##")])
host = opt.get("host", "-1:0").split(":")
calls, ranges = [], []
slow = opt.get("slow", "-1:1").split(":")
rows, now = [], 1000000
for step in range(steps):
    at = {}
    for p in range(count):
        length = 900000 * (float(slow[1]) if str(p) == slow[0] else 1)
        late = int(host[1]) * 1000 if str(p) == host[0] else 0
        main = (140 + p) << 24 | 140 + p
        if late:
            calls.append((now, now + late, main, 10 * step + 9, 4))
        calls.append((now + late, now + late + 900, main, 10 * step + 1, 3))
        rows.append((now + late, int(now + late + length), p, 7, 10 * step + 1,
                     (140 + p) << 24, 2, 2))
        at[p] = int(now + late + length) + 1000
    end = max(at.values()) + 60000
    for p in range(count):
        if str(p) == opt.get("fewer") and step == 0:
            continue
        shift = 1000000 if "torn" in opt and p == count - 1 else 0
        rows.append((at[p] + shift, end + shift, p, 20 + step % streams,
                     10 * step + 2, (140 + p) << 24, 1, 1))
    now = end + 5000
    for p in range(count if "nvtx" in opt else 0):
        main, other = (140 + p) << 24 | 140 + p, (140 + p) << 24 | 999
        begin = at[p] - 900
        calls.append((begin, begin + 500, main, 10 * step + 2, 3))
        ranges.append((begin - 50, begin + 600, 59, None, 5, main))
        ranges.append((begin - 40, begin + 590, 59, "layer", None, main))
        ranges.append((begin - 5, begin + 505, 59, "ncclAllReduce", None, main))
        rows.append((now, now + 40000, p, 20, 10 * step + 3, (140 + p) << 24,
                     1, 1))
        calls.append((now - 900, now - 400, other, 10 * step + 3, 3))
        ranges.append((now - 950, now - 300, 59, "autograd::engine::"
                       "evaluate_function: MulBackward0, seq = %d, op_id = %d"
                       % (step, 9 * step), None, other))
    now += 50000 if "nvtx" in opt else 0
db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
               "(?,?,?,?,?,?,?,?)", rows)
if "range" in opt:
    db.execute("INSERT INTO NVTX_EVENTS VALUES (5,9,59,?,NULL,0,NULL)",
               (opt["range"],))
db.executemany("INSERT INTO NVTX_EVENTS VALUES (?,?,?,?,?,0,?)", ranges)
db.executemany("INSERT INTO NVTX_EVENTS VALUES (?,?,59,'mine',NULL,0,?)",
               ((i, i + 1, 140 << 24 | 140)
                for i in range(int(opt.get("ranges", 0)))))
db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,?,?,?)",
               calls)


# Columns that releases add or lack; the others are copied.
COLUMNS = {
    "2021": {
        "CUPTI_ACTIVITY_KIND_KERNEL":
            "start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, "
            "contextId INT NOT NULL DEFAULT 1, streamId INT NOT NULL, "
            "correlationId INT, globalPid INT, demangledName INT NOT NULL, "
            "shortName INT NOT NULL, registersPerThread INT NOT NULL DEFAULT 32, "
            "gridX INT NOT NULL DEFAULT 1",
        "CUPTI_ACTIVITY_KIND_RUNTIME":
            "start INT NOT NULL, end INT NOT NULL, eventClass INT NOT NULL "
            "DEFAULT 0, globalTid INT NOT NULL, correlationId INT NOT NULL, "
            "nameId INT NOT NULL, returnValue INT NOT NULL DEFAULT 0, "
            "callchainId INT",
        "NVTX_EVENTS":
            "start INT NOT NULL, end INT, eventType INT NOT NULL, rangeId INT, "
            "category INT, color INT, text TEXT, globalTid INT, "
            "endGlobalTid INT, domainId INT"},
    "3.16.1": {
        "CUPTI_ACTIVITY_KIND_KERNEL":
            "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT "
            "NULL, contextId INTEGER NOT NULL DEFAULT 1, greenContextId INTEGER, "
            "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid "
            "INTEGER, demangledName INTEGER NOT NULL REFERENCES StringIds(id), "
            "shortName INTEGER NOT NULL REFERENCES StringIds(id), mangledName "
            "INTEGER REFERENCES StringIds(id), launchType INTEGER, gridX "
            "INTEGER NOT NULL DEFAULT 1, graphNodeId INTEGER",
        "CUPTI_ACTIVITY_KIND_RUNTIME":
            "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER "
            "NOT NULL DEFAULT 0, globalTid INTEGER, correlationId INTEGER, "
            "nameId INTEGER NOT NULL REFERENCES StringIds(id), returnValue "
            "INTEGER NOT NULL DEFAULT 0, callchainId INTEGER"},
}
COLUMNS["3.28.1"] = {
    "CUPTI_ACTIVITY_KIND_KERNEL":
        COLUMNS["3.16.1"]["CUPTI_ACTIVITY_KIND_KERNEL"] +
        ", graphId INTEGER, clusterX INTEGER, tensorSizeMinusOneElements TEXT "
        "NOT NULL DEFAULT ''",
    "CUPTI_ACTIVITY_KIND_RUNTIME":
        COLUMNS["3.16.1"]["CUPTI_ACTIVITY_KIND_RUNTIME"]}
schema = opt.get("schema")
if schema:
    db.execute("UPDATE NVTX_EVENTS SET text = (SELECT value FROM StringIds "
               "WHERE id = textId) WHERE text IS NULL AND ? = '2021'",
               (schema,))
    for table, columns in COLUMNS[schema].items():
        db.execute("ALTER TABLE %s RENAME TO old" % table)
        db.execute("CREATE TABLE %s (%s)" % (table, columns))
        names = [{r[1] for r in db.execute("PRAGMA table_info(%s)" % t)}
                 for t in (table, "old")]
        both = ", ".join(sorted(names[0] & names[1]))
        db.execute("INSERT INTO %s (%s) SELECT %s FROM old" % (table, both, both))
        db.execute("DROP TABLE old")
    if schema == "2021":
        for table in ("META_DATA_EXPORT", "TARGET_INFO_SESSION_START_TIME",
                      "TARGET_INFO_SYSTEM_ENV"):
            db.execute("DROP TABLE " + table)
    else:
        db.execute("UPDATE META_DATA_EXPORT SET value = ?", (schema,))
db.commit()
