#!/usr/bin/env python3
"""same-output.py OLD NEW [SETS] - the reports of two builds, on hostile data.

OLD and NEW are build folders of two trees, with check's programs in OLD. SETS
(70) folders of logs, recordings and traces are made by OLD's generators and
then damaged, each in a way of its own that the set's number decides. Both
builds aggregate each set. Their csv/, plots/, summary.json, summary.txt, what
they print and their exit codes have to be alike, byte by byte, but for the
times that a report has of its own writing. What differs is printed, and a list
of it is kept beside the set; the exit code is 1 then.
"""
import difflib
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

OWN_TIMES = ("written_us", "analysis_us", "insight_us")


def run(*command, **more):
    return subprocess.run(command, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=300, **more)


# --- data -------------------------------------------------------------------
def logs(old, source, into, number):
    """A small job's Inspector logs, every other time verbose."""
    run(old + "/tests/aggregate/gen_logs", "-o", into, "-n", str(1 + number % 3),
        "-r", "2", "-i", str(3 + number * 7 % 90), "-s", str(number),
        "-c", str(number % 2), "-l", str(number % 2), check=True)


def recordings(old, source, into, number):
    """The same as the recorder's files."""
    logs(old, source, into, number)
    for name in sorted(os.listdir(into)):
        path = os.path.join(into, name)
        packed = run(old + "/tests/aggregate/gen_jpr", "-l", path, check=True)
        with open(os.path.splitext(path)[0] + ".jpr", "wb") as f:
            f.write(packed.stdout)
        os.unlink(path)


def traces(old, source, into, number):
    """Traces of the example plugin, as found in the tree."""
    folder = source + "/tests/aggregate/traces"
    for name in sorted(os.listdir(folder)):
        if name != "README":
            shutil.copyfile(folder + "/" + name, into + "/" + name)


def corpus(kind):
    """What the fuzzer of a reader has found worth keeping."""
    def take(old, source, into, number):
        folder = source + "/tests/fuzz/corpus/" + kind
        for name in sorted(os.listdir(folder)):
            end = {"jpr": ".jpr", "record": ".log", "trace": ".json",
                   "partial": ".log"}[kind]
            if name.endswith(".gz"):
                end += ".gz"
            shutil.copyfile(folder + "/" + name, into + "/" + name + end)
    return take


def mixture(old, source, into, number):
    """Logs and recordings of one job: a part of the ranks each."""
    recordings(old, source, into, number)
    second = into + "/logs"
    os.mkdir(second)
    logs(old, source, second, number)
    for name in sorted(os.listdir(second))[::2]:
        os.unlink(second + "/" + name)


SOURCES = (logs, recordings, mixture, traces, corpus("record"), corpus("jpr"),
           corpus("trace"))


# --- damage -----------------------------------------------------------------
def cut(data, dice):
    return data[:dice.randrange(len(data) + 1)]


