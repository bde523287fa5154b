# SPDX-License-Identifier: Apache-2.0
"""Memory held back on a GPU during a model's forward pass, for what comes after it: the loss and the first of its gradients, which
cannot be made by rows. As large as that was seen to be. Before any was seen it is taken after the first forward pass, for a loss
such as cross entropy over its output; where it cannot be had, the call had better be made by rows, which leaves room.

It is closed during the forward pass, so that what runs out there is made by rows, and open the rest of the time: then it is given
back as soon as an allocation fails. The step needs that much beside its forward pass in any case, so that holding it
takes nothing from a step like those before.
"""

_SLACK_BYTES = 1 << 20  # Blocks are larger than what they are asked for.
_MOST_SHARE = 8  # At most an eighth of the GPU.
_OF_OUTPUT = 3  # Logarithms of an output, what is made of them, and their gradient.


class Reserve:
    """Of one GPU. `library`: headroom_inject.library.Library."""

    def __init__(self, library, device):
        self._library, self._device = library, device
        self._size, self._after = 0, None  # Bytes; live and allocated bytes when the last forward pass ended.

    @property
    def is_new(self):
        """Whether no step was seen yet."""
        return self._size == 0

    def hold_for(self, outputs):
        """After a forward pass that returned these tensors, the first one. Returns whether all that may be needed could be held."""
        of_loss = 0 if any(one.dim() == 0 and one.requires_grad for one in outputs) else sum(
            one.numel() * max(one.element_size(), 4) for one in outputs if one.requires_grad and one.dim() > 0)
        most = self._library.usage(self._device).capacity_bytes // _MOST_SHARE
        wanted = min(_OF_OUTPUT * of_loss + _SLACK_BYTES, most)
        return self._library.keep_reserve(self._device, wanted) >= wanted

    def close(self):
        """Before a forward pass."""
        self._after = None
        self._library.keep_reserve(self._device, self._size)

    def give_up(self):
        """In a forward pass that does not fit otherwise. Returns whether anything was held."""
        held = self._library.counts(self._device).reserve_bytes > 0
        self._library.keep_reserve(self._device, 0)
        return held

    def open(self):
        """After it."""
        self._library.open_reserve(self._device)
        self._after = self._live(), self._library.counts(self._device).allocated_bytes

    def learn(self):
        """The backward pass has come to the model: what comes before it has taken all that it takes."""
        if self._after is None:
            return
        (live, allocated), self._after = self._after, None
        usage, counts = self._library.usage(self._device), self._library.counts(self._device)
        # Two bounds: not all was alive at once, and the peak may be of another time.
        taken = min(counts.allocated_bytes - allocated, max(usage.live_peak_bytes - live, 0))
        if taken > 0:
            size = min(taken + _SLACK_BYTES, usage.capacity_bytes // _MOST_SHARE)
            self._size = max(self._size, size)

    def _live(self):
        return self._library.usage(self._device).live_bytes
