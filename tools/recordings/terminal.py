# SPDX-License-Identifier: Apache-2.0
"""A command in a terminal of a fixed size, and what it left on the screen as lines of styled pieces."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

WIDTH, HEIGHT = 96, 30
SEQUENCE = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")


def run(command, folder, environment):
    """What the command wrote to its terminal, and its exit code."""
    outside, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    child = subprocess.Popen(["/bin/sh", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, stdout=inside,
                             stderr=inside, env=environment)
    os.close(inside)
    written = b""
    while True:
        try:
            piece = os.read(outside, 65536)
        except OSError:  # EIO: the last process has closed its end.
            break
        if not piece:
            break
        written += piece
    os.close(outside)
    return written.decode(errors="replace").replace("\r\n", "\n"), child.wait()


def to_lines(text):
    """Lines as lists of (style, text); a style is the numbers of SGR that are in force, "" for none."""
    lines = []
    for line in text.split("\n"):
        line = line.split("\r")[-1]  # What rewrote the line is what stayed.
        pieces, style, begin = [], "", 0
        for found in SEQUENCE.finditer(line):
            if found.start() > begin:
                pieces.append((style, line[begin:found.start()]))
            if found[2] == "m":
                style = "" if found[1] in ("", "0") else found[1]
            begin = found.end()
        if begin < len(line):
            pieces.append((style, line[begin:]))
        lines.append(pieces)
    return lines
