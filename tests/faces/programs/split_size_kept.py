# SPDX-License-Identifier: Apache-2.0
"""What is remembered from step to step, and for how long: a limit of elements, which is tried again less and less often."""
from headroom_inject.split_size import PATIENCE, SplitSize

size = SplitSize()
assert size.rows_of_part(8, 100) == 8
size.failed(8, 100)
assert size.rows_of_part(8, 100) == 4
assert size.rows_of_part(8, 50) == 8  # Half as long: as much as the four that may fit.
assert size.rows_of_part(7, 100) == 4 and size.rows_of_part(9, 100) == 3
assert size.rows_of_part(8, 10000) == 1
size.failed(4, 100)  # In the same step.
assert size.rows_of_part(8, 100) == 2

for _ in range(PATIENCE - 1):
    size.passed()
    assert size.rows_of_part(8, 100) == 2
size.passed()
assert size.rows_of_part(8, 100) == 4  # Tried again.
size.failed(4, 100)
size.passed()  # The step as it was split.
for _ in range(2 * PATIENCE - 2):
    size.passed()
    assert size.rows_of_part(8, 100) == 2
size.passed()
assert size.rows_of_part(8, 100) == 4
for _ in range(2 * PATIENCE):
    size.passed()
assert size.rows_of_part(8, 100) == 8  # What was in the way is gone.
print("kept and tried again")
