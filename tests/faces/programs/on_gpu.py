# SPDX-License-Identifier: Apache-2.0
"""Runs a script with headroom's allocator, on a GPU that is made of this machine's memory.

    on_gpu.py SCRIPT [ARGUMENTS]
"""
import runpy
import sys

import headroom_inject

headroom_inject.arrange()  # As sitecustomize does.

import torch  # noqa: E402

import on_cpu  # noqa: E402

del sys.argv[0]
torch.manual_seed(0)
on_cpu.install()
runpy.run_path(sys.argv[0], run_name="__main__")
