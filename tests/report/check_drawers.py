# check_drawers.py FOLDER LEAST [SECTION...] - compares the figures of the page's closed sections with
# summary.json and csv/ of the same report.
import csv
import html
import json
import os
import re
import sys

folder, least = sys.argv[1], int(sys.argv[2])
page = open(os.path.join(folder, "report.html"), errors="replace").read()
d = json.load(open(os.path.join(folder, "summary.json")))
figures = {}
job = d["job"]
# a tree without a feature has no such key
hang = d.get("hang") or {}
for m in re.finditer(r'<section id="([a-z0-9-]+)"[^>]*><details[^>]*><summary><h2>[^<]*</h2>'
                     r'<span class="figure">([^<]*)</span>', page):
    figures[m[1]] = html.unescape(m[2])


def rows(name):
    path = os.path.join(folder, "csv", name)
    return list(csv.DictReader(open(path, errors="replace"))) if os.path.exists(path) else []


def us(text):
    """A time of the page in us."""
    m = re.fullmatch(r"([\d.,]+) (us|ms|s|min|h|d)", text)
    return float(m[1].replace(",", "")) * {"us": 1, "ms": 1e3, "s": 1e6, "min": 6e7, "h": 3.6e9, "d": 8.64e10}[m[2]]


def near(a, b):
    return abs(a - b) <= 0.006 * max(abs(a), abs(b), 1)


def percent(text):
    return float(re.search(r"<?([\d.]+) %", text)[1]) / 100


bad = []
# each section has one
for m in re.finditer(r'<section id="([a-z0-9-]+)"[^>]*><details', page):
    if not figures.get(m[1]):
        bad.append(f"{m[1]}: no figure")


def need(key, right, should):
    if figures.get(key, "not known") != "not known" and not right(figures[key]):
        bad.append(f"{key}: {figures[key]!r}, should be {should}")


need("findings", lambda t: int(t.replace(",", "")) == len([f for f in d["findings"]
     if not f["kind"].startswith(("topology", "copper"))]), len(d["findings"]))
h = [x for x in d["hypotheses"]]
answered = [x for x in h if x.get("state", x.get("answer")) != "not_judged"]
need("hypotheses", lambda t: t == f"{len(answered)} of {len(h)} questions answered", (len(answered), len(h)))
comms = rows("comms.csv")
if comms:
    top = max(comms, key=lambda r: int(r["time_us"] or 0))
    need("communicators", lambda t: t.split(";")[0].replace(",", "") == str(len(comms)) and
         (not int(top["time_us"] or 0) or near(us(t.rsplit(": ", 1)[1]), int(top["time_us"]))),
         (len(comms), top["time_us"]))
sums, hosts = {}, {}
for r in rows("ranks.csv"):
    sums[r["host"], r["pid"]] = sums.get((r["host"], r["pid"]), 0) + int(r["caused_us"] or 0)
    hosts[r["host"]] = hosts.get(r["host"], 0) + int(r["caused_us"] or 0)
if sums:
    # a rank is named as everywhere on the page, by its pid only without one
    need("ranks", lambda t: near(us(t.rsplit(", ", 1)[1]), max(sums.values())) and
         re.match(r"for (rank \S|pid \d+ on )", t), max(sums.values()))
    need("nodes", lambda t: near(us(t.rsplit(", ", 1)[1]), max(hosts.values())) and
         hosts[t.split("for ")[1].rsplit(", ", 1)[0]] == max(hosts.values()), hosts)
if isinstance(d.get("busy"), dict) and d["busy"].get("median") is not None:
    need("busy", lambda t: abs(percent(t) - d["busy"]["median"]) < 0.006, d["busy"]["median"])
if d.get("iteration"):
    need("pace", lambda t: near(us(t.removesuffix(" a step")), d["iteration"]["period_us"]), d["iteration"]["period_us"])
if "bottlenecks" in d:
    need("bottlenecks", lambda t: len(t.split(", ")) == len(d["bottlenecks"]), d["bottlenecks"])
