#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the packages of a finished build: .debs, a tarball and a wheel, with their checksums.

    make.py BUILD OUT [--without-train]     BUILD: build/package; OUT is emptied first

What lies in them is what `cmake --install` puts there. SOURCE_DATE_EPOCH is the time of every file in them; without it, that
of the last commit. The same source, tools and epoch make the same bytes. The maintainer of the .debs is DEBFULLNAME and
DEBEMAIL, else the author of the last commit.
"""
import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import debs
import notices
import staging
import tarball
import wheel
from control import Release

ROOT = pathlib.Path(__file__).resolve().parents[2]


def last_commit(form):
    return subprocess.run(["git", "-C", ROOT, "log", "-1", f"--format={form}"], check=True, capture_output=True,
                          text=True).stdout.strip()


def maintainer():
    """Who answers for the packages, as Debian's own tools are told."""
    name = os.environ.get("DEBFULLNAME") or last_commit("%an")
    return f"{name} <{os.environ.get('DEBEMAIL') or last_commit('%ae')}>"


def version_of(source):
    found = re.search(r"^project\(headroom VERSION (\d+\.\d+\.\d+) ", (source / "CMakeLists.txt").read_text(), re.M)
    if found is None:
        sys.exit("package: expected project(headroom VERSION X.Y.Z …) in CMakeLists.txt, found none")
    return found[1]


def write_checksums(out):
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--without-train", action="store_true", help="headroom-train was not built")
    asked = parser.parse_args()
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or last_commit("%ct"))
    os.environ["SOURCE_DATE_EPOCH"] = str(epoch)  # dpkg-deb reads it.
    version = version_of(ROOT)
    shutil.rmtree(asked.out, ignore_errors=True)
    asked.out.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="headroom-package-") as folder:
        stage = staging.Stage(asked.build, pathlib.Path(folder), epoch)
        notices.add(stage.folder("headroom") / "usr/share/doc/headroom/third-party")
        debs.make(stage, asked.out, Release(version, maintainer(), epoch), with_train=not asked.without_train)
        tarball.make(stage, asked.out, version)
        wheel.make(stage, asked.out, version, ROOT)
    write_checksums(asked.out)
    for path in sorted(asked.out.iterdir()):
        print(f"{path.stat().st_size / 1e6:9.2f} MB  {path}")


if __name__ == "__main__":
    main()
