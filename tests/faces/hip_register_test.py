#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HIP programs on a runtime that hands its table of functions to AMD's own librocprofiler-register, which
tools/faces/rocprofiler_register.sh puts into build/rocprofiler_register, with the C library that it needs.

    hip_register_test.py SOURCE_FOLDER FOLDER_OF_PROGRAMS LIBRARIES RUNTIME     exit 77: it is not installed
"""
import os
import pathlib
import subprocess
import sys
import unittest

source, programs, libraries, runtime = (pathlib.Path(word).resolve() for word in sys.argv[1:5])
del sys.argv[1:5]
real = source / "build" / "rocprofiler_register" / "lib"
ORDINARY = "Hip.*:HipStreamOrder.*:HipTable.*"


class Register(unittest.TestCase):
    def run_program(self, kind, tests, is_shim, *beside, **variables):
        hip, preload = libraries / "libheadroom_hip.so", libraries / "libheadroom_preload.so"
        environment = {**os.environ, "FAKE_GPU_BYTES": str(64 << 20), "FAKE_GPU_DEFERRED": "1", "LD_DEBUG": "libs",
                       "HEADROOM_ALLOCATOR_PLANNING": "off", **variables}
        environment["LD_PRELOAD"] = ":".join(map(str, [preload if is_shim else hip, *beside]))
        if is_shim:
            environment["HEADROOM_HIP_LIBRARY"] = str(hip)
        words = [real / "ld-linux-x86-64.so.2", "--library-path", f"{real}:{runtime}", programs / f"hip_{kind}_test",
                 "--gtest_brief=1", f"--gtest_filter={tests}"]
        done = subprocess.run(words, timeout=300, env=environment, capture_output=True, text=True)
        said = "\n".join(line for line in done.stderr.splitlines() if "\t" not in line)
        self.assertEqual(done.returncode, 0, done.stdout + said)
        self.assertRegex(done.stdout, r"PASSED.* [1-9][0-9]* test")
        self.assertIn(f"calling init: {real}/librocprofiler-register.so.0", done.stderr, "another one was loaded")

    def each(self, tests, *beside, **variables):
        for kind in ("opened", "by_table"):
            for is_shim in (False, True):
                with self.subTest(kind=kind, is_shim=is_shim):
                    self.run_program(kind, tests, is_shim, *beside, **variables)

    def test_every_block_is_headrooms(self):
        self.each(ORDINARY)

    def test_where_tables_are_handed_to_nobody(self):
        self.each(ORDINARY, ROCPROFILER_REGISTER_ENABLED="0")

    def test_a_profiler_sees_what_the_program_calls(self):
        self.each(f"{ORDINARY}:HipProfiled.*", runtime / "libfake_profiler.so")


if not real.exists():
    print(f"{real} is not there; tools/faces/rocprofiler_register.sh {real.parent} puts it there")
    sys.exit(77)
unittest.main()
