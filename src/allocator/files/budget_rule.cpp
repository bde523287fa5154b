// SPDX-License-Identifier: Apache-2.0
#include "allocator/files/budget_rule.h"

#include <algorithm>

#include "base/require.h"

namespace headroom::allocator {
namespace {

std::uint64_t left_of(std::uint64_t total, std::uint64_t used) {
  return total - std::min(total, used);
}

}  // namespace

std::uint64_t backed_bytes(const std::vector<Claim>& claims) {
  std::uint64_t sum = 0;
  for (const Claim& claim : claims) {
    const bool fixed = claim.share.kind == ShareKind::fixed_bytes;
    sum += fixed ? std::max(claim.share.amount, claim.held_bytes) : claim.held_bytes;
  }
  return sum;
}

Share Share::of_total(double fraction, std::uint64_t total_bytes) {
  const double clamped = std::clamp(fraction, 0.0, 1.0);
  const double bytes = clamped * static_cast<double>(total_bytes);
  if (clamped == 1.0) return of_bytes(total_bytes);  // A double may not be able to express it.
  return of_bytes(std::min(static_cast<std::uint64_t>(bytes), total_bytes));
}

std::vector<std::uint64_t> own_shares(std::uint64_t total_bytes, const std::vector<Claim>& claims) {
  std::uint64_t fixed = 0;
  std::uint64_t weights = 0;
  for (const Claim& claim : claims)
    (claim.share.kind == ShareKind::fixed_bytes ? fixed : weights) += claim.share.amount;
  require(fixed <= total_bytes, "fixed shares add up to no more than the total");
  require(claims.size() <= 4096, "4096 claims share a device at most");
  const std::uint64_t rest = total_bytes - fixed;
  std::vector<std::uint64_t> own;
  for (const Claim& claim : claims) {
    const std::uint64_t amount = claim.share.amount;
    if (claim.share.kind == ShareKind::fixed_bytes)
      own.push_back(amount);
    else  // rest × amount / weights, without leaving 64 bits.
      own.push_back(rest / weights * amount + rest % weights * amount / weights);
  }
  return own;
}

std::uint64_t grantable(std::uint64_t total_bytes, const std::vector<Claim>& claims,
                        std::size_t who) {
  const std::vector<std::uint64_t> own = own_shares(total_bytes, claims);
  std::uint64_t committed = 0;  // Held, or covered by a share.
  for (std::size_t i = 0; i < claims.size(); ++i)
    committed += std::max(own[i], claims[i].held_bytes);
  const std::uint64_t to_own = left_of(own[who], claims[who].held_bytes);
  // A fixed share is guaranteed; a weighted one can be taken only from what is left.
  const std::uint64_t within = claims[who].share.kind == ShareKind::fixed_bytes
                                   ? to_own
                                   : std::min(to_own, left_of(total_bytes, backed_bytes(claims)));
  if (within < to_own) return within;
  return within + left_of(total_bytes, committed);
}

std::uint64_t promisable(std::uint64_t total_bytes, const std::vector<Claim>& claims) {
  return left_of(total_bytes, backed_bytes(claims));
}

}  // namespace headroom::allocator
