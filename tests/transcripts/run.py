#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a transcript: a whole session with the program, held against what it printed when it was last read.

    run.py BIN_DIR TRANSCRIPT      exit 0: as written; 1: not, with the difference

A transcript is a text file. Lines before the first command say what it shows. "$ COMMAND" is run by the shell
in a fresh copy of files/, with BIN_DIR first in PATH, tests/machines as $MACHINES, and in $FAKE_GPUS the folder of
stand-ins for HIP's and CUDA's libraries, whose GPUs FAKE_GPU_FAULTS breaks. What follows is its standard output, then
its standard error with "! " before each line, then "[exit CODE]". HEADROOM_UPDATE_GOLDEN=1 writes the file anew from
what the program prints: then read the difference (./dev golden).

Only what depends on the machine or on the moment is replaced, by the rules below.
"""
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

RULES = [
    (r"headroom \d+\.\d+\.\d+\S*", "headroom {VERSION}"),
    (r"(?m)^built for .*", "built for {WHAT IT WAS BUILT WITH}"),
    (r"(?m)^libraries, (shared|linked in): .*", r"libraries, \1: {LIBRARIES}"),
    (r"\b20\d{6}T\d{6}Z", "{TIME}"),
    (r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", "{MOMENT}"),
    (r"\b20\d\d-\d\d-\d\d \d\d:\d\d UTC", "{MOMENT}"),
    # What the steps of a self-test took and where, and how many cycles there was time for.
    (r"(?m)^(  [a-z ]{3,18}?) +\d+\.\d m?s  ", r"\1  {TOOK}  "),
    (r"by \d+ cycles", "by {N} cycles"),
    (r"at 0x[0-9a-f]+", "at {ADDRESS}"),
    (r'"ns_per_event":\s*[0-9.e+-]+', '"ns_per_event":{NS}'),
    # The column ns/event of a replay: after policy, outcome, reserved, over live and device calls.
    (r"(?m)^(  [a-z-]+ +\S+ +[\d.]+ \S+ +\S+ % +\d+) +\d+", r"\1  {NS}"),
]
TIMEOUT_S = 60


def normalise(text, places):
    for place, name in places:
        text = text.replace(place, name)
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    return text


def run(command, folder, bin_dir):
    """The lines that the transcript should have after "$ COMMAND"."""
    environment = {"PATH": f"{bin_dir}:/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8",
                   "MACHINES": str(pathlib.Path(__file__).resolve().parent.parent / "machines"),
                   "FAKE_GPUS": str(bin_dir.parent / "fake_gpu")}
    try:
        done = subprocess.run(["/bin/sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return [f"[not finished after {TIMEOUT_S} s]"]
    places = [(str(folder), "{SCRATCH}"), (str(bin_dir), "{BIN}")]
    out, err = (normalise(text.decode(), places).splitlines() for text in (done.stdout, done.stderr))
    return out + [f"! {line}".rstrip() for line in err] + [f"[exit {done.returncode}]"]


def replay(text, bin_dir, files):
    """The transcript as it would read today."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith("$ ")), len(lines))
    today = lines[:first]
    with tempfile.TemporaryDirectory(prefix="headroom-transcript-") as scratch:
        folder = pathlib.Path(scratch).resolve() / "session"
        shutil.copytree(files, folder)
        for number, line in enumerate(line for line in lines[first:] if line.startswith("$ ")):
            today += ([""] if number else []) + [line] + run(line[2:], folder, bin_dir)
    return "\n".join(today) + "\n"


def main():
    bin_dir, path = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    written = path.read_text(encoding="utf-8")
    today = replay(written, bin_dir, path.parent / "files")
    if "$ " not in written:
        print(f"{path}: no command; begin a line with \"$ \"", file=sys.stderr)
        return 1
    if today == written:
        return 0
    if os.environ.get("HEADROOM_UPDATE_GOLDEN") == "1":
        path.write_text(today, encoding="utf-8")
        print(f"{path}: rewritten; read the difference before committing it")
        return 0
    sys.stdout.writelines(difflib.unified_diff(written.splitlines(True), today.splitlines(True),
                                               f"{path.name}, as written", f"{path.name}, today"))
    print(f"\n{path.name} differs. If the new output is the better one: ./dev golden, then git diff")
    return 1


if __name__ == "__main__":
    sys.exit(main())
