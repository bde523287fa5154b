// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/pip_search.h"

#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "facts/kernel_release.h"

namespace headroom::findings {

std::optional<WrongIndex> asked_at_wrong_index(const logs::Observation& seen) {
  if (seen.id() != "pip-no-version") return std::nullopt;
  const std::string_view versions = seen.value("versions");
  // "none" may also mean that there is no wheel for this Python, or no network.
  if (versions.empty() || versions == "none" || versions.find('+') != std::string_view::npos) {
    return std::nullopt;
  }
  static const RE2 local(R"(==\s*([\d.]+)\+rocm(\d+(?:\.\d+)+))");
  WrongIndex wrong{&seen, std::string(seen.value("package")), "", ""};
  const std::string asked(seen.value("asked"));
  if (!RE2::PartialMatch(asked, local, &wrong.version, &wrong.rocm)) return std::nullopt;
  return wrong;
}

bool asked_for_what_is_gone(const logs::Observation& seen) {
  static const RE2 upper(R"(<\s*(\d+(?:\.\d+)+))");
  std::string bound;
  const std::string asked(seen.value("asked"));
  const std::string_view listed = seen.value("versions");
  if (listed.empty() || listed == "none" || !RE2::PartialMatch(asked, upper, &bound)) return false;
  const auto most = facts::parse_kernel_version(bound);
  const auto versions = split(listed, ',');
  return most && std::all_of(versions.begin(), versions.end(), [&](std::string_view one) {
           const auto version = facts::parse_kernel_version(std::string(trim(one)));
           return version && *version >= *most;
         });
}

}  // namespace headroom::findings
