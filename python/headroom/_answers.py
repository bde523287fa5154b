# SPDX-License-Identifier: Apache-2.0
"""The questions: one function for each command whose answer a script reads."""
from __future__ import annotations

import json
import os
from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

from headroom._program import Answer, HeadroomError, ask, run

# A job: the path of a job file, a weight file or a model's folder; or its tables as a mapping; or the words of a Hugging
# Face Trainer's command.
Job = Union[str, "os.PathLike[str]", Mapping[str, Any], Sequence[str]]

Path = Union[str, "os.PathLike[str]"]


def check(*, root: Optional[Path] = None, python: Optional[Path] = None, logs: Sequence[Path] = ()) -> Answer:
    """What `headroom check` says of this machine (docs/schema/check.schema.json), beginning with `verdict` and `cause`.

    root: a captured machine to look at in place of this one. python: the interpreter or environment that jobs run on.
    logs: files in which a job failed; they are then judged alone. Raises HeadroomError.
    """
    words = ["check"]
    if root is not None:
        words += ["--root", os.fspath(root)]
    if python is not None:
        words += ["--python", os.fspath(python)]
    for log in [logs] if isinstance(logs, (str, os.PathLike)) else logs:
        words += ["--log", os.fspath(log)]
    return ask(words)


def plan(job: Job, *, gpu: Optional[str] = None, fit: bool = False, largest: Optional[str] = None,
         root: Optional[Path] = None) -> Answer:
    """What a job will take (docs/schema/plan.schema.json): `allocated_bytes` and `device_bytes` at the peak, `fits`, `advice`.

    gpu: a card by its name, or "auto" for this machine's. fit: also look for faster settings where the job fits. largest:
    "batch" or "sequence", the largest that fits. root: with "auto", a captured machine. Raises HeadroomError.
    """
    words = ["plan"]
    if gpu is not None:
        words += ["--gpu", gpu]
    if fit:
        words.append("--fit")
    if largest is not None:
        words += ["--largest", largest]
    if root is not None:
        words += ["--root", os.fspath(root)]
    more, given = _words_of(job)
    return ask(words + more, given)


def explain(size: Union[int, str], job: Job) -> Answer:
    """Which tensor of `job` has this size (docs/schema/explain.schema.json); `matches` has the most plausible first.

    size: bytes, or as a failed allocation printed it: "3.99 GiB". job: as for plan(), or the words of any command that
    names its dimensions. Raises HeadroomError.
    """
    more, given = _words_of(job)
    return ask(["plan", "--explain", str(size), *more], given)


def version() -> str:
    """The version of the program that answers."""
    done = run(["--version"])
    words = done.stdout.split()
    if done.returncode != 0 or len(words) < 2:
        raise HeadroomError(f"expected a version from headroom --version, found {done.stdout!r}", done.returncode)
    return words[1]


def _words_of(job: Job) -> Tuple[List[str], Optional[str]]:
    """The words by which the program is given the job, and what it reads as standard input."""
    if isinstance(job, (str, os.PathLike)):
        return ["--spec", os.fspath(job)], None
    if isinstance(job, Mapping):
        return ["--spec", "-"], json.dumps(job)
    return ["--", *job], None
