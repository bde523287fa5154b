// SPDX-License-Identifier: Apache-2.0
// GPUs among each other: which link joins each pair, and under which index each is counted.
#pragma once

#include <vector>

#include "facts/facts.h"

namespace headroom::facts {

// Each pair of GPUs with a KFD node once, in the order of `gpus`; a link that only one of the two
// nodes records counts. Without records, XGMI shows by a hive that both belong to.
std::vector<PeerLink> join_peers(const std::vector<Gpu>& gpus, const std::vector<KfdNode>& nodes);

// Sets rocr_index and hip_index of every GPU, and mask_errors, from the masks in `facts`. Where a
// node that may be a GPU could not be read, those after it have no index, and with a mask none has:
// a place in the list that is known only if nothing was overlooked is not known.
void count_devices(Facts& facts, const std::vector<KfdNode>& nodes);

// A mask leaves out the GPU whose rocr_index or hip_index this is.
bool is_hidden(const Fact<std::uint64_t>& index);

// The bridges above both of these GPUs, lowest first; none if they meet in the CPU only.
std::vector<std::string> shared_bridges(const Gpu& a, const Gpu& b);

// From so many GPUs on, pairs are not listed: the partitions of one node would be thousands.
constexpr std::size_t peers_max = 16;

}  // namespace headroom::facts
