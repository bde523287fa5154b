#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants every kind of violation in a small source tree and sees tools/check_layers.py report each, and nothing else."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_layers.py"

LAYERS = """\
# a comment
base     :              : pure
facts    : base         : pure
machine  : base         : door
probe    : facts machine :
"""
CLEAN = {
    "LAYERS": LAYERS,
    "base/text.h": "#include <string>\n",
    "facts/gpu.h": '#include "base/text.h"\n',
    "facts/gpu.cpp": '#include "facts/gpu.h"\n// getenv and <fstream> in a comment are no calls\n',
    "facts/gpu_test.cpp": '#include "facts/gpu.h"\n#include <filesystem>\n',
    "machine/files.h": '#include "base/text.h"\n#include <fcntl.h>\n',
    "machine/files.cpp": '#include "machine/files.h"\nauto home = getenv("HOME");\n',
    "probe/probe.cpp": '#include "facts/gpu.h"\n',
    "probe/files.cpp": '#include "machine/files.h"\n',
    "probe/testing/fake.h": "",
    "probe/probe_test.cpp": '#include "probe/testing/fake.h"\n',
}


class CheckLayers(unittest.TestCase):
    def check(self, changes):
        with tempfile.TemporaryDirectory() as folder:
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

    def test_a_clean_tree_passes(self):
        self.assertEqual(self.check({}), (0, []))

    def test_a_layer_that_is_not_allowed(self):
        self.assert_only({"machine/files.cpp": '#include "facts/gpu.h"\n'}, "machine/files.cpp", "may not use facts")

    def test_an_os_header_outside_a_door(self):
        self.assert_only({"probe/access.cpp": "#include <unistd.h>\n"}, "probe/access.cpp", "<unistd.h>")

    def test_an_os_call_outside_a_door(self):
        self.assert_only({"facts/gpu.cpp": 'auto x = getenv("X");\n'}, "facts/gpu.cpp", "getenv")

    def test_a_clock_outside_a_door(self):
        self.assert_only({"probe/clock.cpp": "auto t = std::chrono::steady_clock::now();\n"}, "steady_clock::now")

    def test_a_door_reached_from_a_pure_layer_through_another(self):
        code, lines = self.check({"base/text.h": '#include "machine/files.h"\n'})
        self.assertEqual(code, 1)
        self.assertTrue(any("facts/gpu.h" in line and "reaches machine/files.h" in line for line in lines), lines)

    def test_a_folder_without_a_line(self):
        self.assert_only({"misc/a.cpp": "\n"}, "misc/a.cpp", "not in LAYERS")

    def test_an_include_not_written_from_src(self):
        self.assert_only({"facts/gpu.cpp": '#include "gpu.h"\n'}, '"gpu.h"', "not a file under src/")

    def test_a_layer_that_uses_one_below_it(self):
        code, lines = self.check({"LAYERS": LAYERS.replace("base     :              :", "base     : facts        :")})
        self.assertEqual(code, 1)
        self.assertTrue(any("base uses facts" in line for line in lines), lines)

    def test_a_permission_that_no_include_uses(self):
        self.assert_only({"probe/files.cpp": ""}, "LAYERS: probe need not use machine")

    def test_a_test_double_outside_a_test(self):
        self.assert_only({"probe/find.cpp": '#include "probe/testing/fake.h"\n'}, "probe/find.cpp", "for tests only")

    def test_an_unknown_kind(self):
        code, lines = self.check({"LAYERS": LAYERS.replace("door", "gate")})
        self.assertEqual(code, 1)
        self.assertTrue(any("unknown kind" in line for line in lines), lines)


if __name__ == "__main__":
    unittest.main()
