#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real HIP programs from PyPI (tools/faces/hip_programs.txt, installed in build/hip_programs) on the stand-in for HIP,
by `headroom run --allocator`.

    hip_programs_test.py SOURCE_FOLDER FOLDER_OF_PROGRAMS STAND_INS PROGRAM     exit 77: it is not installed

PROGRAM is bindings, llama or cupy.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import companions
from programs import tiny_llama

source, bin_folder, stand_ins = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
program = sys.argv[4]
programs = pathlib.Path(__file__).resolve().parent / "programs"
python = source / "build" / "hip_programs" / "bin" / "python"
# The folders that the package brings, the first of which tells that it is there.
PACKAGES = {"bindings": ["rocm/bindings"], "llama": ["cyllama", "cyllama_rocm.libs"], "cupy": ["cupy", "cupy_backends"]}


def find_packages():
    found = list((source / "build" / "hip_programs").glob(f"lib/python*/site-packages/{PACKAGES[program][0]}"))
    if not found:
        print(f"{program} is not in build/hip_programs; docs/hip-programs.md says how it gets there")
        sys.exit(77)
    site = found[0].parents[PACKAGES[program][0].count("/")]
    return [site / name for name in PACKAGES[program]]


def run(folder, *words, **variables):
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{folder}:{stand_ins}", "XDG_STATE_HOME": folder,
                   "FAKE_GPU_DEFERRED": "1", "FAKE_GPU_COUNT": "1", "PYTHONDONTWRITEBYTECODE": "1", **variables}
    by = [bin_folder / "headroom", "run", "--quiet", "--allocator", "--guard", "off", "--"]
    done = subprocess.run([*by, python, programs / f"hip_{program}.py", *words], timeout=300, env=environment,
                          capture_output=True, text=True, errors="replace")
    print(f"{program}: {done.stdout.strip()}")
    if done.returncode:
        print(f"{program}: exit {done.returncode}\n{done.stderr[-6000:]}")
    return done


def main():
    binaries = [str(path) for package in find_packages() for path in package.rglob("*.so*")]
    if program != "bindings" and not (shutil.which("gcc") and shutil.which("readelf")):
        print("gcc and readelf are not there, which make the libraries beside the runtime")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        # The binding asks for the name without a number, as a development package has it; llama.cpp was built for 6.
        for name in ("libamdhip64.so", "libamdhip64.so.6"):
            (pathlib.Path(folder) / name).symlink_to(stand_ins / "libamdhip64.so.7")
        if program != "bindings":
            companions.make(binaries, folder)
        if program != "llama":
            return run(folder).returncode
        model = str(pathlib.Path(folder) / "tiny.gguf")
        tiny_llama.write(model)
        answered = run(folder, model, "answers")
        refused = run(folder, model, "is_refused", HEADROOM_ALLOCATOR_CAPACITY="16 MiB")
        told = "out of memory" in refused.stderr
        if not told:
            print(f"llama.cpp did not say that it is out of memory:\n{refused.stderr[-6000:]}")
        return answered.returncode or refused.returncode or int(not told)


sys.exit(1 if main() else 0)
