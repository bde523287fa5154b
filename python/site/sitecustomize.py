# SPDX-License-Identifier: Apache-2.0
"""What `headroom run --allocator` puts first on PYTHONPATH.

Python imports a module of this name when it starts (site.py, execsitecustomize). It arranges for headroom's allocator to
be put into PyTorch as soon as a program imports that, and then runs the sitecustomize that it hides, if there is one. It
must never keep a program from starting: whatever goes wrong is one line on standard error.
"""
import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _load(name, folder):
    """Loads a package of this folder without a trace on sys.path, where it could hide somebody's module."""
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(folder, name, "__init__.py"), submodule_search_locations=[os.path.join(folder, name)])
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    spec.loader.exec_module(package)
    return package


def _run_hidden():
    """Runs the sitecustomize that would have run without this one, under its own name."""
    elsewhere = [folder for folder in sys.path if os.path.abspath(folder or os.curdir) != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is None or spec.loader is None:
        return
    hidden = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = hidden
    spec.loader.exec_module(hidden)


try:
    _load("headroom_inject", os.path.dirname(_HERE)).arrange()
except Exception as error:  # The program is to run as it would have without headroom.
    print(f"headroom: nothing was put into Python: {error!r}", file=sys.stderr)
_run_hidden()
