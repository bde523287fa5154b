#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What history, undo and confirm say of a change that is between old and new: who is at it, whether it was
interrupted, and how to go on; and of a change that lost its record.

usage: interrupted_test.py BIN_FOLDER
"""
import fcntl
import json
import os
import subprocess
import sys
import tempfile

CHANGE = "20261121T223011Z-home"
FOLDER = f"var/lib/headroom/changes/{CHANGE}"


class Machine:
    """A scratch root with one change, and headroom on it."""

    def __init__(self, binaries, root):
        self.binaries, self.root = binaries, root
        for path, text in (("etc/environment", "old\n"), ("people/someone/.config/app/settings.conf", "old\n")):
            os.makedirs(os.path.dirname(f"{root}/{path}"), exist_ok=True)
            with open(f"{root}/{path}", "w", encoding="utf-8") as file:
                file.write(text)
        os.symlink("old", f"{root}/people/someone/.config/app/link")
        subprocess.run([f"{binaries}/scratch_root", root], check=True)
        subprocess.run([f"{binaries}/home_change", root, "/people/someone"], check=True)

    def headroom(self, *words):
        done = subprocess.run([f"{self.binaries}/headroom", *words, "--root", self.root], capture_output=True,
                              text=True, timeout=120, check=False)
        return done.returncode, done.stdout + done.stderr

    def change_record(self, **fields):
        path = f"{self.root}/{FOLDER}/record.json"
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        record.update(fields)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(record, file)


def expect(wrong, what, code, said, wanted_code, *texts):
    if code != wanted_code:
        wrong.append(f"{what}: expected exit {wanted_code}, found {code}: {said}")
    for text in texts:
        if text not in " ".join(said.split()):
            wrong.append(f"{what}: expected {text!r}, found {said}")


def while_somebody_is_at_it(wrong, machine):
    """A program that holds the lock, and whose taker has ended; then one that took it itself."""
    lock = os.open(f"{machine.root}/var/lib/headroom/lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    child = subprocess.Popen(["sleep", "600"], pass_fds=[lock])
    try:
        code, said = machine.headroom("history")
        expect(wrong, "history while it runs", code, said, 0, "being applied right now by",
               f"(process {os.getpid()})", f"sleep 600 (process {child.pid})", "headroom history")
        os.close(lock)  # The child has it still.
        code, said = machine.headroom("history")
        expect(wrong, "history beside an orphan", code, said, 0, "interrupted while it was applied",
               f"a program that it started is still running: sleep 600 (process {child.pid})", "once that has ended")
        code, said = machine.headroom("history", "--json")
        change = json.loads(said)["changes"][0]
        found = {"pid": child.pid, "command": "sleep 600", "is_headroom": False}
        if change["at_work"] != [found] or change["state"] != "applying":
            wrong.append(f"history --json: expected {found}, found {change}")
        code, said = machine.headroom("undo", CHANGE)
        expect(wrong, "undo beside an orphan", code, said, 1, f"sleep 600 (process {child.pid})")
        code, said = machine.headroom("confirm")
        expect(wrong, "confirm beside an orphan", code, said, 2, f"sleep 600 (process {child.pid})")
    finally:
        child.kill()
        child.wait()


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    wrong = []
    with tempfile.TemporaryDirectory(prefix="headroom-interrupted-") as root:
        machine = Machine(sys.argv[1], root)
        machine.change_record(state="applying")
        while_somebody_is_at_it(wrong, machine)
        code, said = machine.headroom("history")
        expect(wrong, "history of an interruption", code, said, 0, "interrupted while it was applied",
               f"sudo headroom undo {CHANGE}")
        code, said = machine.headroom("confirm")
        expect(wrong, "confirm after an interruption", code, said, 2, f"{CHANGE} was interrupted",
               f"sudo headroom undo {CHANGE}")
        code, said = machine.headroom("undo", CHANGE)
        expect(wrong, "undo", code, said, 0)
        code, said = machine.headroom("history")
        expect(wrong, "history of what never was in force", code, said, 0, "interrupted and undone")
        machine.change_record(said="step 2 went wrong")
        code, said = machine.headroom("history")
        expect(wrong, "history of a failure", code, said, 0, "failed and undone", "step 2 went wrong")
        os.remove(f"{root}/{FOLDER}/record.json")
        for words, wanted in ((("history",), 3), (("undo", CHANGE), 2)):
            code, said = machine.headroom(*words)
            expect(wrong, f"{words[0]} without the record", code, said, wanted, f"{FOLDER}/originals",
                   f"{FOLDER}/undo.sh")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
