"""Compare a report on Copper's profiles with what is expected.

check.py tree LISTING DIR       make the files of a "type size path" listing
check.py golden EXPECTED OUT    with the files of Copper's own Python tools
check.py figures OUT KEY=VALUE...   values in summary.json's copper{}, dotted
"""
import csv
import json
import os
import re
import sys


def make_tree(listing, root):
    os.makedirs(root)
    with open(root + "/target", "wb"):
        pass
    with open(listing, encoding="utf-8") as f:
        for line in f:
            kind, size, path = line.rstrip("\n").split(" ", 2)
            path = root + path
            os.makedirs(path if kind == "d" else os.path.dirname(path),
                        exist_ok=True)
            if kind == "l":
                os.symlink(root + "/target", path)
            elif kind == "f":
                with open(path, "wb") as out:
                    out.truncate(min(int(size), 4096))


def rows(path):
    with open(path, newline="", encoding="utf-8") as f:
        return list(csv.reader(f))


def table(path, heading, column):
    """The Markdown table whose first column is called so, below a heading."""
    text = open(path, encoding="utf-8").read().split(heading, 1)[1]
    found = []
    for line in text.splitlines():
        if line.startswith("## "):
            break
        cells = [c.strip().strip("`") for c in line.strip("| ").split(" | ")]
        if line.startswith("|") and cells[0] != column and cells[0][:3] != "---":
            found.append(cells)
    return found


def same(what, got, expected):
    if got != expected:
        sys.exit(f"{what}:\n got      {got}\n expected {expected}")


def check_totals(expected, out):
    ours = {r[0]: r[1] for r in rows(f"{out}/csv/copper_totals.csv")}
    ranks = rows(f"{out}/csv/copper_totals.csv")[1][2]
    for name, value in rows(f"{expected}/cluster-profiling_aggregate.csv")[1:]:
        got = ranks if name == "ranks_with_aggregate_files" else ours[name]
        same(name, round(float(got), 6), round(float(value), 6))


def check_operations(expected, out):
    def normal(row):
        return [row[0], *map(int, row[1:5]), f"{float(row[5]):.2f}",
                f"{float(row[6]):.6f}"]
    same("operations",
         [normal(r) for r in rows(f"{out}/csv/copper_operations.csv")[1:]],
         [normal(r) for r in
          rows(f"{expected}/cluster-profiling_operations.csv")[1:]])


def check_classes(expected, out):
    md = f"{expected}/cluster-profiling_summary.md"
    ours = [[r[0], r[1], r[2], r[3]]
            for r in rows(f"{out}/csv/copper_classes.csv")[1:] if int(r[1])]
    same("path classes", ours, table(md, "## Path Class Heuristics", "Path Class"))


def check_coverage(expected, out):
    """The tool leaves the root out of all folders but not of the observed."""
    md = f"{expected}/cluster-profiling_summary.md"
    theirs = [[r[0], r[2], r[3], r[4], r[6], str(int(r[7]) + 1), r[9], r[10]]
              for r in table(md, "## Path Coverage Analysis", "Root")]
    ours = [[r[0], *r[2:]] for r in rows(f"{out}/csv/copper_roots.csv")[1:]]
    same("coverage", ours, theirs)


def check_lists(expected, out):
    for name in ("all_possible_existing_paths", "used_paths_existing",
                 "same_run_candidate_not_observed_existing_paths",
                 "missing_probe_paths"):
        files = [open(f"{d}/{name}.txt", "rb").read()
                 for d in (f"{out}/copper_paths", f"{expected}/paths_dir")]
        if files[0] != files[1]:
            sys.exit(f"{name}.txt differs")
    counts = table(f"{expected}/paths_dir/paths_summary.md", "## Counts Table",
                   "Meaning")
    for meaning, name, total, *_ in counts:
        same(meaning, len(open(f"{out}/copper_paths/{name}").readlines()),
             int(total))
    text = open(f"{expected}/paths_dir/paths_summary.md").read()
    root = rows(f"{out}/csv/copper_roots.csv")[1]
    for word, at in (("files", 3), ("directories", 5)):
        share = re.search(rf"Observed {word}: `(\d+)` of `(\d+)` \(`([\d.]+)%`",
                          text)
        same(word, (root[at], root[at + 1]), share.groups()[:2])
        same(word + " share", f"{int(root[at]) / int(root[at + 1]) * 100:.2f}",
             share.group(3))


def golden(expected, out):
    check_totals(expected, out)
    check_operations(expected, out)
    if os.path.getsize(f"{out}/csv/copper_classes.csv") > 80:
        check_classes(expected, out)
    if os.path.exists(f"{out}/copper_paths"):
        check_coverage(expected, out)
        check_lists(expected, out)


def figures(out, *wanted):
    copper = json.load(open(f"{out}/summary.json"))["copper"]
    for want in wanted:
        key, value = want.split("=", 1)
        at = copper
        for part in key.split("."):
            if isinstance(at, list) and not part.isdigit():
                name, _, field = part.partition("/")
                at = next(r for r in at if name in r.values())
                at = at[field] if field else at
            else:
                at = at[int(part)] if isinstance(at, list) else at[part]
        same(key, str(at), value)


if __name__ == "__main__":
    {"tree": make_tree, "golden": golden, "figures": figures}[sys.argv[1]](
        *sys.argv[2:])
