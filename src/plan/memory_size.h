// SPDX-License-Identifier: Apache-2.0
// How much of the RAM an APU's GPU is to have, from what was asked for: `--size` and `--reserve`
// against the RAM that there is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace headroom::plan {

// Less than this left to the system is refused: a desktop, its programs and the page cache need
// about as much, and GPU memory of an APU cannot be swapped out while it is in use.
constexpr Bytes least_left = 4_GiB;
// Less than this is done, with a warning.
constexpr Bytes comfortable_left = 8_GiB;
// A limit below this would hit the desktop itself, which draws from the same memory.
constexpr Bytes smallest_limit = 1_GiB;

struct SizeRequest {
  std::string command;  // "headroom fix ttm-cap": what an error's next command begins with.
  // "120GiB"; "auto" or empty: the RAM less the reserve; "max": the RAM less the 4 GiB that have to
  // stay, or less the reserve where one is given, and never more than the compute driver passes on
  // (facts::kfd_system_limit).
  std::string size;
  std::optional<Bytes> reserve;  // Of "auto"; else findings::reserve_for_system.
  Bytes ram;                     // MemTotal: what firmware and the carve-out took is not in it.
};

struct SizeChoice {
  Bytes size;  // Whole pages; whole GiB where it was computed.
  Bytes left;  // To the system.
  std::vector<std::string> warnings;
  std::vector<std::string> notes;
};

// A size that was asked for wins over the reserve. Fails with invalid where it cannot be had, with
// the largest one that can.
Result<SizeChoice> choose_size(const SizeRequest& request);

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t to_pages(Bytes size) {
  return size.value / page_bytes;
}

}  // namespace headroom::plan
