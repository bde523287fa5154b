# SPDX-License-Identifier: Apache-2.0
"""ROCm's libraries beside its runtime (hipBLAS, rocBLAS, RCCL ...), as far as programs must find them to be loaded: each
function answers 0 and does nothing, as the kernels of the stand-in for HIP do."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "venv"))
import stand_ins  # noqa: E402  (it lies elsewhere)

LIBRARY = re.compile(r"lib(hip|roc|rccl)\w*\.so(\.\d+)*$")
FUNCTION = re.compile(r"(hip(blas|fft|rand|sparse|solver)|roc|nccl)\w+$")


def make(binaries, folder):
    """Makes in `folder` what the binaries need of ROCm beside the runtime."""
    needed, functions, owners = set(), {}, {}
    for binary in binaries:
        needed.update(name for name in stand_ins.needed_by(binary) if LIBRARY.match(name))
        functions.update((name, version) for name, version in stand_ins.wanted_by(binary).items()
                         if FUNCTION.match(name))
        owners.update(stand_ins.versions_from(binary))
    parts = {name: {} for name in sorted(needed)}
    for name, version in functions.items():
        owner = owners.get(version) if version else next(iter(parts))  # The loader looks through all of them.
        if owner in parts:
            parts[owner][name] = version
    for name, own in parts.items():
        stand_ins.make(pathlib.Path(folder) / name, own, answer=0)
