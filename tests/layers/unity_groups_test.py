#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/unity_groups.py puts files together that can stand together, and only those."""
import pathlib
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "unity_groups.py"


def unnamed(*lines):
    return "\n".join(["namespace headroom {", "namespace {", *lines, "}  // namespace", "}  // namespace headroom", ""])


class Groups(unittest.TestCase):
    def groups(self, *texts):
        """Of files named 0.cpp, 1.cpp and so on: their numbers."""
        with tempfile.TemporaryDirectory(prefix="headroom-groups-") as folder:
            files = [pathlib.Path(folder) / f"{number}.cpp" for number in range(len(texts))]
            for file, text in zip(files, texts):
                file.write_text(text, encoding="utf-8")
            done = subprocess.run([TOOL, *files], check=True, capture_output=True, text=True)
        return [[int(pathlib.Path(file).stem) for file in line.split(";")] for line in done.stdout.splitlines()]

    def test_files_without_names_in_common_are_together(self):
        self.assertEqual(self.groups(unnamed("int one() { return 1; }"), unnamed("int two() { return 2; }")), [[0, 1]])

    def test_a_name_that_both_declare_keeps_them_apart(self):
        for first, second in (("constexpr int mib = 1;", "constexpr int mib = 1;"), ("struct Case {", "class Case {"),
                              ("std::vector<int> find(int a,", "void find() {"), ("using Kind = A::Kind;", "using Kind = B::Kind;")):
            self.assertEqual(self.groups(unnamed(first), unnamed(second)), [[0], [1]], first)

    def test_a_name_after_a_function_is_seen(self):
        self.assertEqual(self.groups(unnamed("int one() {", "  return 1;", "}", "int two() {", "  return 2;", "}"),
                                     unnamed("int two() { return 2; }")), [[0], [1]])

    def test_a_name_that_the_other_mentions_keeps_them_apart(self):
        self.assertEqual(self.groups(unnamed("struct Range {"), "namespace headroom { void f(Range range); }"), [[0], [1]])

    def test_a_name_that_a_header_of_the_other_declares_keeps_them_apart(self):
        self.assertEqual(self.groups(unnamed("std::string to_lower(char letter) {"), '#include "base/text.h"\nint other;\n'), [[0], [1]])

    def test_words_of_comments_and_text_and_members_mean_nothing(self):
        self.assertEqual(self.groups(unnamed("int count() { return 1; }"),
                                     '// count\nauto text = "count";\nint f(T a, T* b) { return a.count + b->count; }\n'), [[0, 1]])

    def test_a_name_from_another_namespace_may_be_brought_in_by_both(self):
        self.assertEqual(self.groups(unnamed("using facts::Gpu;"), unnamed("using facts::Gpu;", "Gpu gpu();")), [[0, 1]])
        self.assertEqual(self.groups(unnamed("using facts::Gpu;"), unnamed("using plan::Gpu;")), [[0], [1]])
        self.assertEqual(self.groups(unnamed("using facts::Gpu;"), "void f(Gpu gpu);\n"), [[0], [1]])

    def test_another_name_for_a_namespace_is_such_a_name(self):
        self.assertEqual(self.groups("namespace fs = std::filesystem;\n", "namespace fs = std::filesystem;\nfs::path path;\n"), [[0, 1]])
        self.assertEqual(self.groups("namespace testing = plan::testing;\n", "auto folder = testing::TempDir();\n"), [[0], [1]])

    def test_a_group_is_not_too_large(self):
        groups = self.groups(*["int a;\n"] * 25)
        self.assertEqual([len(group) for group in groups], [10, 10, 5])


unittest.main()
