"""make_export.py FILE ROWS [SEED]: an export of nsys with that many calls,
kernels, a tenth as many copies and some NVTX ranges."""
import os
import random
import sqlite3
import sys

path, rows = sys.argv[1], int(sys.argv[2])
random.seed(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
if os.path.exists(path):
    os.unlink(path)
db = sqlite3.connect(path)
db.executescript("""
PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.16.1');
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL,
 end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
 correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL,
 callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL,
 end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
 greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
 globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL,
 end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
 streamId INTEGER NOT NULL, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL,
 srcKind INTEGER, dstKind INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER,
 eventType INTEGER NOT NULL, text TEXT, textId INTEGER, domainId INTEGER);
""")
calls = ["cudaLaunchKernel_v7000", "cudaLaunchKernel_v7000",
         "cudaMemcpyAsync_v3020", "cuMemAlloc_v2",
         "cudaStreamSynchronize_v3020"]
for i, name in enumerate(calls):
    db.execute("INSERT INTO StringIds VALUES (?,?)", (i + 1, name))
for i in range(60):
    db.execute("INSERT INTO StringIds VALUES (?,?)",
               (100 + i, f"void kernel_{i}<float>(int)" if i else
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"))
process, at, api, kernels, copies, ranges = 42 << 24, 1000, [], [], [], []
for i in range(1, rows + 1):
    api.append((at, at + random.randint(3000, 9000), 0, process + 7, i,
                random.randint(1, len(calls)), 0, None))
    start = at + random.randint(4000, 20000)
    kernels.append((start, start + random.randint(2000, 12000), i % 4 == 0, 1,
                    None, 7, i, process, 100 + random.randrange(60), 1))
    if i % 10 == 0:
        copies.append((start, start + random.randint(500, 9000), 0, 1, 7,
                       random.randint(4, 1 << 20), random.choice([1, 2, 8]),
                       random.randint(0, 2), 2))
    if i % 100 == 0:
        ranges.append((at, at + 900000, random.choice([59, 60]),
                       random.choice(["forward", "backward"]), None, 0))
    at += random.randint(9000, 30000)
for table, list_ in (("CUPTI_ACTIVITY_KIND_RUNTIME", api),
                     ("CUPTI_ACTIVITY_KIND_KERNEL", kernels),
                     ("CUPTI_ACTIVITY_KIND_MEMCPY", copies),
                     ("NVTX_EVENTS", ranges)):
    if list_:
        marks = ",".join("?" * len(list_[0]))
        db.executemany(f"INSERT INTO {table} VALUES ({marks})", list_)
db.commit()
