# SPDX-License-Identifier: Apache-2.0
"""Memory: taken in steps up to what headroom says a job gets, written with a pattern, read back, and given back."""
import time

import torch

from headroom_steps.protocol import failed, passed, skipped

CHUNK = 256 << 20
MIB = 1 << 20
GIB = 1 << 30
KEPT = 64 * MIB  # A context may grow by this while it is used.


def pattern(index, words, device):
    """Different in every word and every chunk, so that a byte that changed and an address that serves twice both show."""
    return torch.arange(words, dtype=torch.int32, device=device) ^ ((index * 0x9E3779B1) & 0x7FFFFFFF)


class Memory:
    def memory(self):
        """All of --bytes."""
        return self.fill(self.options.bytes)

    def fill(self, size):
        """So many bytes, in chunks that stay until the last is read."""
        chunks, taken = [], 0
        try:
            while taken < size:
                words = min(CHUNK, size - taken) // 4
                if words == 0:
                    break
                chunks.append(pattern(len(chunks), words, self.device))
                taken += 4 * words
        except RuntimeError as error:  # Of which torch.OutOfMemoryError is one.
            if "out of memory" not in str(error):
                raise
            chunks_text = f"{taken / GIB:.2f} of {size / GIB:.2f} GiB"
            return failed(f"out of memory after {chunks_text} that should have been free", taken / GIB, "GiB", kind="size")
        for index, chunk in enumerate(chunks):
            wrong = int((chunk != pattern(index, chunk.numel(), self.device)).sum())
            if wrong:
                return failed(f"{wrong} of {chunk.numel()} words read back changed, in chunk {index + 1} of {len(chunks)}", taken / GIB, "GiB",
                              kind="memory")
        return passed(taken / GIB, "GiB", "written, read back, every word as it was written")

    def released(self):
        """What is free once everything is given back, over what was free before."""
        if self.device.type == "cpu":
            return skipped("the processor's memory is the system's")
        torch.zeros(1, device=self.device)  # The context is there from now on.
        torch.cuda.synchronize(self.device)
        before = torch.cuda.mem_get_info(self.device)[0]
        count = min(self.options.bytes, before) // 2 // CHUNK
        if count == 0:
            return skipped("too little memory is free to tell")
        chunks = [torch.zeros(CHUNK // 4, dtype=torch.int32, device=self.device) for _ in range(count)]
        taken = CHUNK * len(chunks)
        torch.cuda.synchronize(self.device)
        del chunks
        for _ in range(20):  # The driver may take a moment.
            torch.cuda.empty_cache()
            missing = before - torch.cuda.mem_get_info(self.device)[0]
            if missing <= KEPT:
                return passed(taken / GIB, "GiB", "given back, and free again by the driver's count")
            time.sleep(0.1)
        return failed(f"{missing / MIB:.0f} MiB of {taken / MIB:.0f} did not come back after they were given back", missing / MIB, "MiB",
                      kind="lost")