def flip(data, dice):
    data = bytearray(data)
    for _ in range(1 + len(data) // 2000):
        if data:
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(data)


def shuffle(data, dice):
    lines = data.split(b"\n")
    dice.shuffle(lines)
    return b"\n".join(lines)


def repeat(data, dice):
    lines = data.split(b"\n")
    at = dice.randrange(len(lines))
    return b"\n".join(lines[:at] + lines[at:at + 5] * 3 + lines[at + 5:])


def numbers(data, dice):
    """Numbers that no job has."""
    out, text = [], data.split(b":")
    for part in text:
        if dice.random() < 0.01:
            part = dice.choice((b"-1,", b"1e400,", b"18446744073709551615,",
                                b"0,", b"null,", b"\"\",", b"9" * 400 + b",")) \
                + part.partition(b",")[2]
        out.append(part)
    return b":".join(out)


def zeros(data, dice):
    at = dice.randrange(len(data) + 1)
    return data[:at] + bytes(dice.randrange(1, 5000)) + data[at:]


def words(data, dice):
    """Names that a terminal, a page or a table could take for its own."""
    return data.replace(b"AllReduce", dice.choice((
        b"<script>", b"=1+1", b"a,b\\\"c", b"\xff\xfe", b"x" * 3000,
        b"\x1b[2J", b"%s%n")))


def packed(data, dice):
    return gzip.compress(data, mtime=0)[:-dice.randrange(1, 40)]


def empty(data, dice):
    return b"" if dice.random() < 0.5 else data


def whole(data, dice):
    return data


DAMAGES = (whole, cut, flip, shuffle, repeat, numbers, zeros, words, packed,
           empty)


def make(old, source, into, number):
    """Set NUMBER: each source meets each damage before any pair comes again."""
    dice = random.Random(number)
    origin = SOURCES[number % len(SOURCES)]
    damage = DAMAGES[number // len(SOURCES) % len(DAMAGES)]
    os.makedirs(into)
    origin(old, source, into, number)
    for folder, _, names in os.walk(into):
        for name in names:
            path = os.path.join(folder, name)
            if damage is not whole and dice.random() < 0.7:
                with open(path, "rb") as f:
                    data = f.read()
                with open(path, "wb") as f:
                    f.write(damage(data, dice))
                if damage is packed:
                    os.rename(path, path + ".gz")
                    path += ".gz"
            os.utime(path, (1700000000, 1700000000))
    return (origin.__doc__ or "A fuzzer's corpus").split("\n")[0], \
        damage.__name__


# --- reports ----------------------------------------------------------------
def report(build, data, out):
    """File name -> lines, of all that a report is to have alike."""
    done = run(build + "/orchestrator/jobprof", "aggregate", "--threads", "2",
               "--output", out, data, env=dict(os.environ, TZ="UTC"))
    found = {"exit code": [str(done.returncode)]}
    for name, text in (("stdout", done.stdout), ("stderr", done.stderr)):
        found[name] = text.decode(errors="replace").replace(out, "OUT") \
            .split("\n")
    for folder, _, names in os.walk(out):
        for name in names:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, out)
            if name == "report.html":
                continue  # its data are summary.json's, packed
            with open(path, encoding="utf-8", errors="replace") as f:
                text = f.read()
            if name == "summary.json":
                whole_summary = json.loads(text)
                for own in OWN_TIMES:
                    whole_summary.pop(own, None)
                text = json.dumps(whole_summary, indent=1)
            found[key] = text.replace(out, "OUT").split("\n")
    return found


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    old, new = (os.path.abspath(p) for p in sys.argv[1:3])
    sets = int(sys.argv[3]) if len(sys.argv) == 4 else 70
    source = os.path.dirname(os.path.dirname(os.path.dirname(
        os.path.abspath(__file__))))
    work = tempfile.mkdtemp(prefix="same-output.")
    different = 0
    verdicts = {}
    for number in range(sets):
        data = "%s/%d/data" % (work, number)
        what = make(old, source, data, number)
        one = report(old, data, "%s/%d/old" % (work, number))
        two = report(new, data, "%s/%d/new" % (work, number))
        lines = []
        for name in sorted(set(one) | set(two)):
            lines += difflib.unified_diff(
                one.get(name, []), two.get(name, []), "old " + name,
                "new " + name, lineterm="", n=0)
        word = next((w for w in ("OK", "SLOW", "HANG", "FAILED", "INCOMPLETE",
                                 "NODATA", "UNJUDGED", "DRIFT")
                     if any(w in line.split() for line in one["stderr"] +
                            one["stdout"])), "no verdict")
        verdicts[word] = verdicts.get(word, 0) + 1
        if not lines:
            shutil.rmtree("%s/%d" % (work, number))
            continue
        different += 1
        print("set %d (%s %s): %d lines differ" % (number, what[0], what[1],
                                                   len(lines)))
        with open("%s/%d/diff" % (work, number), "w") as f:
            f.write("\n".join(lines) + "\n")
        print("\n".join("    " + l[:200] for l in lines[:6]))
    print("%d sets, %d differ; %s" % (sets, different, ", ".join(
        "%s %d" % item for item in sorted(verdicts.items()))))
    if different:
        print("kept in", work)
        sys.exit(1)
    os.rmdir(work)


main()
