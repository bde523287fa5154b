# SPDX-License-Identifier: Apache-2.0
"""What is recorded: sessions with the real programs on folders that mirror machines, and a real training.

A step is prepared (not shown), said (a comment), or typed: what is shown is what is run.
"""
from dataclasses import dataclass, field


@dataclass
class Step:
    kind: str      # "prepare", "say" or "type"
    text: str
    keep: int = 0  # Only the last lines of the output are shown; 0: all


@dataclass
class Scene:
    name: str
    title: str
    steps: list = field(default_factory=list)
    varies: bool = False  # Times and speeds differ from run to run.


SCENES = [
    Scene("full-card", "A card that is full although nothing seems to run", [
        Step("prepare", 'fake_machine "$SCENERY/full-card.toml" machine'),
        Step("say", "The job says: out of memory. The card has 20 GiB, and nothing seems to run."),
        Step("type", "headroom check --root machine --quiet"),
        Step("type", "headroom reclaim --root machine"),
        Step("say", "On the machine itself the line above, with --apply, asks the notebook to end."),
        Step("prepare", 'fake_machine "$SCENERY/full-card-afterwards.toml" machine-afterwards'),
        Step("type", "headroom check --root machine-afterwards --quiet"),
    ]),
    Scene("reboot", "An APU with 128 GB of which PyTorch sees half", [
        Step("prepare", "fake_distribution ubuntu-24.04 machine"),
        Step("type", "headroom check --root machine --quiet"),
        Step("type", "headroom fix ttm-cap --size 110GiB --root machine --apply"),
        Step("say", "Now the reboot."),
        Step("prepare", "fake_distribution --reboot machine"),
        Step("type", "headroom confirm --root machine"),
        Step("type", "headroom check --root machine --quiet"),
        Step("say", "And if it was not wanted: back, byte for byte."),
        Step("type", "headroom undo --root machine"),
    ]),
    Scene("training", "A training that fits its memory to the last megabyte", [
        Step("prepare", "cp -r \"$EXAMPLES/first-job\" . && sed -i 's/^epochs = .*/epochs = 1/' first-job/job.toml"),
        Step("type", "headroom run first-job/job.toml --output run"),
        Step("type", "headroom plan --history"),
    ], varies=True),
]
