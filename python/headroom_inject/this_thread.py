# SPDX-License-Identifier: Apache-2.0
"""What the calling thread is doing: the forward and the backward pass of one step are called by one thread."""
import contextlib
import threading
import weakref


class _Thread(threading.local):
    def __init__(self):
        self.is_inside = False  # A call of a model that is watched.
        self.is_aside = False  # A step that somebody else redoes.
        self.is_in_ddp = False  # A call of DistributedDataParallel.
        self.calls = weakref.WeakSet()  # KeptCalls whose graph is alive.


here = _Thread()


@contextlib.contextmanager
def marked(name):
    """While it lasts, `name` of this thread is True."""
    before = getattr(here, name)
    setattr(here, name, True)
    try:
        yield
    finally:
        setattr(here, name, before)
