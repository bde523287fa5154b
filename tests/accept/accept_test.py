#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom accept on this machine, without PyTorch: what it records, what it leaves out, and what it does not overwrite.

    accept_test.py FOLDER_OF_PROGRAMS
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()


class Accept(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headroom-accept-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # Without a Python on PATH the parts that need PyTorch are left out.
        self.environment = {**os.environ, "HOME": folder.name, "PATH": str(self.folder)}
        for name in ("XDG_CACHE_HOME", "VIRTUAL_ENV", "CONDA_PREFIX"):
            self.environment.pop(name, None)

    def accept(self, *words):
        return subprocess.run([PROGRAMS / "headroom", "accept", *words], cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, timeout=120)

    def test_a_folder_with_every_answer(self):
        done = self.accept("out", "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual(answer, json.loads((self.folder / "out/acceptance/summary.json").read_text()))
        steps = {step["name"]: step for step in answer["steps"]}
        self.assertTrue(steps["check"]["ok"])
        self.assertTrue(steps["virtual-memory"]["ok"])
        self.assertIsNone(steps["test"]["ok"])
        self.assertIn("--python", steps["test"]["detail"])
        for step in answer["steps"]:
            if step["file"] is not None:
                json.loads((self.folder / "out" / step["file"]).read_text())
        checked = subprocess.run([PROGRAMS / "headroom", "check", "--json", "--root", self.folder / "out"], capture_output=True,
                                 timeout=60, check=False)
        self.assertEqual(json.loads(checked.stdout)["schema"], "headroom.check/1")

    def test_an_archive(self):
        done = self.accept("out.tar.zst")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("attach it to an issue", " ".join(done.stdout.split()))
        listed = subprocess.run(["tar", "--zstd", "-tf", self.folder / "out.tar.zst"], capture_output=True, text=True, check=False)
        if listed.returncode == 0:
            self.assertIn("acceptance/summary.json", listed.stdout)

    def test_overwrites_nothing_and_leaves_nothing_half(self):
        (self.folder / "out.tar.zst").write_text("mine")
        done = self.accept("out.tar.zst")
        self.assertEqual(done.returncode, 2)
        self.assertEqual((self.folder / "out.tar.zst").read_text(), "mine")
        self.assertEqual(self.accept("no/such/folder/out").returncode, 3)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir() if path.name.startswith("out")), ["out.tar.zst"])


if __name__ == "__main__":
    unittest.main()
