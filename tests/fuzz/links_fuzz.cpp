// SPDX-License-Identifier: Apache-2.0
// The parsers of links, of the IOMMU and of the system around many GPUs, all on the same text; and
// the masks of visible devices, each line of it being one "NAME=value".
#include "base/text.h"
#include "facts/links.h"
#include "facts/visible_devices.h"
#include "fuzz.h"

namespace headroom::fuzz {
namespace {

void check_masks(const std::string& text) {
  facts::Variables environment;
  for (const std::string_view line : split_lines(text)) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  const auto masks = facts::find_masks(environment, facts::Source{"/fuzzed", 0, ""});
  require(masks.size() <= 3);
  const std::vector<std::uint64_t> ids = {0xd1aa, 0xd1bb, 0};
  const auto visible = facts::apply_masks(ids, masks);
  require(visible.hip.size() <= visible.rocr.size() && visible.rocr.size() <= ids.size());
  for (const std::size_t position : visible.hip) require(position < ids.size());
  require(visible.rejected.size() <= 2);
}

}  // namespace
}  // namespace headroom::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  using namespace headroom::fuzz;
  const facts::Text text(std::string(to_text(data, size)), facts::Source{"/fuzzed", 0, ""});
  const auto speed = facts::parse_link_speed(text);
  if (speed) require(*speed > 0 && *speed <= 1000);
  const auto width = facts::parse_link_width(text);
  if (width) require(*width >= 1 && *width <= 32);
  facts::parse_numa_node(text);
  facts::parse_iommu_group(text);
  facts::parse_iommu_options(text);
  facts::parse_acs_redirect(text);
  const auto link = facts::parse_kfd_link(text);
  if (link.max_bandwidth) require(*link.max_bandwidth > 0);
  const facts::Fact<Bytes> ram{Bytes{1U << 30U}, facts::Source{"/fuzzed", 0, ""}};
  require(!facts::parse_shm_size(text, ram).source().path.empty());
  require(!facts::parse_memlock(text).source().path.empty());
  check_masks(*text);
  return 0;
}
