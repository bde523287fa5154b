# SPDX-License-Identifier: Apache-2.0
"""Where the gradients of a graph go."""
from headroom_inject.not_kept import NotKept


def check_leaves(tensors, known, watch):
    """Raises NotKept if the graph that made these tensors hands gradients to anything but the tensors in `known`: whoever computes it
    again by rows would forget that. Those that were made under `watch` are not missed: adapters over checkpoints have one."""
    known = {id(one) for one in known}
    seen, waiting = set(), [one.grad_fn for one in tensors]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable") and id(node.variable) not in known and not watch.has_made(node.variable):
            shape = list(node.variable.shape)
            raise NotKept(f"gradients go to a tensor of shape {shape} that is neither an argument nor a parameter of the model")
        waiting += [following for following, _ in node.next_functions]
