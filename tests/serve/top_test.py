#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom top in a terminal, and where there is none.

    top_test.py FOLDER_OF_PROGRAMS
"""
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
MACHINES = pathlib.Path(__file__).resolve().parent.parent / "machines"


class Terminal:
    """A program on a terminal of `rows` and `columns`."""

    def __init__(self, words, rows=24, columns=80, kind="xterm-256color"):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        environment = {**os.environ, "TERM": kind, "LC_ALL": "C.UTF-8"}
        for name in ("LINES", "COLUMNS", "NO_COLOR"):
            environment.pop(name, None)
        self.run = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True)
        self.shown = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.1):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.master], [], [], left)[0]:
                self.shown += os.read(self.master, 65536).decode(errors="replace")

    def wait_for(self, text, seconds=15):
        end = time.monotonic() + seconds
        while text not in self.shown:
            if time.monotonic() > end:
                raise AssertionError(f"{text!r} did not come; there is {self.shown!r}")
            self.read()

    def press(self, keys):
        os.write(self.master, keys.encode())

    def end(self):
        code = self.run.wait(timeout=15)
        self.read()
        same = termios.tcgetattr(self.slave) == self.before
        os.close(self.master)
        os.close(self.slave)
        return code, same


class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.machine = pathlib.Path(cls.scratch.name, "machine")
        subprocess.run([PROGRAMS / "fake_machine", MACHINES / "orphan-dead-process.toml", cls.machine], check=True)
        cls.words = [PROGRAMS / "headroom", "top", "--root", cls.machine]

    def test_q_and_control_c_give_the_terminal_back(self):
        for keys in ("q", "\x03"):
            terminal = Terminal(self.words)
            terminal.wait_for("headroom top")
            terminal.wait_for("for a job that starts now")
            terminal.press(keys)
            self.assertEqual(terminal.end(), (0, True))

    def test_a_signal_gives_the_terminal_back(self):
        terminal = Terminal(self.words)
        terminal.wait_for("headroom top")
        terminal.run.send_signal(signal.SIGTERM)
        self.assertTrue(terminal.end()[1])

    def test_scrolls_and_follows_a_new_size(self):
        terminal = Terminal(self.words, rows=5, columns=60)
        terminal.wait_for("headroom top")
        terminal.press("\x1b[6~\x1b[6~")  # Page Down, twice.
        terminal.wait_for("headroom check")
        terminal.resize(40, 100)
        terminal.press("\x1bOH")  # Home.
        terminal.read(1)
        terminal.press("q")
        self.assertEqual(terminal.end(), (0, True))

    def test_a_terminal_that_nobody_knows_gets_it_once(self):
        terminal = Terminal(self.words, kind="no-such-terminal")
        code, _ = terminal.end()
        self.assertEqual(code, 0)
        self.assertIn("for a job that starts now", terminal.shown)

    def test_without_a_terminal_it_is_printed_once(self):
        done = subprocess.run(self.words, capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotIn("\x1b", done.stdout)
        self.assertTrue(all(len(line) <= 100 for line in done.stdout.splitlines()))

    def test_what_it_watches_may_change(self):
        terminal = Terminal([*self.words, "--interval", "0.5"])
        terminal.wait_for("for a job that starts now")
        file = next(self.machine.rglob("mem_info_vram_used"))
        old = file.read_text()
        try:
            file.write_text("1073741824\n")
            end = time.monotonic() + 10
            while not re.search(r"1\.00", terminal.shown) and time.monotonic() < end:
                terminal.read()
        finally:
            file.write_text(old)
        terminal.press("q")
        self.assertEqual(terminal.end(), (0, True))
        self.assertRegex(terminal.shown, r"1\.00")


if __name__ == "__main__":
    unittest.main()
