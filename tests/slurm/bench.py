"""What srun pays: interleaved runs with an empty plugstack, idle, active.

Usage: bench.py LIVE_PLUGSTACK STAMP PAIRS PLUGSTACK_LINE
Prints medians, and medians of differences within a round with the 95 %
interval of the order statistics (no assumption on the distribution).
"""
import os
import random
import shutil
import subprocess
import sys
import time

MODES = ("empty", "idle", "active")
PARTS = ("to the first task's exec", "to the last task's end",
         "from there to srun's end (wait for the report)")


def use(live, text):
    with open(live + ".new", "w") as f:
        f.write(text)
    os.rename(live + ".new", live)


def run_once(stamp, active):
    """One srun; the three parts in ms."""
    folder = os.path.abspath("stamps")
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    command = ["srun", "-N4"]
    if active:
        command.append("--nccl-profile=recorder,summary=off")
    start = time.time_ns()
    subprocess.run(command + [stamp, folder], check=True,
                   stderr=subprocess.DEVNULL)
    end = time.time_ns()
    stamps = []
    for name in os.listdir(folder):
        with open(os.path.join(folder, name)) as f:
            stamps.append([int(word) for word in f.read().split()])
    if len(stamps) != 4:
        raise RuntimeError(f"{len(stamps)} of 4 tasks left a stamp")
    first = min(s[0] for s in stamps)
    last = max(s[1] for s in stamps)
    return [(first - start) / 1e6, (last - start) / 1e6, (end - last) / 1e6]


def median_interval(values):
    v = sorted(values)
    n = len(v)
    half = 0.98 * n ** 0.5
    low, high = int(n / 2 - half), int(n / 2 + half)
    middle = (v[(n - 1) // 2] + v[n // 2]) / 2
    return middle, v[max(low, 0)], v[min(high, n - 1)]


def main():
    live, stamp, pairs, line = sys.argv[1:5]
    times = {mode: [] for mode in MODES}
    for _ in range(int(pairs)):
        order = list(MODES)
        random.shuffle(order)
        for mode in order:
            use(live, "" if mode == "empty" else line + "\n")
            times[mode].append(run_once(stamp, mode == "active"))
    print(f"srun -N4 of a task that ends at once, {pairs} rounds of "
          "empty/idle/active in random order, ms")
    for p, part in enumerate(PARTS):
        print(f"  {part}:")
        for mode in MODES:
            print("    %-6s median %8.2f" %
                  (mode, median_interval([t[p] for t in times[mode]])[0]))
        for a, b in (("idle", "empty"), ("active", "empty")):
            diff = [x[p] - y[p] for x, y in zip(times[a], times[b])]
            print("    %-6s - %-6s %8.2f  [%.2f, %.2f]" %
                  ((a, b) + median_interval(diff)))
    print("  (95 % intervals of the median difference)")


if __name__ == "__main__":
    main()
