// SPDX-License-Identifier: Apache-2.0
// /proc/PID/cgroup and the limits of a control group.
#include "facts/cgroup.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const std::string_view input = fuzz::to_text(data, size);
  const facts::Membership membership = facts::parse_membership(input);
  fuzz::require(membership.container.size() <= 64);
  const facts::Text text(std::string(input), facts::Source{"/fuzzed", 0, ""});
  const auto limit = facts::parse_memory_limit(text);
  if (limit) fuzz::require(limit->value < std::uint64_t{1} << 62U);
  const auto region = facts::parse_dmem(text, "0000:03:00.0");
  fuzz::require(!region.source().path.empty());
  return 0;
}
