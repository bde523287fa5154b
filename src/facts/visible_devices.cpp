// SPDX-License-Identifier: Apache-2.0
#include "facts/visible_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "base/text.h"

namespace headroom::facts {
namespace {

using Ids = std::vector<std::uint64_t>;
using Positions = std::vector<std::size_t>;

constexpr std::array mask_names = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                   "CUDA_VISIBLE_DEVICES"};

const Mask* find(const std::vector<Mask>& masks, std::string_view variable) {
  for (const Mask& mask : masks) {
    if (mask.variable == variable) return &mask;
  }
  return nullptr;
}

bool contains(const Positions& positions, std::size_t one) {
  return std::find(positions.begin(), positions.end(), one) != positions.end();
}

// "gpu-00d1…" in ROCr's manner: the beginning of exactly one GPU's id is enough.
std::optional<std::size_t> find_uuid(const Ids& ids, std::string_view word) {
  constexpr std::size_t shortest = 5, longest = 20;  // "gpu-" and one digit, or all sixteen.
  if (word.size() < shortest || word.size() > longest) return std::nullopt;
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == 0 || !fmt::format("gpu-{:016x}", ids[i]).starts_with(word)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

// ROCr takes hexadecimal too, as strtol does with base 0.
std::optional<std::size_t> find_rocr(const Ids& ids, std::string_view word) {
  const std::string lower = to_lower(trim(word));
  if (lower.starts_with('g')) return find_uuid(ids, lower);
  const auto number = lower.starts_with("0x") ? parse_hex(lower) : parse_u64(lower);
  return number && *number < ids.size() ? std::optional<std::size_t>(*number) : std::nullopt;
}

// HIP takes a plain decimal number or a whole id.
std::optional<std::size_t> find_hip(const Ids& ids, std::string_view word) {
  if (word.starts_with("GPU-")) {
    const std::string lower = to_lower(word);
    return lower.size() == 20 ? find_uuid(ids, lower) : std::nullopt;
  }
  const auto number = parse_u64(word);
  const bool plain = number && word == std::to_string(*number);
  return plain && *number < ids.size() ? std::optional<std::size_t>(*number) : std::nullopt;
}

// An empty mask hides every GPU; a repeated one ends the list.
Positions mask_rocr(const Ids& ids, const Mask& mask, std::vector<RejectedWord>& rejected) {
  Positions kept;
  if (trim(mask.value).empty()) return kept;
  for (const std::string_view word : split(mask.value, ',')) {
    if (kept.size() == ids.size()) break;  // ROCr reads no more words than there are GPUs.
    const auto position = find_rocr(ids, word);
    if (!position || contains(kept, *position)) {
      rejected.push_back({mask.variable, std::string(word)});
      break;
    }
    kept.push_back(*position);
  }
  return kept;
}

// An empty mask is none; a GPU that is named again is passed over.
Positions mask_hip(const Ids& ids, const Mask& mask, std::vector<RejectedWord>& rejected) {
  Positions kept;
  for (const std::string_view word : split(mask.value, ',')) {
    const auto position = find_hip(ids, word);
    if (!position) {
      rejected.push_back({mask.variable, std::string(word)});
      break;
    }
    if (!contains(kept, *position)) kept.push_back(*position);
  }
  return kept;
}

}  // namespace

std::vector<Mask> find_masks(const Variables& environment, const Source& source) {
  std::vector<Mask> masks;
  for (const auto& [name, value] : environment) {
    const bool is_mask = std::find(mask_names.begin(), mask_names.end(), name) != mask_names.end();
    if (!is_mask || find(masks, name) != nullptr) continue;
    masks.push_back({name, value, Source{source.path, source.line, name + "=" + value}});
  }
  return masks;
}

VisibleDevices apply_masks(const std::vector<std::uint64_t>& unique_ids,
                           const std::vector<Mask>& masks) {
  VisibleDevices visible;
  visible.rocr.resize(unique_ids.size());
  std::iota(visible.rocr.begin(), visible.rocr.end(), std::size_t{0});
  if (const Mask* mask = find(masks, "ROCR_VISIBLE_DEVICES")) {
    visible.rocr = mask_rocr(unique_ids, *mask, visible.rejected);
  }
  visible.hip = visible.rocr;
  const Mask* mask = find(masks, "HIP_VISIBLE_DEVICES");
  if (mask == nullptr || mask->value.empty()) mask = find(masks, "CUDA_VISIBLE_DEVICES");
  if (mask == nullptr || mask->value.empty()) return visible;
  Ids left;
  for (const std::size_t position : visible.rocr) left.push_back(unique_ids[position]);
  visible.hip.clear();
  for (const std::size_t position : mask_hip(left, *mask, visible.rejected)) {
    visible.hip.push_back(visible.rocr[position]);
  }
  return visible;
}

}  // namespace headroom::facts
