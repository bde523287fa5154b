// SPDX-License-Identifier: Apache-2.0
#include "plan/reclaim/rung.h"

#include <fmt/format.h>

#include "base/text.h"

namespace headroom::plan {

std::string_view to_string(Rung rung) {
  static constexpr std::array<std::string_view, all_rungs.size()> names{
      "name",         "ask",         "insist",        "wait-kfd",     "empty-ttm-pool",
      "stop-service", "unbind-bind", "module-reload", "driver-reset", "reboot"};
  return names[static_cast<std::size_t>(rung)];
}

Result<Rung> parse_rung(std::string_view name) {
  std::vector<std::string> names;
  for (const Rung rung : all_rungs) {
    if (to_string(rung) == name) return rung;
    names.emplace_back(to_string(rung));
  }
  const auto meant = nearest(name, names);
  return Error{Errc::invalid,
               fmt::format("expected a step ({}), found \"{}\"", join(names, ", "), name),
               "headroom reclaim --up-to " + (meant ? *meant : "ask")};
}

}  // namespace headroom::plan
