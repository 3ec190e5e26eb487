"""What a terminal shows: lines that are drawn again, cleared, and never wider than it is."""

import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

from bert_tf import live_lines

ROOT = pathlib.Path(live_lines.__file__).parents[1]


def test_a_bar_fills_what_the_texts_leave():
    line = live_lines.bar("train:  50 %|", 0.5, "| {a}", 40)
    assert line == "train:  50 %|" + "█" * 11 + " " * 11 + "| {a}"
    assert live_lines.bar("|", 1.5, "|", 12) == "|" + "█" * 10 + "|"


class Screen:
    """The rows that a terminal would show, for the few codes that are used."""

    def __init__(self):
        self.rows, self.row, self.column = [""], 0, 0

    def write(self, text):
        for code in re.findall(r"\x1b\[A|[\r\n]|[^\x1b\r\n]+", text):
            if code == "\x1b[A":
                self.row -= 1
            elif code == "\r":
                self.column = 0
            elif code == "\n":
                self.row += 1
                if self.row == len(self.rows):
                    self.rows.append("")
            else:
                row = self.rows[self.row].ljust(self.column)
                self.rows[self.row] = row[: self.column] + code + row[self.column + len(code) :]
                self.column += len(code)

    def shown(self):
        return [row.rstrip() for row in self.rows if row.strip()]


@pytest.fixture
def run():
    """Runs a program on a terminal of some columns; returns what it wrote to it."""

    def run_on(program, columns):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = os.environ | {"TERM": "xterm", "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            [sys.executable, "-c", program], stdout=slave, stderr=slave, env=environment
        )
        os.close(slave)
        written = b""
        try:
            while block := os.read(master, 65536):
                written += block
        except OSError:  # the other end is closed
            pass
        os.close(master)
        assert process.wait() == 0, written
        return written.decode().replace("\r\n", "\n\r")

    return run_on


PROGRAM = """
import sys, time
from bert_tf import live_lines, progress
live_lines._SECONDS_BETWEEN_FRAMES = 0.02
print("first line")
with progress.status("Loading a library"):
    time.sleep(0.1)
with progress.Progress("train", 40, "steps", first="compiling the update") as shown:
    time.sleep(0.1)
    shown.advance(10, loss="0.25", left="27 s", why="x" * 50)
    print("printed", "in parts")
    with progress.Progress("evaluate", 3, "examples") as inner:
        inner.advance()
        time.sleep(0.1)
        print("to the other stream", file=sys.stderr)
    print("no end", end="")
print()
try:
    with progress.Progress("train", 40, "steps"):
        raise ValueError
except ValueError:
    print("last line")
"""


@pytest.mark.parametrize("columns", [30, 80])
def test_live_lines_move_and_leave_nothing_but_what_was_printed(run, columns):
    written = run(PROGRAM, columns)
    screen = Screen()
    screen.write(written)
    wanted = ["first line", "printed in parts", "to the other stream", "no end", "last line"]
    assert screen.shown() == wanted
    texts = re.split(r"\x1b\[A|[\r\n]", written)
    assert max(map(len, texts)) < columns
    for label in ("Loading a library ... 0 s", "train:  25 %|", "evaluate:  33 %|"):
        assert sum(text.startswith(label) for text in texts) >= 3, label
    assert "train: compiling the update"[: columns - 1] in written
    assert ("loss 0.25" in written) == (columns == 80)
