#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants references to pages in a small repository and sees tools/check_style.py report the broken ones, and no others."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_style.py"
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
CLEAN = {
    "README.md": "See [the page](docs/check.md#ladder) and `docs/check.md`.\n",
    "docs/check.md": "The next one is logs.md.\n",
    "docs/logs.md": "```\n$ cat post-mortem.md\n```\n`--report FILE.md` writes one.\n",
    "src/facts/ladder.h": SPDX + "// docs/check.md, \"The memory ladder\".\nint rungs();\n",
}


class Pages(unittest.TestCase):
    def check(self, changes):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "init", "-q", folder], check=True)
            for name, text in {**CLEAN, **changes}.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            run = subprocess.run([sys.executable, TOOL, folder], capture_output=True, text=True)
        return run.returncode, run.stdout.splitlines()

    def assert_only(self, changes, *words):
        code, lines = self.check(changes)
        self.assertEqual((code, len(lines)), (1, 1), lines)
        for word in words:
            self.assertIn(word, lines[0])

    def assert_clean(self, changes):
        self.assertEqual(self.check(changes), (0, []))

    def test_a_repository_whose_pages_exist_passes(self):
        self.assert_clean({})

    def test_a_file_that_a_run_left_behind(self):
        self.assert_only({"allocator.flight": "HRFL\0\0"}, "allocator.flight: not a text")
        self.assert_clean({"tests/fuzz/corpus/ledger/empty": "\0"})

    def test_a_comment_that_names_a_missing_page(self):
        self.assert_only({"src/facts/gpu.h": SPDX + "// As in design.md §2.\n"}, "src/facts/gpu.h: 2", "design.md")

    def test_a_comment_behind_code(self):
        self.assert_only({"src/facts/gpu.h": SPDX + 'auto a = "x";  // contracts.md: "ram"\n'}, "contracts.md")

    def test_a_page_of_another_folder_needs_its_folder(self):
        self.assert_only({"src/facts/gpu.h": SPDX + "// As in check.md.\n"}, "check.md")

    def test_a_link_of_a_page(self):
        self.assert_only({"docs/check.md": "[gone](decisions/0001-gone.md)\n"}, "docs/check.md: 1", "decisions/0001-gone.md")

    def test_a_comment_of_a_script_and_of_a_list(self):
        self.assert_only({"tools/run.sh": "# see plan.md\n"}, "tools/run.sh: 1", "plan.md")
        self.assert_only({"src/LAYERS": "# see plan.md\n"}, "src/LAYERS: 1", "plan.md")

    def test_a_string_of_a_program_is_no_reference(self):
        self.assert_clean({"src/facts/gpu.cpp": SPDX + 'auto name = "new.md";\nauto url = "https://x/y.md";\n'})

    def test_a_page_of_another_repository_is_named_with_it(self):
        self.assert_clean({"src/facts/gpu.h": SPDX + "// onnx/onnx: docs/Operators.md\n// https://example.org/docs/gguf.md\n"})

    def test_a_folder_of_this_repository_is_no_other_one(self):
        self.assert_only({"src/facts/gpu.h": SPDX + "// docs/decisions: 0001-gone.md\n"}, "0001-gone.md")


if __name__ == "__main__":
    unittest.main()
