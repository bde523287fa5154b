# SPDX-License-Identifier: Apache-2.0
"""The steps in PyTorch, from 1.13 on: each gives what protocol.py says, or raises what PyTorch raises."""
import torch

from headroom_steps.protocol import skipped
from headroom_steps.tolerances import compare
from headroom_steps.torch_memory import Memory
from headroom_steps.torch_soak import Soak
from headroom_steps.torch_speed import Speed
from headroom_steps.torch_training import Training

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
F = torch.nn.functional


def version():
    return torch.__version__


def devices():
    """Those that this PyTorch sees, in its own order; PCI addresses where it tells them (since 2.8)."""
    found = []
    for index in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        properties = torch.cuda.get_device_properties(index)
        place = [getattr(properties, f"pci_{part}_id", None) for part in ("domain", "bus", "device")]
        pci = None if None in place else "{:04x}:{:02x}:{:02x}.0".format(*place)
        free, total = torch.cuda.mem_get_info(index)
        found.append({"name": properties.name, "device": f"cuda:{index}", "pci": pci, "free": free, "total": total,
                      "target": getattr(properties, "gcnArchName", "").split(":")[0] or None})
    return found


def worst_difference(found, wanted):
    """Over the largest element of what is wanted, which has 64 bits and lies on the processor."""
    found = found.detach().to("cpu").double()
    return float((found - wanted).abs().max() / wanted.abs().max())


class Steps(Memory, Training, Speed, Soak):
    def __init__(self, device, options):
        self.device = torch.device(device)
        self.options = options
        self.random = torch.Generator().manual_seed(17)

    def draw(self, *shape):
        return torch.randn(*shape, generator=self.random)

    def on_device(self, tensor, dtype):
        return tensor.to(DTYPES[dtype]).to(self.device)

    def check(self, dtype, what, function, *inputs):
        """The function on the device in `dtype`, and on the processor in 64 bits, of inputs that both types hold exactly."""
        inputs = [one.to(DTYPES[dtype]) for one in inputs]
        wanted = function(*(one.double() for one in inputs))
        return compare(worst_difference(function(*(one.to(self.device) for one in inputs)), wanted), dtype, what)

    def matmul(self, dtype):
        if self.device.type == "cpu" and dtype == "fp16":
            return skipped("processors compute products in 16 bits by detours that no job takes")
        return self.check(dtype, "a product of two 1024 x 1024 matrices", torch.matmul, self.draw(1024, 1024), self.draw(1024, 1024))

    def matmul_fp32(self):
        return self.matmul("fp32")

    def matmul_fp16(self):
        return self.matmul("fp16")

    def matmul_bf16(self):
        return self.matmul("bf16")

    def layer_norm(self):
        return self.check("fp32", "a layer norm of 512 rows", lambda x: F.layer_norm(x, (1024,)), self.draw(512, 1024))

    def softmax(self):
        return self.check("fp32", "a softmax of 512 rows", lambda x: torch.softmax(x, -1), self.draw(512, 4096))

    def attention(self):
        if not hasattr(F, "scaled_dot_product_attention"):
            return skipped(f"PyTorch {torch.__version__} has no attention of its own")
        dtype = "fp32" if self.device.type == "cpu" else "fp16"
        inputs = [self.draw(2, 8, 256, 64) for _ in range(3)]
        return self.check(dtype, "causal attention over 256 tokens", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
                          *inputs)

    def convolution(self):
        return self.check("fp32", "a convolution of 64 channels", lambda x, w: F.conv2d(x, w, padding=1), self.draw(4, 64, 56, 56),
                          self.draw(64, 64, 3, 3))
