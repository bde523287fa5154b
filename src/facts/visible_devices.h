// SPDX-License-Identifier: Apache-2.0
// The masks that hide and reorder GPUs, and the index under which each GPU is seen after them.
// ROCR_VISIBLE_DEVICES acts first, in ROCr, on KFD's order of nodes (ROCR-Runtime,
// amd_filter_device.cpp); HIP_VISIBLE_DEVICES, else CUDA_VISIBLE_DEVICES, acts on what is left, in
// HIP (clr, rocdevice.cpp, Device::init). PyTorch and everything else above HIP count as HIP does.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "facts/text_facts.h"

namespace headroom::facts {

struct Mask {
  std::string variable;  // "HIP_VISIBLE_DEVICES".
  std::string value;
  Source source;
};

using Variables = std::vector<std::pair<std::string, std::string>>;

// Those of the variables that are masks; the source's text becomes "NAME=value".
std::vector<Mask> find_masks(const Variables& environment, const Source& source);

// A word of a mask that names no device, or one twice where that ends the list: it and all that
// follows it are dropped.
struct RejectedWord {
  std::string variable;
  std::string word;
};

// Both lists hold positions in KFD's order of GPU nodes, in the order in which they are counted.
struct VisibleDevices {
  std::vector<std::size_t> rocr;  // After ROCR_VISIBLE_DEVICES: what rocminfo lists.
  std::vector<std::size_t> hip;   // After HIP's mask too: what PyTorch counts.
  std::vector<RejectedWord> rejected;
};

// `unique_ids` are KFD's, by node; 0 where a GPU has none, which no "GPU-…" word then names.
VisibleDevices apply_masks(const std::vector<std::uint64_t>& unique_ids,
                           const std::vector<Mask>& masks);

}  // namespace headroom::facts
