#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/release.py on a repository of its own, whose `./dev package` is one line.

    release_test.py SOURCE_FOLDER
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n\n## [0.1.0] - 2025-01-01\n\n- The first.\n"


class Release(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headroom-release-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.environment = {"PATH": os.environ["PATH"], "HOME": folder.name, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "A",
                            "GIT_AUTHOR_EMAIL": "a@b.example", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@b.example"}
        (self.root / "tools").mkdir()
        shutil.copy(SOURCE / "tools/release.py", self.root / "tools")
        (self.root / "CHANGELOG.md").write_text(CHANGELOG)
        (self.root / "CMakeLists.txt").write_text("project(headroom VERSION 0.1.0 LANGUAGES C CXX)\n")
        self.package("echo $SOURCE_DATE_EPOCH > packed; git tag > tags-then")
        self.git("init", "--quiet")
        self.commit()

    def git(self, *words):
        return subprocess.run(["git", "-C", self.root, *words], check=True, capture_output=True, text=True,
                              env=self.environment).stdout

    def package(self, line):
        (self.root / "dev").write_text(f"#!/bin/sh\ncd \"$(dirname \"$0\")\"\n{line}\n")
        (self.root / "dev").chmod(0o755)

    def commit(self):
        self.git("add", "CHANGELOG.md", "CMakeLists.txt", "dev", "tools/release.py")
        self.git("commit", "--quiet", "--message", "Something")

    def release(self, *words):
        return subprocess.run([sys.executable, self.root / "tools/release.py", *words], capture_output=True, text=True,
                              env=self.environment)

    def state(self):
        return self.git("rev-parse", "HEAD"), self.git("status", "--porcelain"), self.git("tag")

    def test_without_apply_it_only_says_what_it_would_do(self):
        before = self.state()
        done = self.release("0.2.0", "--date", "2026-02-03")
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in ("+## [0.2.0] - 2026-02-03", "+project(headroom VERSION 0.2.0 LANGUAGES C CXX)", "git tag --annotate v0.2.0",
                     "SOURCE_DATE_EPOCH=1770076800 ./dev package"):
            self.assertIn(line, done.stdout.splitlines())
        self.assertEqual(self.state(), before)

    def test_it_sets_the_version_packs_and_then_tags(self):
        done = self.release("0.2.0", "--apply", "--date", "2026-02-03")
        self.assertEqual(done.returncode, 0, done.stderr)
        log = (self.root / "CHANGELOG.md").read_text()
        self.assertIn("## [Unreleased]\n\n## [0.2.0] - 2026-02-03\n\n### Added\n\n- A thing.\n\n## [0.1.0]", log)
        self.assertEqual(self.git("tag"), "v0.2.0\n")
        self.assertEqual((self.root / "packed").read_text(), "1770076800\n")
        self.assertEqual((self.root / "tags-then").read_text(), "")
        self.assertEqual(self.git("status", "--porcelain", "--untracked-files=no"), "")
        self.assertEqual(self.release("0.3.0").returncode, 1)  # Nothing is new since.

    def test_the_same_release_is_the_same_commit(self):
        commits = []
        for _ in range(2):
            before = self.git("rev-parse", "HEAD").strip()
            self.release("0.2.0", "--apply", "--date", "2026-02-03")
            commits.append(self.git("rev-parse", "HEAD"))
            self.git("tag", "--delete", "v0.2.0")
            self.git("reset", "--quiet", "--hard", before)
        self.assertEqual(commits[0], commits[1])

    def test_what_cannot_be_packed_has_no_tag(self):
        self.package("exit 1")
        self.commit()
        self.assertNotEqual(self.release("0.2.0", "--apply").returncode, 0)
        self.assertEqual(self.git("tag"), "")

    def test_what_it_cannot_release_it_refuses(self):
        for version, expected in (("0.1.0", "does not have yet"), ("0.0.9", "after 0.1.0"), ("1.0", "like 1.2.3"), ("v0.2.0", "like 1.2.3")):
            done = self.release(version, "--apply")
            self.assertEqual(done.returncode, 1)
            self.assertIn(expected, done.stderr)
        (self.root / "CHANGELOG.md").write_text(CHANGELOG + "- More.\n")
        self.assertIn("uncommitted", self.release("0.2.0", "--apply").stderr)
        self.assertEqual(self.git("tag"), "")


if __name__ == "__main__":
    unittest.main()
