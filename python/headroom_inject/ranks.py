# SPDX-License-Identifier: Apache-2.0
"""Makes headroom's averager a backend of torch.distributed, and the one that a script gets which asks for NCCL or Gloo. `headroom
run --ranks N` sets what this reads:

    HEADROOM_AVERAGER_LIBRARY   the path of libheadroom_averager.so; without it torch.distributed is left alone
    HEADROOM_RANKS_JOB          tells this job from others on the machine
    HEADROOM_RANKS_LOST         continue: ranks that are lost are left out of the averages; else they end the job
    HEADROOM_RANKS_BACKEND      keep: a script that asks for NCCL or Gloo gets it; `backend="headroom"` is there all the same
"""
import functools
import os
import sys

from headroom_inject.messages import say

NAME = "headroom"
_REPLACED = {"nccl", "gloo", "cpu:gloo,cuda:nccl", "cuda:nccl", "cuda:nccl,cpu:gloo", "undefined", ""}


def install(distributed):
    """For the module torch.distributed."""
    if not distributed.is_available():
        return

    def create(options, backend_options=None):
        from headroom_inject.averager_group import create as create_group  # Only a script that asks pays for it.
        return create_group(options, backend_options)

    distributed.Backend.register_backend(NAME, create, extended_api=True, devices=["cpu", "cuda"])
    if os.environ.get("HEADROOM_RANKS_BACKEND") == "keep":
        return
    for function in ("init_process_group", "new_group"):
        _replace_backend(distributed, function)


def _replace_backend(distributed, name):
    plain = getattr(distributed, name)
    place = 0 if name == "init_process_group" else 2

    @functools.wraps(plain)
    def call(*args, **kwargs):
        asked = args[place] if len(args) > place else kwargs.get("backend")
        if name == "new_group" and asked is None:  # The default group's, which is ours already.
            return plain(*args, **kwargs)
        if str(asked or "").lower() in _REPLACED:
            if len(args) > place:
                args = (*args[:place], NAME, *args[place + 1:])
            else:
                kwargs["backend"] = NAME
            kwargs.pop("pg_options", None)  # Another backend's.
            if os.environ.get("RANK", "0") == "0":
                say(f"torch.distributed uses headroom's averager in place of {asked or 'its default'} "
                    "(HEADROOM_RANKS_BACKEND=keep leaves it)")
        return plain(*args, **kwargs)

    for module in list(sys.modules.values()):  # Some have taken it by name already, device_mesh for one.
        if getattr(module, "__name__", "").startswith("torch.distributed") and getattr(module, name, None) is plain:
            setattr(module, name, call)
