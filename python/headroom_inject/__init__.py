# SPDX-License-Identifier: Apache-2.0
"""Puts headroom's allocator into a program's PyTorch and ONNX Runtime, and its averager into torch.distributed. `headroom run
--allocator` and `--ranks` (ranks.py) set what this reads:

    HEADROOM_TORCH_LIBRARY   the path of libheadroom_torch.so; without it PyTorch is left alone
    HEADROOM_ONNX_LIBRARY    the path of libheadroom_onnx.so; without it ONNX Runtime is left alone
    HEADROOM_SPLIT           off: a training step that runs out of memory fails, as without headroom; on, or nothing: a Trainer's is
                             redone in parts; loops: those of the script's own loops too, which is not safe (docs/split.md)

Nothing of either is imported before the program does so itself.
"""
import os

from headroom_inject.after_import import call_after_import
from headroom_inject.messages import say


def arrange():
    """Has the allocator installed when the program imports torch or onnxruntime."""
    library = os.environ.get("HEADROOM_TORCH_LIBRARY", "")
    if library:
        call_after_import("torch", lambda torch: install(torch, library, _split_setting()))
    onnx_library = os.environ.get("HEADROOM_ONNX_LIBRARY", "")
    if onnx_library:
        call_after_import("onnxruntime.capi.onnxruntime_inference_collection",
                          lambda collection: _follow_sessions(collection, onnx_library))
    if os.environ.get("HEADROOM_AVERAGER_LIBRARY"):
        call_after_import("torch.distributed", _follow_ranks)


_installed = []  # The library in PyTorch, once there is one.


def is_installed():
    """Whether headroom's allocator is PyTorch's in this process."""
    return bool(_installed)


def install(torch, library, split):
    """Makes the allocator in `library` PyTorch's, and has steps split as HEADROOM_SPLIT would say it. Raises if the allocator
    is not PyTorch's then."""
    from headroom_inject.torch_allocator import install as put_in  # Costs a program without PyTorch nothing.
    put_in(torch, library)
    _installed.append(library)
    call_after_import("torch._inductor.compile_fx", _run_without_captured_graphs)
    call_after_import("torch._dynamo.backends.cudagraphs", _run_without_captured_graphs)
    if split != "off":
        call_after_import("transformers.trainer", _follow_trainer)
    if split == "loops":
        try:
            _follow_loops(torch, library)
        except Exception as error:
            say(f"training loops run as they are: {error}")


def _follow_ranks(distributed):
    from headroom_inject.ranks import install
    install(distributed)


def _follow_sessions(collection, library):
    from headroom_inject.onnxruntime_sessions import install
    try:
        install(collection, library)
    except Exception as error:
        say(f"onnxruntime runs as it is, without headroom: {error}")


def _split_setting():
    setting = os.environ.get("HEADROOM_SPLIT", "") or "on"
    if setting in ("on", "off", "loops"):
        return setting
    say(f"HEADROOM_SPLIT: expected on, off or loops, found {setting}; steps are not split")
    return "off"


def _run_without_captured_graphs(module):
    from headroom_inject import compiled_graphs
    put_in = compiled_graphs.install if module.__name__.endswith("compile_fx") else compiled_graphs.install_backend
    try:
        put_in(module)
    except Exception as error:
        say("torch.compile is as it is, and the graphs that it captures by itself need PyTorch's own allocator; "
            f"compile without them, or run without --allocator: {error}")


def _follow_trainer(module):
    from headroom_inject import trainer_step, trainer_stop
    trainer_stop.install(module)
    trainer_step.install(module)


def _follow_loops(torch, library):
    from headroom_inject import backward_pass, model_boundary
    from headroom_inject.library import Library
    boundary = model_boundary.Boundary(torch.nn.Module.__call__, Library(library))
    backward_pass.install(torch.autograd, boundary)
    model_boundary.install(torch.nn.Module, boundary)
