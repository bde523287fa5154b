# SPDX-License-Identifier: Apache-2.0
"""Puts headroom's allocator under torch.cuda as `headroom run --allocator` does, and asks it for its numbers."""
import os

import torch
from headroom_inject.library import Library
from headroom_inject.torch_allocator import install as put_under

LIBRARY = os.environ["HEADROOM_TORCH_LIBRARY"]


def install():
    put_under(torch, LIBRARY)


def counts(device=0):
    return Library(LIBRARY).counts(device)
