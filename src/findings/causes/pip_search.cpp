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

std::optional<WrongIndex> asked_at_older_index(const logs::Observation& seen) {
  static const RE2 exact(R"(^==\s*(\d+(?:\.\d+)+)(?:\+rocm[\d.]+)?\s*$)");
  static const RE2 built(R"(^(\d+(?:\.\d+)+)\+rocm(\d+(?:\.\d+)+)$)");
  if (seen.id() != "pip-no-version") return std::nullopt;
  WrongIndex older{&seen, std::string(seen.value("package")), "", ""};
  const std::string asked(trim(seen.value("asked")));
  if (!RE2::PartialMatch(asked, exact, &older.version)) return std::nullopt;
  const auto wanted = facts::parse_kernel_version(older.version);
  for (const std::string_view one : split(seen.value("versions"), ',')) {
    std::string version;
    // Only an index of one ROCm's builds lists nothing else.
    if (!RE2::FullMatch(std::string(trim(one)), built, &version, &older.rocm)) return std::nullopt;
    const auto listed = facts::parse_kernel_version(version);
    if (!wanted || !listed || *listed >= *wanted) return std::nullopt;
  }
  return older;
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
