#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An ordinary user where root keeps a journal: every next command is the one that was typed, with sudo.

    ordinary_user_test.py BIN_DIR      exit 0: so it is; 77: this is root and may not become somebody else
"""
import os
import pathlib
import pty
import shutil
import struct
import subprocess
import sys
import tempfile

NOBODY = 65534


def become_nobody():
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def said(bin_dir, machine, *words):
    """What goes to stderr of `headroom WORDS --root MACHINE`, and what was typed."""
    typed = [*words, "--root", str(machine)]
    done = subprocess.run([bin_dir / "headroom", *typed], capture_output=True, text=True, timeout=60, check=False,
                          preexec_fn=become_nobody, cwd="/")
    assert done.returncode in (1, 2, 3), f"{typed}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stderr, "sudo headroom " + " ".join(typed)


def close_journal(machine):
    """As root keeps it; for who is not root here, a folder that nobody may enter."""
    journal = machine / "var/lib/headroom"
    (journal / "changes").mkdir(parents=True, exist_ok=True)
    journal.chmod(0o700 if os.geteuid() == 0 else 0)
    return journal


def make_machine(bin_dir, folder):
    machine = folder / "machine"
    subprocess.run([bin_dir / "fake_distribution", "debian-13", machine], check=True, timeout=60)
    return machine


def check_next_commands(bin_dir, machine):
    for words in (["undo"], ["undo", "20261121T223011Z-ttm-cap"], ["confirm"], ["history"],
                  ["history", "20261121T223011Z-ttm-cap"], ["history", "--json"],
                  ["fix", "ttm-cap", "--size", "110GiB", "--apply"]):
        text, wanted = said(bin_dir, machine, *words)
        assert f"  next: {wanted}\n" in text, f"{words}: expected {wanted}, found\n{text}"


def check_width_of_terminal(bin_dir, machine):
    """What is printed follows the terminal that it goes to."""
    import fcntl
    import termios
    for columns in (40, 120):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([bin_dir / "headroom", "fix", "--root", machine], stdout=theirs, cwd="/",
                                   env={**os.environ, "NO_COLOR": "1", "TERM": "xterm"})
        os.close(theirs)
        text = b""
        try:
            while chunk := os.read(ours, 65536):
                text += chunk
        except OSError:
            pass  # The other end is closed.
        process.wait(timeout=60)
        os.close(ours)
        # A command is never broken, and the last one names the folder of the machine.
        longest = max(len(line) for line in text.decode().splitlines() if str(machine) not in line)
        assert columns / 2 < longest <= columns, f"{columns} columns, the longest line has {longest}\n{text.decode()}"


def main():
    bin_dir = pathlib.Path(sys.argv[1])
    folder = pathlib.Path(tempfile.mkdtemp(prefix="headroom-user-"))
    try:
        folder.chmod(0o755)
        machine = make_machine(bin_dir, folder)
        check_width_of_terminal(bin_dir, machine)
        journal = close_journal(machine)
        try:
            check_next_commands(bin_dir, machine)
        finally:
            journal.chmod(0o700)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
