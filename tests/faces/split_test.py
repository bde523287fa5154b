#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps that run out of memory, in unmodified scripts: the real PyTorch and Hugging Face Trainer of `./dev venv`, on a
GPU made of this machine's memory, with headroom's allocator. HEADROOM_TEST_ALL=1 fails every allocation of a step.

    split_test.py SOURCE_FOLDER LIBHEADROOM_TORCH STAND_INS [TEST ...]     exit 77: there is no such environment
"""
import re

from fake_gpu import ALL, OnFakeGpu, main

SIGTERM = -15


class Split(OnFakeGpu):
    def test_a_failure_anywhere_in_a_step_leaves_its_gradients_as_they_are(self):
        # Neither the first nor the number between two is a multiple of what a layer allocates.
        sample = ("23", "197", "accumulation without a count", "adapter", "classes, counted", "pairs")
        done = self.run_program("split_sweep.py", *(("1", "1") if ALL else sample), timeout=3600)
        self.check(done)
        self.assertEqual(len(done.stdout.splitlines()), 16 if ALL else len(sample) - 2)

    def test_parts_draw_the_random_numbers_of_the_whole(self):
        self.check(self.run_program("random_rows.py"))

    def test_what_is_not_split_fails_as_it_did_with_the_reason(self):
        self.check(self.run_program("split_refusals.py"))

    def test_scripts_with_more_in_them_train_the_same_or_stop_with_the_reason(self):
        done = self.run_program("split_hostile.py", *(("6", "1") if ALL else ("1", "4")), timeout=3600)
        self.check(done)
        self.assertEqual(len(done.stdout.splitlines()), 41 if ALL else 11)

    def story(self, gpu_bytes, *words, split="on"):
        """Of the script: its loss, its peak, and what headroom said; None if it died."""
        done = self.run_program("on_gpu.py", "split_story.py", *words, FAKE_GPU_BYTES=str(gpu_bytes), HEADROOM_SPLIT=split)
        found = re.search(r"loss (\S+) weights (\S+)\npeak (\d+)", done.stdout)
        if found is None:
            self.assertIn("torch.OutOfMemoryError: CUDA out of memory.", done.stderr)
            return None, None, self.lines(done)
        return tuple(float(number) for number in found.groups()[:2]), int(found[3]), self.lines(done)

    def test_a_script_that_dies_finishes_and_trains_the_same(self):
        undisturbed, peak, said = self.story(512 << 20)
        self.assertGreater(peak, 7_000_000)
        self.assertEqual(said, [])
        self.assertIsNone(self.story(7_000_000, split="off")[0])
        by_accelerate, _, _ = self.story(7_000_000, "auto", split="off")
        self.assertGreater(abs(by_accelerate[0] - undisturbed[0]), 1e-2)
        for gpu_bytes, parts in ((7_000_000, "2 x 4"), *(((6_000_000, "4 x 2"),) if ALL else ())):
            split, peak, said = self.story(gpu_bytes)
            for found, expected in zip(split, undisturbed, strict=True):
                self.assertLess(abs(found - expected), 1e-5 * expected)
            self.assertLess(peak, gpu_bytes)
            self.assertIn(f"the batch of 8 was split in {parts} rows", said[-1])
            print(f"{gpu_bytes} bytes: undisturbed {undisturbed}, by accelerate {by_accelerate}, split {split}")

    def test_of_two_processes_neither_hangs_where_one_runs_out(self):
        for allocation in (30, 150) if ALL else (150,):  # In the forward pass, in the backward pass.
            done = self.run_two_processes("split_ddp.py", str(allocation))
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("[rank0]: torch.OutOfMemoryError: CUDA out of memory.", done.stderr)
            self.assertEqual(len(self.lines(done)), 1, done.stderr)
            self.assertIn("DistributedDataParallel computes with several processes", self.lines(done)[0])

    def test_later_steps_begin_with_the_parts_that_were_found(self):
        self.check(self.run_program("split_size_kept.py"))

    def test_sigterm_writes_a_checkpoint_and_ends_the_script(self):
        done = self.run_program("on_gpu.py", "split_stop.py")
        self.assertEqual(done.returncode, SIGTERM, done.stderr)
        self.assertNotIn("trained", done.stdout)
        self.assertTrue((self.folder / "checkpoint-2" / "trainer_state.json").exists())
        self.assertIn("checkpoint-2", self.lines(done)[-1])

    def test_a_handler_of_the_scripts_own_stays(self):
        done = self.run_program("on_gpu.py", "split_stop.py", "handler")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the script's own handler", done.stdout)
        self.assertIn("trained 4", done.stdout)

    def test_off_leaves_the_trainer_as_it_is(self):
        done = self.run_program("on_gpu.py", "split_stop.py", HEADROOM_SPLIT="off")
        self.assertEqual((done.returncode, self.lines(done)), (SIGTERM, []))
        self.assertEqual(list(self.folder.iterdir()), [])


main()
