// SPDX-License-Identifier: Apache-2.0
#include "report/html.h"

#include "base/document.h"
#include "base/printable.h"

namespace headroom::report {

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : printable_lines(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string to_script_json(const Json& value) {
  std::string safe;
  for (const char c : value.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    if (c == '<') {
      safe += "\\u003c";
    } else if (c == '>') {
      safe += "\\u003e";
    } else if (c == '&') {
      safe += "\\u0026";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace headroom::report
