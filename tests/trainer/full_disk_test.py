#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom-train on a file system that is too small, or that somebody fills while it runs: it says what could not be
written, what is saved and how to go on; and with what it asks for beforehand it finishes.

    full_disk_test.py FOLDER_OF_PROGRAMS
"""
import ctypes
import json
import os
import pathlib
import re
import sys
import tempfile
import time
import unittest

from tiny_job import Programs, write_job

FOLDER = pathlib.Path(sys.argv.pop(1))
LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 1 << 18
MEBIBYTE = 1 << 20


def enter_own_mounts():
    """Whether this process may mount where nobody else sees it."""
    return LIBC.unshare(CLONE_NEWNS) == 0 and LIBC.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0


class FullDisk(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="headroom-full-disk-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.disk = self.scratch / "disk"
        self.disk.mkdir()
        self.output = self.disk / "out"
        self.programs = Programs(FOLDER, self.scratch / "state")

    def mount(self, size):
        options = f"size={size}".encode()
        if LIBC.mount(b"tmpfs", str(self.disk).encode(), b"tmpfs", 0, options) != 0:
            raise OSError(ctypes.get_errno(), "mounting a small file system")
        self.addCleanup(lambda: LIBC.umount2(str(self.disk).encode(), 2))

    def resize(self, size):
        MS_REMOUNT = 32
        if LIBC.mount(b"tmpfs", str(self.disk).encode(), b"tmpfs", MS_REMOUNT, f"size={size}".encode()) != 0:
            raise OSError(ctypes.get_errno(), "resizing the small file system")

    def train(self, job, *words):
        return self.programs.run("headroom-train", job, "--output", self.output, *words)

    def test_it_asks_for_what_it_takes_and_finishes_with_that(self):
        job = write_job(self.scratch)
        self.mount(512 * 1024)
        refused = self.train(job)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        found = re.search(r"writes up to ([0-9.]+) MiB more \(.*the flight recording and the metrics\)", refused.stderr)
        self.assertIsNotNone(found, refused.stderr)
        asked = round((float(found[1]) + 0.05) * MEBIBYTE)
        self.resize(asked + 16 * 4096)  # tmpfs counts a page for each name as well.
        result = self.train(job)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("no flight recording", result.stderr)
        self.assertTrue(json.loads((self.output / "report.json").read_text())["completed"])

    def test_a_disk_that_fills_is_named_with_what_is_saved_and_the_way_on(self):
        job = write_job(self.scratch, epochs=20000)
        self.mount(1024 * MEBIBYTE)
        run = self.programs.start("headroom-train", job, "--output", self.output, "--quiet")
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        state = self.output / "checkpoint" / "state.safetensors"
        while not state.exists():
            self.assertIsNone(run.poll())
            time.sleep(0.05)
        used = os.statvfs(self.disk)
        self.resize((used.f_blocks - used.f_bfree) * used.f_frsize + 16 * 4096)
        _, said = run.communicate(timeout=300)
        self.assertEqual(run.returncode, 1, said)
        # At times a checkpoint is what does not fit, at times a line of the metrics.
        self.assertRegex(said, r"writing \S+/out/(metrics\.jsonl|checkpoint/state\.safetensors): No space left on device")
        self.assertRegex(said, r"the state after step \d+ is whole, in \S+/state\.safetensors")
        self.assertRegex(said, r"next: free up to .* on the file system of .*, then go on with --resume")
        self.resize(1024 * MEBIBYTE)
        short = write_job(self.scratch, "short.toml", epochs=1)
        resumed = self.train(short, "--resume")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)


if __name__ == "__main__":
    if not enter_own_mounts():
        print("skipped: making a small file system needs root")
        sys.exit(77)
    unittest.main()
