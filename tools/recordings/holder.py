# SPDX-License-Identifier: Apache-2.0
"""The process that fills the card of the scene "full-card", and the driver's part: asked to end (SIGTERM), it ends, and what
the driver of a real machine then lets go of is taken out of the mirrored one.

    holder.py MACHINE_FOLDER
"""
import os
import pathlib
import shutil
import signal
import sys

ROOT, PID = pathlib.Path(sys.argv[1]), os.getpid()
FREE_AGAIN = 92274688  # Bytes that the desktop goes on holding.


def end(_signal, _frame):
    shutil.rmtree(ROOT / f"proc/{PID}")
    shutil.rmtree(ROOT / f"sys/class/kfd/kfd/proc/{PID}")
    for used in ROOT.glob("sys/bus/pci/devices/*/mem_info_vram_used"):
        used.write_text(f"{FREE_AGAIN}\n", encoding="ascii")
    os._exit(0)


signal.signal(signal.SIGTERM, end)
shutil.copy(f"/proc/{PID}/stat", ROOT / f"proc/{PID}/stat")
(ROOT / ".headroom-scratch-root").touch()
(ROOT / "ready").touch()
signal.pause()
