// SPDX-License-Identifier: Apache-2.0
// The arithmetic: sums of what ranks brought, in fp32 and in the order of ranks, so that the result
// does not depend on who computes it or when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headroom::averager {

enum class ElementType : std::uint32_t { float32 = 0, bfloat16 = 1 };

constexpr std::uint64_t bytes_of(ElementType type) {
  return type == ElementType::float32 ? 4 : 2;
}

// Writes ((input 0 + input 1) + …) / divisor to `into`. bfloat16 is rounded once, at the end, to
// the nearest and to even. Requires: at least one input, and `into` overlaps none of them.
void sum(ElementType type, std::span<const std::byte* const> inputs, std::uint32_t divisor,
         std::byte* into, std::size_t elements);

// Copies bytes, with stores past the caches if `stays_out` says that nobody reads them soon. The C
// library's memcpy took nearly twice the processor time between heap memory and the segment
// (docs/decisions/0028). Requires: no overlap.
void copy(const std::byte* from, std::byte* to, std::size_t bytes, bool stays_out = false);

}  // namespace headroom::averager