cells = rows("cells.csv")
if cells:
    time = lambda r: float(r["exec_mean_us"] or 0) * int(r["ops"])
    top = max(cells, key=time)
    need("operations", lambda t: re.match(r"most time: (.*) of ", t)[1] == top["coll"], top)
    need("spread", lambda t: t.startswith(top["coll"] + " of ") and
         near(float(re.search(r": ([\d.,]+) to", t)[1].replace(",", "")), float(top["p5"])) and
         near(float(re.search(r"to ([\d.,]+) GB/s$", t)[1].replace(",", "")), float(top["p95"])), top)
    classes = len({int(r["msg_size_bytes"]).bit_length() for r in cells})
    need("sizes", lambda t: int(t.split()[0]) == classes, classes)
header = re.search(r"records of ([\d.,]+ (?:us|ms|s|min|h|d))\b", page)
if header:
    need("time", lambda t: t == header[1], header[1])
listed = [os.path.join(folder, "csv", name) for name in os.listdir(os.path.join(folder, "csv"))]
size = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50, "EiB": 2**60}
total = sum(map(os.path.getsize, listed))
need("files", lambda t: int(t.split()[0].replace(",", "")) == len(listed) and
     abs(float(t.split()[-2].replace(",", "")) - total / size[t.split()[-1]]) <= 0.051, (len(listed), total))
# each file that the page links is there
part = page[page.index('<ul class="files">'):]
for name in re.findall(r'href="([^"]*)"', part[:part.index("</ul>")]):
    if name != "../index.html" and name != "job.conf" and not os.path.exists(os.path.join(folder, name)):
        bad.append(f"files: no {name}")


def count(section, mark):
    part = page[page.find(f'<section id="{section}"'):]
    return part[:part.find("</section>")].count(mark)


need("command", lambda t: int(t.split()[0]) == count("command", "<dt>"), count("command", "<dt>"))
sources = [s["source"] for k in ("settings", "copper_settings") for s in job.get(k, [])]
changed = len(sources) - sources.count("default")
need("settings", lambda t: t == (f"{changed} not by default" if changed else "all by default"), changed)
need("environment", lambda t: int(t.split()[0]) == count("environment", "<tr>") - 1, count("environment", "<tr>"))
need("algorithms", lambda t: int(t.split()[0].replace(",", "")) == len(d["algorithms"]), len(d["algorithms"]))
cuda = d.get("cuda")
if cuda:
    counted = len(cuda["processes"]) - cuda["uncounted"] - cuda["bad_files"]
    launches = sum(r["launches"] for r in cuda["processes"])
    need("cuda", lambda t: t == f"{launches:,} launches of {counted} processes", (launches, counted))
    within = max((c["within_us"] for c in cuda["gpu_clocks"]), default=0)
    need("gpu-clocks", lambda t: t.startswith(f"{len(cuda['gpu_clocks'])} GPU") and
         near(us(t.split("within ")[1]), within), (len(cuda["gpu_clocks"]), within))
for key, data, rows_of, noun in (("gpu-time", "gpu_time", "processes", "process"), ("flight", "flight", "dumps", "dump"),
                                 ("nsys", "nsys", "ranks", "rank"), ("clocks", "clock", "nodes", "node")):
    n = len(d.get(data, {}).get(rows_of, []))
    need(key, lambda t: re.fullmatch(f"{n} {noun}(e?s)?", t), n)
if d.get("copper"):
    totals = d["copper"]["totals"]
    hits = totals["total_cache_hits"] / totals["total_counted_fuse_operations"]
    need("copper", lambda t: t.startswith(f"{totals['total_counted_fuse_operations']:,} operations, ") and
         abs(percent(t.split(", ")[1]) - hits) < 0.006, totals)
