# SPDX-License-Identifier: Apache-2.0
"""Graphs that torch.compile captures by itself (mode "reduce-overhead", "max-autotune", backend "cudagraphs").

It keeps their memory by functions that PyTorch has for its own allocator alone (torch/_inductor/cudagraph_trees.py asks
_cuda_checkPoolLiveAllocations and others, which raise on every allocator that is plugged in). So what is compiled runs without
graphs, as if nobody had asked for them. torch.cuda.graph() and make_graphed_callables() work: they ask for a pool only.

It is decided before anything is compiled. Code that was compiled for a graph leaves it to the graph to copy inputs that are not
aligned, and to the manager of the graphs to hear of backward passes without one.
"""
import functools
import inspect

from headroom_inject.messages import say

_SETTING = "triton.cudagraphs"  # So named in torch/_inductor/config.py since before PyTorch 2.4.


def _say():
    say("torch.compile runs without graphs here: PyTorch captures them on its own allocator only")


def install(compile_fx):
    """`compile_fx` is torch._inductor.compile_fx. Raises, and changes nothing, if it is not as expected."""
    compile_whole = compile_fx.compile_fx
    signature = inspect.signature(compile_whole)
    if "config_patches" not in signature.parameters:
        raise TypeError(f"expected compile_fx(..., config_patches), found compile_fx{signature}")
    _ = compile_fx.config.triton.cudagraphs  # Raises AttributeError where the setting has another name.
    decide = getattr(compile_fx, "create_compiler_config_extra", None)  # Where a context manager may ask for graphs too.

    @functools.wraps(compile_whole)
    def compile_without_graphs(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        patches = given.arguments.get("config_patches") or {}
        if patches.get(_SETTING, compile_fx.config.triton.cudagraphs):
            _say()
            given.arguments["config_patches"] = {**patches, _SETTING: False}
        return compile_whole(*given.args, **given.kwargs)

    compile_fx.compile_fx = compile_without_graphs
    if decide is not None:
        compile_fx.create_compiler_config_extra = _deciding_against(decide)


def _deciding_against(decide):
    @functools.wraps(decide)
    def decide_without_graphs(*args, **kwargs):
        found = decide(*args, **kwargs)
        if found.cudagraphs:
            _say()
            found.cudagraphs.value = False
        return found

    return decide_without_graphs


def install_backend(module):
    """`module` is torch._dynamo.backends.cudagraphs. Raises, and changes nothing, if it is not as expected."""
    capture = module.cudagraphs

    @functools.wraps(capture)
    def run_as_it_is(model, *_, **__):
        _say()
        return model

    module.cudagraphs = run_as_it_is
