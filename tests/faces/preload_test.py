#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `headroom run --allocator` preloads leaves every program as it is, and a HIP program running where headroom's library
cannot be opened.

    preload_test.py FOLDER_OF_PROGRAMS STAND_INS
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

bin_folder, stand_ins = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
del sys.argv[1:3]
PRELOAD, HIP = "libheadroom_preload.so", "libheadroom_hip.so"


class Preload(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headroom-preload-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, *words, **variables):
        environment = {**os.environ, "XDG_STATE_HOME": str(self.folder), "LD_LIBRARY_PATH": str(stand_ins), **variables}
        by = [bin_folder / "headroom", "run", "--quiet", "--allocator", "--guard", "off", "--"]
        done = subprocess.run([*by, *words], timeout=60, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def test_a_program_without_hip_gets_one_small_library(self):
        mapped = self.run_program("cat", "/proc/self/maps").stdout
        self.assertIn(PRELOAD, mapped)
        for other in (HIP, "libheadroom_allocator", "libstdc++", "libgcc_s", "libm.so"):
            self.assertNotIn(other, mapped)

    def test_its_children_have_it_too_and_say_nothing(self):
        done = self.run_program("sh", "-c", "cat /proc/self/maps; cat /dev/null")
        self.assertIn(PRELOAD, done.stdout)
        self.assertEqual(done.stderr, "")

    def test_a_users_own_library_is_preloaded_before(self):
        done = self.run_program("printenv", "LD_PRELOAD", LD_PRELOAD="libc.so.6")
        self.assertRegex(done.stdout, f"^libc\\.so\\.6:/.*/{PRELOAD}\n$")

    def from_python(self, script, **variables):
        return self.run_program(sys.executable, "-c", "import ctypes\n" + script, **variables).stdout.split()

    def test_a_program_that_opens_libraries_without_hip_opens_none_of_headrooms(self):
        found = self.from_python("ctypes.CDLL(None).malloc; ctypes.CDLL('libm.so.6').cos\n"
                                 "try: ctypes.CDLL(None).hipNoSuchThing\n"
                                 "except AttributeError as error: print(str(error).split()[-1])\n"
                                 "print(any('libheadroom_hip' in line for line in open('/proc/self/maps')))")
        self.assertEqual(found, ["hipNoSuchThing", "False"])

    def test_dlsym_without_a_version_is_the_c_librarys(self):
        script = ("class Info(ctypes.Structure): _fields_ = [('file', ctypes.c_char_p)] + [(n, ctypes.c_void_p) for n in 'abc']\n"
                  "info = Info()\nprogram = ctypes.CDLL(None)\n"
                  "program.dladdr(ctypes.cast(program.dlsym, ctypes.c_void_p), ctypes.byref(info))\nprint(info.file.decode())")
        found = self.from_python(script)
        self.assertRegex(found[0], r"/lib(c|dl)\.so|/ld-linux")

    def test_without_a_runtime_a_function_of_hip_says_so(self):
        self.assertEqual(self.from_python("print(ctypes.CDLL(None).hipFree(None))"), ["3"])  # hipErrorNotInitialized

    def one_line(self, text):
        lines = text.splitlines()
        self.assertEqual(len(lines), 1, text)
        self.assertTrue(lines[0].startswith("headroom: hipMalloc is the runtime's own: "), text)
        return lines[0]

    def run_hip_program(self, kind, library):
        # env, because `headroom run` sets the variable.
        words = ["env", *([f"HEADROOM_HIP_LIBRARY={library}"] if library else ["-u", "HEADROOM_HIP_LIBRARY"])]
        return self.run_program(*words, bin_folder / f"hip_{kind}_test", "--gtest_filter=HipOfTheRuntime.*", "--gtest_brief=1")

    def test_a_library_that_cannot_be_opened_leaves_the_runtime_and_one_line(self):
        (self.folder / "broken.so").write_bytes(b"\x7fELF no library")
        for kind in ("linked", "opened"):
            for library, why in ((self.folder / "absent.so", "absent.so"), (self.folder / "broken.so", "broken.so"),
                                 ("", "HEADROOM_HIP_LIBRARY is not set")):
                with self.subTest(kind=kind, library=library):
                    self.assertIn(why, self.one_line(self.run_hip_program(kind, library).stderr))

    def test_a_runtime_of_another_name_is_left_alone(self):
        # As wheels bring it that were repaired.
        copy = self.folder / "libamdhip64-12ab34cd.so"
        shutil.copy(stand_ins / "libamdhip64.so.7", copy)
        script = (f"hip = ctypes.CDLL('{copy}')\nblock = ctypes.c_void_p()\n"
                  "print(hip.hipMalloc(ctypes.byref(block), ctypes.c_size_t(4096)), hip.hipFree(block))")
        done = self.run_program(sys.executable, "-c", "import ctypes\n" + script)
        self.assertEqual(done.stdout.split(), ["0", "0"])
        self.assertIn("another name", self.one_line(done.stderr))

    def test_a_static_program_is_untouched(self):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            self.skipTest("there is no compiler")
        (self.folder / "static.c").write_text('#include <stdio.h>\nint main(void) { puts("still here"); return 0; }\n')
        subprocess.run([compiler, "-static", "-o", self.folder / "static", self.folder / "static.c"], check=True)
        done = self.run_program(self.folder / "static")
        self.assertEqual((done.stdout, done.stderr), ("still here\n", ""))

    def test_a_hip_program_gets_it_without_anything_by_hand(self):
        for kind in ("linked", "opened"):
            done = self.run_program(bin_folder / f"hip_{kind}_test", "--gtest_filter=Hip.every_block*",
                                    FAKE_GPU_BYTES=str(64 << 20), HEADROOM_ALLOCATOR_PLANNING="off")
            self.assertTrue(re.search(r"PASSED.* 1 test", done.stdout), done.stdout)


if __name__ == "__main__":
    unittest.main()
