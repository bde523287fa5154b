#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The parts of python/headroom_steps that need no framework.

    steps_test.py FOLDER_WITH_headroom_steps
"""
import math
import sys
import types
import unittest
import unittest.mock

sys.path.insert(0, sys.argv.pop(1))
from headroom_steps import onnx_model  # noqa: E402
from headroom_steps.trial import draws, reference  # noqa: E402
from headroom_steps.trial.job import Job  # noqa: E402
from headroom_steps.trial.steps import MIB, Steps, growth  # noqa: E402

KEYS = {"vocabulary": 300, "features": 0, "outputs": 0, "per_sample": False, "shifted": True, "hidden": 64, "layers": 4, "heads": 8, "kv_heads": 2,
        "head_dim": 8, "intermediate": 128, "gated": True, "activation": "silu", "norm": "rms", "eps": 1e-5, "biases": [], "positions": "rotary",
        "position_rows": 0, "theta": 1e4, "causal": True, "tied": True, "batch": 2, "sequence": 16, "dtype": "fp32", "weights": "fp32",
        "checkpointing": False, "rank": 0, "alpha": 1, "targets": [], "optimizer": "adamw", "momentum": False}
SERIES = {**KEYS, "vocabulary": 0, "features": 5, "outputs": 3, "tied": False, "shifted": False, "causal": False, "norm": "layer", "gated": False}


def judge(losses, lives, wanted, seconds=0.0):
    trial = types.SimpleNamespace(least_steps=3, options=types.SimpleNamespace(training_steps=wanted, seconds=100))
    return Steps.judge(trial, losses, lives, max(lives), seconds)


class Draws(unittest.TestCase):
    def test_numbers_go_round_their_block(self):
        with unittest.mock.patch.object(draws, "LENGTH", 101):
            target = [None] * 250
            draws.fill(target, [draws.spread(place) for place in range(101)], 3)
            self.assertEqual(target, draws.numbers(250, 3))
            self.assertEqual(target[:101], target[101:202])

    def test_numbers_are_spread(self):
        numbers = draws.numbers(10000, 3)
        self.assertTrue(all(-1 <= one < 1 for one in numbers))
        self.assertLess(abs(sum(numbers)) / 10000, 0.03)
        self.assertAlmostEqual(sum(one * one for one in numbers) / 10000, 1 / 3, delta=0.02)


class Reference(unittest.TestCase):
    def test_loss_of_weights_that_say_nothing_is_that_of_guessing(self):
        job = Job(KEYS).small()
        job.spread = 0.0
        weights, _ = reference.draw(job)
        self.assertAlmostEqual(reference.Model(job, weights).loss(), math.log(61), places=6)

    def test_slope_is_how_the_loss_changes(self):
        for keys in (KEYS, SERIES, {**KEYS, "rank": 2, "targets": ["q", "down"]}):
            job = Job(keys).small()
            loss, slope = reference.loss_and_slope(job)
            weights, directions = reference.draw(job)
            far = 1e-6
            moved = {name: [w + far * d for w, d in zip(row, directions.get(name, [0.0] * len(row)))] for name, row in weights.items()}
            self.assertAlmostEqual((reference.Model(job, moved).loss() - loss) / far, slope, delta=1e-3 * abs(slope) + 1e-3)

    def test_later_tokens_do_not_change_what_came_before(self):
        job = Job(KEYS).small()
        model = reference.Model(job, reference.draw(job)[0])
        one, other = model.outputs([1, 2, 3, 4]), model.outputs([1, 2, 3, 9])
        self.assertEqual(one[:3], other[:3])
        self.assertNotEqual(one[3], other[3])


class Jobs(unittest.TestCase):
    def test_least_of_the_memory_counts_what_is_trained(self):
        whole = Job(KEYS)
        weights = sum(one.count() for one in whole.parameters())
        self.assertGreaterEqual(whole.least_bytes(), 16 * weights)
        adapters = Job({**KEYS, "rank": 2, "targets": ["q"]})
        self.assertLess(adapters.least_bytes(), whole.least_bytes())

    def test_labels_are_the_tokens_that_follow(self):
        job = Job(KEYS)
        inputs, labels = job.inputs(), job.labels()
        self.assertEqual(labels[:15], inputs[1:16])
        self.assertEqual(labels[15], -100)
        self.assertEqual(len(Job(SERIES).labels()), 2 * 16 * 3)


class Judge(unittest.TestCase):
    def test_memory_that_comes_and_goes_does_not_grow(self):
        self.assertEqual(growth([0, 0, 100 * MIB, 200 * MIB, 150 * MIB, 300 * MIB], 300 * MIB), 0)
        self.assertEqual(growth([0, 0, 100 * MIB, 101 * MIB, 102 * MIB], 300 * MIB), 0)  # Little.
        self.assertEqual(growth([0, 500 * MIB, 500 * MIB, 500 * MIB], 500 * MIB), 0)
        self.assertEqual(growth([0, 0, 0, 100 * MIB, 200 * MIB], 200 * MIB), 200 * MIB)
        self.assertEqual(growth([0, 0, 0, 100 * MIB, 200 * MIB], 200 * MIB, 8), 0)

    def test_training_goes_on_until_its_steps_or_its_time_are_over(self):
        self.assertIsNone(judge([5.0], [0], wanted=2))
        self.assertTrue(judge([5.0, 4.0], [0, 0], wanted=2)["ok"])
        self.assertEqual(judge([5.0], [0], wanted=2, seconds=101)["kind"], "time")
        self.assertEqual(judge([5.0, math.nan], [0, 0], wanted=9)["kind"], "nan")


class Onnx(unittest.TestCase):
    """The encoding of protocol buffers, by the examples of its own documentation (protobuf.dev: Encoding)."""

    def test_numbers_and_texts_are_encoded_as_documented(self):
        self.assertEqual(onnx_model.varint(150), b"\x96\x01")
        self.assertEqual(onnx_model.number(1, 150), b"\x08\x96\x01")
        self.assertEqual(onnx_model.block(2, "testing"), b"\x12\x07testing")
        self.assertEqual(onnx_model.varint(-1), b"\xff" * 9 + b"\x01")

    def test_model_of_one_operation_is_small(self):
        data = onnx_model.model("Softmax", onnx_model.FLOAT, [(2, 3)], (2, 3), axis=-1)
        self.assertLess(len(data), 120)
        self.assertIn(b"Softmax", data)


unittest.main(verbosity=2)
