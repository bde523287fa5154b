# SPDX-License-Identifier: Apache-2.0
"""The steps of `headroom test` and `headroom try`, run by the user's own Python on one device.

    python headroom_steps frameworks
    python headroom_steps devices FRAMEWORK
    python headroom_steps run FRAMEWORK DEVICE STEP,STEP,... [--bytes N] [--training-steps N]
    python headroom_steps try FRAMEWORK DEVICE STEP,STEP,... --job JSON [--training-steps N] [--seconds N]

Every line on standard output that begins with "headroom-step: " is JSON and headroom's; everything else is the framework's. A step is
announced before it begins, so that one that never ends, or takes the process with it, has a name.
"""
import argparse
import importlib
import importlib.util
import os
import sys
import time

# In place of this folder, whose modules are nobody else's to find.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from headroom_steps.protocol import announce, passed, say  # noqa: E402  (after the path)

MODULES = {"torch": "headroom_steps.torch_steps", "jax": "headroom_steps.jax_devices", "tensorflow": "headroom_steps.tensorflow_devices"}


def parse():
    parser = argparse.ArgumentParser(prog="headroom_steps")
    parser.add_argument("what", choices=("frameworks", "devices", "run", "try"))
    parser.add_argument("framework", choices=sorted(MODULES), nargs="?")
    parser.add_argument("device", nargs="?")
    parser.add_argument("steps", nargs="?", default="")
    parser.add_argument("--bytes", type=int, default=0)
    parser.add_argument("--training-steps", type=int, default=50)
    parser.add_argument("--job", default="")
    parser.add_argument("--seconds", type=float, default=600)
    return parser.parse_args()


def begin(options):
    """What does the steps, once the framework is loaded."""
    module = importlib.import_module(MODULES[options.framework])
    if options.what == "try":
        from headroom_steps.trial.steps import Steps
        return module, lambda: Steps(options.framework, options.device, options)
    return module, lambda: module.Steps(options.device, options)


def main():
    options = parse()
    announce("import")
    started = time.perf_counter()
    if options.what == "frameworks":
        say(frameworks=[name for name in MODULES if importlib.util.find_spec(name)])
        return
    module, make = begin(options)
    say(step="import", **passed(time.perf_counter() - started, "s"))
    if options.what == "devices":
        say(devices=module.devices(), version=module.version())
        return
    run = make()
    for name in filter(None, options.steps.split(",")):
        announce(name)
        say(step=name, **getattr(run, name.replace("-", "_"))())


main()
