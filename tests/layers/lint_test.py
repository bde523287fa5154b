#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/lint.py chooses what to lint in a small repository: what changed since it was found clean, and a source for
each header that did."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "lint.py"
FILES = {
    "src/base/text.h": "",
    "src/base/text.cpp": '#include "base/text.h"\n',
    "src/base/text_test.cpp": '#include "base/text.h"\n',
    "src/facts/gpu.h": '#include "base/text.h"\n',
    "src/facts/gpu.cpp": '#include "facts/gpu.h"\n',
    "src/logs/lines.cpp": "",
    "src/trainer/step.cpp": '#include "base/text.h"\n',
    ".clang-tidy": "",
}
ALL = ["src/base/text.cpp", "src/facts/gpu.cpp", "src/logs/lines.cpp"]


class Lint(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="headroom-lint-")
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        for name, text in FILES.items():
            self.write(name, text)
        (self.root / "tools").mkdir()
        for name in ("lint.py", "code_text.py"):
            shutil.copy(TOOL.parent / name, self.root / "tools" / name)
        self.git("init", "-q")
        self.commit()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *words):
        name = ["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", *name, *words], cwd=self.root, check=True, capture_output=True, text=True).stdout

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "a change")

    def lint(self, *words, findings=""):
        """Lints with a stand-in for clang-tidy, which finds something in sources that hold `findings`."""
        self.write("bin/clang-tidy-16", f"""#!/bin/sh
for source; do :; done
[ -z "{findings}" ] || ! grep -q "{findings}" "$source" || {{ echo "$source: found"; exit 1; }}
""")
        (self.root / "bin/clang-tidy-16").chmod(0o755)
        return subprocess.run([sys.executable, self.root / "tools" / "lint.py", *words, "build"], capture_output=True,
                              text=True, env={**os.environ, "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}"})

    def stamp(self):
        self.assertEqual(self.lint("--stamp").returncode, 0)

    def chosen(self, *words):
        done = subprocess.run([sys.executable, self.root / "tools" / "lint.py", "--list", *words, "build"],
                              capture_output=True, text=True, check=True)
        return done.stdout.split()

    def test_without_a_stamp_everything(self):
        self.assertEqual(self.chosen(), ALL)

    def test_nothing_has_changed(self):
        self.stamp()
        self.assertEqual(self.chosen(), [])
        self.assertEqual(self.chosen("--all"), ALL)

    def test_a_source_that_changed(self):
        self.stamp()
        self.write("src/logs/lines.cpp", "int x;\n")
        self.assertEqual(self.chosen(), ["src/logs/lines.cpp"])
        self.commit()
        self.assertEqual(self.chosen(), ["src/logs/lines.cpp"])

    def test_words_alone_are_not_linted_and_code_beside_them_is(self):
        self.write("src/logs/lines.cpp", '// One.\nconst char* a[] = {"it is", "so"};  // NOLINT\n')
        self.stamp()
        self.write("src/logs/lines.cpp", '// Two "words".\nconst char* a[] = {"that it\'s // "\n                   R"(this)", "so"};  // NOLINT\n')
        self.assertEqual(self.chosen(), [])
        for changed in ('const char* a[] = {"it is" "so"};  // NOLINT\n', 'const char* a[] = {"it is", "so"};\n',
                        'const char* b[] = {"it is", "so"};  // NOLINT\n', '#define A\nconst char* a[] = {"it is", "so"};  // NOLINT\n'):
            self.write("src/logs/lines.cpp", changed)
            self.assertEqual(self.chosen(), ["src/logs/lines.cpp"], changed)

    def test_a_message_that_makes_a_function_too_long_is_linted(self):
        function = 'void f() {\n  g("a"\n%s);\n}\n'
        self.write("src/logs/lines.cpp", function % "")
        self.stamp()
        self.write("src/logs/lines.cpp", function % ('    "b"\n' * 60))
        self.assertEqual(self.chosen(), [])
        self.write("src/logs/lines.cpp", function % ('    "b"\n' * 80))
        self.assertEqual(self.chosen(), ["src/logs/lines.cpp"])

    def test_a_header_is_linted_by_its_own_source(self):
        self.stamp()
        self.write("src/base/text.h", "int x;\n")
        self.assertEqual(self.chosen(), ["src/base/text.cpp"])
        self.stamp()
        self.assertEqual(self.chosen(), [])

    def test_a_header_without_a_source_is_linted_by_one_that_includes_it_through_another(self):
        self.write("src/base/alone.h", "")
        self.write("src/base/text.h", '#include "base/alone.h"\n')
        self.stamp()
        self.write("src/base/alone.h", "int x;\n")
        self.assertEqual(self.chosen(), ["src/base/text.cpp"])

    def test_a_header_that_a_changed_source_includes_needs_no_other(self):
        self.stamp()
        self.write("src/base/text.h", "int x;\n")
        self.write("src/facts/gpu.cpp", '#include "facts/gpu.h"\nint y;\n')
        self.assertEqual(self.chosen(), ["src/facts/gpu.cpp"])

    def test_a_header_that_is_not_clean_is_linted_again(self):
        self.stamp()
        self.write("src/base/text.h", "int x;\n")
        self.assertEqual(self.lint("--stamp", findings="base/text.h").returncode, 1)
        self.assertEqual(self.chosen(), ["src/base/text.cpp"])

    def test_a_new_source_that_git_does_not_know(self):
        self.stamp()
        self.write("src/logs/new.cpp", "")
        self.assertEqual(self.chosen(), ["src/logs/new.cpp"])

    def test_other_rules(self):
        self.stamp()
        self.write(".clang-tidy", "Checks: '*'\n")
        self.assertEqual(self.chosen(), ALL)

    def test_what_is_not_clean_is_linted_again(self):
        done = self.lint("--stamp", findings="base/text.h")
        self.assertEqual((done.returncode, done.stdout), (1, "src/base/text.cpp: found\n"))
        self.assertEqual(self.chosen(), ["src/base/text.cpp"])

    def test_without_the_option_no_stamp_is_written(self):
        self.assertEqual(self.lint().returncode, 0)
        self.assertEqual(self.chosen(), ALL)

    def test_a_source_that_is_gone(self):
        self.stamp()
        (self.root / "src/logs/lines.cpp").unlink()
        self.assertEqual(self.chosen(), [])


if __name__ == "__main__":
    unittest.main()
