#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plain loops and accelerate's that run out of memory, in unmodified scripts: the real PyTorch, accelerate and transformers of
`./dev venv`, on a GPU made of this machine's memory, with headroom's allocator. HEADROOM_TEST_ALL=1 fails every allocation of a step.

    loops_test.py SOURCE_FOLDER LIBHEADROOM_TORCH STAND_INS [TEST ...]     exit 77: there is no such environment
"""
import re

from fake_gpu import ALL, OnFakeGpu, main

KINDS = 2  # Of failures in a sweep.


class Loops(OnFakeGpu):
    def sweep(self, first, every, *cases):
        done = self.run_program("loop_sweep.py", str(first), str(every), *cases, timeout=3600, FAKE_GPU_BYTES=str(64 << 20))
        self.check(done)
        self.assertTrue(any("a backward pass was split by rows" in line for line in self.lines(done)), done.stderr)
        return len(done.stdout.splitlines())

    def test_a_failure_anywhere_in_a_step_leaves_its_gradients_as_they_are(self):
        if ALL:
            self.assertEqual(self.sweep(0, 1), 11 * KINDS)
            return
        # Neither the first nor the number between two is a multiple of what a layer allocates.
        self.assertEqual(self.sweep(1, 3, "plain"), KINDS)
        self.assertEqual(self.sweep(3, 17, "several outputs", "siamese", "inputs need gradients"), 3 * KINDS)
        self.assertEqual(self.sweep(29, 113, "accelerate"), KINDS)

    def test_what_is_not_split_fails_as_it_did_with_the_reason(self):
        self.check(self.run_program("loop_refusals.py"))

    def test_what_is_more_than_a_function_is_refused_or_the_same(self):
        done = self.run_program("loop_hostile.py", *(("0", "1", "1") if ALL else ("2", "23", "4")), timeout=3600, FAKE_GPU_BYTES=str(64 << 20))
        self.check(done)
        self.assertEqual(len(done.stdout.splitlines()), 24 if ALL else 6)

    def test_what_else_loops_do_goes_on(self):
        self.check(self.run_program("loop_others.py"))

    def story(self, gpu_bytes, split="loops"):
        """Of the script: its loss and its weights, and what headroom said; None if it died."""
        done = self.run_program("on_gpu.py", "loop_story.py", FAKE_GPU_BYTES=str(gpu_bytes), HEADROOM_SPLIT=split)
        found = re.search(r"loss (\S+) weights (\S+)\npeak", done.stdout)
        if found is None:
            self.assertIn("torch.OutOfMemoryError: CUDA out of memory.", done.stderr)
            return None, self.lines(done)
        return tuple(map(float, found.groups())), self.lines(done)

    def test_a_script_that_dies_finishes_and_trains_the_same(self):
        undisturbed, said = self.story(512 << 20)
        self.assertEqual(said, [])
        self.assertEqual(self.story(8_000_000, split="off"), (None, []))
        for gpu_bytes, words in ((8_000_000, "split in 2 x 4"), *(((4_500_000, "split in 4 x 2"),) if ALL else ())):
            split, said = self.story(gpu_bytes)
            for found, expected in zip(split, undisturbed, strict=True):
                self.assertLess(abs(found - expected), 1e-5 * expected)
            self.assertTrue(any(words in line for line in said), said)
            print(f"{gpu_bytes} bytes: undisturbed {undisturbed}, split {split}")

    def two_processes(self, *words):
        done = self.run_two_processes("loop_ddp.py", *words)
        return done, re.findall(r"weights (\d+\.\d+)", done.stdout)

    def test_of_two_processes_the_first_recovers_in_its_forward_pass(self):
        _, undisturbed = self.two_processes("0")
        self.assertEqual(len(undisturbed), 2)
        for words in ((("4",),) if ALL else ()) + (("4", "100"),):  # The second failure is in the backward pass, by rows.
            done, weights = self.two_processes(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("split in", done.stderr)
            self.assertEqual(weights[0], weights[1])
            self.assertLess(abs(float(weights[0]) - float(undisturbed[0])), 1e-6 * float(undisturbed[0]))

    def test_of_two_processes_neither_hangs_where_one_runs_out_in_a_backward_pass(self):
        done, _ = self.two_processes("15")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("[rank0]: torch.OutOfMemoryError: CUDA out of memory.", done.stderr)
        self.assertIn("DistributedDataParallel had begun", done.stderr)


main()
