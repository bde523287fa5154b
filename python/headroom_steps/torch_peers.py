# SPDX-License-Identifier: Apache-2.0
"""What several GPUs do together in one process: copies from one to another, and DataParallel."""
import time

import torch

from headroom_steps.protocol import failed, passed, say, skipped
from headroom_steps.torch_memory import GIB, pattern
from headroom_steps.torch_ranks import close_enough, network, probe, train

WORDS = 16 << 20  # 64 MiB: more than any staging buffer holds at once.
COPIES = 8


def on(device, index):
    """A pattern that lies on the device, whole: read back once, so that what is wrong later is wrong by the copy."""
    expected = pattern(index, WORDS, "cpu")
    there = expected.to(device)
    if not torch.equal(there.to("cpu"), expected):
        raise RuntimeError(f"memory of {device} does not hold what was written to it")
    return there, expected


def peer_copy(devices):
    """From the first to the second, several times with other contents; gigabytes per second of the fastest."""
    source, target = devices
    reaches = torch.cuda.can_device_access_peer(torch.device(target), torch.device(source))
    way = "they reach each other" if reaches else "through RAM: they do not reach each other"
    best = float("inf")
    for index in range(COPIES):
        there, expected = on(source, index)
        torch.cuda.synchronize(torch.device(source))
        begin = time.perf_counter()
        copied = there.to(target)
        torch.cuda.synchronize(torch.device(target))
        best = min(best, time.perf_counter() - begin)
        found = copied.to("cpu")
        wrong = int((found != expected).sum())
        if wrong:
            return failed(f"{wrong} of {WORDS} words of copy {index + 1} arrived changed ({way})", wrong, "words", kind="peer")
        say(together={"at": f"copy {index + 1}"})
    return passed(4 * WORDS / best / 1e9, "GB/s", f"{COPIES} copies of {4 * WORDS / GIB:.2g} GiB, every word as it was sent; {way}")


def data_parallel(devices):
    """A module on all of them, trained for two steps, beside the same on the processor."""
    if devices[0] == "cpu":
        return skipped("DataParallel splits a batch between GPUs, and there are none")
    count = len(devices)
    wanted = train(network(), [probe(rank) for rank in range(count)])
    say(together={"at": "DataParallel"})
    indices = [torch.device(one).index for one in devices]
    model = torch.nn.DataParallel(network().to(devices[0]), device_ids=indices)
    batch = [torch.cat(parts).to(devices[0]) for parts in zip(*(probe(rank) for rank in range(count)))]
    found = train(model, [batch])
    return close_enough(found, wanted, f"DataParallel over {count} GPUs")
