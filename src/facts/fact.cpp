// SPDX-License-Identifier: Apache-2.0
#include "facts/fact.h"

#include <string_view>

namespace headroom::facts {
namespace {

std::string_view reason(Why why) {
  switch (why) {
    case Why::not_present:
      return "not there";
    case Why::no_permission:
      return "no permission to read it";
    case Why::unreadable:
      return "reading it failed";
    case Why::not_understood:
      return "not understood";
    case Why::asleep:
      return "the GPU is asleep, and reading it would wake it";
    case Why::not_limited:
      return "no limit is set";
    case Why::not_asked:
      return "not asked";
    case Why::not_applicable:
      break;
  }
  return "does not apply";
}

}  // namespace

std::string to_string(const Missing& missing) {
  std::string text(reason(missing.why));
  if (missing.text.empty()) return text;
  if (missing.why == Why::not_understood) return text + ": \"" + missing.text + "\"";
  return text + ": " + missing.text;
}

}  // namespace headroom::facts
