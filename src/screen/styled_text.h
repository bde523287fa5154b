// SPDX-License-Identifier: Apache-2.0
// The colours that report::Style writes as escapes, taken apart again for what draws a screen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::screen {

enum class Colour : std::uint8_t { none, red, yellow, green };

struct Span {
  std::string text;
  bool bold = false;
  bool dim = false;
  Colour colour = Colour::none;
};

// Of one line. Escapes other than Style's are left out.
std::vector<Span> split_spans(std::string_view line);

}  // namespace headroom::screen
