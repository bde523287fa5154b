#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job with engine.stages: its layers are shared out over processes, and the model is that of one process, also where no single
one of them would have had the memory for it.

    split_test.py FOLDER_OF_PROGRAMS
"""
import json
import os
import pathlib
import re
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "trainer"))
from tiny_job import Programs  # noqa: E402
from tiny_runs import furthest, leftovers, tensors  # noqa: E402

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
LOSSES = 1e-5  # How far losses may be from those of one process.
PEAKS = 0.02  # How far a peak may be from the plan, of the peak.
ENDS_WITHIN_S = 10  # After a stage is killed.
MODEL = {"model_type": "qwen2", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 5, "num_attention_heads": 4,
         "num_key_value_heads": 2, "vocab_size": 257, "rms_norm_eps": 1e-6, "tie_word_embeddings": False}
GPT2 = {"model_type": "gpt2", "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 128, "vocab_size": 257,
        "activation_function": "gelu_new", "tie_word_embeddings": True, "attn_pdrop": 0, "embd_pdrop": 0, "resid_pdrop": 0}
GEMMA2 = {"model_type": "gemma2", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4,
          "num_key_value_heads": 2, "head_dim": 8, "vocab_size": 257, "sliding_window": 16, "query_pre_attn_scalar": 12,
          "attn_logit_softcapping": 5.0, "final_logit_softcapping": 10.0}
# In one piece, so that samples are as long as the plan takes them for.
LONG = "Memory is asked for in pieces, and the pieces differ in size. " * 60


class Split(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="headroom-split-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        (self.scratch / "text.txt").write_text(LONG)
        self.programs = Programs(FOLDER, self.scratch / "state")
        self.before = leftovers()

    def tearDown(self):
        self.assertEqual(leftovers() - self.before, set())

    def write(self, stages, *lines, config=MODEL, name=None, epochs=4, micro=1, accumulate=6, capacity="64MiB", sequence=96):
        name = name or f"job{stages}.toml"
        (self.scratch / f"{name}.json").write_text(json.dumps(config))
        job = self.scratch / name
        job.write_text("\n".join([
            f'model.config = "{name}.json"', 'compute.dtype = "fp32"', 'engine.kind = "headroom"', f"batch.micro = {micro}",
            f"batch.accumulate = {accumulate}", f"batch.sequence = {sequence}", f'device.capacity = "{capacity}"',
            'data.path = "text.txt"', f"data.epochs = {epochs}", "data.seed = 1"] +
            ([f"engine.stages = {stages}"] if stages > 1 else []) + list(lines)) + "\n")
        return job

    def train(self, job, output, *words, code=0):
        done = self.programs.run("headroom", "run", job, "--output", self.scratch / output, *words)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def report(self, output):
        return json.loads((self.scratch / output / "report.json").read_text())

    def lines(self, output):
        return [json.loads(line) for line in (self.scratch / output / "metrics.jsonl").read_text().splitlines()]

    def losses(self, output):
        return [line["loss"] for line in self.lines(output) if "loss" in line]

    def expect_same_losses(self, one, other, least=20):
        first, second = self.losses(one), self.losses(other)
        self.assertEqual(len(first), len(second))
        self.assertGreaterEqual(len(first), least)
        self.assertLess(max(abs(a - b) for a, b in zip(first, second)), LOSSES, f"{one}, {other}")

    def test_two_and_three_stages_have_the_losses_of_one(self):
        cases = {
            "sgd": ['optimizer.kind = "sgd"', "optimizer.learning_rate = 0.05", "optimizer.momentum = 0.9"],
            "adamw": ["optimizer.learning_rate = 1e-3", "optimizer.max_grad_norm = 1.0"],
            "lora": ['method.kind = "lora"', "method.dropout = 0.2", "optimizer.learning_rate = 1e-2"],
            "tied": ["optimizer.max_grad_norm = 1.0", 'compute.checkpointing = "layer"', 'compute.loss = "chunked"'],
            "gpt2": ['optimizer.kind = "sgd"', "optimizer.learning_rate = 0.05"],
            "gemma2": ['optimizer.kind = "sgd"', "optimizer.learning_rate = 0.05"],
        }
        configs = {"tied": {**MODEL, "tie_word_embeddings": True}, "gpt2": GPT2, "gemma2": GEMMA2}
        for kind, lines in cases.items():
            config = configs.get(kind, MODEL)
            self.train(self.write(1, *lines, config=config), f"{kind}-1")
            for stages in (2, 3):
                self.train(self.write(stages, *lines, config=config), f"{kind}-{stages}", "--quiet")
                self.expect_same_losses(f"{kind}-1", f"{kind}-{stages}")
                norms = [[line["gradient_norm"] for line in self.lines(f"{kind}-{n}") if "loss" in line] for n in (1, stages)]
                self.assertLess(max(abs(a / b - 1) for a, b in zip(*norms)), 1e-4)

    def test_the_result_is_the_file_of_one(self):
        for kind, lines in (("full", ['optimizer.kind = "sgd"']), ("lora", ['method.kind = "lora"'])):
            file = "model.safetensors" if kind == "full" else "adapter_model.safetensors"
            config = {**MODEL, "tie_word_embeddings": True}
            for stages in (1, 3):
                self.train(self.write(stages, *lines, config=config, epochs=1), f"{kind}-{stages}")
            one, three = (self.scratch / f"{kind}-{stages}" for stages in (1, 3))
            heads = [(folder / file).read_bytes() for folder in (one, three)]
            length = int.from_bytes(heads[0][:8], "little")
            self.assertEqual(heads[0][:8 + length], heads[1][:8 + length])
            self.assertEqual(sorted(path.name for path in one.iterdir() if not path.name.endswith(".flight")),
                             sorted(path.name for path in three.iterdir() if not path.name.endswith(".flight")))
            for name, numbers in tensors(one / file).items():
                for a, b in zip(numbers, tensors(three / file)[name]):
                    self.assertAlmostEqual(a, b, delta=1e-6 if kind == "full" else 1e-4)

    def plan(self, job):
        done = self.programs.run("headroom", "plan", job, "--json")
        return json.loads(done.stdout), done.returncode

    def test_it_trains_where_no_single_one_would_and_as_planned(self):
        config = {**MODEL, "hidden_size": 96, "intermediate_size": 256, "num_hidden_layers": 6}
        whole, _ = self.plan(self.write(1, config=config))
        halves, _ = self.plan(self.write(2, config=config))
        self.assertLess(halves["allocated_bytes"], whole["allocated_bytes"])
        between = (halves["allocated_bytes"] + whole["allocated_bytes"]) // 2 // 1024
        capacity = f"{between}KiB"
        alone = self.write(1, config=config, capacity=capacity)
        self.assertIn("would run out of memory", self.train(alone, "planned", code=1).stderr)
        # The plan is not all that says so.
        tried = self.programs.run("headroom-train", alone, "--output", self.scratch / "one")
        self.assertEqual(tried.returncode, 1, tried.stderr)
        self.assertFalse((self.scratch / "one" / "model.safetensors").exists())
        for stages in (2, 3):
            for lines in ([], ['compute.checkpointing = "layer"'], ['method.kind = "lora"']):
                job = self.write(stages, *lines, config=config, capacity=capacity, epochs=1)
                output = f"{stages}-{len(lines)}-{lines[:1]}"
                said = self.train(job, output).stderr
                self.assertIn(f"rank {stages - 1}: peak", said)
                report = self.report(output)
                self.assertEqual(report["oom_events"], [])
                for rank, planned in zip(report["ranks"], report["predicted"]["stages"]):
                    off = planned["allocated_bytes"] / rank["allocated_bytes"] - 1
                    print(f"{stages} stages, {lines}: rank {rank['rank']} {rank['allocated_bytes']} "
                          f"planned {planned['allocated_bytes']} {off:+.2%}")
                    self.assertLess(abs(off), PEAKS, output)
                self.assertEqual(self.plan(job)[0]["stages"], report["predicted"]["stages"])

    def test_the_plan_says_what_each_rank_takes(self):
        said = self.programs.run("headroom", "plan", self.write(2))
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertRegex(said.stdout, r"rank 0 +[\d.]+ [KM]iB  embedding, layers 0 to \d")
        self.assertRegex(said.stdout, r"rank 1 +[\d.]+ [KM]iB  layers? \d.*, head")
        layers = [stage["layers"] for stage in self.plan(self.write(3))[0]["stages"]]
        self.assertEqual(sum(layers), MODEL["num_hidden_layers"])

    def test_what_is_offloaded_changes_no_byte_and_is_planned_for_each_rank(self):
        offload = ["optimizer.offload = true", "compute.activation_offloading = true", 'device.host_capacity = "64MiB"']
        self.train(self.write(3, epochs=1), "plain")
        job = self.write(3, *offload, epochs=1)
        said = self.train(job, "offloaded").stderr
        self.assertIn("of host memory", said)
        model = [(self.scratch / output / "model.safetensors").read_bytes() for output in ("plain", "offloaded")]
        self.assertEqual(*model)
        planned, _ = self.plan(job)
        for rank, stage in zip(self.report("offloaded")["ranks"], planned["stages"], strict=True):
            self.assertEqual(rank["host"]["allocated_bytes"], stage["host"]["allocated_bytes"])
            self.assertLess(abs(rank["allocated_bytes"] / stage["allocated_bytes"] - 1), 0.01)

    def test_memory_that_runs_out_on_one_has_all_do_the_step_in_smaller_parts(self):
        config = {**MODEL, "vocab_size": 2000}
        shape = {"config": config, "micro": 4, "accumulate": 2}
        plenty, _ = self.plan(self.write(2, **shape))
        self.train(self.write(2, **shape), "plenty")
        largest = max(stage["allocated_bytes"] for stage in plenty["stages"])
        fixed = self.plan(self.write(2, **{**shape, "micro": 2, "accumulate": 4}))[0]["allocated_bytes"]
        job = self.write(2, **shape, capacity=f"{(largest + fixed) // 2048}KiB", name="tight.toml")
        # headroom itself would not start it.
        run = self.programs.start("headroom", "ranks", "--count", "2", "--", FOLDER / "headroom-train", job, "--output",
                                  self.scratch / "tight")
        said = run.communicate(timeout=300)[1]
        self.assertEqual(run.returncode, 0, said)
        self.assertIn("out of memory with 4 samples at once", said)
        self.expect_same_losses("plenty", "tight", least=10)

    def begin(self, job, output, *words):
        run = self.programs.start("headroom", "run", *words, job, "--output", self.scratch / output)
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        metrics = self.scratch / output / "metrics.jsonl"
        enough = 3 + (metrics.read_text().count("\n") if metrics.exists() else 0)
        deadline = time.monotonic() + 120
        while not metrics.exists() or metrics.read_text().count("\n") < enough:
            self.assertIsNone(run.poll(), run.stderr.read() if run.poll() is not None else "")
            self.assertLess(time.monotonic(), deadline, "it did not begin")
            time.sleep(0.01)
        return run, self.ranks_below(run.pid)

    @staticmethod
    def ranks_below(parent):
        """PIDs by rank, of headroom-train below `parent`."""
        found, below = {}, {str(parent)}
        for _ in range(3):
            for one in list(below):
                try:
                    below |= set(pathlib.Path(f"/proc/{one}/task/{one}/children").read_text().split())
                except OSError:
                    continue
        for pid in below:
            try:
                if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "headroom-train":
                    variables = pathlib.Path(f"/proc/{pid}/environ").read_text()
                    found[int(re.search(r"(?:^|\0)RANK=(\d+)", variables).group(1))] = int(pid)
            except OSError:
                continue
        return found

    @staticmethod
    def is_running(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False

    def test_a_stage_that_is_killed_ends_the_others_and_the_checkpoint_stays(self):
        for killed in (0, 1, 2):
            output = f"without-{killed}"
            self.train(self.write(3, epochs=2, accumulate=2), output)
            job = self.write(3, epochs=200, accumulate=2)
            run, ranks = self.begin(job, output, "--resume")
            self.assertEqual(sorted(ranks), [0, 1, 2])
            os.kill(ranks[killed], signal.SIGKILL)
            begun = time.monotonic()
            while any(self.is_running(pid) for pid in ranks.values()):
                self.assertLess(time.monotonic() - begun, ENDS_WITHIN_S, "a rank is still there")
                time.sleep(0.02)
            print(f"rank {killed} killed: the others ended within {time.monotonic() - begun:.2f} s")
            _, said = run.communicate(timeout=60)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn(f"rank {killed}", said)
            if killed != 0:
                self.assertIn("another rank ended before the job did", said)
                self.assertIn("--resume", said)
            self.assertEqual(leftovers() - self.before, set())
            reached = max(line["epoch"] for line in self.lines(output))
            self.train(self.write(3, epochs=reached + 1, accumulate=2), output, "--resume", "--quiet")
            self.assertTrue(self.report(output)["completed"])

    def test_a_stop_of_one_stops_all_after_the_same_step_and_resumes(self):
        job = self.write(2, epochs=2000)
        run, ranks = self.begin(job, "out")
        os.kill(ranks[1], signal.SIGTERM)
        _, said = run.communicate(timeout=120)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("stopped by request", said)
        steps = self.report("out")["steps"]
        run, _ = self.begin(job, "out", "--resume")
        run.terminate()
        run.communicate(timeout=120)
        self.assertGreaterEqual(self.report("out")["steps"], steps)

    def test_any_split_and_none_resume_each_other(self):
        tied = {**MODEL, "tie_word_embeddings": True}
        for lines in ([], ['method.kind = "lora"', "method.dropout = 0.1"]):
            self.train(self.write(1, *lines, config=tied), f"whole-{len(lines)}")
            for first, then in ((2, 2), (2, 1), (1, 3), (3, 2)):
                output = f"{first}-{then}-{len(lines)}"
                self.train(self.write(first, *lines, config=tied, epochs=2, name="half.toml"), output)
                self.train(self.write(then, *lines, config=tied, name="rest.toml"), output, "--resume")
                self.expect_same_losses(f"whole-{len(lines)}", output)

    def test_evaluations_agree_and_the_best_model_is_whole(self):
        for stages in (1, 2):
            self.train(self.write(stages, "data.evaluation = 0.3", epochs=3), f"out-{stages}")
        one, two = (self.report(f"out-{stages}")["evaluation"] for stages in (1, 2))
        self.assertEqual((one["samples"], one["tokens"], one["best_step"]), (two["samples"], two["tokens"], two["best_step"]))
        self.assertAlmostEqual(one["last_loss"], two["last_loss"], places=5)
        self.assertLess(furthest(self.scratch / "out-1" / "best", self.scratch / "out-2" / "best"), 1e-4)

    def test_a_loss_that_is_no_number_ends_all_with_a_checkpoint(self):
        job = self.write(2, 'optimizer.kind = "sgd"', "optimizer.learning_rate = 10", "optimizer.momentum = 0.9")
        said = self.train(job, "out", code=1).stderr
        self.assertEqual(said.count("is not a finite number"), 1, said)
        self.assertTrue((self.scratch / "out" / "checkpoint" / "state.safetensors").exists())

    def test_weights_of_a_folder_are_read_by_those_that_have_their_layers(self):
        for tied in (False, True):
            config = {**MODEL, "tie_word_embeddings": tied}
            self.train(self.write(1, config=config, epochs=1), f"base-{tied}")
            for stages in (1, 2):
                job = self.write(stages, config=config, epochs=1, name="again.toml")
                job.write_text(job.read_text().replace("again.toml.json", f"base-{tied}"))
                self.train(job, f"again-{stages}-{tied}")
            self.expect_same_losses(f"again-1-{tied}", f"again-2-{tied}", least=5)

    def refuse(self, job, *words):
        done = self.programs.run("headroom", "run", *words, job, "--output", self.scratch / "refused")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("next: ", done.stderr)
        self.assertFalse((self.scratch / "refused").exists())
        return done.stderr

    def test_what_cannot_be_done_is_refused(self):
        self.assertIn("cannot share micro-batches as well; found --ranks 2", self.refuse(self.write(2), "--ranks", "2"))
        self.assertIn("expected at most 5", self.refuse(self.write(6)))
        self.assertIn("engine.stages", self.refuse(self.write(17)))
        job = self.write(2)
        job.write_text(job.read_text().replace('"headroom"', '"transformers"'))
        self.assertIn("engine.stages: expected 1 but for headroom's own trainer", self.refuse(job))
        done = self.programs.run("headroom-train", self.write(2), "--output", self.scratch / "refused")
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected 2 processes that end together, found 1", done.stderr)
        self.assertIn("headroom run", done.stderr)


if __name__ == "__main__":
    unittest.main()
