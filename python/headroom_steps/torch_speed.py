# SPDX-License-Identifier: Apache-2.0
"""How fast the device computes and moves memory; headroom judges the figures by the card's."""
import time

import torch

from headroom_steps.protocol import passed

SECONDS = 0.5  # Of measuring; the best of what fits in.


class Speed:
    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def best_time(self, function):
        function()
        self.wait()
        best, end = float("inf"), time.perf_counter() + SECONDS
        while True:
            begin = time.perf_counter()
            function()
            self.wait()
            now = time.perf_counter()
            best = min(best, now - begin)
            if now >= end:
                return best

    def rate(self):
        """Products in the type that jobs use: 16 bits on a GPU, 32 on the processor."""
        on_gpu = self.device.type != "cpu"
        size = 4096 if on_gpu else 1024
        matrix = torch.randn(size, size, device=self.device, dtype=torch.float16 if on_gpu else torch.float32)
        seconds = self.best_time(lambda: matrix @ matrix)
        return passed(2 * size**3 / seconds / 1e12, "TFLOP/s", "fp16" if on_gpu else "fp32")

    def bandwidth(self):
        """A copy within the device's memory: every byte is read once and written once."""
        size = (256 if self.device.type != "cpu" else 64) << 20
        source = torch.zeros(size // 4, device=self.device)
        target = torch.empty_like(source)
        seconds = self.best_time(lambda: target.copy_(source))
        return passed(2 * size / seconds / 1e9, "GB/s", "a copy, bytes read and written")
