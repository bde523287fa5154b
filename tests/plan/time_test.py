#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a job takes: `headroom test --calibrate`, `plan` and `run` with a stand-in for headroom-train.

    time_test.py FOLDER_OF_PROGRAMS

The stand-in answers at once, with made-up speeds; headroom looks for it beside itself, so the test has a copy of
headroom in a folder of its own.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import jsonschema

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
JOB = ROOT / "examples/first-job/job.toml"
LIMIT_S = 60
ONE = ("norm norm-backward rotary swiglu swiglu-backward cross-entropy add dropout embed embed-backward gradient-norm adamw "
       "sgd sgd-momentum adafactor").split()
TWO = "attention-forward attention-backward math-forward math-backward".split()
THREE = "product-forward product-input product-weight".split()

TRAINER = """#!/bin/sh
if [ -e "$(dirname "$0")/hangs" ]; then echo started >&2; exec sleep 60; fi
if [ -e "$(dirname "$0")/fails" ]; then echo "headroom-train: too busy" >&2; exit 3; fi
if [ "$1" = --calibrate ]; then cat "$(dirname "$0")/answer.json"; else cat "$(dirname "$0")/report.json"; fi
"""


def schema(name, value):
    jsonschema.validate(value, json.loads((ROOT / f"docs/schema/{name}.schema.json").read_text()))


def made_up():
    """Every operation takes 10^-10 s for each number, or multiplication."""
    rates = []
    for dtype in ("fp32", "bf16"):
        for names, axes in ((ONE, [[1, 1000]]), (TWO, [[1, 1000], [1, 100]]), (THREE, [[1, 100], [1, 100], [1, 100]])):
            times = [1e-10]
            for axis in axes:
                times = [value * size for value in times for size in axis]
            rates += [{"operation": name, "dtype": dtype, "axes": axes, "seconds": times} for name in names]
    steps = [{"dtype": "fp32", "rates_s": 1.0, "measured_s": 1.0}]
    return {"device": "stand-in", "engine": "0", "threads": 1, "time": "2026-01-01T00:00:00Z", "waited_share": 0.0,
            "rates": rates, "steps": steps, "runs": []}


