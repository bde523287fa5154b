# SPDX-License-Identifier: Apache-2.0
"""What `headroom test` and `headroom try` run in the user's own Python."""
