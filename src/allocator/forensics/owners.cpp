// SPDX-License-Identifier: Apache-2.0
#include "allocator/forensics/owners.h"

#include <algorithm>
#include <bit>
#include <string>
#include <tuple>
#include <unordered_map>

namespace headroom::allocator {
namespace {

struct Group {
  std::uint64_t block_bytes = 0;
  std::uint64_t count = 0;
  Component tag = Component::other;
  NameId pattern = 0;  // The first name with the pattern, which stands for all of them.
  NameId name = 0;     // The name of its first block …
  bool alone = true;   // … and whether all others have it too.

  std::uint64_t bytes() const { return block_bytes * count; }
  bool same(const LiveBlock& block, NameId its_pattern) const {
    return block_bytes == block.bytes && tag == block.tag && pattern == its_pattern;
  }
};

// Sizes are multiples of 512 and names lie above them, so every bit has to reach the low ones
// (the finalizer of splitmix64).
std::size_t hash(const LiveBlock& block, NameId pattern) {
  std::uint64_t key = block.bytes ^ (std::uint64_t{pattern} << 40U) ^
                      (static_cast<std::uint64_t>(block.tag) << 56U);
  key = (key ^ (key >> 30U)) * 0xBF58476D1CE4E5B9U;
  key = (key ^ (key >> 27U)) * 0x94D049BB133111EBU;
  return static_cast<std::size_t>(key ^ (key >> 31U));
}

// For each name, the first name with the same pattern.
std::vector<NameId> patterns_of(const NameTable* names) {
  std::vector<NameId> patterns = {0};
  if (names == nullptr) return patterns;
  std::unordered_map<std::string, NameId> first;
  const std::size_t count = names->size();
  for (std::size_t id = 1; id <= count; ++id) {
    const auto name = static_cast<NameId>(id);
    patterns.push_back(first.emplace(name_pattern(names->name(name)), name).first->second);
  }
  return patterns;
}

// Open addressing over all blocks at once, because a node for each group would cost more than the
// rest of the report. The table holds the groups' numbers: holding the groups themselves, it would
// be ten times as large and mostly empty.
std::vector<Group> grouped(const std::vector<LiveBlock>& blocks,
                           const std::vector<NameId>& patterns) {
  std::vector<Group> groups;
  std::vector<std::uint32_t> table(std::bit_ceil(blocks.size() * 2 + 1));  // 0 marks a free slot.
  const std::size_t mask = table.size() - 1;
  for (const LiveBlock& block : blocks) {
    const NameId pattern = block.name < patterns.size() ? patterns[block.name] : NameId{0};
    std::size_t at = hash(block, pattern) & mask;
    while (table[at] != 0 && !groups[table[at] - 1].same(block, pattern)) at = (at + 1) & mask;
    if (table[at] == 0) {
      groups.push_back(
          {.block_bytes = block.bytes, .tag = block.tag, .pattern = pattern, .name = block.name});
      table[at] = static_cast<std::uint32_t>(groups.size());
    }
    Group& group = groups[table[at] - 1];
    group.alone = group.alone && group.name == block.name;
    ++group.count;
  }
  return groups;
}

Owner to_owner(const Group& group, const NameTable* names) {
  Owner owner;
  owner.tag = group.tag;
  if (names != nullptr && group.pattern != 0) {
    const std::string_view name = names->name(group.name);
    owner.name = printable_name(group.alone ? std::string(name) : name_pattern(name));
  }
  owner.block_bytes = group.block_bytes;
  owner.count = group.count;
  return owner;
}

}  // namespace

Owners find_owners(const HeapView& view, std::size_t count) {
  Owners owners;
  std::vector<Group> groups = grouped(view.blocks, patterns_of(view.names));
  if (groups.empty()) return owners;
  const auto place = [](const Group& group) {
    return std::make_tuple(group.bytes(), group.block_bytes, group.tag, group.pattern);
  };
  const auto more = [&](const Group& a, const Group& b) { return place(a) > place(b); };
  const auto larger = [&](const Group& a, const Group& b) {
    return std::make_tuple(a.block_bytes, place(a)) < std::make_tuple(b.block_bytes, place(b));
  };
  owners.largest = to_owner(*std::max_element(groups.begin(), groups.end(), larger), view.names);
  const auto end = groups.begin() + static_cast<std::ptrdiff_t>(std::min(count, groups.size()));
  std::partial_sort(groups.begin(), end, groups.end(), more);
  for (auto group = groups.begin(); group != end; ++group)
    owners.most.push_back(to_owner(*group, view.names));
  return owners;
}

}  // namespace headroom::allocator
