# SPDX-License-Identifier: Apache-2.0
"""Where functions were written. A function's own globals say it: functools.wraps() copies __module__, so that a script's function around
a library's bears the library's name.

What libraries that are known have written keeps no values from call to call but in buffers, writes to nothing that it is given, and
leaves nothing behind. Whether it computes rows by themselves is another question (rows_alone).
"""
import functools
import sys
import types

_LIBRARIES = frozenset(("torch", "transformers", "peft", "diffusers", "timm", "torchvision", "torchaudio", "accelerate", "bitsandbytes"))
# What modules of those libraries have among their functions besides.
_BESIDE = frozenset((*sys.builtin_module_names, *sys.stdlib_module_names, "builtins", "headroom_inject", "numpy", "einops", "packaging",
                     "huggingface_hub", "safetensors", "tokenizers", "typing_extensions", "flash_attn", "xformers", "triton", "PIL",
                     "causal_conv1d", "mamba_ssm", "fla", "kernels", "scipy", "sentencepiece", "tqdm", "regex"))
_KINDS = (types.FunctionType, types.MethodType, functools.partial, staticmethod, classmethod, property)


def is_of_library(name):
    """`name`: of a module."""
    return str(name or "").split(".")[0] in _LIBRARIES


def is_foreign_name(name):
    """Whether a module of this name is neither of a library that is known nor of what comes with Python and those libraries."""
    top = str(name or "builtins").split(".")[0].lstrip("_")
    return top not in _LIBRARIES and top not in _BESIDE and f"_{top}" not in _BESIDE


def is_foreign(value):
    """Whether this is a function of which a part was written neither in a library that is known nor in what comes with Python, or an
    object that can be called and whose class was. Anything else is not."""
    seen, waiting = set(), [value]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, types.FunctionType) and is_foreign_name(one.__globals__.get("__name__")):
            return True
        inside = _inside(one)
        if inside is None:
            if callable(one) and not isinstance(one, type) and is_foreign_name(type(one).__module__):
                return True
            inside = ()
        around = vars(one).get("__wrapped__") if isinstance(getattr(one, "__dict__", None), dict) else None
        waiting += [each for each in (*inside, around) if isinstance(each, _KINDS)]
    return False


def _inside(value):
    """What a function of one of these kinds calls, as far as can be told; None for what is no function."""
    if isinstance(value, (types.MethodType, staticmethod, classmethod)):
        return (value.__func__,)
    if isinstance(value, property):
        return (value.fget, value.fset)
    if isinstance(value, functools.partial):
        return (value.func, *value.args, *value.keywords.values())
    if isinstance(value, types.FunctionType):
        return _in_closure(value)
    return None


def _in_closure(function):
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # Not filled yet.
            pass


def is_compiled(value):
    """Whether a function is one that torch.compile made."""
    return any(hasattr(value, name) for name in ("_torchdynamo_orig_callable", "_torchdynamo_inline")) or (
        hasattr(getattr(value, "__func__", None), "_torchdynamo_orig_callable"))
