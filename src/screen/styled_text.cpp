// SPDX-License-Identifier: Apache-2.0
#include "screen/styled_text.h"

#include "base/text.h"

namespace headroom::screen {
namespace {

void apply(std::string_view code, Span& style) {
  if (code == "0") style = {};
  if (code == "1") style.bold = true;
  if (code == "2") style.dim = true;
  if (code == "31") style.colour = Colour::red;
  if (code == "32") style.colour = Colour::green;
  if (code == "33") style.colour = Colour::yellow;
}

}  // namespace

std::vector<Span> split_spans(std::string_view line) {
  std::vector<Span> spans;
  Span style;
  while (!line.empty()) {
    const std::size_t escape = line.find('\x1b');
    if (escape != 0) {
      spans.push_back(style);
      spans.back().text = line.substr(0, escape);
      line.remove_prefix(escape == std::string_view::npos ? line.size() : escape);
      continue;
    }
    line.remove_prefix(1);
    if (!line.starts_with('[')) continue;
    const std::size_t end = line.find('m');
    if (end == std::string_view::npos) break;
    for (const std::string_view code : split(line.substr(1, end - 1), ';')) apply(code, style);
    line.remove_prefix(end + 1);
  }
  return spans;
}

}  // namespace headroom::screen
