#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the sessions of scenes.py with the programs of a build, as .cast files of asciinema and as pictures.

    record.py BIN_DIR [FOLDER [SCENE ...]]     writes SCENE.cast and SCENE.svg, by default into docs/recordings
    record.py --check BIN_DIR                  exit 0: the recordings that are there say what the programs say today

Times are not measured: a letter, a line and a pause take as long as a reader needs, so that a recording is the same
wherever it is made. What varies from run to run is replaced: numbers of processes, durations, moments and names of changes.
"""
import os
import pathlib
import re
import sys
import tempfile

import cast
import svg
import terminal
from scenes import SCENES

SOURCE = pathlib.Path(__file__).resolve().parents[2]
RECORDINGS = SOURCE / "docs" / "recordings"
PROMPT = "\x1b[1;32m$\x1b[0m "
LETTER_S, LINE_S, PAUSE_S, LEAST_READ_S = 0.045, 0.06, 0.5, 1.5


def settled(text, scratch):
    """The text with what varies replaced by values that do not."""
    pid = pathlib.Path(scratch, "pid")
    if pid.exists():
        number = pid.read_text(encoding="ascii").strip()
        # As many digits as it has, because columns are as wide as what stands in them.
        text = re.sub(rf"\b{number}\b", "1219340"[-len(number):], text)
    text = re.sub(r"\d{8}T\d{6}Z", "20260105T101500Z", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?Z?", "2026-01-05 10:15", text)
    text = re.sub(r"\b(in|within) \d+(\.\d)? (ms|s)\b", r"\1 1 s", text)
    text = re.sub(r"(?m)^( +)\d+\.\d s  ", r"\g<1>0.1 s  ", text)
    return re.sub(r"peak memory [\d.]+ MiB", "peak memory 80.0 MiB", text)


class Session:
    """The events of a scene, on a clock of its own."""

    def __init__(self):
        self.events, self.now = [], 0.3

    def write(self, text, after):
        self.events.append((self.now, text))
        self.now += after

    def type(self, text):
        self.write(PROMPT, PAUSE_S)
        for letter in text:
            self.write(letter, LETTER_S)
        self.write("\n", PAUSE_S)

    def answer(self, text):
        lines = text.splitlines(keepends=True)
        for line in lines:
            self.write(line if line.endswith("\n") else line + "\n", LINE_S)
        self.now += LEAST_READ_S + 0.12 * len(lines)


def play(scene, bin_dir):
    """The events of a scene. Fails where a step that prepares fails, or a program is not there."""
    session = Session()
    with tempfile.TemporaryDirectory(prefix="headroom-recording-") as scratch:
        environment = {"PATH": f"{bin_dir}:/usr/bin:/bin", "HOME": scratch, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8",
                       "XDG_STATE_HOME": scratch, "SCENERY": str(SOURCE / "tools" / "recordings")}
        for step in scene.steps:
            if step.kind == "say":
                session.write(f"\x1b[2m# {step.text}\x1b[0m\n", LEAST_READ_S)
                continue
            if step.kind == "type":
                session.type(step.text)
            written, code = terminal.run(step.text, scratch, environment)
            if code in (126, 127) or (step.kind == "prepare" and code != 0):
                sys.exit(f"record: {step.text}: exit {code}\n{written}")
            if step.kind == "type":
                session.answer(settled(written, scratch))
    return session.events


def main():
    words = sys.argv[1:]
    is_check = bool(words) and words[0] == "--check"
    words = words[is_check:]
    if not words:
        sys.exit(__doc__)
    bin_dir = pathlib.Path(words[0]).resolve()
    folder = pathlib.Path(words[1]) if len(words) > 1 else RECORDINGS
    wanted = words[2:]
    stale = []
    for scene in SCENES:
        if wanted and scene.name not in wanted:
            continue
        events = play(scene, bin_dir)
        for ending, text in (("cast", cast.to_cast(scene.title, events)), ("svg", svg.to_svg(scene.title, events))):
            path = folder / f"{scene.name}.{ending}"
            if not is_check or os.environ.get("HEADROOM_UPDATE_GOLDEN") == "1":
                path.write_text(text, encoding="utf-8")
            elif not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(path.name)
    if stale:
        print(f"no longer what the programs say: {', '.join(stale)}; tools/recordings/record.py {words[0]} makes them anew")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
