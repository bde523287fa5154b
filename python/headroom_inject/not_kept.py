# SPDX-License-Identifier: Apache-2.0
"""Why a step is not redone."""


class NotKept(Exception):
    """A step in parts would not have the gradients of the whole; the text names what stands against it."""
