// SPDX-License-Identifier: Apache-2.0
// The rule by which processes share a device. A fixed share is a number of bytes; a weighted one is
// a part of what the fixed shares leave.
//
//   1. What all hold together never exceeds the total.
//   2. A fixed share can always be taken in full, whatever others do. So nobody joins with one that
//      could not be backed at once.
//   3. More than one's own share can be borrowed, of what nobody's share covers; never of a share
//      that lies idle, because nobody could be made to give it back.
//   4. A weighted share shrinks when others join. Nobody is made to give back what he holds, so the
//      newcomer has his in full only when the others hold no more than theirs; meanwhile they get
//      nothing new.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom::allocator {

enum class ShareKind : std::uint8_t { fixed_bytes, weight };

inline constexpr std::uint64_t max_share_weight = 1U << 20U;

struct Share {
  ShareKind kind = ShareKind::weight;
  std::uint64_t amount = 1;  // Bytes, or a weight of 1 to max_share_weight.

  static Share of_bytes(std::uint64_t bytes) { return {ShareKind::fixed_bytes, bytes}; }
  static Share of_weight(std::uint64_t weight) { return {ShareKind::weight, weight}; }
  // `fraction` of `total_bytes`, from 0 to 1, as a fixed share.
  static Share of_total(double fraction, std::uint64_t total_bytes);
};

struct Claim {
  Share share;
  std::uint64_t held_bytes = 0;
};

// What is held, or firmly promised; never more than the total where the rule was kept.
std::uint64_t backed_bytes(const std::vector<Claim>& claims);

// Everybody's own share. Requires: fixed shares add up to no more than the total, and there are at
// most 4096 claims.
std::vector<std::uint64_t> own_shares(std::uint64_t total_bytes, const std::vector<Claim>& claims);

// How much more claims[who] may take now.
std::uint64_t grantable(std::uint64_t total_bytes, const std::vector<Claim>& claims,
                        std::size_t who);

// The largest fixed share that could be promised to a newcomer.
std::uint64_t promisable(std::uint64_t total_bytes, const std::vector<Claim>& claims);

}  // namespace headroom::allocator
