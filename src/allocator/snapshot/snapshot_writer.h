// SPDX-License-Identifier: Apache-2.0
// Writes a Snapshot in the format of torch.cuda.memory._dump_snapshot, which the viewer at
// pytorch.org/memory_viz, Python and snapshot_reader.h read.
#pragma once

#include <string>

#include "allocator/snapshot/snapshot.h"

namespace headroom::allocator {

// An owner becomes a stack of at most two calls, so that the viewer shows it: "headroom:
// activations" and the tensor's name. Names that are not UTF-8 are replaced. Requires: all owners'
// names are below names.size().
std::string to_pickle(const Snapshot& snapshot);

}  // namespace headroom::allocator