# the timeline: what is drawn, and a hang to its end
if '<script type="application/json" id="timeline-data">' in page:
    drawn = json.loads(re.search(r'id="timeline-data">(.*?)</script>', page, re.S)[1])
    span = drawn["bins"] * drawn["width"]
    need("timeline", lambda t: t.split(" over ")[0] ==
         (f"{len(drawn['rows']):,} of {len(drawn['rows']) + drawn['rowsLeft']:,} processes" if drawn["rowsLeft"] else
          f"{len(drawn['rows']):,} process" + "es" * (len(drawn["rows"]) != 1)) and
         -0.006 * span <= span - us(t.split(" over ")[1]) <= 2 * drawn["width"] + 0.006 * span,
         (len(drawn["rows"]), span))
    if hang.get("operations"):
        age = max(op["age_us"] for op in hang["operations"])
        need("timeline", lambda t: us(t.split(" over ")[1]) >= 0.99 * age, f"a hang of {age} us")
# samples: the figure that the sentence begins with is that of the samples
if d.get("util"):
    def mean(scope, metric):
        at = [r for r in rows("util.csv") if (r["scope"], r["metric"], r["node"], r["id"]) == (scope, metric, "", "")]
        return float(at[0]["mean"]) if at else 0

    def util(t):
        if t.startswith("GPUs"):
            return abs(percent(t) - mean("gpu", "sm")) < 0.006
        if t.startswith("CPU"):
            of = [r for r in rows("util.csv") if (r["scope"], r["metric"], r["node"]) == ("step", "cpu_user", "")][0]
            return near(float(t.split()[1]), (mean("step", "cpu_user") + mean("step", "cpu_system")) * int(of["members"]))
        return t.startswith("memory") and "GPUs" not in d["util"]["text"] and "CPU" not in d["util"]["text"]

    need("util", util, d["util"]["text"])
causes = [c for f in d["findings"] for c in f.get("causes", [])]
need("causes", lambda t: t == f"{len(causes)} thing" + (" coincides" if len(causes) == 1 else "s coincide"), causes)
part = page[page.find('<section id="topology"'):].split("</section>")[0]
more = re.search(r"and ([\d,]+) more shapes", part)
drawn_shapes = len(re.findall("<title>shape ", part)) + int(more[1].replace(",", "") if more else 0)
need("topology", lambda t: t == f"{drawn_shapes} type" + "s" * (drawn_shapes != 1) + " of node", drawn_shapes)
if hang.get("evidence"):
    nodes = {p["node"] for p in hang["evidence"]["processes"]}
    need("hang", lambda t: t == f"evidence of {len(nodes)} node" + "s" * (len(nodes) != 1), nodes)
# what no file has a figure of
unknown = {"ranks": not any(sums.values()), "nodes": not any(hosts.values()), "time": not header,
           "busy": not isinstance(d.get("busy"), dict) or d["busy"].get("median") is None}
for key, figure in figures.items():
    if figure == "not known" and not unknown.get(key):
        bad.append(f"{key}: not known, but the report has it")
need("p2p-hosts", lambda t: int(t.split()[0].replace(",", "")) == len(rows("p2p_nodes.csv")), len(rows("p2p_nodes.csv")))
need("attempts", lambda t: int(t.split()[0]) == len(d["attempts"]), len(d["attempts"]))
need("job", lambda t: t == "a folder of files" if not job["ntasks"] else
     re.findall(r"[\d,]+", t) == [f"{job['ntasks']:,}", f"{job['nodes']:,}"], job)
p2p = sum(int(r["bytes"]) for r in rows("p2p.csv") if r["func"] == "Send")
need("p2p", lambda t: abs(float(t.split()[0].replace(",", "")) - p2p / size[t.split()[1]]) <= 0.051 or p2p > 2**60, p2p)
coverage = d["quality"]["coverage"]
need("quality", lambda t: t == "share of the records unknown" if coverage is None
     else abs(percent(t) - coverage) < 0.006, coverage)
# the first screen says the same of the network
tile = re.search(r"<dt>Network</dt><dd><strong>([^<]*)", page)
if tile:
    need("network", lambda t: t.startswith(html.unescape(tile[1])), tile and tile[1])
for key in sys.argv[3:]:
    if figures.get(key, "not known") == "not known":
        bad.append(f"{key}: has no figure")
if len(figures) < least:
    bad.append(f"only {len(figures)} figures: {figures}")
print("; ".join(bad) if bad else f"{len(figures)} figures")
sys.exit(bool(bad))
