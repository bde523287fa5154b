# SPDX-License-Identifier: Apache-2.0
"""Which modules compute as a library that is known does, and which in a way of the script's own: its own classes, methods that it has
put in the place of a library's, and functions that it has put into a library's modules (written_in)."""
import collections.abc
import sys

import torch

from headroom_inject.not_kept import NotKept
from headroom_inject.written_in import is_compiled, is_foreign, is_foreign_name, is_of_library

# Methods that no forward pass calls, and that scripts like to replace.
_ASIDE = frozenset(("generate", "save_pretrained", "push_to_hub", "state_dict", "load_state_dict", "train", "eval", "__repr__", "__str__",
                    "print_trainable_parameters", "__init__", "__class_getitem__", "__init_subclass__"))
_ALWAYS = ("torch.nn.functional", "torch.nn.modules.module", "torch._tensor", "torch.utils.checkpoint", "transformers.loss.loss_utils",
           "transformers.activations", "transformers.modeling_utils", "transformers.masking_utils", "transformers.modeling_layers")


def _classes(module):
    return [one for one in type(module).__mro__ if one is not object]


def _foreign_method(kind):
    """The name of a method of this class that was replaced; None if there is none."""
    for name, value in vars(kind).items():
        if name not in _ASIDE and is_foreign(value):
            return name
    return None


def _why_unknown(module, seen):
    """None if the module is known. `seen`: class → what was found."""
    for kind in _classes(module):
        if kind not in seen:
            seen[kind] = None
            if kind is torch.nn.Module or is_of_library(kind.__module__):
                seen[kind] = _foreign_method(kind)
            elif issubclass(kind, torch.nn.Module) or is_foreign_name(kind.__module__):  # Or else it adds methods that others know.
                seen[kind] = f"{kind.__name__} of the script's own"
        if seen[kind] is not None:
            return seen[kind]
    for name, value in vars(module).items():
        if name in _ASIDE or isinstance(value, torch.nn.Module):
            continue
        if is_foreign(value):
            return name
        if name == "_hf_hook" and any(is_foreign(one.pre_forward) or is_foreign(one.post_forward)
                                      for one in (value, *getattr(value, "hooks", ()))):
            return "hook of accelerate's kind"
    return None


def unknown_modules(model):
    """Pairs of names and modules."""
    seen = {}
    return [(name, one) for name, one in model.named_modules() if _why_unknown(one, seen) is not None]


def is_all_known(model):
    return not unknown_modules(model)


def _foreign_functions(name):
    """Names of functions in this module, or in its tables, that are the script's own."""
    for key, value in list(vars(sys.modules[name]).items()):
        if is_foreign(value):
            yield key
        elif isinstance(value, collections.abc.Mapping) and key != "__builtins__":
            try:
                entries = list(value.items())
            except Exception:  # Tables that import what they are asked for.
                continue
            for entry, one in entries:
                if is_foreign(one):
                    yield f"{key}[{entry!r}]"


def _check_functions(model):
    """Raises NotKept if a function that the modules' forward passes look up was replaced."""
    names = {kind.__module__ for module in model.modules() for kind in _classes(module) if is_of_library(kind.__module__)}
    for name in sorted(names | set(_ALWAYS)):
        if name in sys.modules:
            for found in _foreign_functions(name):
                raise NotKept(f"nobody knows what {name}.{found} does, a function of the script's own")
    for kind, method in ((torch.Tensor, "backward"), (torch.autograd, "backward"), (torch.autograd, "grad")):
        if is_foreign(getattr(kind, method)):
            raise NotKept(f"nobody knows what {kind.__name__}.{method} does, a function of the script's own")


def check_all_known(model):
    """Raises NotKept with the first thing that is not."""
    seen = {}
    for name, one in model.named_modules():
        why = _why_unknown(one, seen)
        if why is not None:
            raise NotKept(f"nobody knows what the forward pass of {name or 'the model'} does, a {type(one).__name__}: {why}")
        if is_compiled(vars(one).get("forward")) or is_compiled(type(one).forward) or getattr(one, "_compiled_call_impl", None) is not None:
            raise NotKept("a compiled model (torch.compile) draws random numbers out of sight")
    _check_functions(model)
