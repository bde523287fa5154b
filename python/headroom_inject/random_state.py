# SPDX-License-Identifier: Apache-2.0
"""Where the random generators of a process stand: PyTorch's, of the processor and of one GPU, Python's and NumPy's."""
import random
import sys

import torch

from headroom_inject.not_kept import NotKept


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

    def check_numpy(self):
        """Raises NotKept if NumPy's generator has moved since restore(): what it drew for some rows is not what it draws for all."""
        if self._numpy is None:
            return
        name, keys, place, *_ = sys.modules["numpy"].random.get_state()
        if name != self._numpy[0] or place != self._numpy[2] or (keys != self._numpy[1]).any():
            raise NotKept("its forward pass draws random numbers by NumPy, so that those of a part are not those of the whole")

    def restore(self):
        """Puts all of them back, as often as wanted."""
        torch.set_rng_state(self._torch)
        if self._device:
            torch.cuda.set_rng_state(self._gpu, self._device)
        random.setstate(self._python)
        if self._numpy is not None:
            sys.modules["numpy"].random.set_state(self._numpy)
