#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One run at a time writes into a folder: a second one is refused, says who has it, and changes nothing; when the first
is killed, at any moment, the folder is free, and what it had saved is taken up again.

    two_at_once_test.py FOLDER_OF_PROGRAMS
"""
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time
import unittest

from tiny_job import Programs, write_job

FOLDER = pathlib.Path(sys.argv.pop(1))
ENDLESS = 20000  # Epochs.


class TwoAtOnce(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="headroom-two-at-once-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.output = self.scratch / "out"
        self.programs = Programs(FOLDER, self.scratch / "state")
        self.job = write_job(self.scratch)
        self.long = write_job(self.scratch, "long.toml", epochs=ENDLESS)

    def begin(self, program="headroom-train", **more):
        """A run that goes on until it is ended, once it has saved something."""
        words = ["run"] if program == "headroom" else []
        run = self.programs.start(program, *words, self.long, "--output", self.output, "--quiet", **more)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        state = self.output / "checkpoint" / "state.safetensors"
        for _ in range(6000):
            if state.exists():
                return run
            self.assertIsNone(run.poll(), run.stderr.read() if run.poll() is not None else "")
            time.sleep(0.1)
        self.fail("the first run saved nothing")

    def metrics(self):
        return (self.output / "metrics.jsonl").read_text().splitlines()

    def expect_refusal(self, result, pid=None):
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("expected nobody else to be writing into", result.stderr)
        self.assertIn("headroom-train", result.stderr)
        self.assertIn("next: ", result.stderr)
        if pid:
            self.assertIn(f"process {pid} does", result.stderr)

    def test_a_second_run_is_refused_fresh_or_resumed(self):
        first = self.begin()
        before = self.metrics()
        other = write_job(self.scratch, "other.toml", seed=7)
        self.expect_refusal(self.programs.run("headroom-train", self.long, "--output", self.output, "--resume"), first.pid)
        # A checkpoint is there, so that a fresh run is refused for that as soon as the folder is free.
        self.assertNotEqual(self.programs.run("headroom-train", other, "--output", self.output).returncode, 0)
        after = self.metrics()
        self.assertEqual(after[:len(before)], before)
        first.send_signal(signal.SIGTERM)
        _, said = first.communicate(timeout=120)
        self.assertEqual(first.returncode, 1, said)
        steps = [json.loads(line)["step"] for line in self.metrics()]
        self.assertEqual(steps, list(range(1, len(steps) + 1)))  # Of one run alone.

    def test_what_batch_systems_send_ahead_of_the_end_stops_with_a_checkpoint(self):
        for program in ("headroom-train", "headroom"):
            run = self.begin(program)
            run.send_signal(signal.SIGUSR1)
            _, said = run.communicate(timeout=120)
            self.assertEqual(run.returncode, 1, said)
            self.assertIn("--resume", said)
            shutil.rmtree(self.output)

    def test_two_that_begin_at_the_same_moment_do_not_mix(self):
        jobs = [write_job(self.scratch, f"job{seed}.toml", seed=seed, epochs=10) for seed in range(3)]
        runs = [self.programs.start("headroom-train", job, "--output", self.output, "--quiet") for job in jobs]
        ended = [(run.communicate(timeout=600)[1], run.returncode) for run in runs]
        finished = [i for i, (_, code) in enumerate(ended) if code == 0]
        self.assertEqual(len(finished), 1, ended)
        report = json.loads((self.output / "report.json").read_text())
        self.assertEqual(report["settings"]["seed"], finished[0])
        self.assertEqual(len(self.metrics()), report["steps"])

    def test_a_killed_run_leaves_the_folder_free_and_its_checkpoint_good(self):
        first = self.begin()
        first.kill()
        first.communicate()
        result = self.programs.run("headroom-train", self.job, "--output", self.output, "--resume")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(json.loads((self.output / "report.json").read_text())["completed"])
        self.assertEqual([path.name for path in self.output.rglob("*.part-*")], [])
        self.assertFalse((self.output / ".headroom.lock").exists())

    def test_a_run_killed_again_and_again_ends_with_the_same_bytes(self):
        job = write_job(self.scratch, epochs=8)
        whole = self.scratch / "whole"
        self.assertEqual(self.programs.run("headroom-train", job, "--output", whole).returncode, 0)
        moments = random.Random(5)
        state = self.output / "checkpoint" / "state.safetensors"
        for _ in range(3):
            resume = ["--resume"] if state.exists() else []
            before = state.stat().st_mtime_ns if resume else None
            run = self.programs.start("headroom-train", job, "--output", self.output, "--quiet", *resume)
            while run.poll() is None and (not state.exists() or state.stat().st_mtime_ns == before):
                time.sleep(0.002)
            time.sleep(moments.uniform(0, 0.05))
            run.kill()
            run.communicate()
        result = self.programs.run("headroom-train", job, "--output", self.output, "--resume")
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in ("model.safetensors", "checkpoint/state.safetensors"):
            self.assertEqual((self.output / name).read_bytes(), (whole / name).read_bytes(), name)

    def test_a_run_whose_terminal_has_gone_keeps_where_it_stands(self):
        first = self.begin("headroom")
        first.send_signal(signal.SIGHUP)
        _, said = first.communicate(timeout=120)
        self.assertEqual(first.returncode, 1, said)
        self.assertIn("stopped by request", said)
        runs = json.loads(self.programs.run("headroom", "plan", "--history", "--json").stdout)["runs"]
        self.assertEqual(len(runs), 1)

    def test_a_run_that_ignores_hang_ups_goes_on(self):
        def ignore():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        first = self.begin("headroom", preexec_fn=ignore)
        before = len(self.metrics())
        first.send_signal(signal.SIGHUP)
        for _ in range(1200):
            if len(self.metrics()) > before + 4:
                break
            self.assertIsNone(first.poll())
            time.sleep(0.1)
        self.assertGreater(len(self.metrics()), before + 4)
        first.send_signal(signal.SIGTERM)
        _, said = first.communicate(timeout=120)
        self.assertEqual(first.returncode, 1, said)

    def test_a_trainer_that_was_killed_is_not_passed_over_in_silence(self):
        first = self.begin("headroom")
        trainer = int(pathlib.Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text().split()[0])
        os.kill(trainer, signal.SIGKILL)
        _, said = first.communicate(timeout=120)
        self.assertEqual(first.returncode, 128 + signal.SIGKILL, said)
        self.assertIn("signal 9", said)
        self.assertIn("--resume", said)

    def test_the_refused_one_records_nothing_of_the_other(self):
        first = self.begin("headroom")
        second = self.programs.run("headroom", "run", self.long, "--output", self.output, "--resume")
        self.expect_refusal(second)
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=120)
        runs = json.loads(self.programs.run("headroom", "plan", "--history", "--json").stdout)["runs"]
        self.assertEqual(len(runs), 1)


if __name__ == "__main__":
    unittest.main()
