// SPDX-License-Identifier: Apache-2.0
#include "facts/firmware.h"

#include <fmt/format.h>

namespace headroom::facts {

Fact<std::uint64_t> Firmware::version(std::string_view name) const {
  const auto found = versions.find(name);
  if (found != versions.end()) return found->second;
  return {Missing{Why::not_present, "the driver does not publish it"},
          Source{"fw_version/" + std::string(name) + "_fw_version", 0, ""}};
}

std::string firmware_text(std::uint64_t version) {
  return fmt::format("{:#010x}", version);
}

}  // namespace headroom::facts
