# SPDX-License-Identifier: Apache-2.0
"""Counts the calls of a C function whatever its arguments are: a few instructions of x86-64 that count and jump on, so that the
function finds everything as its caller left it."""
import ctypes
import mmap
import struct

_COUNT_AT, _ADDRESS_AT = 16, 24
_CODE = (b"\xf0\x48\xff\x05" + struct.pack("<i", _COUNT_AT - 8)      # lock incq count(%rip)
         + b"\xff\x25" + struct.pack("<i", _ADDRESS_AT - 14) + b"\x90\x90")  # jmp *address(%rip)


class CountedCalls:
    """`address` is to be called in place of the function's; the object must live as long as anybody calls it."""

    def __init__(self, function_address):
        self._page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._page.write(_CODE + struct.pack("<QQ", 0, function_address))
        self._first = ctypes.c_char.from_buffer(self._page)
        self.address = ctypes.addressof(self._first)

    def count(self):
        return struct.unpack_from("<Q", self._page, _COUNT_AT)[0]
