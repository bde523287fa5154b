# SPDX-License-Identifier: Apache-2.0
"""A GPU for the real PyTorch where there is none: what is asked of cuda:0 the processor does, with one fault at a time.

On PYTHONPATH, it waits for torch to be imported. FAKE_TORCH_FAULT names the fault:

    (empty)  none
    slow     products take a hundred times as long as the card needs
    bit      one bit of what is written flips
    wrong    one element of every product in half precision is off
    hang     a convolution, and the loss of a large batch, does not end
    crash    a softmax, or attention, ends the process as ROCm does at a page fault
    late     the sixth loss of a large batch ends the process
    product  every product of a Linear is one percent off
    target   the GPU is none of those that this PyTorch has code for
    leak     every loss of a large batch keeps 100 MiB
    loss     every loss of a large batch is a tenth off
    nan      the third loss of a large batch is no number
    tired    products of the rate take longer and longer, after some seconds twice as long
    drift    from the fiftieth of one size on, every product of it has a wrong element
    rot      what lies in memory changes while products are computed
    peer     copies from cuda:0 to cuda:1 arrive with one bit changed
    stuck    sums of NCCL do not end, unless NCCL_P2P_DISABLE is set
    sum      sums of NCCL lack a part
    gloo     sums of Gloo do not end
    dp       DataParallel does not end
    fsdp     FSDP ends the process as ROCm does at a page fault
    ddp      DistributedDataParallel averages wrongly
    error    layer norm raises what PyTorch raises where it has no code for a GPU
    lost     memory that is given back does not come back
    size     half of the memory that is said to be free is not there
    unseen   no device is found
"""
import importlib.abc
import importlib.util
import os
import sys
import time

FAULT = os.environ.get("FAKE_TORCH_FAULT", "")
FREE = 1 << 30
TOTAL = 2 << 30
FIRST_KEPT = 3  # Of the small products: before it, one on either side was computed to check the others.
LARGE = 100  # Rows; the steps of `headroom test` and the small jobs of `headroom try` have fewer.


class Properties:
    name = "AMD Radeon RX 7900 XT"
    gcnArchName = "gfx1100"
    pci_domain_id, pci_device_id = 0, 0

    def __init__(self, index):
        self.pci_bus_id = (3, 7, 11)[index]


def mark(variable):
    if variable in os.environ:
        with open(f"{os.environ[variable]}.{os.getpid()}", "w") as file:  # Several ranks may come here at once.
            file.write(str(os.getpid()))
        os.rename(file.name, os.environ[variable])


def mark_hang():
    """Tells a test that the process hangs now."""
    mark("FAKE_TORCH_MARK")


