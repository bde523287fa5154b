# SPDX-License-Identifier: Apache-2.0
"""Where the random generators of a process stand: PyTorch's, of the processor and of one GPU, Python's and NumPy's."""
import random
import sys

import torch


class RandomState:
    """Where they stand now. Taking it does not wait for the GPU: its generator is a seed and an offset on the host."""

    def __init__(self, device):
        """`device`: the torch.device that computes. NumPy counts if the program has imported it."""
        self._device = device if device.type == "cuda" else None
        self._torch = torch.get_rng_state()
        self._gpu = torch.cuda.get_rng_state(self._device) if self._device else None
        self._python = random.getstate()
        numpy = sys.modules.get("numpy")
        self._numpy = numpy.random.get_state() if numpy else None

    def restore(self):
        """Puts all of them back, as often as wanted."""
        torch.set_rng_state(self._torch)
        if self._device:
            torch.cuda.set_rng_state(self._gpu, self._device)
        random.setstate(self._python)
        if self._numpy is not None:
            sys.modules["numpy"].random.set_state(self._numpy)
