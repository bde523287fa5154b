# SPDX-License-Identifier: Apache-2.0
"""Random numbers of parts of a batch are those that the whole draws, on a GPU whose numbers depend on how large a tensor is and how it
lies. Each case draws twice, so that where the generator stands between the two counts too."""
import headroom_inject

headroom_inject.arrange()  # As sitecustomize does.

import torch  # noqa: E402
from torch.nn import functional  # noqa: E402

import on_cpu  # noqa: E402
from headroom_inject.random_rows import DrawKinds, RandomRows  # noqa: E402
from headroom_inject.random_state import RandomState  # noqa: E402

ROWS, LENGTH, WIDTH = 8, 6, 10
ONES = {"device": "cuda"}


def dropped(layout):
    """`layout` makes what is dropped out of, for a number of rows."""
    return lambda rows: functional.dropout(layout(rows), 0.4)


def like(draw):
    return lambda rows: draw(torch.ones(rows, LENGTH, WIDTH, **ONES))


CASES = {
    "dropout": dropped(lambda rows: torch.ones(rows, LENGTH, WIDTH, **ONES)),
    "dropout, 16 bits": dropped(lambda rows: torch.ones(rows, LENGTH, WIDTH, dtype=torch.bfloat16, **ONES)),
    "dropout, heads before positions": dropped(lambda rows: torch.ones(rows, LENGTH, 2, WIDTH, **ONES).transpose(1, 2)),
    "dropout, time first in memory": dropped(lambda rows: torch.ones(LENGTH, rows, WIDTH, **ONES).transpose(0, 1)),
    "dropout of the first token": dropped(lambda rows: torch.ones(rows, LENGTH, WIDTH, **ONES)[:, 0, :]),
    "dropout of a part of what a layer computes": dropped(lambda rows: torch.ones(rows, LENGTH, 3 * WIDTH, **ONES)[..., WIDTH:2 * WIDTH]),
    "dropout of the last tokens, time first": dropped(lambda rows: torch.ones(LENGTH, rows, WIDTH, **ONES)[2:, :, 1:].transpose(0, 1)),
    "dropout of one row for all": dropped(lambda rows: torch.ones(1, LENGTH, WIDTH, **ONES).expand(rows, LENGTH, WIDTH)),
    "dropout of whole channels": lambda rows: functional.dropout1d(torch.ones(rows, LENGTH, WIDTH, **ONES), 0.4),
    "dropout that keeps the mean": lambda rows: functional.alpha_dropout(torch.ones(rows, LENGTH, **ONES), 0.4, training=True),
    "uniform_": lambda rows: torch.zeros(rows, LENGTH, **ONES).uniform_(-1, 1),
    "normal_": lambda rows: torch.zeros(rows, LENGTH, **ONES).normal_(),
    "bernoulli_": lambda rows: torch.zeros(rows, LENGTH, **ONES).bernoulli_(0.5),
    "rand_like": like(torch.rand_like),
    "randn_like": like(torch.randn_like),
    "rand": lambda rows: torch.rand(rows, LENGTH, **ONES),
    "randn": lambda rows: torch.randn(rows, LENGTH, **ONES),
    "randint": lambda rows: torch.randint(0, 100, (rows, LENGTH), **ONES),
}


def check(name, draw):
    state, kinds = RandomState(torch.device("cuda", 0)), DrawKinds()
    expected = [draw(ROWS) for _ in range(2)]
    after = torch.rand(1, **ONES).item()
    assert not torch.equal(*expected), f"{name}: nothing is drawn"
    for parts in ((0, 4), (4, 8)), ((0, 3), (3, 6), (6, 8)), ((5, 6), (7, 8)):  # Single rows last: what is per row is known by then.
        for start, stop in parts:
            state.restore()
            with RandomRows(ROWS, start, stop, kinds):
                found = [draw(stop - start) for _ in range(2)]
            for one, other in zip(found, expected, strict=True):
                assert torch.equal(one, other[start:stop]), f"{name}: rows {start} to {stop} draw other numbers than the whole"
            assert torch.rand(1, **ONES).item() == after, f"{name}: after rows {start} to {stop} the generator stands elsewhere"
    state.restore()
    with_none = draw(4)
    assert not torch.equal(with_none, expected[0][:4]), f"{name}: four rows by themselves draw what the whole does, so this shows nothing"


torch.manual_seed(5)
on_cpu.install()
for case in CASES.items():
    check(*case)
print(f"{len(CASES)} ways to draw")
