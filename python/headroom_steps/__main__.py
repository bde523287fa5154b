# SPDX-License-Identifier: Apache-2.0
"""The steps of `headroom test` and `headroom try`, run by the user's own Python on one device.

    python headroom_steps [guard] frameworks
    python headroom_steps devices FRAMEWORK
    python headroom_steps run FRAMEWORK DEVICE STEP,STEP,... [--bytes N] [--training-steps N] [--soak-seconds N]
    python headroom_steps together torch DEVICE,DEVICE,... STEP [--backend B] [--seconds N]
    python headroom_steps rank torch DEVICE STEP --backend B --rank N --world N --store FILE
    python headroom_steps try FRAMEWORK DEVICE|first|gpu STEP,STEP,... --job JSON [--training-steps N] [--seconds N]

Every line on standard output that begins with "headroom-step: " is JSON and headroom's; everything else is the framework's. A step is
announced before it begins, so that one that never ends, or takes the process with it, has a name. With "guard" in front (guard.py) all ends
when standard input does.
"""
import argparse
import importlib
import importlib.util
import os
import sys
import time

# In place of this folder, whose modules are nobody else's to find.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from headroom_steps.protocol import announce, failed, passed, say  # noqa: E402  (after the path)

MODULES = {name: f"headroom_steps.{name}_steps" for name in ("torch", "jax", "tensorflow", "onnxruntime")}


def parse():
    parser = argparse.ArgumentParser(prog="headroom_steps")
    parser.add_argument("what", choices=("frameworks", "devices", "run", "try", "together", "rank"))
    parser.add_argument("framework", choices=sorted(MODULES), nargs="?")
    parser.add_argument("device", nargs="?")
    parser.add_argument("steps", nargs="?", default="")
    parser.add_argument("--bytes", type=int, default=0)
    parser.add_argument("--training-steps", type=int, default=50)
    parser.add_argument("--soak-seconds", type=float, default=600)
    parser.add_argument("--backend", default="gloo")
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world", type=int, default=1)
    parser.add_argument("--store", default="")
    parser.add_argument("--job", default="")
    parser.add_argument("--seconds", type=float, default=600)
    return parser.parse_args()


def choose(module, options):
    """The first device that the framework sees: "gpu" must be one, "first" may be the processor. None: there is no such one."""
    found = module.devices()
    say(devices=found, version=module.version())
    if found:
        return found[0]["device"]
    if options.device == "first":
        return "cpu"
    announce("devices")
    say(step="devices", **failed("it sees no GPU", kind="unseen"))
    return None


def try_steps(module, options):
    """Those after one that failed are not done: they would tell nothing."""
    device = choose(module, options) if options.device in ("first", "gpu") else options.device
    if device is None:
        return
    from headroom_steps.trial.steps import Steps
    run = Steps(options.framework, device, options)
    for name in filter(None, options.steps.split(",")):
        announce(name)
        answer = getattr(run, name)()
        say(step=name, **answer)
        if answer["ok"] is False:
            return


def together(options):
    """One step of several devices. What needs ranks does not load the framework here: they do."""
    devices, step = options.device.split(","), options.steps
    announce(step)
    if step in ("peer-copy", "data-parallel"):
        from headroom_steps import torch_peers
        say(step=step, **getattr(torch_peers, step.replace("-", "_"))(devices))
    else:
        from headroom_steps.ranks import Ranks
        say(step=step, **Ranks(options, step, devices).run())


def rank(options):
    from headroom_steps.ranks import die_with_parent
    die_with_parent()
    from headroom_steps.torch_ranks import Rank
    Rank(options.device, options, lambda at, **more: say(at=at, **more)).run(options.steps)


def main():
    if sys.argv[1:2] == ["guard"]:
        from headroom_steps.guard import guard
        guard()
        del sys.argv[1]
    options = parse()
    if options.what in ("together", "rank"):
        {"together": together, "rank": rank}[options.what](options)
        return
    announce("import")
    started = time.perf_counter()
    if options.what == "frameworks":
        say(frameworks=[name for name in MODULES if importlib.util.find_spec(name)])
        return
    module = importlib.import_module(MODULES[options.framework])
    if options.what == "try":
        importlib.import_module("headroom_steps.trial.steps").load(options.framework)
    say(step="import", **passed(time.perf_counter() - started, "s"))
    if options.what == "devices":
        say(devices=module.devices(), version=module.version())
        return
    if options.what == "try":
        try_steps(module, options)
        return
    run = module.Steps(options.device, options)
    for name in filter(None, options.steps.split(",")):
        announce(name)
        say(step=name, **getattr(run, name.replace("-", "_"))())


main()
