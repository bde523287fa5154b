# SPDX-License-Identifier: Apache-2.0
"""Writes traces of the bench's own into a folder: for machines without recorded ones, and for what those lack
(streams, requests of zero bytes, sizes around PyTorch's borders). The same bytes at every call."""
import pathlib
import random

KIB, MIB = 1 << 10, 1 << 20


class Writer:
    def __init__(self):
        self.lines, self.next = [], 1

    def allocate(self, size, stream=0):
        self.lines.append(f"a {self.next} {size}" + (f" {stream}" if stream else ""))
        self.next += 1
        return self.next - 1

    def free(self, identifier):
        self.lines.append(f"f {identifier}")


def steps(length_of_step, count, recompute, seed=1, width=1024):
    """A decoder of 16 layers: weights and their optimiser's state stay; activations live from forward to backward, or, with
    recompute, only a layer's input does and the backward pass makes the rest again."""
    out, rng = Writer(), random.Random(seed)
    layers = 16
    weights = [4 * width * width * n for n in (3, 1, 4, 4)]
    for _ in range(layers):
        for size in weights + [4 * width] * 4:
            for _ in range(3):  # The weight and AdamW's two moments.
                out.allocate(size)
    for step in range(count):
        tokens = length_of_step(step, rng)

        def activations():
            made = []
            for size in (tokens * width, 3 * tokens * width, 8 * tokens * tokens // 64, tokens * width, 4 * tokens * width):
                made.append(out.allocate(4 * size))
                out.free(out.allocate(4 * tokens))
                out.free(out.allocate(max(512, size)))
            return made

        kept = []
        for _ in range(layers):
            inputs = out.allocate(4 * tokens * width)
            made = activations()
            if recompute:
                for block in made:
                    out.free(block)
                made = []
            kept.append((inputs, made))
        gradients = []
        for inputs, made in reversed(kept):
            made = made or activations()
            for size in weights:
                gradients.append(out.allocate(size))
            upstream = out.allocate(4 * tokens * width)
            for block in reversed(made):
                out.free(block)
            out.free(upstream)
            out.free(inputs)
        for gradient in gradients:
            out.free(gradient)
    return out.lines


def mixed(count, streams, seed):
    """Random lifetimes and sizes near the borders of PyTorch's rules, on several streams."""
    out, rng, live = Writer(), random.Random(seed), []
    borders = [0, 1, 511, 512, 513, MIB - 1, MIB, MIB + 1, 10 * MIB - 1, 10 * MIB, 10 * MIB + 1, 20 * MIB, 21 * MIB]
    for _ in range(count):
        if live and rng.random() < 0.5 + (len(live) - 200) / 800:
            out.free(live.pop(rng.randrange(len(live))))
            continue
        kind = rng.random()
        size = rng.choice(borders) if kind < 0.1 else int(2 ** rng.uniform(8, 25 if kind < 0.8 else 17))
        live.append(out.allocate(size, rng.randrange(streams)))
        if rng.random() < 0.01:
            out.lines.append(f"s {rng.randrange(streams)}")
    return out.lines


def write(folder):
    """Writes all; returns the paths of those like training jobs, which the bars hold for, and of the others."""
    jobs = {
        "generated-variable": steps(lambda step, rng: rng.randrange(128, 1024), 12, False),
        "generated-variable-recompute": steps(lambda step, rng: rng.randrange(256, 2048), 12, True),
        "generated-recompute-steps": steps(lambda step, rng: 1024, 12, True),
        "generated-wide-recompute-steps": steps(lambda step, rng: 1024, 12, True, width=1280),
        "generated-steps": steps(lambda step, rng: 768, 12, False),
    }
    others = {
        "generated-mixed": mixed(20000, 1, 7),
        "generated-streams": mixed(20000, 4, 8),
    }
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)

    def paths(made):
        for name, lines in made.items():
            (pathlib.Path(folder) / f"{name}.trace").write_text("\n".join(lines) + "\n")
        return [pathlib.Path(folder) / f"{name}.trace" for name in made]

    return paths(jobs), paths(others)
