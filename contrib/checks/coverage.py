#!/usr/bin/env python3
"""coverage.py - lines of each room that the tests have run.

Usage: coverage.py SOURCE_FOLDER BUILD_FOLDER [--least PERCENT] [--files]
Reads the counters of a build with --coverage by `gcov --json-format`. A line
counts as run when any program has run it. --files: each file below the limit.
Exit status 1 where a room is below --least (85).
"""
import argparse, collections, gzip, json, os, subprocess, sys, tempfile

ROOMS = ("common", "spank", "plugins", "orchestrator")


def gcov(folder, names):
    """The files' objects of one call; gcov writes into the current folder."""
    with tempfile.TemporaryDirectory() as work:
        subprocess.run(["gcov", "--json-format", "--preserve-paths", *names], cwd=work,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        for name in os.listdir(work):
            with gzip.open(os.path.join(work, name)) as stream:
                yield from json.load(stream)["files"]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("source")
    parser.add_argument("build")
    parser.add_argument("--least", type=float, default=85)
    parser.add_argument("--files", action="store_true")
    args = parser.parse_args()
    source, build = os.path.realpath(args.source), os.path.realpath(args.build)
    notes = sorted(os.path.join(at, name) for at, _, names in os.walk(build)
                   for name in names if name.endswith(".gcno"))
    lines = collections.defaultdict(dict)
    for note in notes:
        for file in gcov(build, [note]):
            path = os.path.realpath(os.path.join(build, file["file"]))
            path = os.path.relpath(path, source)
            if path.split("/")[0] not in ROOMS:
                continue
            seen = lines[path]
            for line in file["lines"]:
                number = line["line_number"]
                seen[number] = seen.get(number, 0) + line["count"]
    bad = False
    for room in ROOMS:
        files = {path: seen for path, seen in lines.items() if path.startswith(room + "/")}
        total = sum(len(seen) for seen in files.values())
        run = sum(1 for seen in files.values() for count in seen.values() if count)
        percent = 100 * run / total if total else 0
        bad = bad or percent < args.least
        print(f"{room:13} {percent:5.1f} %  {run} of {total} lines, {len(files)} files")
        for path, seen in sorted(files.items()) if args.files else ():
            share = 100 * sum(1 for count in seen.values() if count) / max(len(seen), 1)
            if share < args.least:
                print(f"    {share:5.1f} %  {path}")
    return 1 if bad or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
