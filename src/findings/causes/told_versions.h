// SPDX-License-Identifier: Apache-2.0
// What people tell of versions in their own words: "with 6.3 it worked, 6.4 crashes", "since the
// firmware update", "went away with the nightly". A sentence is read as words of a few kinds (what
// it is about, versions, good and bad outcomes, going back and forth), so that the same story is
// understood in many wordings. Nothing of this is proof.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "logs/observation.h"

namespace headroom::findings {

enum class Component { rocm, torch, firmware, kernel, driver, program, other };

// What is told of one component.
struct ToldVersions {
  std::vector<std::string> works;  // Versions with which it is said to work; may be empty.
  std::vector<std::string> fails;
  bool going_back_helps = false;
  bool newer_helps = false;
  bool newer_breaks = false;
  bool used_to_work = false;  // At some time before; it is not told with what.
  const logs::Observation* told =
      nullptr;  // The first line of the story; nullptr if there is none.

  // Whether a version is said to work and another one to fail.
  bool is_comparison() const;
};

// Reads what lines of the signature "told-outcome" say of a component.
ToldVersions told_versions(const logs::Observations& log, Component about);

}  // namespace headroom::findings
