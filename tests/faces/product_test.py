#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom run --allocator` as people type it, on ordinary scripts: the real PyTorch and Hugging Face's libraries on a GPU
made of this machine's memory.

    product_test.py SOURCE_FOLDER FOLDER_OF_PROGRAMS STAND_INS ENVIRONMENT CUDA [TEST]...

ENVIRONMENT is a folder of build/, CUDA the number of libcudart that its PyTorch asks for. Exit 77: there is no such environment.
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
environment, cuda = sys.argv[4:6]
del sys.argv[1:6]
programs = pathlib.Path(__file__).resolve().parent / "programs"
folder_of_python = source / "build" / environment / "bin"
python = folder_of_python / "python"
HOST = {"HEADROOM_ALLOCATOR_BACKEND": "host", "HEADROOM_ALLOCATOR_CAPACITY": "256 MiB"}


class Product(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headroom-product-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_python(self, *words, **how):
        return self.run_program(python, *words, **how)

    def run_program(self, *words, supervised=True, gpus=1, options=(), **variables):
        environment = {
            **os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "FAKE_GPU_COUNT": str(gpus), "TEST_FOLDER": self.folder,
            "XDG_STATE_HOME": self.folder, "PYTHONPATH": str(programs),
            "LD_PRELOAD": f"{stand_ins / f'libcudart.so.{cuda}'}:{stand_ins / 'libcuda.so.1'}",
            "HEADROOM_ALLOCATOR_SELF_TESTS": str(source / "absent.json"), **variables,
        }
        by = [bin_folder / "headroom", "run", "--quiet", "--allocator", *options, "--"] if supervised else []
        return subprocess.run([*by, *words], timeout=600, env=environment, capture_output=True, text=True)

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

    def test_figures_are_those_of_the_live_tensors_and_an_out_of_memory_is_explained(self):
        text = self.check(self.run_python(programs / "figures.py", FAKE_GPU_BYTES=str(512 << 20)))
        self.assertIn("equal ", text)
        # PyTorch's own first words, then headroom's report: what holds the memory, and why this request failed.
        self.assertIn("error OutOfMemoryError CUDA out of memory. Tried to allocate 301.00 MiB on GPU 0", text)
        self.assertIn("300.0 MiB =      1 x  300.0 MiB", text)
        self.assertIn("says cuMemGetInfo", text)
        # accelerate takes its error for an out of memory, and a tenth off the batch until it fits: after 22 rows of 24 MiB.
        self.assertRegex(text, r"(?m)^batch 19 19$")

    def free_port(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return str(free.getsockname()[1])

    def test_processes_that_the_script_starts_have_it_too(self):
        script = programs / "who_allocates.py"
        rendezvous = ["--master_addr", "127.0.0.1", "--master_port"]
        ranks = ["rank 0: headroom", "rank 1: headroom"]
        for name, words in {
            "torchrun": ["torchrun", "--nproc_per_node", "2", *rendezvous],
            "accelerate launch": ["accelerate", "launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1",
                                  "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_ip", "127.0.0.1",
                                  "--main_process_port"],
        }.items():
            with self.subTest(by=name):
                done = self.run_program(folder_of_python / words[0], *words[1:], self.free_port(), script, gpus=2)
                self.assertEqual(sorted(re.findall(r"^rank \d: .*$", self.check(done), re.M)), ranks, done.stdout)
        self.assertIn("spawned: headroom", self.check(self.run_python(script, "spawn")))

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
    print(f"there is no build/{environment}; ./dev faces makes it")
    sys.exit(77)
unittest.main()
