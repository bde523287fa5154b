// SPDX-License-Identifier: Apache-2.0
#include "tokens/sentencepiece/character_map.h"

#include <fmt/format.h>

namespace headroom::tokens {
namespace {

constexpr std::size_t size_of_unit = 4;

std::uint32_t read_unit(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size_of_unit; ++i)
    value |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

// The parts of a unit, as DoubleArrayUnit has them.
constexpr bool has_leaf(std::uint32_t unit) {
  return ((unit >> 8U) & 1U) != 0;
}
constexpr std::uint32_t value_of(std::uint32_t unit) {
  return unit & ((1U << 31U) - 1);
}
constexpr std::uint32_t label_of(std::uint32_t unit) {
  return unit & ((1U << 31U) | 0xffU);
}
constexpr std::uint32_t offset_of(std::uint32_t unit) {
  return (unit >> 10U) << ((unit & (1U << 9U)) >> 6U);
}

}  // namespace

Result<CharacterMap> CharacterMap::parse(std::string_view bytes) {
  CharacterMap map;
  if (bytes.empty()) return map;
  const std::uint64_t size = bytes.size() < size_of_unit ? 0 : read_unit(bytes);
  if (size == 0 || size % size_of_unit != 0 || size >= bytes.size() - size_of_unit)
    return Error{Errc::invalid,
                 fmt::format("expected a precompiled_charsmap whose tree is shorter than its {} "
                             "bytes, found {} bytes of tree",
                             bytes.size(), size),
                 "use the tokenizer.model that came with the model"};
  const std::string_view tree = bytes.substr(size_of_unit, size);
  map.units_.reserve(size / size_of_unit);
  for (std::size_t at = 0; at < tree.size(); at += size_of_unit)
    map.units_.push_back(read_unit(tree.substr(at)));
  map.texts_ = bytes.substr(size_of_unit + size);
  return map;
}

std::optional<CharacterMap::Match> CharacterMap::longest(std::string_view text) const {
  std::optional<Match> found;
  if (units_.empty()) return found;
  std::uint32_t node = offset_of(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint32_t byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (node >= units_.size() || label_of(units_[node]) != byte) break;
    const std::uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size()) break;
    const std::uint32_t begin = value_of(units_[node]);
    if (begin >= texts_.size()) break;
    const std::string_view rest = std::string_view(texts_).substr(begin);
    found = Match{i + 1, rest.substr(0, rest.find('\0'))};
  }
  return found;
}

}  // namespace headroom::tokens
