# SPDX-License-Identifier: Apache-2.0
"""Which GPUs JAX sees, by names that headroom knows: "cuda:0" is the first of them, whoever makes it."""
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax  # noqa: E402  (after the setting, which is read once)


def version():
    return jax.__version__


def gpus():
    return [one for one in jax.devices() if one.platform in ("gpu", "cuda", "rocm")]


def find(device):
    return jax.devices("cpu")[0] if device == "cpu" else gpus()[int(device.split(":")[1])]


def devices():
    found = []
    for index, one in enumerate(gpus()):
        limit = (one.memory_stats() or {}).get("bytes_limit", 0)
        found.append({"name": one.device_kind, "device": f"cuda:{index}", "pci": None, "free": limit, "total": limit, "target": None})
    return found
