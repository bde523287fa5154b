# SPDX-License-Identifier: Apache-2.0
"""A callback for Hugging Face's Trainer: what the job was planned to take beside what it took, and, where it runs out of
memory, which tensor did not fit. It changes nothing about the training, and no failure of its own ends it.

    from headroom.trainer import MemoryCallback
    with MemoryCallback(sequence=2048) as memory:
        Trainer(model=model, args=args, train_dataset=rows, callbacks=[memory]).train()
"""
from __future__ import annotations

import re
import sys
import tempfile
from types import TracebackType
from typing import Any, Callable, List, Optional, Type

import torch
from transformers import TrainerCallback

from headroom._answers import Job, explain, plan
from headroom._program import Answer, HeadroomError

_ASKED = re.compile(r"ried to allocate ([\d.]+ ?(?:[KMGT]iB|bytes))")
_GIB = float(1 << 30)


def _say(text: str) -> None:
    print(f"headroom: {text}", file=sys.stderr, flush=True)


class MemoryCallback(TrainerCallback):  # type: ignore[misc]  # transformers is not there where types are checked.
    """planned, measured_bytes, explanation: what was found out, or None.

    sequence: tokens of a sample, as long as they become; nothing else tells. job: what to plan in place of what the
    Trainer's arguments and model tell, as for headroom.plan(). say: takes each line that is to be seen.
    """

    def __init__(self, sequence: Optional[int] = None, *, job: Optional[Job] = None, say: Callable[[str], None] = _say) -> None:
        self.planned: Optional[Answer] = None
        self.measured_bytes: Optional[int] = None
        self.explanation: Optional[Answer] = None
        self._sequence, self._job, self._say = sequence, job, say
        self._folder: Optional[tempfile.TemporaryDirectory[str]] = None
        self._speaks = True

    def __enter__(self) -> MemoryCallback:
        return self

    def __exit__(self, _: Optional[Type[BaseException]], error: Optional[BaseException], __: Optional[TracebackType]) -> None:
        """Explains an out of memory, which goes on to the caller."""
        if error is not None and "out of memory" in str(error):
            self._measure()
            self._explain(str(error))
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        self._speaks = bool(state.is_world_process_zero)
        if not self._speaks:
            return
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        try:
            if self._job is None:
                self._job = self._job_of(args, model)
            if self._job is not None:
                self.planned = plan(self._job)
                self._say(f"planned peak {_gib(self.planned['allocated_bytes'])} allocated on a card")
        except Exception as error:  # The training matters more than its plan.
            self._job = None
            self._say(f"no plan of this training: {error}")

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if not self._speaks:
            return
        self._measure()
        if self.measured_bytes is None:
            self._say("no peak was measured: PyTorch sees no GPU")
            return
        text = f"measured peak {_gib(self.measured_bytes)} allocated"
        if self.planned is not None and self.measured_bytes > 0:
            error = self.planned["allocated_bytes"] / self.measured_bytes - 1
            text += f", planned {_gib(self.planned['allocated_bytes'])} ({error:+.1%})"
        self._say(text)

    def _measure(self) -> None:
        if torch.cuda.is_available():
            self.measured_bytes = int(torch.cuda.max_memory_allocated())

    def _explain(self, message: str) -> None:
        asked = _ASKED.search(message)
        if asked is None or self._job is None:
            self._say("out of memory; " + ("its message names no size" if asked is None else "the job is not known to headroom"))
            return
        try:
            self.explanation = explain(asked[1], self._job)
        except HeadroomError as error:
            self._say(f"out of memory for {asked[1]}, which is not explained: {error}")
            return
        found = self.explanation["matches"]
        which = f"most plausibly {found[0]['tensor']}" if found else "nothing known of this job has that size"
        self._say(f"out of memory for {asked[1]}: {which}; headroom plan --fit looks for what would fit")

    def _job_of(self, args: Any, model: Any) -> Optional[Job]:
        """The Trainer's arguments as the words of a command, which headroom reads."""
        if self._sequence is None:
            self._say("no plan of this training: MemoryCallback(sequence=...) would say how long its samples are")
            return None
        self._folder = tempfile.TemporaryDirectory(prefix="headroom-")
        bare = getattr(model, "module", model)
        bare.config.save_pretrained(self._folder.name)
        words: List[str] = ["python", "train.py", "--model_name_or_path", self._folder.name,
                            "--max_seq_length", str(self._sequence),
                            "--per_device_train_batch_size", str(args.per_device_train_batch_size),
                            "--gradient_accumulation_steps", str(args.gradient_accumulation_steps),
                            "--gradient_checkpointing", str(bool(args.gradient_checkpointing)),
                            "--optim", str(getattr(args.optim, "value", args.optim)),
                            "--bf16", str(bool(args.bf16)), "--fp16", str(bool(args.fp16)),
                            "--dtype", _widest(bare)]
        kernel = getattr(bare.config, "_attn_implementation", None)
        if kernel:
            words += ["--attn_implementation", str(kernel)]
        return words + _adapter(bare)


def _gib(size: int) -> str:
    return f"{size / _GIB:.2f} GiB"


def _widest(model: Any) -> str:
    """The type that most weights are held in."""
    sizes: dict[str, int] = {}
    for parameter in model.parameters():
        name = str(parameter.dtype).rpartition(".")[2]
        sizes[name] = sizes.get(name, 0) + parameter.numel()
    return max(sizes, key=lambda name: sizes[name])


def _adapter(model: Any) -> List[str]:
    """PEFT's settings of the adapter that is trained."""
    configs = getattr(model, "peft_config", None)
    if not configs:
        return []
    config = next(iter(configs.values()))
    targets = config.target_modules
    names = [targets] if isinstance(targets, str) else sorted(targets)
    return ["--use_peft", "--lora_r", str(config.r), "--lora_alpha", str(config.lora_alpha), "--lora_target_modules", *names]
