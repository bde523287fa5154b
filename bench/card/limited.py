# SPDX-License-Identifier: Apache-2.0
"""Runs a script on a real GPU of which tensors may take REAL_GPU bytes.

    limited.py SCRIPT [ARGUMENTS]
"""
import runpy
import sys

import on_cpu

sys.argv = sys.argv[1:]
on_cpu.install()
runpy.run_path(sys.argv[0], run_name="__main__")
