// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/pip_search.h"

#include <re2/re2.h>

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

}  // namespace headroom::findings
