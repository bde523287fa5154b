#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No option that names a file to write destroys a file that is read.     output_files_test.py FOLDER_OF_PROGRAMS"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
TESTS = pathlib.Path(__file__).resolve().parent.parent


class OutputFiles(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="headroom-files-")
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name) / "run"
        shutil.copytree(TESTS / "transcripts" / "files", self.folder)

    def contents(self):
        return {str(path.relative_to(self.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted(self.folder.rglob("*")) if path.is_file()}

    def run_it(self, *words, program="headroom"):
        return subprocess.run([PROGRAMS / program, *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                              env={"PATH": "/usr/bin:/bin", "HOME": self.scratch.name}, capture_output=True, text=True,
                              timeout=120)

    def refuse(self, *words, program="headroom"):
        before = self.contents()
        run = self.run_it(*words, program=program)
        self.assertEqual((run.returncode, run.stdout), (2, ""), (words, run.stderr))
        self.assertIn("a file of its own", run.stderr)
        self.assertIn("next: ", run.stderr)
        self.assertEqual(self.contents(), before, words)

    def test_check_keeps_logs_statements_and_jobs(self):
        os.symlink("logs/photos.log", self.folder / "link.md")
        os.link(self.folder / "logs/photos.log", self.folder / "hard.md")
        log = ["check", "--log", "logs/photos.log", "--stated", "logs/photos.json", "--job", "job.toml"]
        for report in ("logs/photos.log", "logs/photos.json", "link.md", "hard.md", "./logs/../logs/photos.log", "job.toml",
                       "model/config.json"):
            self.refuse(*log, "--report", report)
        run = self.run_it(*log, "--report", "new.md")
        self.assertEqual((self.folder / "new.md").exists(), True, run.stderr)
        self.assertIn(run.returncode, (0, 1))

    def test_check_keeps_what_comes_by_standard_input(self):
        before = self.contents()
        with open(self.folder / "logs/photos.log", "rb") as log:
            run = subprocess.run([PROGRAMS / "headroom", "check", "--log", "-", "--report", "logs/photos.log"],
                                 cwd=self.folder, stdin=log, capture_output=True, timeout=60)
        self.assertEqual((run.returncode, self.contents()), (2, before))

    def test_check_keeps_the_machine(self):
        subprocess.run([PROGRAMS / "fake_machine", TESTS / "machines" / "strix-halo-half.toml", self.folder / "machine"],
                       check=True)
        for report in ("machine/proc/meminfo", "machine/new.md"):
            self.refuse("check", "--root", "machine", "--log", "logs/photos.log", "--report", report)

    def test_plan_keeps_job_and_model(self):
        for page in ("job.toml", "model/config.json", "./model/../job.toml"):
            self.refuse("plan", "job.toml", "--html", page)
        self.refuse("plan", "model", "--html", "model/config.json")
        (self.folder / "model/model.safetensors").write_bytes(b"weights")
        self.refuse("plan", "job.toml", "--html", "model/model.safetensors")
        self.assertEqual(self.run_it("plan", "job.toml", "--html", "page.html").returncode, 0)
        self.assertEqual(self.run_it("plan", "job.toml", "--html", "page.html").returncode, 0, "a page is replaced")

    def test_plan_keeps_the_recipe_of_a_command(self):
        (self.folder / "recipe.yml").write_text("base_model: ./model\n")
        command = ["--", "axolotl", "train", "recipe.yml"]
        self.refuse("plan", "--html", "recipe.yml", *command)
        self.assertEqual(self.run_it("plan", "--html", "page.html", *command).returncode, 0)

    def test_replay_keeps_the_trace(self):
        self.refuse("replay", "trace.txt", "--html", "./trace.txt")
        self.refuse("replay", "trace.txt", "--html", "a.html", "--export", "./a.html")

    def test_training_keeps_job_model_and_text(self):
        if not (PROGRAMS / "headroom-train").exists():
            self.skipTest("built without headroom-train")
        (self.folder / "text").mkdir()
        (self.folder / "text/a.txt").write_text("some text to learn from\n\nand some more of it\n")
        job = (self.folder / "job.toml").read_text() + '[data]\npath = "text"\nkind = "text"\nepochs = 1\n'
        (self.folder / "job.toml").write_text(job)
        os.symlink("text/a.txt", self.folder / "link")
        for trace in ("job.toml", "model/config.json", "text/a.txt", "text/b.txt", "link", "out/report.json",
                      "out/checkpoint/state.safetensors"):
            (self.folder / "out/checkpoint").mkdir(parents=True, exist_ok=True)
            self.refuse("job.toml", "--output", "out", "--trace", trace, program="headroom-train")
        self.refuse("job.toml", "--output", "model", program="headroom-train")
        shutil.copy(self.folder / "job.toml", self.folder / "report.json")
        (self.folder / "report.json").write_text(
            '{"model": {"config": "model"}, "compute": {"dtype": "fp32"}, "batch": {"micro": 1, "sequence": 64},'
            ' "engine": {"kind": "headroom"}, "device": {"capacity": "256MiB"}, "data": {"path": "text"}}')
        self.refuse("report.json", "--output", ".", program="headroom-train")


if __name__ == "__main__":
    unittest.main()
