# SPDX-License-Identifier: Apache-2.0
"""Which GPUs TensorFlow sees, by names that headroom knows: "cuda:0" is the first of them, whoever makes it."""
import os

os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")  # Else it takes all of a GPU at once.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import tensorflow as tf  # noqa: E402  (after the settings, which are read once)


def version():
    return tf.__version__


def place(device):
    return "CPU:0" if device == "cpu" else "GPU:" + device.split(":")[1]


def devices():
    found = []
    for index, one in enumerate(tf.config.list_physical_devices("GPU")):
        details = tf.config.experimental.get_device_details(one)
        found.append({"name": details.get("device_name", "a GPU"), "device": f"cuda:{index}", "pci": None, "free": 0, "total": 0,
                      "target": None})
    return found
