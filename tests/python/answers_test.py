#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`import headroom`, with the built program and with programs that answer badly.

    answers_test.py FOLDER_OF_PROGRAMS SOURCE_FOLDER
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAMS, SOURCE = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
del sys.argv[1:3]
sys.path.insert(0, str(SOURCE / "python"))
import headroom  # noqa: E402  (its folder has just become known)

JOB = {"model": {"name": "Qwen/Qwen2.5-0.5B"}, "method": {"kind": "lora", "rank": 16}, "compute": {"dtype": "bf16"},
       "batch": {"micro": 4, "sequence": 1024}, "device": {"capacity": "24GiB"}}


class Answers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headroom-python-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.use(PROGRAMS / "headroom")

    def use(self, program):
        os.environ["HEADROOM_PROGRAM"] = str(program)
        self.addCleanup(os.environ.pop, "HEADROOM_PROGRAM", None)

    def play(self, script):
        """A program of two lines in the place of headroom."""
        program = self.folder / "headroom"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        self.use(program)

    def machine(self, name):
        root = self.folder / name
        subprocess.run([PROGRAMS / "fake_machine", SOURCE / f"tests/machines/{name}.toml", root], check=True)
        return root

    def test_a_finding_is_an_answer_and_not_an_error(self):
        report = headroom.check(root=self.machine("strix-halo-half"))
        self.assertEqual((report["verdict"], report["cause"]["id"]), ("limited", "ttm-cap"))

    def test_logs_are_judged_alone(self):
        log = self.folder / "job.log"
        log.write_text("step 1/2 loss 2.0\nOSError: [Errno 28] No space left on device\n")
        for logs in (log, [log], str(log)):
            report = headroom.check(logs=logs)
            self.assertIsNone(report["machine"])
            self.assertEqual(report["cause"]["id"], "disk-full")

    def test_a_job_is_tables_or_a_path_or_a_command(self):
        tables = headroom.plan(JOB)
        self.assertIs(tables["fits"], True)
        path = self.folder / "-job.toml"  # A name that could be taken for an option.
        path.write_text('[model]\nname = "Qwen/Qwen2.5-0.5B"\n[method]\nkind = "lora"\nrank = 16\n[compute]\ndtype = "bf16"\n'
                        '[batch]\nmicro = 4\nsequence = 1024\n[device]\ncapacity = "24GiB"\n')
        self.assertEqual(headroom.plan(path)["allocated_bytes"], tables["allocated_bytes"])
        command = ["python", "train.py", "--model_name_or_path", "Qwen/Qwen2.5-0.5B", "--bf16"]
        self.assertIn("Taken from the command", " ".join(headroom.plan(command, gpu="MI50")["notes"]))

    def test_a_job_that_does_not_fit_says_what_would(self):
        plan = headroom.plan({**JOB, "device": {"capacity": "3GiB"}}, largest="batch")
        self.assertIs(plan["fits"], False)
        self.assertIn("largest_fit", plan)

    def test_a_size_is_bytes_or_as_it_was_printed(self):
        words = ["python", "main.py", "--batch_size", "64", "--seq_len", "1024", "--num_heads", "16"]
        for size in ("4.00 GiB", 4 << 30):
            self.assertIn("attention", headroom.explain(size, words)["matches"][0]["tensor"])
        self.assertEqual(headroom.explain(12345677, JOB)["matches"], [])

    def test_what_is_wrong_is_said_in_the_programs_words(self):
        with self.assertRaises(headroom.HeadroomError) as raised:
            headroom.plan({"model": {"name": "Nobody/Knows"}})
        self.assertEqual(raised.exception.status, 2)
        self.assertIn("Nobody/Knows", str(raised.exception))
        with self.assertRaises(headroom.HeadroomError):
            headroom.explain("much", JOB)

    def test_a_program_that_dies_or_babbles_is_an_error(self):
        for script, expected in (("kill -9 $$", "ended with status -9"), ("exit 3", "ended with status 3"),
                                 ("echo []", "expected an object"), ("echo no", "expected JSON"), ("true", "expected JSON")):
            self.play(script)
            with self.subTest(script), self.assertRaisesRegex(headroom.HeadroomError, expected):
                headroom.check()

    def test_no_program_is_said(self):
        self.use(self.folder / "absent")
        with self.assertRaisesRegex(headroom.ProgramMissing, "absent"):
            headroom.version()

    def test_the_version_is_the_programs(self):
        said = subprocess.run([PROGRAMS / "headroom", "--version"], check=True, capture_output=True, text=True).stdout
        self.assertIn(f"headroom {headroom.version()}\n", said)

    def test_importing_it_imports_no_library(self):
        code = ("import sys; sys.path.insert(0, sys.argv[1]); import headroom; "
                "print(sorted({'torch', 'transformers', 'ctypes', 'headroom_inject'} & set(sys.modules)))")
        done = subprocess.run([sys.executable, "-c", code, SOURCE / "python"], check=True, capture_output=True, text=True)
        self.assertEqual(done.stdout, "[]\n")


class Allocator(unittest.TestCase):
    def test_without_pytorch_it_says_why(self):
        code = ("import sys; sys.path.insert(0, sys.argv[1]); sys.modules['torch'] = None\n"
                "import headroom.allocator as allocator\n"
                "try: allocator.install()\n"
                "except allocator.AllocatorUnavailable as reason: print(reason)")
        done = subprocess.run([sys.executable, "-c", code, SOURCE / "python"], check=True, capture_output=True, text=True,
                              env={**os.environ, "HEADROOM_PROGRAM": str(PROGRAMS / "headroom")})
        self.assertIn("PyTorch keeps its own allocator", done.stdout)


if __name__ == "__main__":
    unittest.main()
