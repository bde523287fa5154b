// SPDX-License-Identifier: Apache-2.0
#include "report/html.h"

#include <fmt/format.h>

#include "base/document.h"
#include "base/printable.h"
#include "base/version.h"

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

std::string page_head(std::string_view title, std::initializer_list<std::string_view> styles) {
  std::string head = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
      "<meta name=\"generator\" content=\"headroom {}\"/>\n<title>{}</title>\n<style>\n",
      program_version(), escape_html(title));
  for (const std::string_view style : styles) head.append(style).append("\n");
  return head + "</style>\n</head>\n<body>\n";
}

std::string colour_key(std::string_view css_class) {
  return fmt::format(
      "<span class=\"key\" aria-hidden=\"true\"><svg viewBox=\"0 0 1 1\"><rect class=\"{}\" "
      "width=\"1\" height=\"1\"/></svg></span>",
      css_class);
}

}  // namespace headroom::report
