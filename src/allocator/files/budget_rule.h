// SPDX-License-Identifier: Apache-2.0
// The rule by which processes share a device. A fixed share is a number of bytes; a weighted one is
// a part of what the fixed shares leave.
//
//   1. All processes together never hold more than the total.
//   2. A fixed share can always be taken in full, whatever others do. So no process may join with a
//      fixed share that could not be met at once.
//   3. A process can borrow more than its own share from what no share covers, but never from
//      another share that lies idle, because no process can be made to give memory back.
//   4. A weighted share shrinks when others join. The others keep what they hold but get nothing
//      new until they are within their smaller shares; only then can the newcomer have all of its.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom::allocator {

enum class ShareKind : std::uint8_t { fixed_bytes, weight };

inline constexpr std::uint64_t max_share_weight = 1U << 20U;

struct Share {
  ShareKind kind = ShareKind::weight;
  std::uint64_t amount = 1;  // Bytes, or a weight from 1 to max_share_weight.

  static Share of_bytes(std::uint64_t bytes) { return {ShareKind::fixed_bytes, bytes}; }
  static Share of_weight(std::uint64_t weight) { return {ShareKind::weight, weight}; }
  // A fixed share of `fraction`, from 0 to 1, of `total_bytes`.
  static Share of_total(double fraction, std::uint64_t total_bytes);
};

struct Claim {
  Share share;
  std::uint64_t held_bytes = 0;
};

// The bytes that are held or firmly promised; never more than the total if the rule was kept.
std::uint64_t backed_bytes(const std::vector<Claim>& claims);

// The own share of each claim. Requires: fixed shares add up to at most the total, and there are at
// most 4096 claims.
std::vector<std::uint64_t> own_shares(std::uint64_t total_bytes, const std::vector<Claim>& claims);

// How much more claims[who] may take now.
std::uint64_t grantable(std::uint64_t total_bytes, const std::vector<Claim>& claims,
                        std::size_t who);

// The largest fixed share that could be promised to a newcomer.
std::uint64_t promisable(std::uint64_t total_bytes, const std::vector<Claim>& claims);

}  // namespace headroom::allocator
