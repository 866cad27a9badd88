"""make_ranks.py FILE PROCESSES [name=value...]: an export of one nsys around
torchrun: that many processes, each with a GPU, steps of own kernels and a
collective that nobody leaves before all have entered it.

  kernel=NAME  of the collective    range=TEXT  NVTX range of each process
  slow=P:F     process P's own kernel takes F times as long
  fewer=P      process P has one operation less
  streams=2    collectives alternate between two streams
  torn=1       the last process is a whole step ahead
  steps=N
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
 eventType INTEGER NOT NULL, text TEXT, textId INTEGER, domainId INTEGER);
""")
db.executemany("INSERT INTO StringIds VALUES (?,?)",
               [(1, kernel), (2, "void gemm<float>(int)")])
slow = opt.get("slow", "-1:1").split(":")
rows, now = [], 1000000
for step in range(steps):
    at = {}
    for p in range(count):
        length = 900000 * (float(slow[1]) if str(p) == slow[0] else 1)
        rows.append((now, int(now + length), p, 7, 10 * step + 1,
                     (140 + p) << 24, 2, 2))
        at[p] = int(now + length) + 1000
    end = max(at.values()) + 60000
    for p in range(count):
        if str(p) == opt.get("fewer") and step == 0:
            continue
        shift = 1000000 if "torn" in opt and p == count - 1 else 0
        rows.append((at[p] + shift, end + shift, p, 20 + step % streams,
                     10 * step + 2, (140 + p) << 24, 1, 1))
    now = end + 5000
db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
               "(?,?,?,?,?,?,?,?)", rows)
if "range" in opt:
    db.execute("INSERT INTO NVTX_EVENTS VALUES (5,9,59,?,NULL,0)",
               (opt["range"],))
db.commit()
