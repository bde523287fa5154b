# SPDX-License-Identifier: Apache-2.0
"""How far a device's result may be from the processor's, computed with 64 bits from the same inputs.

The largest difference of an element, over the largest element. Sums of up to 1,024 products: 32 bits keep 24 binary digits (TF32, where a
framework turns it on, 11), 16 bits 11 digits, bfloat16 8. Each bound is some ten times what rounding alone leaves.
"""
from headroom_steps.protocol import failed, passed

TOLERANCE = {"fp32": 1e-3, "fp16": 1e-2, "bf16": 6e-2}


def compare(worst, dtype, what):
    """`worst`: that largest difference; not a number where a result is none."""
    limit = TOLERANCE[dtype]
    if worst <= limit:  # False for what is not a number.
        return passed(worst, "relative difference", f"within {limit:g} of the processor's result")
    return failed(f"{what} differs from the processor's result by {worst:.3g} of its largest value; at most {limit:g} is rounding", worst,
                  "relative difference")
