// SPDX-License-Identifier: Apache-2.0
// GPUs of the host that a container was not given. Their PCI devices show in its /sys all the same.
// They lack the render node, and their KFD node is refused, reads as nothing or is absent,
// depending on the engine and the kernel. The source for the refusal is amdkfd/kfd_topology.c.
#pragma once

#include "facts/facts.h"

namespace headroom::facts {

// Marks them: what KFD says of them is missing for want of permission. Only where the container was
// given another GPU whole; else that something lacks is a mistake, which other rules look into.
void mark_not_passed(Facts& facts);

}  // namespace headroom::facts
