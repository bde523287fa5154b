# SPDX-License-Identifier: Apache-2.0
"""What each .deb is: its name, its parts, its text, and what Debian's tools read about it (deb-control(5), deb-shlibs(5))."""
import dataclasses
import email.utils
import hashlib


@dataclasses.dataclass(frozen=True)
class Package:
    name: str
    components: tuple
    section: str
    summary: str
    text: str
    needs: tuple = ()
    architecture: str = "amd64"
    multi_arch: str = ""
    more: dict = dataclasses.field(default_factory=dict)  # Files beside `control`, by name.
    overrides: str = ""


def _shared_library(part):
    """What dpkg reads about libheadroom_PART: who needs it needs its package, and ldconfig runs when it comes and goes."""
    return {"shlibs": f"libheadroom_{part} 1 libheadroom-{part}1\n", "triggers": "activate-noawait ldconfig\n"}


def _compiled_python(folder):
    """Python writes what it compiles beside the sources, and dpkg knows nothing of it."""
    return {"prerm": f"#!/bin/sh\nset -e\nfind {folder} -type d -name __pycache__ -prune -exec rm -rf {{}} +\n"}


PACKAGES = (
    Package(
        "headroom", ("headroom",), "utils",
        "gets machine-learning jobs running on the AMD GPU a person has",
        "It finds out why a job cannot use the memory or the GPU that is there,\n"
        "predicts what a job will take before it runs, mends what is in the way\n"
        "and supervises jobs. It runs without a GPU too, and without privileges.",
        needs=("libheadroom-allocator1 (= {version})",), more=_compiled_python("/usr/share/headroom/python"),
        overrides="# These are linked in on purpose: one package then installs on Debian 12, 13 and Ubuntu 22.04 and later,\n"
                  "# whose libraries have different names (docs/decisions/0026).\n"
                  "headroom: embedded-library *libyaml*\n"
                  "headroom: embedded-library *ncurses*\n"),
    Package(
        "headroom-train", ("train",), "science", "trainer with a hard memory cap",
        "headroom-train fine-tunes language models inside a memory limit that it\n"
        "never exceeds, and writes what Hugging Face's libraries read. `headroom\n"
        "run` starts it.",
        needs=("headroom (= {version})",)),
    Package(
        "libheadroom-allocator1", ("allocator",), "libs", "memory allocator for GPUs, with a C interface",
        "A caching allocator for the memory of GPUs that plans for jobs that\n"
        "repeat themselves. With it come its forms for PyTorch, ONNX Runtime and\n"
        "HIP programs, which `headroom run --allocator` puts into them.",
        multi_arch="same",
        more=_shared_library("allocator")),
    Package(
        "libheadroom-allocator-dev", ("allocator-development",), "libdevel", "header of headroom's memory allocator",
        "What it takes to build programs that call headroom's allocator for GPUs\n"
        "through its C interface.",
        needs=("libheadroom-allocator1 (= {version})",), multi_arch="same"),
    Package(
        "libheadroom-averager1", ("averager",), "libs", "averages gradients of processes on one machine",
        "Averages the gradients of several processes on one machine through shared\n"
        "memory: one result whatever the timing, and a process that dies or hangs\n"
        "does not hang the others.",
        multi_arch="same", more=_shared_library("averager")),
    Package(
        "libheadroom-averager-dev", ("averager-development",), "libdevel", "header of headroom's averager of gradients",
        "What it takes to build programs that average gradients by headroom's C\n"
        "library.",
        needs=("libheadroom-averager1 (= {version})",), multi_arch="same"),
    Package(
        "python3-headroom", ("python",), "python", "headroom from Python",
        "What headroom says of a machine or a job, as dictionaries; its allocator\n"
        "in a script's PyTorch; and a callback for Hugging Face's Trainer.",
        needs=("python3 (>= 3.9)", "headroom (= {version})"), architecture="all",
        more=_compiled_python("/usr/lib/python3/dist-packages/headroom")),
)

COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: headroom
Comment: The notices of third-party code that is linked in are in
 /usr/share/doc/headroom/third-party of the package headroom.

Files: *
Copyright: 2026 the authors of headroom
License: Apache-2.0
 On Debian systems the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
"""


@dataclasses.dataclass(frozen=True)
class Release:
    version: str
    maintainer: str  # NAME <ADDRESS>
    epoch: int       # Seconds since 1970.


def control(package, release, needs, size):
    """`needs`: what its programs and libraries need. `size`: KiB."""
    needs = sorted(needs) + [one.format(version=release.version) for one in package.needs]
    lines = [f"Package: {package.name}", "Source: headroom" if package.name != "headroom" else "", f"Version: {release.version}",
             f"Architecture: {package.architecture}", f"Maintainer: {release.maintainer}", f"Installed-Size: {size}",
             f"Depends: {', '.join(needs)}" if needs else "", f"Multi-Arch: {package.multi_arch}" if package.multi_arch else "",
             f"Section: {package.section}", "Priority: optional", f"Description: {package.summary}"]
    text = [f" {line}" for line in package.text.splitlines()]
    return "\n".join([line for line in lines if line] + text) + "\n"


def changelog(release):
    """As Debian writes it; what changed is in CHANGELOG.md."""
    when = email.utils.formatdate(release.epoch).replace("-0000", "+0000")
    return (f"headroom ({release.version}) unstable; urgency=medium\n\n"
            f"  * Version {release.version}; what it brings is in CHANGELOG.md.gz of the\n    package headroom.\n\n"
            f" -- {release.maintainer}  {when}\n")


def md5(path):
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
