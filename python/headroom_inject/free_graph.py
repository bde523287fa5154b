# SPDX-License-Identifier: Apache-2.0
"""Frees a graph that the program still holds, by its loss or its outputs, after a backward pass that failed: each node's saved
tensors are replaced by nothing (SavedTensor.register_hooks packs what is saved, and keeps only what the hook returns)."""


def drop_saved(roots):
    """Frees what the graph below these nodes has saved, executed or not. It cannot be walked again."""
    seen, waiting = set(), list(roots)
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting += [following for following, _ in node.next_functions]
        for name in dir(node):
            if name.startswith("_raw_saved_"):
                _drop(node, name)


def _drop(node, name):
    try:
        saved = getattr(node, name)
    except RuntimeError:  # It was freed already.
        return
    for one in saved if isinstance(saved, (tuple, list)) else (saved,):
        try:
            one.register_hooks(_forget, _gone)
        except RuntimeError:  # There is nothing, or somebody else's hooks are there.
            pass


def _forget(_):
    return None


def _gone(_):
    raise RuntimeError("headroom: this graph was freed after an out of memory; its gradients were computed by rows")
