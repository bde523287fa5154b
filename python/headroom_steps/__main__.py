# SPDX-License-Identifier: Apache-2.0
"""The steps of `headroom test`, run by the user's own Python on one device.

    python headroom_steps devices FRAMEWORK
    python headroom_steps run FRAMEWORK DEVICE STEP,STEP,... [--bytes N] [--training-steps N]

Every line on standard output that begins with "headroom-step: " is JSON and headroom's; everything else is the framework's. A step is
announced before it begins, so that one that never ends, or takes the process with it, has a name.
"""
import argparse
import importlib
import os
import sys
import time

# In place of this folder, whose modules are nobody else's to find.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from headroom_steps.protocol import announce, passed, say  # noqa: E402  (after the path)

MODULES = {"torch": "headroom_steps.torch_steps"}


def main():
    parser = argparse.ArgumentParser(prog="headroom_steps")
    parser.add_argument("what", choices=("devices", "run"))
    parser.add_argument("framework", choices=sorted(MODULES))
    parser.add_argument("device", nargs="?")
    parser.add_argument("steps", nargs="?", default="")
    parser.add_argument("--bytes", type=int, default=0)
    parser.add_argument("--training-steps", type=int, default=50)
    options = parser.parse_args()
    announce("import")
    begin = time.perf_counter()
    steps = importlib.import_module(MODULES[options.framework])
    say(step="import", **passed(time.perf_counter() - begin, "s"))
    if options.what == "devices":
        say(devices=steps.devices(), version=steps.version())
        return
    run = steps.Steps(options.device, options)
    for name in filter(None, options.steps.split(",")):
        announce(name)
        say(step=name, **getattr(run, name.replace("-", "_"))())


main()
