"""causes_feed.py FOLDER...: what the kernel says on nodes that are none.

Each folder is a node's. Its file "wish" has lines NAME VALUE [FROM [TO]], seconds
since the file was written; of the lines that hold the last one counts:
  steal SHARE          of the node's processors, in "stat", else as this host's
  rate TEXT            of its port ("200", in Gb/s)
  COUNTER PER_SECOND   of its port, in "port/counters/"
Files are written in place, because a bind mount follows a file and not its name.
"""
import os
import sys
import time

PERIOD_S = 0.1


def wishes(folder):
    """The values that hold now."""
    values = {}
    try:
        with open(folder + "/wish") as f:
            age = time.time() - os.fstat(f.fileno()).st_mtime
            for line in f:
                name, value, *when = line.split()
                start = float(when[0]) if when else 0
                end = float(when[1]) if len(when) > 1 else float("inf")
                if start <= age < end:
                    values[name] = value
    except (OSError, ValueError):
        pass
    return values


def put(path, text, room=0):
    """In place: a reader sees the old text or the new one."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    os.pwrite(fd, text.ljust(room).encode(), 0)
    if not room:
        os.ftruncate(fd, len(text))
    os.close(fd)


class Node:
    def __init__(self, folder):
        self.folder = folder
        self.stolen = 0.0
        self.counters = {n: 0.0 for n in os.listdir(folder + "/port/counters")}
        self.total = 0

    def steal(self, share):
        """Of the time that passed on all processors a share was stolen."""
        with open("/proc/stat") as f:
            lines = f.read().split("\n")
        times = [int(n) for n in lines[0].split()[1:]]
        total = sum(times[:8])
        if self.total and share:
            # of the whole: what was used, and what was stolen besides
            self.stolen += (total - self.total) * share / (1 - share)
        self.total = total
        times[7] += int(self.stolen)
        lines[0] = "cpu  " + " ".join(str(n) for n in times)
        put(self.folder + "/stat", "\n".join(lines), 8192)

    def port(self, values, seconds):
        put(self.folder + "/port/rate", values.get("rate", "200") + " Gb/sec (4X HDR)\n", 40)
        for name in self.counters:
            self.counters[name] += float(values.get(name, 0)) * seconds
            put(f"{self.folder}/port/counters/{name}", f"{int(self.counters[name])}\n", 24)


def main():
    nodes = [Node(folder) for folder in sys.argv[1:]]
    last = time.monotonic()
    parent = os.getppid()
    while os.getppid() == parent:
        now = time.monotonic()
        for node in nodes:
            values = wishes(node.folder)
            node.steal(float(values.get("steal", 0)))
            node.port(values, now - last)
        last = now
        time.sleep(PERIOD_S)


main()
