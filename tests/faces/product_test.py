#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom run --allocator` as people type it, on ordinary scripts: the real PyTorch and Hugging Face's libraries of `./dev
venv`, on a GPU made of this machine's memory.

    product_test.py SOURCE_FOLDER FOLDER_OF_PROGRAMS STAND_INS     exit 77: there is no such environment
"""
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest

source, bin_folder, stand_ins = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
del sys.argv[1:4]
programs = pathlib.Path(__file__).resolve().parent / "programs"
python = source / "build" / "venv" / "bin" / "python"
HOST = {"HEADROOM_ALLOCATOR_BACKEND": "host", "HEADROOM_ALLOCATOR_CAPACITY": "256 MiB"}


class Product(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headroom-product-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_python(self, *words, supervised=True, gpus=1, options=(), **variables):
        environment = {
            **os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "FAKE_GPU_COUNT": str(gpus), "TEST_FOLDER": self.folder,
            "XDG_STATE_HOME": self.folder, "PYTHONPATH": str(programs),
            "LD_PRELOAD": f"{stand_ins / 'libcudart.so.13'}:{stand_ins / 'libcuda.so.1'}",
            "HEADROOM_ALLOCATOR_SELF_TESTS": str(source / "absent.json"), **variables,
        }
        by = [bin_folder / "headroom", "run", "--quiet", "--allocator", *options, "--"] if supervised else []
        return subprocess.run([*by, python, *words], timeout=600, env=environment, capture_output=True, text=True)

    def check(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def result(self, text):
        return re.search(r"^loss \S+ weights \w+$", text, re.M)[0]

    def test_training_is_equal_to_the_processors_to_the_last_bit(self):
        script = programs / "ordinary_training.py"
        for kind in ("trainer", "lora"):
            expected = self.result(self.check(self.run_python(script, kind, "cpu", supervised=False)))
            for variables in ({}, HOST):
                with self.subTest(kind=kind, **variables):
                    text = self.check(self.run_python(script, kind, "gpu", **variables))
                    self.assertEqual(self.result(text), expected)
                    # These raise on an allocator that is plugged in, unless headroom answers.
                    live, peak, reserved = map(int, re.search(r"^memory (\d+) (\d+) (\d+)$", text, re.M).groups())
                    self.assertLess(0, live)
                    self.assertLess(live, peak)
                    self.assertLessEqual(live, reserved)

    def test_processes_that_the_script_starts_have_it_too(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        done = self.run_python("-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-addr", "127.0.0.1", "--master-port",
                               port, programs / "who_allocates.py", gpus=2)
        self.assertEqual(sorted(re.findall(r"^rank \d: .*$", self.check(done), re.M)),
                         ["rank 0: headroom", "rank 1: headroom"], done.stdout)
        self.assertIn("spawned: headroom", self.check(self.run_python(programs / "who_allocates.py", "spawn")))

    def test_a_python_that_ignores_its_environment_runs_the_script_as_it_is(self):
        script = programs / "who_allocates.py"
        self.assertIn("here: headroom", self.check(self.run_python(script, "here")))
        for flag in ("-I", "-E"):
            self.assertIn("here: PyTorch's own", self.check(self.run_python(flag, script, "here")))
        self.assertEqual(self.check(self.run_python("-S", "-c", "print(6 * 7)")), "42\n")  # No packages at all.

    def test_the_guard_refuses_what_the_desktop_needs(self):
        report = pathlib.Path(self.folder) / "report.json"
        script = programs / "who_allocates.py"
        options = ("--guard", "96MiB", "--report", report)
        done = self.run_python(script, "fill", options=options, FAKE_GPU_BYTES=str(256 << 20))
        self.assertEqual(done.returncode, 1, done.stderr)
        filled = int(re.search(r"^filled (\d+) MiB$", done.stdout, re.M)[1])
        self.assertTrue(128 <= filled <= 160, done.stdout)
        self.assertEqual(int(re.search(r"^room (\d+) MiB$", done.stdout, re.M)[1]), filled - 4)
        self.assertIn("headroom's guard keeps 96.0 MiB of the GPU for the desktop and the system", done.stderr)
        attempt = json.loads(report.read_text())["attempts"][0]
        self.assertEqual(attempt["cause"]["id"], "vram-guard", attempt)
        lifted = self.run_python(script, "fill", options=("--guard", "off"), FAKE_GPU_BYTES=str(256 << 20))
        self.assertGreater(int(re.search(r"^filled (\d+) MiB$", lifted.stdout, re.M)[1]), 220)
        self.assertNotIn("guard", lifted.stderr)

    def test_an_index_of_no_gpu_is_refused_as_by_pytorch(self):
        text = self.check(self.run_python(programs / "who_allocates.py", "index"))
        self.assertIn("index: refused", text)


if not python.exists():
    print("there is no build/venv; ./dev venv makes it")
    sys.exit(77)
unittest.main()
