"""dashboards.py SCHEMA TABLE DASHBOARD... - are the dashboards what Grafana takes?

By the schema, and by what a schema cannot say. TABLE: print_metrics' documents, the
metrics that exist. Prints a line for each mistake.

dashboards.py queries DASHBOARD... prints "NAME<tab>TITLE<tab>REFID<tab>EXPR", variables
put in, and for each variable's query "NAME<tab>$VARIABLE<tab>-<tab>EXPR".
"""
import json
import os
import re
import sys

VALUES = {"jobid": "42", "step": ".*", "account": ".*", "__rate_interval": "2m", "__range": "1h"}


def fill(expr):
    return re.sub(r"\$(\w+)", lambda m: VALUES[m[1]], expr)


def queries(path):
    board = json.load(open(path, encoding="utf-8"))
    name = os.path.basename(path)
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            print(name, panel["title"], target["refId"], fill(target["expr"]), sep="\t")
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            expr, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"]).groups()
            print(name, "$" + variable["name"], "-", f"count by ({label}) ({fill(expr)})", sep="\t")


def look(path, schema, table):
    import jsonschema

    board = json.load(open(path, encoding="utf-8"))
    for error in jsonschema.Draft7Validator(schema).iter_errors(board):
        yield f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
    ids, cells = set(), set()
    names = {v["name"] for v in board["templating"]["list"]}
    if not any(v["type"] == "datasource" and v["name"] == "DS" for v in board["templating"]["list"]):
        yield "no variable for the data source"
    for panel in board["panels"]:
        if panel["id"] in ids:
            yield f"panel {panel['id']} twice"
        ids.add(panel["id"])
        at = panel["gridPos"]
        if at["x"] + at["w"] > 24:
            yield f"{panel['title']}: beyond column 24"
        mine = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        if mine & cells:
            yield f"{panel['title']}: lies on another panel"
        cells |= mine
        refs = [t["refId"] for t in panel.get("targets", [])]
        if len(refs) != len(set(refs)):
            yield f"{panel['title']}: a refId twice"
        for target in panel.get("targets", []):
            used = set(re.findall(r"\b(?:jobprof|nccl)_\w+", target["expr"]))
            if not used:
                yield f"{panel['title']}: no metric"
            for metric in used - set(table):
                yield f"{panel['title']}: no metric {metric}"
            for name in set(re.findall(r"\$(\w+)", target["expr"])) - names - {"__rate_interval", "__range"}:
                yield f"{panel['title']}: no variable {name}"
            known = set().union(*(table.get(m, set()) for m in used))
            for label in set(re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", ""))) - known:
                yield f"{panel['title']}: no label {label}"


def main(args):
    if args[0] == "queries":
        for path in args[1:]:
            queries(path)
        return
    schema = json.load(open(args[0], encoding="utf-8"))
    table = {}
    for line in open(args[1], encoding="utf-8"):
        m = re.match(r"\| `(\w+)` \| \w+ \| ([\w ]+) \|", line)
        if m:
            table[m[1]] = set(m[2].split())
    for path in args[2:]:
        for mistake in look(path, schema, table):
            print(f"{os.path.basename(path)}: {mistake}")


main(sys.argv[1:])
