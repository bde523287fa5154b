#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The versions of symbols that programs and libraries ask of the system, beside the newest that a tag of wheels allows.

    symbols.py FILE...     exit 1: one that is newer, or asks for a library beyond those that every system has

manylinux_2_35 (PEP 600): a system with glibc 2.35, as Ubuntu 22.04 has it, which was built by GCC 12 (auditwheel:
policy/manylinux-policy.json says what comes with it).
"""
import re
import subprocess
import sys

TAG = "manylinux_2_35_x86_64"
NEWEST = {"GLIBC": (2, 35), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}
LIBRARIES = re.compile(r"(libc|libm|libgcc_s|libstdc\+\+|ld-linux-x86-64|libheadroom_allocator)\.so(\.\d+)*$")


def read(*words):
    return subprocess.run(["objdump", *words], check=True, capture_output=True, text=True).stdout


def wanted_by(path):
    """Pairs of a symbol and the version that is asked for, of what is not defined in the file itself."""
    for line in read("-T", path).splitlines():
        found = re.search(r"\*UND\*\s+[0-9a-f]+\s+\(?([A-Za-z]+)_([\d.]+)\)?\s+(\S+)$", line)
        if found:
            yield found[3], found[1], tuple(int(part) for part in found[2].split("."))


def faults_of(path):
    """What keeps a file from running on every system of the tag, one text each."""
    for symbol, name, version in wanted_by(path):
        if name not in NEWEST or version > NEWEST[name]:
            yield f"{path}: expected symbols of {TAG}, found {symbol}@{name}_{'.'.join(map(str, version))}"
    for library in re.findall(r"NEEDED\s+(\S+)", read("-p", path)):
        if not LIBRARIES.match(library):
            yield f"{path}: expected libraries that every system has, found {library}"


def main():
    faults = [fault for path in sys.argv[1:] for fault in faults_of(path)]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
