#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""This machine, captured: check says the same of it, but for what moves.     live_test.py FOLDER_OF_PROGRAMS"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1))


def headroom(*words, **variables):
    return subprocess.run([PROGRAMS / "headroom", *words], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **variables})


def shape(value):
    """The document without the numbers of bytes and processes, which move between two looks."""
    if isinstance(value, dict):
        return {key: None if key.endswith(("_bytes", "pid")) else shape(child) for key, child in value.items()}
    return [shape(child) for child in value] if isinstance(value, list) else value


class Live(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)

    def same_as_live(self, output):
        run = headroom("capture", output, "--json")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        report = json.loads(run.stdout)
        self.assertTrue(report["same_answer"], report["differences"])
        live = json.loads(headroom("check", "--json").stdout)
        captured = json.loads(headroom("check", "--json", "--root", output).stdout)
        self.assertTrue(live["machine"]["live"])
        self.assertFalse(captured["machine"]["live"])
        for key in ("verdict", "machine"):
            live[key] = captured[key] if key == "machine" else live[key]
        self.assertEqual({k: shape(live[k]) for k in ("verdict", "gpus", "other_gpus", "cause")},
                         {k: shape(captured[k]) for k in ("verdict", "gpus", "other_gpus", "cause")})
        return report

    def test_a_folder_says_what_the_machine_says(self):
        report = self.same_as_live(str(self.folder / "out"))
        self.assertTrue((self.folder / "out/MANIFEST.json").exists())
        self.assertEqual(report["kind"], "folder")
        again = json.loads(headroom("capture", str(self.folder / "again"), "--root", str(self.folder / "out"), "--json").stdout)
        self.assertEqual(set(again["redacted"].values()), {0}, "a capture holds nothing that has to go")

    def test_an_archive_says_what_the_machine_says(self):
        if not list(pathlib.Path("/usr/lib").glob("**/libarchive.so.13")):
            self.skipTest("libarchive is not installed")
        self.same_as_live(str(self.folder / "out.tar.zst"))

    def test_nothing_is_written_but_the_output(self):
        headroom("capture", str(self.folder / "out"))
        self.assertEqual([path.name for path in self.folder.iterdir()], ["out"])

    def test_the_shell_counts_in_the_capture_as_it_does_live(self):
        output = self.folder / "out"
        run = headroom("capture", str(output), "--json", HIP_VISIBLE_DEVICES="3", HF_TOKEN="a-secret-of-the-shell")
        self.assertTrue(json.loads(run.stdout)["same_answer"], run.stdout)
        variables = (output / ".headroom/environment").read_text().split("\0")
        self.assertIn("HIP_VISIBLE_DEVICES=3", variables)
        self.assertNotIn("a-secret-of-the-shell", (output / ".headroom/environment").read_text())

    def test_names_of_this_machine_are_not_in_it(self):
        headroom("capture", str(self.folder / "out"))
        host = pathlib.Path("/proc/sys/kernel/hostname").read_text().strip()
        if len(host) < 8 or host.lower() in ("localhost", "localhost.localdomain"):
            self.skipTest("the host has no name that tells anything")
        for path in (self.folder / "out").rglob("*"):
            self.assertNotIn(host, str(path.relative_to(self.folder)))
            if path.is_file() and not path.is_symlink():
                self.assertNotIn(host.encode(), path.read_bytes(), path)


if __name__ == "__main__":
    unittest.main()
