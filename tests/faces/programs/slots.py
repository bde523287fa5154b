# SPDX-License-Identifier: Apache-2.0
"""Puts headroom's allocator under torch.cuda as `headroom run --allocator` does, and asks it for its numbers."""
import os

import torch
from headroom_inject.library import Library
from headroom_inject.torch_allocator import SLOTS, install as put_under

from counted_calls import CountedCalls

LIBRARY = os.environ["HEADROOM_TORCH_LIBRARY"]


def install():
    put_under(torch, LIBRARY)


def install_counted():
    """The same. Returns {a slot's setter: the calls of what fills it}."""
    address_of, made = Library.address, {}

    def counted_address(library, function):
        made[function] = CountedCalls(address_of(library, function))
        return made[function].address

    Library.address = counted_address
    try:
        install()
    finally:
        Library.address = address_of
    return {slot: made[function] for slot, function in SLOTS.items()}


def library():
    return Library(LIBRARY)


def counts(device=0):
    return library().counts(device)
