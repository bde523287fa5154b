// SPDX-License-Identifier: Apache-2.0
// Who goes first where the kernel runs out of memory all the same.
#pragma once

namespace headroom::trainer {

// Raises this process's oom_score_adj to 500, which needs no rights: the kernel then counts it as
// if it held half of the machine's memory more than it does. A trainer's memory file is in nobody's
// resident set as long as it is not touched, so without this the kernel would end everybody else
// first; and a run can go on from its checkpoint, which a desktop cannot. Not 1000, by which it
// would go first also where another program holds most of the memory. A higher score stays, and
// what the kernel refuses is left as it is.
void raise_oom_score();

}  // namespace headroom::trainer
