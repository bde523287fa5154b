#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages in bare systems that mmdebstrap makes: as somebody has them who has nothing else of headroom.

    bare_systems.py PACKAGES ROOTS [NAME]...     NAME: deb-bookworm, wheel-trixie, refused-bullseye …; all without

ROOTS keeps each release as an archive, made once. Asks for root, mmdebstrap, chroot and the archives of the distributions; exit 77
says which of them is missing. Ubuntu's releases ask for its keys too (KEYS below), which its package ubuntu-keyring carries.
"""
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
DEBIAN = "http://deb.debian.org/debian"
UBUNTU = "http://archive.ubuntu.com/ubuntu"
KEYS = pathlib.Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg")
RELEASES = {"bookworm": DEBIAN, "trixie": DEBIAN, "forky": DEBIAN, "sid": DEBIAN, "jammy": UBUNTU, "noble": UBUNTU}
TOO_OLD = {"bullseye": DEBIAN}  # Its glibc is older than what the packages ask for.
SYSTEMS = ([(way, release) for release in RELEASES for way in ("deb", "wheel")] + [("refused", release) for release in TOO_OLD])
# What shows pages and completes, and what pip needs. Nothing of it is needed by headroom.
INCLUDED = "man-db,bash-completion,zsh,fish,python3-venv"
# Of a mirror that is copied only now and then, the index of forky and sid has expired. Its signature is checked nevertheless.
OLD_MIRROR = ('--aptopt=Acquire::Check-Valid-Until "false"',)
FILES = ("null", "zero", "random", "urandom", "tty")  # All that is read of /dev.


def missing():
    if os.geteuid() != 0:
        return "root, which chroot needs"
    return next((name for name in ("mmdebstrap", "chroot") if shutil.which(name) is None), None)


def archive_of(release, roots):
    """The release as an archive, made if it is not there. None where it could not be made, and why was said."""
    archive = roots / f"{release}.tar"
    if archive.exists():
        return archive
    mirror = {**RELEASES, **TOO_OLD}[release]
    of_ubuntu = []
    if mirror == UBUNTU:
        if not KEYS.exists():
            print(f"{release}: not tried: expected Ubuntu's keys at {KEYS}, found none")
            return None
        of_ubuntu = [f"--keyring={KEYS}", "--components=main,universe"]
    unfinished = archive.with_suffix(".part.tar")
    made = subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", *OLD_MIRROR, *of_ubuntu, f"--include={INCLUDED}", release,
                           unfinished, mirror], check=False)
    if made.returncode != 0:
        print(f"{release}: not tried: {mirror} does not answer, or mmdebstrap failed")
        return None
    unfinished.rename(archive)
    return archive


@contextlib.contextmanager
def devices(root):
    """What of this machine's /dev is read, and terminals for the shells that are typed to; and the kernel's own files, without
    which `headroom check` says that it could not look."""
    mounted = []
    try:
        for kind, folder in (("proc", "proc"), ("sysfs", "sys")):
            subprocess.run(["mount", "-t", kind, "-o", "ro", kind, root / folder], check=True)
            mounted.append(root / folder)
        (root / "dev/fd").symlink_to("/proc/self/fd")
        (root / "dev/ptmx").symlink_to("pts/ptmx")
        terminals = root / "dev/pts"
        terminals.mkdir()
        subprocess.run(["mount", "-t", "devpts", "-o", "ptmxmode=0666", "devpts", terminals], check=True)
        mounted.append(terminals)
        for name in FILES:
            place = root / "dev" / name
            place.touch()
            subprocess.run(["mount", "--bind", f"/dev/{name}", place], check=True)
            mounted.append(place)
        yield
    finally:
        for place in mounted:
            subprocess.run(["umount", place], check=False)


def try_in(way, release, packages, roots):
    """Whether everything is as expected; None where it could not be tried."""
    archive = archive_of(release, roots)
    if archive is None:
        return None
    with tempfile.TemporaryDirectory(prefix="headroom-bare-", dir=roots) as folder:
        root = pathlib.Path(folder)
        subprocess.run(["tar", "-xf", archive, "-C", root, "--exclude=./dev/*"], check=True)
        with devices(root):
            shutil.copytree(packages, root / "packages")
            for path in (*HERE.glob("in_bare_system*.sh"), HERE / "completed.zsh", SOURCE / "tests/python/examples.py",
                         SOURCE / "docs/python.md"):
                shutil.copy(path, root / "packages")
            start = time.monotonic()
            done = subprocess.run(["chroot", root, "/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8",
                                   "HOME=/root", "bash", f"/packages/in_bare_system_{way}.sh"], check=False,
                                  stdin=subprocess.DEVNULL)
            print(f"{way}-{release}: {'passed' if done.returncode == 0 else 'FAILED'} in {time.monotonic() - start:.1f} s", flush=True)
            return done.returncode == 0


def main():
    packages, roots = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    if what := missing():
        print(f"not tried: expected {what}")
        return 77
    roots.mkdir(parents=True, exist_ok=True)
    names = [f"{way}-{release}" for way, release in SYSTEMS]
    if unknown := [name for name in sys.argv[3:] if name not in names]:
        sys.exit(f"expected {', '.join(names)}; found {', '.join(unknown)}")
    outcomes = [try_in(way, release, packages, roots) for way, release in SYSTEMS
                if not sys.argv[3:] or f"{way}-{release}" in sys.argv[3:]]
    if all(outcome is None for outcome in outcomes):
        return 77
    return 1 if False in outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
