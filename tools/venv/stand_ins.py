#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes stand-ins for NVIDIA's libraries, and for ROCm's beside HIP, so that wheels from PyPI load without them.

    stand_ins.py FOLDER_OF_A_WHEELS_LIBRARIES

Each library that one of the folder's needs and that is not there gets a stand-in beside it, where the loader looks last.
A stand-in has the functions that the folder's libraries ask of it, with the versions that they ask for. NVIDIA's return 100,
which is cudaErrorNoDevice (CUDA's driver_types.h), and those that return a text, which PyTorch puts into its errors,
return one: PyTorch then finds no GPU. ROCm's return 0, success, and do nothing: for programs on tests/stand_ins, whose
libamdhip64 has a GPU. Needs gcc and readelf.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

# What the libraries are called, and their functions.
LIBRARY = re.compile(r"lib((cu|nv|nccl)[A-Za-z_]*|hip(blas|fft)|MIOpen|rocm_smi64|roctracer64)\.so(\.\d+)*$")
ROCM_FUNCTION = re.compile(r"hip(blas|fft)[A-Z]|rocblas_|rsmi_|roctracer_|miopen[A-Z]")
FUNCTION = re.compile(r"_*cu[a-zA-Z]|_*nv[a-zA-Z]|p?nccl[A-Z]|" + ROCM_FUNCTION.pattern)
# Those that return a text: cudaGetErrorString, cublasGetStatusName, … The driver's, cuGetErrorString, returns a number.
RETURNS_TEXT = re.compile(r"(?!cuGet)\w+Get(Error|Status)(String|Name)$|ncclGetLastError$")
NO_DEVICE = 100  # cudaErrorNoDevice.


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


def function(name, answer):
    if RETURNS_TEXT.match(name) or name == "miopenGetErrorString":
        return f'const char* {name}(void) {{ return "no GPU: a stand-in"; }}\n'
    return f"int {name}(void) {{ return {0 if ROCM_FUNCTION.match(name) else answer}; }}\n"


def source(names, answer):
    return "".join(function(name, answer) for name in sorted(names))


def version_script(functions):
    versions = sorted(set(functions.values()) - {""})
    return "".join(f"{version} {{ global: {' '.join(n + ';' for n in sorted(functions) if functions[n] == version)} }};\n"
                   for version in versions)


def make(path, functions, answer=NO_DEVICE):
    with tempfile.TemporaryDirectory(prefix="headroom-stand-in-") as folder:
        code, script = pathlib.Path(folder, "code.c"), pathlib.Path(folder, "versions")
        code.write_text(source(functions, answer))
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
