#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom run --ranks N -- CMD` with programs that need no PyTorch: places, exit codes, signals, ranks that fail.

    ranks_test.py FOLDER_OF_PROGRAMS
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
LIMIT_S = 60


class Ranks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headroom-ranks-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {**os.environ, "HOME": folder.name, "PATH": f"{PROGRAMS}:/usr/bin:/bin"}
        for name in ("XDG_STATE_HOME", "OMP_NUM_THREADS", "RANK"):
            self.environment.pop(name, None)

    def run_ranks(self, *words):
        return subprocess.run(["headroom", "run", *words], cwd=self.folder, env=self.environment, capture_output=True, text=True,
                              timeout=LIMIT_S)

    def start(self, *words):
        return subprocess.Popen(["headroom", "run", *words], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def test_each_rank_knows_its_place(self):
        done = self.run_ranks("--ranks", "3", "--", "sh", "-c", 'echo "$RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE at '
                              '$MASTER_ADDR" > $RANK.txt')
        self.assertEqual(done.returncode, 0, done.stderr)
        for rank in range(3):
            self.assertEqual((self.folder / f"{rank}.txt").read_text(), f"{rank} of 3, {rank} of 3 at 127.0.0.1\n")

    def test_one_rank_is_the_command_alone(self):
        done = self.run_ranks("--ranks", "1", "--", "sh", "-c", 'echo "[$RANK]"')
        self.assertEqual((done.returncode, done.stdout), (0, "[]\n"))

    def test_the_first_that_fails_ends_the_others_and_gives_the_exit_code(self):
        begun = time.monotonic()
        done = self.run_ranks("--ranks", "2", "--", "sh", "-c", '[ $RANK = 1 ] && exit 7; exec sleep 300')
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertLess(time.monotonic() - begun, 200)
        self.assertRegex(done.stderr, r"rank 1 \(PID \d+\) ended with exit code 7; the others are ended")

    def test_a_rank_that_ignores_the_end_is_killed(self):
        done = self.run_ranks("--ranks", "2", "--grace", "1", "--", "sh", "-c",
                              '[ $RANK = 0 ] && { sleep 1; exit 3; }; trap "" TERM; while :; do sleep 0.1; done')
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_one_that_ends_when_asked_saves_no_other_one(self):
        begun = time.monotonic()
        done = self.run_ranks("--ranks", "3", "--grace", "1", "--", "sh", "-c",
                              '[ $RANK = 0 ] && { sleep 1; exit 3; }; [ $RANK = 1 ] && trap "exit 0" TERM || trap "" TERM; '
                              'while :; do sleep 0.1; done')
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertLess(time.monotonic() - begun, LIMIT_S)

    def test_a_signal_that_ends_a_rank_is_the_report_s(self):
        done = self.run_ranks("--ranks", "2", "--report", "run.json", "--", "sh", "-c", '[ $RANK = 0 ] && kill -ABRT $$; exec sleep 50')
        self.assertEqual(done.returncode, 128 + signal.SIGABRT)
        report = json.loads((self.folder / "run.json").read_text())
        self.assertEqual(report["signal"], signal.SIGABRT)
        self.assertEqual(report["attempts"][0]["command"][0], "sh")  # The user's, without what starts the ranks.

    def test_the_others_go_on_if_told_to(self):
        done = self.run_ranks("--ranks", "3", "--lost-rank", "continue", "--", "sh", "-c",
                              '[ $RANK = 1 ] && kill -9 $$; sleep 1; echo done > $RANK.txt')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the others go on without it", done.stderr)
        self.assertTrue((self.folder / "0.txt").exists() and (self.folder / "2.txt").exists())

    def test_sigterm_reaches_every_rank(self):
        script = 'trap "echo ended > $RANK.end; exit 0" TERM; echo > $RANK.up; while :; do sleep 0.1; done'
        process = self.start("--ranks", "2", "--", "sh", "-c", script)
        self.wait_for("0.up", "1.up")
        process.terminate()
        process.communicate(timeout=LIMIT_S)
        self.assertTrue((self.folder / "0.end").exists() and (self.folder / "1.end").exists())

    def test_no_rank_outlives_a_headroom_that_is_killed(self):
        process = self.start("--ranks", "2", "--", "sh", "-c", "echo $$ > $RANK.pid; mv $RANK.pid $RANK.up; exec sleep 300")
        self.wait_for("0.up", "1.up")
        pids = [int((self.folder / f"{rank}.up").read_text()) for rank in range(2)]
        process.kill()
        process.communicate(timeout=LIMIT_S)
        deadline = time.monotonic() + LIMIT_S
        while any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertFalse([pid for pid in pids if pathlib.Path(f"/proc/{pid}").exists()])

    def test_wrong_words_are_refused_before_anything_starts(self):
        for words, said in ((("--ranks", "0"), "expected a number from 1 to 16"), (("--ranks", "17"), "expected a number"),
                            (("--ranks", "two"), "or auto"), (("--lost-rank", "continue"), "expected --ranks as well"),
                            (("--ranks", "2", "--lost-rank", "no"), "expected stop, continue or restart"),
                            (("--ranks", "2", "--lost-rank", "restart"), "expected a job of headroom's own trainer")):
            done = self.run_ranks(*words, "--", "sh", "-c", "echo started")
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(said, done.stderr)

    def test_a_program_that_is_not_there_is_a_shell_s_127(self):
        self.assertEqual(self.run_ranks("--ranks", "2", "--", "no-such-program").returncode, 127)

    def wait_for(self, *names):
        deadline = time.monotonic() + LIMIT_S
        while not all((self.folder / name).exists() for name in names):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)


if __name__ == "__main__":
    unittest.main()
