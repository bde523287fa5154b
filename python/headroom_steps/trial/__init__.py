# SPDX-License-Identifier: Apache-2.0
"""What `headroom try` runs in the user's own Python: one training job, the same in every framework."""
