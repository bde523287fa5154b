#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom.allocator and headroom.trainer in the real PyTorch and Hugging Face's Trainer, on a GPU made of this machine's memory.

    pytorch_test.py SOURCE_FOLDER FOLDER_OF_PROGRAMS STAND_INS      exit 77: there is no build/venv
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE, PROGRAMS, STAND_INS = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
del sys.argv[1:4]
PYTHON = SOURCE / "build/venv/bin/python"
HERE = pathlib.Path(__file__).resolve().parent

if not PYTHON.exists():
    print("there is no build/venv; ./dev venv makes it")
    sys.exit(77)


class InPyTorch(unittest.TestCase):
    def run_program(self, name, *words):
        with tempfile.TemporaryDirectory(prefix="headroom-python-") as folder:
            environment = {
                **os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "FAKE_GPU_COUNT": "1", "TEST_FOLDER": folder,
                "XDG_STATE_HOME": folder, "HEADROOM_PROGRAM": str(PROGRAMS / "headroom"),
                "PYTHONPATH": f"{SOURCE / 'python'}:{SOURCE / 'tests/faces/programs'}",
                "LD_PRELOAD": f"{STAND_INS / 'libcudart.so.13'}:{STAND_INS / 'libcuda.so.1'}",
                "HEADROOM_ALLOCATOR_SELF_TESTS": str(SOURCE / "absent.json"),
            }
            done = subprocess.run([PYTHON, HERE / "programs" / name, *words], timeout=600, env=environment, capture_output=True,
                                  text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line), done.stdout, done.stderr

    def test_install_makes_it_pytorchs_allocator(self):
        for split in ("on", "off"):
            said, output, _ = self.run_program("installed.py", split)
            self.assertEqual((said["backend"], said["reserved"]), ("pluggable", "True"))
            self.assertIn("headroom's\n", output)

    def test_the_callback_says_what_was_planned_and_what_was_measured(self):
        said, _, errors = self.run_program("watched.py", "fits")
        self.assertEqual(said["planned"], "headroom.plan/1", errors)
        self.assertGreater(int(said["measured"]), 0)
        self.assertRegex(errors, r"headroom: planned peak \S+ GiB allocated")
        self.assertRegex(errors, r"headroom: measured peak \S+ GiB allocated, planned \S+ GiB \([+-]\d")

    def test_an_out_of_memory_is_explained_and_goes_on(self):
        said, output, errors = self.run_program("watched.py", "fails")
        self.assertIn("out of memory goes on\n", output)
        self.assertRegex(errors, r"headroom: out of memory for 64.00 KiB: (most plausibly \w+|nothing known of this job has that size)")
        self.assertIn("[8, 16, 128]", said["explained"])

    def test_without_a_plan_the_training_goes_on_and_is_measured(self):
        said, _, errors = self.run_program("watched.py", "unplanned")
        self.assertEqual(said["planned"], "None")
        self.assertIn("MemoryCallback(sequence=...)", errors)
        self.assertGreater(int(said["measured"]), 0)


if __name__ == "__main__":
    unittest.main()
