# SPDX-License-Identifier: Apache-2.0
"""Which modules compute as a library that is known does, and which in a way of the script's own.

What is known keeps no values from call to call but in its buffers, writes to nothing that it is given, and leaves nothing behind.
Whether it computes rows by themselves is another question (rows_alone).
"""
import functools
import inspect

from headroom_inject.not_kept import NotKept

_LIBRARIES = ("torch", "transformers", "peft", "diffusers", "timm", "torchvision", "torchaudio", "accelerate", "bitsandbytes")


def _is_of_library(name):
    return (name or "").split(".")[0] in _LIBRARIES


@functools.lru_cache(maxsize=4096)
def _is_known_class(kind, forward):
    """`forward` belongs to the key: scripts replace it on a library's class."""
    found = inspect.unwrap(forward)
    return _is_of_library(kind.__module__) and _is_of_library(getattr(found, "__module__", None))


def _is_known(module):
    kind = type(module)
    if not _is_known_class(kind, kind.forward):
        return False
    own = vars(module).get("forward")  # accelerate puts one on the module, around the class's.
    return own is None or _is_of_library(getattr(inspect.unwrap(own), "__module__", None))


def is_all_known(model):
    return all(map(_is_known, model.modules()))


def check_all_known(model):
    """Raises NotKept with the first that is not."""
    for name, one in unknown_modules(model):
        raise NotKept(f"nobody knows what the forward pass of {name or 'the model'} does, a {type(one).__name__} of the script's own")


def unknown_modules(model):
    """Pairs of names and modules."""
    return [(name, one) for name, one in model.named_modules() if not _is_known(one)]
