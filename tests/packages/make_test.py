#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ./dev package makes, of a small project with the same components: the same bytes twice, complete, and only of files that
run on every system that the wheel's tag names.

    make_test.py SOURCE_FOLDER FOLDER_OF_PROGRAMS      exit 77: a tool is missing
"""
import base64
import csv
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

SOURCE, PROGRAMS = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
del sys.argv[1:3]
sys.path.insert(0, str(SOURCE / "tools/package"))
import control  # noqa: E402  (their folder has just become known)
import notices  # noqa: E402
import symbols  # noqa: E402

for what in ("dpkg-deb", "dpkg-shlibdeps", "objdump", "cmake"):
    if shutil.which(what) is None:
        print(f"expected {what}, found none")
        sys.exit(77)
for package in notices.PACKAGES:
    if not pathlib.Path("/usr/share/doc", package, "copyright").exists():
        print(f"expected the notice of {package}, found none")
        sys.exit(77)


def run(*words, **how):
    return subprocess.run(words, check=True, capture_output=True, text=True, **how).stdout


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="headroom-packages-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.make("first", 0o022)
        time.sleep(1.1)  # File times have whole seconds in archives; another second must not show.
        cls.make("second", 0o077)
        cls.out = cls.folder / "first/out"
        cls.version = next(cls.out.glob("*.whl")).name.split("-")[1]

    @classmethod
    def make(cls, name, umask):
        folder = cls.folder / name
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1770076800", "DEBFULLNAME": "A B", "DEBEMAIL": "a@b.example"}
        how = {"umask": umask, "env": environment}
        run("cmake", "-S", SOURCE / "tests/packages/small", "-B", folder / "build", f"-DSOURCE={SOURCE}",
            "-DCMAKE_BUILD_TYPE=Release", **how)
        run("cmake", "--build", folder / "build", **how)
        run(sys.executable, SOURCE / "tools/package/make.py", folder / "build", folder / "out", "--without-train", **how)

    def test_they_are_the_same_bytes_twice(self):
        first, second = ({path.name: path.read_bytes() for path in (self.folder / name / "out").iterdir()}
                         for name in ("first", "second"))
        self.assertEqual(sorted(first), sorted(second))
        self.assertEqual([name for name in first if first[name] != second[name]], [])

    def test_there_is_one_of_each_kind(self):
        kinds = sorted(path.name.replace(self.version, "V") for path in self.out.iterdir())
        self.assertEqual(kinds, ["SHA256SUMS", "headroom-V-linux-x86_64.tar.xz", "headroom-V-py3-none-manylinux_2_35_x86_64.whl",
                                 "headroom_V_amd64.deb", "libheadroom-allocator-dev_V_amd64.deb",
                                 "libheadroom-allocator1_V_amd64.deb", "libheadroom-averager-dev_V_amd64.deb",
                                 "libheadroom-averager1_V_amd64.deb", "python3-headroom_V_all.deb"])

    def test_the_checksums_are_right(self):
        self.assertEqual(run("sha256sum", "--check", "--quiet", "SHA256SUMS", cwd=self.out), "")

    def test_a_deb_has_the_files_and_says_what_it_needs(self):
        deb = self.out / f"headroom_{self.version}_amd64.deb"
        listed = run("dpkg-deb", "--contents", deb)
        for path in ("./usr/bin/headroom", "./usr/share/man/man1/headroom.1.gz", "./usr/share/doc/headroom/copyright",
                     "./usr/share/doc/headroom/third-party/libfmt-dev.txt", "./usr/share/headroom/python/headroom_inject/",
                     "./usr/share/headroom/python/headroom_steps/"):
            self.assertIn(f" {path}\n", listed)
        self.assertNotIn("dist-packages", listed)
        self.assertIn("-rwxr-xr-x root/root", next(line for line in listed.splitlines() if line.endswith("bin/headroom")))
        self.assertEqual(run("dpkg-deb", "--field", deb, "Maintainer"), "A B <a@b.example>\n")
        self.assertRegex(run("dpkg-deb", "--field", deb, "Depends"), r"^libc6 .*libheadroom-allocator1 \(= ")
        self.assertIn("./usr/lib/python3/dist-packages/headroom/py.typed",
                      run("dpkg-deb", "--contents", self.out / f"python3-headroom_{self.version}_all.deb"))

    def test_each_shared_library_has_a_deb_of_its_name(self):
        for part in ("allocator", "averager"):
            name = f"libheadroom-{part}1"
            deb = self.out / f"{name}_{self.version}_amd64.deb"
            self.assertIn(f"libheadroom_{part}.so.1\n", run("dpkg-deb", "--contents", deb))
            self.assertEqual(run("dpkg-deb", "--info", deb, "shlibs"), f"libheadroom_{part} 1 {name}\n")
            self.assertIn("ldconfig", run("dpkg-deb", "--info", deb, "triggers"))

    def test_what_python_compiled_is_removed_with_a_deb(self):
        for name, path in (("headroom", "usr/share/headroom/python/headroom_inject"),
                           ("python3-headroom", "usr/lib/python3/dist-packages/headroom")):
            deb, root = next(self.out.glob(f"{name}_*.deb")), self.folder / f"removed-{name}"
            run("dpkg-deb", "--raw-extract", deb, root)
            compiled = root / path / "__pycache__"
            compiled.mkdir()
            script = root / "DEBIAN/prerm"
            text = script.read_text()
            self.assertIn(" /usr/", text)
            script.write_text(text.replace(" /usr/", f" {root}/usr/"))
            run(script, "remove")
            self.assertFalse(compiled.exists())
            self.assertTrue(compiled.parent.exists())

    def test_every_component_that_is_installed_is_in_a_deb(self):
        script = (PROGRAMS.parent / "cmake_install.cmake").read_text()
        installed = set(re.findall(r'CMAKE_INSTALL_COMPONENT STREQUAL "([^"]+)"', script))
        self.assertEqual(installed | {"train"}, {one for package in control.PACKAGES for one in package.components})

    def test_the_wheel_is_one(self):
        with zipfile.ZipFile(next(self.out.glob("*.whl"))) as wheel:
            info, data = f"headroom-{self.version}.dist-info", f"headroom-{self.version}.data"
            names = wheel.namelist()
            for name in ("headroom/__init__.py", "headroom/py.typed", f"{data}/scripts/headroom", f"{info}/licenses/LICENSE",
                         f"{data}/data/lib/x86_64-linux-gnu/libheadroom_allocator.so.1", f"{data}/data/share/man/man1/headroom.1"):
                self.assertIn(name, names)
            self.assertEqual(wheel.getinfo(f"{data}/scripts/headroom").external_attr >> 16, 0o100755)
            record = {row[0]: row[1] for row in csv.reader(wheel.read(f"{info}/RECORD").decode().splitlines())}
            self.assertEqual(sorted(record), sorted(names))
            for name in names:
                if not name.endswith("/RECORD"):
                    digest = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).rstrip(b"=").decode()
                    self.assertEqual(record[name], f"sha256={digest}")
            self.assertIn(f"Version: {self.version}\n", wheel.read(f"{info}/METADATA").decode())

    def test_a_newer_symbol_is_seen(self):
        newest = dict(symbols.NEWEST)
        self.addCleanup(symbols.NEWEST.update, newest)
        symbols.NEWEST["GLIBC"] = (2, 4)  # Every program's start asks for 2.34.
        faults = list(symbols.faults_of(self.folder / "first/build/headroom"))
        self.assertTrue(any("__libc_start_main@GLIBC_2.34" in fault for fault in faults), faults)

    def test_the_built_programs_ask_for_no_newer_symbol(self):
        libraries = sorted((PROGRAMS.parent / "lib").rglob("libheadroom_*.so"))
        self.assertGreaterEqual(len(libraries), 5)
        for path in (PROGRAMS / "headroom", *libraries):
            newer = [(symbol, name, version) for symbol, name, version in symbols.wanted_by(path)
                     if name in symbols.NEWEST and version > symbols.NEWEST[name]]
            self.assertEqual(newer, [], path)


if __name__ == "__main__":
    unittest.main()
