# SPDX-License-Identifier: Apache-2.0
"""Puts headroom's allocator into a program's PyTorch. `headroom run --allocator` sets what this reads:

    HEADROOM_TORCH_LIBRARY   the path of libheadroom_torch.so; without it nothing is done

Nothing of PyTorch is imported before the program does so itself.
"""
import os

from headroom_inject.after_import import call_after_import


def arrange():
    """Has the allocator installed when the program imports torch."""
    library = os.environ.get("HEADROOM_TORCH_LIBRARY", "")
    if library:
        call_after_import("torch", lambda torch: _install(torch, library))


def _install(torch, library):
    from headroom_inject.torch_allocator import install  # Costs a program without PyTorch nothing.
    install(torch, library)
