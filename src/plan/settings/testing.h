// SPDX-License-Identifier: Apache-2.0
// For tests of setting files: takes one variable out of a text.
#pragma once

#include <string>

#include "plan/settings/setting_lines.h"

namespace headroom::plan::testing {

constexpr const char* override_name = "HSA_OVERRIDE_GFX_VERSION";

inline std::string take_out(SettingSyntax syntax, const std::string& text,
                            const std::string& name = override_name) {
  const SettingLines lines = find_setting_lines(syntax, text);
  std::vector<PlaceRewrite> rewrites;
  for (const SettingPlace& place : lines.places) {
    rewrites.push_back({place.name == name ? Rewrite::take_out : Rewrite::keep, ""});
  }
  return rewrite(text, lines, rewrites);
}

}  // namespace headroom::plan::testing
