# SPDX-License-Identifier: Apache-2.0
"""Puts headroom's allocator under a program's ONNX Runtime sessions: behind the ROCm provider, or, where the settings ask for
the host's memory, under the processor's provider.

Every session, and every change of one's providers, passes its providers and their options through one function of
onnxruntime/capi/onnxruntime_inference_collection.py. That is followed here: where it names the ROCm provider, the
provider's options get the three callbacks for foreign memory, and everything else stays as it was. What the program asked
of the provider's memory itself wins.

The processor's provider takes an allocator that is registered with ONNX Runtime's one environment, in sessions that are set
to. That is a function of C, which Python's module does not show; but it tells libraries with further providers where
ONNX Runtime's functions are, and ours is registered as one, without any provider.
"""
import ctypes
import os

from headroom_inject.library import Unusable
from headroom_inject.messages import say

ABI = 1
CPU = 2  # What headroom_onnx_check() says where the host's memory is asked for.
PROVIDER = "ROCMExecutionProvider"
NORMALIZE = "check_and_normalize_provider_args"
CREATE = "_create_inference_session"
USE_REGISTERED = "session.use_env_allocators"  # onnxruntime_session_options_config_keys.h

# What a program says of the provider's memory, and what then stays as it asked; None: nothing needs to be said.
STAYS = {
    "gpu_external_alloc": None,
    "gpu_external_free": None,
    "gpu_external_empty_cache": None,
    "gpu_mem_limit": "ONNX Runtime's own memory stays, for which gpu_mem_limit is",
    "enable_hip_graph": "ONNX Runtime's own memory stays, because nothing can be waited for while a graph is captured",
}


class _Callbacks(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("gpu_external_alloc", ctypes.c_void_p), ("gpu_external_free", ctypes.c_void_p),
                ("gpu_external_empty_cache", ctypes.c_void_p)]


class _Library:
    """libheadroom_onnx.so (headroom_onnx.h). Raises OSError, AttributeError or Unusable."""

    def __init__(self, path):
        self._functions = ctypes.CDLL(path)
        if self._functions.headroom_onnx_abi() != ABI:
            raise Unusable(f"expected version {ABI} of {path}, found {self._functions.headroom_onnx_abi()}")
        self.path = path
        self.serves = self._ask(self._functions.headroom_onnx_check)

    def _ask(self, function):
        text = ctypes.create_string_buffer(1000)
        answer = function(text, ctypes.c_size_t(len(text)))
        if answer == 0:
            raise Unusable(text.value.decode(errors="replace"))
        return answer

    def register_cpu(self):
        self._ask(self._functions.headroom_onnx_register_cpu)

    def options(self, device):
        """The provider's options for this GPU; none if it has no number that the library knows."""
        callbacks = _Callbacks(size=ctypes.sizeof(_Callbacks))
        if self._functions.headroom_onnx_get_callbacks(device, ctypes.byref(callbacks)) != 0:
            return {}
        return {name: str(getattr(callbacks, name)) for name, _ in _Callbacks._fields_[1:]}


def with_callbacks(options, library):
    """The provider's options with headroom's, or as they were, if they say something of its memory themselves."""
    for name, reason in STAYS.items():
        if options.get(name, "0") not in ("", "0", "False", "false"):
            if reason:
                say(reason)
            return options
    device = options.get("device_id", "0")
    return {**options, **(library.options(int(device)) if device.isdecimal() else {})}


def install(collection, path):
    """`collection`: the module onnxruntime.capi.onnxruntime_inference_collection. Raises if anything is not as expected;
    sessions then have ONNX Runtime's own memory."""
    has_gpus = PROVIDER in collection.C.get_available_providers()
    if not has_gpus and os.environ.get("HEADROOM_ALLOCATOR_BACKEND") != "host":
        return  # There is nothing that could be served.
    library = _Library(path)
    if library.serves == CPU:
        _serve_processor(collection, library)
    else:
        _serve_gpus(collection, library)


def _serve_gpus(collection, library):
    normalize = getattr(collection, NORMALIZE, None)
    if normalize is None:
        raise Unusable(f"this version of ONNX Runtime has no {NORMALIZE}")

    def normalize_with_callbacks(providers, provider_options, available_provider_names):
        names, options = normalize(providers, provider_options, available_provider_names)
        return names, [with_callbacks(each, library) if name == PROVIDER else each
                       for name, each in zip(names, options, strict=True)]

    setattr(collection, NORMALIZE, normalize_with_callbacks)


def _serve_processor(collection, library):
    create = getattr(collection.InferenceSession, CREATE, None)
    register = getattr(collection.C, "register_execution_provider_library", None)
    if create is None or register is None:
        raise Unusable("this version of ONNX Runtime shows no way to register an allocator; 1.23 and later do")
    register("headroom", library.path)
    try:
        library.register_cpu()
    finally:
        collection.C.unregister_execution_provider_library("headroom")  # It has said what it had to.

    def create_with_allocator(session, *arguments, **named):
        if session._sess_options is None:
            session._sess_options = collection.C.SessionOptions()
        try:
            session._sess_options.get_session_config_entry(USE_REGISTERED)  # The program has decided itself.
        except RuntimeError:
            session._sess_options.add_session_config_entry(USE_REGISTERED, "1")
        return create(session, *arguments, **named)

    setattr(collection.InferenceSession, CREATE, create_with_allocator)
