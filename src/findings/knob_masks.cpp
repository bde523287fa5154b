// SPDX-License-Identifier: Apache-2.0
#include "findings/knob_masks.h"

#include <fmt/format.h>

#include "base/text.h"

namespace headroom::findings {
namespace {

struct Indices {
  std::vector<std::size_t> known;
  std::size_t entries = 0;  // With those that are UUIDs.
  bool hides_all = false;   // "-1", "none".
};

// The list ends at the first entry that makes no sense, as in the runtimes.
Indices parse_mask(const std::string& value) {
  Indices indices;
  for (const std::string_view part : split(value, ',')) {
    const std::string_view entry = trim(part);
    if (const auto index = parse_u64(entry)) {
      indices.known.push_back(static_cast<std::size_t>(*index));
    } else if (!entry.starts_with("GPU-") && !entry.starts_with("$")) {
      indices.hides_all = indices.entries == 0;
      break;
    }
    ++indices.entries;
  }
  return indices;
}

const Mask* find(const std::vector<Mask>& masks, std::string_view name) {
  for (const Mask& mask : masks) {
    if (mask.name == name) return &mask;
  }
  return nullptr;
}

// What a mask leaves of `before` GPUs, and what is wrong with it.
std::optional<std::size_t> apply(const Mask& mask, std::optional<std::size_t> before,
                                 const std::string& counted, std::vector<MaskProblem>& problems) {
  const Indices indices = parse_mask(mask.value);
  if (indices.hides_all) {
    problems.push_back({mask.name, "it hides every GPU", true});
    return 0;
  }
  if (!before) return indices.entries;
  std::size_t left = indices.entries - indices.known.size();
  for (const std::size_t index : indices.known) {
    if (index < *before) {
      ++left;
      continue;
    }
    problems.push_back({mask.name, fmt::format("there is no GPU {}: {} from 0", index, counted)});
    break;
  }
  return left;
}

}  // namespace

std::vector<MaskProblem> check_masks(const std::vector<Mask>& masks,
                                     std::optional<std::size_t> gpus) {
  std::vector<MaskProblem> problems;
  std::optional<std::size_t> left = gpus;
  std::string counted = gpus ? fmt::format("the machine has {}, counted", *gpus) : "";
  if (const Mask* rocr = find(masks, "ROCR_VISIBLE_DEVICES")) {
    left = rocr->value.empty() ? 0 : apply(*rocr, gpus, counted, problems);
    if (rocr->value.empty())
      problems.push_back({rocr->name, "set to nothing, it hides every GPU", true});
    counted = fmt::format("ROCR_VISIBLE_DEVICES={} leaves {}, and HIP counts them anew",
                          rocr->value, left ? std::to_string(*left) : "some");
  }
  const Mask* hip = find(masks, "HIP_VISIBLE_DEVICES");
  const Mask* cuda = find(masks, "CUDA_VISIBLE_DEVICES");
  if (hip != nullptr && hip->value.empty()) hip = nullptr;
  if (cuda != nullptr && cuda->value.empty()) cuda = nullptr;
  if (hip != nullptr && cuda != nullptr && hip->value != cuda->value) {
    problems.push_back({"CUDA_VISIBLE_DEVICES",
                        fmt::format("HIP_VISIBLE_DEVICES={} says otherwise and wins", hip->value)});
  }
  const Mask* used = hip != nullptr ? hip : cuda;
  if (left == 0) return problems;
  if (used != nullptr) left = apply(*used, left, counted, problems);
  const Mask* ordinal = find(masks, "GPU_DEVICE_ORDINAL");
  if (ordinal != nullptr && !ordinal->value.empty() && used == nullptr) {
    apply(*ordinal, left, counted, problems);
  }
  return problems;
}

}  // namespace headroom::findings
