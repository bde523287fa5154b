# SPDX-License-Identifier: Apache-2.0
"""headroom's memory allocator in this process's PyTorch: what `headroom run --allocator` does, from within a script.

    import headroom.allocator
    headroom.allocator.install()   # before the first tensor on a GPU

The files that do it were installed with the program: libheadroom_torch.so and the package headroom_inject.
"""
from __future__ import annotations

import importlib
import importlib.util
import pathlib
import sys
from types import ModuleType
from typing import Iterator

from headroom._program import HeadroomError, program

_SPLITS = ("on", "off", "loops")


class AllocatorUnavailable(HeadroomError):
    """Why PyTorch keeps its own allocator."""


def install(*, split: str = "on") -> None:
    """Makes headroom's allocator PyTorch's, for this process. Imports torch. A second call changes nothing.

    split: what happens to a training step that runs out of memory: "on", a Trainer's is redone in parts; "off", it fails;
    "loops", those of the script's own loops too, which is not safe (docs/split.md). Has to come before anything uses a
    GPU. Raises AllocatorUnavailable, and PyTorch is as it was.
    """
    if split not in _SPLITS:
        raise ValueError(f"split: expected {', '.join(_SPLITS)}, found {split!r}")
    inject = _load_inject()
    try:
        torch = importlib.import_module("torch")
        if not inject.is_installed():  # Under `headroom run --allocator` importing it was enough.
            inject.install(torch, str(_find("lib", "libheadroom_torch.so")), split)
    except Exception as error:  # Whatever PyTorch and the loader say: the reason is one.
        raise AllocatorUnavailable(f"PyTorch keeps its own allocator: {error}") from error


def _load_inject() -> ModuleType:
    """The package headroom_inject, without its folder on sys.path, where it could hide somebody's module."""
    known = sys.modules.get("headroom_inject")
    if known is not None:
        return known
    package = _find("share/headroom/python", "headroom_inject/__init__.py")
    spec = importlib.util.spec_from_file_location("headroom_inject", package, submodule_search_locations=[str(package.parent)])
    if spec is None or spec.loader is None:
        raise AllocatorUnavailable(f"expected a package at {package}, found none that can be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules["headroom_inject"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules["headroom_inject"]
        raise
    return module


def _find(folder: str, name: str) -> pathlib.Path:
    prefix = pathlib.Path(program()).resolve().parent.parent
    for place in _folders(prefix, folder):
        if (place / name).exists():
            return place / name
    raise AllocatorUnavailable(f"expected {name} below {prefix / folder}, found none; the program there was installed without it")


def _folders(prefix: pathlib.Path, folder: str) -> Iterator[pathlib.Path]:
    """Libraries may lie one deeper, as Debian has them: lib/x86_64-linux-gnu."""
    yield prefix / folder
    if folder == "lib":
        yield from sorted(prefix.glob("lib/*-linux-gnu"))
        yield prefix / "lib64"
