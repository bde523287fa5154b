# SPDX-License-Identifier: Apache-2.0
"""Finds the program `headroom` and asks it. A wheel carries the program and puts it where pip puts programs; a package of a
distribution puts it on PATH."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sysconfig
from typing import Any, Dict, Iterator, Optional, Sequence

Answer = Dict[str, Any]

_FOUND = 1  # "Something was found", as after a check: an answer, too. Higher codes are errors.


class HeadroomError(RuntimeError):
    """What the program said in place of an answer. `status` is its exit code: 2 wrong usage, 3 it could not look."""

    def __init__(self, message: str, status: Optional[int] = None) -> None:
        super().__init__(message)
        self.status = status


class ProgramMissing(HeadroomError):
    """There is no program `headroom`."""


def _places() -> Iterator[pathlib.Path]:
    here = pathlib.Path(__file__).resolve()
    yield here.parents[1] / "bin"  # pip install --target
    if here.parent.parent.name == "python":  # PREFIX/share/headroom/python/headroom, as cmake --install lays it
        yield here.parents[4] / "bin"
    yield pathlib.Path(sysconfig.get_path("scripts"))
    user = sysconfig.get_path("scripts", f"{os.name}_user")
    yield pathlib.Path(user)


def program() -> str:
    """The path of the program that answers: HEADROOM_PROGRAM, else the one that was installed with this package, else the
    first on PATH. Raises ProgramMissing."""
    chosen = os.environ.get("HEADROOM_PROGRAM")
    if chosen:
        return chosen
    for place in _places():
        found = place / "headroom"
        if os.access(found, os.X_OK) and found.is_file():
            return str(found)
    on_path = shutil.which("headroom")
    if on_path is None:
        raise ProgramMissing("expected the program headroom beside this package or on PATH, found none; "
                             "HEADROOM_PROGRAM=/path/to/headroom names one")
    return on_path


def run(words: Sequence[str], given: Optional[str] = None) -> subprocess.CompletedProcess[str]:
    """Runs the program with `given` as its standard input, and returns what it wrote. Raises ProgramMissing."""
    path = program()
    try:
        return subprocess.run([path, *words], input=given, stdin=subprocess.DEVNULL if given is None else None,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace", check=False)
    except OSError as error:
        raise ProgramMissing(f"expected a program at {path}, which could not be run: {error.strerror}") from error


def ask(words: Sequence[str], given: Optional[str] = None) -> Answer:
    """What the program answers to `words` and --json. Raises HeadroomError with its message where it has no answer."""
    done = run([words[0], "--json", *words[1:]], given)
    said = done.stderr.strip()
    if 0 <= done.returncode <= _FOUND:
        try:
            answer = json.loads(done.stdout)
        except ValueError as error:
            raise HeadroomError(f"expected JSON from headroom {words[0]}, found {said or done.stdout[:60]!r}") from error
        if not isinstance(answer, dict):
            raise HeadroomError(f"expected an object from headroom {words[0]}, found {type(answer).__name__}")
        return answer
    if not said:
        said = f"headroom {words[0]} ended with status {done.returncode} and said nothing"
    raise HeadroomError(said[len("headroom: "):] if said.startswith("headroom: ") else said, done.returncode)
