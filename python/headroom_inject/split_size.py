# SPDX-License-Identifier: Apache-2.0
"""How large a part of a batch may be, from what has failed so far.

Batches of one job are unequally long, so the limit is in elements (rows × elements of a row), not in rows. After a failure the
parts stay small: an attempt that fails costs up to a whole step. But what failed may have been an exception, a neighbour on
the GPU or one long batch, so the limit is doubled after PATIENCE steps without a failure; a failure after that doubles the
patience, so that a limit that is real costs ever less.
"""

PATIENCE = 100  # Steps.
LONGEST_PATIENCE = 10000


class SplitSize:
    def __init__(self):
        self._limit = None  # Elements of a part; None: whatever comes.
        self._patience, self._quiet, self._is_raised = PATIENCE, 0, False

    @property
    def is_limited(self):
        return self._limit is not None

    def rows_of_part(self, rows, elements_of_row):
        """From 1 to `rows`; where it is not all of them, the parts are about equal."""
        if self._limit is None or rows * elements_of_row <= self._limit:
            return rows
        most = max(1, self._limit // max(elements_of_row, 1))
        parts = -(-rows // most)
        return -(-rows // parts)

    def failed(self, rows, elements_of_row):
        """A part of so many rows did not fit."""
        if self._is_raised:
            self._patience = min(self._patience * 2, LONGEST_PATIENCE)
        elements = max(1, (rows + 1) // 2 * elements_of_row)
        self._limit = elements if self._limit is None else min(self._limit, elements)
        self._quiet, self._is_raised = 0, False

    def passed(self):
        """A step went through as it was cut."""
        if self._limit is None:
            return
        self._quiet += 1
        if self._quiet >= self._patience:
            self._limit, self._quiet, self._is_raised = self._limit * 2, 0, True
