# SPDX-License-Identifier: Apache-2.0
"""What a process group asks of the averager, for tensors of any type: sums, and copies of one rank's bytes to all.

The averager sums float32 and bfloat16 in the order of ranks, and copies any bits. All else is made of the two: sums of float16 in
float32; sums of other types, minima and products from everybody's values, in the order of ranks too. So nothing depends on timing."""
import ctypes
import hashlib

import torch
import torch.distributed as dist

from headroom_inject.averager_library import BFLOAT16, BROADCAST, FLOAT32, SUM

_TYPES = {torch.float32: FLOAT32, torch.bfloat16: BFLOAT16}
_WORD = 4  # Bits are copied as float32, which nobody computes with.
_SUMMED = 1 << 20  # So much is summed at once: what all ranks copy and sum of it stays in the caches that their cores share.


def name_of(op):
    """The name of an operation of torch.distributed, SUM for instance."""
    return next((one for one in dist.ReduceOp.RedOpType.__members__ if op == getattr(dist.ReduceOp, one)), "another")


class Exchange:
    """Used by one thread. `piece_bytes`: how much is exchanged at once; a multiple of 4,096."""

    def __init__(self, averager, rank, ranks, piece_bytes):
        self._averager, self._rank, self._ranks, self._piece_bytes = averager, rank, ranks, piece_bytes
        memory = (ctypes.c_char * piece_bytes).from_address(averager.allocate(piece_bytes))
        self._staging = torch.frombuffer(memory, dtype=torch.uint8)
        self._pinned = False

    def agree(self, what):
        """Raises on every rank if they do not all ask for the same: else one would take another's bytes for its own. The sum of a
        number and that of its square tell whether all ranks have the same one; float32 holds both exactly for up to 16 ranks."""
        digest = int.from_bytes(hashlib.blake2b(what.encode(), digest_size=9).digest(), "little")
        parts = [digest >> at & 511 for at in range(0, 72, 9)]
        sums = (ctypes.c_float * (2 * len(parts)))(*parts, *(one * one for one in parts))
        present = self._averager.run(SUM, FLOAT32, ctypes.addressof(sums), len(sums))
        if any(present * sums[len(parts) + i] != sums[i] ** 2 for i in range(len(parts))):
            raise RuntimeError(f"headroom: the ranks ask for different collectives; rank {self._rank} asks for {what}. Let all ranks "
                               "call the same ones in the same order, with tensors of the same shapes and types")

    def sum(self, tensor):
        """In place, of float32 or bfloat16 on any device. If ranks were lost and the job goes on, what is missing is made up for in
        proportion, so that a division by the number of ranks gives the mean of those present."""
        flat = tensor.view(-1)
        size = flat.element_size()
        for piece in flat.split(min(self._piece_bytes, _SUMMED) // size):
            present = self._run(piece, SUM, _TYPES[piece.dtype], piece.numel(), 0)
            if 0 < present < self._ranks:
                piece.mul_(self._ranks / present)

    def broadcast(self, tensor, root):
        """In place: the bytes of rank `root`'s contiguous tensor."""
        flat = tensor.view(-1)
        flat = (flat.view(torch.uint8) if flat.numel() else flat.new_empty(0, dtype=torch.uint8))
        for piece in flat.split(self._piece_bytes):
            self._run(piece, BROADCAST, FLOAT32, -(-piece.numel() // _WORD), root)

    def _run(self, piece, kind, element, elements, root):
        """Through the segment: the averager copies whole words of the processor's memory itself; all else is staged there."""
        size = piece.numel() * piece.element_size()
        if size == 0:
            return self._ranks
        if not piece.is_cuda and size % _WORD == 0 and piece.data_ptr() % _WORD == 0:
            return self._averager.run(kind, element, piece.data_ptr(), elements, root)
        self._pin(piece)
        staged = self._staging[:size].view(piece.dtype)
        if kind == SUM or root == self._rank:
            self._copy(staged, piece)
        present = self._averager.run(kind, element, self._staging.data_ptr(), elements, root)
        if kind == SUM or root != self._rank:
            self._copy(piece, staged)
        return present

    @staticmethod
    def _copy(target, source):
        target.copy_(source, non_blocking=True)
        for one in (target, source):
            if one.is_cuda:
                torch.cuda.current_stream(one.device).synchronize()

    def _pin(self, piece):
        """Copies from and to a GPU are then the driver's alone (cudaHostRegister, hipHostRegister). Without it they work too."""
        if piece.is_cuda and not self._pinned:
            self._pinned = True
            torch.cuda.cudart().cudaHostRegister(self._staging.data_ptr(), self._staging.numel(), 0)

    def gather(self, tensor):
        """Everybody's contiguous tensor, stacked in the order of ranks."""
        found = tensor.new_empty((self._ranks, *tensor.shape))
        found[self._rank].copy_(tensor)
        for root in range(self._ranks):
            self.broadcast(found[root], root)
        return found

    def reduce(self, tensor, op):
        """In place, by an operation of torch.distributed."""
        name = name_of(op)
        if name in ("SUM", "AVG") and tensor.dtype in (*_TYPES, torch.float16):
            summed = tensor.float() if tensor.dtype == torch.float16 else tensor
            self.sum(summed)
            if name == "AVG":
                summed /= self._ranks
            if summed is not tensor:
                tensor.copy_(summed)
            return
        tensor.copy_(_combine(self.gather(tensor), name))


def _combine(rows, name):
    """Of rows in the order of ranks."""
    if name in ("SUM", "AVG"):
        result = rows[0].clone()
        for row in rows[1:]:
            result = result | row if rows.dtype == torch.bool else result + row
        return result / len(rows) if name == "AVG" else result
    if name in ("MIN", "MAX"):
        return rows.amin(0) if name == "MIN" else rows.amax(0)
    steps = {"PRODUCT": torch.mul, "BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor}
    if name not in steps:
        raise RuntimeError(f"headroom: expected SUM, AVG, MIN, MAX, PRODUCT, BAND, BOR or BXOR, found {name}; run with "
                           "HEADROOM_RANKS_BACKEND=keep, which leaves the script's own backend")
    result = rows[0].clone()
    for row in rows[1:]:
        result = steps[name](result, row)
    return result
