// SPDX-License-Identifier: Apache-2.0
#include "report/fix_list.h"

#include <fmt/format.h>

#include "base/document.h"
#include "base/text.h"

namespace headroom::report {
namespace {

using plan::Standing;

std::string command_of(const plan::Fix& fix) {
  return fmt::format("headroom fix {}", fix.id);
}

std::vector<const plan::Fix*> of_standing(const std::vector<ListedFix>& fixes, Standing standing) {
  std::vector<const plan::Fix*> found;
  for (const ListedFix& listed : fixes) {
    if (listed.standing == standing) found.push_back(listed.fix);
  }
  return found;
}

// One folded line of names; empty where there are none.
std::string names_text(std::string_view title, const std::vector<const plan::Fix*>& fixes,
                       const Style& style) {
  std::vector<std::string> ids;
  for (const plan::Fix* fix : fixes) ids.emplace_back(fix->id);
  if (ids.empty()) return "";
  return fold(fmt::format("{}: {}", title, join(ids, ", ")), "", style.width);
}

std::string entry_text(const plan::Fix& fix, const Style& style) {
  const std::string command = "    " + command_of(fix);
  std::string text = fold(fix.meaning, "  ", style.width);
  if (fix.takes.empty()) return text + command + "\n\n";
  const std::string options = fmt::format("[{}]", fix.takes);
  const bool fits = display_width(command) + 2 + display_width(options) <= style.width;
  if (fits) return text + command + "  " + style.dim(options) + "\n\n";
  return text + command + "\n" + style.dim(fold(options, "      ", style.width)) + "\n";
}

}  // namespace

std::string fixes_to_text(const std::vector<ListedFix>& fixes, const Style& style) {
  const auto needed = of_standing(fixes, Standing::needed);
  std::string text = needed.empty() ? "Nothing here that a fix would mend.\n\n"
                                    : style.bold("What could be mended here") + "\n\n";
  for (const plan::Fix* fix : needed) text += entry_text(*fix, style);
  text += names_text("Can be changed, though nothing is wrong",
                     of_standing(fixes, Standing::possible), style);
  text += names_text("Says what to do by hand", of_standing(fixes, Standing::by_hand), style);
  text += names_text("Not needed here", of_standing(fixes, Standing::not_needed), style);
  const Style plain{false, style.width};
  text += needed.empty() ? "\nNext: headroom check\n"
                         : "\n" + next_line(command_of(*needed.front()),
                                            "(shows what it would do; --apply does it)", plain);
  return fit(text, style.width);
}

std::string fixes_to_json_text(const std::vector<ListedFix>& fixes) {
  nlohmann::ordered_json json;
  json["schema"] = "headroom.fixes/1";
  json["fixes"] = nlohmann::ordered_json::array();
  for (const ListedFix& listed : fixes) {
    const plan::Fix& fix = *listed.fix;
    json["fixes"].push_back({{"id", fix.id},
                             {"meaning", fix.meaning},
                             {"takes", fix.takes},
                             {"applies", listed.standing == Standing::needed},
                             {"standing", to_string(listed.standing)},
                             {"command", command_of(fix)}});
  }
  return json.dump(2) + "\n";
}

}  // namespace headroom::report
