#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes stand-ins for NVIDIA's libraries, so that PyTorch's wheel from PyPI loads on a CPU without them.

    stand_ins.py FOLDER_OF_TORCHS_LIBRARIES

Each library that one of PyTorch's needs and that is not there gets a stand-in beside it, where the loader looks last.
A stand-in has the functions that PyTorch's libraries ask of it, with the versions that they ask for; each returns 100,
which is cudaErrorNoDevice (CUDA's driver_types.h), and those that return a text, which PyTorch puts into its errors,
return one. PyTorch then finds no GPU. Needs gcc and readelf.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

# What NVIDIA's libraries are called, and their functions.
LIBRARY = re.compile(r"lib(cu|nv|nccl)[A-Za-z_]*\.so(\.\d+)*$")
FUNCTION = re.compile(r"(_*cu[a-zA-Z]|_*nv[a-zA-Z]|p?nccl[A-Z])")
# Those that return a text: cudaGetErrorString, cublasGetStatusName, … The driver's, cuGetErrorString, returns a number.
RETURNS_TEXT = re.compile(r"(?!cuGet)\w+Get(Error|Status)(String|Name)$|ncclGetLastError$")


def readelf(*words):
    return subprocess.run(["readelf", "-W", *words], check=True, capture_output=True, text=True).stdout


def needed_by(library):
    return re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("-d", library))


def wanted_by(library):
    """The functions that it does not have itself: {name: version, or "" without}."""
    rows = re.findall(r"\bUND (\S+)", readelf("--dyn-syms", library))
    return dict((row.split("@")[0], row.partition("@")[2]) for row in rows)


def versions_from(library):
    """{version: the library that it is asked of}."""
    owner, found = "", {}
    for line in readelf("-V", library).splitlines():
        if match := re.search(r"\bFile: (\S+)", line):
            owner = match[1]
        elif (match := re.search(r"\bName: (\S+)", line)) and owner:
            found[match[1]] = owner
    return found


def source(names):
    return "".join(f'const char* {name}(void) {{ return "no GPU: a stand-in"; }}\n' if RETURNS_TEXT.match(name) else
                   f"int {name}(void) {{ return 100; }}\n" for name in sorted(names))


def version_script(functions):
    versions = sorted(set(functions.values()) - {""})
    return "".join(f"{version} {{ global: {' '.join(n + ';' for n in sorted(functions) if functions[n] == version)} }};\n"
                   for version in versions)


def make(path, functions):
    with tempfile.TemporaryDirectory(prefix="headroom-stand-in-") as folder:
        code, script = pathlib.Path(folder, "code.c"), pathlib.Path(folder, "versions")
        code.write_text(source(functions))
        script.write_text(version_script(functions))
        words = ["gcc", "-w", "-shared", "-fPIC", code, "-o", path, f"-Wl,-soname,{path.name}"]
        if script.read_text():
            words.append(f"-Wl,--version-script={script}")
        subprocess.run(words, check=True)


def main():
    if len(sys.argv) != 2:
        sys.exit(f"stand_ins.py: expected one folder, found {len(sys.argv) - 1} arguments; ./dev venv calls it rightly")
    folder = pathlib.Path(sys.argv[1])
    libraries = sorted(folder.glob("*.so"))
    missing = sorted({name for library in libraries for name in needed_by(library)
                      if LIBRARY.match(name) and not (folder / name).exists()})
    wanted, owners = {}, {}
    for library in libraries:
        wanted.update(wanted_by(library))
        owners.update(versions_from(library))
    stand_ins = {name: {} for name in missing}
    for function, version in wanted.items():
        if owners.get(version) in stand_ins:
            stand_ins[owners[version]][function] = version
        elif not version and FUNCTION.match(function):
            stand_ins[missing[0]][function] = ""  # The loader looks through all of them.
    for name, functions in stand_ins.items():
        make(folder / name, functions)
    print(f"stand-ins for {len(stand_ins)} libraries, {sum(map(len, stand_ins.values()))} functions")


if __name__ == "__main__":
    main()
