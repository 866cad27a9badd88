"""top_screen.py JOBPROF STEP - jobprof top on a terminal of its own: keys, size,
and that the terminal is as before however it ends. TAP lines without a plan."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

JOBPROF, STEP = sys.argv[1:3]
LIMIT = 120  # of any wait, on a busy machine
failed = 0


class Top:
    """A child on a pseudo-terminal, which this process holds open, too."""

    def __init__(self, cols, rows, *args, **env):
        self.master, self.slave = pty.openpty()
        self.size(cols, rows)
        self.before = termios.tcgetattr(self.slave)
        self.text = ""
        self.pid = os.fork()
        if not self.pid:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(self.slave, fd)
            os.closerange(3, 64)
            environ = {"TERM": "xterm", "PATH": os.environ["PATH"], **env}
            for key in ("LD_LIBRARY_PATH", "ASAN_OPTIONS"):
                if key in os.environ:
                    environ[key] = os.environ[key]
            os.execve(JOBPROF, [JOBPROF, "top", *args, STEP], environ)

    def size(self, cols, rows):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            self.text += os.read(self.master, 65536).decode("ascii")
            return True
        return False

    def press(self, keys):
        self.text = ""
        os.write(self.master, keys.encode())

    def until(self, pattern):
        """The screen has that."""
        end = time.monotonic() + LIMIT
        while not re.search(pattern, self.text):
            if time.monotonic() > end:
                print("# no", repr(pattern), "in", repr(self.text[-2000:]))
                return False
            self.read(1)
        return True

    def status(self):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.read(0.1)
            if pid:
                while self.read(0.1):
                    pass
                return status
        os.kill(self.pid, signal.SIGKILL)
        return None

    def restored(self):
        same = termios.tcgetattr(self.slave) == self.before
        left = self.text.rfind("\033[?1049l") > self.text.rfind("\033[?1049h")
        cursor = self.text.rfind("\033[?25h") > self.text.rfind("\033[?25l")
        if not (same and left and cursor):
            print("# same", same, "left", left, "cursor", cursor)
        return same and left and cursor


def ok(good, what):
    global failed
    failed += not good
    print("screen-" + ("ok " if good else "not-ok ") + what, flush=True)


def lines(text):
    """Of the last whole drawing, without escapes."""
    frames = [f for f in text.split("\033[H") if "\033[J" in f]
    plain = re.sub("\033\\[[0-9;?]*[A-Za-z]", "", frames[-1])
    return plain.replace("\r", "").split("\n")


for cols, rows, needs in ((80, 24, "communicator"), (120, 40, "GB/s"), (200, 60, "sequence")):
    t = Top(cols, rows)
    good = t.until(r"q quit[^\n]*\033\[J")
    shown = lines(t.text)
    good = good and max(map(len, shown)) <= cols and len(shown) <= rows
    good = good and any(needs in line for line in shown) and shown[0].startswith("SLOW")
    good = good and termios.tcgetattr(t.slave) != t.before
    t.press("q")
    ok(good and t.status() == 0 and t.restored(), f"{cols} x {rows}, q")

t = Top(80, 24)
good = t.until("more nodes")
t.press("h")
good = good and t.until("quit *\033")
t.press("h")
good = good and t.until("more nodes")
t.press("s")
good = good and t.until("sort: node")
t.press("\033[B\r")
good = good and t.until(r"n1 +0 works")
t.press("\033")
good = good and t.until("more nodes")
t.press("d")
good = good and t.until("64 snapshots")
t.press(" ")
good = good and t.until("frozen")
t.press(" f")
good = good and t.until("f all")
t.size(60, 10)
t.text = ""
os.kill(t.pid, signal.SIGWINCH)
good = good and t.until(r"q quit[^\n]*\033\[J")
good = good and max(map(len, lines(t.text))) <= 60 and len(lines(t.text)) <= 10
t.press("q")
ok(good and t.status() == 0 and t.restored(), "keys, and another size")

for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    t = Top(80, 24)
    good = t.until("q quit")
    os.kill(t.pid, sig)
    ok(good and t.status() == sig and t.restored(), f"{sig.name}: the terminal is as before")

t = Top(80, 24)
good = t.until("q quit")
os.kill(t.pid, signal.SIGTSTP)
os.waitpid(t.pid, os.WUNTRACED)
while t.read(0.2):
    pass
good = good and t.restored()
t.text = ""
os.kill(t.pid, signal.SIGCONT)
good = good and t.until("1049h(.|\n)*q quit")
t.press("q")
ok(good and t.status() == 0 and t.restored(), "stopped and continued")

t = Top(80, 24, NO_COLOR="1")
good = t.until("q quit")
good = good and not re.search("\033\\[[0-9]+m", t.text.replace("\033[0m", ""))
t.press("q")
ok(good and t.status() == 0, "NO_COLOR")
t = Top(80, 24, TERM="dumb")
good = t.until("SLOW")
os.kill(t.pid, signal.SIGTERM)
ok(t.status() == signal.SIGTERM and "\033" not in t.text, "a terminal that knows no escapes")
sys.exit(failed > 0)
