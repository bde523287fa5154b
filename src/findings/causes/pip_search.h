// SPDX-License-Identifier: Apache-2.0
// What pip looked for and did not find, and whether it looked where such builds are at all.
#pragma once

#include <optional>
#include <string>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// A build for ROCm that was asked for at an index that holds none: PyTorch's index carries versions
// such as "2.9.1+rocm7.1", PyPI refuses them (packaging.python.org: version specifiers, "local
// version identifiers").
struct WrongIndex {
  const logs::Observation* seen = nullptr;
  std::string package;  // "torch".
  std::string version;  // "2.9.1"; empty if none was named.
  std::string rocm;     // "7.1".
};

// Nothing if the line is about something else, or other builds for ROCm were found there.
std::optional<WrongIndex> asked_at_wrong_index(const logs::Observation& seen);

// The same for an index of one ROCm's builds that ended before the release that is asked for: pip
// lists builds for that ROCm alone, and all are older. What is listed there is for this Python.
std::optional<WrongIndex> asked_at_older_index(const logs::Observation& seen);

// Whether pip lists versions that are there, and all are newer than the range that is asked for:
// a requirement that named nightly builds which the index no longer keeps.
bool asked_for_what_is_gone(const logs::Observation& seen);

}  // namespace headroom::findings
