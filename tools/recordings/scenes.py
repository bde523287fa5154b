# SPDX-License-Identifier: Apache-2.0
"""What is recorded: sessions with the real programs on folders that mirror machines, and a job under a memory limit.

A step is prepared (not shown), said (a comment), or typed: what is shown is what is run.
"""
from dataclasses import dataclass, field


@dataclass
class Step:
    kind: str  # "prepare", "say" or "type"
    text: str


@dataclass
class Scene:
    name: str
    title: str
    steps: list = field(default_factory=list)


SCENES = [
    Scene("full-card", "A card that is full although nothing seems to run", [
        Step("prepare", 'sh -c \'sed "s/9340/$$/g" "$SCENERY/full-card.toml" > card.toml; fake_machine card.toml machine; '
                        'exec python3 "$SCENERY/holder.py" machine\' > holder.log 2>&1 & echo $! > pid; '
                        "while [ ! -e machine/ready ]; do sleep 0.1; done; rm machine/ready"),
        Step("say", "A captured machine: its job says out of memory, and nothing seems to run."),
        Step("type", "headroom check --root machine --quiet"),
        Step("type", "headroom reclaim --root machine"),
        Step("type", "headroom reclaim --root machine --unit jupyter.service --apply"),
        Step("type", "headroom check --root machine --quiet"),
    ]),
    Scene("reboot", "An APU with 128 GB of which PyTorch sees half", [
        Step("prepare", "fake_distribution ubuntu-24.04 machine"),
        Step("say", "A folder laid out like an Ubuntu machine stands in for the real one."),
        Step("type", "headroom check --root machine --quiet"),
        Step("type", "headroom fix ttm-cap --size 110GiB --root machine --apply"),
        Step("say", "The reboot."),
        Step("prepare", "fake_distribution --reboot machine"),
        Step("type", "headroom confirm --root machine"),
        Step("type", "headroom check --root machine --quiet"),
        Step("say", "Taken back, byte for byte:"),
        Step("type", "headroom undo --root machine"),
    ]),
    Scene("training", "A batch that is too large for its memory limit is made smaller", [
        Step("prepare", 'cp "$SCENERY/train.py" .'),
        Step("say", "train.py stands in for a training program. 8 samples need 96 MiB; it may have 80."),
        Step("type", "headroom run --memory 80MiB --settings micro=8,accumulate=1 -- "
                     "python3 train.py --batch {micro} --accumulate {accumulate}"),
    ]),
]
