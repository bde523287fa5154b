#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training run on sequences of many lengths, on a GPU whose memory is 3 % above the most that is ever live: PyTorch's own
allocator runs out of memory, and with `headroom run --allocator` the same script finishes, with the same loss to the last bit.

    fragmentation_test.py SOURCE_FOLDER FOLDER_OF_PROGRAMS STAND_INS     exit 77: there is no such environment
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

source, bin_folder, stand_ins = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
del sys.argv[1:4]
programs = pathlib.Path(__file__).resolve().parent / "programs"
python = source / "build" / "venv" / "bin" / "python"
JOB = ("variable_lengths.py", "4", "512", "8", "512")  # The longest sequences but one are in the second and fourth step.
AMPLE = 4 << 30


class Fragmentation(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headroom-fragmentation-")
        self.addCleanup(folder.cleanup)
        self.environment = {
            **os.environ, "OMP_NUM_THREADS": "1", "FAKE_GPU_COUNT": "1", "XDG_STATE_HOME": folder.name, "XDG_CACHE_HOME": folder.name,
            "PYTHONPATH": str(programs), "LD_PRELOAD": f"{stand_ins / 'libcudart.so.13'}:{stand_ins / 'libcuda.so.1'}",
        }

    def run_it(self, *words, gpu_bytes=AMPLE, **variables):
        return subprocess.run(words, timeout=900, capture_output=True, text=True,
                              env={**self.environment, "FAKE_GPU_BYTES": str(gpu_bytes), **variables})

    def train(self, by, gpu_bytes, **variables):
        return self.run_it(*by, python, programs / JOB[0], *JOB[1:], gpu_bytes=gpu_bytes, **variables)

    def test_what_dies_of_fragments_finishes(self):
        headroom = [bin_folder / "headroom", "run", "--quiet", "--allocator", "--split", "off", "--guard", "off", "--"]
        ample = self.train([], AMPLE)
        self.assertEqual(ample.returncode, 0, ample.stderr)
        peak = int(re.search(r"^peak (\d+)", ample.stdout, re.M)[1])
        loss = re.search(r"^loss .*$", ample.stdout, re.M)[0]
        cap = peak * 103 // 100
        native = self.train([], cap)
        self.assertEqual(native.returncode, 1)
        self.assertIn("OutOfMemoryError", native.stderr)
        self.assertIn("reserved by PyTorch but unallocated", native.stderr)  # It was not told of headroom by mistake.
        tested = self.run_it(bin_folder / "headroom", "test", "--virtual-memory")
        self.assertIn("Virtual memory works", tested.stdout + tested.stderr)
        for variables in ({}, {"HEADROOM_ALLOCATOR_VIRTUAL_MEMORY": "off"}):
            with self.subTest(**variables):
                done = self.train(headroom, cap, **variables)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(re.search(r"^loss .*$", done.stdout, re.M)[0], loss)


if not python.exists():
    print("there is no build/venv; ./dev venv makes it")
    sys.exit(77)
unittest.main()
