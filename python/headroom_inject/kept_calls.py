# SPDX-License-Identifier: Apache-2.0
"""Calls whose graph is alive. A call lives as long as the nodes that made its output: they hold it by a hook, which notes the gradients
of the output while a backward pass is followed. Nothing here keeps a graph alive."""
import weakref

from headroom_inject.structures import tensors_of

_KEY = "headroom"  # In a node's metadata.
MOST = 8  # Calls of one step that are followed; the gradients of their outputs are kept during its backward pass.


class KeptCall:
    """`places`: of each tensor of the output, its node's number and its number there; None if it has no graph. `reached` is called
    when a backward pass comes to the output."""

    def __init__(self, call, is_in_ddp, reached):
        self.call, self.is_in_ddp, self._reached, self.places = call, is_in_ddp, reached, []
        self.is_followed, self._grads = False, {}

    def watch(self, output):
        nodes = []
        for tensor in tensors_of(output):
            node = tensor.grad_fn if tensor.requires_grad else None
            if node is not None and node not in nodes:
                nodes.append(node)
                self._hook(node, len(nodes) - 1)
            self.places.append(None if node is None else (nodes.index(node), tensor.output_nr))
        return bool(nodes)

    def _hook(self, node, number):
        def note(grads):
            if self.is_followed:
                self._reached()
                self._grads[number] = grads

        node.metadata[_KEY] = (weakref.ref(self), number)
        node.register_prehook(note)

    def follow(self, on):
        self.is_followed = on
        self._grads = {}

    def has(self, number):
        """Whether the backward pass has come to that node."""
        return number in self._grads

    def gradients(self):
        """Of each tensor of the output; None where there is none."""
        return [None if place is None or place[0] not in self._grads else self._grads[place[0]][place[1]] for place in self.places]


def kept_at(node):
    """The call whose output this node made, and its number there; None if there is none."""
    found = node.metadata.get(_KEY)
    call = found[0]() if found else None
    return None if call is None else (call, found[1])
