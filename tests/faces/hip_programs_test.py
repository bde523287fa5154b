#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real HIP programs from PyPI (tools/faces/hip_programs.txt, installed in build/hip_programs) on the stand-in for HIP,
with libheadroom_hip.so preloaded.

    hip_programs_test.py SOURCE_FOLDER LIBHEADROOM_HIP STAND_INS     exit 77: they are not installed
"""
import os
import pathlib
import subprocess
import sys
import tempfile

source, library, stand_ins = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
programs = pathlib.Path(__file__).resolve().parent / "programs"
python = source / "build" / "hip_programs" / "bin" / "python"
if not python.exists():
    print("there is no build/hip_programs; docs/hip-programs.md says how it is made")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    # The binding asks for the name without a number, as a development package has it.
    (pathlib.Path(folder) / "libamdhip64.so").symlink_to(stand_ins / "libamdhip64.so.7")
    environment = {**os.environ, "LD_PRELOAD": str(library), "LD_LIBRARY_PATH": f"{folder}:{stand_ins}",
                   "FAKE_GPU_DEFERRED": "1"}
    run = subprocess.run([python, programs / "hip_bindings.py"], timeout=120, env=environment, capture_output=True,
                         text=True)
print(f"rocm-bindings-hip: {run.stdout.strip()}")
if run.returncode:
    print(f"rocm-bindings-hip: exit {run.returncode}\n{run.stderr}")
sys.exit(1 if run.returncode else 0)
