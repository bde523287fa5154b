# SPDX-License-Identifier: Apache-2.0
"""A training job small enough to run many times, and the programs on it."""
import json
import os
import pathlib
import subprocess

CONFIG = {"model_type": "qwen2", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 257, "rms_norm_eps": 1e-6,
          "tie_word_embeddings": True}
TEXT = "\n\n".join(f"Paragraph {i}: memory is asked for in pieces, and the pieces differ in size." for i in range(40))


def write_job(folder, name="job.toml", epochs=2, seed=1, capacity="32MiB"):
    """Writes a job with its model and its text into `folder`, and returns its path."""
    folder = pathlib.Path(folder)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "text.txt").write_text(TEXT)
    (folder / name).write_text(f"""
model.config = "config.json"
compute.dtype = "fp32"
engine.kind = "headroom"
batch.micro = 2
batch.sequence = 96
device.capacity = "{capacity}"
data.path = "text.txt"
data.epochs = {epochs}
data.seed = {seed}
""")
    return folder / name


class Programs:
    """headroom and headroom-train, with a history of their own in `state`."""

    def __init__(self, folder, state):
        self.folder = pathlib.Path(folder)
        self.environment = {**os.environ, "XDG_STATE_HOME": str(state), "OMP_NUM_THREADS": "1"}

    def start(self, program, *words, **more):
        return subprocess.Popen([str(self.folder / program), *map(str, words)], env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def run(self, program, *words):
        return subprocess.run([str(self.folder / program), *map(str, words)], env=self.environment, text=True,
                              capture_output=True, timeout=600)
