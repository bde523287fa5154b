# SPDX-License-Identifier: Apache-2.0
"""Why a step is not redone."""


class NotKept(Exception):
    """A step in parts would not have the gradients of the whole; the text names what stands against it."""


class OneRowTooMany(NotKept):
    """Not even one row fits; `error` is the text of the out of memory."""

    def __init__(self, error):
        super().__init__("one row alone does not fit")
        self.error = error


def by_rows_it_fails(error):
    """The reason when rows of a batch raise an error that is no out of memory."""
    return NotKept(f"by rows it fails: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
