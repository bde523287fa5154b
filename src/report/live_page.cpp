// SPDX-License-Identifier: Apache-2.0
#include "report/live_page.h"

#include <fmt/format.h>

#include "base/document.h"
#include "base/version.h"
#include "report/html.h"
#include "report/page_files.h"
#include "report/top_text.h"

namespace headroom::report {
namespace {

constexpr std::size_t plain_width = 100;

std::string page(const nlohmann::ordered_json& live, std::string_view plain) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
      "<meta name=\"generator\" content=\"headroom {}\"/>\n<link rel=\"icon\" href=\"data:,\"/>\n"
      "<title>headroom</title>\n<style>\n{}</style>\n</head>\n<body>\n"
      "<header><h1>headroom</h1><p id=\"state\" role=\"status\">Connecting …</p></header>\n"
      "<main id=\"live\"></main>\n<noscript><pre>{}</pre></noscript>\n"
      "<footer>Nothing on this page acts. <code>headroom check</code> says what to do about what "
      "it "
      "finds. <a href=\"/metrics\">Metrics</a>, <a href=\"/live.json\">JSON</a>.</footer>\n"
      "<script type=\"application/json\" id=\"first\">{}</script>\n<script>\n{}</script>\n</body>\n"
      "</html>\n",
      program_version(), live_page_css, escape_html(plain), to_script_json(nlohmann::json(live)),
      live_page_js);
}

}  // namespace

std::string live_page(const nlohmann::ordered_json& live, const live::Moment& moment) {
  return page(live, fit(top_text(moment, {false, plain_width}, 0), plain_width));
}

std::string live_page_error(std::string_view message) {
  return page({{"error", message}}, message);
}

}  // namespace headroom::report