def stand_in(torch):
    from torch.overrides import TorchFunctionMode

    class Card(TorchFunctionMode):
        """What PyTorch's functions do with tensors of cuda:0, which are the processor's."""
        given = 0

        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            name = getattr(function, "__name__", "")
            on_card = is_card(kwargs.get("device"))
            if on_card:
                kwargs["device"] = "cpu"
            if name == "to" and any(is_card(one) for one in args[1:]):
                args = (arrive(args[0], next(str(one) for one in args[1:] if is_card(one))),) + tuple(
                    "cpu" if is_card(one) else one for one in args[1:])
            if name in ("arange", "zeros") and on_card:
                self.take(args)
            return after(name, lambda: function(*args, **kwargs), args)

        def take(self, args):
            if args and isinstance(args[0], int):
                Card.given += 4 * args[0]
            if FAULT == "size" and Card.given > FREE // 2:
                raise torch.OutOfMemoryError("HIP out of memory. Tried to allocate 256.00 MiB. GPU 0 has a total capacity of 2.00 GiB of "
                                             "which 1.00 GiB is free.")

    def arrive(tensor, card):
        """What becomes of a large tensor on its way to a card."""
        if tensor.numel() < 1 << 24:
            return tensor
        if FAULT == "peer" and card == "cuda:1" and getattr(tensor, "card", "") == "cuda:0":
            tensor = tensor.clone()
            tensor.view(-1)[4711] ^= 1 << 3
        else:
            tensor = tensor.view(tensor.shape)
        tensor.card = card
        return tensor

    def is_card(device):
        return device is not None and str(device).startswith("cuda")

    def after(name, compute, args):
        if name in ("matmul", "__matmul__") and args[0].shape[0] == 4096:
            # Of the rate: as long as the card takes, and not as the processor. Of the load ten times that, so that what else the
            # machine does is small beside it.
            if not began:
                mark("FAKE_TORCH_LOAD")
            time.sleep((0.03 if "--soak-seconds" in sys.argv else 0.003) * (100 if FAULT == "slow" else slowness()))
            return args[0]
        if name == "copy_" and args[0].numel() >= 1 << 26:
            time.sleep(0.0012)
            return args[0]
        if name == "conv2d" and FAULT == "hang" and args[0].dtype == torch.float32 and args[0].shape[1] == 64:
            mark_hang()
            time.sleep(3600)
        if name == "cross_entropy" and args[0].shape[0] > LARGE:
            large_loss()
        if name in ("softmax", "scaled_dot_product_attention") and FAULT == "crash" and args[0].dtype == torch.float32:
            os.write(2, b"Memory access fault by GPU node-1 (Agent handle: 0x55d0c8a0) on address 0x7f5c00000000. Reason: Page not present "
                        b"or supervisor privilege.\n")
            os.abort()
        if name == "layer_norm" and FAULT == "error" and args[0].dtype == torch.float32:
            raise RuntimeError("HIP error: invalid device function\nHIP kernel errors might be asynchronously reported at some other API call, "
                               "so the stacktrace below might be incorrect.\nCompile with `TORCH_USE_HIP_DSA` to enable device-side assertions.")
        result = compute()
        if FAULT == "product" and name == "linear":
            result = result * 1.01
        if name == "cross_entropy" and args[0].shape[0] > LARGE and FAULT == "loss":
            result = result * 1.1
        if name == "cross_entropy" and FAULT == "nan" and len(losses) == 3:
            result = result * float("nan")
        if FAULT == "bit" and name in ("__xor__", "bitwise_xor") and result.numel() > 1 << 20 and not flipped:
            flipped.append(True)
            result[12345] ^= 1 << 7
        if name == "matmul" and tuple(result.shape) == (512, 512):
            count[0] += 1
            if count[0] == FIRST_KEPT:
                kept.append(result)
            if FAULT == "drift" and count[0] > 50:
                result[3, 5] += 1
            if FAULT == "rot" and count[0] == 50:
                kept[0][7, 7] += 1
        if FAULT == "wrong" and name == "matmul" and result.dtype == torch.float16:
            result[3, 5] += 40
        return result

    def slowness():
        began.append(time.monotonic())
        del began[1:-1]
        return 1 + min(1, (began[-1] - began[0]) / 6) if FAULT == "tired" else 1

    def large_loss():
        losses.append(True)
        if FAULT == "hang":
            mark_hang()
            time.sleep(3600)
        if FAULT == "late" and len(losses) == 6:
            os.kill(os.getpid(), 11)

    flipped, losses, began, kept, count = [], [], [], [], [0]

    def mem_get_info(device=None):
        return (FREE - (Card.given if FAULT == "lost" else 0), TOTAL)

    cuda = torch.cuda
    cuda.is_available = lambda: FAULT != "unseen"
    cuda.device_count = lambda: int(FAULT != "unseen") and int(os.environ.get("FAKE_TORCH_CARDS", "1"))
    cuda.get_device_properties = lambda device: Properties(int(str(device).rsplit(":", 1)[-1]))
    cuda.can_device_access_peer = lambda one, other: True
    cuda.set_device = lambda device: None
    cuda.mem_get_info = mem_get_info
    cuda.synchronize = lambda device=None: None
    cuda.empty_cache = lambda: None
    cuda.memory_allocated = lambda device=None: (100 << 20) * (1 + (len(losses) if FAULT == "leak" else 0))
    cuda.max_memory_allocated = lambda device=None: cuda.memory_allocated() + (50 << 20)
    cuda.reset_peak_memory_stats = lambda device=None: None
    cuda.get_arch_list = lambda: ["gfx90a", "gfx942"] if FAULT == "target" else ["gfx90a", "gfx1100"]
    for check in ("_accelerator_graph_capture_health_check", "_cuda_graph_capture_health_check"):
        setattr(torch.optim.Optimizer, check, lambda self: None)  # It would ask the driver.
    several(torch)
    Card().__enter__()


def several(torch):
    """What spans several cards: NCCL is Gloo with faults of its own, and what wants GPUs to split a batch gets none."""
    distributed = torch.distributed
    join, reduce = distributed.init_process_group, distributed.all_reduce
    backends = []

    def init_process_group(backend, **options):
        backends.append(backend)
        return join("gloo", **options)

    def all_reduce(tensor, *args, **kwargs):
        is_nccl = backends == ["nccl"]
        if (FAULT == "stuck" and is_nccl and "NCCL_P2P_DISABLE" not in os.environ) or (FAULT == "gloo" and not is_nccl):
            mark_hang()
            time.sleep(3600)
        done = reduce(tensor, *args, **kwargs)
        if FAULT == "sum" and is_nccl and tensor.numel() > 1:
            tensor.view(-1)[1] -= 2
        return done

    distributed.init_process_group, distributed.all_reduce = init_process_group, all_reduce

    class DataParallel(torch.nn.Module):
        def __init__(self, module, device_ids):
            super().__init__()
            self.module, self.parts = module, len(device_ids)

        def forward(self, batch):
            if FAULT == "dp":
                mark_hang()
                time.sleep(3600)
            return torch.cat([self.module(part) for part in batch.chunk(self.parts)])

    torch.nn.DataParallel = DataParallel

    class DistributedDataParallel(torch.nn.parallel.DistributedDataParallel):
        def forward(self, batch):
            return super().forward(batch * 1.1 if FAULT == "ddp" and self.training and batch.requires_grad is False else batch)

    torch.nn.parallel.DistributedDataParallel = DistributedDataParallel
    if "rank" not in sys.argv:
        return
    from torch.distributed import fsdp

    class FullyShardedDataParallel(fsdp.FullyShardedDataParallel):
        def __init__(self, module, device_id):
            if FAULT == "fsdp":
                os.write(2, b"Memory access fault by GPU node-1 (Agent handle: 0x55d0c8a0) on address 0x7f5c00000000. Reason: Page not present "
                            b"or supervisor privilege.\n")
                os.abort()
            super().__init__(module, device_id=torch.device("cpu"))

    fsdp.FullyShardedDataParallel = FullyShardedDataParallel


class Waiting(importlib.abc.MetaPathFinder):
    """Puts the stand-in under torch once torch is whole."""

    def find_spec(self, name, path, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            stand_in(module)

        spec.loader.exec_module = exec_module
        return spec


if "headroom_steps" in " ".join(sys.orig_argv):
    sys.meta_path.insert(0, Waiting())
