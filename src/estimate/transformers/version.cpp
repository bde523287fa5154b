// SPDX-License-Identifier: Apache-2.0
#include "estimate/transformers/version.h"

#include <charconv>

#include <climits>

namespace headroom::estimate::transformers {

Version parse_version(std::string_view text) {
  constexpr Version newest{UINT_MAX, 0};
  Version version;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec != std::errc{}) return newest;
  if (major.ptr != end && *major.ptr == '.') std::from_chars(major.ptr + 1, end, version.minor);
  return version;
}

Version torch_version(std::string_view torch, Version transformers) {
  constexpr Version of_its_time{2, 9};
  const Version version = parse_version(torch);
  const bool named = version.major != UINT_MAX;
  return !named && transformers < Version{5, 0} ? of_its_time : version;
}

}  // namespace headroom::estimate::transformers
