#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The real PyTorch, a build for CUDA, on GPUs made of this machine's memory, with headroom's allocator.

    pytorch_test.py SOURCE_FOLDER LIBHEADROOM_TORCH STAND_INS ENVIRONMENT CUDA [CASE]...

ENVIRONMENT is a folder of build/, CUDA the number of libcudart that its PyTorch asks for. Exit 77: there is no such environment.
"""
import os
import pathlib
import subprocess
import sys

source, library, stand_ins = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
programs = pathlib.Path(__file__).resolve().parent / "programs"
environment_name, cuda, *chosen = sys.argv[4:]
python = source / "build" / environment_name / "bin" / "python"
if not python.exists():
    print(f"there is no build/{environment_name}; ./dev faces makes it")
    sys.exit(77)

# What is run, and with what in its environment besides.
CASES = {
    "every slot": ("every_slot.py", {"FAKE_GPU_DEFERRED": "1", "FAKE_GPU_POLLS": "1000000"}),
    "functions that torch.compile would capture": ("compiled_graphs.py", {}),
    "training on CUDA's memory": ("training.py", {"HEADROOM_ALLOCATOR_BACKEND": "cuda"}),
    "training on a GPU that defers": ("training.py", {"FAKE_GPU_DEFERRED": "1"}),
    "training on the host's memory": ("training.py", {"HEADROOM_ALLOCATOR_BACKEND": "host",
                                                      "HEADROOM_ALLOCATOR_CAPACITY": "256 MiB"}),
}

failed = []
for name in chosen or CASES:
    program, variables = CASES[name]
    environment = {
        **os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{programs}:{source / 'python'}",
        "LD_PRELOAD": f"{stand_ins / f'libcudart.so.{cuda}'}:{stand_ins / 'libcuda.so.1'}",
        "HEADROOM_TORCH_LIBRARY": str(library), "HEADROOM_ALLOCATOR_SELF_TESTS": str(source / "absent.json"), **variables,
    }
    run = subprocess.run([python, programs / program], timeout=600, env=environment, capture_output=True, text=True)
    print(f"{name}: {run.stdout.strip()}")
    if run.returncode:
        print(f"{name}: exit {run.returncode}\n{run.stderr}")
        failed.append(name)
sys.exit(1 if failed else 0)
