#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages in bare systems that mmdebstrap makes: as somebody has them who has nothing else of headroom.

    bare_systems.py PACKAGES ROOTS [NAME]...     NAME: deb-bookworm, wheel-trixie …; all without

ROOTS keeps each system as an archive, made once. Asks for root, mmdebstrap, chroot and Debian's archive; exit 77 says which of them
is missing.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
MIRROR = "http://deb.debian.org/debian"
# What each way of installing asks of a bare system.
INCLUDED = {"deb": "man-db,bash-completion,python3", "wheel": "python3-venv"}
SYSTEMS = [("deb", "bookworm"), ("wheel", "trixie"), ("deb", "trixie"), ("wheel", "bookworm")]


def missing():
    if os.geteuid() != 0:
        return "root, which chroot needs"
    return next((name for name in ("mmdebstrap", "chroot") if shutil.which(name) is None), None)


def archive_of(way, release, roots):
    """The system as an archive, made if it is not there. None where Debian's archive does not answer."""
    archive = roots / f"{way}-{release}.tar"
    if not archive.exists():
        unfinished = archive.with_suffix(".part.tar")
        made = subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={INCLUDED[way]}", release, unfinished,
                               MIRROR], check=False)
        if made.returncode != 0:
            return None
        unfinished.rename(archive)
    return archive


def try_in(way, release, packages, roots):
    """Whether everything is as expected; None where it could not be tried."""
    archive = archive_of(way, release, roots)
    if archive is None:
        print(f"{way} {release}: not tried: {MIRROR} does not answer")
        return None
    with tempfile.TemporaryDirectory(prefix="headroom-bare-", dir=roots) as folder:
        root = pathlib.Path(folder)
        subprocess.run(["tar", "-xf", archive, "-C", root, "--exclude=./dev/*"], check=True)
        for name in ("null", "zero", "random", "urandom"):  # All that pip and dpkg read of /dev.
            (root / "dev" / name).touch()
            subprocess.run(["mount", "--bind", f"/dev/{name}", root / "dev" / name], check=True)
        try:
            shutil.copytree(packages, root / "packages")
            shutil.copy(HERE / f"in_bare_system_{way}.sh", root / "packages/try.sh")
            shutil.copy(SOURCE / "tests/python/examples.py", root / "packages")
            shutil.copy(SOURCE / "docs/python.md", root / "packages")
            start = time.monotonic()
            done = subprocess.run(["chroot", root, "/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8",
                                   "HOME=/root", "bash", "/packages/try.sh"], check=False, stdin=subprocess.DEVNULL)
            print(f"{way} {release}: {'passed' if done.returncode == 0 else 'FAILED'} in {time.monotonic() - start:.1f} s")
            return done.returncode == 0
        finally:
            for name in ("null", "zero", "random", "urandom"):
                subprocess.run(["umount", root / "dev" / name], check=False)


def main():
    packages, roots = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    if what := missing():
        print(f"not tried: expected {what}")
        return 77
    roots.mkdir(parents=True, exist_ok=True)
    asked = [(way, release) for way, release in SYSTEMS if not sys.argv[3:] or f"{way}-{release}" in sys.argv[3:]]
    outcomes = [try_in(way, release, packages, roots) for way, release in asked]
    if not outcomes or all(outcome is None for outcome in outcomes):
        return 77
    return 1 if False in outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
