#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom run --ranks N JOB`: several headroom-train share the micro-batches of every step, and the model is that of one
process, however many there are, whoever is killed, and whoever resumes it.

    trainer_test.py FOLDER_OF_PROGRAMS
"""
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "trainer"))
from tiny_job import Programs, write_job  # noqa: E402
from tiny_runs import furthest, leftovers  # noqa: E402

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
SGD, ADAMW = 1e-6, 1e-4  # How far rounding may take them from one process in 20 steps.


class TrainerRanks(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="headroom-trainer-ranks-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.programs = Programs(FOLDER, self.scratch / "state")
        self.before = leftovers()

    def tearDown(self):
        self.assertEqual(leftovers() - self.before, set())

    def write(self, *lines, epochs=2, name="job.toml"):
        job = write_job(self.scratch, name=name, epochs=epochs)
        text = job.read_text().replace("batch.micro = 2", "batch.micro = 1")
        if not any(line.startswith("batch.accumulate") for line in lines):
            text += "batch.accumulate = 6\n"
        job.write_text(text + "\n".join(lines) + "\n")
        return job

    def train(self, job, output, ranks=1, *words, code=0):
        given = ["--ranks", str(ranks)] if ranks > 1 else []
        done = self.programs.run("headroom", "run", *given, job, "--output", self.scratch / output, *words)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def report(self, output):
        return json.loads((self.scratch / output / "report.json").read_text())

    def losses(self, output):
        lines = (self.scratch / output / "metrics.jsonl").read_text().splitlines()
        return [line for line in map(json.loads, lines) if "loss" in line]

    def test_two_three_and_four_train_the_model_of_one(self):
        for kind, limit in (("sgd", SGD), ("adamw", ADAMW)):
            job = self.write(f'optimizer.kind = "{kind}"', "optimizer.learning_rate = 1e-3", "optimizer.max_grad_norm = 1.0",
                             epochs=4)
            self.train(job, f"{kind}-1")
            steps = self.report(f"{kind}-1")["steps"]
            self.assertGreaterEqual(steps, 20)
            for ranks in (2, 3, 4):
                output = f"{kind}-{ranks}"
                self.train(job, output, ranks, "--quiet")
                self.assertEqual(self.report(output)["steps"], steps)
                self.assertLess(furthest(self.scratch / f"{kind}-1", self.scratch / output), limit, output)
                for one, several in zip(self.losses(f"{kind}-1"), self.losses(output)):
                    self.assertAlmostEqual(one["loss"], several["loss"], places=5)
                    self.assertEqual(one["tokens"], several["tokens"])

    def test_every_run_gives_the_same_bytes(self):
        job = self.write("method.kind = \"lora\"", "method.dropout = 0.2")
        for output in ("first", "second"):
            self.train(job, output, 3)
        self.assertEqual(*((self.scratch / output / "adapter_model.safetensors").read_bytes() for output in ("first", "second")))

    def test_the_report_has_what_each_needed_and_the_plan_is_of_each(self):
        job = self.write()
        said = self.train(job, "out", 2).stderr
        self.assertIn("in each of 2 ranks", said)
        self.assertEqual(said.count("done; results are in"), 1, said)
        report = self.report("out")
        self.assertEqual([one["rank"] for one in report["ranks"]], [0, 1])
        self.train(job, "alone")
        alone = self.report("alone")
        off = [one["allocated_bytes"] / report["predicted"]["allocated_bytes"] for one in report["ranks"]]
        self.assertAlmostEqual(max(off), alone["measured"]["allocated_bytes"] / alone["predicted"]["allocated_bytes"], delta=0.02)
        self.assertEqual(report["settings"]["accumulate"], 6)

    def test_what_is_offloaded_changes_no_byte_and_each_has_host_memory(self):
        self.train(self.write(), "plain", 2)
        offload = ["optimizer.offload = true", "compute.activation_offloading = true", 'device.host_capacity = "64MiB"']
        self.train(self.write(*offload, name="offload.toml"), "offloaded", 2)
        model = [(self.scratch / output / "model.safetensors").read_bytes() for output in ("plain", "offloaded")]
        self.assertEqual(*model)
        report = self.report("offloaded")
        most = report["predicted"]["host"]["allocated_bytes"]  # Of samples of the full length.
        for rank in report["ranks"]:
            self.assertGreater(rank["host"]["allocated_bytes"], 0.5 * most)
            self.assertLessEqual(rank["host"]["allocated_bytes"], most)

    def test_another_number_of_ranks_resumes_it(self):
        job = self.write(epochs=4)
        self.train(job, "whole")
        half = self.write(epochs=2, name="half.toml")
        for first, then in ((2, 3), (1, 2), (2, 1)):
            output = f"{first}-{then}"
            self.train(half, output, first)
            self.train(job, output, then, "--resume")
            self.assertLess(furthest(self.scratch / "whole", self.scratch / output), ADAMW, output)

    def test_evaluations_are_shared_and_agree(self):
        job = self.write("data.evaluation = 0.2", epochs=3)
        for output, ranks in (("one", 1), ("two", 2)):
            self.train(job, output, ranks)
        one, two = self.report("one")["evaluation"], self.report("two")["evaluation"]
        self.assertEqual((one["samples"], one["tokens"], one["best_step"]), (two["samples"], two["tokens"], two["best_step"]))
        self.assertAlmostEqual(one["last_loss"], two["last_loss"], places=5)
        self.assertTrue((self.scratch / "two" / "best" / "model.safetensors").exists())

    def begin(self, job, output, *words, ranks=3):
        """A run of several ranks that has finished some steps, and the PIDs of its ranks."""
        run = self.programs.start("headroom", "run", "--ranks", ranks, *words, job, "--output", self.scratch / output)
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        metrics = self.scratch / output / "metrics.jsonl"
        enough = 3 + (metrics.read_text().count("\n") if metrics.exists() else 0)
        deadline = time.monotonic() + 120
        while not metrics.exists() or metrics.read_text().count("\n") < enough:
            self.assertIsNone(run.poll(), run.stderr.read() if run.poll() is not None else "")
            self.assertLess(time.monotonic(), deadline, "it did not begin")
            time.sleep(0.01)
        return run, self.ranks_of(run.pid)

    @staticmethod
    def ranks_of(parent):
        """PIDs by rank, of headroom-train below `parent`."""
        found = {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                variables = dict(one.split("=", 1) for one in (folder / "environ").read_text().split("\0") if "=" in one)
                if "headroom-train" in (folder / "comm").read_text() and \
                        variables.get("HEADROOM_RANKS_JOB", "").split("-")[0] in TrainerRanks.children(parent):
                    found[int(variables["RANK"])] = int(folder.name)
            except (OSError, UnicodeDecodeError):
                continue
        return found

    @staticmethod
    def children(parent):
        return pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split()

    def test_those_that_are_left_finish_the_same_training(self):
        # AdamW makes much of a rounding where a gradient is small; SGD does not.
        job = self.write('optimizer.kind = "sgd"', epochs=30)
        self.train(job, "whole")
        for killed in (1, 0):  # 0 is the one that writes.
            output = f"without-{killed}"
            run, ranks = self.begin(job, output, "--lost-rank", "continue")
            os.kill(ranks[killed], signal.SIGKILL)
            _, said = run.communicate(timeout=300)
            self.assertEqual(run.returncode, 0, said)
            self.assertIn(f"rank {killed} is gone", said)
            report = self.report(output)
            self.assertTrue(report["completed"])
            self.assertEqual([one["rank"] for one in report["ranks"]], [rank for rank in range(3) if rank != killed])
            self.assertEqual([line["step"] for line in self.losses(output)], list(range(1, report["steps"] + 1)))
            self.assertLess(furthest(self.scratch / "whole", self.scratch / output), 10 * SGD, output)

    def steps(self, output):
        metrics = self.scratch / output / "metrics.jsonl"
        return metrics.read_text().count("\n") if metrics.exists() else 0

    def stop(self, run, output, more=10):
        """After `more` steps, and what it has said from now on."""
        enough = self.steps(output) + more
        while self.steps(output) < enough:
            self.assertIsNone(run.poll())
            time.sleep(0.01)
        run.terminate()
        _, said = run.communicate(timeout=120)
        self.assertIn("stopped by request", said)
        return said

    def compare_with_one_process(self, job, output):
        """The losses of a run that was stopped are those of one process, in every step and once."""
        several = self.losses(output)
        run = self.programs.start("headroom-train", job, "--output", self.scratch / f"{output}-alone")
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        self.stop(run, f"{output}-alone", len(several) + 1)
        self.assertEqual([line["step"] for line in several], list(range(1, len(several) + 1)))
        for one, other in zip(self.losses(f"{output}-alone"), several):
            self.assertAlmostEqual(one["loss"], other["loss"], places=4)

    def test_a_lost_rank_comes_back_and_the_training_is_the_same(self):
        job = self.write('optimizer.kind = "sgd"', "data.evaluation = 0.2", epochs=2000)
        run, ranks = self.begin(job, "out", "--lost-rank", "restart")
        for killed in (2, 0, 1, 0):  # 0 is the one that writes at first.
            os.kill(self.ranks_of(run.pid)[killed], signal.SIGKILL)
            said = self.until(run, "is back, after step")
            self.assertIn(f"rank {killed} (PID", said)
            self.assertIn("it is started again", said)
            self.assertIn(f"rank {killed} is back, after step", said)
        self.assertEqual(sorted(self.ranks_of(run.pid)), [0, 1, 2])
        self.stop(run, "out")
        self.compare_with_one_process(job, "out")

    def until(self, run, words):
        said = ""
        while words not in said:
            line = run.stderr.readline()
            self.assertNotEqual(line, "", said)
            said += line
        return said

    def test_one_that_cannot_come_back_costs_the_others_nothing(self):
        job = self.write('optimizer.kind = "sgd"', epochs=2000)
        run, ranks = self.begin(job, "out", "--lost-rank", "restart")
        for again in range(4):
            while (own := self.ranks_of(run.pid).get(2)) is None:
                time.sleep(0.01)
            os.kill(own, signal.SIGKILL)
            self.until(run, "it is started again" if again < 3 else "the others go on without it")
        self.stop(run, "out")
        self.compare_with_one_process(job, "out")

    def test_a_rank_that_is_killed_ends_the_others_and_costs_nothing(self):
        job = self.write(epochs=30)
        run, ranks = self.begin(job, "out")
        os.kill(ranks[2], signal.SIGKILL)
        _, said = run.communicate(timeout=120)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("rank 2", said)
        self.assertIn("another rank ended before the job did", said)
        self.assertIn("--resume", said)
        self.train(job, "out", 2, "--resume", "--quiet")
        self.assertTrue(self.report("out")["completed"])

    def test_a_stop_of_one_stops_all_after_the_same_step(self):
        job = self.write(epochs=2000)
        run, ranks = self.begin(job, "out")
        os.kill(ranks[1], signal.SIGTERM)
        _, said = run.communicate(timeout=120)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("stopped by request", said)
        steps = self.report("out")["steps"]
        longer = self.write(epochs=2000)
        run, ranks = self.begin(longer, "out", "--resume", ranks=2)
        run.terminate()
        run.communicate(timeout=120)
        self.assertGreater(self.report("out")["steps"], steps)

    def test_nothing_outlives_headroom(self):
        run, ranks = self.begin(self.write(epochs=2000), "out")
        run.kill()
        run.communicate()
        deadline = time.monotonic() + 20
        while any(pathlib.Path(f"/proc/{pid}/stat").exists() and
                  pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z" for pid in ranks.values()):
            self.assertLess(time.monotonic(), deadline, "a rank is still there")
            time.sleep(0.1)

    def test_what_cannot_be_shared_is_refused(self):
        job = self.write("batch.accumulate = 1")
        said = self.train(job, "out", 2, code=2).stderr
        self.assertIn("batch.accumulate: expected at least 2", said)
        self.assertIn("next: ", said)
        self.assertFalse((self.scratch / "out").exists())
        done = self.programs.run("headroom", "run", "--ranks", "auto", self.write(), "--output", self.scratch / "out")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--ranks 2", done.stderr)

    def test_a_folder_that_has_a_run_is_refused_at_once_and_by_one_voice(self):
        job = self.write()
        self.train(job, "out", 2)
        begun = time.monotonic()
        alone = self.programs.run("headroom", "run", job, "--output", self.scratch / "out")
        self.assertNotEqual(alone.returncode, 0)
        said = self.train(job, "out", 2, code=alone.returncode).stderr
        self.assertLess(time.monotonic() - begun, 30)
        self.assertEqual(said.count("next: "), 1, said)

    def test_variables_of_no_launcher_are_told_how(self):
        self.programs.environment |= {"WORLD_SIZE": "2", "RANK": "0"}
        done = self.programs.run("headroom-train", self.write(), "--output", self.scratch / "out")
        self.assertEqual(done.returncode, 2)
        self.assertIn("MASTER_ADDR", done.stderr)
        self.assertIn("headroom run --ranks 2", done.stderr)


if __name__ == "__main__":
    unittest.main()