class Time(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="headroom-time-")
        self.folder = pathlib.Path(self.scratch.name)
        shutil.copy(PROGRAMS / "headroom", self.folder)
        trainer = self.folder / "headroom-train"
        trainer.write_text(TRAINER)
        trainer.chmod(0o755)
        self.answer(made_up())
        self.environment = {"PATH": f"{self.folder}:/usr/bin:/bin", "HOME": str(self.folder), "LC_ALL": "C.UTF-8"}
        self.file = self.folder / ".local/state/headroom/calibration.json"

    def tearDown(self):
        self.scratch.cleanup()

    def answer(self, value):
        (self.folder / "answer.json").write_text(value if isinstance(value, str) else json.dumps(value))

    def headroom(self, *words, **variables):
        return subprocess.run([self.folder / "headroom", *map(str, words)], cwd=self.folder, text=True, timeout=LIMIT_S,
                              env={**self.environment, **variables}, capture_output=True)

    def calibrate(self, **variables):
        done = self.headroom("test", "--calibrate", "--json", **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def plan(self, *words, **variables):
        done = self.headroom("plan", JOB, "--json", *words, **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        plan = json.loads(done.stdout)
        schema("plan", plan)
        return plan

    def assert_unknown(self, reason, **variables):
        plan = self.plan(**variables)
        self.assertIsNone(plan["time"])
        self.assertIn(reason, plan["missing"]["/time"])

    def test_without_a_calibration_one_line_says_how_to_get_one(self):
        self.assert_unknown("this machine was not measured")
        lines = [line for line in self.headroom("plan", JOB).stdout.splitlines() if "How long" in line]
        self.assertEqual(len(lines), 1)
        self.assertIn("headroom test --calibrate", lines[0])

    def test_with_one_the_plan_says_seconds(self):
        answer = self.calibrate()
        schema("test", answer)
        self.assertEqual(answer["calibration"]["kept_in"], str(self.file))
        times = self.plan()["time"]
        self.assertEqual(times["epochs"], 4)
        self.assertGreater(times["steps_per_epoch"], 30)
        self.assertAlmostEqual(times["epoch_s"], times["step_s"] * times["steps_per_epoch"], places=6)
        self.assertLess(times["step_low_s"], times["step_s"])
        self.assertGreater(times["step_high_s"], times["step_s"])
        text = self.headroom("plan", JOB).stdout
        for words in ("How long it takes on this machine", "a step", "an epoch of", "all 4 epochs"):
            self.assertIn(words, text)

    def test_the_text_says_what_was_measured(self):
        done = self.headroom("test", "--calibrate")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("products-fp32", "GFLOP/s", "bandwidth-bf16", "Saved in", "Next: headroom plan"):
            self.assertIn(words, done.stdout)

    def test_other_threads_are_another_machine(self):
        self.calibrate(OMP_NUM_THREADS="7")
        self.assertIsNotNone(self.plan(OMP_NUM_THREADS="7")["time"])
        self.assert_unknown("measured with 7 threads, and a run would have 3", OMP_NUM_THREADS="3")
        self.calibrate(OMP_NUM_THREADS="3")
        for threads in ("3", "7"):
            self.assertIsNotNone(self.plan(OMP_NUM_THREADS=threads)["time"])

    def test_threads_are_counted_as_openmp_counts_them(self):
        self.calibrate(OMP_NUM_THREADS="7")
        for said in ("7,2", " 7 "):
            self.assertIsNotNone(self.plan(OMP_NUM_THREADS=said)["time"])
        self.assert_unknown("a run would have 1", OMP_NUM_THREADS="1,7")
        self.assert_unknown("a run would have 2", OMP_NUM_THREADS="7", OMP_THREAD_LIMIT="2")

    def test_a_gpu_has_no_seconds_of_the_processor(self):
        self.calibrate()
        plan = self.plan("--gpu", "RX 7900 XTX")
        self.assertIsNone(plan["time"])
        self.assertIn("GPU", plan["missing"]["/time"])

    def test_a_kill_leaves_no_trainer(self):
        (self.folder / "hangs").touch()
        process = subprocess.Popen([self.folder / "headroom", "test", "--calibrate"], cwd=self.folder, text=True,
                                   env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while "started" not in process.stderr.readline():
            pass
        process.kill()
        process.communicate(timeout=LIMIT_S)  # Returns when nobody has the other ends of the pipes.

    def test_what_cannot_be_kept_is_said_before_it_is_measured(self):
        self.file.mkdir(parents=True)
        done = self.headroom("test", "--calibrate")
        self.assertEqual(done.returncode, 3)
        self.assertNotIn("measuring", done.stderr)
        self.assertIn(f"next: mv {self.file} {self.file}.old", done.stderr)

    def test_another_device_or_engine_is_not_used(self):
        self.calibrate()
        good = json.loads(self.file.read_text())
        for key, value, reason in (("device", "Another CPU", "was measured on Another CPU"),
                                   ("engine", "0.0.9", "was measured with headroom 0.0.9")):
            changed = json.loads(json.dumps(good))
            changed["calibrations"][0][key] = value
            self.file.write_text(json.dumps(changed))
            self.assert_unknown(reason)

    def test_jobs_of_other_engines_and_other_machines_have_no_seconds(self):
        self.calibrate()
        plan = self.plan("--engine", "transformers", "--capacity", "16GiB")
        self.assertIsNone(plan["time"])
        self.assertNotIn("How long", self.headroom("plan", JOB, "--engine", "transformers", "--capacity", "16GiB").stdout)

    def test_hostile_files_are_ignored_with_their_reason(self):
        self.calibrate()
        good = self.file.read_text()
        hostile = ["", "{", "[]", "null", good[:-100], good.replace("1e-10", "-1"), good.replace("add", "\\u001b[31m"),
                   "[" * 10000, '{"schema": "headroom.calibration/1"}', "\0" * 1000, "x" * (5 << 20)]
        for text in hostile:
            self.file.write_text(text)
            plan = self.plan()
            self.assertIsNone(plan["time"], text[:40])
            self.assertTrue(plan["missing"]["/time"])
            self.assertEqual(self.headroom("plan", JOB).returncode, 0)
        self.calibrate()
        self.assertIsNotNone(self.plan()["time"])

    def test_one_from_the_future_stays(self):
        self.file.parent.mkdir(parents=True)
        future = '{"schema": "headroom.calibration/9"}'
        self.file.write_text(future)
        self.assert_unknown("headroom.calibration/9")
        done = self.headroom("test", "--calibrate")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(self.file.read_text(), future)

    def test_what_others_can_write_is_not_believed(self):
        self.calibrate()
        self.file.chmod(0o666)
        self.assert_unknown("only this user can write")
        if os.geteuid() == 0:
            self.file.chmod(0o644)
            os.chown(self.file, 65534, 65534)
            self.assert_unknown("another user")

    def test_a_fifo_in_its_place_does_not_hang(self):
        self.file.parent.mkdir(parents=True)
        os.mkfifo(self.file, 0o600)
        self.assertIsNone(self.plan()["time"])

    def test_an_answer_that_makes_no_sense_is_not_kept(self):
        for answer in ("", "{", "{}", json.dumps({**made_up(), "threads": 0})):
            self.answer(answer)
            self.assertEqual(self.headroom("test", "--calibrate").returncode, 3, answer[:20])
            self.assertFalse(self.file.exists())

    def test_a_calibration_that_fails_leaves_the_old_one(self):
        self.calibrate()
        before = self.file.read_text()
        (self.folder / "fails").touch()
        done = self.headroom("test", "--calibrate")
        self.assertEqual(done.returncode, 3)
        self.assertIn("too busy", done.stderr)
        self.assertEqual(self.file.read_text(), before)

    def test_an_interrupt_leaves_nothing(self):
        (self.folder / "hangs").touch()
        process = subprocess.Popen([self.folder / "headroom", "test", "--calibrate"], cwd=self.folder, text=True,
                                   env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while "started" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=LIMIT_S)
        self.assertEqual(process.returncode, 3)
        self.assertEqual(out, "")
        self.assertFalse(self.file.exists())
        self.assertEqual(list(self.folder.glob(".local/state/headroom/*")), [])

    def test_output_that_cannot_be_written_is_said(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([self.folder / "headroom", "test", "--calibrate"], env=self.environment, stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, cwd=self.folder)
        self.assertEqual(done.returncode, 3)
        self.assertTrue(self.file.exists())

    def test_options_of_other_tests_do_not_go_with_it(self):
        for words in (["--multi"], ["--level", "full"], ["--steps", "rate"], ["--virtual-memory"], ["--root", "/tmp"]):
            done = self.headroom("test", "--calibrate", *words)
            self.assertEqual(done.returncode, 2, words)
        self.assertFalse(self.file.exists())

    def report(self, steps, elapsed_s, quiet_s):
        (self.folder / "report.json").write_text(json.dumps(
            {"schema": "headroom.train/1", "timed": {"steps": steps, "elapsed_s": elapsed_s, "quiet_s": quiet_s}}))

    def run_job(self):
        done = self.headroom("run", JOB, "--output", self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def test_a_run_corrects_the_next_plan(self):
        self.calibrate()
        before = self.plan()["time"]
        slower = 1.6 * before["step_s"]
        self.report(100, 100 * slower, 99 * slower)
        self.assertIn("for 4 epochs", self.run_job())
        after = self.plan()["time"]
        self.assertEqual(after["runs"], 1)
        error = abs(after["step_s"] / (0.99 * slower) - 1)
        self.assertLess(error, abs(before["step_s"] / (0.99 * slower) - 1) / 2)

    def test_runs_that_say_nothing_correct_nothing(self):
        self.calibrate()
        step = self.plan()["time"]["step_s"]
        for steps, elapsed, quiet in ((2, 2 * step, 2 * step),            # Too short.
                                      (100, 100 * step, 50 * step),       # Other programs had the processors.
                                      (100, 10000 * step, 10000 * step),  # Something else is wrong.
                                      (100, 0, 0), (0, 0, 0), (-5, 1, 1)):
            self.report(steps, elapsed, quiet)
            self.run_job()
            self.assertEqual(self.plan()["time"]["runs"], 0, (steps, elapsed, quiet))
        for report in ("", "[]", '{"timed": 3}', '{"timed": {"steps": "many"}}'):
            (self.folder / "report.json").write_text(report)
            self.run_job()
        self.assertEqual(self.plan()["time"]["runs"], 0)

    def test_a_run_without_a_calibration_makes_none(self):
        self.report(100, 100, 100)
        self.run_job()
        self.assertFalse(self.file.exists())

    def test_absurd_times_are_no_numbers_of_days(self):
        slow = made_up()
        for rates in slow["rates"]:
            rates["seconds"] = [min(1e5, 1e6 * value) for value in rates["seconds"]]
        self.answer(slow)
        self.calibrate()
        text = self.headroom("plan", JOB).stdout
        self.assertIn("more than a year", text)


if __name__ == "__main__":
    unittest.main()
