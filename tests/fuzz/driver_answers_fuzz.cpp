// SPDX-License-Identifier: Apache-2.0
// What the driver answers by ioctl and in debugfs, as text; a capture holds it as files that anyone
// may have edited.
#include "facts/driver_answers.h"
#include "facts/kfd_limits.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const facts::Text text(std::string(fuzz::to_text(data, size)), facts::Source{"/fuzzed", 0, ""});
  const auto answers = facts::parse_driver_answers(text);
  fuzz::require(!answers.fusion.source().path.empty());
  fuzz::require(!answers.vram_lost.source().path.empty());
  for (const auto& [id, free] : facts::parse_kfd_free(text)) fuzz::require(free.known());
  const auto owner = facts::parse_ownership(text);
  fuzz::require(!owner.mode || *owner.mode < 8 * 8 * 8 * 8 * 8);
  fuzz::require(!facts::find_name_of_id(text, 992).source().path.empty());
  const auto limits = facts::parse_kfd_limits(text);
  fuzz::require(!limits.system_limit.source().path.empty());
  fuzz::require(!limits.ttm_used.source().path.empty());
  return 0;
}
