// SPDX-License-Identifier: Apache-2.0
#include "report/fix_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/document.h"
#include "base/text.h"

namespace headroom::report {
namespace {

std::string command_of(const plan::Fix& fix) {
  return fmt::format("headroom fix {}", fix.id);
}

bool is_here(const std::vector<const plan::Fix*>& here, const plan::Fix* fix) {
  return std::find(here.begin(), here.end(), fix) != here.end();
}

}  // namespace

std::string fixes_to_text(const std::vector<const plan::Fix*>& here, const Style& style) {
  std::string text;
  if (here.empty()) text = "Nothing here that a fix would change.\n\n";
  if (!here.empty()) text = style.bold("What could be mended here") + "\n\n";
  for (const plan::Fix* fix : here) {
    text += fold(fix->meaning, "  ", style.width);
    text += fmt::format("    {}{}\n\n", command_of(*fix),
                        fix->takes.empty() ? "" : style.dim(fmt::format("  [{}]", fix->takes)));
  }
  std::vector<std::string> others;
  for (const plan::Fix* fix : plan::fixes()) {
    if (!is_here(here, fix)) others.emplace_back(fix->id);
  }
  text += fold("Not needed here: " + join(others, ", "), "", style.width);
  text += here.empty() ? "\nNext: headroom check\n"
                       : fmt::format("\nNext: {}   (shows what it would do; --apply does it)\n",
                                     command_of(*here.front()));
  return text;
}

std::string fixes_to_json_text(const std::vector<const plan::Fix*>& here) {
  nlohmann::ordered_json json;
  json["schema"] = "headroom.fixes/1";
  json["fixes"] = nlohmann::ordered_json::array();
  for (const plan::Fix* fix : plan::fixes()) {
    json["fixes"].push_back({{"id", fix->id},
                             {"meaning", fix->meaning},
                             {"takes", fix->takes},
                             {"applies", is_here(here, fix)},
                             {"command", command_of(*fix)}});
  }
  return json.dump(2) + "\n";
}

}  // namespace headroom::report
