#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The real ONNX Runtime under `headroom run --allocator`: with its ROCm provider, on GPUs made of this machine's memory, and
with the processor's.

    onnxruntime_test.py SOURCE_FOLDER FOLDER_OF_PROGRAMS STAND_INS ENVIRONMENT TEST

ENVIRONMENT is a folder of build/, onnxruntime_rocm for Rocm and onnxruntime for Processor. Exit 77: it is not installed.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

source, bin_folder, stand_ins = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
environment_folder = source / "build" / sys.argv[4]
del sys.argv[1:5]
programs = pathlib.Path(__file__).resolve().parent / "programs"
MIB = 1 << 20


class OnnxRuntime:
    def run_program(self, *words, supervised=True, **variables):
        # ROCm's other libraries have stand-ins beside the provider's.
        beside = next(environment_folder.glob("lib/python3*/site-packages/onnxruntime/capi"))
        environment = {
            **os.environ, "LD_LIBRARY_PATH": f"{stand_ins}:{beside}", "PYTHONPATH": f"{programs}:{source / 'python'}",
            "FAKE_GPU_DEFERRED": "1", "FAKE_GPU_BYTES": str(512 * MIB), "HEADROOM_ALLOCATOR_PLANNING": "off", **variables,
        }
        by = [bin_folder / "headroom", "run", "--quiet", "--allocator", "--"] if supervised else []
        done = subprocess.run([*by, environment_folder / "bin" / "python", *words], timeout=300, env=environment,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def count(self, *words, **variables):
        """What the program printed, and {figure: value} of each GPU and, last, of the processor, at its end."""
        done = self.run_program(programs / "onnx_counts.py", *words, **variables)
        figures = [dict((name, int(value)) for name, value in re.findall(r"(\w+) (\d+)", line))
                   for line in re.findall(r"^gpu -?\d: (.*)$", done.stdout, re.M)]
        self.assertEqual(len(figures), 3, done.stdout)
        return done, figures[1:] + figures[:1]


class Rocm(OnnxRuntime, unittest.TestCase):
    def session(self, kind, **variables):
        done, figures = self.count("onnx_session.py", kind, **variables)
        held = re.search(r"^held (\d+) allocations (\d+) own (\d+)", done.stdout, re.M)
        return done, figures, [int(value) for value in held.groups()] if held else None

    def test_all_that_the_gpu_gives_is_headrooms_and_comes_back(self):
        for kind, device in {"named": 0, "options": 0, "second": 1}.items():
            with self.subTest(kind=kind):
                done, figures, (held, _, _) = self.session(kind)
                found = figures[device]
                self.assertLess(0, found["allocations"])
                self.assertEqual(found["allocations"], found["frees"])
                self.assertEqual((found["out_of_memory"], found["foreign_frees"]), (0, 0))
                self.assertEqual(held, found["reserved"], done.stdout)  # There is nothing that another took.
                self.assertEqual(figures[1 - device]["allocations"], 0)

    def test_a_session_for_the_processor_stays_one(self):
        done, figures, _ = self.session("default")
        self.assertIn("providers ['CPUExecutionProvider']", done.stdout)
        self.assertEqual((figures[0]["allocations"], done.stderr), (0, ""))

    def test_what_the_program_asked_of_the_memory_itself_wins(self):
        for kind, line in {"own": None, "limited": "gpu_mem_limit is", "graph": "while a graph is captured"}.items():
            with self.subTest(kind=kind):
                done, figures, (held, _, own) = self.session(kind)
                self.assertEqual(figures[0]["allocations"], 0)
                self.assertEqual(own > 0, kind == "own", done.stdout)
                said = [text for text in done.stderr.splitlines() if text.startswith("headroom: ")]
                self.assertEqual(len(said), 1 if line else 0, done.stderr)
                self.assertIn(line or "", "".join(said))

    def test_a_refusal_is_the_programs_exception_and_the_session_lives_on(self):
        done, figures, _ = self.session("refused", HEADROOM_ALLOCATOR_CAPACITY="64 MiB")
        error = r"^refused RuntimeException .*HIP out of memory\. Tried to allocate 24\.41 MiB on GPU 0"
        self.assertEqual(len(re.findall(error, done.stdout, re.M)), 3, done.stdout)
        self.assertNotIn("not refused", done.stdout)
        self.assertIn("of a capacity of 64.0 MiB", done.stdout)
        self.assertEqual(figures[0]["out_of_memory"], 3)
        self.assertEqual(figures[0]["allocations"], figures[0]["frees"])

    def test_weights_that_do_not_fit_are_an_exception_too(self):
        # The nth allocation of the GPU is refused once: with the first one the weights have no memory.
        done, figures, _ = self.session("named", FAKE_GPU_REFUSE="1", HEADROOM_ALLOCATOR_CAPACITY="2 MiB")
        self.assertIn("HIP out of memory.", done.stdout)
        self.assertEqual(figures[0]["allocations"], figures[0]["frees"])

    def test_settings_that_make_no_sense_leave_it_as_it_is_with_one_line(self):
        for name, value in (("HEADROOM_ALLOCATOR_CAPACITY", "much"), ("HEADROOM_ALLOCATOR_BACKEND", "cuda"),
                            ("HEADROOM_ALLOCATOR_VIRTUAL_MEMORY", "required")):
            done, figures, (held, _, _) = self.session("named", **{name: value})
            self.assertEqual(figures[0]["allocations"], 0)
            self.assertLess(0, held)
            self.assertEqual(done.stderr.count("headroom: onnxruntime runs as it is"), 1, done.stderr)
            self.assertIn(name, done.stderr)

    def test_it_is_recorded_under_a_name_of_its_own(self):
        with tempfile.TemporaryDirectory(prefix="headroom-onnx-") as folder:
            self.session("second", HEADROOM_ALLOCATOR_RECORDINGS=folder)
            self.assertEqual([path.name.partition("-")[2] for path in pathlib.Path(folder).iterdir()], ["onnx-gpu1.flight"])

    def test_without_headroom_it_runs_on_its_own_memory(self):
        done = self.run_program(programs / "onnx_session.py", "named", supervised=False)
        self.assertRegex(done.stdout, r"held [1-9]\d* .*options 0")

    def test_memory_in_use_is_not_given_out_again(self):
        done = self.run_program(programs / "onnx_reuse.py", HEADROOM_ALLOCATOR_CAPACITY="42 MiB")
        self.assertIn("reused in order", done.stdout)


class Processor(OnnxRuntime, unittest.TestCase):
    def session(self, kind, capacity="64 MiB", **variables):
        done, figures = self.count("onnx_processor.py", kind, HEADROOM_ALLOCATOR_BACKEND="host",
                                   HEADROOM_ALLOCATOR_CAPACITY=capacity, **variables)
        return done, figures[-1]

    def results(self, text):
        return re.search(r"^results .*$", text, re.M)[0]

    def test_its_blocks_are_headrooms_and_results_are_the_same_to_the_last_bit(self):
        expected = self.results(self.run_program(programs / "onnx_processor.py", "plain", supervised=False).stdout)
        for kind in ("plain", "options"):
            with self.subTest(kind=kind):
                done, found = self.session(kind)
                self.assertEqual(self.results(done.stdout), expected)
                self.assertLess(4, found["allocations"])  # There are four weights.
                self.assertEqual(found["allocations"], found["frees"])
                self.assertEqual((found["out_of_memory"], found["foreign_frees"], done.stderr), (0, 0, ""))

    def test_a_program_that_declined_has_its_own(self):
        done, found = self.session("declined")
        self.assertEqual((found["allocations"], done.stderr), (0, ""))

    def test_a_refusal_is_the_programs_exception_and_the_session_lives_on(self):
        done, found = self.session("refused")
        error = r"^refused \w+ .*CPU out of memory\. Tried to allocate 73\.24 MiB, by headroom's allocator"
        self.assertEqual(len(re.findall(error, done.stdout, re.M)), 3, done.stdout)
        self.assertNotIn("not refused", done.stdout)
        self.assertEqual(found["out_of_memory"], 3)
        self.assertEqual(found["allocations"], found["frees"])

    def test_weights_that_do_not_fit_are_an_exception_too(self):
        done, found = self.session("refused-weights", capacity="2 MiB", WIDE="1")
        self.assertIn("no session RuntimeException", done.stdout)
        self.assertIn("CPU out of memory.", done.stdout)
        self.assertEqual(found["allocations"], found["frees"])

    def test_without_a_word_of_the_host_it_stays_as_it_is(self):
        for variables in ({}, {"HEADROOM_ALLOCATOR_BACKEND": "cuda"}):  # Which is meant for another library of the program's.
            done, figures = self.count("onnx_processor.py", "plain", **variables)
            self.assertEqual((figures[-1]["allocations"], done.stderr), (0, ""))


if not (environment_folder / "bin" / "python").exists():
    print(f"there is no build/{environment_folder.name}; ./dev faces makes it")
    sys.exit(77)
unittest.main()
