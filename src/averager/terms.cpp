// SPDX-License-Identifier: Apache-2.0
#include "averager/terms.h"

#include <fmt/format.h>

#include "averager/request.h"

namespace headroom::averager {
namespace {

constexpr std::uint64_t most_arena_bytes = std::uint64_t{1} << 44U;
constexpr std::uint32_t least_chunk_bytes = 4096;
constexpr std::uint32_t most_chunk_bytes = 64U << 20U;
constexpr std::uint32_t least_slots = 2;

Error out_of_range(const std::string& expected, std::uint64_t found) {
  return {Errc::invalid, fmt::format("expected {}, found {}", expected, found),
          "include/headroom/averager.h says what each option may be"};
}

}  // namespace

Status check_terms(const Terms& terms, std::uint32_t rank) {
  if (terms.ranks < 1 || terms.ranks > protocol::max_ranks)
    return out_of_range(fmt::format("1 to {} ranks", protocol::max_ranks), terms.ranks);
  if (rank >= terms.ranks) return out_of_range(fmt::format("a rank below {}", terms.ranks), rank);
  if (terms.slots < least_slots || terms.slots > protocol::max_slots)
    return out_of_range(fmt::format("{} to {} in flight", least_slots, protocol::max_slots),
                        terms.slots);
  if (terms.chunk_bytes < least_chunk_bytes || terms.chunk_bytes > most_chunk_bytes ||
      terms.chunk_bytes % least_chunk_bytes != 0)
    return out_of_range(fmt::format("chunks of a multiple of {} up to {} bytes", least_chunk_bytes,
                                    most_chunk_bytes),
                        terms.chunk_bytes);
  if (terms.arena_bytes == 0 || terms.arena_bytes > most_arena_bytes ||
      terms.arena_bytes % page_bytes != 0)
    return out_of_range(
        fmt::format("an arena of a multiple of {} up to {} bytes", page_bytes, most_arena_bytes),
        terms.arena_bytes);
  if (terms.policy > static_cast<std::uint32_t>(Policy::fail))
    return out_of_range("a policy of 0 or 1", terms.policy);
  return Done{};
}

}  // namespace headroom::averager
