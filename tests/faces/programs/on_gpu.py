# SPDX-License-Identifier: Apache-2.0
"""Runs a script of this folder with headroom's allocator, on a GPU that is made of this machine's memory.

    on_gpu.py SCRIPT [ARGUMENTS]
"""
import pathlib
import runpy
import sys

import headroom_inject

headroom_inject.arrange()  # As sitecustomize does.

import torch  # noqa: E402

import on_cpu  # noqa: E402

sys.argv = [str(pathlib.Path(__file__).parent / sys.argv[1]), *sys.argv[2:]]
torch.manual_seed(0)
on_cpu.install()
runpy.run_path(sys.argv[0], run_name="__main__")
