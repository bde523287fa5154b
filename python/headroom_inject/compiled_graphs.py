# SPDX-License-Identifier: Apache-2.0
"""Graphs that torch.compile captures by itself (mode "reduce-overhead", "max-autotune").

It keeps their memory by functions that PyTorch has for its own allocator alone (torch/_inductor/cudagraph_trees.py asks
_cuda_checkPoolLiveAllocations and others, which raise on every allocator that is plugged in). So what is compiled runs without
graphs. torch.cuda.graph() and make_graphed_callables() work: they ask for a pool only.
"""
import functools

from headroom_inject.messages import say


def install(compile_fx):
    """Replaces what wraps a compiled function in a graph; `compile_fx` is torch._inductor.compile_fx."""
    capture = compile_fx.cudagraphify

    @functools.wraps(capture)
    def cudagraphify(model, *_, **__):
        say("torch.compile runs without graphs here: PyTorch captures them on its own allocator only")
        return model

    compile_fx.cudagraphify = cudagraphify
    # Or a backward pass of which no graph can be made asks for the graphs of the forward pass.
    compile_fx.config.triton.cudagraph_trees = False
