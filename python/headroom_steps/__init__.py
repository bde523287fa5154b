# SPDX-License-Identifier: Apache-2.0
"""What `headroom test` runs in the user's own Python."""
