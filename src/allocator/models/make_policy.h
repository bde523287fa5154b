// SPDX-License-Identifier: Apache-2.0
// Makes policies by name, each over a device that only counts, for replays and estimates.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/policy.h"
#include "base/result.h"

namespace headroom::allocator {

// Larger than any device; the largest that make_policy() takes.
inline constexpr std::uint64_t unlimited_capacity_bytes = std::uint64_t{1} << 46U;  // 64 TiB

const std::vector<std::string>& policy_names();

// Fails with the names that exist if `name` is none of them. Policies that take memory from the
// device round the capacity down to its 2 MiB units; `exact` takes it as it is.
Result<std::unique_ptr<Policy>> make_policy(
    std::string_view name, std::uint64_t capacity_bytes = unlimited_capacity_bytes);

}  // namespace headroom::allocator
